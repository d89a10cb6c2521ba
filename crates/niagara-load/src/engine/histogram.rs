//! The histograms of latencies: all of a kind have the same bounds, so they can be added.

use hdrhistogram::Histogram;

/// The longest latency told apart, in nanoseconds. Outliers count as the bound, here and below.
pub(crate) const LONGEST: u64 = 3_600_000_000_000;
/// The shortest transaction told apart, in nanoseconds: below 2 µs every nanosecond is, for a transaction that asks no
/// server may take less than one of those, and the mean of all is printed.
const SHORTEST_TRANSACTION: u64 = 1;
/// The shortest statement told apart, in nanoseconds: a server takes microseconds, and there are many such histograms.
const SHORTEST_STATEMENT: u64 = 100;

/// To 3 significant digits: of transactions.
pub(crate) fn fine_histogram() -> Histogram<u64> {
    histogram(SHORTEST_TRANSACTION, 3)
}

/// To 2 significant digits: of statements.
pub(crate) fn coarse_histogram() -> Histogram<u64> {
    histogram(SHORTEST_STATEMENT, 2)
}

fn histogram(shortest: u64, digits: u8) -> Histogram<u64> {
    Histogram::new_with_bounds(shortest, LONGEST, digits)
        .expect("the bounds are constants that the histogram accepts")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transactions_are_told_apart_to_three_digits_however_short_they_are() {
        let mut histogram = fine_histogram();
        histogram.record_n(150, 3).unwrap();
        histogram.record(250).unwrap();
        assert_eq!((histogram.min(), histogram.max()), (150, 250));
        assert!((histogram.mean() - 175.0).abs() < 1e-9);
        let mut histogram = fine_histogram();
        histogram.record(50_000).unwrap();
        let found = histogram.max() as f64;
        assert!((found / 50_000.0 - 1.0).abs() < 1e-3, "{found}");
    }
}
