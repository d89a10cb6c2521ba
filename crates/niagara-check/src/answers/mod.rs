//! The same answers: two servers, the same statements on the same data, every answer compared.

mod answer;
mod exercise;
mod script;
mod template;

pub use self::exercise::exercise;

use std::collections::BTreeMap;
use std::thread;
use std::time::Instant;

use anyhow::{Context, Result};
use niagara_error::{Explain as _, anyhow, bail};
use niagara_load::{Admin, LoadError};
use niagara_server::{Around, Cache, Config, Install, RunningServer};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use self::answer::{Answer, Closeness, ask, difference, warns_otherwise};
use self::script::{Kind, Scope, Script, Section, Statement};
use super::cut_short::cut_short;
use super::outcome::{
    CheckCount, CheckFinding, CheckItem, CheckNote, LeftOut, Part, PartReport, SkipReason,
};
use super::progress::{Progress, Reporter};
use super::room::Room;
use super::server::{Bench, Setting, connect, endpoint};
use super::trust::{objection, recommends_nothing};
use niagara_model::AnswerMismatch;
use niagara_server::Cancel;

const SCRIPT: &str = include_str!("../../../../data/checks/answers.sql");
const WORDS: &str = include_str!("../../../../data/checks/words.txt");
/// Engines that tables are made in, where both servers have them.
pub const ANSWERED_ENGINES: [&str; 4] = ["InnoDB", "MyISAM", "Aria", "MEMORY"];
/// Rows that one INSERT brings.
const BULK: usize = 100;
/// Tables are compared whole after this many changes.
const CHANGES_BETWEEN_LOOKS: usize = 100;
/// Statements that the reference may crash on: of one that crashes on more nothing is compared.
const MAX_CRASHES: usize = 6;
/// Statements whose warnings differ that are told one by one.
const MAX_NOTES: usize = 10;
/// What `NOW()` says, so that both servers say the same: 14 November 2023.
const NOW: u64 = 1_700_000_000;

/// How servers are compared.
#[derive(Debug, Clone)]
pub struct AnswersOptions {
    /// Seed of data, constants and changes.
    pub seed: u64,
    /// Share of the rows and changes that the file of statements asks for, in per cent.
    pub scale: usize,
    /// Only these engines; none is all that both servers have.
    pub engines: Vec<String>,
    /// What the server under test, and the one that it is compared with, are started with.
    pub settings: [Setting; 2],
    /// A difference planted into the server under test, to see that it is found.
    pub planted: Planted,
}

impl Default for AnswersOptions {
    fn default() -> AnswersOptions {
        AnswersOptions {
            seed: 1,
            scale: 100,
            engines: Vec::new(),
            settings: Default::default(),
            planted: Planted::default(),
        }
    }
}

impl AnswersOptions {
    /// Whether as much is asked as a check asks by default, of servers as they are.
    fn is_whole(&self) -> bool {
        self.scale >= 100
            && self.engines.is_empty()
            && self.settings == <[Setting; 2]>::default()
            && self.planted.config.is_empty()
            && self.planted.statement.is_none()
    }
}

/// A difference that a check has to find: what shows that it can fail.
#[derive(Debug, Clone, Default)]
pub struct Planted {
    /// Variables of the server under test.
    pub config: Config,
    /// A statement run on the server under test once its tables are filled.
    pub statement: Option<String>,
}

/// Compares the answers of `ours` with those of `theirs`.
///
/// # Errors
/// Stopped on request; a server does not start; the reference is lost; a disk is full. Where `ours` is lost or differs, that is
/// a finding.
pub fn compare_answers(
    cache: &Cache,
    ours: &Install,
    theirs: &Install,
    options: &AnswersOptions,
    cancel: &Cancel,
    watch: &mut dyn FnMut(&Progress),
) -> Result<PartReport> {
    let began = Instant::now();
    let mut crashing = BTreeMap::new();
    loop {
        match attempt(cache, [ours, theirs], options, &crashing, cancel, watch)? {
            Attempt::Done(mut report) => {
                report.seconds = began.elapsed().as_secs_f64();
                return Ok(*report);
            }
            Attempt::Crashed { line, crash } if crashing.len() < MAX_CRASHES => {
                watch(&Progress {
                    part: Some(Part::Answers),
                    text: format!("once more without line {line} of checks/answers.sql: {crash}"),
                    done: 0.0,
                });
                crashing.insert(line, crash);
            }
            Attempt::Crashed { line, crash } => bail!(
                "{} crashes on more than {MAX_CRASHES} statements, on that of checks/answers.sql:{line} too ({crash}): nothing can be held against it",
                theirs.name;
                remedy: "take a later release of it"
            ),
        }
    }
}

