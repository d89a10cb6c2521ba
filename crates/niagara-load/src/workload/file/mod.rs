//! Workloads that a file describes: tables with generated rows, and weighted transactions of SQL with drawn parameters.
//! docs/custom-workload.md shows the format by example.

mod definition;
mod format;
mod generator;
mod load;
mod numbers;
mod read;
mod read_generator;
mod read_statement;
mod source;
mod sql;
mod transaction;
mod workload;

pub(crate) use definition::{Definition, Step};
pub use read::schema;
pub use source::WorkloadFile;
pub(crate) use sql::only_reads;
pub use workload::FileWorkload;
