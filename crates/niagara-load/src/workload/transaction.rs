//! Which statement comes next in a transaction, and with which parameters.

use super::values::{C_LENGTH, PAD_LENGTH, fill_digits};
use super::{Rng, Sampler, WorkloadKind, WorkloadSpec};
use crate::protocol::command::Execute;
use crate::workload::statement::Statement;
use rand::RngExt;

/// One statement of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    pub statement: Statement,
    /// Draw a table before this statement; the following ones use it too. Every group of
    /// statements of one kind has one table, as in sysbench.
    pub draw_table: bool,
}

/// The statements of one transaction, in order.
pub fn steps(spec: &WorkloadSpec) -> Vec<Step> {
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
    let in_transaction = !spec.skip_trx && spec.kind != WorkloadKind::OltpPointSelect;
    group(&[Statement::Begin], u32::from(in_transaction));
    match spec.kind {
        WorkloadKind::OltpPointSelect => group(&[Statement::PointSelect], 1),
        WorkloadKind::OltpReadOnly | WorkloadKind::OltpReadWrite => {
            group(&[Statement::PointSelect], spec.point_selects);
            if spec.range_selects {
                group(&[Statement::SimpleRange], spec.simple_ranges);
                group(&[Statement::SumRange], spec.sum_ranges);
                group(&[Statement::OrderRange], spec.order_ranges);
                group(&[Statement::DistinctRange], spec.distinct_ranges);
            }
        }
    }
    if spec.kind == WorkloadKind::OltpReadWrite {
        group(&[Statement::IndexUpdate], spec.index_updates);
        group(&[Statement::NonIndexUpdate], spec.non_index_updates);
        group(&[Statement::Delete, Statement::Insert], spec.delete_inserts);
    }
    // BEGIN and COMMIT alone are a transaction without statements.
    if steps.iter().all(|step| !step.statement.has_table()) {
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

/// What all connections of a workload share.
#[derive(Debug)]
pub struct Plan {
    pub steps: Vec<Step>,
    pub tables: u32,
    sampler: Sampler,
    range_size: i32,
    /// Whether a failed transaction must be rolled back.
    pub in_transaction: bool,
}

impl Plan {
    /// For a spec that was validated.
    pub fn new(spec: &WorkloadSpec) -> Self {
        let steps = steps(spec);
        Plan {
            in_transaction: steps
                .first()
                .is_some_and(|step| step.statement == Statement::Begin),
            steps,
            tables: spec.tables,
            // Validation holds both within i32.
            sampler: Sampler::new(spec.distribution, spec.table_size as u32),
            range_size: spec.range_size as i32,
        }
    }

    /// The distinct statements, in the order of their first use.
    pub fn statements(&self) -> Vec<Statement> {
        let mut distinct = Vec::new();
        for step in &self.steps {
            if !distinct.contains(&step.statement) {
                distinct.push(step.statement);
            }
        }
        distinct
    }
}

/// Where one connection is in its transaction.
#[derive(Debug)]
pub struct Transaction {
    rng: Rng,
    position: usize,
    /// From 0.
    table: u32,
    /// The row of the last delete, to be inserted again.
    deleted: i32,
    /// Its new k, drawn together with the row.
    new_k: i32,
}

impl Transaction {
    pub fn new(rng: Rng) -> Self {
        Transaction {
            rng,
            position: 0,
            table: 0,
            deleted: 1,
            new_k: 1,
        }
    }

    /// Goes to the first statement. After an error the transaction is drawn anew, as in sysbench.
    pub fn restart(&mut self) {
        self.position = 0;
    }

    /// Draws the table where a group begins; returns the statement at hand and its table (from 0; 0 for statements without one).
    pub fn current(&mut self, plan: &Plan) -> (Statement, u32) {
        let step = plan.steps[self.position];
        if step.draw_table && plan.tables > 1 {
            self.table = self.rng.random_range(0..plan.tables);
        }
        self.peek(plan)
    }

    /// As [`current`](Self::current), without drawing a table: for a statement that was already sent.
    pub fn peek(&self, plan: &Plan) -> (Statement, u32) {
        let statement = plan.steps[self.position].statement;
        let table = if statement.has_table() { self.table } else { 0 };
        (statement, table)
    }

    /// Draws the parameters of `statement` into the command.
    pub fn encode(&mut self, plan: &Plan, statement: Statement, execute: Execute<'_>) {
        let rng = &mut self.rng;
        let execute = match statement {
            Statement::Begin | Statement::Commit => execute,
            Statement::PointSelect | Statement::IndexUpdate => execute.int(plan.sampler.draw(rng)),
            Statement::SimpleRange
            | Statement::SumRange
            | Statement::OrderRange
            | Statement::DistinctRange => {
                let first = plan.sampler.draw(rng);
                execute
                    .int(first)
                    .int(first.saturating_add(plan.range_size - 1))
            }
            Statement::NonIndexUpdate => execute
                .string(C_LENGTH, |text| fill_digits(text, rng))
                .int(plan.sampler.draw(rng)),
            Statement::Delete => {
                self.deleted = plan.sampler.draw(rng);
                self.new_k = plan.sampler.draw(rng);
                execute.int(self.deleted)
            }
            Statement::Insert => execute
                .int(self.deleted)
                .int(self.new_k)
                .string(C_LENGTH, |text| fill_digits(text, rng))
                .string(PAD_LENGTH, |text| fill_digits(text, rng)),
        };
        execute.finish();
    }

    /// Goes on to the next statement; false when that was the last one.
    pub fn advance(&mut self, plan: &Plan) -> bool {
        self.position += 1;
        if self.position < plan.steps.len() {
            return true;
        }
        self.position = 0;
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use std::collections::BTreeSet;

    fn mix(spec: &WorkloadSpec) -> Vec<Statement> {
        steps(spec).iter().map(|step| step.statement).collect()
    }

    #[test]
    fn the_mix_of_each_workload() {
        use Statement::*;
        let spec = |kind| WorkloadSpec {
            kind,
            ..WorkloadSpec::default()
        };
        assert_eq!(mix(&spec(WorkloadKind::OltpPointSelect)), [PointSelect]);

        let mut reads = vec![Begin];
        reads.extend([PointSelect; 10]);
        reads.extend([SimpleRange, SumRange, OrderRange, DistinctRange]);
        let mut read_only = reads.clone();
        read_only.push(Commit);
        assert_eq!(mix(&spec(WorkloadKind::OltpReadOnly)), read_only);

        reads.extend([IndexUpdate, NonIndexUpdate, Delete, Insert, Commit]);
        assert_eq!(mix(&spec(WorkloadKind::OltpReadWrite)), reads);

        let bare = WorkloadSpec {
            skip_trx: true,
            range_selects: false,
            point_selects: 2,
            ..spec(WorkloadKind::OltpReadOnly)
        };
        assert_eq!(mix(&bare), [PointSelect, PointSelect]);
    }

    #[test]
    fn one_table_per_group_and_all_tables_in_time() {
        let plan = Plan::new(&WorkloadSpec {
            kind: WorkloadKind::OltpReadWrite,
            tables: 5,
            delete_inserts: 2,
            ..WorkloadSpec::default()
        });
        let mut transaction = Transaction::new(Rng::seed_from_u64(5));
        let mut out = Vec::new();
        let mut seen = BTreeSet::new();
        for _ in 0..100 {
            let mut points = BTreeSet::new();
            let mut delete = None;
            loop {
                let (statement, table) = transaction.current(&plan);
                transaction.encode(
                    &plan,
                    statement,
                    Execute::new(&mut out, 1, statement.parameters(), false),
                );
                seen.insert(table);
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
                if !transaction.advance(&plan) {
                    break;
                }
            }
            assert_eq!(points.len(), 1);
        }
        assert_eq!(seen.len(), 5);
    }

    #[test]
    fn ranges_end_where_they_should() {
        let plan = Plan::new(&WorkloadSpec {
            range_size: 100,
            ..WorkloadSpec::default()
        });
        let mut transaction = Transaction::new(Rng::seed_from_u64(5));
        let mut out = Vec::new();
        for _ in 0..1000 {
            let statement = Statement::SumRange;
            let execute = Execute::new(&mut out, 1, statement.parameters(), false);
            transaction.encode(&plan, statement, execute);
            let number =
                |at: usize| i32::from_le_bytes([out[at], out[at + 1], out[at + 2], out[at + 3]]);
            assert_eq!(number(20) - number(16), 99);
        }
    }
}
