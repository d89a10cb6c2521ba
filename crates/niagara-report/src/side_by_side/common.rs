//! Figures that both studies have, and whether they differ.

use niagara_model::{Comparison, Goal, RungOutcome, Screened, Summary, SweepSummary, TuneSummary};
use niagara_stats::{Estimate, IntervalEstimate, difference, student, widened};
use schemars::JsonSchema;
use serde::Serialize;

use crate::all_time::ALL_TIME;
use crate::wording;

/// A ratio of B over A that a study came to.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// What it is known by in both studies.
    pub key: String,
    /// For people.
    pub title: String,
    /// B over A, with its interval.
    pub estimate: Estimate,
    /// Probability with which the interval misses the truth, on either side.
    pub alpha: f64,
    /// Standard error of its logarithm, where the interval is Student's.
    pub std_err: Option<f64>,
    /// `screened, n = 24`.
    pub standing: String,
    /// Whether it is part of what the study recommends; `None` of what cannot be.
    pub kept: Option<bool>,
}

/// A figure of both studies.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Common {
    /// What it is.
    pub title: String,
    /// B over A in each study, with its own interval.
    pub estimates: [Estimate; 2],
    /// What became of it in each.
    pub standings: [String; 2],
    /// Whether each study kept it.
    pub kept: [Option<bool>; 2],
    /// The second over the first. Its interval holds for the figure alone, or together with those of its family.
    pub difference: Estimate,
    /// Whether that interval excludes 1.
    pub differs: bool,
}

/// What the interval of a screened effect leaves out.
const SCREENED: f64 = 0.05;

/// What the interval of a comparison leaves out on both sides together.
pub(crate) fn left_out(comparison: &Comparison) -> f64 {
    let judged = comparison.judged();
    let confidence = judged.confidence.map(|confidence| 1.0 - confidence);
    confidence.unwrap_or(judged.alpha)
}

/// What the study decided by.
pub(crate) fn main_figure(comparison: &Comparison) -> Figure {
    let judged = comparison.judged();
    Figure {
        key: comparison.goal.name().to_owned(),
        title: comparison.goal.title().to_owned(),
        estimate: comparison.goal.figure(&judged.estimate),
        alpha: left_out(comparison),
        std_err: None,
        standing: format!(
            "{}, n = {}",
            wording::verdict_on_goal(comparison),
            judged.duels
        ),
        kept: None,
    }
}

/// What stands beside it: throughput where it is not the goal, CPU time, latencies.
pub fn beside(comparison: &Comparison) -> Vec<Figure> {
    let throughput = (comparison.goal != Goal::Throughput)
        .then_some(("Throughput", &comparison.throughput.estimate));
    let all_time = comparison.all_time.map(|found| found.estimate);
    let others = [
        (ALL_TIME, &all_time),
        (
            "Server CPU per transaction",
            &comparison.cpu_per_transaction,
        ),
        ("Median latency", &comparison.latency_p50),
        ("95th percentile of latency", &comparison.latency_p95),
        ("99th percentile of latency", &comparison.latency_p99),
    ];
    let others = others
        .into_iter()
        .filter_map(|(title, estimate)| Some((title, estimate.as_ref()?)));
    throughput
        .into_iter()
        .chain(others)
        .filter(|(title, _)| *title != comparison.goal.title())
        .map(|(title, estimate)| Figure {
            key: title.to_owned(),
            title: title.to_owned(),
            estimate: *estimate,
            // By the critical value of the judgement's last look.
            alpha: comparison.judged().alpha,
            std_err: None,
            standing: String::new(),
            kept: None,
        })
        .collect()
}

/// The parts that a study tried one by one: levers, rungs, cells, numbers of threads.
pub fn parts(summary: &Summary) -> Vec<Figure> {
    match summary {
        Summary::Tune(tune) => levers(tune),
        Summary::Compare(_) => Vec::new(),
        Summary::Ladder(ladder) => ladder
            .rungs
            .iter()
            .filter_map(|rung| {
                let kept = matches!(rung.outcome, RungOutcome::Kept { .. });
                Some(claimed(&rung.title, rung.claim()?, Some(kept)))
            })
            .collect(),
        Summary::Matrix(matrix) => matrix
            .cells
            .iter()
            .filter_map(|cell| {
                let workload = matrix.workloads.get(cell.workload)?;
                let title = format!(
                    "{}, {}",
                    cell.title,
                    crate::load::load(&workload.name, cell.threads)
                );
                Some(claimed(&title, cell.comparison()?, None))
            })
            .collect(),
        Summary::Sweep(sweep) => swept(sweep),
    }
}

