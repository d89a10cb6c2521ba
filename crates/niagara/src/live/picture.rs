//! The picture itself: lines for a terminal of any width, and one line for a log.

use std::time::Duration;

use console::{Alignment, measure_text_width, pad_str, truncate_str};
use niagara_model::{Goal, Screened};
use niagara_report::{WORTH_TELLING, ink, number};
use niagara_stats::Estimate;

use super::glyphs::Glyphs;
use super::state::{State, Step};
use crate::clock::clock;

/// Most estimates that show how the interval narrows.
const MAX_STEPS: usize = 5;
/// Most levers that are shown while they separate.
const MAX_LEVERS: usize = 8;
/// Columns that bars take at the most.
const MAX_BAR: usize = 60;
/// Columns below which a bar shows nothing.
const MIN_BAR: usize = 10;

/// Where and how it is drawn.
#[derive(Debug, Clone, Copy)]
pub struct Frame {
    /// Columns that a line may take.
    pub columns: usize,
    /// Lines that it may take.
    pub rows: usize,
    /// ANSI colours, those of `niagara_report::ink`, and bold.
    pub colour: bool,
    /// With which characters.
    pub glyphs: Glyphs,
}

#[derive(Clone, Copy, PartialEq)]
enum Paint {
    Bold,
    Gain,
    Loss,
    Plain,
}

impl Frame {
    fn painted(&self, text: &str, paint: Paint) -> String {
        let code = match paint {
            Paint::Bold => "1".to_owned(),
            Paint::Gain => format!("38;5;{}", ink::GOOD),
            Paint::Loss => format!("38;5;{}", ink::BAD),
            Paint::Plain => String::new(),
        };
        match self.colour {
            true => ink::painted(text, &code),
            false => text.to_owned(),
        }
    }

    fn fit(&self, text: &str) -> String {
        truncate_str(text, self.columns, self.glyphs.cut).into_owned()
    }
}

/// Everything in one line, for a log: `used` is the time that the study has taken.
pub fn one_line(state: &State, used: Duration) -> String {
    let mut parts = vec![state.stage.clone(), time(state, used)];
    if state.duels > 0 {
        parts.push(number::count(state.duels as usize, state.unit));
    }
    parts.extend(throughput(state));
    parts.extend(others(state));
    if let Some(newest) = &state.newest {
        parts.push(format!(
            "{} {}",
            gain(state, "B over A"),
            after(newest, state.next_look, state.unit)
        ));
    }
    parts.extend(leading(&state.levers));
    parts.join(" · ")
}

