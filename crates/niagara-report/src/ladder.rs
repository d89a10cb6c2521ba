//! The way from the starting point to the final variant, as every form of the report draws it.

use niagara_model::{Comparison, Rung, SearchedRange, TuneSummary};
use niagara_stats::{Estimate, Judgement, product};

use crate::document::{Block, Depth, Folded, Section};
use crate::number;
use crate::step::Step;
use crate::wording::{Standing, proven_or_verdict, rung_estimate, rung_standing};

/// Beneath every waterfall.
pub(crate) const HOW_TO_READ: &str = "Each lever starts where the one before it ended. The total is measured by \
    itself and need not be their product: levers interact, and those that are picked look a little better than they are.";
/// What brackets are where no gain was proven one-sided.
const BRACKETS: &str = "Brackets: where the true figure lies, with 95 % confidence.";
/// What they are of a total that had too few duels.
const WIDE_BRACKETS: &str = "Brackets: where the true figure lies; of the total with less than 95 % confidence, for it had too few duels.";
/// Of what fresh duels showed.
const PROVEN: &str = "Proven: by fresh duels. Its own duels chose a lever, so its figure may be high; the total's chose nothing.";
/// What an interval is not of.
const OTHER_RUNS: &str = "Another run, even on this machine, may lie outside of them.";
/// Of `n = 12`.
const COUNTS: &str = "n: duels.";
/// Of bars on a page.
pub(crate) const HATCHED: &str = "Solid bars are proven by fresh duels, hatched ones are not.";
/// Of bars in characters.
pub(crate) const BARS: &str = "Bars: █ to the lower figure, ▒ the bracket, ┃ the estimate";
/// What stands above the explanation of duels.
const HOW: &str = "How to read this";
/// What a duel is, and what stands in brackets.
const DUELS: &str = "A duel starts both servers afresh on identical data and moves the load between them in short slices. It gives one \
    figure, the ratio of the two. The brackets come from how far these figures lie apart (Hodges–Lehmann estimate, signed-rank test at planned \
    looks): more duels, or a quieter machine, make them narrower. The total's duels took no part in any choice, so that no luck of a choice is in them. A lever is a change that was tried; \
    × 1.10 is 10 % more. The chart's axis is logarithmic, for gains multiply. 99 of 100 transactions took at most the 99th percentile.";

/// How to read the way: what stands beside its figures, as far as it occurs.
pub(crate) fn legend(tune: &TuneSummary) -> Vec<String> {
    let is_proven = |rung: &Rung| Standing::of(rung) == Standing::Proven;
    let proven = own_rungs(tune).any(is_proven).then(|| PROVEN.to_owned());
    let judged = tune.total.as_ref().map(Comparison::judged);
    let is_at_least = judged.is_some_and(|judged| judged.confidence.is_none() && judged.one_sided);
    let parts = [
        Some(brackets(tune)),
        is_at_least.then(|| OTHER_RUNS.to_owned()),
        proven,
        in_short(tune),
        Some(COUNTS.to_owned()),
    ];
    parts.into_iter().flatten().collect()
}

/// What a reader who was never told of duels has to know, where there is room for it.
pub(crate) fn how_to_read(tune: &TuneSummary) -> Folded {
    Folded {
        title: HOW.to_owned(),
        detail: String::new(),
        open: false,
        inner: Section::new(Depth::Every, "")
            .with(Block::Text(DUELS.to_owned()))
            .with_some(parts_multiplied(tune).map(Block::Text)),
    }
}

/// Compares the total with the product of its parts.
fn parts_multiplied(tune: &TuneSummary) -> Option<String> {
    let total = tune.total.as_ref()?;
    let several = product_of_several(tune)?;
    let product = number::ratio(&several);
    if agree(&several, &total.judged().estimate) {
        return Some(format!(
            "The parts, multiplied before they are rounded, give {product}: the total agrees with them."
        ));
    }
    let slices = lengths_of_slices(tune).map_or("", |_| "slices of other lengths, ");
    Some(format!(
        "The parts, multiplied, give {product}, the total is {}. What makes the difference ({slices}levers that act on each other, chance) was \
         not separated: the total is the figure to quote.",
        number::ratio(&total.judged().estimate)
    ))
}

/// The product of the parts; none where one of them has no figure of its own.
fn product_of_parts(tune: &TuneSummary) -> Option<Estimate> {
    let parts: Vec<Estimate> = own_rungs(tune).map(|rung| *rung_estimate(rung)).collect();
    let product = product(&parts);
    (product.ratio.is_finite() && FoundBySearch::of(tune).is_none()).then_some(product)
}

/// The same of several parts.
fn product_of_several(tune: &TuneSummary) -> Option<Estimate> {
    product_of_parts(tune).filter(|_| own_rungs(tune).nth(1).is_some())
}

/// The same for one screen.
pub(crate) fn legend_in_short(tune: &TuneSummary) -> Vec<String> {
    let how_to_read = format!("{} {COUNTS}", brackets(tune));
    in_short(tune).into_iter().chain([how_to_read]).collect()
}

