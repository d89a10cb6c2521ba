//! The English of what studies find, in one place: each enum is turned into sentences by an exhaustive match.

mod check;
mod event;
mod node;
mod origin;
mod setting;

use std::collections::BTreeSet;
use std::fmt::{Display, Formatter, Result};

use niagara_capture::fidelity::ReplayVerdict;

use crate::number;
use crate::{
    AllTimeMeaning, AlternativeReason, AnswerDifference, Benefit, Bound, Breakdown, BuildCheck,
    CheckCount, CheckFigure, CheckLimit, CheckOutcome, CheckPart, ChosenIndex, Conclusion, Control,
    CpuPlacement, Deployment, Difference, DifferingDigest, DropReason, Failure, FinalCheck,
    Finding, Goal, HeldBack, IdenticalDuels, LeftOutPlacements, Machine, NextStep, Obstacle,
    Others, PartFault, PointFailure, QueriesFirst, Reason, Recommendation, ReplaySummary,
    SameAnswers, Searched, Setting, Setup, StrongerSetting, TakenEvidence, UndoneCheck, Upgrade,
    UpgradeObstacle, Warning,
};

/// Names of the two sides of a comparison.
const SIDES: [&str; 2] = ["A", "B"];

/// Share of slices from which on standstills are mentioned.
const MANY_STANDSTILLS: f64 = 0.005;

impl Upgrade {
    /// Whether it is safe, in twelve words at most: `not safe to upgrade from mariadb-10.11 to mariadb-11.8`.
    pub fn title(&self) -> String {
        let unknown = matches!(
            self.obstacles[..],
            [UpgradeObstacle::NotCompared { .. } | UpgradeObstacle::PoorReplay { .. }]
        );
        let safety = match (self.is_safe(), unknown) {
            (true, _) => "safe",
            (false, true) => "not known to be safe",
            (false, false) => "not safe",
        };
        format!("{safety} to upgrade from {} to {}", self.from, self.to)
    }
}

impl Display for Upgrade {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let traffic = match self.is_whole {
            true => "this traffic",
            false => "the part of this traffic that was compared",
        };
        write!(f, "{} for {traffic}", self.title())?;
        for (place, obstacle) in self.obstacles.iter().enumerate() {
            write!(f, "{} {obstacle}", if place == 0 { ":" } else { ";" })?;
        }
        Ok(())
    }
}

impl Display for AnswerDifference {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::Counts {
                digest,
                text,
                sides: [a, b],
            } => write!(
                f,
                "{digest} {text}: A {} rows and {} errors of {} executions, B {} rows and {} errors of {}",
                a.rows, a.errors, a.executions, b.rows, b.errors, b.executions
            ),
            Self::Content(found) => found.fmt(f),
        }
    }
}

impl ReplaySummary {
    /// What was replayed beside what was captured, what was compared, and what A showed against itself, a line each.
    pub fn facts(&self) -> Vec<String> {
        let mut facts = self.fidelity.facts();
        facts.extend(self.same_answers.iter().flat_map(SameAnswers::facts));
        if let Some(IdenticalDuels {
            duels,
            ratio: Some(e),
            ..
        }) = &self.identical
        {
            let shown = number::estimate_in(e, 3);
            facts.push(format!(
                "A against itself on the capture, {duels} duels: {shown} (99 %)"
            ));
        }
        facts
    }
}

impl SameAnswers {
    /// What was compared and what was not, a line each.
    pub fn facts(&self) -> Vec<String> {
        if let Some(failure) = &self.failure {
            return vec![format!("answers were not compared by content: {failure}")];
        }
        let part = match self.transactions < self.of_transactions {
            true => format!(
                " (the first {:.0} % of the transactions, as far as the time went)",
                self.transactions as f64 / self.of_transactions.max(1) as f64 * 100.0
            ),
            false => String::new(),
        };
        let mut facts = vec![format!(
            "answers, one transaction at a time on equal data{part}: {} statements compared by content, {} by errors and \
             rows; {} not, whose answers vary or speak of the server",
            self.by_content, self.by_rows, self.not_compared
        )];
        let open = self.differing.iter();
        facts.extend(
            open.filter(|digest| digest.what == Difference::Open)
                .map(|digest| {
                    format!(
                        "{}: the statement leaves the order or the choice of its rows open, and no answer is wrong",
                        digest.words()
                    )
                }),
        );
        facts
    }
}

impl Display for DifferingDigest {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str(&self.words())
    }
}

impl DifferingDigest {
    fn words(&self) -> String {
        let what = match self.what {
            Difference::Open => "rows in another order, or others",
            Difference::Contents => "other contents",
            Difference::Rows => "another number of rows",
            Difference::Errors => "other errors",
        };
        let error = self.error.as_ref().map_or(String::new(), |error| {
            format!(": error {} ({})", error.code, error.message)
        });
        format!(
            "{} {}: {what} in {} of {} executions on equal data{error}",
            self.digest, self.text, self.differing, self.executions
        )
    }
}

impl Display for UpgradeObstacle {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let statements = |count: usize, [one, many]: [&str; 2]| match count {
            1 => format!("1 statement {one}"),
            count => format!("{count} statements {many}"),
        };
        match self {
            Self::NotCompared { error } => write!(f, "answers could not be compared: {error}"),
            Self::PoorReplay { shortcomings } => {
                let shortcomings = shortcomings.clone();
                ReplayVerdict::Poor { shortcomings }.fmt(f)
            }
            Self::Failing { digests } => {
                let errors = digests.iter().filter_map(|digest| digest.error.as_ref());
                let codes: BTreeSet<u16> = errors.map(|error| error.code).collect();
                let codes: Vec<String> = codes.iter().map(u16::to_string).collect();
                write!(
                    f,
                    "{} ({} {})",
                    statements(digests.len(), ["fails", "fail"]),
                    if codes.len() == 1 { "error" } else { "errors" },
                    codes.join(", ")
                )
            }
            Self::OtherAnswers { digests } => f.write_str(&statements(
                digests.len(),
                ["is answered otherwise", "are answered otherwise"],
            )),
            Self::Slower { digests, share } => write!(
                f,
                "{} slower ({} of the time)",
                statements(digests.len(), ["is", "are"]),
                number::percent(*share)
            ),
        }
    }
}

impl Display for Machine {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str(match self {
            Self::Here => "this machine",
            Self::Production => "the production machine",
        })
    }
}

impl Display for Control {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str(match self {
            Self::Negative => "negative control",
            Self::Positive => "positive control",
        })
    }
}

impl Display for Failure {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "{} could not be measured: {}", self.variant, self.error)
    }
}

impl Display for Setting {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let Self {
            variable, value, ..
        } = self;
        write!(f, "{variable} = {value}{}", self.in_place())
    }
}

impl Setting {
    /// ` (your /etc/mysql/my.cnf line 12)`, or nothing.
    fn in_place(&self) -> String {
        let place = self.place.as_ref();
        place.map_or(String::new(), |place| format!(" (your {place})"))
    }
}

impl Reason {
    /// The reason in words, without the heading that some begin with.
    pub fn detail(&self) -> String {
        Detail(self).to_string()
    }

