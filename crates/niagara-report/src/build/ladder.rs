//! A ladder, rung by rung, and its total.

use niagara_model::{LadderRung, LadderSummary, RungOutcome};
use niagara_stats::Verdict;

use super::{Own, TO_THE_FINAL, controls, way_heading};
use crate::all_time::withdrawn;
use crate::document::{Block, Depth, Figure, Section, Table};
use crate::ladder::HOW_TO_READ;
use crate::load::load;
use crate::step::Step;
use crate::wording::{at_its_confidence, better, failed, fresh, judged_in_words, verdict_on_goal};
use crate::{chart, number};

pub fn headline(ladder: &LadderSummary) -> String {
    let load = load(&ladder.header.workload, ladder.threads);
    let kept = ladder
        .rungs
        .iter()
        .filter(|rung| matches!(rung.outcome, RungOutcome::Kept { .. }))
        .count();
    let rungs = format!(
        "{kept} of {} kept",
        number::count(ladder.rungs.len(), "rung")
    );
    match &ladder.total {
        Some(total) => {
            let judged = total.judged();
            let found = number::estimate(&total.goal.figure(&judged.estimate));
            let found = withdrawn(total).unwrap_or_else(|| at_its_confidence(total, &found));
            let duels = fresh(&ladder.header.protocol, judged.duels);
            if let Some(failure) = failed(total, &load) {
                return format!("{}: {rungs}, their total: {failure}", ladder.header.server);
            }
            match judged.verdict_by_all() {
                Some(Verdict::Faster) => format!(
                    "{} is {} with {rungs} for {load}: {found}, proven by {duels}",
                    ladder.header.server,
                    better(total)
                ),
                _ => format!(
                    "{}: {rungs} for {load}, their total {}: {found} ({duels})",
                    ladder.header.server,
                    verdict_on_goal(total)
                ),
            }
        }
        None if !ladder.header.complete => format!(
            "{}: the ladder for {load} is not finished, {rungs} so far",
            ladder.header.server
        ),
        None if kept == 0 => format!(
            "{}: no rung was proven to help {load}",
            ladder.header.server
        ),
        None => format!(
            "{}: {rungs} for {load}; the time ended before their total was judged",
            ladder.header.server
        ),
    }
}

pub(super) fn own(ladder: &LadderSummary) -> Own {
    let tables = tables(ladder).into_iter();
    let checks = controls::table(&ladder.controls, &ladder.header.checks);
    Own {
        pictures: vec![picture(ladder)],
        tables: tables.chain(checks).map(Section::from).collect(),
        ..Own::default()
    }
}

fn picture(ladder: &LadderSummary) -> Section {
    let section = Section::new(Depth::Page, way_heading(TO_THE_FINAL, ladder.header.goal));
    let steps = steps(ladder);
    if steps.is_empty() {
        return section;
    }
    section.with(Block::Figure(Figure {
        title: String::new(),
        picture: chart::waterfall(&steps),
        caption: format!(
            "{HOW_TO_READ} A rung is one change, tried on top of those kept before it. Solid bars are kept; hatched ones were measured \
             and not kept, and the next rung starts without them."
        ),
    }))
}

fn tables(ladder: &LadderSummary) -> Vec<Table> {
    let published = ladder.rungs.iter().any(|rung| rung.published.is_some());
    let mut columns = vec![
        ("Rung", false),
        ("tps", true),
        ("Over the rung before", true),
    ];
    if published {
        columns.push(("Published", true));
    }
    columns.push(("Standing", false));
    let mut grid = Table::new("Rung by rung", &columns);
    let mut row =
        |title: String, tps: String, gain: String, then: &Option<String>, standing: String| {
            let mut cells = vec![title, tps, gain];
            if published {
                cells.push(then.clone().unwrap_or_default());
            }
            cells.push(standing);
            grid.rows.push(cells);
        };
    let first = ladder.rungs.iter().find_map(LadderRung::claim);
    row(
        ladder.start.clone(),
        first.map_or(String::new(), |claim| number::rate(claim.tps[0])),
        String::new(),
        &None,
        "where it starts".to_owned(),
    );
    for rung in &ladder.rungs {
        let (tps, gain) = match rung.claim() {
            Some(claim) => (number::rate(claim.tps[1]), judged_in_words(claim)),
            None => (String::new(), String::new()),
        };
        row(
            rung.title.clone(),
            tps,
            gain,
            &rung.published,
            standing(rung),
        );
    }
    if let Some(total) = &ladder.total {
        row(
            "Total".to_owned(),
            format!(
                "{} → {}",
                number::rate(total.tps[0]),
                number::rate(total.tps[1])
            ),
            judged_in_words(total),
            &None,
            format!("{}, n = {}", verdict_on_goal(total), total.judged().duels),
        );
        grid.strong.push(grid.rows.len() - 1);
    }
    let duels = niagara_model::units(&ladder.header.protocol);
    grid.notes = vec![format!(
        "Each rung, one change, was tried on top of those kept before it. Transactions per second (tps) are the median of its \
         own {duels}, for orientation; the ratio, with its interval, is within {duels}. The total comes from fresh {duels} of the \
         start against the last variant and is not the product of the rungs: those that were kept look a little better than they are.",
    )];
    grid.notes.extend(confidences(ladder));
    std::iter::once(grid).chain(today(ladder)).collect()
}

