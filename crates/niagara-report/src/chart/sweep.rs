//! Throughput over threads: measured points with their intervals, the fitted law, the knee.

use maud::{Markup, html};
use niagara_model::{SweepCurve, SweepSummary};

use crate::number;
use crate::svg::{Axis, Size, both, fit, frame, px, x_axis, y_axis};

/// Colours of the page for curves, in turn.
const CLASSES: [&str; 6] = ["c0", "c1", "c2", "c3", "c4", "c5"];

/// All curves on one chart; `None` without points.
pub fn sweep(sweep: &SweepSummary) -> Option<Markup> {
    let points = || sweep.curves.iter().flat_map(|curve| &curve.points);
    let most = points().map(|point| point.threads).max()?;
    let least = points().map(|point| point.threads).min()?;
    let top = points()
        .map(|point| {
            if point.tps.high.is_finite() {
                point.tps.high.min(point.tps.value * 1.5)
            } else {
                point.tps.value
            }
        })
        .fold(0.0, f64::max);
    let said: Vec<String> = sweep
        .curves
        .iter()
        .flat_map(|curve| {
            curve.points.iter().map(|point| {
                format!(
                    "{} at {}: {} tps",
                    curve.title,
                    number::count(point.threads as usize, "thread"),
                    number::grouped(point.tps.value)
                )
            })
        })
        .collect();
    let label = format!("Throughput by threads. {}", said.join("; "));
    Some(both(|size| draw(size, sweep, (least, most), top, &label)))
}

fn draw(size: Size, sweep: &SweepSummary, threads: (u32, u32), top: f64, label: &str) -> Markup {
    let (left, right, height) = match size {
        Size::Wide => (70.0, 920.0, 360.0),
        Size::Narrow => (58.0, 350.0, 280.0),
    };
    let legend = 20.0 * sweep.curves.len() as f64;
    let bottom = height - 42.0;
    let ends = (f64::from(threads.0).log2(), f64::from(threads.1).log2());
    let pad = ((ends.1 - ends.0) * 0.03).max(0.1);
    let mut x = Axis::new((ends.0 - pad, ends.1 + pad), (left, right));
    let mut counts: Vec<u32> = sweep
        .curves
        .iter()
        .flat_map(|curve| curve.points.iter().map(|point| point.threads))
        .collect();
    counts.sort_unstable();
    counts.dedup();
    let every = if size == Size::Narrow && counts.len() > 7 {
        2
    } else {
        1
    };
    x.ticks = counts
        .iter()
        .step_by(every)
        .map(|&count| (f64::from(count).log2(), count.to_string()))
        .collect();
    let y = Axis::new((0.0, top * 1.05), (bottom, 12.0))
        .with_round_ticks(6, |value, _| number::grouped(value));
    let body = html! {
        (y_axis(&y, left, right))
        (x_axis(&x, 12.0, bottom))
        g.axis {
            text.name x=(px(right)) y=(px(bottom + 34.0)) text-anchor="end" { "threads" }
            text.name x=(px(left + 6.0)) y="22" { "transactions per second" }
        }
        @for (index, curve) in sweep.curves.iter().enumerate() {
            (one(curve, CLASSES[index % CLASSES.len()], &x, &y, threads))
        }
        @for (index, curve) in sweep.curves.iter().enumerate() {
            @let at = height + 8.0 + 20.0 * index as f64;
            g class={ "series " (CLASSES[index % CLASSES.len()]) } {
                line.law x1=(px(left)) x2=(px(left + 26.0)) y1=(px(at)) y2=(px(at)) {}
                circle.point cx=(px(left + 13.0)) cy=(px(at)) r="4" {}
            }
            text x=(px(left + 34.0)) y=(px(at + 4.5)) { (fit(&curve.title, right - left - 34.0, 13.0)) }
        }
    };
    frame(size, height + legend + 4.0, label, body)
}

fn one(curve: &SweepCurve, class: &str, x: &Axis, y: &Axis, threads: (u32, u32)) -> Markup {
    let law: Option<String> = curve.law.as_ref().map(|law| {
        let (low, high) = (f64::from(threads.0).log2(), f64::from(threads.1).log2());
        let points: Vec<String> = (0..=80)
            .map(|step| {
                let log = low + (high - low) * f64::from(step) / 80.0;
                let n = log.exp2();
                let (sigma, kappa) = (law.sigma.value, law.kappa.value);
                let tps = law.lambda.value * n / (1.0 + sigma * (n - 1.0) + kappa * n * (n - 1.0));
                format!("{},{}", px(x.at(log)), px(y.at(tps)))
            })
            .collect();
        points.join(" ")
    });
    html! {
        g class={ "series " (class) } {
            @if let Some(points) = law { polyline.law points=(points) {} }
            @for point in &curve.points {
                @let at = x.at(f64::from(point.threads).log2());
                @let middle = y.at(point.tps.value);
                g {
                    title {
                        (curve.title) ", " (point.threads) " threads: "
                        (crate::build::interval_estimate(&point.tps, crate::build::Digits::Whole)) " tps, "
                        (number::count(point.starts as usize, "start"))
                    }
                    @if point.tps.is_bounded() {
                        line.interval x1=(px(at)) x2=(px(at)) y1=(px(y.at(point.tps.low))) y2=(px(y.at(point.tps.high))) {}
                    }
                    @if curve.knee.as_ref().is_some_and(|knee| knee.threads == point.threads) {
                        circle.knee cx=(px(at)) cy=(px(middle)) r="9" {}
                    }
                    circle.point cx=(px(at)) cy=(px(middle)) r="4.2" {}
                }
            }
        }
    }
}