    /// A few words for all reasons of this kind, where they are counted.
    pub fn heading(&self) -> &'static str {
        match self {
            Self::NotRequested => "left out on request",
            Self::OnlyByName { .. } => "tried only when asked for by name",
            Self::RiskNotAllowed { .. } => "riskier than allowed",
            Self::SharedHost => "takes from the live server of this host",
            Self::RemoteApplication => "the application runs on another host",
            Self::ApplicationOnSocket => "the application uses the Unix socket already",
            Self::NotForServer { .. }
            | Self::NotForFamily { .. }
            | Self::NotForVersion { .. }
            | Self::NotBuildable { .. }
            | Self::NoVariable { .. }
            | Self::OtherVariable { .. }
            | Self::NoValue { .. }
            | Self::NotOwnMalloc { .. }
            | Self::OwnMalloc { .. }
            | Self::MallocCompiledIn { .. } => "not for this server",
            Self::NoWrites => "the workload does not write",
            Self::NotForEngine { .. } => "for tables in another engine",
            Self::LittleData { .. } => "too little data",
            Self::FewCpus { .. } | Self::CpuNumbers { .. } => "not for this number of CPUs",
            Self::LittleMemory { .. } => "too little memory",
            Self::HugePagesOff { .. } | Self::NoHugePagesReserved => "no huge pages",
            Self::OneNumaNode => "this machine has one NUMA node",
            Self::OneThreadPerCore => "this machine has one thread per core",
            Self::NeedsRoot => "needs root",
            Self::LockedMemoryLimit { .. } => "too little memory may be locked",
            Self::OpenFilesLimit { .. } => "too few files may be open",
            Self::MallocNotFound { .. } => "its malloc was not found",
            Self::NotComputable { .. } => "not for this machine",
            Self::ChangesNothing => "changes nothing here",
            Self::Excludes { .. } => "excluded by the baseline",
            Self::DoesNotStart { .. } => "the server does not start with it",
            Self::DoesNotStartTogether { .. } => "the server does not start with both together",
            Self::NothingToActOn { .. } => "nothing to act on",
            Self::Unchanged { ignored, .. } if ignored.is_empty() => "already so",
            Self::Unchanged { same, .. } if same.is_empty() => "ignored by the server",
            Self::Unchanged { .. } => "already so, or ignored by the server",
            Self::WouldLower { .. } => "your configuration has more already",
            Self::DidNotLast { .. } => "servers with it failed",
            Self::Costly { .. } => "costs more than a third of the throughput",
            Self::BudgetTooShort => "the budget is too short",
            Self::BegunWithout => "the tuning began without it",
            Self::CannotBuild { .. } | Self::BaseBuildMissing { .. } => "cannot be built here",
            Self::TooManyBuildsToScreen { .. } | Self::TooManyServers { .. } => "too many builds",
            Self::BuildBudget { .. } => "no time to build it",
            Self::FailedCheck { .. } => "its server failed the check",
            Self::Unchecked { .. } => "its server is not checked",
            Self::NotToday { .. } => "cannot be tried today",
            Self::NotAvailable { .. } => "not available here",
            Self::NoLoad => "its load was not set up",
            Self::NotAskedFor => "not asked for yet",
            Self::CutShort => "too few duels",
            Self::StoppedBefore | Self::StoppedWithin => "stopped before it was measured",
            Self::TimeEnded | Self::NotToldApart => "the time ended before it was measured",
            Self::SideFailed(_) | Self::EndedAfterFailure(_) => "failed",
            Self::AllDisturbed { .. } => "the machine was too disturbed",
        }
    }
}

impl Display for Reason {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        if self.is_about_server() {
            write!(f, "{}: ", self.heading())?;
        }
        write!(f, "{}", Detail(self))
    }
}

impl std::error::Error for Reason {}

/// A reason where its heading stands before it already.
pub(crate) struct Detail<'a>(pub(crate) &'a Reason);

impl Display for Detail<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self.0 {
            Reason::NotRequested => f.write_str("left out on request (--only, --without)"),
            Reason::OnlyByName { lever, build } => {
                write!(f, "tried only when asked for by name: --also {lever}")?;
                match build {
                    true => f.write_str("; --with-builds tries the best that fit into --build-budget"),
                    false => Ok(()),
                }
            }
            Reason::RiskNotAllowed { risk } => {
                write!(f, "risk {risk}: not tried without --allow {risk}")
            }
            Reason::SharedHost => {
                f.write_str("it takes priority or memory from the live server of this host")
            }
            Reason::RemoteApplication => f.write_str("the application runs on another host"),
            Reason::ApplicationOnSocket => {
                f.write_str("the application uses the Unix socket already (--app socket)")
            }
            Reason::NotForServer { because } => f.write_str(because),
            Reason::NotForFamily { family } => write!(f, "its [when] does not name {family}"),
            Reason::NotForVersion {
                family,
                range,
                version,
            } => write!(f, "for {family} {range} only; this is {version}"),
            Reason::NotBuildable { because } => f.write_str(because),
            Reason::NoVariable { release, variable } => {
                write!(f, "{release} has no variable {variable}")
            }
            Reason::OtherVariable { release, variable } => {
                write!(f, "{release} has {variable} in its place")
            }
            Reason::NoValue {
                release,
                variable,
                value,
            } => write!(f, "{variable} of {release} does not take {value}"),
            Reason::NotOwnMalloc { release, own } => write!(
                f,
                "this {release} is linked with {own}: settings of the C library's malloc do not reach it"
            ),
            Reason::OwnMalloc { release, own } => {
                write!(f, "this {release} uses {own} already: nothing to gain")
            }
            Reason::MallocCompiledIn { release, own } => write!(
                f,
                "{own} is compiled into this {release}: no other malloc can be loaded in its place"
            ),
            Reason::NoWrites => {
                f.write_str("the workload does not write: try one that does, as oltp_read_write")
            }
            Reason::NotForEngine { engines, engine } => write!(
                f,
                "for tables in {} only, not in {engine}",
                engines.join(", ")
            ),
            Reason::LittleData { least_bytes, bytes } => write!(
                f,
                "matters from {} of tables and indexes; there are {}: load more rows",
                megabytes(*least_bytes),
                megabytes(*bytes)
            ),
            Reason::FewCpus {
                least,
                cpus,
                machine,
            } => write!(f, "needs {least} CPUs; {machine} has {cpus}"),
            Reason::CpuNumbers { here, production } => write!(
                f,
                "it names CPUs by their numbers: this machine has {here}, the production machine {production}"
            ),
            Reason::LittleMemory {
                least_bytes,
                bytes,
                machine,
            } => write!(
                f,
                "needs {} of memory; {machine} has {}",
                megabytes(*least_bytes),
                megabytes(*bytes)
            ),
            Reason::HugePagesOff { mode: Some(mode) } => write!(
                f,
                "transparent huge pages are set to {mode}: echo madvise > /sys/kernel/mm/transparent_hugepage/enabled"
            ),
            Reason::HugePagesOff { mode: None } => {
                f.write_str("this kernel has no transparent huge pages")
            }
            Reason::NoHugePagesReserved => f.write_str(
                "no huge pages are reserved: sysctl vm.nr_hugepages=N, for both servers of a duel",
            ),
            Reason::OneNumaNode => f.write_str("this machine has one NUMA node"),
            Reason::OneThreadPerCore => f.write_str("this machine has one thread per core"),
            Reason::NeedsRoot => f.write_str("raising a priority needs root"),
            Reason::LockedMemoryLimit { bytes } => write!(
                f,
                "only {} may be locked: raise `ulimit -l` (LimitMEMLOCK= in systemd)",
                megabytes(*bytes)
            ),
            Reason::OpenFilesLimit { needed, limit } => write!(
                f,
                "the server needs {} open files for it, and may have {}: raise `ulimit -Hn` (LimitNOFILE= in systemd)",
                number::grouped(*needed as f64),
                number::grouped(*limit as f64)
            ),
            Reason::MallocNotFound { malloc } => write!(
                f,
                "{malloc} was not found for this server: install its package, or use a server from the catalogue, \
                 which brings it along (in a cache whose path has neither blanks nor colons: NIAGARA_CACHE)"
            ),
            Reason::NotComputable { error } => f.write_str(error),
            Reason::ChangesNothing => f.write_str("it changes nothing here"),
            Reason::Excludes { lever } => write!(f, "it cannot be together with {lever}"),
            Reason::DoesNotStart { cause } => write!(f, "the server does not start with it: {cause}"),
            Reason::DoesNotStartTogether {
                title,
                others,
                cause,
            } => {
                let fewer = match others.len() {
                    1 => "either alone",
                    _ => "fewer of them",
                };
                let others = others.join(" and ");
                write!(
                    f,
                    "the server does not start with {title} and {others} together, though with {fewer} it does; \
                     {others} stayed: {cause}"
                )
            }
            Reason::NothingToActOn { setting, wanted } => write!(
                f,
                "nothing to gain with {} = {}, as this server starts{}: it matters with {} {wanted}",
                setting.variable,
                setting.value,
                setting.in_place(),
                setting.variable
            ),
            Reason::Unchanged { ignored, same } => {
                let mut parts = Vec::new();
                if !ignored.is_empty() {
                    let told = ignored.iter();
                    let told = told.map(|one| format!("{} (\"{}\")", one.variable, one.value));
                    parts.push(format!(
                        "this server ignores what it sets: {}",
                        told.collect::<Vec<_>>().join(", ")
                    ));
                }
                if !same.is_empty() {
                    parts.push(format!("already so without it: {}", joined(same)));
                }
                f.write_str(&parts.join("; "))
            }
            Reason::WouldLower { setting, to } => write!(
                f,
                "your {} has more already: {} = {}, this lever would lower it to {to}",
                setting.place.as_deref().unwrap_or("configuration"),
                setting.variable,
                setting.value
            ),
            Reason::DidNotLast { cause } => {
                write!(f, "no server with it lasted under this load: {cause}")
            }
            Reason::Costly {
                ratio,
                low,
                high,
                duels,
            } => write!(
                f,
                "it costs more than a third of the throughput: {} with it by {}, then set aside",
                number::estimate_in(
                    &niagara_stats::Estimate {
                        ratio: *ratio,
                        low: *low,
                        high: *high
                    },
                    2
                ),
                number::count(*duels, "duel")
            ),
            Reason::BudgetTooShort => f.write_str(
                "the budget is too short for this many levers: give a longer --budget",
            ),
            Reason::BegunWithout => f.write_str(
                "the tuning that is continued began without it: another folder (--out) begins a new one",
            ),
            Reason::CannotBuild { error, together } => {
                write!(f, "{error}")?;
                match together.is_empty() {
                    true => Ok(()),
                    false => write!(f, "\n(together with {})", together.join(", ")),
                }
            }
            Reason::BaseBuildMissing { lever, error } => {
                write!(f, "it adds to {lever}, which is not available here: {error}")
            }
            Reason::TooManyBuildsToScreen { most, lever } => write!(
                f,
                "the duels of this budget tell {most} builds apart, and more is expected of others: a longer --budget, or --only {lever}"
            ),
            Reason::TooManyServers { most } => write!(
                f,
                "with it the levers that build need more than {most} different servers: leave some out (--without), or \
                 name those to try (--only)"
            ),
            Reason::BuildBudget {
                takes: Some(takes),
                budget,
                left,
            } => write!(
                f,
                "building it takes about {}, and of the {} for building {} are left: --build-budget {}",
                minutes(*takes),
                minutes(*budget),
                minutes(left.max(0.0)),
                minutes(budget - left + takes)
            ),
            Reason::BuildBudget {
                takes: None,
                budget,
                ..
            } => write!(
                f,
                "how long building it takes here is unknown yet, and {} are for building: --build-budget {}, or build it alone \
                 (niagara server build)",
                minutes(*budget),
                minutes(budget * 4.0)
            ),
            Reason::FailedCheck { fault, server } => {
                f.write_str("its server failed the check of its correctness")?;
                if let Some(fault) = fault {
                    write!(f, ": {fault}")?;
                }
                write!(f, " (niagara server check {server})")
            }
            Reason::Unchecked { undone, server } => write!(
                f,
                "the correctness of its server is unknown: {}; run `niagara server check {server}`, and once that \
                 passes, tune again into another folder (--out)",
                undone.as_ref().map_or_else(
                    || "not every part of its check was done".to_owned(),
                    UndoneCheck::to_string
                )
            ),
            Reason::NotToday { because } => f.write_str(because),
            Reason::NotAvailable { error } => write!(f, "{error}"),
            Reason::NoLoad => f.write_str("its load was not set up"),
            Reason::NotAskedFor => f.write_str("not measured yet: in no part that was asked for"),
            Reason::CutShort => f.write_str(
                "not measured yet: a part ended within it, after too few duels to tell a difference",
            ),
            Reason::StoppedBefore => f.write_str("not yet: the study was stopped before it"),
            Reason::StoppedWithin => f.write_str("stopped before it was measured"),
            Reason::TimeEnded => f.write_str("the time ended before it: give a longer --budget"),
            Reason::NotToldApart => {
                f.write_str("the time ended before the screening could tell it apart")
            }
            Reason::SideFailed(failure) => write!(f, "{failure}"),
            Reason::EndedAfterFailure(failure) => {
                write!(f, "the time ended after a duel that failed: {failure}")
            }
            Reason::AllDisturbed { duels } => write!(
                f,
                "every duel that there was time for was too disturbed to count ({}): try a machine on which nothing \
                 else takes the memory or the CPUs, or --disturbance 100%, by which everything counts",
                number::count(*duels, "duel")
            ),
        }
    }
}