/// What came of comparing two servers, freshly started.
enum Attempt {
    /// To its end, or as far as the server under test came.
    Done(Box<PartReport>),
    /// The reference crashed on the statement of this line, and how.
    Crashed { line: usize, crash: SkipReason },
}

/// Compares the answers of two servers to all statements but those of `crashing`, on which the reference is known to crash.
fn attempt(
    cache: &Cache,
    [ours, theirs]: [&Install; 2],
    options: &AnswersOptions,
    crashing: &BTreeMap<usize, SkipReason>,
    cancel: &Cancel,
    watch: &mut dyn FnMut(&Progress),
) -> Result<Attempt> {
    let mut reporter = Reporter::new(Part::Answers, watch);
    let script = Script::parse("data/checks/answers.sql (built in)", SCRIPT)?;
    let mut progress = |text: &str| reporter.step(0, 1, text);
    let objection = objection(cache, ours, theirs)?;
    let [mut our_setting, their_setting] = options.settings.clone();
    our_setting.config.extend(options.planted.config.clone());
    let our_bench = Bench::new(cache, ours, our_setting, &mut progress)?;
    let their_bench = Bench::new(cache, theirs, their_setting, &mut progress)?;
    progress("starting both servers");
    let starting = our_bench.spawn()?;
    let their_server = their_bench.start()?;
    let our_server = starting.wait_ready()?;
    let closeness = closeness(ours, theirs);
    let mut comparison = Comparison {
        script: &script,
        crashing,
        words: WORDS.lines().filter(|line| !line.is_empty()).collect(),
        options,
        closeness,
        mariadb: ours.family.is_mariadb() && theirs.family.is_mariadb(),
        mysql: !ours.family.is_mariadb() && !theirs.family.is_mariadb(),
        ours: session(&our_server, closeness)?,
        theirs: session(&their_server, closeness)?,
        room: Room::of(cache),
        report: PartReport::new(Part::Answers, options.seed),
        statements: 0,
        tables: 0,
        differing: 0,
        warned_differently: BTreeMap::new(),
    };
    let engines = comparison.engines()?;
    for (index, engine) in engines.iter().enumerate() {
        let mut step = |done: usize, total: usize, text: &str| -> Result<()> {
            cancel.check()?;
            let text = format!("{engine}: {text}");
            reporter.step(index * total + done, engines.len() * total, &text);
            Ok(())
        };
        match comparison.engine(engine, &mut step) {
            Ok(()) => {}
            Err(Lost::Ours(error)) => {
                let killed = our_server.ended_from_around();
                comparison.lost(error, killed, &our_server)?;
                break;
            }
            Err(Lost::Theirs(line, error)) => {
                if let Some(killed) = their_server.ended_from_around() {
                    cut_short(&mut comparison.report, killed)?;
                    break;
                }
                if let Some(ended) = their_server.how_it_ended() {
                    let server = theirs.name.clone();
                    let crash = SkipReason::CrashesThere { server, ended };
                    return Ok(Attempt::Crashed { line, crash });
                }
                cut_short(&mut comparison.report, error)?;
                break;
            }
            Err(Lost::Other(error)) => {
                cut_short(&mut comparison.report, error)?;
                break;
            }
        }
    }
    comparison.left_out(&engines);
    let room = comparison.room.clone();
    let mut report = comparison.finish(engines.len());
    if our_server.is_alive()
        && let Err(error) = our_server.stop()
    {
        match Around::of(&error) {
            Some(_) => cut_short(&mut report, error)?,
            None => {
                let finding = CheckFinding::BadShutdown {
                    part: Part::Answers,
                    error: error.explain(),
                };
                room.fault(&mut report, finding)?;
            }
        }
    }
    report.whole &= options.is_whole() && objection.is_none();
    report.notes.extend(objection.map(recommends_nothing));
    Ok(Attempt::Done(Box::new(report)))
}

fn closeness(ours: &Install, theirs: &Install) -> Closeness {
    if ours.family != theirs.family || ours.version.series() != theirs.version.series() {
        Closeness::Rows
    } else if ours.version == theirs.version {
        Closeness::Whole
    } else {
        Closeness::Numbers
    }
}

