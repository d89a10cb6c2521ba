//! What a tuning advises, from what it found.

use niagara_model::{
    Benefit, Comparison, Conclusion, DropReason, NextStep, Obstacle, Others, OverSocket,
    Recommendation, Rung, Setup, queries_first,
};
use niagara_stats::{Estimate, quotient};

use crate::answering::tune::options::TuneOptions;
use crate::answering::tune::tuned::{Final, TuneResult};
use crate::lever::Role;

/// The advice; `None` before the tuning has come to its end. `is_sound`: what was proven passed its checks.
pub(crate) fn recommendation(
    found: &TuneResult,
    options: &TuneOptions,
    setting: Setup,
    is_sound: bool,
) -> Option<Recommendation> {
    found.ending?;
    let total = found.total.as_ref().filter(|_| found.is_proven());
    let Some(total) = total.filter(|total| is_sound && total.may_be_recommended()) else {
        let because = match total {
            Some(_) => Obstacle::Unsound,
            None => obstacle(found),
        };
        return Some(Recommendation::Nothing { because, setting });
    };
    let benefit = Benefit {
        setting,
        goal: options.goal,
        effect: total.judged().estimate,
        duels: total.judged().duels,
        p99: total.latency_p99,
        others: others(found),
    };
    let brings_socket = |lever: &str| {
        let mut candidates = found.candidates.iter();
        let candidate = candidates.find(|candidate| candidate.lever.id() == lever);
        candidate.is_some_and(|of| of.change.runtime.is_on_socket())
    };
    let (sockets, changes): (Vec<&Rung>, Vec<&Rung>) = found
        .rungs
        .iter()
        .partition(|rung| brings_socket(&rung.screened.lever));
    if changes.is_empty() {
        return Some(Recommendation::UseSocket(benefit));
    }
    Some(Recommendation::Install {
        changes: changes
            .iter()
            .map(|rung| rung.screened.title.clone())
            .collect(),
        with_socket: !sockets.is_empty(),
        over_socket: measured_over_socket(found).or_else(|| over_socket(found, total, &sockets)),
        benefit,
    })
}

/// What its own duels say of the server's changes where both sides use the socket.
fn measured_over_socket(found: &TuneResult) -> Option<OverSocket> {
    let own = found.over_socket.as_ref()?;
    Some(OverSocket {
        duels: Some(own.judged().duels),
        gain: own.judged().estimate,
        p50: own.latency_p50,
        p99: own.latency_p99,
        cpu: own.cpu_per_transaction,
    })
}

/// The total without the socket's part, where that had no duels. The changes' own duels would flatter it: changes are kept for their figures.
fn over_socket(found: &TuneResult, total: &Comparison, sockets: &[&Rung]) -> Option<OverSocket> {
    let [socket] = sockets else {
        return None;
    };
    let socket = socket.claim.as_ref()?;
    let left = |figure: &dyn Fn(&Comparison) -> Option<Estimate>| {
        Some(quotient(&figure(total)?, &figure(socket)?))
    };
    Some(OverSocket {
        duels: None,
        gain: left(&|found| Some(found.judged().estimate))?,
        // Within slices of another length other latencies were measured.
        p50: left(&|found| found.latency_p50).filter(|_| found.total_slice_seconds.is_none()),
        p99: left(&|found| found.latency_p99).filter(|_| found.total_slice_seconds.is_none()),
        cpu: left(&|found| found.cpu_per_transaction),
    })
}

fn others(found: &TuneResult) -> Others {
    let not_shown = found.dropped.iter();
    let not_shown = not_shown.filter(|lever| !lever.because.is_undecided());
    match (found.undecided.len(), not_shown.count()) {
        (0, 0) => Others::None,
        (0, levers) => Others::NotShown { levers },
        (undecided, _) => Others::Undecided {
            levers: undecided,
            together: found.dropped.iter().find_map(|lever| match lever.because {
                DropReason::TimeEndedInGroup { effect, levers, .. } if levers == undecided => {
                    Some(effect)
                }
                _ => None,
            }),
        },
    }
}

fn obstacle(found: &TuneResult) -> Obstacle {
    if let Some((effect, tail, percentile)) = found.tail {
        return Obstacle::Tail {
            effect,
            tail,
            percentile,
        };
    }
    if found.total_failure.is_some() {
        return Obstacle::Unsound;
    }
    let mut controls = found.screened(Role::PositiveControl);
    if controls.any(|(_, control)| control.effect.high >= 1.0) {
        return Obstacle::TooNoisy;
    }
    if found.rungs.is_empty() && found.dropped.is_empty() {
        return Obstacle::NothingPromising;
    }
    let whole = found.whole.as_ref().map(|whole| whole.judged().estimate);
    if !found.undecided.is_empty() {
        return Obstacle::TimeEnded { together: whole };
    }
    let claims = found.claims.iter().map(|(_, claim)| claim);
    let effects = claims.chain(&found.total).map(|one| one.judged().estimate);
    let effects = effects.filter(|effect| effect.ratio.is_finite());
    Obstacle::NotShown {
        effect: effects.max_by(|x, y| x.ratio.total_cmp(&y.ratio)),
    }
}

/// How it came to its end.
pub(crate) fn conclusion(found: &TuneResult) -> Option<Conclusion> {
    Some(match found.ending? {
        Final::TimeUsed => Conclusion::TimeUsed,
        Final::NothingLeft => Conclusion::NothingLeftToDecide,
        Final::TooLittle => Conclusion::TooLittleForAnother,
    })
}

/// What to try next.
pub(crate) fn next_step(found: &TuneResult, options: &TuneOptions) -> Option<NextStep> {
    found.ending?;
    if let Some(first) = queries_first(&found.warnings, &found.rungs) {
        return Some(NextStep::Advise {
            indexes: first.indexes.len(),
        });
    }
    let undecided = || found.undecided.iter();
    let screened: Vec<_> = undecided()
        .filter_map(|&index| found.effect(index))
        .collect();
    if screened.is_empty() {
        return Some(options.next.clone().unwrap_or(NextStep::NothingKnown));
    }
    let kept = found.rungs.iter().map(|rung| &rung.screened);
    // What duels did not show is not asked again: asked often enough, luck would show it.
    let tried_next = kept.chain(screened.iter().copied());
    Some(NextStep::MoreTime {
        levers: screened.iter().map(|one| one.title.clone()).collect(),
        ids: tried_next.map(|one| one.lever.clone()).collect(),
    })
}
