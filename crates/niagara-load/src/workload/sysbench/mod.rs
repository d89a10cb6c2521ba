//! The workloads of sysbench, with its names, tables and statements.

mod bulk;
mod fill;
pub mod schema;
mod statement;
mod transaction;
mod values;

pub use fill::fill_table;
pub use statement::MOST_PARAMETERS;
pub use transaction::{OltpPlan, OltpTransaction, steps};
