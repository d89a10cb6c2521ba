//! The report as Markdown: for issues, wikis, merge requests.

use std::fmt::Write;

use niagara_store::{BuildNote, CompareSummary, Comparison, Screened, Summary, TuneSummary};

use crate::applying::{HEADING, applying};
use crate::grid::Grid;
use crate::{Report, Sides, ladder, node_account, number, profile, study, wording};

/// Headline, tables and how to repeat it.
pub fn markdown(report: &Report) -> String {
    let mut page = Page(String::new());
    page.line(&format!("# {}", text(&report.headline())));
    if let Some(summary) = &report.summary {
        page.warnings(&wording::warnings(summary));
        let sides = Sides::of(report);
        match summary {
            Summary::Tune(tune) => page.tune(tune, sides.as_ref()),
            Summary::Compare(compare) => page.compare(compare, sides.as_ref()),
            Summary::Ladder(_) | Summary::Matrix(_) | Summary::Sweep(_) => {}
        }
        page.study(summary, sides.as_ref());
    }
    for seen in &report.profiles {
        for section in profile::sections_in_short(seen) {
            profile::markdown(&mut page.0, &section);
        }
    }
    page.nodes_held(report);
    page.repeat(report);
    page.0
}

/// A page of tables.
pub(crate) fn page(headline: &str, warnings: &[String], grids: &[Grid]) -> String {
    let mut page = Page(String::new());
    page.line(&format!("# {}", text(headline)));
    page.warnings(warnings);
    for grid in grids {
        page.grid(grid);
    }
    page.0
}

/// What couples are, where they are counted.
const COUPLES: &str = "Couples (matched pairs of slices, one of each server)";

struct Page(String);

impl Page {
    fn warnings(&mut self, warnings: &[impl std::fmt::Display]) {
        if warnings.is_empty() {
            return;
        }
        self.line("> **Before you believe the rest**");
        self.0.pop(); // the list belongs to the quotation
        for warning in warnings {
            self.row(&format!("> - {}", text(&warning.to_string())));
        }
        self.row("");
    }

    /// What a study of a file has: its words, its tables.
    fn study(&mut self, summary: &Summary, sides: Option<&Sides>) {
        let own_form = matches!(summary, Summary::Tune(_) | Summary::Compare(_));
        if !own_form {
            self.costs(summary);
        }
        if let Some(about) = &summary.header().about {
            self.line(&format!("## {}", text(&about.title)));
            for (heading, words) in study::opening(about) {
                self.line(&format!("**{heading}.** {}", text(words)));
            }
            if let Some(published) = &about.published {
                self.line(&format!("```text\n{published}\n```"));
            }
            if let Some(source) = &about.source {
                self.line(&format!("Source: {}", text(source)));
            }
        }
        let sides = sides.filter(|_| !own_form).map(Sides::grid);
        for grid in study::grids(summary).into_iter().chain(sides) {
            self.grid(&grid);
        }
        let facts = study::facts(summary);
        if !facts.is_empty() {
            self.line("## How it was measured");
            for (name, value) in facts {
                self.row(&format!("- {name}: {}", text(&value)));
            }
            self.row("");
        }
    }

    fn grid(&mut self, grid: &Grid) {
        self.line(&format!("## {}", text(&grid.heading)));
        if !grid.rows.is_empty() {
            let heads: Vec<String> = grid.columns.iter().map(|(name, _)| text(name)).collect();
            let heads: Vec<&str> = heads.iter().map(String::as_str).collect();
            let sides: String = grid
                .columns
                .iter()
                .map(|(_, number)| if *number { 'r' } else { 'l' })
                .collect();
            self.table(&heads, &sides);
            for (index, row) in grid.rows.iter().enumerate() {
                let cells: Vec<String> = row
                    .iter()
                    .map(
                        |cell| match grid.strong.contains(&index) && !cell.is_empty() {
                            true => format!("**{}**", text(cell)),
                            false => text(cell),
                        },
                    )
                    .collect();
                self.row(&format!("| {} |", cells.join(" | ")));
            }
            self.row("");
        }
        for note in &grid.notes {
            self.line(&text(note));
        }
    }

