//! What two studies have in common, and in what they differ.

use niagara_model::{Comparison, Goal, Summary};
use niagara_stats::Estimate;
use schemars::JsonSchema;
use serde::Serialize;

use super::common::{self, Common};
use super::set_up::{self, Fact, Part};
use crate::document::Table;
use crate::{Report, Sides, number};

/// The protocol of 2008, as headers name it.
const SERIES: &str = "trimmed";
/// Error probability of the difference between what the studies decided by, and again of all other differences together.
const ALPHA: f64 = 0.05;

/// Two studies, what differs between them and what each came to.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct SideBySide {
    /// The first and the second study.
    pub studies: [StudyInShort; 2],
    /// The sentence that a reader takes home.
    pub headline: String,
    /// What a reader must know before believing the rest.
    pub warnings: Vec<String>,
    /// Under what they were measured: what differs, and what does not.
    pub set_up: Vec<Fact>,
    /// What both decided by: the total, or the comparison. `None` where that is not one and the same figure.
    pub total: Option<Common>,
    /// Other figures of the total.
    pub beside: Vec<Common>,
    /// What both tried one by one: levers, rungs, combinations, numbers of threads.
    pub parts: Vec<Common>,
    /// What the parts are called: `levers`.
    pub parts_are: &'static str,
    /// Parts that only the first and only the second study tried.
    pub only_in: [Vec<String>; 2],
    /// Error probability of the total's difference: the larger of what the two intervals leave out on both sides.
    pub total_alpha: f64,
    /// Error probability of all other differences together.
    pub alpha: f64,
    /// How many other differences share it: each is judged at `alpha` divided by this (Bonferroni).
    pub family: usize,
    /// Absolute figures of both studies.
    #[serde(skip)]
    pub(crate) figures: Option<Table>,
}

/// One of the two.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct StudyInShort {
    /// What it is called here: its folder.
    pub name: String,
    /// Its own headline.
    pub headline: String,
    /// When it began, UTC.
    pub begun: String,
    /// The machine in a line.
    pub machine: String,
    /// The command that repeats it.
    pub command: String,
    /// Whether it came to its end.
    pub complete: bool,
}

impl SideBySide {
    /// Puts two studies beside each other; `names` are what people call them.
    pub fn of(reports: [&Report; 2], names: [&str; 2]) -> SideBySide {
        let studies = [0, 1].map(|i| in_short(reports[i], names[i]));
        let set_up = set_up::set_up(reports);
        let summaries = reports.map(|report| report.summary.as_ref());
        // Means without an interval decide nothing, and nothing is decided of them.
        let is_series = summaries.map(|summary| summary.is_some_and(is_series));
        let comparisons = match is_series {
            [false, false] => summaries.map(|summary| summary.and_then(Summary::comparison)),
            _ => [None, None],
        };
        let goals = comparisons.map(|comparison| comparison.map(|c| c.goal));
        let same_goal = goals[0] == goals[1];
        let (mut beside, mut parts) = ([Vec::new(), Vec::new()], [Vec::new(), Vec::new()]);
        let mut total = None;
        let mut total_alpha = ALPHA;
        if let [Some(first), Some(second)] = comparisons {
            if same_goal {
                let figures = [first, second].map(common::main_figure);
                let [a, b] = figures.each_ref().map(std::slice::from_ref);
                total = common::common([a, b], None).0.pop();
                // With too few duels to call anything, their difference calls nothing either.
                if let Some(total) = &mut total {
                    let few = |c: &Comparison| c.judged().confidence.is_some();
                    total.differs &= !few(first) && !few(second);
                }
                total_alpha = [first, second]
                    .map(common::left_out)
                    .into_iter()
                    .fold(0.0, f64::max);
            }
            beside = [first, second].map(common::beside);
        }
        let same_kind = matches!(summaries, [Some(a), Some(b)] if a.kind() == b.kind());
        // Screened by another figure, a lever's effect is another quantity.
        if let ([Some(first), Some(second)], true) = (summaries, same_kind)
            && first.header().goal == second.header().goal
        {
            parts = [first, second].map(common::parts);
        }
        let family = common::paired(&beside[0], &beside[1]).len()
            + common::paired(&parts[0], &parts[1]).len();
        let [first, second] = &beside;
        let alpha = Some(ALPHA / family.max(1) as f64);
        let (beside, _) = common::common([first, second], alpha);
        let [first, second] = &parts;
        let (parts, only_in) = common::common([first, second], alpha);
        let warnings = warnings(reports, same_kind, goals, &studies);
        SideBySide {
            headline: match is_series {
                [false, false] => headline(total.as_ref(), &studies, &set_up),
                _ => headline_of_series(summaries, is_series, &studies),
            },
            studies,
            warnings,
            set_up,
            total,
            beside,
            parts,
            parts_are: summaries[0].map_or("parts", common::parts_are),
            only_in,
            total_alpha,
            alpha: ALPHA,
            family,
            figures: match is_series {
                [false, false] => figures(reports),
                _ => Some(rates(reports)),
            },
        }
    }
}

