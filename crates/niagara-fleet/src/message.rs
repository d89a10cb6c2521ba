//! What head and workers write into their logs. Every line says what happened, whole: whoever reads a log from its beginning
//! knows all that its writer knew.

use niagara_model::NodeReason;
use serde::{Deserialize, Serialize};

use crate::machine::Machine;

/// A duel that was granted to a worker for the `epoch`-th time, counted from 1. Only the attempt granted last counts.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Attempt {
    /// The duel's name.
    pub duel: String,
    /// Which attempt at it.
    pub epoch: u32,
}

impl std::fmt::Display for Attempt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.duel, self.epoch)
    }
}

/// A line of the head's log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "kebab-case")]
pub enum HeadLine {
    /// A head begins, or continues.
    Opened {
        /// Its process.
        pid: u32,
        /// Its host.
        host: String,
    },
    /// Slurm took a job array.
    Submitted {
        /// Its number.
        job: String,
        /// Its tasks are 1 to this.
        tasks: u32,
    },
    /// A duel is described in `orders/`.
    Wanted {
        /// Its name.
        duel: String,
        /// Its index within its comparison, for people.
        index: u64,
        /// About how long it takes, seconds.
        seconds: f64,
    },
    /// A worker is to run an attempt.
    Granted {
        /// Which.
        attempt: Attempt,
        /// Who.
        worker: String,
    },
    /// An attempt is over without a result that counts.
    Withdrawn {
        /// Which.
        attempt: Attempt,
        /// Whose.
        worker: String,
        /// Where.
        node: String,
        /// Why.
        why: NodeReason,
        /// Whether it had begun: then it was a loss, else it was only given back.
        begun: bool,
    },
    /// The result of an attempt is the duel's.
    Taken {
        /// Which.
        attempt: Attempt,
        /// Whose.
        worker: String,
        /// Where.
        node: String,
        /// Seconds of load in it.
        load_seconds: f64,
    },
    /// A result came of an attempt that no longer counts.
    Stale {
        /// Which.
        attempt: Attempt,
        /// Whose.
        worker: String,
    },
    /// A worker is there, or is heard of again.
    Arrived {
        /// Its name with its incarnation.
        worker: String,
        /// Its node.
        node: String,
        /// The machine that this is, as far as it said so.
        #[serde(default)]
        machine: Machine,
    },
    /// A worker is on a machine on which another one works.
    Shares {
        /// Which.
        worker: String,
        /// Its node.
        node: String,
        /// Whose machine it is.
        with: String,
        /// That worker's node.
        with_node: String,
        /// Whether they take turns.
        turns: bool,
    },
    /// A worker gets no duels until it is heard of again.
    Silent {
        /// Which.
        worker: String,
    },
    /// A worker gets no more duels, and is to end.
    Fenced {
        /// Which.
        worker: String,
        /// Why.
        why: NodeReason,
    },
    /// A worker has ended, or counts as ended.
    Gone {
        /// Which.
        worker: String,
        /// Seconds from its beginning to when that was known, by the head's clock where it did not say so itself.
        held: f64,
    },
    /// A node failed.
    Failed {
        /// Which.
        node: String,
        /// Why.
        why: NodeReason,
    },
    /// A node gets no more duels.
    SetAside {
        /// Which.
        node: String,
        /// Why.
        why: NodeReason,
    },
    /// The head is there.
    Alive,
    /// The study is over or stopped: all workers are to end.
    Ended,
}

/// A line of a worker's log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorkerLine {
    /// Seconds since the worker's process began, by its own clock.
    pub at: f64,
    /// What it says.
    #[serde(flatten)]
    pub said: Said,
}

/// What a worker does with its time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "doing", rename_all = "kebab-case")]
pub enum Doing {
    /// It copies servers and data to its own disk and sets them up.
    Staging,
    /// It has nothing to run.
    Waiting,
    /// It runs an attempt.
    Duel {
        /// Which.
        attempt: Attempt,
    },
    /// It ends.
    Ending,
}