    fn tune(&mut self, tune: &TuneSummary, sides: Option<&Sides>) {
        self.line(&format!(
            "{} · {}",
            text(&tune.header.server_version),
            text(&tune.header.workload)
        ));
        self.rungs(tune);
        self.costs(&Summary::Tune(Box::new(tune.clone())));
        if let Some(sides) = sides {
            self.grid(&sides.grid());
        }
        if let Some(total) = &tune.total {
            self.lesser(total);
        }
        self.screened(tune);
        if !tune.together.is_empty() {
            self.line("## Levers that act on each other");
            for pair in &tune.together {
                self.row(&format!("- {}", text(&wording::together(pair))));
            }
            self.row("");
        }
        if let Some(searched) = &tune.searched {
            self.line("## Ranges searched");
            for line in wording::searched(searched, tune.total.is_some()) {
                self.row(&format!("- {}", text(&line)));
            }
            self.row("");
        }
        if !tune.not_tried.is_empty() {
            self.line("## Not tried");
            for (reason, levers) in wording::by_reason(&tune.not_tried) {
                let titles: Vec<String> = levers.iter().map(|lever| text(&lever.title)).collect();
                self.row(&format!(
                    "- {}: {}",
                    titles.join(", "),
                    text(&reason.to_string())
                ));
            }
            self.row("");
        }
        self.line("## How it was measured");
        self.builds(&tune.header.builds);
        let time = wording::time(&tune.header);
        self.row(&format!("- Time: {time}"));
        self.noise(tune.header.sd_duel, true);
        if let Some(total) = &tune.total {
            self.row(&format!("- {COUPLES}: {}", wording::dropped(total)));
            if let Some(nodes) = wording::nodes(total) {
                self.row(&format!("- Nodes: {}", text(&nodes)));
            }
        }
        self.row(&format!("- Error probability: α = {}", tune.header.alpha));
        self.row("");
    }

    /// What it costs to apply; nothing of a study that ends with nothing to apply.
    fn costs(&mut self, summary: &Summary) {
        let Some(lines) = applying(summary) else {
            return;
        };
        self.line(&format!("## {HEADING}"));
        for (name, words) in lines {
            self.row(&format!("- {name}: {}", text(&words)));
        }
        self.row("");
    }

    /// The way from the starting point to the final variant.
    fn rungs(&mut self, tune: &TuneSummary) {
        if !tune.rungs.is_empty() {
            self.line("## From the starting point to the final variant");
            self.table(
                &[
                    "Lever",
                    "Change",
                    wording::judged_by(tune.header.goal),
                    "Standing",
                ],
                "llrl",
            );
            for step in ladder::steps(tune) {
                let bold = |s: &str| {
                    if step.total {
                        format!("**{s}**")
                    } else {
                        s.to_owned()
                    }
                };
                self.row(&format!(
                    "| {} | {} | {} | {} |",
                    bold(&text(&step.title)),
                    code(&step.change),
                    bold(&step.numbers),
                    step.standing,
                ));
            }
            self.row("");
            let mut notes = vec![ladder::HOW_TO_READ];
            notes.extend(ladder::meanings(tune));
            self.line(&format!("{} {}", notes.join(" "), ladder::N_MEANS));
        }
    }

    /// What was measured and not kept, and the controls.
    fn screened(&mut self, tune: &TuneSummary) {
        let checks = [
            (&tune.negative_control, "negative control"),
            (&tune.positive_control, "positive control"),
        ];
        let checks: Vec<(&Screened, &str)> = checks
            .into_iter()
            .filter_map(|(lever, role)| Some((lever.as_ref()?, role)))
            .collect();
        if !tune.not_helped.is_empty() || !checks.is_empty() {
            self.line("## Measured and not kept");
            self.table(&["Lever", "Change", "Screened, 95 %", ""], "llrl");
            let dropped = tune.not_helped.iter().map(|lever| (lever, ""));
            for (lever, role) in dropped.chain(checks) {
                self.row(&format!(
                    "| {} | {} | {} | {role} |",
                    text(&lever.title),
                    code(&lever.change),
                    number::estimate(&lever.effect),
                ));
            }
            self.row("");
            if let Some(note) = wording::many_intervals(tune.not_helped.len()) {
                self.line(&note);
            }
        }
    }

    fn compare(&mut self, compare: &CompareSummary, sides: Option<&Sides>) {
        let comparison = &compare.comparison;
        self.line(&text(&compare.header.workload));
        self.table(&["", "Variant", "Median tps, for orientation"], "llr");
        for (side, label, tps) in [
            ("A", &comparison.a, comparison.tps[0]),
            ("B", &comparison.b, comparison.tps[1]),
        ] {
            self.row(&format!(
                "| {side} | {} | {} |",
                text(label),
                number::rate(tps)
            ));
        }
        self.row("");
        self.costs(&Summary::Compare(Box::new(compare.clone())));
        if let Some(sides) = sides {
            self.grid(&sides.grid());
        }
        self.lesser(comparison);
        self.line("## How it was measured");
        self.builds(&compare.header.builds);
        self.row(&format!("- Protocol: {}", compare.header.protocol));
        let time = wording::time(&compare.header);
        self.row(&format!("- Time: {time}"));
        self.noise(compare.header.sd_duel, false);
        self.row(&format!("- {COUPLES}: {}", wording::dropped(comparison)));
        if let Some(nodes) = wording::nodes(comparison) {
            self.row(&format!("- Nodes: {nodes}"));
        }
        let error = wording::error_probability(comparison.judged());
        self.row(&format!("- Error probability over all looks: {error}"));
        self.row("");
    }