fn session(server: &RunningServer, closeness: Closeness) -> Result<Admin> {
    let mut admin = connect(&endpoint(server))?;
    for setting in [
        "SET NAMES utf8mb4 COLLATE utf8mb4_unicode_ci".to_owned(),
        "SET time_zone = '+00:00'".to_owned(),
        format!("SET timestamp = {NOW}"),
    ] {
        admin.rows(&setting)?;
    }
    if closeness == Closeness::Rows {
        admin.rows(
            "SET sql_mode = 'STRICT_TRANS_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION'",
        )?;
    }
    Ok(admin)
}

/// Why a comparison cannot continue.
enum Lost {
    /// The server under test is gone.
    Ours(anyhow::Error),
    /// The reference is gone, at the statement of this line.
    Theirs(usize, anyhow::Error),
    /// The request to stop came, the file of statements is wrong, or the reference is gone at what is no statement of the file.
    Other(anyhow::Error),
}

impl From<anyhow::Error> for Lost {
    fn from(error: anyhow::Error) -> Lost {
        Lost::Other(error)
    }
}

struct Comparison<'a> {
    script: &'a Script,
    /// Lines of statements that the reference crashes on, and how.
    crashing: &'a BTreeMap<usize, SkipReason>,
    words: Vec<&'a str>,
    options: &'a AnswersOptions,
    closeness: Closeness,
    mariadb: bool,
    mysql: bool,
    ours: Admin,
    theirs: Admin,
    room: Room,
    report: PartReport,
    statements: u64,
    tables: u64,
    differing: u64,
    /// Where servers of two releases warned differently and answered the same: the line of the file and how, and how often.
    warned_differently: BTreeMap<(Option<usize>, AnswerMismatch), u64>,
}

type Step<'a> = &'a mut dyn FnMut(usize, usize, &str) -> Result<()>;

