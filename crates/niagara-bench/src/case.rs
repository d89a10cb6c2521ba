//! What is measured: arrangements, workloads, contestants, and the rounds.

use crate::contestant::{Contestant, Kind};
use crate::ground::{Ground, Placement, Stand, spec};
use crate::memory::{self, Memory};
use crate::ratio::ratio;
use crate::sample::Sample;
use crate::script::{Script, Statements};
use anyhow::Result;
use niagara_load::SysbenchTest;
use niagara_stats::Estimate;
use rand::seq::SliceRandom;
use serde::Serialize;
use std::time::{Duration, Instant};

/// Rounds below which an interval cannot be had.
const FEWEST_ROUNDS: usize = 6;

/// Connections from which on their memory is measured.
const MANY: u32 = 1000;

/// One arrangement and workload with its contestants.
#[derive(Debug)]
pub struct Case {
    pub name: &'static str,
    pub placement: Placement,
    pub workload: SysbenchTest,
    /// How the script sends its statements, where one is run.
    pub script: Option<Statements>,
    /// Event loops of Niagara's, where the case asks for a number of them.
    pub loops: Option<usize>,
    pub contestants: &'static [Kind],
    /// Which of them are held against which.
    pub pairs: &'static [Pair],
}

/// Two contestants by their places, one held against the other.
#[derive(Debug, Clone, Copy)]
pub struct Pair {
    pub one: usize,
    pub other: usize,
    /// What the ratio of CPU time per query is to stay below.
    pub cpu: Option<f64>,
    /// What the ratio of throughput is to reach.
    pub throughput: Option<f64>,
}

impl Pair {
    const fn new(one: usize, other: usize) -> Pair {
        Pair {
            one,
            other,
            cpu: None,
            throughput: None,
        }
    }
}

const BESIDE_SYSBENCH: &[Kind] = &[
    Kind::Niagara(32),
    Kind::Sysbench(32),
    Kind::Floor(32),
    Kind::NiagaraEpoll(32),
    Kind::FloorUring(32),
];
const BESIDE_SYSBENCH_PAIRS: &[Pair] = &[
    Pair {
        cpu: Some(0.65),
        throughput: Some(1.0),
        ..Pair::new(0, 1)
    },
    Pair {
        cpu: Some(1.1),
        ..Pair::new(0, 2)
    },
    Pair::new(3, 1),
    Pair::new(2, 1),
    Pair::new(4, 1),
    Pair::new(0, 4),
];

/// Those of Niagara's own workloads.
pub const CASES: [Case; 5] = [
    Case {
        name: "shared-read-only",
        placement: Placement::Shared,
        workload: SysbenchTest::OltpReadOnly,
        script: None,
        loops: None,
        contestants: BESIDE_SYSBENCH,
        pairs: BESIDE_SYSBENCH_PAIRS,
    },
    Case {
        name: "shared-point-select",
        placement: Placement::Shared,
        workload: SysbenchTest::OltpPointSelect,
        script: None,
        loops: None,
        contestants: BESIDE_SYSBENCH,
        pairs: BESIDE_SYSBENCH_PAIRS,
    },
    Case {
        name: "pinned-read-only",
        placement: Placement::Pinned,
        workload: SysbenchTest::OltpReadOnly,
        script: None,
        loops: None,
        contestants: BESIDE_SYSBENCH,
        pairs: BESIDE_SYSBENCH_PAIRS,
    },
    Case {
        name: "pinned-point-select",
        placement: Placement::Pinned,
        workload: SysbenchTest::OltpPointSelect,
        script: None,
        loops: None,
        contestants: BESIDE_SYSBENCH,
        pairs: BESIDE_SYSBENCH_PAIRS,
    },
    Case {
        name: "pinned-connections",
        placement: Placement::Pinned,
        workload: SysbenchTest::OltpPointSelect,
        script: None,
        loops: None,
        contestants: &[
            Kind::Niagara(4096),
            Kind::Niagara(64),
            Kind::FloorUring(4096),
            Kind::FloorUring(64),
        ],
        pairs: &[
            Pair {
                cpu: Some(1.15),
                ..Pair::new(0, 1)
            },
            Pair::new(2, 3),
        ],
    },
];

const SCRIPT_BESIDE_SYSBENCH: &[Kind] = &[
    Kind::Script(32),
    Kind::SysbenchScript(32),
    Kind::Niagara(32),
];
const SCRIPT_BESIDE_SYSBENCH_PAIRS: &[Pair] = &[SCRIPT_BELOW_SYSBENCH, Pair::new(0, 2)];
const SCRIPT_BELOW_SYSBENCH: Pair = Pair {
    cpu: Some(0.7),
    throughput: Some(1.0),
    ..Pair::new(0, 1)
};

