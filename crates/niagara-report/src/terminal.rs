//! The report as one screen of text.

use console::{measure_text_width, pad_str, truncate_str};
use niagara_stats::Estimate;
use niagara_store::{CompareSummary, Comparison, Goal, NotTried, Screened, Summary, TuneSummary};

use crate::applying::{HEADING, applying};
use crate::grid::Grid;
use crate::interval_bar::{Bar, draw};
use crate::sides::Sides;
use crate::study;
use crate::wording;
use crate::{ladder, number};

/// How a summary is shown on a terminal.
#[derive(Debug, Clone, Copy)]
pub struct View<'a> {
    /// ANSI colours.
    pub colour: bool,
    /// Columns of the terminal.
    pub width: usize,
    /// Every lever that was not tried, by name; else counts by reason.
    pub verbose: bool,
    /// Absolute figures of both sides, where the results hold them.
    pub sides: Option<&'a Sides>,
}

/// The summary for a terminal.
pub fn terminal(summary: &Summary, view: &View<'_>) -> String {
    let mut screen = Screen::new(view);
    screen.opening(&crate::headline(summary), &wording::warnings(summary));
    match summary {
        Summary::Tune(tune) => screen.tune(tune),
        Summary::Compare(compare) => screen.compare(compare),
        Summary::Ladder(_) | Summary::Matrix(_) | Summary::Sweep(_) => screen.study(summary),
    }
    screen.costs(summary);
    if matches!(summary, Summary::Tune(_) | Summary::Compare(_)) {
        // Of a replay.
        for grid in study::grids(summary) {
            screen.full_grid(&grid);
        }
    }
    screen.out
}

/// `text` behind `lead` in lines of at most `width` columns, further lines indented to where it began; a longer word, or a
/// ratio with its interval, keeps its line to itself.
pub fn wrapped(lead: &str, text: &str, width: usize) -> String {
    let indent = measure_text_width(lead);
    let room = width.saturating_sub(indent).max(16);
    let lines = wrap(text, room).join(&format!("\n{}", " ".repeat(indent)));
    format!("{lead}{lines}")
}

/// A page of tables for a terminal of `width` columns.
pub(crate) fn page(
    headline: &str,
    warnings: &[String],
    grids: &[Grid],
    colour: bool,
    width: usize,
) -> String {
    let mut screen = Screen::new(&View {
        colour,
        width,
        verbose: false,
        sides: None,
    });
    screen.opening(headline, warnings);
    for grid in grids {
        screen.full_grid(grid);
    }
    screen.out
}

/// Behind the number of duels of a comparison.
const DUEL_MEANS: &str = "; a duel starts both servers afresh on identical data and switches the load between them in short \
                          slices: it gives one figure";

/// Narrower than this, what stood beside goes beneath.
const STACKED_BELOW: usize = 84;

/// Before what stands beneath a row's name.
const INDENT: &str = "    ";

#[derive(Clone, Copy, PartialEq)]
enum Paint {
    Plain,
    Bold,
    Dim,
    Gain,
    Loss,
    Warning,
}

struct Screen<'a> {
    out: String,
    colour: bool,
    width: usize,
    verbose: bool,
    sides: Option<&'a Sides>,
}

/// Names borrowed, so that fixed ones may stand beside them.
fn facts_of(facts: &[(String, String)]) -> Vec<(&str, String)> {
    facts
        .iter()
        .map(|(name, value)| (name.as_str(), value.clone()))
        .collect()
}

impl<'a> Screen<'a> {
    fn new(view: &View<'a>) -> Self {
        Self {
            out: String::new(),
            colour: view.colour,
            width: view.width.clamp(40, 160),
            verbose: view.verbose,
            sides: view.sides,
        }
    }

    fn opening(&mut self, headline: &str, warnings: &[String]) {
        self.wrapped("", headline, Paint::Bold);
        if !warnings.is_empty() {
            self.line("");
        }
        for warning in warnings {
            self.wrapped("  ! ", warning, Paint::Warning);
        }
    }

