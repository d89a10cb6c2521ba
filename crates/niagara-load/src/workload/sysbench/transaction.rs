//! sysbench's workloads: which statement comes next in a transaction, and with which parameters.

use super::bulk;
use super::options::Sysbench;
use super::statement::Statement;
use super::test::SysbenchTest;
use super::values::{C_LENGTH, PAD_LENGTH, fill_digits};
use crate::protocol::answer::Answer;
use crate::workload::draw::{Rng, Sampler, UniqueIds};
use crate::workload::family::{Script, Steps};
use crate::workload::parameters::Parameters;
use crate::workload::template::{Next, Template, Templates, Unexpected};
use rand::RngExt;

/// One statement of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Step {
    pub statement: Statement,
    /// Draw a table before this statement; the following ones use it too. Every group of
    /// statements of one kind has one table, as in sysbench.
    pub draw_table: bool,
}

/// The statements of one transaction, in order.
pub(super) fn steps(spec: &Sysbench) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut group = |statements: &[Statement], count: u32| {
        for repetition in 0..count {
            for (position, &statement) in statements.iter().enumerate() {
                steps.push(Step {
                    statement,
                    draw_table: repetition == 0 && position == 0 && statement.has_table(),
                });
            }
        }
    };
    let (reads, writes) = match spec.test {
        SysbenchTest::OltpReadOnly => (true, false),
        SysbenchTest::OltpReadWrite => (true, true),
        SysbenchTest::OltpWriteOnly => (false, true),
        _ => (false, false),
    };
    let in_transaction = !spec.skip_trx && (reads || writes);
    group(&[Statement::Begin], u32::from(in_transaction));
    match spec.test {
        SysbenchTest::OltpPointSelect => group(&[Statement::PointSelect], 1),
        SysbenchTest::OltpUpdateIndex => group(&[Statement::IndexUpdate], spec.index_updates),
        SysbenchTest::OltpUpdateNonIndex => {
            group(&[Statement::NonIndexUpdate], spec.non_index_updates);
        }
        SysbenchTest::OltpInsert => group(&[Statement::NewRow], 1),
        SysbenchTest::OltpDelete => group(&[Statement::SingleDelete], 1),
        SysbenchTest::BulkInsert => group(&[Statement::BulkInsert], 1),
        SysbenchTest::SelectRandomPoints => group(&[Statement::RandomPoints], 1),
        SysbenchTest::SelectRandomRanges => group(&[Statement::RandomRanges], 1),
        // They follow.
        SysbenchTest::OltpReadOnly | SysbenchTest::OltpReadWrite | SysbenchTest::OltpWriteOnly => {}
    }
    if reads {
        group(&[Statement::PointSelect], spec.point_selects);
        if spec.range_selects {
            group(&[Statement::SimpleRange], spec.simple_ranges);
            group(&[Statement::SumRange], spec.sum_ranges);
            group(&[Statement::OrderRange], spec.order_ranges);
            group(&[Statement::DistinctRange], spec.distinct_ranges);
        }
    }
    if writes {
        group(&[Statement::IndexUpdate], spec.index_updates);
        group(&[Statement::NonIndexUpdate], spec.non_index_updates);
        group(&[Statement::Delete, Statement::Insert], spec.delete_inserts);
    }
    // BEGIN and COMMIT alone are a transaction without statements.
    if steps.iter().all(|step| step.statement == Statement::Begin) {
        return Vec::new();
    }
    if in_transaction {
        steps.push(Step {
            statement: Statement::Commit,
            draw_table: false,
        });
    }
    steps
}

/// What all connections of such a workload share.
#[derive(Debug)]
pub(crate) struct SysbenchScript {
    pub steps: Vec<Step>,
    tables: u32,
    spec: Sysbench,
    /// All statements are sent as text.
    as_text: bool,
    threads: u32,
    seed: u64,
    /// By statement: its template for the first table; those for others follow.
    first: [usize; Statement::COUNT],
    /// The statement of each template.
    statements: Vec<Statement>,
    range_size: i32,
    delta: i32,
    /// Whether a failed transaction must be rolled back.
    in_transaction: bool,
}

