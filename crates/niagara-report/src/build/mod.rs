//! Documents from results: what all kinds of study have here, what one kind has in a file of its own.

mod advice;
mod compare;
mod controls;
mod earned;
mod evidence;
mod intervals;
mod ladder;
mod matrix;
mod parts;
mod record;
mod sweep;
mod sweep_headline;
mod tune;
mod upgrade;

use niagara_model::{About, Comparison, Goal, StudyHeader, Summary};
use niagara_stats::{Verdict, standard_deviation};

use crate::all_time::ALL_TIME;
use crate::applying::{HEADING, applying, applying_in_short};
use crate::document::{Block, Claim, Depth, Document, Facts, Introduction, Section, Tone};
use crate::duel_lengths::DuelLengths;
use crate::headline::introduction;
use crate::{Report, Sides, chart, number, profile, replay, wording};

pub(crate) use advice::advice;
pub(crate) use intervals::{Digits, interval_estimate};
use intervals::{interval_over, three_digits};
pub(crate) use ladder::headline as ladder_headline;
pub(crate) use matrix::headline as matrix_headline;
pub(crate) use matrix::trained_mark;
pub(crate) use parts::left;
pub(crate) use sweep_headline::headline as sweep_headline;

/// What one kind of study has that others have not.
#[derive(Default)]
struct Own {
    /// What was found at a glance.
    pictures: Vec<Section>,
    /// Claims for one screen.
    claims: Vec<Section>,
    /// What was found.
    tables: Vec<Section>,
    /// Long lists that nobody acts on: they stand behind all the rest.
    lists: Vec<Section>,
    /// How it was measured, for one screen.
    facts: Vec<(String, String)>,
    /// How it was measured, in words.
    method: Option<String>,
}

/// The report of a study; without a result, of what is stored until now.
pub(crate) fn report(report: &Report) -> Document {
    let sides = Sides::of(report);
    let mut document = match &report.summary {
        Some(summary) => study(summary, sides.as_ref(), Some(report)),
        None => unfinished(report),
    };
    document.masthead = [
        format!("Niagara {}", report.study.kind),
        number::moment(report.study.started_unix_ms),
    ];
    document.version.clone_from(&report.study.niagara_version);
    document
}

/// What a page is from.
const ALONE: &str = "from the results of this study alone";

/// What a summary says; with the `report` that it is from, also what its duels show.
pub(crate) fn study(summary: &Summary, sides: Option<&Sides>, report: Option<&Report>) -> Document {
    let header = summary.header();
    let comparison = judged_comparison(summary);
    let own = match summary {
        Summary::Tune(tune) => tune::own(tune, sides, report),
        Summary::Compare(compare) => compare::own(compare, sides),
        Summary::Ladder(ladder) => ladder::own(ladder),
        Summary::Matrix(matrix) => matrix::own(matrix),
        Summary::Sweep(sweep) => sweep::own(sweep),
    };
    let facts = match summary {
        Summary::Tune(_) | Summary::Compare(_) => own.facts,
        Summary::Ladder(_) | Summary::Matrix(_) | Summary::Sweep(_) => facts_in_short(summary),
    };
    let mut sections = own.pictures;
    sections.extend(own.claims);
    sections.push(costs(summary));
    sections.extend(comparison.map(|comparison| verdicts(comparison, sides, header)));
    sections.extend(sides.map(|sides| Section::from(sides.table()).at(Depth::Long)));
    sections.extend(header.about.as_ref().map(about));
    sections.extend(own.tables);
    let in_short = sides.map(|sides| sides.table_in_short(header.goal));
    sections.extend(in_short.map(|table| Section::from(table).at(Depth::Brief)));
    if let Some(report) = report {
        let profiles = report.profiles.iter();
        sections.extend(
            profiles
                .flat_map(profile::sections_in_short)
                .map(Section::from),
        );
        sections.extend(comparison.map(|comparison| evidence::section(report, comparison)));
    }
    let replay = comparison.and_then(|comparison| comparison.replay.as_ref());
    sections.extend(replay.into_iter().flat_map(replay::sections));
    let lengths = report.and_then(DuelLengths::of);
    let judged = report.zip(comparison);
    let spread = judged.and_then(|(report, found)| standard_deviation(&report.main_scores(found)));
    let how = method_facts(summary, lengths.as_ref(), spread);
    sections.push(method(how, own.method));
    let mut in_short = owned(applying_in_short(summary).unwrap_or_default());
    in_short.extend(replay.into_iter().flat_map(replay::in_short));
    in_short.extend(facts);
    sections.push(Section::new(Depth::Brief, "").with_some(Facts::short(in_short)));
    sections.extend(report.into_iter().flat_map(record::sections));
    sections.extend(own.lists);
    let flawless = sides.is_some_and(Sides::had_no_errors);
    let errors = if flawless { "; no errors" } else { "" };
    Document {
        masthead: [String::new(), String::new()],
        introduction: introduction(summary),
        lead: vec![
            (Depth::Brief, format!("{}{errors}", header.workload)),
            (
                Depth::Long,
                format!("{} · {}", header.server_version, header.workload),
            ),
        ],
        warnings: wording::warnings(summary)
            .iter()
            .map(ToString::to_string)
            .collect(),
        sections,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        source: match summary {
            // Levers are chosen by what is known of them elsewhere, too.
            Summary::Tune(_) => {
                "from the results of this study; earlier runs helped to choose what went to proof"
            }
            _ => ALONE,
        },
    }
}