    fn tune(&mut self, tune: &TuneSummary) {
        self.line("");
        self.wrapped("  ", &tune.workload, Paint::Dim);
        if !tune.rungs.is_empty() {
            self.heading(&match tune.goal {
                Goal::Throughput => "From the starting point to the final variant".to_owned(),
                goal => format!(
                    "From the starting point to the final variant: {}",
                    wording::judged_by(goal).replacen('B', "b", 1)
                ),
            });
            self.waterfall(tune);
        }
        self.in_figures();
        if let Some(total) = &tune.total {
            self.lesser(total);
        }
        self.not_kept(tune);
        let checks: Vec<_> = [
            (&tune.negative_control, "negative control: changes nothing"),
            (&tune.positive_control, "positive control: known to slow"),
        ]
        .into_iter()
        .filter_map(|(lever, role)| {
            let lever = lever.as_ref()?;
            Some(match self.verbose {
                true => screened_row(lever, role),
                false => Row {
                    note: role.to_owned(),
                    ..screened_row(lever, role)
                },
            })
        })
        .collect();
        if !checks.is_empty() {
            self.heading("Checks on the method");
            self.table(&checks);
        }
        if !tune.not_tried.is_empty() {
            self.not_tried(&tune.not_tried);
        }
        self.heading("How it was measured");
        let facts = self.facts_of_tune(tune);
        self.facts(&facts_of(&facts));
    }

    /// Time and seed; in the long form, all there is to know.
    fn facts_of_tune(&self, tune: &TuneSummary) -> Vec<(String, String)> {
        let mut facts = wording::builds(&tune.builds);
        let mut fact = |name: &str, value: String| facts.push((name.to_owned(), value));
        let asked = Some(tune.budget_seconds);
        let time = wording::time(tune.elapsed_seconds, tune.load_seconds, asked);
        fact("time", time);
        if self.verbose {
            if let Some(total) = &tune.total {
                fact("couples", couples(total));
            }
            if let Some((name, value)) = noise(tune.sd_duel) {
                fact(name, value);
            }
            fact("error probability", format!("α = {}", tune.alpha));
        }
        let taken = tune.total.as_ref().and_then(wording::others_took);
        if let (Some(taken), false) = (taken, self.verbose) {
            fact("others", taken);
        }
        fact("server", tune.server_version.clone());
        fact("seed", tune.seed.to_string());
        facts
    }

    /// What was measured and is not in the final variant: counted, or by name.
    fn not_kept(&mut self, tune: &TuneSummary) {
        let by_effect = |a: &&Screened, b: &&Screened| a.effect.ratio.total_cmp(&b.effect.ratio);
        let best = tune.not_helped.iter().max_by(by_effect);
        let worst = tune.not_helped.iter().min_by(by_effect);
        let Some((best, worst)) = best.zip(worst) else {
            return;
        };
        if !self.verbose {
            let count = tune.not_helped.len();
            self.heading(&format!(
                "Measured and not kept: {}",
                number::count(count, "lever")
            ));
            let range = match count {
                1 => format!("{} {}", best.title, number::ratio(&best.effect)),
                _ => format!(
                    "from {} ({}) down to {} ({})",
                    number::ratio(&best.effect),
                    best.title,
                    number::ratio(&worst.effect),
                    worst.title
                ),
            };
            self.wrapped("  ", &range, Paint::Plain);
            return;
        }
        self.heading("Measured and not kept (screened, 95 % intervals)");
        let rows: Vec<_> = tune
            .not_helped
            .iter()
            .map(|s| screened_row(s, ""))
            .collect();
        self.table(&rows);
        if let Some(note) = wording::many_intervals(rows.len()) {
            self.wrapped("  ", &note, Paint::Dim);
        }
        if !tune.together.is_empty() {
            self.heading("Levers that act on each other (screened)");
            for pair in &tune.together {
                self.wrapped("  ", &wording::together(pair), Paint::Plain);
            }
        }
        if let Some(searched) = &tune.searched {
            self.heading("Ranges searched");
            for line in wording::searched(searched) {
                self.wrapped("  ", &line, Paint::Plain);
            }
        }
    }

