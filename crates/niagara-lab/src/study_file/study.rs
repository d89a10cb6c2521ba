//! A study as its file describes it, in one size: every default filled in, every name understood.

use std::time::Duration;

use niagara_store::{About, Goal};
use serde::Serialize;

use crate::lever::{Change, Item};
use crate::rate::RateChoice;
use crate::spec::{Load, Protocol};

/// Left out of what a study is known by, so that studies begun before there were goals go on.
fn is_throughput(goal: &Goal) -> bool {
    *goal == Goal::Throughput
}

/// What a study asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum StudyKind {
    /// Is B faster than A?
    Compare,
    /// What does each step add, in this order?
    Ladder,
    /// Which combination is best?
    Matrix,
    /// Where does it stop scaling, and why?
    Sweep,
}

impl std::fmt::Display for StudyKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Compare => "compare",
            Self::Ladder => "ladder",
            Self::Matrix => "matrix",
            Self::Sweep => "sweep",
        })
    }
}

/// The size a study is run in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum StudySize {
    /// A laptop finishes it.
    Small,
    /// True to the original.
    Original,
}

impl std::fmt::Display for StudySize {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Small => "small",
            Self::Original => "original",
        })
    }
}

/// One study in one size. What it serialises to decides what is measured, words aside.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StudyDescription {
    /// Words for people: they decide nothing.
    #[serde(skip)]
    pub about: About,
    /// The server that `base` is.
    pub server: String,
    /// Storage engine of the tables.
    pub engine: String,
    /// The loads, thread counts aside; a matrix may have several.
    pub workloads: Vec<StudyWorkload>,
    /// Connections, ascending.
    pub threads: Vec<u32>,
    /// How variants meet.
    pub protocol: Protocol,
    /// What decides.
    #[serde(skip_serializing_if = "is_throughput")]
    pub goal: Goal,
    /// The rate at which latencies are compared, where they are the goal.
    #[serde(skip)]
    pub rate: Option<RateChoice>,
    /// Error probability.
    pub alpha: f64,
    /// Smallest worthwhile gain, as a fraction.
    pub min_effect: f64,
    /// Seed asked for.
    #[serde(skip)]
    pub seed: Option<u64>,
    /// Time for all measurements, set-up aside.
    #[serde(skip)]
    pub budget: Duration,
    /// Most duels for one question.
    pub duels: usize,
    /// Couples in a duel, where given.
    pub couples: Option<u32>,
    /// Counted time of a slice, where given.
    pub slice: Option<Duration>,
    /// Longest warm-up of a side.
    pub warm_up: Duration,
    /// Share of the CPUs that others may take before a slice is dropped.
    pub disturbance: f64,
    /// The host that the load comes from, if not this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_host: Option<String>,
    /// The question.
    pub question: StudyQuestion,
}

/// A load of a study.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StudyWorkload {
    /// As the file calls it.
    pub name: String,
    /// Whether builds were trained with it.
    pub trained: bool,
    /// Workload and engine; its threads are those of the study's first count.
    pub load: Load,
}

/// What is asked, with what.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum StudyQuestion {
    /// Is B faster than A?
    Compare {
        /// A, the yardstick, and B, the one in question.
        sides: Box<[VariantRecipe; 2]>,
    },
    /// What does each step add?
    Ladder {
        /// What it starts from.
        start: Box<VariantRecipe>,
        /// The steps, in order.
        rungs: Vec<RungRecipe>,
    },
    /// Which combination is best?
    Matrix {
        /// What the levels are applied to.
        start: Box<VariantRecipe>,
        /// What is combined.
        axes: Vec<AxisRecipe>,
        /// Every combination, or one axis at a time beside the baseline.
        all: bool,
    },
    /// Where does it stop scaling?
    Sweep {
        /// Whose curves are drawn.
        variants: Vec<VariantRecipe>,
    },
}

impl StudyQuestion {
    /// Which of the four it is.
    pub fn kind(&self) -> StudyKind {
        match self {
            Self::Compare { .. } => StudyKind::Compare,
            Self::Ladder { .. } => StudyKind::Ladder,
            Self::Matrix { .. } => StudyKind::Matrix,
            Self::Sweep { .. } => StudyKind::Sweep,
        }
    }
}

/// How a variant is made from another one (from the packaged server, unless said otherwise).
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct VariantRecipe {
    /// What people call it; the variant's own label where there is none.
    #[serde(skip)]
    pub title: Option<String>,
    /// Another server than the study's.
    pub server: Option<String>,
    /// Another storage engine than the study's.
    pub engine: Option<String>,
    /// Levers and variables, in order.
    pub items: Vec<Item>,
    /// What else is changed, last: it has the last word.
    pub change: Change,
}

/// A rung of a ladder.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RungRecipe {
    /// For people, and its name in the results.
    pub title: String,
    /// What the published study found.
    #[serde(skip)]
    pub published: Option<String>,
    /// What it is today.
    #[serde(skip)]
    pub why: Option<String>,
    /// Why it cannot be tried today, where it cannot.
    pub cannot: Option<String>,
    /// What it changes.
    pub recipe: VariantRecipe,
}

/// An axis of a matrix.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AxisRecipe {
    /// What the levels are levels of.
    pub name: String,
    /// The first is the baseline.
    pub levels: Vec<LevelRecipe>,
}

/// A level of an axis.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LevelRecipe {
    /// Short.
    pub name: String,
    /// What it changes.
    pub recipe: VariantRecipe,
}
