//! The histograms of latencies: all of a kind have the same bounds, so they can be added.

use hdrhistogram::Histogram;

/// The shortest and the longest latency told apart, in nanoseconds. Outliers count as the bound.
const SHORTEST: u64 = 100;
pub(crate) const LONGEST: u64 = 3_600_000_000_000;

/// To 3 significant digits: of transactions.
pub(crate) fn fine_histogram() -> Histogram<u64> {
    histogram(3)
}

/// To 2 significant digits: of statements.
pub(crate) fn coarse_histogram() -> Histogram<u64> {
    histogram(2)
}

fn histogram(digits: u8) -> Histogram<u64> {
    Histogram::new_with_bounds(SHORTEST, LONGEST, digits)
        .expect("the bounds are constants that the histogram accepts")
}
