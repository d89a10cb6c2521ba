//! What the load consists of: tables, distributions, statements, transactions.

mod distribution;
mod kind;
pub mod schema;
mod spec;
pub mod statement;
pub mod transaction;
pub mod values;

pub use distribution::{Distribution, Sampler};
pub use kind::WorkloadKind;
pub use spec::WorkloadSpec;

/// The generator behind everything that is drawn; small, fast, and the same on every machine.
pub type Rng = rand::rngs::Xoshiro256PlusPlus;
