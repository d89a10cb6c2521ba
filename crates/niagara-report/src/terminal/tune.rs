//! A tuning: on one screen what a colleague is told, in the long form everything.

use niagara_store::{Goal, NotTried, Screened, TuneSummary};

use super::compare::{couples, facts_of, noise};
use super::screen::{Paint, Screen};
use super::tables::Row;
use crate::{number, wording};

impl Screen<'_> {
    /// The levers of the final variant and their total, and both sides' figures.
    pub(super) fn tune_in_short(&mut self, tune: &TuneSummary) {
        self.load_in_short(&tune.header.workload);
        if !tune.rungs.is_empty() {
            self.heading(&heading_of_waterfall(tune.header.goal));
            self.waterfall_in_short(tune);
        }
        if self.sides.is_some() {
            self.figures_in_short(tune.header.goal);
        }
        if let Some(total) = &tune.total {
            self.lesser(total);
        }
    }

    /// What stands beneath what it costs to apply: how it was measured, and whether the method can be believed.
    pub(super) fn measured_in_short(tune: &TuneSummary) -> Vec<(String, String)> {
        let mut facts = wording::builds(&tune.header.builds);
        let mut fact = |name: &str, value: String| facts.push((name.to_owned(), value));
        let took = wording::time_of_asked(&tune.header);
        fact("Measured", format!("{took}; seed {}", tune.header.seed));
        let controls: Vec<String> = [
            (&tune.negative_control, "changes nothing"),
            (&tune.positive_control, "slows the server"),
        ]
        .into_iter()
        .filter_map(|(lever, role)| {
            let effect = &lever.as_ref()?.effect;
            Some(format!("{} ({role})", number::estimate(effect)))
        })
        .collect();
        if !controls.is_empty() {
            fact("Controls", controls.join(", "));
        }
        if let Some(taken) = tune.total.as_ref().and_then(wording::others_took) {
            fact("Others", taken);
        }
        facts
    }

    /// Everything.
    pub(super) fn tune(&mut self, tune: &TuneSummary) {
        self.line("");
        self.wrapped("  ", &tune.header.workload, Paint::Plain);
        if !tune.rungs.is_empty() {
            self.heading(&heading_of_waterfall(tune.header.goal));
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
        .filter_map(|(lever, role)| Some(screened_row(lever.as_ref()?, role)))
        .collect();
        if !checks.is_empty() {
            self.heading("Checks on the method");
            self.table(&checks);
        }
        if !tune.not_tried.is_empty() {
            self.not_tried(&tune.not_tried);
        }
        self.heading("How it was measured");
        self.facts(&facts_of(&facts_of_tune(tune)));
    }

    /// What was measured and is not in the final variant, by name.
    fn not_kept(&mut self, tune: &TuneSummary) {
        if !tune.not_helped.is_empty() {
            self.heading("Measured and not kept (screened, 95 % intervals)");
            let screened = tune.not_helped.iter();
            let rows: Vec<_> = screened.map(|lever| screened_row(lever, "")).collect();
            self.table(&rows);
            if let Some(note) = wording::many_intervals(rows.len()) {
                self.wrapped("  ", &note, Paint::Plain);
            }
        }
        if !tune.together.is_empty() {
            self.heading("Levers that act on each other (screened)");
            for pair in &tune.together {
                self.wrapped("  ", &wording::together(pair), Paint::Plain);
            }
        }
        if let Some(searched) = &tune.searched {
            self.heading("Ranges searched");
            for line in wording::searched(searched, tune.total.is_some()) {
                self.wrapped("  ", &line, Paint::Plain);
            }
        }
    }

    fn not_tried(&mut self, not_tried: &[NotTried]) {
        self.heading(&format!(
            "Not tried: {}",
            number::count(not_tried.len(), "lever")
        ));
        for (reason, levers) in wording::by_reason(not_tried) {
            let titles: Vec<_> = levers.iter().map(|lever| lever.title.as_str()).collect();
            let text = format!("{}: {reason}", titles.join(", "));
            self.wrapped("  ", &text, Paint::Plain);
        }
    }
}

fn heading_of_waterfall(goal: Goal) -> String {
    let heading = "From the starting point to the final variant";
    match goal {
        Goal::Throughput => heading.to_owned(),
        goal => format!(
            "{heading}: {}",
            wording::judged_by(goal).replacen('B', "b", 1)
        ),
    }
}

fn facts_of_tune(tune: &TuneSummary) -> Vec<(String, String)> {
    let mut facts = wording::builds(&tune.header.builds);
    let mut fact = |name: &str, value: String| facts.push((name.to_owned(), value));
    let time = wording::time(&tune.header);
    fact("time", time);
    if let Some(total) = &tune.total {
        fact("couples", couples(total));
        if let Some(nodes) = wording::nodes(total) {
            fact("nodes", nodes);
        }
    }
    if let Some((name, value)) = noise(tune.header.sd_duel, true) {
        fact(name, value);
    }
    fact("error probability", format!("α = {}", tune.header.alpha));
    fact("server", tune.header.server_version.clone());
    fact("seed", tune.header.seed.to_string());
    facts
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