    fn lesser(&mut self, comparison: &Comparison) {
        let judgement = comparison.judged();
        self.line("## Verdicts");
        self.table(&["B over A", "Estimate", "How to read it"], "lrl");
        self.row(&format!(
            "| {} | {} | {}, {}, {} |",
            comparison.goal.title(),
            number::estimate(&comparison.goal.figure(&judgement.estimate)),
            wording::verdict_on_goal(comparison),
            number::count(judgement.duels, "duel"),
            wording::error_probability(judgement),
        ));
        for claim in wording::lesser_claims(comparison) {
            self.row(&format!(
                "| {} | {} | {} |",
                claim.title,
                number::estimate(&claim.estimate),
                claim.note
            ));
        }
        self.row("");
    }

    fn builds(&mut self, notes: &[BuildNote]) {
        for (name, value) in wording::builds(notes) {
            self.row(&format!("- {name}: {}", text(&value)));
        }
    }

    fn noise(&mut self, sd_duel: Option<f64>, screening: bool) {
        if let Some(sd) = sd_duel {
            self.row(&format!("- Noise: {}", wording::noise(sd, screening)));
        }
    }

    fn nodes_held(&mut self, report: &Report) {
        let Some(account) = &report.nodes_held else {
            return;
        };
        self.line("## What nodes were held for");
        let rows = node_account::rows(account);
        let rows = rows
            .iter()
            .map(|(name, seconds)| format!("- {name}: {seconds} s"));
        let troubles = node_account::troubles(account).into_iter();
        for row in rows.chain(troubles.map(|line| format!("- {}", text(&line)))) {
            self.row(&row);
        }
        self.row("");
    }

    fn repeat(&mut self, report: &Report) {
        self.line("## To repeat it");
        let command = &report.study.command;
        let fence = if command.contains("```") {
            "~~~~"
        } else {
            "```"
        };
        self.line(&format!("{fence}\n{command}\n{fence}"));
        self.row(&format!(
            "Seed {seed} (`--seed {seed}` draws the same order), Niagara {}.",
            report.study.niagara_version,
            seed = report.study.seed
        ));
        let (judged, screened) = report.judged_and_screened();
        for variant in judged {
            self.row("");
            self.row(&format!(
                "- **{}** ({})",
                text(&variant.label),
                text(&variant.server_version)
            ));
            self.row(&format!("  {}", code(&variant.command)));
        }
        if !screened.is_empty() {
            self.row("");
            self.row(&format!(
                "- and {} of the screening and the search: report.html has their commands, results.db all of them",
                screened.len()
            ));
        }
    }

    fn table(&mut self, heads: &[&str], columns: &str) {
        self.row(&format!("| {} |", heads.join(" | ")));
        let rules: String = columns
            .chars()
            .map(|c| if c == 'r' { " ---: |" } else { " --- |" })
            .collect();
        self.row(&format!("|{rules}"));
    }

    /// A paragraph.
    fn line(&mut self, text: &str) {
        // Writing to a string cannot fail.
        let _ = write!(self.0, "{text}\n\n");
    }

    fn row(&mut self, text: &str) {
        let _ = writeln!(self.0, "{text}"); // as above
    }
}

/// Text in which nothing is taken for markup.
fn text(plain: &str) -> String {
    let mut out = String::with_capacity(plain.len());
    for c in plain.chars() {
        match c {
            '\n' | '\r' => out.push(' '),
            '|' | '<' | '*' | '`' | '\\' => {
                out.push('\\');
                out.push(c);
            }
            _ => out.push(c),
        }
    }
    out
}

/// Text in the type of code, also within a table.
fn code(plain: &str) -> String {
    if plain.is_empty() {
        return String::new();
    }
    let plain = plain.replace(['\n', '\r'], " ").replace('|', "\\|");
    if plain.contains('`') {
        format!("`` {plain} ``")
    } else {
        format!("`{plain}`")
    }
}
