//! Before a verdict by a capture: a server against itself on it. What differs there would differ anywhere.

use anyhow::Result;
use niagara_model::{Goal, IdenticalDuels, Phase};
use niagara_stats::{Estimate, derive_seed, standard_deviation, student};

use crate::duels::workbench::Workbench;
use crate::plans::observer::{Event, Observer};
use crate::studies::checkpoint;
use crate::studies::series::DuelRequest;
use crate::studies::study::Study;
use crate::variants::variant::Variant;

/// Duels of identical servers: the fewest of which an interval can be made that means anything.
const DUELS: u32 = 3;
/// Share of the time that is left which they may take.
const SHARE: f64 = 0.2;
/// Probability with which the interval has the truth: a false alarm takes a verdict away.
const LEVEL: f64 = 0.99;
/// Differences below this are no alarm, however sure.
const TOO_SMALL: f64 = 0.01;

/// What a variant shows against itself; none where the load is no capture, or where there is no time for it.
///
/// # Errors
/// As [`Study::duel`]; the results cannot be written.
pub(crate) fn identical_duels(
    bench: &Workbench,
    study: &mut Study,
    (variant, goal): (&Variant, Goal),
    (couples, seed): (u32, u64),
    observer: &mut dyn Observer,
) -> Result<Option<IdenticalDuels>> {
    if bench.load().workload.capture().is_none() {
        return Ok(None);
    }
    let wanted = study.recall_or(&checkpoint::identical_duels(), || {
        let seconds = f64::from(DUELS) * study.duel_seconds(couples);
        let fits = seconds <= SHARE * study.left_seconds();
        Ok(if fits { DUELS } else { 0 })
    })?;
    if wanted == 0 {
        return Ok(None);
    }
    observer.see(Event::Stage {
        name: "A against itself",
        seconds: f64::from(wanted) * study.duel_seconds(couples),
    });
    let mut gains = Vec::new();
    for number in 0..wanted {
        let request = DuelRequest {
            phase: Phase::Noise,
            subject: String::new(),
            variants: [variant.clone(), variant.clone()],
            shape: couples.into(),
            seed: derive_seed(seed, "identical", u64::from(number)),
        };
        let record = study.duel(bench, &request, observer)?;
        gains.extend(goal.gain(&record));
    }
    Ok(Some(of_gains(&gains)))
}

/// From the log gains of duels.
fn of_gains(gains: &[f64]) -> IdenticalDuels {
    let n = gains.len() as f64;
    let sd = standard_deviation(gains).filter(|_| gains.len() > 1);
    let Some(sd) = sd else {
        return IdenticalDuels {
            duels: gains.len() as u64,
            ratio: None,
            differ: false,
        };
    };
    let centre = gains.iter().sum::<f64>() / n;
    let half = student::quantile(1.0 - (1.0 - LEVEL) / 2.0, n - 1.0) * sd / n.sqrt();
    IdenticalDuels {
        duels: gains.len() as u64,
        ratio: Some(Estimate::from_log(centre, centre - half, centre + half)),
        differ: centre.abs() > half.max(TOO_SMALL),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_is_called_where_there_can_be_none() {
        let quiet = of_gains(&[0.004, -0.003, 0.001]);
        assert!(!quiet.differ && quiet.duels == 3, "{quiet:?}");
        let ratio = quiet.ratio.expect("three duels");
        assert!(ratio.low < 1.0 && ratio.high > 1.0, "{ratio:?}");
        assert!(of_gains(&[0.100, 0.101, 0.102]).differ);
        assert!(!of_gains(&[0.0051, 0.0052, 0.0053]).differ);
        assert_eq!(of_gains(&[0.5]).ratio, None);
    }

    #[test]
    fn false_alarms_are_rare() {
        use rand::{RngExt, SeedableRng};
        let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(3);
        let mut gain = || 0.05 * (0..12).map(|_| rng.random::<f64>() - 0.5).sum::<f64>();
        let alarms = (0..2000).filter(|_| of_gains(&[gain(), gain(), gain()]).differ);
        // 20 are expected; 38 would be four standard deviations more.
        assert!(alarms.count() < 38);
    }
}
