//! What every chart is drawn with: axes, ticks, the frame. Colours come from the page's classes.

use maud::{Markup, html};

/// A chart is drawn twice, for broad and for narrow screens; the page shows the one that fits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Size {
    /// Screens, paper.
    Wide,
    /// Telephones.
    Narrow,
}

impl Size {
    /// Width in the chart's own units, which are CSS pixels at full size.
    pub fn width(self) -> f64 {
        match self {
            Size::Wide => 940.0,
            Size::Narrow => 360.0,
        }
    }
}

/// Both sizes of one chart.
pub fn both(draw: impl Fn(Size) -> Markup) -> Markup {
    html! {
        div.wide { (draw(Size::Wide)) }
        div.narrow { (draw(Size::Narrow)) }
    }
}

/// The outer element; `label` is what a screen reader says.
pub fn frame(size: Size, height: f64, label: &str, body: Markup) -> Markup {
    let width = size.width();
    html! {
        svg viewBox={ "0 0 " (px(width)) " " (px(height)) } role="img" aria-label=(label) {
            (body)
        }
    }
}

/// A coordinate: one decimal, never anything that is not a number.
pub(crate) fn px(value: f64) -> String {
    if !value.is_finite() {
        return "0".to_owned();
    }
    let text = format!("{value:.1}");
    match text.strip_suffix(".0") {
        Some("-0") => "0".to_owned(),
        Some(whole) => whole.to_owned(),
        None => text,
    }
}

/// A linear map from values to coordinates; whatever lies outside lands on the edge.
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    domain: (f64, f64),
    range: (f64, f64),
    /// Where the axis is labelled, and with what.
    pub ticks: Vec<(f64, String)>,
}

impl Axis {
    /// Without ticks; a domain that is empty or not finite becomes a small one around its start.
    pub fn new(domain: (f64, f64), range: (f64, f64)) -> Axis {
        let (mut low, mut high) = domain;
        if !low.is_finite() || !high.is_finite() {
            (low, high) = (0.0, 1.0);
        }
        if high - low <= low.abs() * 1e-9 {
            let pad = (low.abs() * 0.05).max(0.005);
            (low, high) = (low - pad, high + pad);
        }
        Axis {
            domain: (low, high),
            range,
            ticks: Vec::new(),
        }
    }

    /// Ticks at round numbers, written by `write`.
    pub(crate) fn with_round_ticks(
        mut self,
        most: usize,
        write: impl Fn(f64, f64) -> String,
    ) -> Axis {
        self.ticks = round_numbers(self.domain, most)
            .map(|(value, step)| (value, write(value, step)))
            .collect();
        self
    }

    /// For an axis of ln(ratio): ticks at round gains in per cent.
    pub(crate) fn with_gain_ticks(mut self, most: usize) -> Axis {
        let gains = (
            (self.domain.0.exp() - 1.0) * 100.0,
            (self.domain.1.exp() - 1.0) * 100.0,
        );
        self.ticks = round_numbers(gains, most)
            .filter(|(gain, _)| *gain > -100.0)
            .map(|(gain, step)| {
                let digits = decimals(step);
                let sign = if gain > step / 2.0 {
                    "+"
                } else if gain < -step / 2.0 {
                    "−"
                } else {
                    ""
                };
                let text = format!("{sign}{:.digits$} %", gain.abs());
                ((gain / 100.0).ln_1p(), text)
            })
            .collect();
        self
    }

    /// The coordinate of a value.
    pub fn at(&self, value: f64) -> f64 {
        if value.is_nan() {
            return self.range.0;
        }
        let share = (value - self.domain.0) / (self.domain.1 - self.domain.0);
        self.range.0 + share.clamp(0.0, 1.0) * (self.range.1 - self.range.0)
    }

    /// The values at its ends.
    pub fn ends(&self) -> (f64, f64) {
        self.domain
    }

    /// Whether a value is within the axis, not at its edge for want of room.
    pub fn holds(&self, value: f64) -> bool {
        (self.domain.0..=self.domain.1).contains(&value)
    }
}

/// Decimals that tell neighbouring ticks apart.
pub fn decimals(step: f64) -> usize {
    (-step.log10().floor()).clamp(0.0, 6.0) as usize
}