fn in_short(report: &Report, name: &str) -> StudyInShort {
    let summary = report.summary.as_ref();
    StudyInShort {
        name: name.to_owned(),
        headline: report.headline(),
        begun: number::moment(report.study.started_unix_ms),
        machine: set_up::machine(&report.study.machine),
        command: report.study.command.clone(),
        complete: summary.is_some_and(Summary::is_complete),
    }
}

/// Whether a study went by the protocol of 2008, which gives no verdict.
fn is_series(summary: &Summary) -> bool {
    summary.header().protocol == SERIES
}

/// What is said of two studies of which one or both give no verdict.
fn headline_of_series(
    summaries: [Option<&Summary>; 2],
    is_series: [bool; 2],
    studies: &[StudyInShort; 2],
) -> String {
    let [first, second] = studies.each_ref().map(|study| study.name.as_str());
    let (series, other) = match is_series {
        [true, true] => {
            let means = [0, 1].map(|i| {
                let runs = summaries[i].and_then(Summary::runs);
                let means = runs.map(|runs| runs.means().map(number::rate));
                match means {
                    Some([a, b]) => {
                        format!("B {b} and A {a} transactions/s in {}", studies[i].name)
                    }
                    None => format!("none of {}, whose runs did not end", studies[i].name),
                }
            });
            return format!(
                "The protocol of 2008 gives no verdict, only means of the middle three of five runs: {}",
                means.join("; ")
            );
        }
        [true, false] => (first, second),
        _ => (second, first),
    };
    format!(
        "{series} went by the protocol of 2008, which gives no interval and no verdict: {other} is not compared with it"
    )
}

fn headline(total: Option<&Common>, studies: &[StudyInShort; 2], set_up: &[Fact]) -> String {
    let [first, second] = studies.each_ref().map(|study| study.name.as_str());
    let Some(total) = total else {
        return format!("{first} and {second} have no figure in common that both decided by");
    };
    let what = total.title.to_lowercase();
    let [a, b] = total.estimates.each_ref().map(number::estimate);
    let found = format!(
        "{what} B over A is {a} in {first} and {b} in {second}; second over first {}",
        number::estimate(&total.difference)
    );
    let set_up = match set_up.iter().any(|fact| fact.differs && counts(fact)) {
        true => ", with differences in set-up",
        false => ", with the same set-up",
    };
    let Estimate { low, high, .. } = total.difference;
    // An interval of less confidence than a call asks for may lie beside 1.
    let bounds = low > 0.0 && low <= 1.0 && (1.0..f64::INFINITY).contains(&high);
    match (total.differs, bounds) {
        (true, _) => format!("The results differ{set_up}: {found}"),
        (false, true) => format!(
            "No difference between the results was detected{set_up}: {found} (anything within this interval may have gone unseen)"
        ),
        (false, false) => {
            format!("Too few duels to tell whether the results differ{set_up}: {found}")
        }
    }
}

