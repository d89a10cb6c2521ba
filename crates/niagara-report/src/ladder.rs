//! The way from the starting point to the final variant, as every form of the report draws it.

use niagara_stats::Estimate;
use niagara_store::{Comparison, TuneSummary};

use crate::number;
use crate::wording::{Standing, rung_estimate, rung_standing, verdict};

/// Beneath every waterfall.
pub(crate) const HOW_TO_READ: &str = "Each lever starts where the one before it ended. The total is measured by \
    itself, in fresh duels of the start against the final variant. It need not be the product of the levers: those that look \
    best are picked, and they look a little better than they are.";
/// What `n = 12` and the brackets are.
pub(crate) const N_MEANS: &str = "n: duels behind the figure. A duel starts both servers afresh on identical data and \
    switches the load between them in short slices; it gives one figure. In brackets: the confidence interval, of 95 % unless --alpha says otherwise.";
const SCREENED_MEANS: &str = "“screened”: picked by the screening duels and not measured again in \
    fresh ones, so it may be luck.";
const NOT_CONFIRMED_MEANS: &str = "“not confirmed”: fresh duels did not show the gain that the \
    screening saw.";
const REFUTED_MEANS: &str = "“refuted”: fresh duels showed a loss.";
/// A claim of a gain spends all of its error on the side of "it is none" (`LookPlan::one_sided`).
const ONE_SIDED_MEANS: &str = "A gain is proven one-sided: that it is at least the lower end is 95 % sure, unless --alpha says \
    otherwise; that it lies between both ends, 90 %.";

/// What the words and intervals beside the rungs mean, as far as they occur.
pub(crate) fn meanings(tune: &TuneSummary) -> Vec<&'static str> {
    let standings = [
        (Standing::Screened, SCREENED_MEANS),
        (Standing::NotConfirmed, NOT_CONFIRMED_MEANS),
        (Standing::Refuted, REFUTED_MEANS),
    ]
    .into_iter()
    .filter(|(standing, _)| {
        tune.rungs
            .iter()
            .any(|rung| Standing::of(rung) == *standing)
    });
    let one_sided = tune.total.as_ref().map(Comparison::judged);
    let one_sided = one_sided.filter(|judged| judged.one_sided && judged.confidence.is_none());
    standings
        .map(|(_, meaning)| meaning)
        .chain(one_sided.map(|_| ONE_SIDED_MEANS))
        .collect()
}

/// What a reader of one screen must know of the levers' standing; nothing where all is proven or there is no total.
pub(crate) fn in_short(tune: &TuneSummary) -> Option<String> {
    let has = |standing| tune.rungs.iter().any(|rung| Standing::of(rung) == standing);
    let mut parts = Vec::new();
    if tune.total.is_some() {
        parts.push("Total: measured by itself, in fresh duels.");
    }
    if has(Standing::Screened) {
        parts.push("Screened: not measured again, so it may be luck.");
    }
    if has(Standing::NotConfirmed) {
        parts.push("Not confirmed: fresh duels did not show it.");
    }
    if has(Standing::Refuted) {
        parts.push("Refuted: fresh duels showed a loss.");
    }
    (!parts.is_empty()).then(|| parts.join(" "))
}

/// Which numbers a search chose after the screening, so that screened figures are of other values; nothing where it chose none.
pub(crate) fn searched_since(tune: &TuneSummary) -> Option<String> {
    let chosen: Vec<String> = tune
        .searched
        .iter()
        .flat_map(|searched| &searched.ranges)
        .filter(|range| range.chosen != range.start)
        .map(|range| {
            let [chosen, start] = [range.chosen, range.start].map(number::sized);
            format!("{} = {chosen} instead of {start}", range.variable)
        })
        .collect();
    (!chosen.is_empty()).then(|| {
        format!(
            "A search chose {} after the screening: screened figures are of the value before, the total is of this one.",
            chosen.join(", ")
        )
    })
}

/// One line of the waterfall.
pub struct Step {
    /// What changed.
    pub title: String,
    /// How, in the server's words; empty for the total.
    pub change: String,
    /// This step alone.
    pub estimate: Estimate,
    /// Throughput over the starting point's before this step.
    pub start: f64,
    /// After it, with the ends of this step's interval.
    pub end: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// `× 1.17 [1.16, 1.19]`.
    pub numbers: String,
    /// `proven, n = 12`.
    pub standing: String,
    /// Proven by fresh duels.
    pub sure: bool,
    /// The starting point against the final variant.
    pub total: bool,
}

impl Step {
    /// The starting point against the final variant, from its own duels.
    pub fn total(estimate: Estimate, standing: String, sure: bool) -> Step {
        Step {
            title: "Total".into(),
            change: String::new(),
            estimate,
            start: 1.0,
            end: estimate.ratio,
            low: estimate.low,
            high: estimate.high,
            numbers: number::estimate(&estimate),
            standing,
            sure,
            total: true,
        }
    }
}

/// The rungs, best first, and the total where there is one.
pub fn steps(tune: &TuneSummary) -> Vec<Step> {
    let mut reached = 1.0;
    let mut steps: Vec<Step> = tune
        .rungs
        .iter()
        .map(|rung| {
            let estimate = *rung_estimate(rung);
            let start = reached;
            if estimate.ratio.is_finite() && estimate.ratio > 0.0 {
                reached *= estimate.ratio;
            }
            Step {
                title: rung.screened.title.clone(),
                change: rung.screened.change.clone(),
                estimate,
                start,
                end: start * estimate.ratio,
                low: start * estimate.low,
                high: start * estimate.high,
                numbers: number::estimate(&estimate),
                standing: rung_standing(rung),
                sure: Standing::of(rung) == Standing::Proven,
                total: false,
            }
        })
        .collect();
    if let Some(total) = &tune.total {
        let word = match verdict(total.judged()) {
            "faster" => "proven",
            other => other,
        };
        steps.push(Step::total(
            total.judged().estimate,
            format!("{word}, n = {}", total.judged().duels),
            word == "proven",
        ));
    }
    steps
}

/// The range of ratios that the steps need, without unbounded ends.
pub fn axis(steps: &[Step]) -> (f64, f64) {
    let mut axis = (1.0f64, 1.0f64);
    for step in steps {
        for value in [step.start, step.end, step.low, step.high] {
            // An end beyond these is drawn as open: it must not squeeze the rest.
            if value.is_finite() && (0.1..=20.0).contains(&value) {
                axis = (axis.0.min(value), axis.1.max(value));
            }
        }
    }
    if axis.1 / axis.0 < 1.01 {
        axis = (axis.0 / 1.005, axis.1 * 1.005);
    }
    axis
}
