//! What the load consists of: tables, distributions, statements, transactions.

mod bulk;
mod distribution;
mod kind;
mod oltp;
mod option;
pub mod own;
pub mod parameters;
pub mod plan;
pub mod schema;
mod spec;
pub mod statement;
pub mod tpcc;
mod unique;
pub mod values;
mod zipf;

pub use distribution::{Distribution, Sampler};
pub use kind::WorkloadKind;
pub use option::{OptionGroup, OptionValue, WORKLOAD_OPTIONS, WorkloadBuilder, WorkloadOption};
pub use spec::{PreparedStatements, WorkloadSpec};

/// The generator behind everything that is drawn; small, fast, and the same on every machine.
pub type Rng = rand::rngs::Xoshiro256PlusPlus;