impl Display for PointFailure {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::NotMeasured {
                error,
                by_other: false,
            } => write!(f, "{error}"),
            Self::NotMeasured {
                error,
                by_other: true,
            } => write!(f, "not measured, because the other side failed: {error}"),
            Self::GivenUp {
                starts,
                error,
                by_other: false,
            } => write!(
                f,
                "given up after {} that count; then it failed again and again: {error}",
                number::count(*starts, "start")
            ),
            Self::GivenUp {
                starts,
                error,
                by_other: true,
            } => write!(
                f,
                "given up after {} that count, because the other side failed: {error}",
                number::count(*starts, "start")
            ),
            Self::Sometimes {
                failed,
                starts,
                error,
            } => write!(
                f,
                "{failed} of {} failed, and the figures are of the others: {error}",
                number::count(*starts, "start")
            ),
            Self::EndedAfter { error } => {
                write!(f, "the time ended after a start that failed: {error}")
            }
            Self::NoneCounted { starts: 0 } => f.write_str("the time ended before its first start"),
            Self::NoneCounted { starts } => write!(
                f,
                "none of its {} counts: each was too disturbed, or nothing was answered",
                number::count(*starts, "start")
            ),
        }
    }
}

impl Display for Warning {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match (&self.about, &self.finding) {
            (Some(about), finding) => write!(f, "{about}: {finding}"),
            // It begins with the name of a side.
            (None, finding @ Finding::AllTimeDisagrees { .. }) => {
                f.write_str(&number::capital(&finding.to_string()))
            }
            (None, finding) => write!(f, "{finding}"),
        }
    }
}

