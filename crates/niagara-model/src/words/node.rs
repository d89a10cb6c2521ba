//! The English of what was given up on nodes.

use std::fmt::{Display, Formatter, Result};

use crate::{JobEnd, NodeReason, SharedMachine};

impl Display for NodeReason {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::NotWanted => f.write_str("not wanted any more"),
            Self::Error { error } => write!(f, "{error}"),
            Self::Silent { seconds } => write!(f, "silent for {seconds:.0} s"),
            Self::NodeSetAside => f.write_str("its node was set aside"),
            Self::StartedElsewhere => f.write_str("it was started again elsewhere"),
            Self::OtherVersion => f.write_str("it is of another version of niagara than the study"),
            Self::BrokenResult { file } => write!(f, "its result, {file}, is not whole"),
            Self::FailedOften { times, last } => {
                write!(f, "it failed {times} times, last: {last}")
            }
            Self::Stopped { seconds } => write!(f, "the worker was stopped for {seconds} s"),
            Self::Signal => f.write_str("ended by a signal (cancelled, preempted or out of time)"),
            Self::TimeLimitNear => f.write_str("the job's time limit is near"),
            Self::LittleTime { left, needed } => write!(
                f,
                "{left:.0} s are left of the job, a duel is begun with {needed:.0} s or more"
            ),
            Self::Fenced { because } => write!(f, "fenced off: {because}"),
            Self::StudyEnded => f.write_str("the study has ended"),
            Self::NoHead => f.write_str("no sign of a head"),
            Self::JobEnded { end } => end.fmt(f),
            Self::JobFailed { job } => write!(
                f,
                "job {job} failed before its worker said anything (slurm-*.log in the folder, on the node, has its messages)"
            ),
            Self::TakenTime { share, others } => write!(
                f,
                "others took {:.0} % of its CPU time under load, {:.0} % on the other nodes",
                100.0 * share,
                100.0 * others
            ),
            Self::WideSpread { times } => write!(
                f,
                "within its duels slices differ {times:.1} times as much as on the other nodes"
            ),
            Self::FailedTrial { times } => write!(
                f,
                "before its first duel, two servers that are the same differed {times:.1} times as much as on the other nodes"
            ),
        }
    }
}

impl Display for JobEnd {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::Preempted => f.write_str("preempted: a job with more priority got its node"),
            Self::TimeLimit => f.write_str("its time limit was reached"),
            Self::NodeFailed => f.write_str("its node failed"),
            Self::OutOfMemory => f.write_str("its node's memory ran out"),
            Self::Cancelled => f.write_str("cancelled"),
            Self::Failed { reason } => write!(f, "its worker failed ({reason})"),
            Self::Ended => f.write_str("its job has ended"),
        }
    }
}

impl Display for SharedMachine {
    /// What follows for the worker.
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(
            f,
            "it shares the machine of {} on {}, where one duel is run at a time: {}",
            self.with,
            self.with_node,
            match self.turns {
                true => "they take turns",
                false => "that one goes first",
            }
        )
    }
}
