//! The promises of the protocol, kept on simulated machines. All seeds are fixed; where a rate is held against its
//! limit, three binomial standard errors are allowed.

mod at_any_time;
mod controls;
mod foldover;
mod machine;
mod nodes;
mod prospects;
mod published;
mod race;
mod ruinous;
mod scalability;
mod selection;
mod sequential;
mod short_screening;
mod standstill;
mod steal;
mod unsteady;

/// The largest rate that `rounds` trials may show where the true one is `limit`.
fn at_most(limit: f64, rounds: usize) -> f64 {
    limit + 3.0 * (limit * (1.0 - limit) / rounds as f64).sqrt()
}