impl Display for Finding {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::QueriesFirst(found) => write!(f, "{} {}", found.headline(), found.detail()),
            Self::Stopped => f.write_str("stopped on request: the same command continues from here"),
            Self::Unfinished => f.write_str(
                "interrupted, or still under way: this is what was known by then; the same command continues from here",
            ),
            Self::QuestionUnfinished {
                stopped,
                called_after,
                withdrawn,
            } => {
                f.write_str(match stopped {
                    true => "stopped on request",
                    false => "interrupted",
                })?;
                match called_after {
                    Some(_) if *withdrawn => Ok(()),
                    Some(duels) => write!(
                        f,
                        "; the difference was called after {}",
                        number::count(*duels, "duel")
                    ),
                    None => f.write_str(" before a verdict"),
                }
            }
            Self::StrongestOnly => f.write_str(
                "the time was too short to tell all levers apart: effects are rough, and earlier runs elsewhere helped to \
                 pick; a longer --budget finds more",
            ),
            Self::ScreeningFailures { duels } => write!(
                f,
                "in {} of the screening a side did not start or did not last; no lever was to blame unless it is named below",
                number::count(*duels as usize, "duel")
            ),
            Self::ScreeningStopped => f.write_str(
                "stopped during the screening: nothing was promoted yet, and the effects are preliminary",
            ),
            Self::NoControl {
                control,
                part,
                reason,
            } => {
                write!(
                    f,
                    "this study has no {control}{}, so that part of the method was not checked here",
                    of_part(*part)
                )?;
                match reason {
                    Some(reason) => write!(f, ": {reason}"),
                    None => Ok(()),
                }
            }
            Self::ControlFailed {
                control,
                part,
                failure,
            } => write!(
                f,
                "the {control}{} failed, so that part of the method was not checked here: {failure}",
                of_part(*part)
            ),
            Self::ControlTooShort {
                control,
                part,
                duels,
            } => write!(
                f,
                "the {control}{} had only {}, too few to call a difference: that part of the method was not checked here; \
                 give a longer --budget",
                of_part(*part),
                number::count(*duels, "duel")
            ),
            Self::NegativeControlMoved {
                part,
                effect,
                one_in,
            } => write!(
                f,
                "the negative control{}, which changes nothing, shows {}: something else moves these figures, or this is the one \
                 control in {one_in:.0} that chance moves; distrust the small ones",
                of_part(*part),
                number::estimate_in(effect, 3)
            ),
            Self::PositiveControlUnseen {
                part,
                effect,
                too_few,
                least_cost,
            } => {
                let (part, shown) = (of_part(*part), number::estimate_in(effect, 3));
                match (too_few, least_cost) {
                    (_, None) => write!(
                        f,
                        "the positive control{part}, known to slow the server, shows {shown}: a real slowdown was not seen, \
                         so gains may have been missed as well (too much noise, or too little time)"
                    ),
                    (Some(duels), _) => write!(
                        f,
                        "the positive control{part}, known to slow the server, shows {shown} by {}: too rough to tell, and so would \
                         a loss down to × {:.2} be by as many here; give a longer --budget",
                        number::count(*duels, "duel"),
                        effect.low
                    ),
                    (None, Some(least_cost)) => write!(
                        f,
                        "the positive control{part}, known to cost {:.0} % of the throughput or more, shows {shown}: it costs less \
                         here, or this study misses effects that it should see",
                        (1.0 - least_cost) * 100.0
                    ),
                }
            }
            Self::LeftOut { title, reason } => write!(
                f,
                "{title} was promoted, and left out before anything was proven: {reason}"
            ),
            Self::StandsStill {
                title,
                with,
                without,
                cost,
            } => write!(
                f,
                "{title} was left out before anything was proven: the server stood still more with it in {with} of its duels, \
                 more without it in {without}. In the median slice it gains, over all time that costs {:.0} %",
                cost * 100.0
            ),
            Self::ChangesAnswers {
                title,
                together,
                differences,
            } => write!(
                f,
                "{title} changes what the server answers{} and was left out: {}",
                match together {
                    true => " together with the other levers",
                    false => "",
                },
                differing(differences)
            ),
            Self::RungLeftOut { title, failed } => write!(
                f,
                "{title} was left out of the later steps: {}",
                match failed {
                    true => "its duels failed, though the final variant has it",
                    false => "its replay gave other answers, or was not that of the capture",
                }
            ),
            Self::RungWorse { title, lever } => write!(
                f,
                "{title} made it worse in its fresh duels: the total was judged with it, a ladder without it may do better \
                 (--without {lever})"
            ),
            Self::FailedDuels { count, failure } => write!(
                f,
                "{} failed in {count} of its duels: {}",
                failure.variant, failure.error
            ),
            Self::CouldNotMeasure(failure) => write!(f, "{failure}"),
            Self::BeyondBudget { duels } => write!(
                f,
                "run beyond the budget, for a result with an interval: {}",
                number::count(*duels, "duel")
            ),
            Self::FasterWhereBothSurvived { variant } => write!(
                f,
                "{variant} was faster in the duels that both sides survived; as others were not survived, nothing is claimed"
            ),
            Self::TooFewDuels {
                duels,
                alpha,
                confidence: Some(confidence),
            } => write!(
                f,
                "the time ended after {}, too few to call a difference at α = {alpha}: the interval is the widest there is, \
                 of {:.0} % confidence; give a longer --budget",
                number::count(*duels, "duel"),
                confidence * 100.0
            ),
            Self::TooFewDuels {
                duels,
                confidence: None,
                ..
            } => write!(
                f,
                "the time ended after {}: there is no interval; give a longer --budget, or shorter duels (--couples)",
                match duels {
                    0 => "no duel".to_owned(),
                    1 => "one duel".to_owned(),
                    duels => number::count(*duels, "duel"),
                }
            ),
            Self::DuelLimitTooLow {
                duels,
                alpha,
                rungs: Some(rungs),
            } => write!(
                f,
                "{duels} duels a rung can prove nothing at α = {alpha} shared by {rungs} rungs: give more duels"
            ),
            Self::DuelLimitTooLow {
                duels,
                alpha,
                rungs: None,
            } => write!(
                f,
                "too few duels ({duels}) to call any difference at α = {alpha}: give more (--max-duels; in a study's file `duels`)"
            ),
            Self::TrimmedProtocol => f.write_str(
                "protocol of 2008: one series of runs after the other, best and worst dropped, no interval; \
                 on identical servers it shows a difference every time",
            ),
            Self::FewInSlice {
                transactions,
                goal,
                slice_seconds,
            } => write!(
                f,
                "a slice has {transactions:.0} transactions, so that its {goal} is the latency of the slowest one: \
                 --slice {slice_seconds:.0}s, or a higher --rate tells more of the others"
            ),
            Self::RemoteLoad { host } => write!(
                f,
                "the load comes from {host}: what else uses the CPUs of that host is not observed"
            ),
            Self::SharedHost { cpus, of, memory } => write!(
                f,
                "measured next to a live server, on {cpus} of {of} CPUs and with {} MB of memory: its load and the caches that both \
                 share are in the figures; measure on another machine what has to be sure",
                memory >> 20
            ),
            Self::GeneratorLimits { sides } => {
                let sides = sides.iter().map(|one| {
                    format!(
                        "{} ({}): its busiest loop used {:.0} % of a CPU",
                        SIDES[one.side.min(1)],
                        one.variant,
                        one.busy * 100.0
                    )
                });
                write!(
                    f,
                    "limited by the load generator, not by the server: {}; the server's own difference may be larger, so the \
                     figures are a bound (fewer --threads, or the load from another machine: --client-host)",
                    sides.collect::<Vec<_>>().join("; ")
                )
            }
            Self::BehindTheRate { rate, sides } => {
                let sides = sides.iter().map(|one| {
                    format!(
                        "{} ({}) served {:.0}",
                        SIDES[one.side.min(1)],
                        one.variant,
                        one.served
                    )
                });
                write!(
                    f,
                    "of {rate:.0} transactions a second that arrived {}: a queue grows there until the slice ends, so its \
                     latencies are higher than shown, by as much as one waits longer (a lower --rate compares at a rate that both serve)",
                    sides.collect::<Vec<_>>().join(", ")
                )
            }
            Self::ScoresDrift { rises, one_in } => write!(
                f,
                "later duels scored {} than earlier ones, as by chance in about one of {:.0} runs: the machine or the servers changed \
                 meanwhile, and the brackets may be too narrow for an effect that drifts",
                match rises {
                    true => "higher",
                    false => "lower",
                },
                // Beyond that the figure says no more.
                one_in.min(10_000.0)
            ),
            Self::DroppedOneSide { side, dropped, all } => {
                let side = SIDES[(*side).min(1)];
                write!(
                    f,
                    "couples were dropped because the machine was disturbed (its memory, say) in {side}'s slices, {dropped} of {all}: \
                     that is likely caused by {side} itself, and its cost is not in the figures"
                )
            }
            Self::TakenFromOneSide { side, evidence } => {
                let (side, other) = (SIDES[(*side).min(1)], SIDES[1 - (*side).min(1)]);
                write!(
                    f,
                    "other processes took more CPU time from {side} than from {other}, {}: the figures are not corrected for it",
                    match evidence {
                        TakenEvidence::DuelAfterDuel =>
                            "in duel after duel, which the variant itself likely causes",
                        TakenEvidence::AllSlices =>
                            "over all slices by more than chance explains, which the variant itself may cause",
                    }
                )
            }
            Self::BuildNotRecommended { of, check } => {
                let whose = match of.contains(' ') {
                    true => format!("the {of}'s"),
                    false => format!("{of}'s"),
                };
                let standing = match check {
                    BuildCheck::Failed(_) => "is not correct and therefore not recommended",
                    BuildCheck::Unknown { .. } => {
                        "is not known to be correct and therefore not recommended yet"
                    }
                    BuildCheck::Passed { .. } => "passed its check",
                };
                write!(f, "{whose} own build {standing}: {check}")
            }
            Self::BuildNotChecked { error } => write!(
                f,
                "the final variant's own build could not be checked, and is therefore not handed over; the same command \
                 tries again: {error}"
            ),
            Self::CheckFailed(check) => write!(
                f,
                "the final variant failed a check ({}) and is therefore not recommended: {}",
                check.title(),
                check.detail()
            ),
            Self::CheckNotDone(check) => write!(
                f,
                "the final variant could not be checked ({}){}: {}",
                check.title(),
                match check.is_broken() {
                    true => ", and is therefore not handed over; the same command tries again",
                    false => "",
                },
                check.detail()
            ),
            Self::OtherAnswers { differences } => write!(
                f,
                "the final variant answers the capture otherwise than the start and is therefore not recommended: {}",
                differing(differences)
            ),
            Self::AnswersUnknown { error } => write!(
                f,
                "the final variant's answers to the capture could not be compared with the start's, and it is therefore not \
                 handed over; the same command tries again: {error}"
            ),
            Self::NoProfile { subject: None, .. } => f.write_str(
                "what limits the server now was not observed: the budget is too short for a profile",
            ),
            Self::NoProfile {
                subject: Some(subject),
                error,
            } => write!(
                f,
                "what limits {subject} could not be observed: {}",
                error.as_ref().map_or("no reason given".to_owned(), ToString::to_string)
            ),
            Self::NothingLeftToConfirm { title } => write!(
                f,
                "{title} looks best now and is not confirmed: earlier confirmations used all of the error probability; \
                 measure the matrix again with another --out"
            ),
            Self::CouldNotConfirm { title, reason } => {
                write!(f, "{title} looks best and could not be confirmed: {reason}")
            }
            Self::ProvenNotChecked { title, reason } => write!(
                f,
                "{title} was proven and could not be checked here, and is therefore not handed over; the same command tries \
                 again: {reason}"
            ),
            Self::FewRounds { fewest, wanted } => write!(
                f,
                "the time ended before all rounds: the point with fewest has {fewest} fresh starts of {wanted}; a longer budget \
                 narrows the intervals"
            ),
            Self::SingleStarts => f.write_str(
                "points of one fresh start have no interval: how much they vary is unknown",
            ),
            Self::PointFailed {
                curve,
                threads,
                failure,
            } => write!(
                f,
                "{curve} at {}: {failure}",
                number::count(*threads as usize, "thread")
            ),
            Self::LawMisses { curves } => write!(
                f,
                "{}: the scalability law misses the measured points by more than starts differ; read the points, not the law",
                curves.join("; ")
            ),
            Self::OlderBuild { of, releases } => {
                let whose = match of.contains(' ') {
                    true => format!("The {of}'s"),
                    false => format!("{of}'s"),
                };
                write!(
                    f,
                    "{whose} own build is of an older release ({}) than the server compared with it ({}). It lacks the fixes made \
                     between them, security fixes included, and the ratio compares two releases, too. `niagara server build SERVER \
                     --refresh-source` asks for the newer source.",
                    releases.built,
                    releases.newer_beside().unwrap_or_default()
                )
            }
            Self::TotalApartFromParts {
                total,
                parts,
                levers,
            } => {
                let (lies, brings) = match total.ratio > parts.ratio {
                    true => ("above", "more"),
                    false => ("below", "less"),
                };
                write!(
                    f,
                    "the total, {}, lies {lies} the product of its {}, {}: together they bring {brings} than each by itself. \
                     Go by the total",
                    number::estimate(total),
                    number::count(*levers, "part"),
                    number::estimate(parts)
                )
            }
            Self::TotalBelowPart { title, total, part } => write!(
                f,
                "the time ended while the total, {}, lay below its best part, {title} {}: a longer --budget makes it surer",
                number::estimate(total),
                number::estimate(part)
            ),
            Self::AllTimeDisagrees {
                sides: [a, b],
                all_time,
                median,
                meaning,
            } => {
                let b_loses = all_time.over_score.is_none_or(|over| over.ratio < 1.0);
                let (worse, better) = match b_loses {
                    true => (1, 0),
                    false => (0, 1),
                };
                let names = [a, b];
                let [more, less] = [worse, better].map(|side| all_time.slow[side]);
                let [who, other] = [worse, better].map(|side| names[side]);
                match more > less && more >= MANY_STANDSTILLS {
                    true => write!(
                        f,
                        "{who} stood still, or served less than half of its usual rate, in {} of its slices ({other} in {})",
                        number::percent(more),
                        number::percent(less)
                    )?,
                    false => write!(f, "{who} loses more by its slow slices than {other}")?,
                }
                write!(
                    f,
                    ". Over all time under load {b} served {} of what {a} did, by its median slice {}.{}",
                    number::estimate(&all_time.estimate),
                    number::estimate(median),
                    match meaning {
                        AllTimeMeaning::Withdrawn =>
                            " So it is not called faster, and not handed over. In InnoDB mostly flushing, or a checkpoint of the redo \
                             log, holds all connections up.",
                        AllTimeMeaning::ContradictsFaster => " By now it would not be called faster.",
                        AllTimeMeaning::FasterToo =>
                            " It is faster over all time as well; a whole day is nearer to the first figure.",
                        AllTimeMeaning::Open =>
                            " Whether it is faster over all time as well these duels leave open: more would tell.",
                        AllTimeMeaning::Nothing => "",
                    }
                )
            }
            Self::PairProtocol => f.write_str(
                "Measured in pairs of runs, one variant after the other: the machine's drift cancels less well than in duels, \
                 so the interval is wider for the same time.",
            ),
            Self::ProvenUnchecked => f.write_str(
                "The proven gain is not checked yet: deploy/ is written once the study is continued.",
            ),
            Self::ReplayUnfit { shortcomings } => {
                let shortcomings = shortcomings.clone();
                write!(f, "Replay: {}.", ReplayVerdict::Poor { shortcomings })
            }
            Self::ReplayAnswers { answers } => write!(
                f,
                "B gives other answers than A, so that it cannot be recommended, whatever its speed: {}.",
                answers
                    .iter()
                    .map(ToString::to_string)
                    .collect::<Vec<_>>()
                    .join("; ")
            ),
            Self::SlowHere { digests } => {
                let told = digests.iter().map(|one| {
                    format!(
                        "{} takes {} here, {} on your server",
                        one.digest.get(..8).unwrap_or(&one.digest),
                        milliseconds(one.here_us),
                        milliseconds(one.captured_us)
                    )
                });
                write!(
                    f,
                    "{}: probably another plan (compare EXPLAIN on both; ANALYZE TABLE). Figures that rest on it may not hold.",
                    told.collect::<Vec<_>>().join("; ")
                )
            }
            Self::MostlyIdle { in_flight, .. } => write!(
                f,
                "Your database worked on {in_flight:.2} statements on average: it was mostly idle. A faster one hardly speeds up pages; \
                 look at single slow statements, and at the application (PHP)."
            ),
            Self::SlowerDigests { digests } => {
                let told = digests.iter().map(|digest| {
                    format!(
                        "{} ({}): {}",
                        digest.digest,
                        number::estimate(&digest.latency),
                        digest.text
                    )
                });
                write!(f, "Slower on B: {}.", told.collect::<Vec<_>>().join("; "))
            }
        }
    }
}

