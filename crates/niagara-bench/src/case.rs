//! What is measured: arrangements, workloads, contestants, and the rounds.

use crate::contestant::{Contestant, Kind, Sample};
use crate::ground::{Ground, Placement};
use crate::ratio::ratio;
use anyhow::{Context, Result};
use niagara_load::WorkloadKind;
use niagara_stats::Estimate;
use rand::seq::SliceRandom;
use serde::Serialize;
use std::time::{Duration, Instant};

/// Rounds below which an interval cannot be had.
const FEWEST_ROUNDS: usize = 6;

/// One arrangement and workload with its contestants.
#[derive(Debug)]
pub struct Case {
    pub name: &'static str,
    pub placement: Placement,
    pub workload: WorkloadKind,
    /// The first one is held against the others.
    pub contestants: &'static [Kind],
    /// Upper limits of the first one's CPU time per query over each other's.
    pub targets: &'static [f64],
}

const BESIDE_SYSBENCH: &[Kind] = &[Kind::Niagara(32), Kind::Sysbench(32), Kind::Floor(32)];
const BESIDE_SYSBENCH_TARGETS: &[f64] = &[0.65, 1.1];

/// All of them.
pub const CASES: [Case; 5] = [
    Case {
        name: "shared-read-only",
        placement: Placement::Shared,
        workload: WorkloadKind::OltpReadOnly,
        contestants: BESIDE_SYSBENCH,
        targets: BESIDE_SYSBENCH_TARGETS,
    },
    Case {
        name: "shared-point-select",
        placement: Placement::Shared,
        workload: WorkloadKind::OltpPointSelect,
        contestants: BESIDE_SYSBENCH,
        targets: BESIDE_SYSBENCH_TARGETS,
    },
    Case {
        name: "pinned-read-only",
        placement: Placement::Pinned,
        workload: WorkloadKind::OltpReadOnly,
        contestants: BESIDE_SYSBENCH,
        targets: BESIDE_SYSBENCH_TARGETS,
    },
    Case {
        name: "pinned-point-select",
        placement: Placement::Pinned,
        workload: WorkloadKind::OltpPointSelect,
        contestants: BESIDE_SYSBENCH,
        targets: BESIDE_SYSBENCH_TARGETS,
    },
    Case {
        name: "pinned-connections",
        placement: Placement::Pinned,
        workload: WorkloadKind::OltpPointSelect,
        contestants: &[Kind::Niagara(4096), Kind::Niagara(64)],
        targets: &[1.15],
    },
];

/// What came out of a case.
#[derive(Debug, Serialize)]
pub struct CaseResult {
    pub name: &'static str,
    pub workload: &'static str,
    pub contestants: Vec<Measured>,
    pub ratios: Vec<Ratio>,
}

/// A contestant's slices, in the order of the rounds.
#[derive(Debug, Serialize)]
pub struct Measured {
    pub name: String,
    pub kind: Kind,
    pub samples: Vec<Sample>,
    /// What its connections added to this process' resident memory, each, in KiB; `None` for sysbench.
    pub kib_per_connection: Option<f64>,
}

/// The first contestant over another.
#[derive(Debug, Serialize)]
pub struct Ratio {
    pub one: String,
    pub other: String,
    /// CPU time per query.
    pub cpu: Estimate,
    /// Queries per second.
    pub throughput: Estimate,
    /// What the CPU ratio is to stay below.
    pub target: f64,
}

impl Case {
    /// Rounds of one slice per contestant, in random order, for about `time`.
    pub fn measure(
        &self,
        ground: &Ground,
        time: Duration,
        slice: Duration,
        loops: Option<usize>,
    ) -> Result<CaseResult> {
        let deadline = Instant::now() + time;
        let pinned = self.placement == Placement::Pinned;
        if pinned && ground.cpus() < 2 {
            anyhow::bail!("{} needs two CPUs; remedy: --only shared", self.name);
        }
        let stand = ground.start(self.placement)?;
        let of_niagara = |kind: &&Kind| matches!(kind, Kind::Niagara(_));
        let once = self.contestants.iter().filter(of_niagara).count() == 1;
        let mut contestants = Vec::new();
        let mut measured = Vec::new();
        for &kind in self.contestants {
            let before = resident_kib()?;
            contestants.push(Contestant::new(kind, self.workload, &stand, loops)?);
            let kib_per_connection = match kind {
                Kind::Niagara(count) | Kind::Floor(count) => {
                    Some((resident_kib()? - before) / f64::from(count))
                }
                Kind::Sysbench(_) => None,
            };
            measured.push(Measured {
                name: kind.name(once),
                kind,
                samples: Vec::new(),
                kib_per_connection,
            });
        }
        // A first round warms the server and the buffers, and does not count.
        for contestant in &mut contestants {
            contestant.slice(slice, stand.client_cpus.as_ref())?;
        }
        let mut order: Vec<usize> = (0..contestants.len()).collect();
        let mut round_time = Duration::ZERO;
        let mut rounds = 0;
        while rounds < FEWEST_ROUNDS || Instant::now() + round_time <= deadline {
            let began = Instant::now();
            order.shuffle(&mut rand::rng());
            for &index in &order {
                let sample = contestants[index].slice(slice, stand.client_cpus.as_ref())?;
                measured[index].samples.push(sample);
            }
            rounds += 1;
            round_time = began.elapsed();
            eprint!("\r{}: {rounds} rounds", self.name);
        }
        eprintln!();
        drop(contestants);
        stand.server.kill();
        Ok(CaseResult {
            name: self.name,
            workload: self.workload.name(),
            ratios: self.ratios(&measured),
            contestants: measured,
        })
    }

    fn ratios(&self, measured: &[Measured]) -> Vec<Ratio> {
        let Some((first, others)) = measured.split_first() else {
            return Vec::new();
        };
        let all = |of: &Measured, value: fn(&Sample) -> f64| -> Vec<f64> {
            of.samples.iter().map(value).collect()
        };
        let compare = |other: &Measured, value: fn(&Sample) -> f64| {
            ratio(&all(first, value), &all(other, value))
        };
        others
            .iter()
            .zip(self.targets)
            .map(|(other, &target)| Ratio {
                one: first.name.clone(),
                other: other.name.clone(),
                cpu: compare(other, |sample| sample.cpu_microseconds),
                throughput: compare(other, |sample| sample.queries_per_second),
                target,
            })
            .collect()
    }
}

/// This process' resident memory.
fn resident_kib() -> Result<f64> {
    let status = std::fs::read_to_string("/proc/self/status").context("reading /proc")?;
    status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .and_then(|rest| rest.split_whitespace().next())
        .and_then(|number| number.parse().ok())
        .context("/proc/self/status says no VmRSS")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_other_contestant_has_a_target() {
        for case in CASES {
            assert_eq!(
                case.targets.len() + 1,
                case.contestants.len(),
                "{}",
                case.name
            );
        }
    }

    #[test]
    fn memory_is_read() {
        assert!(resident_kib().unwrap() > 100.0);
    }
}