fn brackets(tune: &TuneSummary) -> String {
    match tune.total.as_ref().map(Comparison::judged) {
        Some(judged) if judged.confidence.is_some() => WIDE_BRACKETS.to_owned(),
        Some(judged) if judged.one_sided => at_least(judged),
        _ => BRACKETS.to_owned(),
    }
}

/// A claim of a gain spends all of its error on the side of "it is none" (`LookPlan::one_sided`): that of both ends is twice as large.
fn at_least(judged: &Judgement) -> String {
    format!(
        "Brackets: in this run the gain is at least the lower figure ({} % confidence or more).",
        number::confidence(judged.alpha / 2.0)
    )
}

/// The lever of a final variant that has no other, with its total: they are the same change.
pub(crate) fn only_lever(tune: &TuneSummary) -> Option<(&Rung, &Comparison)> {
    let total = tune.total.as_ref()?;
    let [rung] = tune.rungs.as_slice() else {
        return None;
    };
    let is_judged = total.judged().verdict.is_some();
    (is_judged && FoundBySearch::of(tune).is_none()).then_some((rung, total))
}

/// What the duels showed that decided to keep the only lever, where its total is of others.
pub(crate) fn earlier_duels(tune: &TuneSummary) -> Option<String> {
    let (rung, total) = only_lever(tune)?;
    let earlier = rung.claim.as_ref()?.judged();
    (earlier != total.judged()).then(|| {
        format!(
            "{} ({}) decided to keep it; the figure above is of new ones.",
            number::count(earlier.duels, "earlier duel"),
            number::estimate(&earlier.estimate)
        )
    })
}

/// What a reader of one screen must know of the levers' standing; nothing where there is nothing to say.
pub(crate) fn in_short(tune: &TuneSummary) -> Option<String> {
    let has = |standing| own_rungs(tune).any(|rung| Standing::of(rung) == standing);
    let mut parts: Vec<String> = Vec::new();
    if only_lever(tune).is_some() {
        return earlier_duels(tune);
    }
    if let Some(total) = &tune.total {
        let lengths = lengths_of_slices(tune);
        let other_slices = lengths.as_ref().map_or("", |_| "other slices, ");
        let slices = lengths.map_or(String::new(), |[total, levers]| {
            format!(" in slices of {total} (levers: {levers})")
        });
        let beside = match (lies_above_parts(tune, total), product_of_several(tune)) {
            (false, None) => "the parts need not multiply".to_owned(),
            (false, Some(product)) if agree(&product, &total.judged().estimate) => {
                "the parts, multiplied, agree with it".to_owned()
            }
            (false, Some(product)) => {
                format!("the parts give {}, multiplied", number::ratio(&product))
            }
            (true, _) => format!(
                "it lies above the parts' product: {other_slices}levers that act on each other, or chance"
            ),
        };
        parts.push(format!(
            "Total: by fresh duels of its own{slices}; {beside}."
        ));
    }
    let standings = [
        (
            has(Standing::Screened),
            "Screened: not measured again, so it may be luck.",
        ),
        (
            FoundBySearch::of(tune).is_some(),
            "Searched: a number picked afterwards.",
        ),
        (
            has(Standing::NotConfirmed),
            "Not confirmed: fresh duels did not show it.",
        ),
        (
            has(Standing::Refuted),
            "Refuted: fresh duels showed a loss.",
        ),
    ];
    let told = standings.into_iter().filter(|(is_told, _)| *is_told);
    parts.extend(told.map(|(_, words)| words.to_owned()));
    (!parts.is_empty()).then(|| parts.join(" "))
}

/// The slices of the total, and of all other duels, where those are shorter.
pub(crate) fn lengths_of_slices(tune: &TuneSummary) -> Option<[String; 2]> {
    let setting = &tune.recommendation.as_ref()?.benefit()?.setting;
    let lengths = [setting.slice_seconds?, setting.lever_slice_seconds?];
    Some(lengths.map(number::seconds))
}

/// Whether the tail of latency of a lever, or of the total, had a second look, in longer slices.
pub(crate) fn has_longer_slices(tune: &TuneSummary) -> bool {
    let claims = tune.rungs.iter().filter_map(|rung| rung.claim.as_ref());
    claims
        .chain(&tune.total)
        .any(|claim| claim.in_longer_slices.is_some())
}

/// Whether the total is above the product of its parts by more than their intervals allow; not where a part has no figure.
fn lies_above_parts(tune: &TuneSummary, total: &Comparison) -> bool {
    product_of_parts(tune).is_some_and(|product| total.judged().estimate.ratio > product.high)
}

/// Whether neither of two estimates leaves the other's interval.
fn agree(one: &Estimate, other: &Estimate) -> bool {
    one.holds(other.ratio) && other.holds(one.ratio)
}

/// Whether a rung has no figure of its own: the search alone brought it in, so that the screening measured it with another
/// number than the one it has, and no fresh duels judged it. Its gain is in that of the search.
pub(crate) fn is_within_search(tune: &TuneSummary, rung: &Rung) -> bool {
    tune.is_added(rung) && Standing::of(rung) == Standing::Screened
}