/// Indexes that are named in one sentence; the others are counted.
const MAX_INDEXES: usize = 3;

impl Display for ChosenIndex {
    /// `wp_posts(post_status, post_date)`.
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "{}({})", self.table, self.columns.join(", "))
    }
}

impl QueriesFirst {
    /// What comes first, in twelve words at most: the title of a report.
    pub fn title(&self) -> String {
        match &self.indexes[..] {
            [] => format!("First: {}, {}", self.statements(), self.part()),
            [one] => in_a_title(
                format!("First: an index on {one}"),
                format!("First: an index on {}", one.table),
            ),
            many => format!(
                "First: {} indexes, which save {} of the reading",
                many.len(),
                number::percent(self.saved)
            ),
        }
    }

    /// What comes first, and what it brings.
    pub fn headline(&self) -> String {
        let saves = format!("{} of the rows and pages read", number::percent(self.saved));
        match &self.indexes[..] {
            [] => format!("First: {}, {}.", self.statements(), self.part()),
            [one] => format!("First: an index on {one}, which saves {saves}."),
            many => {
                let shown = many.iter().take(MAX_INDEXES);
                let shown: Vec<String> = shown.map(ToString::to_string).collect();
                let rest = match many.len().saturating_sub(MAX_INDEXES) {
                    0 => String::new(),
                    more => format!(" and {more} more"),
                };
                format!(
                    "First: {} indexes, which save {saves}: {}{rest}.",
                    many.len(),
                    shown.join(", ")
                )
            }
        }
    }

    /// Which statements they are, and what they read.
    pub fn detail(&self) -> String {
        let digest = &self.digest[..self.digest.len().min(8)];
        let reads = format!(
            "({digest}) reads {} rows and returns or changes {}",
            number::grouped(self.rows_examined),
            number::grouped(self.rows_returned)
        );
        let reads = match self.digests {
            1 => format!("The statement {reads}"),
            _ => format!("The first {reads}"),
        };
        match self.indexes.is_empty() {
            true => format!("{reads}; counting chose no index."),
            false => format!(
                "{}: {}. {reads}.",
                number::capital(&self.statements()),
                self.part()
            ),
        }
    }

    fn statements(&self) -> String {
        number::count(self.digests, "statement")
    }

    /// `28 % of the database's time`.
    fn part(&self) -> String {
        let of = match self.of_time {
            true => "of the database's time",
            false => "of the executions",
        };
        format!("{} {of}", number::percent(self.share))
    }
}

/// Words that a title has at most.
const MAX_TITLE: usize = 12;

/// A title where it is short enough, else the shorter one.
fn in_a_title(title: String, shorter: String) -> String {
    match title.split_whitespace().count() <= MAX_TITLE {
        true => title,
        false => shorter,
    }
}

impl Display for CpuPlacement {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str(match self {
            Self::ServerCpus => "the server's CPUs",
            Self::ClientCpus => "the application's CPUs",
            Self::MallocArenas => Self::ARENAS,
        })
    }
}

impl Display for LeftOutPlacements {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let placements: Vec<String> = self.placements.iter().map(ToString::to_string).collect();
        write!(
            f,
            "Left out for {}, though part of what was measured: {}. Measure again on such a machine.",
            number::count(self.cpus as usize, "CPU"),
            placements.join(", ")
        )
    }
}

impl Display for HeldBack {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::SizedByServer {
                variable,
                value,
                place,
            } => write!(
                f,
                "{variable} stays what the server makes of the whole machine (innodb_dedicated_server, {place}): here two servers \
                 shared one, and {value} was not compared with that"
            ),
            Self::NotLowered {
                variable,
                value,
                yours,
                place,
            } => write!(
                f,
                "{variable} stays {yours} ({place}): {value} was the most that was tried here, and a lower value than yours was not \
                 compared with yours"
            ),
        }
    }
}

impl Display for StrongerSetting {
    /// What is to be done about it.
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::Persisted { variable, .. } => write!(
                f,
                "`{variable}` was SET PERSIST, which is read after every option file. Before the restart, in the server:\n\
                 ```sql\nRESET PERSIST {variable};\n```"
            ),
            Self::CommandLine { variable, value } => write!(
                f,
                "`--{}={value}` is on the server's command line, which overrides every option file: take it off there (its systemd \
                 unit, its container's arguments, mysqld_safe).",
                variable.replace('_', "-")
            ),
        }
    }
}