/// What a worker says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "kebab-case")]
pub enum Said {
    /// It is there.
    Began {
        /// The node's name.
        node: String,
        /// Its process.
        pid: u32,
        /// Seconds for which the node was held before the process began, where Slurm says so.
        held_before: f64,
        /// Seconds left of the job, where there is a limit.
        left: Option<f64>,
        /// The machine that it is on.
        #[serde(default)]
        machine: Machine,
        /// What tells its program from other versions; empty where it does not say.
        #[serde(default)]
        program: String,
    },
    /// It is still there.
    Alive,
    /// From here on it does this.
    Doing(Doing),
    /// A result stands beside the log.
    Finished {
        /// Of which attempt.
        attempt: Attempt,
        /// Length of the result, bytes.
        bytes: u64,
        /// Checksum of the result, XXH3 in hexadecimal.
        sum: String,
        /// Seconds of load in it.
        load_seconds: f64,
    },
    /// Something that whoever waits for it wants to know.
    Notice {
        /// What.
        text: String,
    },
    /// An attempt is over without a result.
    Lost {
        /// Which.
        attempt: Attempt,
        /// Why.
        why: NodeReason,
        /// Whether it had begun.
        begun: bool,
        /// Whether the node is to blame.
        blame: bool,
    },
    /// Nothing can be run on this node.
    Unfit {
        /// Why.
        why: NodeReason,
    },
    /// It ends.
    Ended {
        /// Why.
        why: NodeReason,
    },
}

/// A worker's name with its incarnation: `4711_2.0`.
pub fn incarnation(name: &str, number: u32) -> String {
    format!("{name}.{number}")
}

/// The name and the number of an incarnation.
pub fn name_of(worker: &str) -> (&str, u32) {
    worker
        .rsplit_once('.')
        .and_then(|(name, number)| Some((name, number.parse().ok()?)))
        .unwrap_or((worker, 0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::line::{decode, encode};
    use crate::machine::Sharing;

    #[test]
    fn lines_survive_their_log() {
        let attempt = Attempt {
            duel: "d1".into(),
            epoch: 2,
        };
        for said in [
            Said::Alive,
            Said::Doing(Doing::Waiting),
            Said::Doing(Doing::Duel {
                attempt: attempt.clone(),
            }),
            Said::Lost {
                attempt: attempt.clone(),
                why: NodeReason::Signal,
                begun: true,
                blame: false,
            },
        ] {
            let line = WorkerLine { at: 1.5, said };
            let text = encode(&line).expect("JSON");
            assert_eq!(decode(text.trim_end()), Some(line));
        }
        for line in [
            HeadLine::Alive,
            HeadLine::Granted {
                attempt,
                worker: incarnation("4711_2", 1),
            },
        ] {
            let text = encode(&line).expect("JSON");
            assert_eq!(decode(text.trim_end()), Some(line));
        }
        assert_eq!(name_of("4711_2.1"), ("4711_2", 1));
    }

    #[test]
    fn machines_stand_in_lines_and_lines_without_one_are_understood() {
        let machine = Machine::here(Sharing::Turns { lock: "8:1".into() });
        let began = WorkerLine {
            at: 0.1,
            said: Said::Began {
                node: "n1".into(),
                pid: 7,
                held_before: 0.0,
                left: None,
                machine: machine.clone(),
                program: "1a2b".into(),
            },
        };
        let text = encode(&began).expect("JSON");
        assert_eq!(decode(text.trim_end()), Some(began));
        let before =
            r#"{"at":0.1,"what":"began","node":"n1","pid":7,"held_before":0.0,"left":null}"#;
        let line: WorkerLine = serde_json::from_str(before).expect("a line without a machine");
        let Said::Began { machine: none, .. } = line.said else {
            panic!("{line:?}");
        };
        assert!(!none.is_shared_with(&machine));
        let before = r#"{"what":"arrived","worker":"w1.0","node":"n1"}"#;
        let line: HeadLine = serde_json::from_str(before).expect("a line without a machine");
        let HeadLine::Arrived { machine: none, .. } = line else {
            panic!("{line:?}");
        };
        assert_eq!(none, Machine::default());
    }
}