impl SysbenchScript {
    /// For a spec that was validated, and `threads` connections that draw from `seed`.
    pub(crate) fn new(
        spec: &Sysbench,
        as_text: bool,
        threads: u32,
        seed: u64,
        templates: &mut Templates,
    ) -> Self {
        let steps = steps(spec);
        let mut plan = SysbenchScript {
            in_transaction: steps
                .first()
                .is_some_and(|step| step.statement == Statement::Begin),
            tables: spec.tables,
            spec: spec.clone(),
            as_text,
            threads: threads.max(1),
            seed,
            first: [usize::MAX; Statement::COUNT],
            statements: Vec::new(),
            // Validation holds both within i32.
            range_size: spec.range_size as i32,
            delta: spec.delta as i32,
            steps,
        };
        for place in 0..plan.steps.len() {
            let statement = plan.steps[place].statement;
            if plan.first[statement as usize] == usize::MAX {
                plan.add(statement, templates);
            }
        }
        plan
    }

    /// The templates of a statement: one for each table that has its own.
    fn add(&mut self, statement: Statement, templates: &mut Templates) {
        let repeats = match statement {
            Statement::RandomPoints => self.spec.random_points,
            Statement::RandomRanges => self.spec.number_of_ranges,
            _ => 1,
        };
        let tables = if statement.has_table() {
            self.tables
        } else {
            1
        };
        let name = snake_case(&format!("{statement:?}"));
        let kind = templates.kind(name, &statement.sql(1, repeats));
        self.first[statement as usize] = templates.list.len();
        for table in 1..=tables {
            templates.list.push(Template {
                sql: statement.sql(table, repeats),
                parameters: statement.parameters(repeats).into(),
                as_text: statement.is_text() || self.as_text,
                keeps_rows: false,
                kind,
            });
            self.statements.push(statement);
        }
    }
}

impl Script for SysbenchScript {
    type Transaction = SysbenchTransaction;

    fn transaction(&self, number: u32, rng: Rng) -> SysbenchTransaction {
        // Validation holds it within i32.
        let rows = self.spec.table_size as u32;
        let sampler = match self.spec.test {
            SysbenchTest::SelectRandomPoints | SysbenchTest::SelectRandomRanges => {
                // Every connection has its own part of the values, which begins at 0 and shares its ends with its
                // neighbours: so it is in sysbench.
                let part = f64::from(rows) / f64::from(self.threads);
                let first = part * f64::from(number);
                let last = (first + part).min(f64::from(i32::MAX));
                Sampler::between(self.spec.distribution, first as u32, last as u32)
            }
            _ => Sampler::new(self.spec.distribution, rows),
        };
        SysbenchTransaction {
            rng,
            sampler,
            number,
            position: 0,
            table: 0,
            deleted: 1,
            new_k: 1,
            new_ids: (!self.spec.auto_inc).then(|| UniqueIds::new(self.seed, number, self.threads)),
            // The next row of `bulk_insert` only.
            next_row: (self.spec.test == SysbenchTest::BulkInsert).then_some(1),
        }
    }
}

/// `PointSelect` as `point_select`.
fn snake_case(name: &str) -> String {
    let mut snake = String::new();
    for letter in name.chars() {
        if letter.is_ascii_uppercase() && !snake.is_empty() {
            snake.push('_');
        }
        snake.push(letter.to_ascii_lowercase());
    }
    snake
}

/// Where one connection is in its transaction.
#[derive(Debug)]
pub(crate) struct SysbenchTransaction {
    rng: Rng,
    sampler: Sampler,
    /// Of the connection.
    number: u32,
    position: usize,
    /// From 0.
    table: u32,
    /// The row of the last delete, to be inserted again.
    deleted: i32,
    /// Its new k, drawn together with the row.
    new_k: i32,
    /// Ids of new rows where the server does not number them.
    new_ids: Option<UniqueIds>,
    /// Of `bulk_insert`: its next row.
    next_row: Option<u64>,
}

impl Steps for SysbenchTransaction {
    type Script = SysbenchScript;

    /// Nothing stays the same after an error: the transaction is drawn again, as in sysbench.
    fn draw(&mut self, _script: &SysbenchScript) {}

    /// Goes to the first statement.
    fn restart(&mut self) {
        self.position = 0;
    }

    /// Draws the table where a group begins; the template of the statement at hand.
    #[inline]
    fn current(&mut self, script: &SysbenchScript) -> usize {
        let step = script.steps[self.position];
        if step.draw_table && script.tables > 1 {
            self.table = self.rng.random_range(0..script.tables);
        }
        self.peek(script)
    }