impl StrongerSetting {
    /// What takes that back.
    fn undo(&self) -> String {
        match self {
            Self::Persisted { variable, value } => {
                format!("In the server: `SET PERSIST {variable} = {value};`")
            }
            Self::CommandLine { variable, value } => format!(
                "`--{}={value}` back onto the server's command line.",
                variable.replace('_', "-")
            ),
        }
    }
}

impl Deployment {
    /// What takes back what was done by hand and on the host.
    pub fn undo_by_hand(&self) -> Vec<String> {
        let stronger = self.start.iter().flat_map(|start| &start.stronger);
        let stronger = stronger.map(StrongerSetting::undo);
        stronger.chain(self.steps_undo.iter().cloned()).collect()
    }

    /// What is to be done by hand beside the files and the host's settings, in order.
    pub fn steps_by_hand(&self) -> Vec<String> {
        let stronger = self.start.iter().flat_map(|start| &start.stronger);
        let stronger = stronger.map(StrongerSetting::to_string);
        stronger.chain(self.steps.iter().cloned()).collect()
    }
}

impl CheckPart {
    /// For people.
    pub fn title(self) -> &'static str {
        match self {
            Self::Crash => "crash recovery",
            Self::Answers => "same answers",
            Self::Suite => "regression suite",
        }
    }
}

impl Display for CheckFigure {
    /// `8123 acknowledged commits`.
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let [one, many] = match self.code {
            CheckCount::AcknowledgedCommits => ["acknowledged commit", "acknowledged commits"],
            CheckCount::UnansweredCommits => {
                ["commit without an answer", "commits without an answer"]
            }
            CheckCount::UncommittedTransactions => {
                ["transaction not committed", "transactions not committed"]
            }
            CheckCount::Kills => ["kill", "kills"],
            CheckCount::RestartMilliseconds => ["ms of restarts"; 2],
            CheckCount::Statements => ["statement", "statements"],
            CheckCount::WholeTables => ["reading of a whole table", "readings of whole tables"],
            CheckCount::Engines => ["engine", "engines"],
            CheckCount::DifferentAnswers => ["different answer", "different answers"],
            CheckCount::CrashingStatements => [
                "statement left out that crashes the server compared with",
                "statements left out that crash the server compared with",
            ],
            CheckCount::OtherWarnings => [
                "same answer with other warnings",
                "same answers with other warnings",
            ],
            CheckCount::TestsPassed => ["test passed", "tests passed"],
            CheckCount::TestsFailed => ["test failed", "tests failed"],
            CheckCount::TestsSkipped => ["test skipped", "tests skipped"],
            CheckCount::ServersStarted => [
                "server started from the binary",
                "servers started from the binary",
            ],
        };
        match self.value {
            1 => write!(f, "1 {one}"),
            value => write!(f, "{value} {many}"),
        }
    }
}

/// `8123 acknowledged commits, 4 kills`.
fn counted(figures: &[CheckFigure]) -> String {
    let told = figures.iter().map(CheckFigure::to_string);
    told.collect::<Vec<_>>().join(", ")
}

impl Display for PartFault {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "{}: {}", self.part.title(), self.finding.in_short())
    }
}

impl Display for UndoneCheck {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::Error { error } => write!(f, "{error}"),
            Self::NotTried => f.write_str("no other build could be checked here"),
            Self::Part { part, reason } => write!(f, "{}: {reason}", part.title()),
        }
    }
}

impl Display for BuildCheck {
    /// What was counted, what was found, or what is to be done.
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::Passed { parts } => {
                let told = parts
                    .iter()
                    .map(|one| format!("{}: {}", one.part.title(), counted(&one.figures)));
                f.write_str(&told.collect::<Vec<_>>().join("; "))
            }
            Self::Failed(fault) => fault.fmt(f),
            Self::Unknown { undone, server } => {
                if let Some(undone) = undone {
                    write!(f, "{undone}; ")?;
                }
                write!(f, "niagara server check {server}")
            }
        }
    }
}

impl FinalCheck {
    /// What was checked.
    pub fn title(&self) -> String {
        let part = self.part.title();
        match &self.outcome {
            CheckOutcome::NoTransactions { engine } => format!("{part} of tables in {engine}"),
            _ => part.to_owned(),
        }
    }

    /// How it ended, in a word.
    pub fn ending(&self) -> &'static str {
        match self.passed() {
            Some(true) => "passed",
            Some(false) => "FAILED",
            None => "not done",
        }
    }

    /// What was counted, what was found, or why it could not be done; then where it was not of the variant exactly as it is.
    pub fn detail(&self) -> String {
        let told = std::iter::once(self.outcome.to_string());
        let told = told.chain(self.limits.iter().map(CheckLimit::to_string));
        told.collect::<Vec<_>>().join("; ")
    }
}

impl Display for CheckOutcome {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::Passed { figures } => f.write_str(&counted(figures)),
            Self::Failed { finding } => f.write_str(&finding.in_short()),
            Self::Skipped { reason } => reason.fmt(f),
            Self::Broken { error } => write!(f, "{error}"),
            Self::NoTransactions { engine } => write!(
                f,
                "{engine} has no transactions: ROLLBACK takes nothing back, and what is written when the server or the machine dies \
                 may be lost, or be there by half"
            ),
        }
    }
}

impl Display for CheckLimit {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::NoQuestions { asked, engine } => write!(
                f,
                "asked of tables in {asked}, as there are no questions for those in {engine}"
            ),
            Self::StartsEngine { engine, start } => write!(
                f,
                "asked of tables in {engine} on both servers, the start has its own in {start}"
            ),
            Self::ProcessKilled => f.write_str("the process was killed, not the machine"),
            Self::Durable { without } => write!(
                f,
                "without {}, which gives durability up",
                without.join(", ")
            ),
            Self::Sizes { sizes } => {
                let told = sizes
                    .iter()
                    .map(|one| format!("{} = {} instead of {}", one.variable, one.value, one.own));
                write!(f, "with {}", told.collect::<Vec<_>>().join(", "))
            }
            Self::Transactional { used, engine } => write!(
                f,
                "with tables in {used}, as those in {engine} have no transactions"
            ),
        }
    }
}

impl Display for Breakdown {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let cpus = format!(
            "server {}, load generator {}, others {}, idle {}",
            whole(self.server),
            whole(self.client),
            whole(self.other),
            whole(self.idle)
        );
        let stalled = format!(
            "nobody can run for want of the disk in {} of the time (CPUs: {cpus})",
            whole(self.stalled())
        );
        match self.bound {
            Bound::Cpu => write!(f, "the CPUs are used up: {cpus}{}", self.queue()),
            Bound::Client => write!(
                f,
                "the CPUs, and the load generator takes as much of them as the server: {cpus}{}",
                self.queue()
            ),
            Bound::RowLocks => write!(
                f,
                "row locks: connections wait for them in {} of their time, {:.2} waits a transaction (CPUs: {cpus})",
                whole(self.row_locks.unwrap_or(0.0)),
                self.row_lock_waits.unwrap_or(0.0)
            ),
            Bound::Log => write!(
                f,
                "the log: {:.2} syncs a transaction; {stalled}",
                self.log_syncs.unwrap_or(0.0)
            ),
            Bound::Disk => write!(f, "the disk: {stalled}"),
            Bound::Connections => write!(
                f,
                "the connections: {} cannot keep {} CPUs busy (CPUs: {cpus})",
                self.threads, self.cpus
            ),
            Bound::Waits => write!(
                f,
                "waits that are neither CPU nor row locks nor the disk (the network, locks inside of the server): {} of the \
                 connections' time, {:.1} context switches a transaction (CPUs: {cpus})",
                whole(self.elsewhere),
                self.switches.iter().sum::<f64>()
            ),
        }
    }
}

impl Breakdown {
    /// How long connections wait for a CPU, and for row locks beside that where it is long.
    fn queue(&self) -> String {
        let mut queue = self.run_queue.map_or(String::new(), |share| {
            format!(
                "; in {} of their time connections have a thread that is ready and waits for one",
                whole(share)
            )
        });
        let locks = self.row_locks.unwrap_or(0.0);
        if locks >= Self::MANY_ROW_LOCKS {
            queue.push_str(&format!(", in {} they wait for row locks", whole(locks)));
        }
        queue
    }
}

