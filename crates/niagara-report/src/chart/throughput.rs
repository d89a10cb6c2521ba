//! Throughput of every slice over time, by side.

use std::fmt::Write;

use maud::{Markup, html};
use niagara_model::{DuelRecord, SliceRecord};

use crate::number;
use crate::svg::{Axis, Size, both, decimals, frame, px, x_axis, y_axis};

/// A pause longer than this between two duels is cut out of the picture.
const LONG_PAUSE_MS: i64 = 10 * 60 * 1000;
/// What is left of it.
const SHORT_PAUSE_MS: i64 = 30 * 1000;

/// Below so many minutes the axis tells seconds.
const SHORT_MINUTES: f64 = 3.0;

struct Point {
    minutes: f64,
    tps: f64,
    side: u8,
    disturbed: bool,
}

struct Span {
    from: f64,
    to: f64,
    medians: [Option<f64>; 2],
    title: String,
    after_pause: bool,
}

/// The slices of `duels`; `None` when there are none.
pub fn throughput(duels: &[&DuelRecord], slices: &[SliceRecord]) -> Option<Markup> {
    let (points, spans) = places(duels, slices);
    if points.is_empty() {
        return None;
    }
    let disturbed = points.iter().filter(|point| point.disturbed).count();
    let label = format!(
        "Throughput of {} in {} over time, {disturbed} of them disturbed",
        number::count(points.len(), "slice"),
        number::count(spans.len(), "duel"),
    );
    Some(both(|size| draw(size, &points, &spans, &label)))
}

fn places(duels: &[&DuelRecord], slices: &[SliceRecord]) -> (Vec<Point>, Vec<Span>) {
    let mut points = Vec::new();
    let mut spans: Vec<Span> = Vec::new();
    let mut cut = 0;
    let mut previous_end: Option<i64> = None;
    let mut first = 0;
    for duel in duels {
        let own: Vec<&SliceRecord> = slices
            .iter()
            .filter(|s| s.duel == duel.seq && s.seconds > 0.0)
            .collect();
        let starts = own.iter().map(|s| s.started_unix_ms);
        let (Some(start), Some(end)) = (starts.clone().min(), starts.max()) else {
            continue;
        };
        let pause = previous_end.map_or(0, |previous| start - previous);
        let after_pause = pause > LONG_PAUSE_MS;
        if after_pause {
            cut += pause - SHORT_PAUSE_MS;
        }
        if previous_end.is_none() {
            first = start;
        }
        previous_end = Some(end);
        let minutes = |ms: i64| (ms - first - cut) as f64 / 60_000.0;
        let mut rates: [Vec<f64>; 2] = [Vec::new(), Vec::new()];
        for slice in own {
            let tps = slice.transactions as f64 / slice.seconds;
            if !slice.disturbed {
                rates[usize::from(slice.side == 1)].push(tps);
            }
            points.push(Point {
                minutes: minutes(slice.started_unix_ms),
                tps,
                side: slice.side,
                disturbed: slice.disturbed,
            });
        }
        let medians = rates.map(|rates| niagara_stats::median(&rates));
        let rate = |m: Option<f64>| m.map_or(number::NOTHING.to_owned(), number::rate);
        spans.push(Span {
            from: minutes(start),
            to: minutes(end),
            medians,
            title: format!(
                "duel {}: A {} tps, B {} tps (medians of slices); score {}, of neighbouring slices",
                duel.seq,
                rate(medians[0]),
                rate(medians[1]),
                duel.score
                    .map_or(number::NOTHING.to_owned(), |s| number::gain(s.exp())),
            ),
            after_pause,
        });
    }
    (points, spans)
}

fn draw(size: Size, points: &[Point], spans: &[Span], label: &str) -> Markup {
    let (left, right, height) = match size {
        Size::Wide => (58.0, 930.0, 300.0),
        Size::Narrow => (50.0, 352.0, 230.0),
    };
    let bottom = height - 42.0;
    let wide = size == Size::Wide;
    let fold = |value: fn(&Point) -> f64, start: f64, pick: fn(f64, f64) -> f64| {
        points.iter().map(value).fold(start, pick)
    };
    let (low, high) = (
        fold(|p| p.tps, f64::INFINITY, f64::min),
        fold(|p| p.tps, 0.0, f64::max),
    );
    let low = if low < 0.4 * high { 0.0 } else { low };
    let room = (high - low) * 0.06;
    let y = Axis::new(((low - room).max(0.0), high + room), (bottom, 8.0)).with_round_ticks(
        6,
        |v, step| match step >= 1.0 {
            true => number::grouped(v),
            false => format!("{v:.*}", decimals(step)),
        },
    );
    let latest = fold(|p| p.minutes, 0.0, f64::max);
    let (scale, unit) = match latest < SHORT_MINUTES {
        true => (60.0, "seconds"),
        false => (1.0, "minutes"),
    };
    let x = Axis::new((0.0, latest.max(0.05) * scale), (left + 6.0, right - 6.0))
        .with_round_ticks(if wide { 10 } else { 5 }, |v, step| {
            format!("{v:.*}", decimals(step))
        });
    let at = |minutes: f64| x.at(minutes * scale);
    let dots = |wanted: &dyn Fn(&Point) -> bool| {
        let mut path = String::new();
        for point in points.iter().filter(|point| wanted(point)) {
            // Writing to a string cannot fail.
            let _ = write!(path, "M{} {}h0", px(at(point.minutes)), px(y.at(point.tps)));
        }
        path
    };
    let crosses: String = points
        .iter()
        .filter(|point| point.disturbed)
        .map(|point| {
            let (across, up) = (at(point.minutes), y.at(point.tps));
            format!("M{} {}l6 6m0 -6l-6 6", px(across - 3.0), px(up - 3.0))
        })
        .collect();
    let body = html! {
        (y_axis(&y, left, right))
        (x_axis(&x, bottom, bottom))
        g.axis {
            text.name x=(px(right)) y=(px(bottom + 34.0)) text-anchor="end" {
                (unit) " since the first slice"
            }
        }
        @for span in spans.iter().filter(|span| span.after_pause) {
            @let pause = px(at(span.from) - 5.0);
            line.pause x1=(pause) x2=(pause) y1="8" y2=(px(bottom)) {}
        }
        path.dots.a d=(dots(&|p| p.side == 0 && !p.disturbed)) {}
        path.dots.b d=(dots(&|p| p.side == 1 && !p.disturbed)) {}
        @if !crosses.is_empty() { path.disturbed d=(crosses) {} }
        @for span in spans {
            @let (from, to) = (at(span.from) - 3.0, at(span.to) + 3.0);
            @for (side, median) in span.medians.iter().enumerate() {
                @if let Some(median) = median {
                    @let up = px(y.at(*median));
                    line class=(if side == 0 { "median a" } else { "median b" })
                        x1=(px(from)) x2=(px(to)) y1=(up) y2=(up) {}
                }
            }
            rect.hover x=(px(from)) y="8" width=(px(to - from)) height=(px(bottom - 8.0)) {
                title { (span.title) }
            }
        }
    };
    frame(size, height, label, body)
}