    /// As [`current`](Self::current), without drawing a table: for a statement that was already sent.
    #[inline]
    fn peek(&self, script: &SysbenchScript) -> usize {
        let statement = script.steps[self.position].statement;
        let table = if statement.has_table() { self.table } else { 0 };
        script.first[statement as usize] + table as usize
    }

    fn is_open(&self, script: &SysbenchScript) -> bool {
        script.in_transaction
    }

    /// The text of `bulk_insert`, whose tables belong to connections.
    fn sql(&self) -> Option<String> {
        self.next_row?;
        Some(Statement::BulkInsert.sql(self.number + 1, 1))
    }

    /// Draws the parameters of the statement of `template` into the command.
    #[inline]
    fn encode(&mut self, script: &SysbenchScript, template: usize, command: impl Parameters) {
        let (rng, sampler) = (&mut self.rng, &self.sampler);
        let command = match script.statements[template] {
            Statement::Begin | Statement::Commit => command,
            Statement::PointSelect | Statement::IndexUpdate | Statement::SingleDelete => {
                command.int(sampler.draw(rng))
            }
            Statement::SimpleRange
            | Statement::SumRange
            | Statement::OrderRange
            | Statement::DistinctRange => {
                let first = sampler.draw(rng);
                command
                    .int(first)
                    .int(first.saturating_add(script.range_size - 1))
            }
            Statement::NonIndexUpdate => command
                .string(C_LENGTH, |text| fill_digits(text, rng))
                .int(sampler.draw(rng)),
            Statement::Delete => {
                self.deleted = sampler.draw(rng);
                self.new_k = sampler.draw(rng);
                command.int(self.deleted)
            }
            Statement::Insert => command
                .int(self.deleted)
                .int(self.new_k)
                .string(C_LENGTH, |text| fill_digits(text, rng))
                .string(PAD_LENGTH, |text| fill_digits(text, rng)),
            // An id of 0 asks the server for a number.
            Statement::NewRow => command
                .int(self.new_ids.as_mut().map_or(0, UniqueIds::draw))
                .int(sampler.draw(rng))
                .string(C_LENGTH, |text| fill_digits(text, rng))
                .string(PAD_LENGTH, |text| fill_digits(text, rng)),
            // Only in its shape: its rows are written by `encode_text`.
            Statement::BulkInsert => command.int(0).int(0),
            Statement::RandomPoints => (0..script.spec.random_points)
                .fold(command, |command, _| command.int(sampler.draw(rng))),
            Statement::RandomRanges => {
                (0..script.spec.number_of_ranges).fold(command, |command, _| {
                    let first = sampler.draw(rng);
                    command.int(first).int(first.saturating_add(script.delta))
                })
            }
        };
        command.finish();
    }

    /// Writes the rows of `bulk_insert` into `out`, which is emptied; false for other workloads, whose texts are the
    /// templates'.
    fn encode_text(&mut self, out: &mut Vec<u8>) -> bool {
        let Some(next) = &mut self.next_row else {
            return false;
        };
        *next += bulk::write_insert(out, self.number + 1, *next);
        true
    }