/// `12 %`, of a share.
fn whole(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

/// ` of part 2`, or nothing.
fn of_part(part: Option<usize>) -> String {
    part.map_or(String::new(), |part| format!(" of part {part}"))
}

fn differing(digests: &[DifferingDigest]) -> String {
    let told = digests.iter().map(DifferingDigest::words);
    told.collect::<Vec<_>>().join("; ")
}

fn joined(settings: &[Setting]) -> String {
    let told = settings.iter().map(Setting::to_string);
    told.collect::<Vec<_>>().join(", ")
}

fn megabytes(bytes: u64) -> String {
    format!("{} MB", bytes >> 20)
}

/// `3.1 ms`, `0.26 ms`.
fn milliseconds(microseconds: f64) -> String {
    let ms = microseconds / 1000.0;
    match ms {
        ms if ms >= 10.0 => format!("{ms:.0} ms"),
        ms if ms >= 1.0 => format!("{ms:.1} ms"),
        ms => format!("{ms:.2} ms"),
    }
}

fn minutes(seconds: f64) -> String {
    format!("{:.0}m", (seconds / 60.0).ceil())
}

const P99: &str = "99th percentile of latency";

/// Which way a percentile of latency went, by its interval: a ratio alone does not say which one is good.
fn change_of_latency(after_over_before: &niagara_stats::Estimate) -> String {
    match (after_over_before.high < 1.0, after_over_before.low > 1.0) {
        (true, _) => "lower (better)".to_owned(),
        (_, true) => "higher (worse)".to_owned(),
        _ if !after_over_before.high.is_finite() => "undecided".to_owned(),
        // "No change shown" is read as "unchanged".
        _ => {
            // Outwards, but for what the difference itself adds.
            let percent = |ratio: f64| ((ratio - 1.0).abs() * 100.0 - 1e-9).max(0.0).ceil();
            format!(
                "undecided, between {} % lower and {} % higher",
                percent(after_over_before.low),
                percent(after_over_before.high)
            )
        }
    }
}

impl Recommendation {
    /// What it brings; none where nothing is recommended.
    pub fn benefit(&self) -> Option<&Benefit> {
        match self {
            Self::UseSocket(benefit) | Self::Install { benefit, .. } => Some(benefit),
            Self::Nothing { .. } => None,
        }
    }

    /// What to do and what it brings, in twelve words at most: the title of a report.
    pub fn title(&self) -> String {
        match self {
            Self::UseSocket(benefit) => format!("Unix socket: {}", benefit.in_short()),
            Self::Install {
                changes,
                with_socket,
                benefit,
                ..
            } => {
                let counted = number::count(changes.len(), "change");
                let brings = benefit.in_short();
                match (&changes[..], with_socket) {
                    ([one], false) => {
                        in_a_title(format!("{one}: {brings}"), format!("{counted}: {brings}"))
                    }
                    ([one], true) => in_a_title(
                        format!("Unix socket and {one}: {brings}"),
                        format!("Unix socket and {counted}: {brings}"),
                    ),
                    (_, false) => format!("{counted}: {brings}"),
                    (_, true) => format!("Unix socket and {counted}: {brings}"),
                }
            }
            Self::Nothing { because, .. } => because.title(),
        }
    }

    /// What to do: the headline.
    pub fn headline(&self) -> String {
        match self {
            Self::UseSocket(benefit) => benefit.advice(
                "the Unix socket in the application",
                "Use the Unix socket in the application.",
            ),
            Self::Install {
                changes,
                with_socket,
                benefit,
                ..
            } => {
                let [socket, apply] = match with_socket {
                    true => [
                        "the Unix socket in the application, and ",
                        "Use the Unix socket in the application, and apply",
                    ],
                    false => ["", "Apply"],
                };
                let changes = format!(
                    "{} to the server: {}",
                    number::count(changes.len(), "change"),
                    changes.join("; ")
                );
                benefit.advice(
                    &format!("{socket}{changes} (a restart)"),
                    &format!("{apply} {changes}. That takes a restart."),
                )
            }
            Self::Nothing { because, setting } => {
                format!("Change nothing on {setting}: {because}.")
            }
        }
    }

    /// The same, where statements come first.
    pub fn behind_statements(&self) -> String {
        match self {
            Self::Nothing { because, setting } => {
                format!("Settings: keep yours on {setting}: {because}.")
            }
            Self::UseSocket(_) | Self::Install { .. } => self.headline(),
        }
    }

    /// Behind the headline, a paragraph each: what that brings, what is left of it on the Unix socket, what else to know.
    pub fn paragraphs(&self) -> Vec<String> {
        self.behind(true)
    }

    /// The same beneath a title, which has the figure.
    pub fn paragraphs_beneath_title(&self) -> Vec<String> {
        self.behind(false)
    }

    fn behind(&self, with_figure: bool) -> Vec<String> {
        let (benefit, others) = match self {
            Self::UseSocket(benefit) => match benefit.others {
                Others::Undecided { .. } => (benefit, Some(format!("{}.", benefit.others))),
                _ => (
                    benefit,
                    Some("Nothing else that was tried was proven.".to_owned()),
                ),
            },
            Self::Install { benefit, .. } => match benefit.others {
                Others::None => (benefit, None),
                others => (benefit, Some(format!("{others}."))),
            },
            Self::Nothing { setting, .. } => return setting.about_socket().into_iter().collect(),
        };
        let mut paragraphs = vec![benefit.told(with_figure)];
        paragraphs.extend(self.remains().into_iter().flatten());
        paragraphs.extend(others);
        paragraphs
    }

    /// What the changes of the server bring where the application uses the Unix socket already: `× 1.030 [1.010, 1.060], by 5 fresh duels of its
    /// own`. None where that is not known.
    pub fn figure_over_socket(&self) -> Option<String> {
        let Self::Install {
            over_socket: Some(left),
            benefit,
            ..
        } = self
        else {
            return None;
        };
        let gain = benefit.named(number::estimate(&benefit.goal.figure(&left.gain)));
        let how = match left.duels {
            Some(duels) => format!("by {} of its own", number::count(duels, "fresh duel")),
            None => "calculated: the total divided by the socket's own figure".to_owned(),
        };
        let is_told = benefit.goal != Goal::P99 && !benefit.setting.has_short_slices();
        let tail = match left.p99.filter(|_| is_told) {
            None => String::new(),
            Some(p99) => format!(
                "; {P99}: {}, {}",
                change_of_latency(&p99),
                number::estimate(&p99)
            ),
        };
        Some(format!("{gain}, {how}{tail}"))
    }

    /// The same in a sentence, and what other applications gain; nothing of what is not about the socket and the server both.
    fn remains(&self) -> Option<[String; 2]> {
        let is_mixed = matches!(
            self,
            Self::Install {
                with_socket: true,
                ..
            }
        );
        is_mixed.then(|| {
            let remains = remains_over_socket(self.figure_over_socket().as_deref());
            [remains, UNPROVEN_OVER_TCP.to_owned()]
        })
    }
}

/// What a protocol counts: `duel`; by others `pair` or `series`.
pub fn unit(protocol: &str) -> &'static str {
    match protocol {
        "pair" => "pair",
        "trimmed" | "series" => "series",
        _ => "duel",
    }
}

/// The same in the plural.
pub fn units(protocol: &str) -> &'static str {
    match unit(protocol) {
        "pair" => "pairs",
        "series" => "series",
        _ => "duels",
    }
}

/// What remains to gain, in figures, where the application uses the Unix socket already.
pub fn remains_over_socket(figure: Option<&str>) -> String {
    match figure {
        Some(figure) => format!(
            "If the application uses the socket already (WordPress connects so with DB_HOST localhost), under this load the rest brings {figure}."
        ),
        None => "If the application uses the socket already, less remains: `niagara tune --app socket` measures it.".to_owned(),
    }
}

/// A caution for applications that cannot use the recommended socket.
pub const UNPROVEN_OVER_TCP: &str = "For an application that stays on TCP, or runs on another host, nothing here is proven: `niagara tune --app remote` \
                                     measures the server's changes over TCP on one machine, `--client-host` over a network (benchmarks only).";

impl Display for Recommendation {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str(&self.headline())?;
        (self.paragraphs().iter()).try_for_each(|paragraph| write!(f, " {paragraph}"))
    }
}

impl Setup {
    /// Why nothing is said of the Unix socket, where there is a reason.
    fn about_socket(&self) -> Option<String> {
        let remote = "The socket was not tried: the application is on another host.";
        let used = "The application uses the Unix socket already.";
        let told: Vec<&str> = [(self.remote_application, remote), (self.on_socket, used)]
            .into_iter()
            .filter_map(|(is_so, words)| is_so.then_some(words))
            .collect();
        (!told.is_empty()).then(|| told.join(" "))
    }
}

impl Searched {
    /// Each range with what became of it, then what they brought together.
    pub fn lines(&self, has_total: bool) -> Vec<String> {
        let mut lines: Vec<String> = self
            .ranges
            .iter()
            .map(|range| {
                let [from, to, start, chosen] =
                    [range.from, range.to, range.start, range.chosen].map(number::sized);
                let variable = &range.variable;
                if range.start == range.chosen {
                    format!("{variable}: {start} stays (searched from {from} to {to})")
                } else {
                    format!(
                        "{variable}: {chosen} instead of {start} (searched from {from} to {to})"
                    )
                }
            })
            .collect();
        let duels = number::count(self.duels as usize, "duel");
        lines.push(match &self.effect {
            Some(effect) => format!(
                "together {} by the duels that chose them, winner's luck included ({duels} in all); the total was {}",
                number::estimate(effect),
                match has_total {
                    true => "measured with them, in fresh ones",
                    false => "not measured with them yet",
                }
            ),
            None => format!("nothing better in {duels}"),
        });
        match (&self.effect, lines.len()) {
            (None, 2) => vec![lines.join(": ")],
            _ => lines,
        }
    }
}

