//! The workloads of sysbench, with its names, options, tables and statements.

mod bulk;
mod fill;
mod options;
mod schema;
mod statement;
mod test;
mod transaction;
mod values;
mod workload;

pub use options::Sysbench;
pub use test::SysbenchTest;
