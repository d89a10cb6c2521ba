//! A chart of named rows: label, mark on a common axis of gains, numbers.

use maud::{Markup, html};
use niagara_stats::Estimate;

use crate::svg::{Axis, Size, both, folded, frame, px, x_axis};

/// Size of regular type that is as wide as bold type of 14 pixels, in the widest of the usual typefaces.
const BOLD: f64 = 16.5;
/// Between the lines of a title.
const LINE: f64 = 17.0;
/// Size of type by which a detail is broken into lines.
const DETAIL: f64 = 13.0;

/// One row.
pub struct Row {
    /// What it is.
    pub title: String,
    /// Smaller, beneath the title or in its tooltip.
    pub detail: String,
    /// The estimate as text.
    pub numbers: String,
    /// Smaller, beneath or behind the numbers.
    pub standing: String,
    /// Ends of the interval and the estimate: logarithms of ratios.
    pub interval: (f64, f64, f64),
    /// How it is drawn.
    pub mark: Mark,
    /// Classes of the row: `claimed`, `screened`, `total`, `kept`, `dropped`, `negative-control`, `positive-control`.
    pub class: &'static str,
}

/// How a row's estimate is drawn.
#[derive(Clone, Copy, PartialEq)]
pub enum Mark {
    /// From where the row before ended.
    Bar {
        /// Logarithm of what the rows before reached.
        start: f64,
        /// Whether the next row continues from this one's end.
        joined: bool,
    },
    /// A disc.
    Disc,
    /// A ring.
    Ring,
    /// A diamond.
    Diamond,
    /// A square.
    Square,
}

/// The stretch of logarithms that these ratios need, with 1 on it and some room; what lies far out must not squeeze the rest.
pub(crate) fn domain(estimates: impl Iterator<Item = Estimate>) -> (f64, f64) {
    let mut domain = (-0.02_f64, 0.02_f64);
    for value in estimates.flat_map(|e| [e.low.ln(), e.ratio.ln(), e.high.ln()]) {
        if value.is_finite() && value.abs() < 1.5 {
            domain = (domain.0.min(value), domain.1.max(value));
        }
    }
    let room = (domain.1 - domain.0) * 0.03;
    (domain.0 - room, domain.1 + room)
}

struct Geometry {
    row: f64,
    plot: (f64, f64),
    mark_y: f64,
    top: f64,
    /// Room for a line of a title.
    title: f64,
    /// Room for a line of a detail, where details are drawn.
    detail: Option<f64>,
}

/// A row where it is drawn: one whose title or detail takes several lines is higher.
struct RowPlace<'a> {
    row: &'a Row,
    title: Vec<String>,
    detail: Vec<String>,
    top: f64,
    height: f64,
    /// Of the mark.
    y: f64,
}

impl Geometry {
    /// The rows beneath each other.
    fn placed<'a>(&self, size: Size, rows: &'a [Row]) -> Vec<RowPlace<'a>> {
        let mut top = self.top;
        let placed = rows.iter().map(|row| {
            let title = folded(&row.title, self.title, BOLD);
            let detail = self.detail.map(|room| folded(&row.detail, room, DETAIL));
            let detail = detail.unwrap_or_default();
            let further = title.len().saturating_sub(1) + detail.len().saturating_sub(1);
            let more = LINE * further as f64;
            // Beside the title the mark stays at its first line.
            let lower = if size == Size::Narrow { more } else { 0.0 };
            let placed = RowPlace {
                row,
                title,
                detail,
                top,
                height: self.row + more,
                y: top + self.mark_y + lower,
            };
            top += placed.height;
            placed
        });
        placed.collect()
    }
}

/// Rows of one line each over `domain`, in both sizes; read aloud as `what`, then title and numbers of every row.
pub(crate) fn rows_in_both_sizes(rows: &[Row], domain: (f64, f64), what: &str) -> Markup {
    let said: Vec<String> = rows
        .iter()
        .map(|row| format!("{} {}", row.title, row.numbers))
        .collect();
    let label = format!("{what}: {}", said.join("; "));
    both(|size| row_chart(size, rows, domain, false, &label))
}

/// An estimate as a row has it: the logarithms of its lower end, its ratio and its upper end.
pub(crate) fn interval(estimate: &Estimate) -> (f64, f64, f64) {
    (estimate.low.ln(), estimate.ratio.ln(), estimate.high.ln())
}