/// What the estimates are: of throughput the ratio, which is the gain, of other goals the gain, which is its inverse.
fn gain(state: &State, ratio: &'static str) -> &'static str {
    match state.goal {
        Goal::Throughput => ratio,
        Goal::Cpu | Goal::P95 | Goal::P99 => "gain of B (above × 1 is better)",
    }
}

/// What a part came to, once it is over; nothing where it was not judged.
pub fn outcome(state: &State) -> Option<String> {
    if let Some(newest) = &state.newest {
        return Some(format!(
            "{}: {} {}",
            state.stage,
            gain(state, "B over A"),
            after(newest, None, state.unit)
        ));
    }
    if state.levers.is_empty() {
        return None;
    }
    let out = standing_out(&state.levers);
    let mut parts = vec![format!(
        "{}, levers: {}, each as an average over the others' settings",
        state.stage,
        beside_chance(state, out.len())
    )];
    parts.extend(clear_of_one(&state.levers));
    Some(parts.join("; "))
}

/// The picture, a line each, none longer than the frame.
pub fn lines(state: &State, used: Duration, frame: &Frame) -> Vec<String> {
    let mut head = words(&state.stage).to_owned();
    if state.duels > 0 {
        head += &format!(" · {}", number::count(state.duels as usize, state.unit));
    }
    let newest = state.newest.as_ref().map_or(0, |step| step.duels);
    if let Some(next) = state.next_look.filter(|next| *next > newest) {
        head += &format!(", judged next after {next}");
    }
    let mut lines = vec![
        frame.painted(&frame.fit(&head), Paint::Bold),
        frame.fit(&progress(state, used, frame)),
    ];
    let now: Vec<String> = throughput(state).into_iter().chain(others(state)).collect();
    let together = now.join(" · ");
    match measure_text_width(&together) <= frame.columns {
        true if now.is_empty() => {}
        true => lines.push(together),
        false => lines.extend(now.iter().map(|part| frame.fit(part))),
    }
    lines.truncate(frame.rows.max(3));
    // A blank line, a heading, and the last line stays free.
    let room = frame.rows.saturating_sub(lines.len() + 3);
    if room > 0 {
        match state.is_screening() {
            true => lines.extend(levers(state, frame, room)),
            false => lines.extend(narrowing(state, frame, room)),
        }
    }
    lines
}

/// A part of a tuning with what it asks.
pub fn words(stage: &str) -> &str {
    match stage {
        "screening" => "screening: which levers help?",
        "total" => "total: the start against what is kept",
        other => other,
    }
}

fn time(state: &State, used: Duration) -> String {
    format!(
        "{} of {}, {} left",
        clock(used),
        clock(state.budget),
        clock(state.budget.saturating_sub(used))
    )
}

fn progress(state: &State, used: Duration, frame: &Frame) -> String {
    let time = time(state, used);
    if state.budget.is_zero() {
        return time;
    }
    let width = frame
        .columns
        .saturating_sub(measure_text_width(&time) + 2)
        .min(MAX_BAR);
    if width < MIN_BAR {
        return time;
    }
    let share = (used.as_secs_f64() / state.budget.as_secs_f64()).clamp(0.0, 1.0);
    let done = (share * width as f64).round() as usize;
    let bar: String = (0..width)
        .map(|x| match x < done {
            true => frame.glyphs.done,
            false => frame.glyphs.left,
        })
        .collect();
    format!("{bar}  {time}")
}

fn throughput(state: &State) -> Option<String> {
    let [a, b] = state.tps;
    if a <= 0.0 || b <= 0.0 {
        return None;
    }
    // Not each side's: in a screening each half of the levers is on one side, and elsewhere the quotient of two rates would not be the
    // ratio beside it, which is the couples' median.
    Some(format!("{} transactions/s", number::rate((a + b) / 2.0)))
}

fn others(state: &State) -> Option<String> {
    (state.taken >= WORTH_TELLING)
        .then(|| format!("others take {:.0} % of the CPUs", state.taken * 100.0))
}

/// `× 1.173 [1.158, 1.189]`; few duels leave an end open, which says nothing yet.
fn so_far(estimate: &Estimate) -> String {
    match estimate.low > 0.0 && estimate.high.is_finite() {
        true => number::estimate(estimate),
        false => format!("{} (no interval yet)", number::ratio(estimate)),
    }
}

/// `× 1.173 [1.158, 1.189] after 9 duels, judged next after 11`; the interval only where there is one.
fn after(step: &Step, next_look: Option<usize>, unit: &str) -> String {
    let next = next_look.filter(|next| *next > step.duels);
    let next = next.map_or(String::new(), |next| format!(", judged next after {next}"));
    format!(
        "{} after {}{next}",
        so_far(&step.estimate),
        number::count(step.duels, unit)
    )
}

/// One row of a chart: its name, its figure.
struct Row {
    name: String,
    estimate: Estimate,
}

/// The estimate and how its interval narrows.
fn narrowing(state: &State, frame: &Frame, room: usize) -> Vec<String> {
    let Some(newest) = &state.newest else {
        return Vec::new();
    };
    if state.steps.is_empty() {
        let text = format!(
            "{} {} after {}; more {} give it an interval",
            gain(state, "B over A"),
            number::ratio(&newest.estimate),
            number::count(newest.duels, state.unit),
            niagara_model::units(state.unit)
        );
        return vec![String::new(), frame.fit(&text)];
    }
    let rows: Vec<Row> = spread(&state.steps, MAX_STEPS.min(room))
        .into_iter()
        .map(|step| Row {
            name: format!("after {}", number::count(step.duels, state.unit)),
            estimate: step.estimate,
        })
        .collect();
    chart(gain(state, "B over A"), &rows, frame)
}

/// Share of the levers' intervals that leave out 1 where no lever does anything: they are of 95 %, each on its own.
const BY_CHANCE: f64 = 0.05;

/// `7 of 40 lie clear of × 1 (about 2 would by chance)`: intervals of levers.
fn beside_chance(state: &State, found: usize) -> String {
    let levers = state.levers.len();
    let expected = match (BY_CHANCE * levers as f64).round() as usize {
        0 => "hardly one".to_owned(),
        some => format!("about {some}"),
    };
    let lie = match found {
        1 => "lies",
        _ => "lie",
    };
    format!("{found} of {levers} {lie} clear of × 1 ({expected} would by chance)")
}

/// At most `most` of the steps, the first and the newest among them, evenly spread.
fn spread(steps: &[Step], most: usize) -> Vec<&Step> {
    if steps.len() <= most || most < 2 {
        let few = steps.len().min(most.max(1));
        return steps[steps.len() - few..].iter().collect();
    }
    (0..most)
        .map(|i| &steps[i * (steps.len() - 1) / (most - 1)])
        .collect()
}

/// The levers that stand out most, and how many do not.
fn levers(state: &State, frame: &Frame, room: usize) -> Vec<String> {
    if state.levers.is_empty() {
        let Some(from) = state.levers_from else {
            return Vec::new();
        };
        let text = format!("what the levers do is told from duel {from} on");
        return vec![String::new(), frame.fit(&text)];
    }
    let mut shown = by_distance(&state.levers);
    // The line beneath takes one.
    let most = MAX_LEVERS.min(room - 1);
    if most == 0 {
        return Vec::new();
    }
    shown.truncate(most);
    // What helps stands above what hurts.
    shown.sort_by(|a, b| b.effect.ratio.total_cmp(&a.effect.ratio));
    let rows: Vec<Row> = shown
        .iter()
        .map(|lever| Row {
            name: lever.title.clone(),
            estimate: lever.effect,
        })
        .collect();
    let mut lines = chart("levers so far, undecided", &rows, frame);
    let more = state.levers.len().saturating_sub(rows.len());
    let text = format!(
        "{}{}",
        beside_chance(state, standing_out(&state.levers).len()),
        match more {
            0 => String::new(),
            1 => "; one more is not shown".to_owned(),
            _ => format!("; {more} more are not shown"),
        }
    );
    lines.push(frame.fit(&text));
    lines
}

/// Levers, those first whose effect is the most standard errors away from none.
fn by_distance(levers: &[Screened]) -> Vec<&Screened> {
    let distance = |lever: &&Screened| match lever.std_err > 0.0 {
        true => (lever.effect.ratio.ln() / lever.std_err).abs(),
        false => 0.0,
    };
    let mut ordered: Vec<&Screened> = levers.iter().collect();
    ordered.sort_by(|a, b| distance(b).total_cmp(&distance(a)));
    ordered
}

/// Levers that a line names of those that help, and of those that hurt.
const NAMED: usize = 8;

/// Names of the levers that stand out so far, without figures: those that lead by chance lead by the most.
fn leading(levers: &[Screened]) -> Option<String> {
    let told = both_sides(levers, ["ahead", "behind"], |lever| lever.title.clone());
    (!told.is_empty()).then(|| format!("so far, undecided: {}", told.join("; ")))
}

/// What was shown of levers: `help: Unix socket instead of TCP × 1.07 [1.05, 1.10]`, `hurt: thread pool × 0.91 [0.88, 0.94]`.
fn clear_of_one(levers: &[Screened]) -> Vec<String> {
    let with_figure = |lever: &Screened| format!("{} {}", lever.title, so_far(&lever.effect));
    both_sides(levers, ["help", "hurt"], with_figure)
}

/// The levers that stand out above × 1, and those below it, each side behind its word.
fn both_sides(
    levers: &[Screened],
    words: [&str; 2],
    name: impl Fn(&Screened) -> String,
) -> Vec<String> {
    let (above, below): (Vec<&Screened>, Vec<&Screened>) = standing_out(levers)
        .into_iter()
        .partition(|lever| lever.effect.low > 1.0);
    let told = words.into_iter().zip([above, below]);
    let told = told.filter(|(_, levers)| !levers.is_empty());
    told.map(|(word, levers)| {
        let more = match levers.len().saturating_sub(NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let named = levers.into_iter().take(NAMED).map(&name);
        format!("{word}: {}{more}", named.collect::<Vec<_>>().join(", "))
    })
    .collect()
}

/// Levers whose interval excludes 1, in the same order.
fn standing_out(levers: &[Screened]) -> Vec<&Screened> {
    let out = |lever: &&Screened| lever.effect.low > 1.0 || lever.effect.high < 1.0;
    by_distance(levers).into_iter().filter(out).collect()
}

/// A heading with the axis, and a line for every row: name, interval, figures.
fn chart(heading: &str, rows: &[Row], frame: &Frame) -> Vec<String> {
    let figures: Vec<String> = rows.iter().map(|row| so_far(&row.estimate)).collect();
    let widest = |texts: &mut dyn Iterator<Item = &String>| {
        texts
            .map(|text| measure_text_width(text))
            .max()
            .unwrap_or(0)
    };
    let figure = widest(&mut figures.iter());
    let name = widest(&mut rows.iter().map(|row| &row.name))
        .max(measure_text_width(heading))
        .min((frame.columns / 3).max(16));
    let bar = frame.columns.saturating_sub(name + figure + 4).min(MAX_BAR);
    let axis = axis(rows);
    let mut lines = vec![String::new()];
    let padded = |text: &str| {
        let cut = truncate_str(text, name, frame.glyphs.cut);
        pad_str(&cut, name, Alignment::Left, None).into_owned()
    };
    let mut head = padded(heading);
    if bar >= MIN_BAR {
        head += &format!("  {}", ends(axis, bar));
    }
    lines.push(frame.fit(head.trim_end()));
    for (row, figure) in rows.iter().zip(&figures) {
        let paint = match &row.estimate {
            e if e.low > 1.0 => Paint::Gain,
            e if e.high < 1.0 => Paint::Loss,
            _ => Paint::Plain,
        };
        let mut line = padded(&row.name);
        if bar >= MIN_BAR {
            let drawn = drawn(&row.estimate, axis, bar, &frame.glyphs);
            line += &format!("  {}", frame.painted(&drawn, paint));
        }
        lines.push(frame.fit(&format!("{line}  {figure}")));
    }
    lines
}

/// The stretch of logarithms that the rows need, with 1 on it.
fn axis(rows: &[Row]) -> (f64, f64) {
    let mut axis = (-0.01_f64, 0.01_f64);
    for row in rows {
        for value in [row.estimate.low, row.estimate.ratio, row.estimate.high] {
            let log = value.ln();
            // What lies further out is drawn as an arrow: it must not squeeze the rest.
            if log.is_finite() && log.abs() < 0.7 {
                axis = (axis.0.min(log), axis.1.max(log));
            }
        }
    }
    axis
}

/// The ends of the axis as ratios, with the 1 where it lies, if there is room for it.
fn ends(axis: (f64, f64), width: usize) -> String {
    let (low, high) = (
        format!("{:.2}", axis.0.exp()),
        format!("{:.2}", axis.1.exp()),
    );
    let mut cells: Vec<char> = vec![' '; width];
    let one = cell(0.0, axis, width);
    cells[one] = '1';
    let mut write = |at: usize, text: &str| {
        // With a blank to each side of the 1.
        if one + 1 < at || at + text.len() < one {
            for (cell, c) in cells.iter_mut().skip(at).zip(text.chars()) {
                *cell = c;
            }
        }
    };
    write(0, &low);
    write(width - high.len(), &high);
    cells.into_iter().collect()
}

fn cell(log: f64, axis: (f64, f64), width: usize) -> usize {
    let share = ((log - axis.0) / (axis.1 - axis.0)).clamp(0.0, 1.0);
    (share * (width - 1) as f64).round() as usize
}

/// An interval as characters.
fn drawn(estimate: &Estimate, axis: (f64, f64), width: usize, glyphs: &Glyphs) -> String {
    let mut cells: Vec<char> = vec![' '; width];
    cells[cell(0.0, axis, width)] = glyphs.one;
    let (low, middle, high) = (estimate.low.ln(), estimate.ratio.ln(), estimate.high.ln());
    if low.is_nan() || high.is_nan() || low > high {
        return cells.into_iter().collect();
    }
    let (from, to) = (cell(low, axis, width), cell(high, axis, width));
    for place in &mut cells[from..=to] {
        *place = glyphs.within;
    }
    cells[from] = if low < axis.0 {
        glyphs.beyond[0]
    } else {
        glyphs.ends[0]
    };
    cells[to] = if high > axis.1 {
        glyphs.beyond[1]
    } else {
        glyphs.ends[1]
    };
    if (axis.0..=axis.1).contains(&middle) {
        cells[cell(middle, axis, width)] = glyphs.middle;
    }
    cells.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levers_that_help_are_told_apart_from_those_that_hurt() {
        let lever = |title: &str, ratio: f64| Screened {
            lever: String::new(),
            title: title.to_owned(),
            change: String::new(),
            effect: Estimate {
                ratio,
                low: ratio - 0.02,
                high: ratio + 0.02,
            },
            std_err: 0.01,
            expected: None,
            duels: 30,
            tail: None,
        };
        let all = [
            lever("thread pool", 0.91),
            lever("Unix socket", 1.07),
            lever("larger sort buffer", 1.01),
        ];
        assert_eq!(
            clear_of_one(&all),
            [
                "help: Unix socket × 1.07 [1.05, 1.09]",
                "hurt: thread pool × 0.91 [0.89, 0.93]"
            ]
        );
        assert_eq!(clear_of_one(&all[2..]), [] as [&str; 0]);
        let so_far = leading(&all);
        let words = "so far, undecided: ahead: Unix socket; behind: thread pool";
        assert_eq!(so_far.as_deref(), Some(words));
        assert_eq!(leading(&all[2..]), None);
    }

    #[test]
    fn a_look_that_is_over_is_not_announced() {
        let step = Step {
            duels: 9,
            estimate: Estimate {
                ratio: 1.14,
                low: 1.09,
                high: 1.19,
            },
        };
        let [over, ahead] = [8, 12].map(|look| after(&step, Some(look), "duel"));
        assert_eq!(over, "× 1.14 [1.09, 1.19] after 9 duels");
        assert!(ahead.ends_with(", judged next after 12"), "{ahead}");
    }
}
