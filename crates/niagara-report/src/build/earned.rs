//! What a tuning picked by its screening and does not recommend: levers and variants, with their figures.

use niagara_model::{
    Alternative, AlternativeReason, Comparison, DropReason, DroppedLever, NextStep, Rung,
    STEADY_SLICE_SECONDS, Screened, TuneSummary,
};
use niagara_stats::{Estimate, product};

use crate::document::{Column, Section, Table};
use crate::wording::Standing;
use crate::{ladder, number, wording};

/// Percentiles in a table, or nothing.
fn tail(estimate: Option<&Estimate>) -> String {
    estimate.map_or(number::NOTHING.to_owned(), number::estimate)
}

/// The tables, as far as there is anything to say.
pub(super) fn tables(tune: &TuneSummary) -> Vec<Section> {
    let tables = [dropped(tune), variants(tune), tails(tune)];
    tables.into_iter().flatten().map(Section::from).collect()
}

fn dropped(tune: &TuneSummary) -> Option<Table> {
    let mut table = Table::of(
        "Picked by the screening, and not recommended",
        &[
            ("Lever", Column::Words),
            ("Id", Column::Code),
            ("Fresh duels", Column::Figures),
            ("Screened, 95 %", Column::Figures),
            ("Why not", Column::Words),
        ],
    );
    table.long = true;
    table.rows = tune
        .dropped
        .iter()
        .map(|lever| {
            vec![
                lever.screened.title.clone(),
                lever.screened.lever.clone(),
                fresh(lever),
                screened(&lever.screened.effect),
                lever.because.to_string(),
            ]
        })
        .collect();
    if tune
        .dropped
        .iter()
        .any(|lever| lever.screened.effect.holds(1.0))
    {
        table.notes.push(LEANED.to_owned());
    }
    if let Some(step @ NextStep::MoreTime { ids, .. }) = &tune.next
        && !ids.is_empty()
    {
        let ids = ids.join(",");
        table.notes.push(format!(
            "{step} `--only {ids}` tries these alone, with what is kept."
        ));
    }
    (!table.rows.is_empty()).then_some(table)
}

/// What fresh duels say of a lever, or of the group that they were about.
fn fresh(lever: &DroppedLever) -> String {
    match (&lever.claim, &lever.because) {
        (Some(claim), _) => number::estimate(&claim.judged().estimate),
        (None, DropReason::NotShownTogether { effect, levers }) => {
            format!("{}\nthe group of {levers}", number::estimate(effect))
        }
        (
            None,
            DropReason::TimeEndedInGroup {
                effect,
                levers,
                duels,
            },
        ) => format!(
            "{}\nthe group of {levers}, n = {duels}",
            number::estimate(effect)
        ),
        (None, _) => number::NOTHING.to_owned(),
    }
}

/// A screened effect; one whose interval holds 1 promises nothing by itself.
fn screened(effect: &Estimate) -> String {
    let told = number::estimate(effect);
    match effect.holds(1.0) {
        true => format!("{told}\nno effect shown"),
        false => told,
    }
}

/// Why a lever was picked that showed no effect.
const LEANED: &str = "Without an effect shown a lever is picked where it leans to a gain and helped in earlier runs, or where nothing stood out.";

