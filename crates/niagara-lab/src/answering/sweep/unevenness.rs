//! How unevenly the connections of a sweep's point were served, over its fresh starts.

use niagara_model::{ResourceCounters, Unevenness};
use niagara_stats::IntervalEstimate;

/// Over the starts that tell it; `None` where none does.
pub(crate) fn unevenness(counters: &[&ResourceCounters], alpha: f64) -> Option<Unevenness> {
    let of = |place: usize| {
        let shares: Vec<f64> = (counters.iter())
            .filter_map(|record| Some(record.unevenness?[place]))
            .collect();
        // A start in which all were served alike has 0, which no geometric mean can take.
        IntervalEstimate::arithmetic(&shares, alpha)
    };
    let found = Unevenness {
        transactions: of(0),
        seconds: of(1),
    };
    (found.transactions.is_some() || found.seconds.is_some()).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_in_which_all_were_served_alike_counts() {
        let start = |unevenness| ResourceCounters {
            unevenness,
            ..ResourceCounters::default()
        };
        let starts = [
            start(Some([0.0, 0.02])),
            start(Some([0.1, 0.04])),
            // Of one connection.
            start(None),
        ];
        let starts: Vec<&ResourceCounters> = starts.iter().collect();
        let found = unevenness(&starts, 0.05).expect("two starts tell it");
        let transactions = found.transactions.expect("two figures");
        assert!(
            (transactions.value - 0.05).abs() < 1e-12,
            "{transactions:?}"
        );
        assert_eq!(transactions.low, 0.0, "no share is below 0");
        assert!(transactions.high.is_finite(), "{transactions:?}");
        let seconds = found.seconds.expect("two figures");
        assert!((seconds.value - 0.03).abs() < 1e-12, "{seconds:?}");
        assert_eq!(unevenness(&starts[2..], 0.05), None);
    }
}