/// The comparison of a study, where it is judged: not by the protocol of 2008, which has runs alone.
fn judged_comparison(summary: &Summary) -> Option<&Comparison> {
    let comparison = summary.comparison();
    comparison.filter(|_| summary.runs().is_none())
}

/// A study without a result: the machine's noise, or one that was stopped.
fn unfinished(report: &Report) -> Document {
    let phase = report.main_phase();
    let over_time = chart::throughput(&report.main_duels(), &report.slices);
    let picture = over_time.map(|picture| {
        evidence::over_time(
            picture,
            "Transactions per second of every slice; lines are medians of a duel's slices."
                .to_owned(),
        )
    });
    let stopped = "What was measured until then is stored. The same command continues from here.";
    Document {
        masthead: [String::new(), String::new()],
        introduction: Introduction::of_headline(report.headline()),
        lead: (phase != niagara_model::Phase::Noise)
            .then(|| (Depth::Long, stopped.to_owned()))
            .into_iter()
            .collect(),
        warnings: Vec::new(),
        sections: std::iter::once(Section::new(Depth::Page, "").with_some(picture))
            .chain(record::sections(report))
            .collect(),
        version: String::new(),
        source: ALONE,
    }
}

/// What it costs to apply, for whoever decides; nothing of a study that ends with nothing to apply.
fn costs(summary: &Summary) -> Section {
    let lines = applying(summary).unwrap_or_default();
    Section::new(Depth::Long, HEADING).with_some(Facts::wide(owned(lines)))
}

fn owned(facts: Vec<(&str, String)>) -> Vec<(String, String)> {
    let facts = facts.into_iter();
    facts
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}

/// Every figure of a comparison, the one that decides first. With a table behind it (`sides`), throughput over all time stands
/// here only if the two disagree, and no percentile that is of short slices alone.
fn verdicts(comparison: &Comparison, sides: Option<&Sides>, header: &StudyHeader) -> Section {
    let disagrees = comparison
        .all_time
        .is_some_and(|all_time| all_time.disagrees);
    let has_short_slices = sides.is_some_and(|sides| sides.has_short_slices);
    let is_told = |claim: &Claim| {
        (sides.is_none() || disagrees || claim.title != ALL_TIME)
            && !(has_short_slices && wording::TAILS.contains(&claim.title.as_str()))
    };
    let mut claims = vec![decisive(comparison, header)];
    claims.extend(lesser(comparison).filter(is_told));
    let note = wording::closed_load(comparison);
    Section::new(Depth::Long, "Verdicts")
        .named("figures")
        .with(Block::Claims(claims))
        .with_some(note.map(|note| Block::Note(note.to_owned())))
}

/// The figure that decides.
fn decisive(comparison: &Comparison, header: &StudyHeader) -> Claim {
    let judged = comparison.judged();
    let unit = niagara_model::unit(&header.protocol);
    let duels = number::count(judged.duels, unit);
    let mut note = format!("{duels}, {}", wording::error_probability(judged));
    if let (None, Some(next)) = (judged.verdict, judged.next_look) {
        note += &format!("; judged next after {}", number::count(next, unit));
    }
    let is_called = matches!(
        judged.verdict_by_all(),
        Some(Verdict::Faster | Verdict::Slower)
    );
    Claim {
        title: comparison.goal.title().to_owned(),
        estimate: comparison.goal.figure(&judged.estimate),
        verdict: wording::verdict_on_goal(comparison),
        note,
        tone: match is_called {
            true => Tone::of(&judged.estimate),
            false => Tone::Open,
        },
    }
}

/// What else changed.
fn lesser(comparison: &Comparison) -> impl Iterator<Item = Claim> {
    let claims = wording::lesser_claims(comparison).into_iter();
    claims.map(|claim| Claim {
        title: claim.title.to_owned(),
        estimate: claim.estimate,
        verdict: String::new(),
        note: claim.note.to_owned(),
        tone: Tone::Open,
    })
}

/// What else changed, for one screen: nothing where a table of figures beside it has it.
fn lesser_in_short(comparison: &Comparison, sides: Option<&Sides>) -> Section {
    let claims: Vec<Claim> = match sides {
        Some(_) => Vec::new(),
        None => lesser(comparison).collect(),
    };
    let goal = comparison.goal.title().to_lowercase();
    let section = Section::new(Depth::Brief, format!("Beside {goal}"));
    match claims.is_empty() {
        true => section,
        false => section.with(Block::Claims(claims)),
    }
}

