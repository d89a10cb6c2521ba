//! How much each duel tells: one whose couples disagree tells little.

use crate::sample::median;

/// Multiple of the typical variance up to which a duel counts whole: of two couples the variance itself is known roughly, and one
/// of six duels is beyond it by chance.
const WHOLE: f64 = 2.0;

/// The weight of each duel's score, by the variance that its own couples tell of it: 1 up to twice the typical one, beyond it as
/// much less as the variance is larger, and 1 where it is not known. `couples`: of a duel.
///
/// A lever may make a server stand still now and then (InnoDB's latches without spinning: one second of four at a fifth of the
/// throughput, in every third duel that had it). Counted whole, those few duels are most of the noise of all other levers: of 49
/// duels of `oltp_read_write` on MariaDB 10.11 the standard error of a lever was 1.7 to 2.2 %, weighted it is 0.7 to 1.1 %. A
/// weight is told by how far couples lie apart and not by which side was faster, so it favours neither.
pub fn weights(variances: &[Option<f64>], couples: u32) -> Vec<f64> {
    let known: Vec<f64> = variances
        .iter()
        .flatten()
        .copied()
        .filter(|variance| variance.is_finite())
        .collect();
    // The median of χ² over its degrees of freedom (Wilson and Hilferty, PNAS 17, 1931): of few couples most variances are
    // smaller than their mean.
    let df = f64::from(couples.max(2) - 1);
    let of_mean = (1.0 - 2.0 / (9.0 * df)).powi(3);
    let whole = WHOLE * median(&known).unwrap_or(0.0) / of_mean;
    let weight = |variance: &Option<f64>| match variance {
        Some(variance) if whole > 0.0 && *variance > whole => whole / variance,
        _ => 1.0,
    };
    variances.iter().map(weight).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn duels_whose_couples_disagree_weigh_less_and_unknown_ones_whole() {
        let mut variances = vec![Some(0.001); 9];
        variances.push(Some(0.1));
        variances.push(None);
        let found = weights(&variances, 20);
        assert!(found[..9].iter().all(|weight| *weight == 1.0), "{found:?}");
        assert!(found[9] > 0.019 && found[9] < 0.022, "{found:?}");
        assert_eq!(found[10], 1.0);
        // Two couples tell their variance roughly.
        assert!(weights(&variances, 2)[9] > 0.04);
    }

    #[test]
    fn without_noise_or_without_duels_nothing_is_weighed() {
        assert!(weights(&[], 2).is_empty());
        assert_eq!(weights(&[Some(0.0), Some(0.0), Some(0.3)], 2), [1.0; 3]);
        assert_eq!(weights(&[None, Some(f64::NAN)], 2), [1.0; 2]);
    }
}