impl Display for Setup {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let load = crate::load_name(&self.workload);
        let threads = number::count(self.threads as usize, "thread");
        write!(f, "{} for {load}, {threads}", self.server)
    }
}

impl Benefit {
    /// `× 1.19 [1.17, 1.25]`; of other goals than throughput with their names.
    fn figure(&self, gain: &niagara_stats::Estimate) -> String {
        self.named(number::estimate(&self.goal.figure(gain)))
    }

    fn named(&self, figure: String) -> String {
        match self.goal {
            Goal::Throughput => figure,
            goal => format!("{goal} {figure}"),
        }
    }

    /// What to do, `apply`. Of a benchmark what `helps` alone, for nothing is applied before one's own traffic was measured.
    fn advice(&self, helps: &str, apply: &str) -> String {
        match self.setting.benchmark {
            true => format!(
                "What helps on this benchmark: {helps}. Apply nothing yet: measure your own traffic first (`niagara pack`)."
            ),
            false => apply.to_owned(),
        }
    }

    /// `× 1.19 [1.17, 1.25], proven`.
    fn in_short(&self) -> String {
        format!("{}, proven", self.figure(&self.effect))
    }

    /// `× 1.19 [1.17, 1.25]`, whatever it is of.
    fn gain(&self) -> String {
        number::estimate(&self.goal.figure(&self.effect))
    }

    /// `mariadb-10.11 then completes 19 % more transactions (oltp_read_only, 32 threads): × 1.19 [1.17, 1.25], proven by 12 fresh duels.
    /// 99th percentile of latency: lower (better), × 0.91 [0.87, 0.95].`
    fn told(&self, with_figure: bool) -> String {
        let figure = match with_figure {
            true => format!(": {}", self.gain()),
            false => String::new(),
        };
        let tail = match (&self.p99, self.setting.slice_seconds) {
            _ if self.goal == Goal::P99 => String::new(),
            (Some(_), Some(seconds)) if self.setting.has_short_slices() => format!(
                " The tail of latency is another question: slices of {} are too short for it (`niagara compare --goal p99`).",
                number::seconds(seconds)
            ),
            (Some(p99), _) if p99.holds(1.0) => {
                format!(" {P99}: {}.", change_of_latency(p99))
            }
            (Some(p99), _) => format!(
                " {P99}: {}, {}.",
                change_of_latency(p99),
                number::estimate(p99)
            ),
            (None, _) => String::new(),
        };
        format!(
            "{self}{figure}, proven by {}.{tail}",
            number::count(self.duels, "fresh duel")
        )
    }
}

impl Display for Benefit {
    /// `mariadb-10.11 then completes 19 % more transactions (oltp_read_only, 32 threads)`.
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let figure = self.goal.figure(&self.effect);
        let size = number::gain_of(&figure);
        let size = size.trim_start_matches(['+', '−']);
        let better = match self.goal {
            Goal::Throughput if figure.ratio >= 3.0 => {
                format!("completes {:.1} times as many transactions", figure.ratio)
            }
            Goal::Throughput => format!("completes {size} more transactions"),
            Goal::Cpu => format!("takes {size} less CPU time per transaction"),
            Goal::P95 => format!("has a 95th percentile of latency that is {size} lower"),
            Goal::P99 => format!("has a 99th percentile of latency that is {size} lower"),
        };
        let Setup {
            server, threads, ..
        } = &self.setting;
        write!(
            f,
            "{server} then {better} ({}, {})",
            crate::load_name(&self.setting.workload),
            number::count(*threads as usize, "thread")
        )
    }
}

impl Display for Others {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::None => Ok(()),
            Self::NotShown { levers: 1 } => {
                f.write_str("One other promising lever did not prove itself")
            }
            Self::NotShown { levers } => {
                write!(
                    f,
                    "{levers} other promising levers did not prove themselves"
                )
            }
            Self::Undecided {
                levers,
                together: Some(gain),
            } => write!(
                f,
                "{levers} others together brought {} more: a longer --budget may tell which of them",
                number::estimate(gain)
            ),
            Self::Undecided { levers, .. } => write!(
                f,
                "{} undecided: a longer --budget may decide",
                match levers {
                    1 => "One other lever is".to_owned(),
                    levers => format!("{levers} other levers are"),
                }
            ),
        }
    }
}

impl Obstacle {
    /// Why nothing is to be changed, in twelve words at most.
    fn title(&self) -> String {
        match self {
            Self::NothingPromising => "Change nothing: no lever was shown to help".to_owned(),
            Self::TooNoisy => "Nothing proven: too much noise, or too little time".to_owned(),
            Self::NotShown { effect: None } => "Change nothing: no gain was proven".to_owned(),
            Self::NotShown {
                effect: Some(effect),
            } => format!(
                "Change nothing: no gain proven, the best {}",
                number::estimate(effect)
            ),
            Self::TimeEnded { .. } => "Nothing proven: the time ended first".to_owned(),
            Self::Tail { .. } => {
                "Change nothing: what is faster makes the tail of latency worse".to_owned()
            }
            Self::Unsound => "Change nothing: what is faster is not safe".to_owned(),
        }
    }
}

impl Display for Obstacle {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::NothingPromising => f.write_str("no lever was shown to help"),
            Self::TooNoisy => f.write_str(
                "this machine is too noisy, or the time too short, to see even a known loss",
            ),
            Self::NotShown { effect: None } => f.write_str("fresh duels proved no lever"),
            Self::NotShown {
                effect: Some(effect),
            } => write!(
                f,
                "fresh duels proved no lever; the best one shows {}",
                number::estimate(effect)
            ),
            Self::TimeEnded { together: None } => {
                f.write_str("the time ended before any lever was proven; give a longer --budget")
            }
            Self::TimeEnded {
                together: Some(effect),
            } => write!(
                f,
                "the time ended before any lever was proven by itself; all promising ones together show {}",
                number::estimate(effect)
            ),
            Self::Tail {
                effect,
                tail,
                percentile,
            } => write!(
                f,
                "what is faster ({}) makes the tail of latency worse: {percentile} {} (--guard none accepts that)",
                number::estimate(effect),
                number::estimate(tail)
            ),
            Self::Unsound => {
                f.write_str("what is faster is not safe to hand over; a warning below says why")
            }
        }
    }
}

impl Display for DropReason {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::NotShown => f.write_str("its own fresh duels did not show that it helps"),
            Self::NotShownTogether { effect, levers } => write!(
                f,
                "{} together show {} in fresh duels, which is no proof",
                number::count(*levers, "lever"),
                number::estimate(effect)
            ),
            Self::Tail { percentile, ratio } => write!(
                f,
                "it makes the tail of latency worse: {percentile} {}",
                number::estimate(ratio)
            ),
            Self::TimeEnded => f.write_str("the time ended before its own fresh duels"),
            Self::TimeEndedInGroup { levers, duels, .. } => write!(
                f,
                "{} showed that the group of {levers} helps; the time ended before it was tried alone",
                number::count(*duels, "fresh duel")
            ),
            Self::Unsound => f.write_str("it gives other answers, or its server fails"),
        }
    }
}

impl Display for AlternativeReason {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str(match self {
            Self::Tail => "not recommended: the tail of latency is worse",
            Self::UnprovenLevers => "not recommended: not every lever of it is proven",
            Self::UnprovenLeversAndTail => {
                "not recommended: the tail of latency is worse, and not every lever of it is proven"
            }
        })
    }
}

impl Display for Conclusion {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str(match self {
            Self::TimeUsed => "the time was used",
            Self::NothingLeftToDecide => "ended early: the time left would decide nothing more",
            Self::TooLittleForAnother => {
                "ended early: the time left was too short for another question"
            }
        })
    }
}

impl Display for NextStep {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::Advise { indexes } => f.write_str(match indexes {
                0 => "`niagara advise` says why each statement costs what it costs, and what to change.",
                1 => "`niagara advise` proves the index by duels and writes the statement that makes it.",
                _ => {
                    "`niagara advise` proves the indexes by duels and writes the statements that make them."
                }
            }),
            Self::MoreTime { levers, .. } => {
                write!(f, "A longer --budget may decide on {}.", levers.join(", "))
            }
            Self::TryLever {
                title,
                option,
                elsewhere,
            } => write!(
                f,
                "Try {title} ({option}): it brought × {elsewhere:.2} elsewhere.",
            ),
            Self::NothingKnown => f.write_str(
                "No lever that was left out is known to bring enough to be worth a try.",
            ),
        }
    }
}