    /// What it costs to apply; in short nothing of a study that proved nothing.
    fn costs(&mut self, summary: &Summary) {
        let Some(mut lines) = applying(summary) else {
            return;
        };
        if self.verbose {
            self.heading(HEADING);
            self.facts(&lines);
        } else if lines.len() > 1 {
            // deploy/README.md, which is named beneath, and the report have the rest.
            lines.retain(|(name, _)| !["To undo", "Holds for"].contains(name));
            self.heading(HEADING);
            self.facts(&lines);
        }
    }

    fn not_tried(&mut self, not_tried: &[NotTried]) {
        if !self.verbose {
            self.heading(&format!(
                "Not tried: {}",
                number::count(not_tried.len(), "lever")
            ));
            for (reason, count) in wording::counted(not_tried) {
                self.wrapped(&format!("  {count:>3}  "), &reason, Paint::Plain);
            }
            let where_else = "All levers by name: niagara report --verbose, and report.html.";
            self.wrapped("  ", where_else, Paint::Dim);
            return;
        }
        self.heading("Not tried");
        for (reason, levers) in wording::by_reason(not_tried) {
            let titles: Vec<_> = levers.iter().map(|lever| lever.title.as_str()).collect();
            self.wrapped(
                "  ",
                &format!("{}: {reason}", titles.join(", ")),
                Paint::Plain,
            );
        }
    }

    /// What both sides did in absolute figures.
    fn in_figures(&mut self) {
        if let Some(sides) = self.sides {
            let mut grid = sides.grid();
            if !self.verbose {
                grid.notes.truncate(1);
            }
            self.full_grid(&grid);
        }
    }

    fn compare(&mut self, compare: &CompareSummary) {
        let comparison = &compare.comparison;
        self.line("");
        self.wrapped("  ", &compare.workload, Paint::Dim);
        self.line("");
        let judged = comparison.judged();
        self.table(&[Row {
            title: format!("{}, B over A", comparison.goal.title()),
            estimate: number::estimate(&comparison.goal.figure(&judged.estimate)),
            note: wording::verdict_on_goal(comparison),
            paint: paint_of(&judged.estimate),
        }]);
        self.in_figures();
        self.lesser(comparison);
        self.heading("How it was measured");
        let mut facts = vec![
            (
                "A",
                format!("{}: {} tps", comparison.a, number::rate(comparison.tps[0])),
            ),
            (
                "B",
                format!("{}: {} tps", comparison.b, number::rate(comparison.tps[1])),
            ),
            (
                "evidence",
                format!(
                    "{}, {}{}",
                    number::count(judged.duels, "duel"),
                    wording::error_probability(judged),
                    match compare.protocol.as_str() {
                        "duel" => DUEL_MEANS.to_owned(),
                        other => format!("; protocol {other}"),
                    }
                ),
            ),
        ];
        let builds = wording::builds(&compare.builds);
        facts.extend(facts_of(&builds));
        if let (None, Some(next)) = (judged.verdict, judged.next_look) {
            facts.push((
                "judged next",
                format!("after {}", number::count(next, "duel")),
            ));
        }
        facts.extend(noise(compare.sd_duel));
        facts.push(("couples", couples(comparison)));
        facts.extend(wording::nodes(comparison).map(|nodes| ("nodes", nodes)));
        facts.push((
            "time",
            wording::time(compare.elapsed_seconds, compare.load_seconds, None),
        ));
        facts.push(("seed", compare.seed.to_string()));
        self.facts(&facts);
    }

