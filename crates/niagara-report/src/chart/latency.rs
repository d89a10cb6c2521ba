//! Transaction latency by percentile, both sides, merged from the slices' histograms.

use std::collections::HashMap;

use base64::Engine;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use maud::{Markup, html};
use niagara_model::{DuelRecord, SliceRecord};

use crate::svg::{Axis, Size, both, frame, px, x_axis, y_axis};

/// Percentiles that are labelled and tabulated.
pub(crate) const PERCENTILES: [(f64, &str); 5] = [
    (50.0, "50 %"),
    (90.0, "90 %"),
    (95.0, "95 %"),
    (99.0, "99 %"),
    (99.9, "99.9 %"),
];

/// Points of a curve.
const POINTS: usize = 60;
/// Where the curves begin and end, in per cent.
const ENDS: (f64, f64) = (5.0, 99.9);

/// Latencies of A and B over all undisturbed slices of some duels.
pub struct Latencies {
    merged: [Histogram<u64>; 2],
    curves: [Vec<Sample>; 2],
}

/// A point of a curve: milliseconds.
struct Sample {
    percentile: f64,
    value: f64,
    /// The middle 80 % of the duels' own values.
    spread: (f64, f64),
}

impl Latencies {
    /// `None` when no slice has a histogram that can be read.
    pub fn of(duels: &[&DuelRecord], slices: &[SliceRecord]) -> Option<Latencies> {
        let mut found: HashMap<(u32, u8), Histogram<u64>> = HashMap::new();
        let mut deserializer = Deserializer::new();
        for slice in slices.iter().filter(|slice| !slice.disturbed) {
            let Some(histogram) = decode(&mut deserializer, &slice.histogram) else {
                continue;
            };
            let place = (slice.duel, slice.side.min(1));
            match found.get_mut(&place) {
                // It resizes itself: adding fails for no histogram of the same digits.
                Some(sum) => drop(sum.add(histogram)),
                None => drop(found.insert(place, histogram)),
            }
        }
        // What one side of a duel has nothing to be held against is left out.
        let of_duels = duels.iter().filter_map(|duel| {
            let of_side = |side: u8| found.remove(&(duel.seq, side)).filter(|h| !h.is_empty());
            let [a, b] = [0, 1].map(of_side);
            Some((a?, b?))
        });
        let by_duel: (Vec<_>, Vec<_>) = of_duels.unzip();
        let by_duel = <[Vec<_>; 2]>::from(by_duel);
        let merged = |histograms: &[Histogram<u64>]| {
            let mut sum = histograms.first()?.clone();
            for histogram in &histograms[1..] {
                let _ = sum.add(histogram); // as above
            }
            Some(sum)
        };
        let merged = [merged(&by_duel[0])?, merged(&by_duel[1])?];
        let curves = [0, 1].map(|side| curve(&merged[side], &by_duel[side]));
        Some(Latencies { merged, curves })
    }

    /// Milliseconds at a percentile of all transactions, of A or B.
    pub fn at(&self, side: usize, percentile: f64) -> f64 {
        self.merged[side].value_at_percentile(percentile) as f64 / 1000.0
    }
}

fn curve(merged: &Histogram<u64>, by_duel: &[Histogram<u64>]) -> Vec<Sample> {
    let (from, to) = (nines(ENDS.0), nines(ENDS.1));
    let percentiles: Vec<f64> = (0..=POINTS)
        .map(|i| from + (to - from) * i as f64 / POINTS as f64)
        .map(|nines| 100.0 * (1.0 - 10f64.powf(-nines)))
        .collect();
    let own: Vec<Vec<f64>> = by_duel.iter().map(|h| values_at(h, &percentiles)).collect();
    let values = values_at(merged, &percentiles);
    percentiles
        .iter()
        .zip(values)
        .enumerate()
        .map(|(i, (&percentile, value))| {
            let mut of_duels: Vec<f64> = own.iter().map(|values| values[i]).collect();
            of_duels.sort_by(f64::total_cmp);
            let last = of_duels.len() - 1; // `merged` is made from at least one
            let at = |share: f64| of_duels[(share * last as f64).round() as usize];
            Sample {
                percentile,
                value,
                spread: (at(0.1), at(0.9)),
            }
        })
        .collect()
}

/// Milliseconds at ascending percentiles, in one pass.
fn values_at(histogram: &Histogram<u64>, percentiles: &[f64]) -> Vec<f64> {
    let mut out = Vec::with_capacity(percentiles.len());
    let all = histogram.len() as f64;
    let mut seen = 0;
    for bucket in histogram.iter_recorded() {
        seen += bucket.count_since_last_iteration();
        while let Some(percentile) = percentiles.get(out.len())
            && seen as f64 >= percentile / 100.0 * all
        {
            // A latency below a microsecond is none; its logarithm would not be a number.
            out.push((bucket.value_iterated_to() as f64 / 1000.0).max(1e-3));
        }
    }
    out.resize(percentiles.len(), histogram.max() as f64 / 1000.0);
    out
}

