//! What a study is about to do and what it can show, told before it starts.

use std::collections::BTreeSet;

use niagara_lab::lever::Item;
use niagara_lab::study_file::{StudyDescription, StudyQuestion, VariantRecipe};
use niagara_lab::{Lengths, Protocol, assumed_sd, duel_seconds, sweep_protocol};
use niagara_server::build::Recipe;
use niagara_stats::{LookPlan, detectable};
use serde::Serialize;

use crate::progress::clock;

/// Standard deviation of the throughput of one fresh start, as a share: of a pair of runs one after the other it was
/// 7.7 % on a shared 2-core machine (docs/methodology.md), a run has 1/√2 of that.
const ASSUMED_START_SD: f64 = 0.054;

/// A study's plan.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunPlan {
    /// `compare`, `ladder`, `matrix`, `sweep`.
    pub kind: String,
    /// For people.
    pub title: String,
    /// `small` or `original`.
    pub size: String,
    /// The loads, a line each.
    pub workloads: Vec<String>,
    /// Connections.
    pub threads: Vec<u32>,
    /// What is judged or measured: rungs and total, cells and confirmation, points.
    pub questions: usize,
    /// What those are called.
    pub question: String,
    /// Rungs that the file says cannot be tried today.
    pub cannot: usize,
    /// Duels (fresh starts) of a question at the most.
    pub duels_each: usize,
    /// Duels of all questions that fit into the budget.
    pub duels_in_budget: usize,
    /// Estimated seconds of a duel (start).
    pub duel_seconds: f64,
    /// Seconds when every question takes all of its duels.
    pub seconds_at_most: f64,
    /// Seconds asked for.
    pub budget_seconds: f64,
    /// Servers to build, by their recipes.
    pub builds: Vec<String>,
    /// Smallest difference that a question shows 4 times in 5 when the time is shared evenly, as a fraction.
    pub detectable: Option<f64>,
    /// Smallest gain that is worth the trouble, as a fraction.
    pub min_effect: f64,
}

/// Seconds of one duel, pair or start.
pub fn unit_seconds(protocol: Protocol, lengths: &Lengths, couples: u32) -> f64 {
    let slice = lengths.slice_seconds + lengths.ramp_seconds + 0.03;
    let run = |windows: f64| 1.0 + lengths.warm_up_seconds + windows * slice;
    match protocol {
        Protocol::Duel => duel_seconds(lengths, couples),
        Protocol::Pair => 2.0 * run(f64::from(couples)),
        Protocol::Trimmed => 10.0 * run(1.0),
        Protocol::Solo => run(f64::from(couples)),
    }
}

/// The plan of `study`.
pub fn plan(study: &StudyDescription, lengths: &Lengths) -> RunPlan {
    let combinations = |axes: &[usize], all: bool| {
        if all {
            axes.iter().product::<usize>().saturating_sub(1)
        } else {
            axes.iter().map(|levels| levels - 1).sum()
        }
    };
    let mut cannot = 0;
    let (questions, question, protocol) = match &study.question {
        StudyQuestion::Compare { .. } => (1, "comparison", study.protocol),
        StudyQuestion::Ladder { rungs, .. } => {
            cannot = rungs.iter().filter(|rung| rung.cannot.is_some()).count();
            (
                rungs.len() - cannot + 1,
                "rungs and the total",
                study.protocol,
            )
        }
        StudyQuestion::Matrix { axes, all, .. } => {
            let levels: Vec<usize> = axes.iter().map(|axis| axis.levels.len()).collect();
            let cells = combinations(&levels, *all) * study.workloads.len() * study.threads.len();
            (
                cells + 1,
                "cells and the confirmation of the best",
                study.protocol,
            )
        }
        StudyQuestion::Sweep { variants } => {
            let protocol = sweep_protocol(variants.len());
            let lanes = if protocol == Protocol::Duel {
                1
            } else {
                variants.len()
            };
            (study.threads.len() * lanes, "points", protocol)
        }
    };
    let seconds = unit_seconds(protocol, lengths, lengths.couples);
    let duels_each = if protocol == Protocol::Trimmed {
        1
    } else {
        study.duels
    };
    let budget_seconds = study.budget.as_secs_f64();
    let in_budget = ((budget_seconds / seconds) as usize).min(questions * duels_each);
    let fair_share = in_budget / questions;
    let first_look = LookPlan::standard(study.alpha)
        .truncated(study.duels)
        .looks
        .iter()
        .find(|look| look.critical.is_some())
        .map_or(usize::MAX, |look| look.duels);
    let detectable = match protocol {
        Protocol::Solo if fair_share >= 2 => Some(detectable(ASSUMED_START_SD, fair_share)),
        Protocol::Duel
            if fair_share >= first_look
                || matches!(study.question, StudyQuestion::Sweep { .. }) && fair_share >= 2 =>
        {
            Some(detectable(assumed_sd(lengths.couples), fair_share))
        }
        _ => None,
    };
    RunPlan {
        kind: study.question.kind().to_string(),
        title: study.about.title.clone(),
        size: study.about.size.clone(),
        workloads: study
            .workloads
            .iter()
            .map(|workload| workload.load.one_line())
            .collect(),
        threads: study.threads.clone(),
        questions,
        question: question.to_owned(),
        cannot,
        duels_each,
        duels_in_budget: in_budget,
        duel_seconds: seconds,
        seconds_at_most: seconds * (questions * duels_each) as f64,
        budget_seconds,
        builds: builds(&study.question),
        detectable,
        min_effect: study.min_effect,
    }
}