    /// Continues to the next statement.
    #[inline]
    fn advance(&mut self, script: &SysbenchScript, _answer: &Answer) -> Result<Next, Unexpected> {
        self.position += 1;
        if self.position < script.steps.len() {
            return Ok(Next::Statement);
        }
        self.position = 0;
        Ok(Next::Complete)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::command::Execute;
    use crate::workload::plan::Plan;
    use crate::workload::{PreparedStatements, WorkloadSpec};
    use rand::SeedableRng;
    use std::collections::BTreeSet;

    fn plan_of(spec: &Sysbench) -> (SysbenchScript, Templates) {
        let mut templates = Templates::default();
        let plan = SysbenchScript::new(spec, false, 1, 5, &mut templates);
        (plan, templates)
    }

    fn advance(transaction: &mut SysbenchTransaction, plan: &SysbenchScript) -> bool {
        transaction.advance(plan, &Answer::default()) == Ok(Next::Statement)
    }

    fn mix(spec: &Sysbench) -> Vec<Statement> {
        steps(spec).iter().map(|step| step.statement).collect()
    }

    #[test]
    fn the_mix_of_each_workload() {
        use Statement::*;
        let spec = |kind| Sysbench {
            test: kind,
            ..Sysbench::default()
        };
        assert_eq!(mix(&spec(SysbenchTest::OltpPointSelect)), [PointSelect]);

        let mut reads = vec![Begin];
        reads.extend([PointSelect; 10]);
        reads.extend([SimpleRange, SumRange, OrderRange, DistinctRange]);
        let mut read_only = reads.clone();
        read_only.push(Commit);
        assert_eq!(mix(&spec(SysbenchTest::OltpReadOnly)), read_only);

        reads.extend([IndexUpdate, NonIndexUpdate, Delete, Insert, Commit]);
        assert_eq!(mix(&spec(SysbenchTest::OltpReadWrite)), reads);
        assert_eq!(
            mix(&spec(SysbenchTest::OltpWriteOnly)),
            [Begin, IndexUpdate, NonIndexUpdate, Delete, Insert, Commit]
        );
        for (kind, statement) in [
            (SysbenchTest::OltpUpdateIndex, IndexUpdate),
            (SysbenchTest::OltpUpdateNonIndex, NonIndexUpdate),
            (SysbenchTest::OltpInsert, NewRow),
            (SysbenchTest::OltpDelete, SingleDelete),
            (SysbenchTest::BulkInsert, BulkInsert),
            (SysbenchTest::SelectRandomPoints, RandomPoints),
            (SysbenchTest::SelectRandomRanges, RandomRanges),
        ] {
            assert_eq!(mix(&spec(kind)), [statement]);
        }

        let bare = Sysbench {
            skip_trx: true,
            range_selects: false,
            point_selects: 2,
            ..spec(SysbenchTest::OltpReadOnly)
        };
        assert_eq!(mix(&bare), [PointSelect, PointSelect]);
    }

    #[test]
    fn one_table_per_group_and_all_tables_in_time() {
        let spec = Sysbench {
            test: SysbenchTest::OltpReadWrite,
            tables: 5,
            delete_inserts: 2,
            ..Sysbench::default()
        };
        let (plan, templates) = plan_of(&spec);
        let mut transaction = plan.transaction(0, Rng::seed_from_u64(5));
        let mut out = Vec::new();
        let mut seen = BTreeSet::new();
        for _ in 0..100 {
            let mut points = BTreeSet::new();
            let mut delete = None;
            loop {
                let template = transaction.current(&plan);
                let statement = plan.statements[template];
                let table = template - plan.first[statement as usize];
                let parameters = &templates.list[template].parameters;
                transaction.encode(
                    &plan,
                    template,
                    Execute::new(&mut out, 1, parameters, false),
                );
                if statement.has_table() {
                    seen.insert(table);
                }
                match statement {
                    Statement::PointSelect => {
                        points.insert(table);
                    }
                    // the id is the first parameter: after header, command, bitmap and flag
                    Statement::Delete => delete = Some((table, out[16..20].to_vec())),
                    Statement::Insert => {
                        assert_eq!(delete.take(), Some((table, out[16..20].to_vec())));
                    }
                    _ => {}
                }
                if !advance(&mut transaction, &plan) {
                    break;
                }
            }
            assert_eq!(points.len(), 1);
        }
        assert_eq!(seen.len(), 5);
    }

    #[test]
    fn ranges_end_where_they_should() {
        let spec = Sysbench {
            range_size: 100,
            ..Sysbench::default()
        };
        let (plan, templates) = plan_of(&spec);
        let mut transaction = plan.transaction(0, Rng::seed_from_u64(5));
        let mut out = Vec::new();
        for _ in 0..1000 {
            let template = plan.first[Statement::SumRange as usize];
            let parameters = &templates.list[template].parameters;
            let execute = Execute::new(&mut out, 1, parameters, false);
            transaction.encode(&plan, template, execute);
            let number =
                |at: usize| i32::from_le_bytes([out[at], out[at + 1], out[at + 2], out[at + 3]]);
            assert_eq!(number(20) - number(16), 99);
        }
    }

    /// What connection `number` of `threads` sends first, as text.
    fn text(spec: &WorkloadSpec, threads: u32, number: u32) -> String {
        let plan = Plan::new(spec, threads, 9);
        let mut transaction = plan.transaction(number);
        let mut out = Vec::new();
        let template = transaction.current(&plan);
        assert!(plan.templates[template].as_text);
        transaction.encode_text(&plan, template, &mut out);
        String::from_utf8(out.split_off(5)).unwrap()
    }

    #[test]
    fn new_rows_have_the_servers_numbers_or_unique_ones() {
        let spec = Sysbench {
            test: SysbenchTest::OltpInsert,
            ..Sysbench::default()
        };
        let sql = text(&WorkloadSpec::of(spec.clone()), 4, 0);
        assert!(
            sql.starts_with("INSERT INTO sbtest1 (id, k, c, pad) VALUES (0, "),
            "{sql}"
        );
        let spec = WorkloadSpec::of(Sysbench {
            auto_inc: false,
            ..spec
        });
        let mut ids = BTreeSet::new();
        for number in 0..4 {
            let sql = text(&spec, 4, number);
            let id = sql.split(['(', ',']).nth(5).unwrap().to_owned();
            assert!(id.parse::<i32>().unwrap() != 0, "{sql}");
            assert!(ids.insert(id), "{sql}");
        }
    }

    #[test]
    fn bulk_inserts_continue_where_the_last_one_ended() {
        let spec = Sysbench {
            test: SysbenchTest::BulkInsert,
            ..Sysbench::default()
        };
        let plan = Plan::new(&WorkloadSpec::of(spec), 4, 1);
        let mut transaction = plan.transaction(2);
        let mut out = Vec::new();
        let mut next = 1;
        for _ in 0..3 {
            let template = transaction.current(&plan);
            transaction.encode_text(&plan, template, &mut out);
            let sql = std::str::from_utf8(&out[5..]).unwrap();
            let start = format!("INSERT INTO sbtest3 VALUES({next},{next}),");
            assert!(sql.starts_with(&start), "{}", &sql[..60]);
            next += sql.matches('(').count() as u64;
            let next = transaction.advance(&plan, &Answer::default());
            assert_eq!(next, Ok(Next::Complete));
        }
        assert_eq!(transaction.sql(&plan), "INSERT INTO sbtest3 VALUES(?,?)");
    }

    #[test]
    fn every_connection_has_its_part_of_the_values() {
        for kind in [
            SysbenchTest::SelectRandomPoints,
            SysbenchTest::SelectRandomRanges,
        ] {
            let mut spec = WorkloadSpec::of(Sysbench {
                test: kind,
                table_size: 1000,
                distribution: crate::Distribution::Uniform,
                random_points: 4000,
                number_of_ranges: 4000,
                delta: 0,
                ..Sysbench::default()
            });
            spec.common.db_ps_mode = PreparedStatements::Disable;
            for (number, first, last) in [(0, 0, 333), (1, 333, 666), (2, 666, 1000)] {
                let sql = text(&spec, 3, number);
                let values: Vec<i32> = sql
                    .split(|letter: char| !letter.is_ascii_digit())
                    .filter_map(|word| word.parse().ok())
                    .skip(1) // sbtest1
                    .collect();
                assert_eq!(values.iter().min(), Some(&first), "{kind}");
                assert_eq!(values.iter().max(), Some(&last), "{kind}");
            }
        }
    }

    #[test]
    fn any_statement_can_go_as_text() {
        let mut spec = WorkloadSpec::of(Sysbench {
            test: SysbenchTest::OltpReadWrite,
            tables: 3,
            ..Sysbench::default()
        });
        spec.common.db_ps_mode = PreparedStatements::Disable;
        let plan = Plan::new(&spec, 1, 1);
        let mut transaction = plan.transaction(0);
        let mut out = Vec::new();
        let mut shapes = Vec::new();
        loop {
            let template = transaction.current(&plan);
            transaction.encode_text(&plan, template, &mut out);
            let sql = std::str::from_utf8(&out[5..]).unwrap();
            assert!(!sql.contains('?'), "{sql}");
            assert_eq!(
                usize::from(out[0]) + 256 * usize::from(out[1]),
                out.len() - 4
            );
            shapes.push(sql.split(' ').next().unwrap().to_owned());
            if transaction.advance(&plan, &Answer::default()) == Ok(Next::Complete) {
                break;
            }
        }
        assert_eq!(shapes.len(), 20);
        assert_eq!(
            (shapes[0].as_str(), shapes[19].as_str()),
            ("BEGIN", "COMMIT")
        );
        assert_eq!(&shapes[15..19], ["UPDATE", "UPDATE", "DELETE", "INSERT"]);
    }
}