/// Multiples of 1, 2 or 5 × a power of ten within `domain`, about `most` of them, with their step.
fn round_numbers(domain: (f64, f64), most: usize) -> impl Iterator<Item = (f64, f64)> {
    let span = (domain.1 - domain.0).max(f64::MIN_POSITIVE);
    let rough = span / most.max(1) as f64;
    let power = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0]
        .map(|m| m * power)
        .into_iter()
        .find(|step| *step >= rough)
        .unwrap_or(10.0 * power);
    let first = (domain.0 / step).ceil();
    let count = ((domain.1 / step).floor() - first).clamp(0.0, 50.0) as usize;
    (0..=count).map(move |i| ((first + i as f64) * step, step))
}

/// Vertical grid lines from `top` to `bottom` with labels beneath.
pub(crate) fn x_axis(axis: &Axis, top: f64, bottom: f64) -> Markup {
    html! {
        g.axis {
            @for (value, text) in &axis.ticks {
                @let x = px(axis.at(*value));
                line.grid x1=(x) x2=(x) y1=(px(top)) y2=(px(bottom)) {}
                text x=(x) y=(px(bottom + 16.0)) text-anchor="middle" { (text) }
            }
        }
    }
}

/// Horizontal grid lines from `left` to `right` with labels to the left.
pub(crate) fn y_axis(axis: &Axis, left: f64, right: f64) -> Markup {
    html! {
        g.axis {
            @for (value, text) in &axis.ticks {
                @let y = axis.at(*value);
                line.grid x1=(px(left)) x2=(px(right)) y1=(px(y)) y2=(px(y)) {}
                text x=(px(left - 8.0)) y=(px(y + 4.0)) text-anchor="end" { (text) }
            }
        }
    }
}

/// Lines that a text in a chart takes at most.
const MAX_LINES: usize = 3;

/// `text` broken between words to what fits into `width` at `size` pixels of type; what is left after some lines is cut.
pub(crate) fn folded(text: &str, width: f64, size: f64) -> Vec<String> {
    let room = letters(width, size);
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        let is_last = lines.len() >= MAX_LINES;
        match lines.last_mut() {
            Some(line) if is_last || line.chars().count() + 1 + word.chars().count() <= room => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    let lines = lines.iter();
    lines.map(|line| fit(line, width, size)).collect()
}

/// `text` cut to what fits into `width` at `size` pixels of type, by the average width of a letter.
pub fn fit(text: &str, width: f64, size: f64) -> String {
    let room = letters(width, size);
    if text.chars().count() <= room {
        return text.to_owned();
    }
    let mut cut: String = text.chars().take(room - 1).collect();
    cut.truncate(cut.trim_end().len());
    cut + "…"
}

/// Letters that fit into `width` at `size` pixels of type, by the average width of one.
fn letters(width: f64, size: f64) -> usize {
    (width / (size * 0.54)).max(2.0) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_titles_take_several_lines() {
        let of = |text: &str| folded(text, 100.0, 10.0);
        assert_eq!(of("larger table cache"), ["larger table cache"]);
        assert_eq!(
            of("the server's code in 2 MB pages (huge pages)"),
            ["the server's code", "in 2 MB pages", "(huge pages)"]
        );
        assert_eq!(
            of("a-word-that-alone-is-too-long b"),
            ["a-word-that-alone…", "b"]
        );
        let long = of(&"one more ".repeat(20));
        assert_eq!(long.len(), MAX_LINES);
        assert!(long[MAX_LINES - 1].ends_with('…'), "{long:?}");
        assert_eq!(of(""), [] as [&str; 0]);
    }

    #[test]
    fn coordinates_are_always_numbers() {
        assert_eq!(px(12.0), "12");
        assert_eq!(px(-0.04), "0");
        assert_eq!(px(f64::NAN), "0");
        let axis = Axis::new((f64::NAN, f64::INFINITY), (0.0, 100.0));
        assert_eq!(axis.at(f64::INFINITY), 100.0);
        assert_eq!(axis.at(f64::NAN), 0.0);
        let point = Axis::new((3.0, 3.0), (0.0, 100.0)).with_round_ticks(5, |v, _| v.to_string());
        assert_eq!(point.at(3.0), 50.0);
        assert!(!point.ticks.is_empty());
    }

    #[test]
    fn ticks_are_round() {
        let axis = Axis::new((0.98f64.ln(), 1.41f64.ln()), (0.0, 1.0)).with_gain_ticks(5);
        let texts: Vec<_> = axis.ticks.iter().map(|(_, text)| text.as_str()).collect();
        assert_eq!(texts, ["0 %", "+10 %", "+20 %", "+30 %", "+40 %"]);
    }
}