    fn waterfall(&mut self, tune: &TuneSummary) {
        let steps = ladder::steps(tune);
        let axis = ladder::axis(&steps);
        let axis = (axis.0.ln(), axis.1.ln());
        let longest = |text: fn(&ladder::Step) -> &str| {
            let widths = steps.iter().map(|step| measure_text_width(text(step)));
            widths.max().unwrap_or(0)
        };
        let note_width = longest(|step| &step.standing);
        let numbers_width = longest(|step| &step.numbers);
        let stacked = self.width < STACKED_BELOW;
        let title_width = longest(|step| &step.title).min((self.width * 3 / 10).max(20));
        let taken = if stacked {
            4 + numbers_width + 2
        } else {
            2 + title_width + 2 + numbers_width + 2 + note_width + 2
        };
        let rest = self.width.saturating_sub(taken);
        let bar_width = if rest < 8 { 0 } else { rest.min(44) };
        for step in &steps {
            let full = if step.sure { '█' } else { '░' };
            let bar = Bar {
                start: step.start.ln(),
                low: step.low.ln(),
                middle: step.end.ln(),
                high: step.high.ln(),
            };
            let drawn = self.painted(&draw(bar, axis, bar_width, full), paint_of(&step.estimate));
            let numbers = pad_str(&step.numbers, numbers_width, console::Alignment::Left, None);
            let standing = self.painted(&step.standing, Paint::Dim);
            if stacked {
                let title = truncate_str(&step.title, self.width - 26, "…");
                self.line(&format!("  {title} ({standing})"));
                self.line(format!("    {numbers}  {drawn}").trim_end());
                continue;
            }
            let mut line = format!("  {}", cell(&step.title, title_width));
            if bar_width > 0 {
                line = format!("{line}  {drawn}");
            }
            line = format!("{line}  {numbers}  {standing}");
            if step.total {
                line = self.painted(&line, Paint::Bold);
            }
            self.line(line.trim_end());
        }
        if bar_width > 0 {
            let ends = format!(
                "1{}× {:.2}",
                " ".repeat(bar_width.saturating_sub(7)),
                axis.1.exp()
            );
            let ends = self.painted(&ends, Paint::Dim);
            let before = if stacked {
                2 + numbers_width
            } else {
                title_width
            };
            self.line(&format!("  {}  {ends}", " ".repeat(before)));
        }
        self.line("");
        let how_to_read = format!("{} {}", ladder::HOW_TO_READ, ladder::N_MEANS);
        self.wrapped("  ", &how_to_read, Paint::Dim);
        for meaning in ladder::meanings(tune) {
            self.wrapped("  ", meaning, Paint::Dim);
        }
        if let Some(searched) = ladder::searched_since(tune) {
            self.wrapped("  ", &searched, Paint::Dim);
        }
    }

    fn lesser(&mut self, comparison: &Comparison) {
        let mut claims = wording::lesser_claims(comparison);
        if self.sides.is_some() && !self.verbose {
            // The table of figures has the same ratios; what is said beside them is for those who read all.
            claims.retain(|claim| claim.title.starts_with("Throughput"));
        }
        if claims.is_empty() {
            return;
        }
        self.heading(&format!(
            "Beside {}",
            comparison.goal.title().to_lowercase()
        ));
        let rows: Vec<_> = claims
            .iter()
            .map(|claim| Row {
                title: claim.title.into(),
                estimate: number::estimate(&claim.estimate),
                note: claim.note.into(),
                paint: Paint::Plain,
            })
            .collect();
        self.table(&rows);
    }

    /// A ladder, a matrix or a sweep: its tables, and how it was measured.
    fn study(&mut self, summary: &Summary) {
        for grid in study::grids(summary) {
            self.full_grid(&grid);
        }
        self.in_figures();
        self.heading("How it was measured");
        let facts = study::facts(summary);
        self.facts(&facts_of(&facts));
    }

    fn full_grid(&mut self, grid: &Grid) {
        self.heading(&grid.heading);
        self.grid(grid);
        for note in &grid.notes {
            self.wrapped("  ", note, Paint::Dim);
        }
    }

