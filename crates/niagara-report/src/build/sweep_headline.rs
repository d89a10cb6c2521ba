//! A sweep in a sentence: of several variants each over the first, of one how far it scales.

use niagara_model::{SweepCurve, SweepPoint, SweepSummary, load_name};
use niagara_stats::IntervalEstimate;

use super::{Digits, interval_estimate, interval_over};
use crate::number;

/// A curve that ends below this share of its best does not only stop scaling.
const COLLAPSED: f64 = 0.8;

pub fn headline(sweep: &SweepSummary) -> String {
    let workload = load_name(&sweep.header.workload);
    let mut parts = over_the_first(sweep);
    if parts.is_empty() {
        parts.extend(sweep.curves.iter().filter_map(how_far));
    } else {
        let falls = |curve: &SweepCurve| Some(format!("{} {}", curve.title, fall(curve)?));
        parts.extend(sweep.curves.iter().filter_map(falls));
    }
    if parts.is_empty() {
        return format!("{workload}: stopped before anything was measured");
    }
    format!("{workload}: {}", parts.join("; "))
}

/// `own build over mariadb-10.11 × 1.20 [1.15, 1.25] (1 thread) to × 1.31 [1.26, 1.36] (16)` for each variant but the first; nothing
/// where no ratio was measured.
fn over_the_first(sweep: &SweepSummary) -> Vec<String> {
    let Some(first) = sweep.curves.first() else {
        return Vec::new();
    };
    let told = sweep
        .curves
        .iter()
        .enumerate()
        .filter_map(|(index, curve)| {
            let range = range(&ratios(sweep, index))?;
            Some(format!("{} over {} × {range}", curve.title, first.title))
        });
    told.collect()
}

/// A variant's ratios to the first one, by thread count.
fn ratios(sweep: &SweepSummary, index: usize) -> Vec<(u32, &IntervalEstimate)> {
    // Both alive in each duel: there are two.
    let alive = sweep.ratios.iter().filter(|_| index == 1);
    let alive = alive.map(|at| (at.threads, &at.ratio));
    let in_rounds = sweep.by_round.iter();
    let in_rounds = in_rounds.filter(|one| (one.of, one.over) == (index, 0));
    alive
        .chain(in_rounds.map(|one| (one.threads, &one.ratio)))
        .collect()
}

/// The least and the largest of these, or the only one.
fn range(ratios: &[(u32, &IntervalEstimate)]) -> Option<String> {
    let threads = |threads: u32| number::count(threads as usize, "thread");
    if let [(count, only)] = ratios {
        let ratio = interval_over("one start", only, Digits::Three);
        return Some(format!("{ratio} with {}", threads(*count)));
    }
    let sorted = |a: &&(u32, &IntervalEstimate), b: &&(u32, &IntervalEstimate)| {
        a.1.value.total_cmp(&b.1.value)
    };
    let (least, most) = (ratios.iter().min_by(sorted)?, ratios.iter().max_by(sorted)?);
    let told = |ratio: &IntervalEstimate| interval_over("one start", ratio, Digits::Three);
    Some(format!(
        "{} ({}) to × {} ({})",
        told(least.1),
        threads(least.0),
        told(most.1),
        most.0
    ))
}

/// Up to which thread count more of them bring anything.
fn how_far(curve: &SweepCurve) -> Option<String> {
    let knee = curve.knee.as_ref()?.threads;
    let (best, last) = best_and_last(curve)?;
    let threads = number::count(knee as usize, "thread");
    let found = match fall(curve) {
        _ if last.threads == knee => {
            format!("does most with {threads}, the most that was measured")
        }
        Some(fall) => format!("gains hardly anything beyond {threads} and {fall}"),
        None => format!("gains hardly anything beyond {threads}"),
    };
    Some(format!(
        "{} {found} ({} tps at best)",
        curve.title,
        interval_estimate(&best.tps, Digits::Whole)
    ))
}

/// `falls to 40 % of its best with 512`; nothing of a curve that does not.
fn fall(curve: &SweepCurve) -> Option<String> {
    let (best, last) = best_and_last(curve)?;
    let of_best = last.tps.value / best.tps.value;
    (of_best < COLLAPSED).then(|| {
        format!(
            "falls to {} of its best with {}",
            number::percent(of_best),
            number::count(last.threads as usize, "thread")
        )
    })
}

fn best_and_last(curve: &SweepCurve) -> Option<(&SweepPoint, &SweepPoint)> {
    let best = curve.knee.as_ref()?.best_threads;
    let best = curve.points.iter().find(|point| point.threads == best)?;
    Some((best, curve.points.last()?))
}