/// The rungs that have a figure of their own, best first.
pub(crate) fn own_rungs(tune: &TuneSummary) -> impl Iterator<Item = &Rung> {
    let rungs = tune.rungs.iter();
    rungs.filter(|rung| !is_within_search(tune, rung))
}

/// What a search over ranges added after the screening, beyond what fresh duels judged: the claim of a rung is fought with
/// the number that the search chose, and has its gain. Nothing where no such number is left.
pub(crate) struct FoundBySearch<'a> {
    /// Ranges that ended with another number than they began with, of rungs that were not judged.
    ranges: Vec<&'a SearchedRange>,
    /// What that brought, by the duels that chose it. They tell of all numbers together: of some of them nothing is known.
    effect: Option<Estimate>,
}

impl<'a> FoundBySearch<'a> {
    pub(crate) fn of(tune: &'a TuneSummary) -> Option<Self> {
        let searched = tune.searched.as_ref()?;
        let changed = || {
            let ranges = searched.ranges.iter();
            ranges.filter(|range| range.chosen != range.start)
        };
        let is_screened = |range: &&SearchedRange| {
            let mut rungs = tune.rungs.iter();
            let rung = rungs.find(|rung| rung.screened.lever == range.lever);
            rung.is_some_and(|rung| Standing::of(rung) == Standing::Screened)
        };
        let ranges: Vec<_> = changed().filter(is_screened).collect();
        let effect = searched
            .effect
            .filter(|_| ranges.len() == changed().count());
        (!ranges.is_empty()).then_some(Self { ranges, effect })
    }

    /// `thread_pool_size 9 instead of 4`.
    pub(crate) fn title(&self) -> String {
        let told = self.ranges.iter().map(|range| {
            let [chosen, start] = [range.chosen, range.start].map(number::sized);
            format!("{} {chosen} instead of {start}", range.variable)
        });
        told.collect::<Vec<_>>().join(", ")
    }

    /// The variables that it chose numbers for.
    pub(crate) fn variables(&self) -> impl Iterator<Item = &'a str> + '_ {
        self.ranges.iter().map(|range| range.variable.as_str())
    }

    /// `thread_pool_size=9`.
    fn change(&self) -> String {
        let told = self.ranges.iter();
        let told = told.map(|range| format!("{}={}", range.variable, range.chosen));
        told.collect::<Vec<_>>().join(", ")
    }

    /// `× 1.09 [1.06, 1.11], searched`.
    pub(crate) fn told(&self) -> String {
        match &self.effect {
            Some(effect) => format!("{}, {SEARCHED}", number::estimate(effect)),
            None => SEARCHED.to_owned(),
        }
    }

    /// The step from what was screened to the numbers that were chosen.
    fn step(&self) -> Step {
        let of = |effect| Step {
            change: self.change(),
            ..Step::of(self.title(), effect, SEARCHED.to_owned())
        };
        match self.effect {
            Some(effect) => of(effect),
            None => Step {
                numbers: number::NOTHING.to_owned(),
                ..of(Estimate::from_log(0.0, 0.0, 0.0))
            },
        }
    }
}

/// The standing of what a search found.
const SEARCHED: &str = "searched";

/// What a rung's figure is of: what it changes in the final variant where fresh duels judged it, else what was screened.
fn judged_change(rung: &Rung) -> String {
    match (Standing::of(rung), &rung.chosen) {
        (Standing::Screened, _) | (_, None) => rung.screened.change.clone(),
        (_, Some(chosen)) => chosen.clone(),
    }
}

/// The step of the total.
fn total_step(total: &Comparison) -> Step {
    let judged = total.judged();
    Step::total(
        judged.estimate,
        format!("{}, n = {}", proven_or_verdict(total), judged.duels),
        judged.shows_gain(),
    )
}

/// The rungs, best first, and the total where there is one; of one lever one of them, for both are the same change.
pub fn steps(tune: &TuneSummary) -> Vec<Step> {
    if let Some((rung, total)) = only_lever(tune) {
        let screened = &rung.screened;
        return vec![Step {
            title: screened.title.clone(),
            id: screened.lever.clone(),
            change: rung.chosen.as_ref().unwrap_or(&screened.change).clone(),
            ..total_step(total)
        }];
    }
    let mut reached = 1.0;
    let search = FoundBySearch::of(tune);
    let rungs = own_rungs(tune).map(|rung| {
        let step = Step::of(
            rung.screened.title.clone(),
            *rung_estimate(rung),
            rung_standing(rung),
        );
        Step {
            id: rung.screened.lever.clone(),
            change: judged_change(rung),
            sure: Standing::of(rung) == Standing::Proven,
            ..step
        }
    });
    let found = search.as_ref().map(FoundBySearch::step);
    let mut steps: Vec<Step> = rungs
        .chain(found)
        .map(|step| step.from(&mut reached))
        .collect();
    steps.extend(tune.total.as_ref().map(total_step));
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
