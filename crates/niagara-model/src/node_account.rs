//! Nodes of a study whose duels were run elsewhere: which duel each ran, and what they were held for.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{NodeTrouble, SharedMachine};

/// Where and how a duel was run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FoughtOn {
    /// The duel's place in its study.
    pub seq: u32,
    /// The duel's name in the shared folder.
    pub duel: String,
    /// The node.
    pub node: String,
    /// What tells its machine from others, for nodes that share one; empty where nothing does.
    pub machine: String,
    /// The worker and its incarnation.
    pub worker: String,
    /// Which attempt it was, from 1.
    pub epoch: u32,
}

/// Node-seconds by what they were spent on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NodeSeconds {
    /// Under load, in duels that a verdict rests on.
    pub load: f64,
    /// Starting servers, reading tables, changing sides, ending, in the same duels.
    pub restarts: f64,
    /// From the job's start to the worker's first line, and what of it has no other name.
    pub starting: f64,
    /// Copying servers and data to the node, setting them up.
    pub staging: f64,
    /// With nothing to run: at a look, or between questions.
    pub waiting: f64,
    /// In attempts that brought no result that counts, and silent.
    pub lost: f64,
    /// After the last duel that counts: duels beyond the look that answered the question, ending.
    pub tail: f64,
}

impl NodeSeconds {
    /// All parts, each with its name for people.
    pub fn parts(&self) -> [(&'static str, f64); 7] {
        [
            ("under load in duels that count", self.load),
            ("restarts around them", self.restarts),
            ("starting", self.starting),
            ("staging", self.staging),
            ("waiting", self.waiting),
            ("lost", self.lost),
            ("tail", self.tail),
        ]
    }

    /// The sum of two.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            load: self.load + other.load,
            restarts: self.restarts + other.restarts,
            starting: self.starting + other.starting,
            staging: self.staging + other.staging,
            waiting: self.waiting + other.waiting,
            lost: self.lost + other.lost,
            tail: self.tail + other.tail,
        }
    }

    /// All of them.
    pub fn held(&self) -> f64 {
        self.parts().iter().map(|(_, seconds)| seconds).sum()
    }

    /// Seconds of load that a verdict rests on, of all seconds that nodes were held; 0 of nothing.
    pub fn share_of_load(&self) -> f64 {
        match self.held() {
            held if held > 0.0 => self.load / held,
            _ => 0.0,
        }
    }
}

/// What nodes were held for, and what went wrong on them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NodeAccount {
    /// Workers that there were, in all sittings.
    pub workers: usize,
    /// Seconds that nodes were held: the sum of all parts.
    pub held: f64,
    /// Node-seconds.
    #[serde(flatten)]
    pub seconds: NodeSeconds,
    /// Nodes that were set aside.
    pub set_aside: Vec<NodeTrouble>,
    /// Attempts that were lost after they had begun.
    pub losses: Vec<NodeTrouble>,
    /// Workers that were on a machine on which another one worked.
    pub on_one_machine: Vec<SharedMachine>,
}
