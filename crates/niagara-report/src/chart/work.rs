//! Counted work before and after a change: two bars for each row.

use maud::{Markup, html};
use niagara_queries::words::number;

use crate::svg::{Axis, Size, both, fit, frame, px, x_axis};

/// Height of a row, and of a bar in it.
const ROW: f64 = 44.0;
const BAR: f64 = 13.0;
/// What bold letters of 14 pixels take: as much as others of this size.
const BOLD: f64 = 16.0;
/// Room above bars on narrow screens, for the title.
const TITLE: f64 = 20.0;

/// One row.
pub(crate) struct Row {
    /// What it is.
    pub title: String,
    /// Work before.
    pub before: f64,
    /// Work after.
    pub after: f64,
}

/// The rows on one linear scale from 0; `None` where there is nothing to draw. Read aloud as `what`, then all figures.
pub(crate) fn work(rows: &[Row], what: &str) -> Option<Markup> {
    let values = rows.iter().flat_map(|row| [row.before, row.after]);
    let most = values.fold(0.0, f64::max);
    let said: Vec<String> = rows
        .iter()
        .map(|row| {
            let (before, after) = (number(row.before), number(row.after));
            format!("{}: {before} before, {after} after", row.title)
        })
        .collect();
    let label = format!("{what}: {}", said.join("; "));
    (most > 0.0).then(|| both(|size| draw(size, rows, most, &label)))
}

fn draw(size: Size, rows: &[Row], most: f64, label: &str) -> Markup {
    let (plot, title, height) = match size {
        Size::Wide => ((326.0, 820.0), 0.0, ROW),
        Size::Narrow => ((8.0, 280.0), TITLE, ROW + TITLE),
    };
    let ticks = if size == Size::Wide { 5 } else { 3 };
    let axis = Axis::new((0.0, most), plot).with_round_ticks(ticks, |value, _| number(value));
    let bottom = height * rows.len() as f64 + 6.0;
    let bar = |class: &str, value: f64, y: f64| {
        html! {
            rect class=(class) x=(px(plot.0)) y=(px(y)) width=(px((axis.at(value) - plot.0).max(1.0))) height=(px(BAR)) {}
            text.numbers x=(px(axis.at(value) + 6.0)) y=(px(y + BAR - 2.0)) { (number(value)) }
        }
    };
    let body = html! {
        (x_axis(&axis, 0.0, bottom))
        @for (place, row) in rows.iter().enumerate() {
            @let top = height * place as f64;
            @let y = top + title + 6.0;
            g.row {
                title { (row.title) ": " (number(row.before)) " before, " (number(row.after)) " after" }
                rect.hover x="0" y=(px(top)) width=(px(size.width())) height=(px(height)) {}
                @if size == Size::Wide {
                    text.title x="0" y=(px(y + 18.0)) { (fit(&row.title, 312.0, BOLD)) }
                } @else {
                    text.title x="0" y=(px(top + 16.0)) { (fit(&row.title, 356.0, BOLD)) }
                }
                (bar("before", row.before, y))
                (bar("bar", row.after, y + BAR + 3.0))
            }
        }
    };
    frame(size, bottom + 24.0, label, body)
}
