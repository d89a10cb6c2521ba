//! What nodes were held for: every second of every worker, in one account.

use std::collections::BTreeMap;

use niagara_model::NodeSeconds;

use crate::message::{Attempt, Doing, Said, WorkerLine};

/// What became of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    /// The verdict rests on it.
    Counts,
    /// It has a result that was not needed.
    NotNeeded,
    /// It has none that counts.
    Lost,
}

/// The account of one worker: its log, seconds from its beginning to when it was known to have ended, and what became of its
/// attempts.
pub(crate) fn account(
    lines: &[WorkerLine],
    ended: f64,
    fate: impl Fn(&Attempt) -> Fate,
) -> NodeSeconds {
    let mut cost = NodeSeconds::default();
    let finished: BTreeMap<&Attempt, f64> = lines
        .iter()
        .filter_map(|line| match &line.said {
            Said::Finished {
                attempt,
                load_seconds,
                ..
            } => Some((attempt, *load_seconds)),
            _ => None,
        })
        .collect();
    let mut since = 0.0;
    let mut doing: Option<&Doing> = None;
    let mut last = 0.0_f64;
    let mut over = false;
    let mut book = |doing: Option<&Doing>, seconds: f64| match doing {
        None => cost.starting += seconds,
        Some(Doing::Staging) => cost.staging += seconds,
        Some(Doing::Waiting) => cost.waiting += seconds,
        Some(Doing::Ending) => cost.tail += seconds,
        Some(Doing::Duel { attempt }) => match fate(attempt) {
            Fate::Lost => cost.lost += seconds,
            Fate::NotNeeded => cost.tail += seconds,
            Fate::Counts => {
                let load = finished.get(attempt).copied().unwrap_or(0.0);
                let load = load.clamp(0.0, seconds);
                cost.load += load;
                cost.restarts += seconds - load;
            }
        },
    };
    for line in lines {
        let at = line.at.max(last);
        last = at;
        match &line.said {
            Said::Began { held_before, .. } => book(None, held_before.max(0.0)),
            Said::Doing(next) => {
                book(doing, at - since);
                (since, doing) = (at, Some(next));
            }
            Said::Ended { .. } => over = true,
            _ => {}
        }
    }
    book(doing, last - since);
    // From its last word to when it was known to be gone.
    if !over && ended > last {
        cost.lost += ended - last;
    }
    cost
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::Machine;

    fn line(at: f64, said: Said) -> WorkerLine {
        WorkerLine { at, said }
    }

    fn attempt(duel: &str) -> Attempt {
        Attempt {
            duel: duel.into(),
            epoch: 1,
        }
    }

    fn duel(at: f64, name: &str, load_seconds: f64, until: f64) -> [WorkerLine; 2] {
        let attempt = attempt(name);
        [
            line(
                at,
                Said::Doing(Doing::Duel {
                    attempt: attempt.clone(),
                }),
            ),
            line(
                until,
                Said::Finished {
                    attempt,
                    bytes: 0,
                    sum: String::new(),
                    load_seconds,
                },
            ),
        ]
    }

    fn log() -> Vec<WorkerLine> {
        let mut lines = vec![
            line(
                0.5,
                Said::Began {
                    node: "n1".into(),
                    pid: 1,
                    held_before: 2.0,
                    left: None,
                    machine: Machine::default(),
                    program: String::new(),
                },
            ),
            line(1.0, Said::Doing(Doing::Staging)),
        ];
        lines.extend(duel(4.0, "counts", 10.0, 16.0));
        lines.extend(duel(16.0, "stale", 10.0, 28.0));
        lines.push(line(28.0, Said::Doing(Doing::Waiting)));
        lines.extend(duel(30.0, "beyond", 10.0, 42.0));
        lines.push(line(42.0, Said::Doing(Doing::Ending)));
        lines.push(line(
            43.0,
            Said::Ended {
                why: niagara_model::NodeReason::StudyEnded,
            },
        ));
        lines
    }

    fn fate(attempt: &Attempt) -> Fate {
        match attempt.duel.as_str() {
            "counts" => Fate::Counts,
            "beyond" => Fate::NotNeeded,
            _ => Fate::Lost,
        }
    }

    #[test]
    fn every_second_has_one_account() {
        let cost = account(&log(), 99.0, fate);
        let expected = NodeSeconds {
            load: 10.0,
            restarts: 2.0,
            starting: 3.0,
            staging: 3.0,
            waiting: 2.0,
            lost: 12.0,
            tail: 13.0,
        };
        assert_eq!(cost, expected);
        assert_eq!(cost.held(), 45.0);
    }

    #[test]
    fn wherever_a_worker_is_killed_its_seconds_add_up() {
        let whole = log();
        for cut in 1..whole.len() {
            let part = &whole[..cut];
            let cost = account(part, 60.0, fate);
            assert!((cost.held() - 62.0).abs() < 1e-9, "{cut}: {cost:?}");
        }
    }
}