    /// Columns side by side where they fit; else a block for each row.
    fn grid(&mut self, grid: &Grid) {
        let widths: Vec<usize> = grid
            .columns
            .iter()
            .enumerate()
            .map(|(index, (name, _))| {
                let cells = grid.rows.iter().filter_map(|row| row.get(index));
                let widest = cells.map(|cell| measure_text_width(cell)).max();
                widest.unwrap_or(0).max(measure_text_width(name))
            })
            .collect();
        if grid.rows.is_empty() {
            return;
        }
        if 2 + widths.iter().map(|width| width + 2).sum::<usize>() > self.width {
            for (index, row) in grid.rows.iter().enumerate() {
                self.block(&grid.columns, row, grid.strong.contains(&index));
            }
            return;
        }
        let line = |cells: &mut dyn Iterator<Item = &String>| {
            let padded: Vec<String> = cells
                .zip(grid.columns.iter().zip(&widths))
                .map(|(cell, ((_, number), width))| {
                    let side = if *number {
                        console::Alignment::Right
                    } else {
                        console::Alignment::Left
                    };
                    pad_str(cell, *width, side, None).into_owned()
                })
                .collect();
            format!("  {}", padded.join("  ").trim_end())
        };
        if grid.columns.iter().any(|(name, _)| !name.is_empty()) {
            let heads = line(&mut grid.columns.iter().map(|(name, _)| name));
            let heads = self.painted(&heads, Paint::Dim);
            self.line(&heads);
        }
        for (index, row) in grid.rows.iter().enumerate() {
            let text = line(&mut row.iter());
            let paint = if grid.strong.contains(&index) {
                Paint::Bold
            } else {
                Paint::Plain
            };
            let text = self.painted(&text, paint);
            self.line(&text);
        }
    }

    /// A row of a table that is too wide: its name, beneath it what stands in the columns.
    fn block(&mut self, columns: &[(String, bool)], row: &[String], strong: bool) {
        let named = columns.iter().take_while(|(name, _)| name.is_empty());
        let named = named.count().max(1).min(row.len());
        let filled = |cells: &[String]| -> Vec<String> {
            let cells = cells.iter().filter(|cell| !cell.is_empty());
            cells.cloned().collect()
        };
        let paint = if strong { Paint::Bold } else { Paint::Plain };
        self.wrapped("  ", &filled(&row[..named]).join(" · "), paint);
        let parts: Vec<String> = columns
            .iter()
            .zip(row)
            .skip(named)
            .filter(|(_, cell)| !cell.is_empty())
            .map(|((name, _), cell)| match name.as_str() {
                "" => cell.clone(),
                name => format!("{name} {cell}"),
            })
            .collect();
        // As many on a line as fit; none is broken unless it is longer than a line.
        let mut line = String::new();
        for part in parts {
            let joined = format!("{line} · {part}");
            if line.is_empty() {
                line = part;
            } else if INDENT.len() + measure_text_width(&joined) <= self.width {
                line = joined;
            } else {
                self.wrapped(INDENT, &line, paint);
                line = part;
            }
        }
        self.wrapped(INDENT, &line, paint);
    }

    fn heading(&mut self, text: &str) {
        self.line("");
        self.wrapped("", text, Paint::Bold);
    }

    fn table(&mut self, rows: &[Row]) {
        let width = |text: fn(&Row) -> &str| {
            let widths = rows.iter().map(|row| measure_text_width(text(row)));
            widths.max().unwrap_or(0)
        };
        let stacked = self.width < STACKED_BELOW;
        let most = if stacked {
            self.width - 28
        } else {
            self.width / 3 + 4
        };
        let title = width(|row| &row.title).min(most);
        let estimate = width(|row| &row.estimate);
        for row in rows {
            if stacked {
                let head = format!("  {}  {}", cell(&row.title, title), row.estimate);
                let head = self.painted(&head, row.paint);
                self.line(&head);
                self.wrapped("    ", &row.note, Paint::Dim);
                continue;
            }
            let head = format!(
                "  {}  {}  ",
                cell(&row.title, title),
                pad_str(&row.estimate, estimate, console::Alignment::Left, None)
            );
            let room = self.width.saturating_sub(2 + title + 2 + estimate + 2);
            let lines = wrap(&row.note, room.max(16));
            for (i, note) in lines.iter().enumerate() {
                let start = if i == 0 {
                    self.painted(&head, row.paint)
                } else {
                    " ".repeat(measure_text_width(&head))
                };
                let note = self.painted(note, Paint::Dim);
                self.line(format!("{start}{note}").trim_end());
            }
        }
    }