/// The words that open a study.
fn about(about: &About) -> Section {
    let mut section = Section::new(Depth::Long, about.title.clone());
    for (heading, words) in [
        ("What was asked then", about.asked.as_str()),
        ("What has changed since", about.changed.as_str()),
        ("What is measured now", about.measured.as_str()),
        ("This size", about.note.as_deref().unwrap_or_default()),
    ] {
        if !words.is_empty() {
            section = section.with(Block::Text(format!("{heading}: {words}")));
        }
    }
    if let Some(published) = &about.published {
        section = section.with(Block::Code(published.clone()));
    }
    if let Some(source) = &about.source {
        section = section.with(Block::Note(format!("Source: {source}")));
    }
    section
}

/// How it was measured.
fn method(facts: Vec<(String, String)>, words: Option<String>) -> Section {
    let mut section = Section::new(Depth::Long, "How it was measured").named("method");
    if let Some(words) = words {
        section = section.with_at(Depth::Page, Block::Text(words));
    }
    section.with_some(Facts::short(facts))
}

/// How a study of a file was measured, for one screen.
fn facts_in_short(summary: &Summary) -> Vec<(String, String)> {
    let left_out = [
        "protocol",
        "noise",
        "sensitivity",
        "brackets",
        "couples",
        "error probability",
        "server",
    ];
    let facts = method_facts(summary, None, None).into_iter();
    facts
        .filter(|(name, _)| !left_out.contains(&name.as_str()))
        .collect()
}

/// `spread`: the standard deviation of the judged duels' scores.
fn method_facts(
    summary: &Summary,
    lengths: Option<&DuelLengths>,
    spread: Option<f64>,
) -> Vec<(String, String)> {
    let header = summary.header();
    let comparison = judged_comparison(summary);
    let is_tune = matches!(summary, Summary::Tune(_));
    let mut facts = wording::builds(&header.builds);
    let mut fact = |name: &str, value: String| facts.push((name.to_owned(), value));
    if let Summary::Compare(compare) = summary {
        fact("A", compare.comparison.a.clone());
        fact("B", compare.comparison.b.clone());
    }
    fact("time", wording::time(header));
    let protocol = wording::protocol(&header.protocol, lengths);
    let of_levers = match summary {
        Summary::Tune(tune) => crate::ladder::lengths_of_slices(tune),
        _ => None,
    };
    fact(
        "protocol",
        match of_levers {
            Some([_, levers]) => {
                let again = match summary {
                    Summary::Tune(tune) if crate::ladder::has_longer_slices(tune) => {
                        ", and of second looks at a tail"
                    }
                    _ => "",
                };
                format!(
                    "of the total, and of what remains over the socket{again}, {protocol}; all others have slices of {levers}"
                )
            }
            None => protocol,
        },
    );
    if let Some(sd) = header.sd_duel {
        fact("noise", wording::noise(sd, is_tune, spread));
    }
    if let Summary::Tune(tune) = summary {
        wording::sensitivity(tune)
            .into_iter()
            .for_each(|told| fact("sensitivity", told));
        wording::two_sided_confidence(tune)
            .into_iter()
            .for_each(|told| fact("brackets", told));
        tune::controls(tune)
            .into_iter()
            .for_each(|told| fact("controls", told));
    }
    if let Some(comparison) = comparison {
        fact("couples", wording::couples(comparison, is_tune, lengths));
    }
    if let Some(encryption) = comparison.and_then(wording::encryption) {
        fact("TLS", encryption);
    }
    if let Some(nodes) = comparison.and_then(wording::nodes) {
        fact("nodes", nodes);
    }
    // Where a caution says that it is the figure to go by.
    let cautioned = comparison.filter(|found| found.tells_uncorrected());
    if let Some(estimate) = cautioned.and_then(|found| found.unadjusted) {
        fact("uncorrected throughput", number::estimate(&estimate));
    }
    if summary.runs().is_none() {
        fact("error probability", error_probability(summary, header));
    }
    fact("server", header.server_version.clone());
    fact("seed", header.seed.to_string());
    facts
}

fn error_probability(summary: &Summary, header: &StudyHeader) -> String {
    match summary {
        Summary::Tune(_) => format!(
            "at most α = {alpha} of a false gain for the total, {alpha} for all levers together, and {alpha} for each further figure (CPU time, \
             each percentile, what remains over the socket)",
            alpha = header.alpha
        ),
        Summary::Compare(compare) => format!(
            "{}, over all looks",
            wording::error_probability(compare.comparison.judged())
        ),
        Summary::Ladder(_) | Summary::Matrix(_) | Summary::Sweep(_) => {
            format!("α = {}", header.alpha)
        }
    }
}

/// The heading of a way to a final variant.
const TO_THE_FINAL: &str = "From the starting point to the final variant";

/// The heading of a way from the starting point, with what it is judged by.
fn way_heading(heading: &str, goal: Goal) -> String {
    match goal {
        Goal::Throughput => heading.to_owned(),
        goal => format!(
            "{heading}: {}",
            wording::judged_by(goal).replacen('B', "b", 1)
        ),
    }
}
