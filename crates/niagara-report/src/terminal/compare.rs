//! A comparison and the studies of a file: on one screen the answer, in the long form everything.

use niagara_store::{CompareSummary, Comparison, Goal, Summary};

use super::screen::{Paint, Screen};
use super::tables::Row;
use super::waterfall::paint_of;
use crate::applying::{HEADING, applying, applying_in_short};
use crate::{number, study, wording};

/// Behind the number of duels of a comparison.
const DUEL_MEANS: &str = "; a duel starts both servers afresh on identical data and switches the load between them in short \
                          slices: it gives one figure";

impl Screen<'_> {
    /// The verdict, both sides' figures, and who they are.
    pub(super) fn compare_in_short(&mut self, compare: &CompareSummary) {
        let comparison = &compare.comparison;
        self.load_in_short(&compare.header.workload);
        self.line("");
        self.verdict(comparison);
        if self.sides.is_some() {
            self.figures_in_short(comparison.goal);
        }
        self.lesser(comparison);
        self.line("");
        let mut facts = vec![("A", comparison.a.clone()), ("B", comparison.b.clone())];
        let mut evidence = evidence(compare);
        if let (None, Some(next)) = (comparison.judged().verdict, comparison.judged().next_look) {
            evidence += &format!(", judged next after {}", number::count(next, "duel"));
        }
        facts.push(("evidence", evidence));
        let builds = wording::builds(&compare.header.builds);
        facts.extend(facts_of(&builds));
        facts.extend(wording::nodes(comparison).map(|nodes| ("nodes", nodes)));
        let others = wording::others_took(comparison);
        facts.extend(others.map(|taken| ("others", taken)));
        let time = wording::time(&compare.header);
        facts.push(("time", format!("{time}; seed {}", compare.header.seed)));
        self.facts(&facts);
    }

    /// Everything.
    pub(super) fn compare(&mut self, compare: &CompareSummary) {
        let comparison = &compare.comparison;
        self.line("");
        self.wrapped("  ", &compare.header.workload, Paint::Plain);
        self.line("");
        self.verdict(comparison);
        self.in_figures();
        self.lesser(comparison);
        self.heading("How it was measured");
        let named = |side: usize, label: &str| {
            let tps = number::rate(comparison.tps[side]);
            format!("{label}: {tps} tps")
        };
        let mut facts = vec![
            ("A", named(0, &comparison.a)),
            ("B", named(1, &comparison.b)),
        ];
        let meaning = match compare.header.protocol.as_str() {
            "duel" => DUEL_MEANS.to_owned(),
            other => format!("; protocol {other}"),
        };
        facts.push(("evidence", evidence(compare) + &meaning));
        let builds = wording::builds(&compare.header.builds);
        facts.extend(facts_of(&builds));
        let judged = comparison.judged();
        if let (None, Some(next)) = (judged.verdict, judged.next_look) {
            let next = format!("after {}", number::count(next, "duel"));
            facts.push(("judged next", next));
        }
        facts.extend(noise(compare.header.sd_duel, false));
        facts.push(("couples", couples(comparison)));
        facts.extend(wording::nodes(comparison).map(|nodes| ("nodes", nodes)));
        let time = wording::time(&compare.header);
        facts.push(("time", time));
        facts.push(("seed", compare.header.seed.to_string()));
        self.facts(&facts);
    }

    fn verdict(&mut self, comparison: &Comparison) {
        let judged = comparison.judged();
        self.table(&[Row {
            title: format!("{}, B over A", comparison.goal.title()),
            estimate: number::estimate(&comparison.goal.figure(&judged.estimate)),
            note: wording::verdict_on_goal(comparison),
            paint: match judged.withdrawn {
                true => Paint::Plain,
                false => paint_of(&judged.estimate),
            },
        }]);
    }

    /// The load, in the line beneath the headline, and that nothing failed under it.
    pub(super) fn load_in_short(&mut self, workload: &str) {
        let flawless = self.sides.is_some_and(|sides| sides.had_no_errors());
        let errors = if flawless { "; no errors" } else { "" };
        self.wrapped("  ", &format!("{workload}{errors}"), Paint::Plain);
    }

    /// Other ratios of a comparison; in short only those that no table of figures has.
    pub(super) fn lesser(&mut self, comparison: &Comparison) {
        let mut claims = wording::lesser_claims(comparison);
        if self.sides.is_some() && !self.verbose {
            claims.retain(|claim| claim.title == wording::AS_MEASURED);
        }
        if claims.is_empty() {
            return;
        }
        let goal = comparison.goal.title().to_lowercase();
        self.heading(&format!("Beside {goal}"));
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

    /// What both sides did in absolute figures.
    pub(super) fn in_figures(&mut self) {
        if let Some(sides) = self.sides {
            self.full_grid(&sides.grid());
        }
    }

    /// The same on one screen.
    pub(super) fn figures_in_short(&mut self, goal: Goal) {
        if let Some(sides) = self.sides {
            self.short_grid(&sides.grid_in_short(goal));
        }
    }

    /// What it costs to apply, and on one screen how a tuning was measured; there nothing of a study that proved nothing.
    pub(super) fn costs(&mut self, summary: &Summary) {
        if self.verbose {
            if let Some(lines) = applying(summary) {
                self.heading(HEADING);
                self.facts(&lines);
            }
            return;
        }
        let measured = match summary {
            Summary::Tune(tune) => Self::measured_in_short(tune),
            _ => Vec::new(),
        };
        let mut lines = applying_in_short(summary).unwrap_or_default();
        lines.extend(facts_of(&measured));
        if !lines.is_empty() {
            self.line("");
            self.facts(&lines);
        }
    }

    /// A ladder, a matrix or a sweep: its tables, and how it was measured.
    pub(super) fn study(&mut self, summary: &Summary) {
        let facts = study::facts(summary);
        if self.verbose {
            for grid in study::grids(summary) {
                self.full_grid(&grid);
            }
            self.in_figures();
            self.heading("How it was measured");
            self.facts(&facts_of(&facts));
            return;
        }
        for grid in study::grids(summary) {
            self.short_grid(&grid);
        }
        self.figures_in_short(Goal::Throughput);
        let is_kept = |name: &str| !["noise", "protocol", "error probability"].contains(&name);
        let facts = facts_of(&facts).into_iter();
        let facts: Vec<_> = facts.filter(|(name, _)| is_kept(name)).collect();
        self.line("");
        self.facts(&facts);
    }
}

/// Names borrowed, so that fixed ones may stand beside them.
pub(super) fn facts_of(facts: &[(String, String)]) -> Vec<(&str, String)> {
    facts
        .iter()
        .map(|(name, value)| (name.as_str(), value.clone()))
        .collect()
}

fn evidence(compare: &CompareSummary) -> String {
    let judged = compare.comparison.judged();
    let duels = number::count(judged.duels, "duel");
    format!("{duels}, {}", wording::error_probability(judged))
}

pub(super) fn noise(sd_duel: Option<f64>, screening: bool) -> Option<(&'static str, String)> {
    Some(("noise", wording::noise(sd_duel?, screening)))
}

/// Couples, with a word on what they are.
pub(super) fn couples(comparison: &Comparison) -> String {
    format!(
        "{} (a couple: two neighbouring slices, one of each server)",
        wording::dropped(comparison)
    )
}