/// Every recipe that some variant of the question is built by. Rungs add to what was kept before them: those are told
/// by what they add.
fn builds(question: &StudyQuestion) -> Vec<String> {
    let recipes: Vec<&VariantRecipe> = match question {
        StudyQuestion::Compare { sides } => sides.iter().collect(),
        StudyQuestion::Ladder { start, rungs } => std::iter::once(&**start)
            .chain(rungs.iter().map(|rung| &rung.recipe))
            .collect(),
        StudyQuestion::Matrix { start, axes, .. } => std::iter::once(&**start)
            .chain(
                axes.iter()
                    .flat_map(|axis| &axis.levels)
                    .map(|level| &level.recipe),
            )
            .collect(),
        StudyQuestion::Sweep { variants } => variants.iter().collect(),
    };
    let found: BTreeSet<String> = recipes
        .into_iter()
        .filter_map(|recipe| {
            let mut build: Option<Recipe> = None;
            for item in &recipe.items {
                if let Item::Build { key, value } = item {
                    // Was read by the same function when the file was, so it is valid.
                    let _ = build.get_or_insert_default().set(key, value);
                }
            }
            build.map(|recipe| recipe.one_line())
        })
        .collect();
    found.into_iter().collect()
}

impl RunPlan {
    /// For the terminal.
    pub fn text(&self) -> String {
        let seconds = |seconds: f64| clock(std::time::Duration::from_secs_f64(seconds));
        let threads: Vec<String> = self.threads.iter().map(u32::to_string).collect();
        let mut lines = vec![
            format!("{}: {} ({} size)", self.kind, self.title, self.size),
            format!("  load: {}", self.workloads.join("; ")),
            format!("  threads: {}", threads.join(", ")),
        ];
        let unit = if self.kind == "sweep" {
            "fresh starts"
        } else {
            "duels"
        };
        lines.push(format!(
            "  {} {}, each up to {} {unit} of about {:.0} s; {} with every one of them, {} asked for: room for {} {unit}",
            self.questions,
            self.question,
            self.duels_each,
            self.duel_seconds,
            seconds(self.seconds_at_most),
            seconds(self.budget_seconds),
            self.duels_in_budget,
        ));
        if self.cannot > 0 {
            lines.push(format!(
                "  {} rungs of the original cannot be tried today: the report says why",
                self.cannot
            ));
        }
        lines.push(match self.builds.len() {
            0 => "  nothing to build".to_owned(),
            n => format!(
                "  {n} builds, kept for the next time: {}",
                self.builds.join("; ")
            ),
        });
        lines.push(match self.detectable {
            Some(effect) if effect > self.min_effect && self.kind != "sweep" => format!(
                "  it shows a difference of {:.1} % or more, 4 times in 5; a smaller one may go unseen in this time: \
                 a longer --budget sees more",
                effect * 100.0
            ),
            Some(effect) => format!(
                "  it shows a difference of {:.1} % or more, 4 times in 5",
                effect * 100.0
            ),
            None => "  the time is too short for a verdict on each: a longer --budget, or fewer of them".to_owned(),
        });
        lines.join("\n")
    }
}
