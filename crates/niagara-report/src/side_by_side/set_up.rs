//! Under what two studies were measured, and what of it differs.

use niagara_model::{Summary, VariantRecord};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::flat::flat;
use crate::{Report, number};

/// Something that was set up, in both studies.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Fact {
    /// What it belongs to.
    pub of: Part,
    /// What it is: `kernel`, `cpu › model`.
    pub name: String,
    /// In the first and in the second study; `None` where it is not known or not there.
    pub values: [Option<String>; 2],
    /// Whether the two differ.
    pub differs: bool,
}

/// Where facts belong, in the order in which they are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Part {
    /// What was asked: workload, goal, budget.
    Study,
    /// The machine, its kernel and its limits.
    Machine,
    /// The server that both studies measured against, and its settings.
    Start,
    /// Details of the plan.
    Plan,
}

impl Part {
    /// For people.
    pub fn title(self) -> &'static str {
        match self {
            Self::Study => "study",
            Self::Machine => "machine",
            Self::Start => "server A",
            Self::Plan => "plan",
        }
    }
}

/// Everything that both or one of them recorded, part by part.
pub fn set_up(reports: [&Report; 2]) -> Vec<Fact> {
    let [first, second] = reports.map(recorded);
    let mut names: Vec<(Part, &String)> = Vec::new();
    for (part, name, _) in first.iter().chain(&second) {
        if !names.contains(&(*part, name)) {
            names.push((*part, name));
        }
    }
    // Stable: within a part the order stays that of the records.
    names.sort_by_key(|(part, _)| *part);
    let of = |facts: &[(Part, String, String)], part: Part, name: &str| {
        let mut found = facts.iter().filter(|(p, n, _)| *p == part && n == name);
        found.next().map(|(_, _, value)| value.clone())
    };
    names
        .into_iter()
        .map(|(part, name)| {
            let values = [of(&first, part, name), of(&second, part, name)];
            Fact {
                of: part,
                name: name.clone(),
                differs: values[0] != values[1],
                values,
            }
        })
        .collect()
}

fn recorded(report: &Report) -> Vec<(Part, String, String)> {
    let mut facts: Vec<(Part, String, String)> = Vec::new();
    let mut fact = |part: Part, name: &str, value: String| {
        if !value.is_empty() {
            facts.push((part, name.to_owned(), value));
        }
    };
    fact(Part::Study, "question", report.study.kind.clone());
    if let Some(summary) = &report.summary {
        for (name, value) in asked(summary) {
            fact(Part::Study, name, value);
        }
    }
    fact(Part::Study, "Niagara", report.study.niagara_version.clone());
    for (name, value) in flat(&report.study.machine) {
        fact(Part::Machine, &name, value);
    }
    if let Some(start) = start(report) {
        fact(Part::Start, "version", start.server_version.clone());
        for (name, value) in flat(&start.content) {
            fact(Part::Start, &name, value);
        }
    }
    if let Some(settings) = report.start_settings() {
        fact(Part::Start, "main settings", settings);
    }
    for (name, value) in flat(&report.study.plan) {
        fact(Part::Plan, &name, value);
    }
    facts
}

/// What was asked, as far as the summary keeps it.
fn asked(summary: &Summary) -> Vec<(&'static str, String)> {
    let header = summary.header();
    let rate = header.rate;
    let mut facts = vec![
        ("workload", header.workload.clone()),
        ("goal", header.goal.title().to_lowercase()),
        (
            "rate",
            rate.map_or(String::new(), |rate| {
                format!("{} transactions/s", number::rate(rate))
            }),
        ),
        ("protocol", header.protocol.clone()),
        (
            "budget",
            header
                .budget_seconds
                .map_or(String::new(), number::duration),
        ),
        ("error probability", format!("α = {}", header.alpha)),
    ];
    if let Summary::Matrix(matrix) = summary {
        let threads: Vec<_> = matrix.threads.iter().map(u32::to_string).collect();
        facts.push(("threads", threads.join(", ")));
    }
    facts
}

/// The variant that the study's main duels measured against; else the first that was launched.
fn start(report: &Report) -> Option<&VariantRecord> {
    let duels = report.main_duels();
    let id = duels.first().map(|duel| duel.variants[0].as_str());
    let named = id.and_then(|id| report.variants.iter().find(|variant| variant.id == id));
    named.or(report.variants.first())
}

/// A machine in a line, from its fingerprint: whatever of it is there.
pub fn machine(machine: &Value) -> String {
    let facts = flat(machine);
    let of = |name: &str| {
        let found = facts.iter().find(|(key, _)| key == name);
        found.map(|(_, value)| value.as_str())
    };
    let parts = [
        of("cpu › model").map(str::to_owned),
        of("cpu › threads").map(|threads| match threads {
            "1" => "1 CPU".to_owned(),
            several => format!("{several} CPUs"),
        }),
        of("system › distribution").map(str::to_owned),
        of("system › kernel").map(|kernel| format!("Linux {kernel}")),
        of("system › virtualisation").map(str::to_owned),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    parts.join(", ")
}
