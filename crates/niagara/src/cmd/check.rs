//! `niagara server check`: is a server still a correct one?

mod verdict;

use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use console::{Style, style};
use indicatif::ProgressBar;
use niagara_build::{BuildKind, BuildStore};
use niagara_check::{
    AnswersOptions, CheckOptions, CheckRecord, CrashOptions, Outcome, Part, PartReport, Progress,
    Subject, SuiteOptions, check,
};
use niagara_error::bail;
use niagara_lab::{Inventory, looks_like_path, server_name};
use niagara_report::ink;
use niagara_server::Install;

use self::verdict::{Verdict, earlier, not_refuted};
use crate::args::{CheckArgs, PartArg};
use crate::clock::clock;
use crate::interrupt;
use crate::json::{self, Document, Printed};
use crate::progress::{colour_on_stdout, living_line};

/// Without a terminal, a line at most this often.
const QUIET_INTERVAL: Duration = Duration::from_secs(30);

/// Fewer letters of a build's key say nothing.
const MIN_KEY: usize = 4;

pub fn run(inventory: &Inventory, args: &CheckArgs) -> Result<ExitCode> {
    let cancel = interrupt::on_ctrl_c()?;
    let subject = subject(inventory, args)?;
    let mut options = options(args);
    options.suite.tree = BuildStore::new(&inventory.cache).source_of(&subject.ours.server);
    let mut screen = Screen::new(&options);
    if !args.json {
        say!(
            "{} {} against {}",
            subject.ours.name,
            subject.ours.version_string,
            subject.against()
        );
    }
    let screen_cell = std::cell::RefCell::new(&mut screen);
    let record = check(
        &inventory.cache,
        &inventory.catalog,
        &subject,
        &options,
        &cancel,
        &mut |progress| screen_cell.borrow_mut().show(progress),
        &mut |report| screen_cell.borrow_mut().part(report, args.json),
    );
    screen.bar.finish_and_clear();
    let record = record?;
    let verdict = Verdict::of(&record, &options.parts);
    if args.json {
        json::print(&record)?;
    } else {
        conclude(&verdict, &record, &options.parts);
    }
    Ok(interrupt::exit_code(false, verdict.is_good()))
}

impl Printed for CheckRecord {
    const DOCUMENT: Document = Document::Check;
}

fn options(args: &CheckArgs) -> CheckOptions {
    let mut parts: Vec<Part> = args.part.iter().map(|part| Part::from(*part)).collect();
    if parts.is_empty() {
        parts = Part::ALL.to_vec();
    }
    CheckOptions {
        parts,
        crash: CrashOptions {
            kills: args.kills,
            seed: args.seed,
            ..CrashOptions::default()
        },
        answers: AnswersOptions {
            seed: args.seed,
            ..AnswersOptions::default()
        },
        suite: SuiteOptions {
            only: args.test.clone(),
            ..SuiteOptions::default()
        },
        forget: args.forget,
    }
}

/// The server under test and the one beside it.
fn subject(inventory: &Inventory, args: &CheckArgs) -> Result<Subject> {
    let ours = install(inventory, &args.server)?;
    let against = args.against.as_deref();
    let against = against.map(|name| install(inventory, name)).transpose()?;
    Subject::new(
        &inventory.cache,
        &inventory.catalog,
        ours,
        against,
        &mut |text| tell!("{text}"),
    )
}

/// A server by its name in the catalogue, by the path of its binary, or by the key of a build.
fn install(inventory: &Inventory, name: &str) -> Result<Install> {
    if looks_like_path(name) {
        return Install::from_path(Path::new(&server_name(name)?));
    }
    if let Some(install) = built(inventory, name)? {
        return Ok(install);
    }
    let description = inventory
        .catalog
        .get(name)
        .context("a build is named by its key, as `niagara server build list` shows it")?;
    niagara_server::get(&inventory.cache, description, &mut |text| tell!("{text}"))
}

/// The finished build whose key begins so; none when the name is no part of a key.
fn built(inventory: &Inventory, name: &str) -> Result<Option<Install>> {
    if name.len() < MIN_KEY || !name.chars().all(|c| c.is_ascii_hexdigit()) {
        return Ok(None);
    }
    let mut builds = BuildStore::new(&inventory.cache).list()?;
    builds.retain(|build| {
        let server = build.finished && build.record.kind == BuildKind::Server;
        server && build.record.key.starts_with(name)
    });
    match &builds[..] {
        [] => Ok(None),
        [build] => Install::from_path(&build.folder.join("prefix/usr")).map(Some),
        several => bail!(
            "{} builds have a key that begins with {name}", several.len();
            remedy: "give more of it; `niagara server build list` shows them"
        ),
    }
}