impl Comparison<'_> {
    /// The engines that both servers have and that were asked for.
    fn engines(&mut self) -> Result<Vec<String>> {
        let mut known = Vec::new();
        for admin in [&mut self.ours, &mut self.theirs] {
            let rows = admin.rows("SHOW ENGINES")?;
            let usable = rows.into_iter().filter_map(|row| {
                let mut cells = row.into_iter();
                let (name, support) = (cells.next()??, cells.next()??);
                (support != "NO" && support != "DISABLED").then_some(name)
            });
            known.push(usable.collect::<Vec<String>>());
        }
        let asked = |engine: &str| {
            self.options.engines.is_empty()
                || self
                    .options
                    .engines
                    .iter()
                    .any(|name| name.eq_ignore_ascii_case(engine))
        };
        let (mut both, mut missing) = (Vec::new(), Vec::new());
        for engine in ANSWERED_ENGINES.into_iter().filter(|engine| asked(engine)) {
            let has = |names: &[String]| names.iter().any(|name| name.eq_ignore_ascii_case(engine));
            match (has(&known[0]), has(&known[1])) {
                (true, true) => both.push(engine.to_owned()),
                (false, false) => {}
                (ours, _) => missing.push((engine, ours)),
            }
        }
        for (engine, ours) in missing {
            let reason = match ours {
                true => SkipReason::NoEngineThere,
                false => SkipReason::NoEngine,
            };
            let engine = engine.to_owned();
            self.left_out_one(CheckItem::Engine { engine }, reason);
            self.report.whole = false;
        }
        if both.is_empty() {
            return Err(anyhow!(
                "the servers share none of the engines {}", ANSWERED_ENGINES.join(", ");
                remedy: "compare with another server (--against)"
            ));
        }
        Ok(both)
    }

    /// All statements with tables of one engine.
    fn engine(&mut self, engine: &str, step: Step<'_>) -> Result<(), Lost> {
        let database = format!("niagara_{}", engine.to_lowercase());
        for sql in [
            format!("CREATE DATABASE {database} CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci"),
            format!("USE {database}"),
            format!("SET default_storage_engine = {engine}"),
        ] {
            self.both(&sql)?;
        }
        let passes = passes(self.script);
        let total = passes.len();
        let (mut planted, mut changed) = (false, false);
        for (index, (section, again)) in passes.into_iter().enumerate() {
            if !planted && !matches!(section.kind, Kind::Tables | Kind::Fill(_)) {
                planted = true;
                self.plant(engine)?;
                self.look_at_tables(engine)?;
            }
            if again && !changed {
                changed = true;
                // The changes may leave a transaction open, which sees what was there when it began.
                self.both("COMMIT")?;
            }
            if !self.applies(&section.scope, engine) {
                continue;
            }
            let name = match again {
                true => format!("{}, after the changes", section.name),
                false => section.name.clone(),
            };
            step(index, total, &name)?;
            self.section(section, engine, &mut |text| step(index, total, text))?;
        }
        self.look_at_tables(engine)
    }

    fn applies(&self, scope: &Scope, engine: &str) -> bool {
        let engine = scope.engine.as_deref().is_none_or(|name| name == engine);
        engine && self.why_left_out(scope).is_none()
    }

    /// Why a section is not compared between these two servers.
    fn why_left_out(&self, scope: &Scope) -> Option<SkipReason> {
        match scope.mariadb {
            Some(true) if !self.mariadb => return Some(SkipReason::MariadbOnly),
            Some(false) if !self.mysql => return Some(SkipReason::MysqlOnly),
            _ => {}
        }
        let is_open = self.closeness == Closeness::Rows && !scope.everywhere;
        is_open.then_some(SkipReason::OtherSeries)
    }

    fn left_out_one(&mut self, what: CheckItem, reason: SkipReason) {
        self.report.left_out.push(LeftOut { what, reason });
    }

    fn left_out(&mut self, engines: &[String]) {
        for (line, crash) in self.crashing {
            self.left_out_one(CheckItem::Statement { line: *line }, crash.clone());
        }
        for section in &self.script.sections {
            let needed = section.scope.engine.as_ref();
            let needed = needed.filter(|engine| !engines.contains(engine));
            let needed = || {
                Some(SkipReason::NeedsEngine {
                    engine: needed?.clone(),
                })
            };
            if let Some(reason) = self.why_left_out(&section.scope).or_else(needed) {
                let what = CheckItem::Section {
                    name: section.name.clone(),
                    statements: section.statements.len(),
                };
                self.left_out_one(what, reason);
            }
        }
    }

    fn section(
        &mut self,
        section: &Section,
        engine: &str,
        step: &mut dyn FnMut(&str) -> Result<()>,
    ) -> Result<(), Lost> {
        let mut rng = ChaCha8Rng::seed_from_u64(niagara_stats::derive_seed(
            self.options.seed,
            &section.name,
            0,
        ));
        let scaled = |count: usize| (count * self.options.scale / 100).max(1);
        match section.kind {
            Kind::Tables | Kind::Queries => {
                for statement in &section.statements {
                    let sql = self.filled(statement, 0, &mut rng)?;
                    self.compare(engine, statement.line, &sql)?;
                }
            }
            Kind::Fill(count) => {
                for statement in &section.statements {
                    self.fill(statement, scaled(count), &mut rng)?;
                }
            }
            Kind::Changes(count) => {
                let count = scaled(count);
                for number in 0..count {
                    let statement =
                        &section.statements[rng.random_range(0..section.statements.len())];
                    let sql = self.filled(statement, number, &mut rng)?;
                    self.compare(engine, statement.line, &sql)?;
                    if (number + 1) % CHANGES_BETWEEN_LOOKS == 0 {
                        self.look_at_tables(engine)?;
                        step(&format!("{}: {} of {count}", section.name, number + 1))?;
                    }
                }
            }
        }
        Ok(())
    }

    fn filled(
        &self,
        statement: &Statement,
        row: usize,
        rng: &mut ChaCha8Rng,
    ) -> Result<String, Lost> {
        template::fill(&statement.text, row, &self.words, rng)
            .map_err(|cause| Lost::Other(wrong(statement, &cause)))
    }

    /// Rows in bulk: `INSERT … VALUES (…)`, the part behind VALUES once for every row.
    fn fill(
        &mut self,
        statement: &Statement,
        count: usize,
        rng: &mut ChaCha8Rng,
    ) -> Result<(), Lost> {
        let (head, row) = statement.text.split_once("VALUES").ok_or_else(|| {
            Lost::Other(wrong(
                statement,
                "a statement that fills a table has VALUES and then one row",
            ))
        })?;
        let row = Statement {
            line: statement.line,
            text: row.trim().to_owned(),
        };
        let mut number = 0;
        while number < count {
            let bulk = BULK.min(count - number);
            let mut rows = Vec::with_capacity(bulk);
            for _ in 0..bulk {
                number += 1;
                rows.push(self.filled(&row, number, rng)?);
            }
            self.both(&format!("{head}VALUES {}", rows.join(",")))?;
        }
        Ok(())
    }

    /// A statement that must work on both servers.
    fn both(&mut self, sql: &str) -> Result<(), Lost> {
        let short: String = sql.chars().take(200).collect();
        self.theirs
            .rows(sql)
            .with_context(|| format!("the server compared with refuses: {short}"))?;
        match self.ours.rows(sql) {
            Ok(_) => Ok(()),
            Err(error @ LoadError::Query { .. }) => Err(Lost::Ours(anyhow!(
                "it refuses what the other accepts: {error}"
            ))),
            Err(error) => Err(Lost::Ours(error.into())),
        }
    }

    fn plant(&mut self, engine: &str) -> Result<(), Lost> {
        match &self.options.planted.statement {
            Some(statement) => {
                let rows = self.ours.rows(statement);
                rows.with_context(|| format!("planting a difference in {engine}"))?;
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// Asks both and notes what differs.
    fn compare(&mut self, engine: &str, line: usize, sql: &str) -> Result<(), Lost> {
        if self.crashing.contains_key(&line) {
            return Ok(());
        }
        let asked = self.ask_both(sql);
        let (ours, theirs) = asked.map_err(|lost| match lost {
            Lost::Theirs(_, error) => Lost::Theirs(line, error),
            lost => lost,
        })?;
        self.statements += 1;
        self.note(engine, Some(line), sql, &ours, &theirs)
    }

    /// Both servers' answers, worked out at the same time.
    fn ask_both(&mut self, sql: &str) -> Result<(Answer, Answer), Lost> {
        let (ours, theirs) = (&mut self.ours, &mut self.theirs);
        let (ours, theirs) = thread::scope(|scope| {
            let theirs = scope.spawn(|| ask(theirs, sql));
            (ask(ours, sql), theirs.join())
        });
        let theirs = theirs
            .map_err(|_| Lost::Other(anyhow!("a client of the check panicked at: {sql}")))?
            .map_err(|error| {
                let what = format!("the server compared with was lost at: {sql}");
                Lost::Theirs(0, anyhow!(error).context(what))
            })?;
        let ours =
            ours.map_err(|error| Lost::Ours(anyhow!(error).context(format!("at: {sql}"))))?;
        Ok((ours, theirs))
    }

    fn note(
        &mut self,
        engine: &str,
        line: Option<usize>,
        sql: &str,
        ours: &Answer,
        theirs: &Answer,
    ) -> Result<(), Lost> {
        if let Some(difference) = difference(ours, theirs, self.closeness) {
            self.differing += 1;
            let finding = CheckFinding::OtherAnswer {
                engine: engine.to_owned(),
                line,
                difference,
                statement: sql.chars().take(300).collect(),
            };
            self.room.fault(&mut self.report, finding)?;
        } else if self.closeness == Closeness::Numbers
            && let Some(difference) = warns_otherwise(ours, theirs)
        {
            *self
                .warned_differently
                .entry((line, difference))
                .or_default() += 1;
        }
        Ok(())
    }

    /// Compares which tables there are, every table whole, and its checksum where both compute it in the same way.
    fn look_at_tables(&mut self, engine: &str) -> Result<(), Lost> {
        let list = "SHOW FULL TABLES WHERE Table_type = 'BASE TABLE'";
        let (ours, theirs) = self.ask_both(list)?;
        // One that the server under test alone has is looked at nowhere else.
        self.note(engine, None, list, &ours, &theirs)?;
        let tables = theirs.reply.map_err(|(code, message)| {
            Lost::Other(anyhow!(
                "the server compared with does not list its tables: error {code} ({message})"
            ))
        })?;
        for row in tables {
            let Some(table) = row.into_iter().next().flatten() else {
                continue;
            };
            let mut looks = vec![format!("SELECT * FROM `{table}`")];
            if self.closeness != Closeness::Rows {
                looks.push(format!("CHECKSUM TABLE `{table}` EXTENDED"));
            }
            looks.push(format!("CHECK TABLE `{table}`"));
            for sql in looks {
                let (ours, theirs) = self.ask_both(&sql)?;
                self.note(engine, None, &sql, &ours, &theirs)?;
            }
            self.tables += 1;
        }
        Ok(())
    }

    /// The server under test is gone, by this error: that is a fault, unless it was `killed` by something around it.
    fn lost(
        &mut self,
        error: anyhow::Error,
        killed: Option<anyhow::Error>,
        server: &RunningServer,
    ) -> Result<()> {
        match killed {
            Some(killed) => cut_short(&mut self.report, killed),
            None => {
                let finding = CheckFinding::ServerLost {
                    ended: server.how_it_ended(),
                    error: error.explain(),
                    log: server.log_tail(20),
                };
                self.room.fault(&mut self.report, finding)
            }
        }
    }

    fn finish(self, engines: usize) -> PartReport {
        let mut report = self.report;
        report.figure(CheckCount::Statements, self.statements);
        report.figure(CheckCount::WholeTables, self.tables);
        report.figure(CheckCount::Engines, engines as u64);
        report.figure(CheckCount::DifferentAnswers, self.differing);
        if !self.crashing.is_empty() {
            report.figure(CheckCount::CrashingStatements, self.crashing.len() as u64);
        }
        let other = self.warned_differently.values().sum();
        if other > 0 {
            report.figure(CheckCount::OtherWarnings, other);
        }
        // By the file's lines: what its engines share is told once.
        let warned = self.warned_differently.into_iter().take(MAX_NOTES);
        let notes = warned.map(|((line, difference), times)| CheckNote::OtherWarnings {
            line,
            difference,
            times,
        });
        report.notes.extend(notes);
        report
    }
}

/// The sections in the order in which they are done; true of those that are done again: what is asked before the changes is asked
/// once more right behind them, before anything changes the tables' structure.
fn passes(script: &Script) -> Vec<(&Section, bool)> {
    let sections = &script.sections;
    let once = |section| (section, false);
    let Some(last) = sections.iter().rposition(is_changes) else {
        return sections.iter().map(once).collect();
    };
    let (until, after) = sections.split_at(last + 1);
    let before = until.iter().take_while(|section| !is_changes(section));
    let again = before.filter(|section| section.kind == Kind::Queries);
    until
        .iter()
        .map(once)
        .chain(again.map(|section| (section, true)))
        .chain(after.iter().map(once))
        .collect()
}

fn is_changes(section: &Section) -> bool {
    matches!(section.kind, Kind::Changes(_))
}

fn wrong(statement: &Statement, cause: &str) -> anyhow::Error {
    anyhow!(
        "data/checks/answers.sql:{}: {cause}", statement.line;
        remedy: "data/checks/README.md describes the file"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_statements_are_valid_and_varied() {
        let script = Script::parse("data/checks/answers.sql", SCRIPT).expect("valid");
        let words: Vec<&str> = WORDS.lines().filter(|line| !line.is_empty()).collect();
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let mut statements = 0;
        for section in &script.sections {
            assert!(!section.statements.is_empty(), "{}", section.name);
            for statement in &section.statements {
                template::fill(&statement.text, 1, &words, &mut rng)
                    .unwrap_or_else(|cause| panic!("line {}: {cause}", statement.line));
                statements += 1;
            }
        }
        assert!(statements > 200, "{statements}");
        assert!(words.iter().any(|word| !word.is_ascii()) && words.len() > 100);
    }

    #[test]
    fn questions_are_asked_again_behind_the_changes_and_before_the_structure_changes() {
        let script = Script::parse("data/checks/answers.sql", SCRIPT).expect("valid");
        let passes = passes(&script);
        let queries = passes.iter().filter(|(_, again)| *again).count();
        assert!(queries >= 15, "{queries}");
        assert_eq!(passes.len(), script.sections.len() + queries);
        let place = |name: &str, again: bool| {
            let this =
                |(section, is_again): &(&Section, bool)| section.name == name && *is_again == again;
            passes.iter().position(this)
        };
        let structure = place("structure of tables", false).expect("there");
        for name in ["joins", "aggregates", "what is refused"] {
            let first = place(name, false).expect(name);
            let second = place(name, true).expect(name);
            let last_changes = place("transactions", false).expect("there");
            assert!(
                first < last_changes && last_changes < second && second < structure,
                "{name}: {first}, {last_changes}, {second}, {structure}"
            );
        }
        assert_eq!(place("structure of tables", true), None);
        assert_eq!(place("changes", true), None);

        let unchanged = Script::parse("a.sql", "--@ queries x\nSELECT 1;\n").expect("valid");
        assert_eq!(super::passes(&unchanged).len(), 1);
    }
}