/// Draws the rows over `domain` (logarithms of ratios).
pub(crate) fn row_chart(
    size: Size,
    rows: &[Row],
    domain: (f64, f64),
    two_lines: bool,
    label: &str,
) -> Markup {
    let geometry = match (size, two_lines) {
        (Size::Wide, true) => Geometry {
            row: 46.0,
            plot: (326.0, 704.0),
            mark_y: 20.0,
            top: 6.0,
            title: 312.0,
            detail: Some(300.0),
        },
        (Size::Wide, false) => Geometry {
            row: 27.0,
            plot: (326.0, 672.0),
            mark_y: 13.0,
            top: 6.0,
            title: 312.0,
            detail: None,
        },
        (Size::Narrow, two) => Geometry {
            row: if two { 74.0 } else { 66.0 },
            plot: (8.0, 352.0),
            mark_y: if two { 50.0 } else { 46.0 },
            top: 2.0,
            title: 356.0,
            detail: None,
        },
    };
    let ticks = if size == Size::Wide { 6 } else { 5 };
    let axis = Axis::new(domain, geometry.plot).with_gain_ticks(ticks);
    let placed = geometry.placed(size, rows);
    let bottom = placed
        .last()
        .map_or(geometry.top, |last| last.top + last.height)
        + 4.0;
    let zero = px(axis.at(0.0));
    let body = html! {
        (x_axis(&axis, if size == Size::Wide { geometry.top } else { bottom }, bottom))
        @if size == Size::Wide {
            line.zero x1=(zero) x2=(zero) y1=(px(geometry.top)) y2=(px(bottom)) {}
        }
        @for (i, at) in placed.iter().enumerate() {
            @let RowPlace { row, y, .. } = *at;
            g class={ "row " (row.class) } {
                title {
                    (row.title) ": " (row.numbers)
                    @if !row.standing.is_empty() { ", " (row.standing) }
                    @if !row.detail.is_empty() { " (" (row.detail) ")" }
                }
                rect.hover x="0" y=(px(at.top)) width=(px(size.width())) height=(px(at.height)) {}
                @if size == Size::Narrow {
                    // Lines through the text would hurt: the grid is drawn behind the marks alone.
                    @for (value, _) in &axis.ticks {
                        @let x = px(axis.at(*value));
                        line.grid x1=(x) x2=(x) y1=(px(y - 11.0)) y2=(px(y + 11.0)) {}
                    }
                    line.zero x1=(zero) x2=(zero) y1=(px(y - 11.0)) y2=(px(y + 11.0)) {}
                }
                (labels(size, at, two_lines))
                (mark(row, &axis, y, placed.get(i + 1).map_or(0.0, |next| next.y - y)))
            }
        }
    };
    frame(size, bottom + 24.0, label, body)
}

fn labels(size: Size, at: &RowPlace<'_>, two_lines: bool) -> Markup {
    let RowPlace { row, top, y, .. } = *at;
    let below = LINE * at.title.len().saturating_sub(1) as f64;
    match (size, two_lines) {
        (Size::Wide, true) => html! {
            (title(at, top + 18.0))
            @for (line, text) in at.detail.iter().enumerate() {
                text.detail x="0" y=(px(top + 34.0 + below + LINE * line as f64)) { (text) }
            }
            text.numbers x="940" y=(px(top + 18.0)) text-anchor="end" { (row.numbers) }
            text.standing x="940" y=(px(top + 34.0)) text-anchor="end" { (row.standing) }
        },
        (Size::Wide, false) => html! {
            (title(at, y + 4.5))
            text.numbers x="832" y=(px(y + 4.5)) text-anchor="end" { (row.numbers) }
            text.standing x="940" y=(px(y + 4.5)) text-anchor="end" { (row.standing) }
        },
        (Size::Narrow, _) => html! {
            (title(at, top + 15.0))
            text.numbers x="0" y=(px(top + 31.0 + below)) { (row.numbers) }
            text.standing x="360" y=(px(top + 31.0 + below)) text-anchor="end" { (row.standing) }
        },
    }
}

/// The title, the first of its lines at `y`.
fn title(at: &RowPlace<'_>, y: f64) -> Markup {
    html! {
        @for (line, text) in at.title.iter().enumerate() {
            text.title x="0" y=(px(y + LINE * line as f64)) { (text) }
        }
    }
}

/// `next`: how far below the next row's mark is.
fn mark(row: &Row, axis: &Axis, y: f64, next: f64) -> Markup {
    let (low, middle, high) = row.interval;
    let (x_low, x, x_high) = (axis.at(low), axis.at(middle), axis.at(high));
    html! {
        @if let Mark::Bar { start, joined } = row.mark {
            @let from = axis.at(start);
            rect.bar x=(px(from.min(x))) y=(px(y - 8.0)) width=(px((x - from).abs().max(0.5))) height="16" {}
            @if joined {
                line.joint x1=(px(x)) x2=(px(x)) y1=(px(y + 8.0)) y2=(px(y + next - 8.0)) {}
            }
        }
        line.interval x1=(px(x_low)) x2=(px(x_high)) y1=(px(y)) y2=(px(y)) {}
        (end(x_low, y, -1.0, low >= axis.ends().0, low > axis.ends().1))
        (end(x_high, y, 1.0, high <= axis.ends().1, high < axis.ends().0))
        @match row.mark {
            _ if !axis.holds(middle) => {}
            Mark::Bar { .. } => { circle.point cx=(px(x)) cy=(px(y)) r="2.6" {} }
            Mark::Disc | Mark::Ring => { circle.point cx=(px(x)) cy=(px(y)) r="4.6" {} }
            Mark::Diamond => {
                path.point d={ "M" (px(x)) " " (px(y - 6.0)) "l6 6l-6 6l-6 -6z" } {}
            }
            Mark::Square => {
                rect.point x=(px(x - 4.5)) y=(px(y - 4.5)) width="9" height="9" {}
            }
        }
    }
}

/// A cap where the interval ends, an arrow where it continues beyond the axis, nothing where all of it
/// lies beyond and the other end has the arrow.
fn end(x: f64, y: f64, side: f64, ends_within: bool, lies_beyond: bool) -> Markup {
    html! {
        @if lies_beyond {
        } @else if ends_within {
            line.interval x1=(px(x)) x2=(px(x)) y1=(px(y - 4.0)) y2=(px(y + 4.0)) {}
        } @else {
            path.arrow d={ "M" (px(x + 3.0 * side)) " " (px(y)) "l" (px(-9.0 * side)) " -5v10z" } {}
        }
    }
}