/// Those of a script: Niagara and sysbench run the same one.
pub const SCRIPT_CASES: [Case; 4] = [
    Case {
        name: "script-read-only",
        placement: Placement::Shared,
        workload: SysbenchTest::OltpReadOnly,
        script: Some(Statements::Prepared),
        loops: None,
        contestants: SCRIPT_BESIDE_SYSBENCH,
        pairs: SCRIPT_BESIDE_SYSBENCH_PAIRS,
    },
    Case {
        name: "script-text-read-only",
        placement: Placement::Shared,
        workload: SysbenchTest::OltpReadOnly,
        script: Some(Statements::Text),
        loops: None,
        contestants: SCRIPT_BESIDE_SYSBENCH,
        pairs: SCRIPT_BESIDE_SYSBENCH_PAIRS,
    },
    Case {
        name: "script-pinned-read-only",
        placement: Placement::Pinned,
        workload: SysbenchTest::OltpReadOnly,
        script: Some(Statements::Prepared),
        loops: None,
        contestants: SCRIPT_BESIDE_SYSBENCH,
        pairs: SCRIPT_BESIDE_SYSBENCH_PAIRS,
    },
    Case {
        name: "script-connections",
        placement: Placement::Shared,
        workload: SysbenchTest::OltpReadOnly,
        script: Some(Statements::Prepared),
        loops: Some(2),
        contestants: &[Kind::Script(1024), Kind::SysbenchScript(1024)],
        pairs: &[SCRIPT_BELOW_SYSBENCH],
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
    /// What a process with its connections holds, for each of them; Niagara's only.
    pub memory: Option<Memory>,
}

/// One contestant over another.
#[derive(Debug, Serialize)]
pub struct Ratio {
    pub one: String,
    pub other: String,
    /// CPU time per query.
    pub cpu: Estimate,
    /// Queries per second.
    pub throughput: Estimate,
    /// What the CPU ratio is to stay below.
    pub cpu_target: Option<f64>,
    /// What the throughput is to reach.
    pub throughput_target: Option<f64>,
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
            niagara_error::bail!("{} needs two CPUs", self.name; remedy: "--only shared");
        }
        let stand = ground.start(self.placement)?;
        // Its file goes when it is dropped: it outlives whoever runs it.
        let script = self.script.map(Script::new).transpose()?;
        let (mut contestants, mut measured) =
            self.gather(script.as_ref(), &stand, self.loops.or(loops))?;
        // A first round warms the server and the buffers, and does not count.
        for contestant in &mut contestants {
            contestant.slice(slice, &stand.server, stand.client_cpus.as_ref())?;
        }
        let mut order: Vec<usize> = (0..contestants.len()).collect();
        let mut round_time = Duration::ZERO;
        let mut rounds = 0;
        while rounds < FEWEST_ROUNDS || Instant::now() + round_time <= deadline {
            let began = Instant::now();
            order.shuffle(&mut rand::rng());
            for &index in &order {
                let sample =
                    contestants[index].slice(slice, &stand.server, stand.client_cpus.as_ref())?;
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

    /// The contestants with their connections, and where what is measured of them goes.
    fn gather(
        &self,
        script: Option<&Script>,
        stand: &Stand,
        loops: Option<usize>,
    ) -> Result<(Vec<Contestant>, Vec<Measured>)> {
        let mut contestants = Vec::new();
        let mut measured = Vec::new();
        for &kind in self.contestants {
            let held = match (kind, script) {
                (Kind::Niagara(_), _) => Some(spec(self.workload)),
                (Kind::Script(_), Some(script)) => Some(script.spec.clone()),
                _ => None,
            };
            // What all connections share would be most of fewer.
            let memory = match held.filter(|_| kind.connections() >= MANY) {
                Some(held) => Some(memory::of_connections(
                    stand,
                    held,
                    kind.connections(),
                    loops,
                )?),
                None => None,
            };
            contestants.push(Contestant::new(kind, self.workload, script, stand, loops)?);
            measured.push(Measured {
                name: kind.name(),
                kind,
                samples: Vec::new(),
                memory,
            });
        }
        Ok((contestants, measured))
    }

    fn ratios(&self, measured: &[Measured]) -> Vec<Ratio> {
        let compare = |pair: &Pair, value: fn(&Sample) -> f64| {
            let all =
                |place: usize| -> Vec<f64> { measured[place].samples.iter().map(value).collect() };
            ratio(&all(pair.one), &all(pair.other))
        };
        let ratios = self.pairs.iter().map(|pair| Ratio {
            one: measured[pair.one].name.clone(),
            other: measured[pair.other].name.clone(),
            cpu: compare(pair, |sample| sample.cpu_microseconds),
            throughput: compare(pair, |sample| sample.queries_per_second),
            cpu_target: pair.cpu,
            throughput_target: pair.throughput,
        });
        ratios.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_of_contestants() {
        for case in CASES.iter().chain(&SCRIPT_CASES) {
            let count = case.contestants.len();
            assert!(!case.pairs.is_empty(), "{}", case.name);
            let scripted = |kind: &Kind| matches!(kind, Kind::Script(_) | Kind::SysbenchScript(_));
            assert_eq!(
                case.script.is_some(),
                case.contestants.iter().any(scripted),
                "{}",
                case.name
            );
            for pair in case.pairs {
                assert!(
                    pair.one < count && pair.other < count && pair.one != pair.other,
                    "{}: {pair:?}",
                    case.name
                );
            }
        }
    }
}