/// What is on the screen while parts run.
struct Screen {
    bar: ProgressBar,
    live: bool,
    parts: Vec<Part>,
    began: Option<(Part, Instant)>,
    last_line: Instant,
}

/// Seconds a part takes on two CPUs; what is shown before the part itself knows better.
fn expected(part: Part) -> f64 {
    match part {
        Part::Crash => 40.0,
        Part::Answers => 60.0,
        Part::Suite => 300.0,
    }
}

impl Screen {
    fn new(options: &CheckOptions) -> Screen {
        let (bar, live) = living_line();
        Screen {
            bar,
            live,
            parts: options.parts.clone(),
            began: None,
            last_line: Instant::now(),
        }
    }

    fn show(&mut self, progress: &Progress) {
        let Some(part) = progress.part else {
            return;
        };
        let since = match self.began {
            Some((known, since)) if known == part => since,
            _ => {
                self.began = Some((part, Instant::now()));
                Instant::now()
            }
        };
        let left = self.left(part, since.elapsed().as_secs_f64(), progress.done);
        let text = format!(
            "{} · {:.0} % · about {} left in all · {}",
            part.title(),
            progress.done * 100.0,
            clock(Duration::from_secs_f64(left)),
            progress.text
        );
        if self.live {
            self.bar.set_message(text);
        } else if self.last_line.elapsed() >= QUIET_INTERVAL {
            self.last_line = Instant::now();
            tell!("{text}");
        }
    }

    /// Seconds left: of this part by its pace so far, of the later ones by what they usually take.
    fn left(&self, part: Part, elapsed: f64, done: f64) -> f64 {
        let here = if done > 0.05 {
            elapsed * (1.0 - done) / done
        } else {
            (expected(part) - elapsed).max(1.0)
        };
        let later = self.parts.iter().filter(|later| **later > part);
        here + later.map(|part| expected(*part)).sum::<f64>()
    }

    fn part(&mut self, report: &PartReport, json: bool) {
        if json {
            return;
        }
        self.bar.suspend(|| print(report));
    }
}

fn print(report: &PartReport) {
    let word = report.outcome.words();
    let colour = match report.outcome {
        Outcome::Passed => Style::new().color256(ink::GOOD),
        Outcome::Failed => Style::new().color256(ink::BAD).bold(),
        Outcome::Skipped => Style::new().bold(),
    };
    let word = match colour_on_stdout() {
        true => colour.apply_to(word).to_string(),
        false => word.to_owned(),
    };
    let took = clock(Duration::from_secs_f64(report.seconds));
    say!("\n{}: {word} in {took}", report.part.title());
    if !report.figures.is_empty() {
        say!("  {}", report.figures_line());
    }
    for finding in &report.findings {
        say!("  ! {}", finding.to_string().replace('\n', "\n    "));
        for line in finding.evidence().iter().flat_map(|text| text.lines()) {
            say!("    {line}");
        }
    }
    if report.more_findings > 0 {
        say!("  ! {} more, not shown", report.more_findings);
    }
    for note in &report.notes {
        say!("  {note}");
    }
    for out in &report.left_out {
        say!("  left out: {out}");
    }
}

fn conclude(verdict: &Verdict, record: &CheckRecord, parts: &[Part]) {
    let binary = format!(
        "{} (sha256 {}…)",
        record.binary.display(),
        &record.sha256[..16]
    );
    say!();
    for (index, line) in verdict.lines(&binary).into_iter().enumerate() {
        match index == 0 && colour_on_stdout() {
            true => say!("{}", style(line).bold()),
            false => say!("{line}"),
        }
    }
    if let Some(earlier) = earlier(record, parts) {
        say!("{earlier}");
    }
    for line in not_refuted(record) {
        say!("{line}");
    }
}

impl From<PartArg> for Part {
    fn from(arg: PartArg) -> Part {
        match arg {
            PartArg::Crash => Part::Crash,
            PartArg::Answers => Part::Answers,
            PartArg::Suite => Part::Suite,
        }
    }
}
