//! What the load consists of: tables, distributions, statements, transactions.

pub mod custom;
pub mod draw;
pub mod filling;
mod kind;
mod option;
pub mod parameters;
pub mod plan;
mod spec;
mod statement_class;
pub mod sysbench;
pub mod template;
pub mod tpcc;

pub use draw::{Distribution, Rng};
pub use kind::WorkloadKind;
pub use option::{OptionGroup, OptionValue, WORKLOAD_OPTIONS, WorkloadBuilder, WorkloadOption};
pub use spec::{PreparedStatements, WorkloadSpec};
pub use statement_class::StatementClass;