/// What the intervals cover: rungs share the error probability of which the total has one of its own.
fn confidences(ladder: &LadderSummary) -> Option<String> {
    let rung = ladder.rungs.iter().find_map(LadderRung::claim)?.judged();
    let rungs = match rung.one_sided {
        // Of both ends together; a claim of a gain is by the lower one alone.
        true => format!(
            "a rung is kept where its gain is proven one-sided: the gain is at least the lower end with {} % confidence, and lies \
             between both ends with {} %",
            number::confidence(rung.alpha / 2.0),
            number::confidence(rung.alpha)
        ),
        false => format!(
            "a rung's interval is of {} %",
            number::confidence(rung.alpha)
        ),
    };
    let total = match &ladder.total {
        Some(total) => format!(
            " The total's interval is of {} %, two-sided.",
            number::confidence(total.judged().alpha)
        ),
        None => String::new(),
    };
    Some(format!(
        "The rungs share one error probability, so {rungs}.{total}"
    ))
}

/// What the rungs are today, where there is something to say.
fn today(ladder: &LadderSummary) -> Option<Table> {
    let mut words = Table::new(
        "What the rungs are today",
        &[("Rung", false), ("Change", false), ("", false)],
    );
    words.long = true;
    for rung in &ladder.rungs {
        let reason = reason(rung);
        if rung.why.is_none() && rung.change.is_empty() && reason.is_none() {
            continue;
        }
        let not_tried = reason.map(|(word, reason)| format!("{word}: {reason}"));
        let text: Vec<String> = rung.why.clone().into_iter().chain(not_tried).collect();
        words.rows.push(vec![
            rung.title.clone(),
            rung.change.clone(),
            one_line(&text.join(" ")),
        ]);
    }
    (!words.rows.is_empty()).then_some(words)
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Why a rung was not measured to its end, and the word for it.
fn reason(rung: &LadderRung) -> Option<(&'static str, String)> {
    match &rung.outcome {
        RungOutcome::NotTried { reason } => Some(match reason.failure() {
            Some(failure) => ("Failed", failure.to_string()),
            None => ("Not tried", reason.to_string()),
        }),
        RungOutcome::Kept { claim } | RungOutcome::NotKept { claim } => {
            let failed = claim.failed.as_ref()?;
            Some(("Failed", failed.failure.to_string()))
        }
    }
}

fn standing(rung: &LadderRung) -> String {
    match &rung.outcome {
        RungOutcome::Kept { claim } => format!("kept, n = {}", claim.judged().duels),
        RungOutcome::NotKept { claim } if claim.failed.is_some() => {
            format!("not kept: failed, n = {}", claim.judged().duels)
        }
        // Ctrl-C ended it between two looks.
        RungOutcome::NotKept { claim } if claim.judged().verdict.is_none() => {
            format!("stopped before a verdict, n = {}", claim.judged().duels)
        }
        RungOutcome::NotKept { claim } => format!(
            "not kept: {}, n = {}",
            verdict_on_goal(claim),
            claim.judged().duels
        ),
        RungOutcome::NotTried { reason } if reason.failure().is_some() => "failed".to_owned(),
        RungOutcome::NotTried { .. } => "not tried".to_owned(),
    }
}

/// The waterfall: what was kept moves it on, what was not stands where it was tried.
fn steps(ladder: &LadderSummary) -> Vec<Step> {
    let mut reached = 1.0;
    let mut steps = Vec::new();
    for rung in &ladder.rungs {
        let Some(claim) = rung.claim() else { continue };
        let estimate = claim.judged().estimate;
        let kept = matches!(rung.outcome, RungOutcome::Kept { .. });
        steps.push(Step {
            title: rung.title.clone(),
            id: String::new(),
            change: rung.change.clone(),
            estimate,
            start: reached,
            end: reached * estimate.ratio,
            low: reached * estimate.low,
            high: reached * estimate.high,
            numbers: judged_in_words(claim),
            standing: standing(rung),
            sure: kept,
            total: false,
        });
        if kept && estimate.ratio.is_finite() && estimate.ratio > 0.0 {
            reached *= estimate.ratio;
        }
    }
    if let Some(total) = &ladder.total {
        let judged = total.judged();
        steps.push(Step::total(
            judged.estimate,
            format!("{}, n = {}", verdict_on_goal(total), judged.duels),
            judged.shows_gain(),
        ));
    }
    steps
}
