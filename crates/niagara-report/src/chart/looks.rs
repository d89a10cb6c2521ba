//! The duels' scores, and the interval narrowing from look to look.

use maud::{Markup, html};
use niagara_stats::{Judgement, LookPlan, signed_rank};

use crate::number;
use crate::svg::{Axis, Size, both, frame, px, y_axis};

/// The interval as it stood at one look: logarithms.
struct Look {
    duels: usize,
    low: f64,
    middle: f64,
    high: f64,
}

/// Scores (ln of B over A) in the order of the duels; `None` without any.
pub fn looks(scores: &[f64], judgement: &Judgement) -> Option<Markup> {
    if scores.is_empty() {
        return None;
    }
    let looks = history(scores, judgement);
    let last = number::estimate(&judgement.estimate);
    let label = format!(
        "Scores of {} in order, and the interval at {}; at the end {last}",
        number::count(scores.len(), "duel"),
        number::count(looks.len(), "look"),
    );
    Some(both(|size| draw(size, scores, &looks, &label)))
}

/// The looks that have been, the last one as judged.
fn history(scores: &[f64], judgement: &Judgement) -> Vec<Look> {
    // Results from before looks were kept had the standard ones.
    let passed = match judgement.looks.is_empty() {
        true => LookPlan::standard(judgement.alpha).looks,
        false => judgement.looks.clone(),
    };
    let mut looks: Vec<Look> = passed
        .iter()
        .filter(|look| look.duels < judgement.duels.min(scores.len()))
        .filter_map(|look| {
            let seen = &scores[..look.duels];
            let (low, high) = signed_rank::interval(seen, look.critical?);
            Some(Look {
                duels: look.duels,
                low,
                middle: signed_rank::hodges_lehmann(seen)?,
                high,
            })
        })
        .collect();
    let e = &judgement.estimate;
    if e.low > 0.0 && e.high.is_finite() {
        looks.push(Look {
            duels: judgement.duels,
            low: e.low.ln(),
            middle: e.ratio.ln(),
            high: e.high.ln(),
        });
    }
    looks
}

fn draw(size: Size, scores: &[f64], looks: &[Look], label: &str) -> Markup {
    let (left, right, height) = match size {
        Size::Wide => (58.0, 930.0, 270.0),
        Size::Narrow => (50.0, 352.0, 220.0),
    };
    let bottom = height - 42.0;
    let values = scores
        .iter()
        .copied()
        .chain(looks.iter().flat_map(|look| [look.low, look.high]));
    let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
    for value in values.filter(|v| v.is_finite()) {
        (low, high) = (low.min(value), high.max(value));
    }
    // "No difference" is shown where it does not squeeze everything else.
    let away = low.max(-high).max(0.0);
    if away <= 2.0 * (high - low) {
        (low, high) = (low.min(0.0), high.max(0.0));
    }
    let room = ((high - low) * 0.06).max(0.004);
    let y = Axis::new((low - room, high + room), (bottom, 8.0)).with_gain_ticks(6);
    let most = scores.len().max(looks.last().map_or(0, |look| look.duels));
    let mut x = Axis::new((0.0, most as f64 + 0.7), (left, right));
    let step = most
        .div_ceil(if size == Size::Wide { 22 } else { 8 })
        .max(1);
    x.ticks = (1..=most)
        .filter(|n| n % step == 0)
        .map(|n| (n as f64, n.to_string()))
        .collect();
    let upper = looks.iter().map(|l| (l.duels, l.high));
    let lower = looks.iter().rev().map(|l| (l.duels, l.low));
    let band: Vec<String> = upper
        .chain(lower)
        .map(|(n, v)| format!("{},{}", px(x.at(n as f64)), px(y.at(v))))
        .collect();
    let body = html! {
        (y_axis(&y, left, right))
        g.axis {
            @for (n, text) in &x.ticks {
                text x=(px(x.at(*n))) y=(px(bottom + 16.0)) text-anchor="middle" { (text) }
            }
            text.name x=(px(right)) y=(px(bottom + 34.0)) text-anchor="end" { "duels" }
        }
        @let zero = px(y.at(0.0));
        @if y.holds(0.0) {
            line.zero x1=(px(left)) x2=(px(right)) y1=(zero) y2=(zero) {}
        }
        @if looks.len() > 1 {
            polygon.band points=(band.join(" ")) {}
        }
        @for (i, score) in scores.iter().enumerate() {
            circle.score cx=(px(x.at(i as f64 + 1.0))) cy=(px(y.at(*score))) r="3.4" {
                title { "duel " (i + 1) ": " (number::gain(score.exp())) }
            }
        }
        @for look in looks {
            @let at = x.at(look.duels as f64);
            @let [least, most] = number::gains([look.low.exp(), look.high.exp()]);
            g.look {
                title {
                    "look at " (look.duels) " duels: " (number::gain(look.middle.exp()))
                    " [" (least) ", " (most) "]"
                }
                line.interval x1=(px(at)) x2=(px(at)) y1=(px(y.at(look.low))) y2=(px(y.at(look.high))) {}
                @for edge in [look.low, look.high] {
                    line.interval x1=(px(at - 6.0)) x2=(px(at + 6.0)) y1=(px(y.at(edge))) y2=(px(y.at(edge))) {}
                }
                line.middle x1=(px(at - 8.0)) x2=(px(at + 8.0)) y1=(px(y.at(look.middle))) y2=(px(y.at(look.middle))) {}
            }
        }
    };
    frame(size, height, label, body)
}