/// Whether a difference in it may be why results differ: not so what only says how long was measured.
fn counts(fact: &Fact) -> bool {
    !(fact.of == Part::Study && matches!(fact.name.as_str(), "budget" | "error probability"))
}

fn warnings(
    reports: [&Report; 2],
    same_kind: bool,
    goals: [Option<Goal>; 2],
    studies: &[StudyInShort; 2],
) -> Vec<String> {
    let mut warnings = Vec::new();
    let kinds = reports.map(|report| report.study.kind.as_str());
    if !same_kind && kinds[0] != kinds[1] {
        warnings.push(format!(
            "Different questions were asked ({} and {}): only what both decided by is set side by side.",
            kinds[0], kinds[1]
        ));
    }
    for (report, study) in reports.iter().zip(studies) {
        if report.summary.is_none() {
            warnings.push(format!(
                "{} was stopped before there was anything to sum up: nothing of it can be set side by side.",
                study.name
            ));
        }
    }
    if let [Some(first), Some(second)] = goals
        && first != second
    {
        warnings.push(format!(
            "They decided by different figures ({first} and {second}): these are not compared with each other."
        ));
    }
    for (report, study) in reports.iter().zip(studies) {
        if !study.complete {
            warnings.push(format!("{} was not measured to its end.", study.name));
        }
        let own = report.summary.as_ref().map(crate::wording::warnings);
        for warning in own.unwrap_or_default() {
            warnings.push(format!("{}: {warning}", study.name));
        }
    }
    warnings
}

/// Transactions per second of both studies: means of runs where the protocol has these, else medians of slices.
fn rates(reports: [&Report; 2]) -> Table {
    let columns = [
        ("", false),
        ("A", true),
        ("B", true),
        ("what they are", false),
    ];
    let mut grid = Table::new("Transactions per second", &columns);
    for (place, report) in ["first", "second"].into_iter().zip(reports) {
        let runs = report.summary.as_ref().and_then(Summary::runs);
        let means = runs.map(|runs| (runs.means(), "means of the middle three of five runs"));
        let typical = || Sides::of(report).map(|sides| (sides.tps, "geometric means over duels"));
        // Slices of a series that was stopped are no figure of its protocol.
        let is_series = report.summary.as_ref().is_some_and(is_series);
        let found = means.or_else(|| typical().filter(|_| !is_series));
        if let Some((tps, what)) = found {
            let [a, b] = tps.map(number::rate);
            grid.rows
                .push(vec![place.to_owned(), a, b, what.to_owned()]);
        }
    }
    grid.notes
        .push("The protocol of 2008 gives no verdict: these figures have no interval.".to_owned());
    grid
}

/// What the four sides did in absolute figures.
fn figures(reports: [&Report; 2]) -> Option<Table> {
    let [first, second] = reports.map(Sides::of);
    let (first, second) = (first?, second?);
    let [a, b] = &first.names;
    let [c, d] = &second.names;
    let heads = [
        format!("first: {a}"),
        format!("first: {b}"),
        format!("second: {c}"),
        format!("second: {d}"),
    ];
    let mut columns = vec![("", false)];
    columns.extend(heads.iter().map(|head| (head.as_str(), true)));
    let mut grid = Table::new("In absolute figures", &columns);
    let (first, second) = (first.table(), second.table());
    // Their ratios stand above, with what is said of them; a row without absolute figures says nothing here.
    let absolute = |row: &&Vec<String>| row[1..3].iter().any(|cell| !cell.is_empty());
    for row in first.rows.iter().filter(absolute) {
        let nothing = || number::NOTHING.to_owned();
        let beside = second.rows.iter().find(|other| other[0] == row[0]);
        let mut cells = row[..3].to_vec();
        cells.extend(match beside {
            Some(beside) => beside[1..3].to_vec(),
            None => vec![nothing(), nothing()],
        });
        grid.rows.push(cells);
    }
    grid.notes.push(
        "For orientation: a machine's speed wanders from hour to hour, so absolute figures of two studies are not judged; \
         only ratios within a duel are."
            .to_owned(),
    );
    Some(grid)
}