    fn facts(&mut self, facts: &[(&str, String)]) {
        let names = facts.iter().map(|(name, _)| measure_text_width(name));
        let width = names.max().unwrap_or(0);
        for (name, text) in facts {
            let lead = format!(
                "  {}  ",
                pad_str(name, width, console::Alignment::Left, None)
            );
            self.wrapped(&lead, text, Paint::Plain);
        }
    }

    /// `text` behind `lead`, further lines indented to where it began.
    fn wrapped(&mut self, lead: &str, text: &str, paint: Paint) {
        let indent = measure_text_width(lead);
        let room = self.width.saturating_sub(indent).max(16);
        for (i, part) in wrap(text, room).iter().enumerate() {
            let start = if i == 0 {
                lead.to_owned()
            } else {
                " ".repeat(indent)
            };
            if !part.is_empty() {
                let line = self.painted(&format!("{start}{part}"), paint);
                self.line(&line);
            }
        }
    }

    fn line(&mut self, text: &str) {
        self.out.push_str(text);
        self.out.push('\n');
    }

    fn painted(&self, text: &str, paint: Paint) -> String {
        let code = match paint {
            Paint::Plain => "",
            Paint::Bold => "1",
            Paint::Dim => "2",
            // Blue and yellow: told apart by every kind of colour vision.
            Paint::Gain => "34",
            Paint::Loss => "33",
            Paint::Warning => "1;33",
        };
        if !self.colour || code.is_empty() || text.trim().is_empty() {
            return text.to_owned();
        }
        format!("\x1b[{code}m{text}\x1b[0m")
    }
}

struct Row {
    title: String,
    estimate: String,
    note: String,
    paint: Paint,
}

fn screened_row(screened: &Screened, role: &str) -> Row {
    let note = [role, &screened.change]
        .into_iter()
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join("; ");
    Row {
        title: screened.title.clone(),
        estimate: number::estimate(&screened.effect),
        note,
        paint: Paint::Plain,
    }
}

fn noise(sd_duel: Option<f64>) -> Option<(&'static str, String)> {
    Some(("noise", wording::noise(sd_duel?)))
}

/// Couples, with a word on what they are.
fn couples(comparison: &Comparison) -> String {
    format!(
        "{} (a couple: two neighbouring slices, one of each server)",
        wording::dropped(comparison)
    )
}

fn paint_of(e: &Estimate) -> Paint {
    if e.low > 1.0 {
        Paint::Gain
    } else if e.high < 1.0 {
        Paint::Loss
    } else {
        Paint::Plain
    }
}

/// `text` in exactly `width` columns.
fn cell(text: &str, width: usize) -> String {
    let cut = truncate_str(text, width, "…");
    pad_str(&cut, width, console::Alignment::Left, None).into_owned()
}

/// Lines of at most `width` columns; a longer word, or a ratio with its interval, keeps its line to itself.
fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    let glued = number::unbroken(text);
    let words = glued
        .split([' ', '\n', '\t'])
        .filter(|word| !word.is_empty());
    for word in words.map(|word| word.replace(number::NO_BREAK, " ")) {
        // There is always a last line: it starts with one and only grows.
        let line = lines.last_mut().expect("never empty");
        if line.is_empty() {
            line.push_str(&word);
        } else if measure_text_width(line) + 1 + measure_text_width(&word) <= width {
            line.push(' ');
            line.push_str(&word);
        } else {
            lines.push(word);
        }
    }
    lines
}