fn variants(tune: &TuneSummary) -> Option<Table> {
    if tune.alternatives.is_empty() {
        return None;
    }
    // A choice between a gain and a tail takes both figures, on one screen as well.
    let is_choice = tune.alternatives.iter().any(|other| {
        matches!(
            other.because,
            AlternativeReason::Tail | AlternativeReason::UnprovenLeversAndTail
        )
    });
    let percentiles = [("p95", true), ("p99", true)];
    let mut columns = vec![("Variant", false), ("Gain", true)];
    columns.extend(percentiles.iter().filter(|_| is_choice));
    let lengths = ladder::lengths_of_slices(tune);
    columns.extend(lengths.iter().map(|_| ("Slices", true)));
    columns.push(("", false));
    let mut table = Table::new("Variants against the start", &columns);
    table.long = !is_choice;
    let [of_total, of_others] = lengths.clone().map_or([None, None], |both| both.map(Some));
    let row = |title: String, comparison: &Comparison, slices: &Option<String>, word: String| {
        let mut cells = vec![title, number::estimate(&comparison.judged().estimate)];
        let percentiles = [&comparison.latency_p95, &comparison.latency_p99];
        let percentiles = percentiles.map(|percentile| tail(percentile.as_ref()));
        cells.extend(percentiles.into_iter().filter(|_| is_choice));
        cells.extend(slices.clone());
        cells.push(word);
        cells
    };
    let named = |rungs: &[Rung]| {
        let titles: Vec<&str> = rungs
            .iter()
            .map(|rung| rung.screened.title.as_str())
            .collect();
        titles.join("; ")
    };
    let recommended = tune.total.as_ref().filter(|_| !tune.rungs.is_empty());
    table.rows.extend(recommended.map(|total| {
        let word = match tune.header.deployment.is_some() {
            true => "recommended",
            false => "not recommended",
        };
        row(named(&tune.rungs), total, &of_total, word.to_owned())
    }));
    table.rows.extend(tune.alternatives.iter().map(|other| {
        row(
            other.levers.join("; "),
            &other.comparison,
            // Once a total itself, which its tail cost that place.
            match other.because {
                AlternativeReason::Tail => &of_total,
                _ => &of_others,
            },
            wording::not_recommended(other, recommended, product_of_own(tune, other)),
        )
    }));
    if is_choice {
        table.notes.push(
            "p95, p99: percentiles of latency within slices, after over before; below 1 is better."
                .to_owned(),
        );
    }
    if lengths.is_some() {
        table.notes.push(
            "Percentiles of different slices do not compare; throughput may differ by some per cent. Within a duel both sides have the same."
                .to_owned(),
        );
    }
    Some(table)
}

/// What the levers of a variant that has unproven ones brought by duels of their own, multiplied; `None` where one of them had no such duels.
fn product_of_own(tune: &TuneSummary, other: &Alternative) -> Option<Estimate> {
    if other.because != AlternativeReason::UnprovenLevers {
        return None;
    }
    let kept = (tune.rungs.iter()).map(|rung| (&rung.screened, rung.claim.as_ref()));
    let dropped = (tune.dropped.iter()).map(|lever| (&lever.screened, lever.claim.as_deref()));
    let own: Vec<(&Screened, Option<&Comparison>)> = kept.chain(dropped).collect();
    let of_lever = |title: &String| {
        let (_, claim) = own.iter().find(|(screened, _)| screened.title == *title)?;
        Some(claim.as_ref()?.judged().estimate)
    };
    let parts: Option<Vec<Estimate>> = other.levers.iter().map(of_lever).collect();
    Some(product(&parts?))
}

/// What the levers of the final variant do to the tail, each by its own duels or by the screening.
fn tails(tune: &TuneSummary) -> Option<Table> {
    let mut table = Table::of(
        "Percentiles of latency within slices, by lever",
        &[
            ("Lever", Column::Words),
            ("Id", Column::Code),
            ("p95", Column::Figures),
            ("p99", Column::Figures),
            ("From", Column::Words),
        ],
    );
    table.long = true;
    table.rows = tune
        .rungs
        .iter()
        .filter_map(|rung| {
            let own = rung
                .claim
                .as_ref()
                .filter(|_| Standing::of(rung) != Standing::Screened);
            let (p95, p99, from) = match (own, &rung.screened.tail) {
                (Some(claim), _) => {
                    let from = match &claim.in_longer_slices {
                        Some(longer) => {
                            let duels = number::count(longer.duels, "fresh duel");
                            format!(
                                "{duels} in slices of {}",
                                number::seconds(STEADY_SLICE_SECONDS)
                            )
                        }
                        None => number::count(claim.judged().duels, "fresh duel"),
                    };
                    (claim.latency_p95, claim.latency_p99, from)
                }
                (None, Some(tail)) => (Some(tail.p95), Some(tail.p99), "screening".to_owned()),
                (None, None) => return None,
            };
            p95.or(p99)?;
            Some(vec![
                rung.screened.title.clone(),
                rung.screened.lever.clone(),
                tail(p95.as_ref()),
                tail(p99.as_ref()),
                from,
            ])
        })
        .collect();
    let lengths = ladder::lengths_of_slices(tune);
    let usual = lengths.map_or(String::new(), |[_, levers]| {
        format!(" Slices of {levers} where no other length is named.")
    });
    table.notes = vec![format!(
        "They do not multiply to the total's: it has duels of its own, and levers act on each other. Slices below 1 s have another tail than \
         steady load.{usual}"
    )];
    (table.rows.len() > 1).then_some(table)
}
