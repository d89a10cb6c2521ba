//! Fold-over duels: every duel sets every lever, one side the mirror image of the other, and least squares tells the
//! levers apart.
//!
//! Drift cancels within the duel, and what two switches do together cancels between a row and its mirror. What a level of a
//! choice does together with a switch does not cancel: where it stands out, it is fitted too.

mod design;
mod few;
mod fit;
mod interactions;
mod projection;
mod ruinous;
mod unsteady;
mod weights;

pub use design::{design, design_among, design_order};
pub use few::{Expected, strongest_beside};
pub use fit::{Effect, Fit, Interaction, effects};
pub use interactions::interactions;
pub use ruinous::ruinous;
pub use unsteady::{Unsteady, unsteady};
pub use weights::weights;

use serde::{Deserialize, Serialize};

/// Something a side of a duel is set to. Level 0 is the base.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Factor {
    /// Off (0) or on (1).
    Switch,
    /// One of this many levels, the base among them.
    Choice(usize),
}

impl Factor {
    /// Number of levels, the base among them.
    pub fn levels(&self) -> usize {
        match *self {
            Factor::Switch => 2,
            Factor::Choice(levels) => levels.max(1),
        }
    }
}

/// Two levels of different factors, each as (factor, level), level 1 or more; the smaller factor first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pair {
    /// One of them.
    pub one: (usize, usize),
    /// The other.
    pub other: (usize, usize),
}

/// What one duel sets: for either side the level of every factor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row {
    /// Levels of side A, by factor.
    pub a: Vec<usize>,
    /// Levels of side B, by factor.
    pub b: Vec<usize>,
}

/// A duel that was fought.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Observation {
    /// What it set.
    pub row: Row,
    /// ln(rate of B / rate of A).
    pub score: f64,
    /// How much it counts in the sums of squares, 1 for a duel like most: one over its variance, in relation to theirs.
    pub weight: f64,
}

impl Observation {
    /// One that counts whole.
    pub fn new(row: Row, score: f64) -> Observation {
        Observation {
            row,
            score,
            weight: 1.0,
        }
    }

    /// A score or a contrast of this duel as sums of squares take it.
    fn weighted(&self, value: f64) -> f64 {
        self.weight.sqrt() * value
    }
}
