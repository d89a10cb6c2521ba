//! What is measured of a contestant.

use serde::Serialize;

/// What a slice did.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Sample {
    /// Queries answered per second.
    pub queries_per_second: f64,
    /// Client's CPU time per query, in microseconds.
    pub cpu_microseconds: f64,
    /// Server's CPU time per query, in microseconds.
    pub server_cpu_microseconds: f64,
    /// Transactions completed per second.
    pub transactions_per_second: f64,
    /// Client's CPU time per transaction, in microseconds.
    pub cpu_per_transaction: f64,
    /// The 95th percentile of the transactions' latency, in milliseconds; 0 where it is not known.
    pub latency_milliseconds: f64,
    /// Transactions of the busiest connection over those of the mean one; 0 where it is not known.
    pub unevenness: f64,
}
