//! TPC-C: the five transactions of an order-entry business, by the specification of the Transaction Processing
//! Performance Council (TPC Benchmark C, revision 5.11; clause numbers in these files are its own).
//!
//! What is measured here is no audited result and must not be called one: think times are optional, there are no
//! terminals with screens, and durability is what the server's configuration makes of it.

mod check;
mod delivery;
mod inputs;
mod load;
mod new_order;
mod options;
mod order_status;
mod payment;
mod random;
mod row;
mod rows;
mod schema;
mod statements;
mod stock_level;
mod transaction;
mod workload;

pub use check::{Conditions, Finding, check};
pub use options::Tpcc;
pub use schema::{TABLES, schema};

/// Districts of a warehouse (clause 1.2.1).
pub(crate) const DISTRICTS: i32 = 10;
/// Customers of a district.
pub(crate) const CUSTOMERS: i32 = 3000;
/// Items, of which each warehouse has a stock.
pub(crate) const ITEMS: i32 = 100_000;
/// Orders of a district that have been delivered when the load begins (clause 4.3.3.1); 900 have not.
pub(crate) const DELIVERED: i32 = 2100;
/// Lines of an order.
pub(crate) const FEWEST_LINES: usize = 5;
/// Lines of an order.
pub(crate) const MAX_LINES: usize = 15;