fn decode(deserializer: &mut Deserializer, text: &str) -> Option<Histogram<u64>> {
    let bytes = base64::engine::general_purpose::STANDARD
        .decode(text)
        .ok()?;
    let mut histogram: Histogram<u64> = deserializer.deserialize(&mut bytes.as_slice()).ok()?;
    histogram.auto(true);
    Some(histogram)
}

/// Percentile curves of A and B; the bands hold the middle 80 % of the duels.
pub fn latency(latencies: &Latencies) -> Markup {
    let said: Vec<String> = PERCENTILES
        .iter()
        .map(|(percentile, name)| {
            let (a, b) = (latencies.at(0, *percentile), latencies.at(1, *percentile));
            format!("{name}: A {a:.1} ms, B {b:.1} ms")
        })
        .collect();
    let label = format!("Transaction latency by percentile. {}", said.join("; "));
    both(|size| draw(size, latencies, &label))
}

/// Where a percentile lies: each step of the axis is one more nine.
fn nines(percentile: f64) -> f64 {
    -(1.0 - percentile / 100.0).log10()
}

fn draw(size: Size, latencies: &Latencies, label: &str) -> Markup {
    let (left, right, height) = match size {
        Size::Wide => (58.0, 900.0, 300.0),
        Size::Narrow => (44.0, 332.0, 240.0),
    };
    let bottom = height - 42.0;
    let mut x = Axis::new((nines(ENDS.0), nines(ENDS.1)), (left, right));
    x.ticks = PERCENTILES
        .iter()
        .filter(|(p, _)| size == Size::Wide || *p != 95.0)
        .map(|(p, name)| (nines(*p), (*name).to_owned()))
        .collect();
    let mut domain = (f64::INFINITY, 0.0f64);
    for sample in latencies.curves.iter().flatten() {
        for value in [sample.value, sample.spread.0, sample.spread.1] {
            domain = (domain.0.min(value), domain.1.max(value));
        }
    }
    let domain = (domain.0 / 1.1, domain.1 * 1.1);
    let mut y = Axis::new((domain.0.log10(), domain.1.log10()), (bottom, 8.0));
    y.ticks = millisecond_ticks(domain);
    let place = |percentile: f64, ms: f64| {
        format!("{},{}", px(x.at(nines(percentile))), px(y.at(ms.log10())))
    };
    let curve = |side: usize| {
        let points = latencies.curves[side]
            .iter()
            .map(|s| place(s.percentile, s.value));
        points.collect::<Vec<_>>().join(" ")
    };
    let band = |side: usize| {
        let samples = &latencies.curves[side];
        let upper = samples.iter().map(|s| place(s.percentile, s.spread.1));
        let lower = samples
            .iter()
            .rev()
            .map(|s| place(s.percentile, s.spread.0));
        upper.chain(lower).collect::<Vec<_>>().join(" ")
    };
    // The two letters must not sit on each other.
    let ends = [0, 1].map(|side: usize| {
        y.at(latencies.curves[side]
            .last()
            .map_or(0.0, |sample| sample.value.log10()))
    });
    let apart = (7.0 - (ends[0] - ends[1]).abs() / 2.0).max(0.0);
    let push = if ends[0] > ends[1] { apart } else { -apart };
    let body = html! {
        (y_axis(&y, left, right))
        (x_axis(&x, 8.0, bottom))
        g.axis {
            text.name x=(px(right)) y=(px(bottom + 34.0)) text-anchor="end" {
                "percentile of transactions"
            }
            text.name x=(px(left + 6.0)) y="18" { "ms" }
        }
        @for (side, class) in ["a", "b"].into_iter().enumerate() {
            polygon class={ "spread " (class) } points=(band(side)) {}
            polyline class={ "curve " (class) } points=(curve(side)) {}
            @let nudge = if side == 0 { push } else { -push };
            text class={ "end " (class) } x=(px(right + 8.0)) y=(px(ends[side] + nudge + 4.0)) {
                (if side == 0 { "A" } else { "B" })
            }
        }
        @for (p, name) in PERCENTILES {
            @let at = x.at(nines(p));
            rect.hover x=(px(at - 16.0)) y="8" width="32" height=(px(bottom - 8.0)) {
                title {
                    (name) ": A " (format!("{:.1}", latencies.at(0, p))) " ms, B "
                    (format!("{:.1}", latencies.at(1, p))) " ms"
                }
            }
        }
    };
    frame(size, height, label, body)
}

/// 1, 2, 5 × powers of ten; more of them when the domain is short.
fn millisecond_ticks(domain: (f64, f64)) -> Vec<(f64, String)> {
    let short = domain.1 / domain.0 < 8.0;
    let steps: &[f64] = if short {
        &[1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0]
    } else {
        &[1.0, 2.0, 5.0]
    };
    (-3..=7)
        .flat_map(|power| steps.iter().map(move |m| m * 10f64.powi(power)))
        .filter(|ms| (domain.0..=domain.1).contains(ms))
        .map(|ms| {
            let text = if ms >= 1.0 {
                format!("{ms}")
            } else {
                format!("{ms:.3}").trim_end_matches('0').to_owned()
            };
            (ms.log10(), text)
        })
        .collect()
}