/// Of two variants that met in duels their ratio at each number of threads; of several each over the first and over the one before it.
fn swept(sweep: &SweepSummary) -> Vec<Figure> {
    let threads = |count: u32| crate::number::count(count as usize, "thread");
    let figure = |key: String, title: String, ratio: &IntervalEstimate, n: u32| Figure {
        key,
        title,
        estimate: Estimate {
            ratio: ratio.value,
            low: ratio.low,
            high: ratio.high,
        },
        alpha: sweep.header.alpha,
        std_err: std_err(ratio, n, sweep.header.alpha),
        standing: format!("n = {n}"),
        kept: None,
    };
    let ratios = sweep.ratios.iter().map(|at| {
        let key = at.threads.to_string();
        figure(key, threads(at.threads), &at.ratio, at.duels)
    });
    let curve = |index: usize| {
        let curve = sweep.curves.get(index);
        curve.map_or("", |curve| curve.title.as_str())
    };
    // By what they are called: another sweep may have them in another order.
    let by_round = sweep.by_round.iter().map(|one| {
        let (of, over) = (curve(one.of), curve(one.over));
        let key = format!("{}/{of}/{over}", one.threads);
        let title = format!("{of} over {over}, {}", threads(one.threads));
        figure(key, title, &one.ratio, one.rounds)
    });
    ratios.chain(by_round).collect()
}

/// Standard error of the logarithm of a ratio whose interval at 1 − `alpha` is Student's over `n` figures; `None` of one figure.
fn std_err(ratio: &IntervalEstimate, n: u32, alpha: f64) -> Option<f64> {
    let half = (ratio.high.ln() - ratio.low.ln()) / 2.0;
    let t = student::quantile(1.0 - alpha / 2.0, f64::from(n) - 1.0);
    Some(half / t).filter(|std_err| std_err.is_finite())
}

/// What [`parts`] are called.
pub(crate) fn parts_are(summary: &Summary) -> &'static str {
    match summary {
        Summary::Tune(_) => "levers",
        Summary::Ladder(_) => "rungs",
        Summary::Matrix(_) => "combinations",
        Summary::Sweep(_) => "numbers of threads",
        Summary::Compare(_) => "parts",
    }
}

fn claimed(title: &str, claim: &Comparison, kept: Option<bool>) -> Figure {
    Figure {
        key: title.to_owned(),
        title: title.to_owned(),
        kept,
        ..main_figure(claim)
    }
}

/// Every lever by its screening: the same kind of figure in both studies, whether or not fresh duels followed.
fn levers(tune: &TuneSummary) -> Vec<Figure> {
    let lever = |screened: &Screened, kept: Option<bool>, standing: String| Figure {
        key: screened.lever.clone(),
        title: screened.title.clone(),
        estimate: screened.effect,
        alpha: SCREENED,
        std_err: Some(screened.std_err).filter(|std_err| std_err.is_finite()),
        standing,
        kept,
    };
    let of = |role: &str, one: &Screened| format!("{role}, n = {}", one.duels);
    let kept = tune
        .rungs
        .iter()
        .map(|rung| lever(&rung.screened, Some(true), wording::rung_standing(rung)));
    let dropped = tune
        .not_helped
        .iter()
        .map(|one| lever(one, Some(false), of("not kept", one)));
    let negative = tune
        .negative_control
        .iter()
        .map(|one| lever(one, None, of("negative control", one)));
    let positive = tune
        .positive_control
        .iter()
        .map(|one| lever(one, None, of("positive control", one)));
    kept.chain(dropped)
        .chain(negative)
        .chain(positive)
        .collect()
}

/// The figures that both lists have, in the order of the first, and the titles of those that only one has. Each difference is judged
/// at `alpha`; without one by the two intervals as they are.
pub fn common(
    [first, second]: [&[Figure]; 2],
    alpha: Option<f64>,
) -> (Vec<Common>, [Vec<String>; 2]) {
    let pairs = paired(first, second);
    let found = pairs
        .iter()
        .map(|(one, other)| {
            let [a, b] = [one, other].map(|f| {
                let alpha = alpha.unwrap_or(f.alpha);
                widened(&f.estimate, f.alpha, alpha, f.std_err)
            });
            let difference = difference(&a, &b);
            Common {
                title: one.title.clone(),
                estimates: [one.estimate, other.estimate],
                standings: [one.standing.clone(), other.standing.clone()],
                kept: [one.kept, other.kept],
                differs: difference.low > 1.0 || difference.high < 1.0,
                difference,
            }
        })
        .collect();
    let without = |these: &[Figure], those: &[Figure]| {
        let alone = these
            .iter()
            .filter(|figure| !those.iter().any(|other| other.key == figure.key));
        alone.map(|figure| figure.title.clone()).collect()
    };
    (found, [without(first, second), without(second, first)])
}

/// Figures that both have, side by side.
pub fn paired<'a>(first: &'a [Figure], second: &'a [Figure]) -> Vec<(&'a Figure, &'a Figure)> {
    first
        .iter()
        .filter_map(|one| Some((one, second.iter().find(|other| other.key == one.key)?)))
        .collect()
}
