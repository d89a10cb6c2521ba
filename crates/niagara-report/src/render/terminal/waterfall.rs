//! The way from the starting point to the final variant, a line for each lever.

use console::{Alignment, measure_text_width, pad_str, truncate_str};

use super::screen::{Paint, Screen, cell};
use crate::document::{Tone, Way};
use crate::interval_bar::{Bar, draw};
use crate::ladder;
use crate::step::Step;

/// Narrower than this, a lever of the long form takes two lines; of the short form it does not tell its duels.
const NARROW: usize = 84;
/// Narrower than this, a lever takes two lines in the short form too.
const VERY_NARROW: usize = 72;
/// Columns below which a bar shows nothing, and those that it takes at the most.
const BAR: [usize; 2] = [8, 44];
/// Levers that one screen has room for.
const MAX_LEVERS: usize = 7;

/// Columns of what stands side by side.
struct Layout {
    title: usize,
    numbers: usize,
    bar: usize,
    /// What a cell of the bars stands for: ends, as logarithms of ratios.
    axis: (f64, f64),
    stacked: bool,
}

impl Layout {
    /// `title_share`: of the width, in tenths, that titles take at the most.
    fn of(steps: &[Step], width: usize, stacked: bool, title_share: usize) -> Self {
        let longest = |text: fn(&Step) -> &str| {
            let widths = steps.iter().map(|step| measure_text_width(text(step)));
            widths.max().unwrap_or(0)
        };
        let numbers = longest(|step| &step.numbers);
        let title = longest(|step| &step.title).min((width * title_share / 10).max(20));
        let taken = match stacked {
            true => 4 + numbers + 2,
            false => 2 + title + 2 + numbers + 2 + longest(|step| &step.standing) + 2,
        };
        let [least, most] = BAR;
        let rest = width.saturating_sub(taken);
        let (low, high) = ladder::axis(steps);
        Self {
            title,
            numbers,
            bar: if rest < least { 0 } else { rest.min(most) },
            axis: (low.ln(), high.ln()),
            stacked,
        }
    }
}

/// Steps with their levers' identifiers, where a line has room for them and for a bar.
fn with_ids(steps: &[Step], width: usize) -> Option<Vec<Step>> {
    let named: Vec<Step> = steps.iter().map(Step::with_id).collect();
    let layout = Layout::of(&named, width, false, 10);
    let longest = named.iter().map(|step| measure_text_width(&step.title));
    (longest.max()? <= layout.title && layout.bar > 0).then_some(named)
}

impl Screen {
    /// Every lever, the axis, and how to read it.
    pub(super) fn way(&mut self, way: &Way) {
        let named = with_ids(&way.steps, self.width);
        let (steps, share) = match &named {
            Some(named) => (named, 10),
            None => (&way.steps, 3),
        };
        let layout = Layout::of(steps, self.width, self.width < NARROW, share);
        for step in steps {
            self.step(step, &layout);
        }
        if layout.bar > 0 {
            let before = match layout.stacked {
                true => 2 + layout.numbers,
                false => layout.title,
            };
            let [low, high] = [layout.axis.0, layout.axis.1].map(|end| match end == 0.0 {
                true => "1".to_owned(),
                false => format!("× {:.2}", end.exp()),
            });
            let taken = low.chars().count() + high.chars().count();
            self.line(&format!(
                "  {}  {low}{}{high}",
                " ".repeat(before),
                " ".repeat(layout.bar.saturating_sub(taken)),
            ));
        }
        self.line("");
        for note in &way.notes {
            self.wrapped("  ", note, Paint::Plain);
        }
        self.bars(&way.steps, &layout);
    }

    /// What the characters of bars mean.
    fn bars(&mut self, steps: &[Step], layout: &Layout) {
        if layout.bar == 0 {
            return;
        }
        let open = match steps.iter().all(|step| step.sure) {
            true => "",
            false => "; ░: not proven",
        };
        self.wrapped("  ", &format!("{}{open}.", ladder::BARS), Paint::Plain);
    }

    /// The levers that do most, a line each, and the total.
    pub(super) fn way_in_short(&mut self, way: &Way) {
        let mut steps = way.steps.clone();
        if self.width < NARROW {
            for step in &mut steps {
                let word = step.standing.split(", n").next().unwrap_or_default();
                step.standing = word.to_owned();
            }
        }
        let levers = steps.iter().filter(|step| !step.total).count();
        let shown = match levers > MAX_LEVERS {
            true => MAX_LEVERS - 1,
            false => levers,
        };
        let named = with_ids(&steps, self.width);
        let share = if named.is_some() { 10 } else { 4 };
        let steps = named.unwrap_or(steps);
        let layout = Layout::of(&steps, self.width, self.width < VERY_NARROW, share);
        for step in &steps[..shown] {
            self.step(step, &layout);
        }
        if levers > shown {
            let more = format!("and {} more levers (--verbose lists them)", levers - shown);
            self.wrapped("  ", &more, Paint::Plain);
        }
        for step in &steps[levers..] {
            self.step(step, &layout);
        }
        for note in &way.notes {
            self.wrapped("  ", note, Paint::Plain);
        }
        self.bars(&steps, &layout);
    }

    fn step(&mut self, step: &Step, layout: &Layout) {
        let full = if step.sure { '█' } else { '░' };
        let bar = Bar {
            start: step.start.ln(),
            low: step.low.ln(),
            middle: step.end.ln(),
            high: step.high.ln(),
        };
        let drawn = draw(bar, layout.axis, layout.bar, full);
        let drawn = self.painted(&drawn, paint_of(Tone::of(&step.estimate)));
        let numbers = pad_str(&step.numbers, layout.numbers, Alignment::Left, None);
        if layout.stacked {
            let title = truncate_str(&step.title, self.width.saturating_sub(26), "…");
            self.line(&format!("  {title} ({})", step.standing));
            self.line(format!("    {numbers}  {drawn}").trim_end());
            return;
        }
        let mut line = format!("  {}", cell(&step.title, layout.title));
        if layout.bar > 0 {
            line = format!("{line}  {drawn}");
        }
        line = format!("{line}  {numbers}  {}", step.standing);
        if step.total {
            line = self.painted(&line, Paint::Bold);
        }
        self.line(line.trim_end());
    }
}

/// Blue for a gain, orange for a loss.
pub(super) fn paint_of(tone: Tone) -> Paint {
    match tone {
        Tone::Gain => Paint::Gain,
        Tone::Loss => Paint::Loss,
        Tone::Open => Paint::Plain,
    }
}
