//! The charts of the page, each a function from records to SVG.

mod cells;
mod forest;
mod latency;
mod looks;
mod row_chart;
mod sweep;
mod throughput;
mod waterfall;

pub use cells::cells;
pub use forest::forest;
pub use latency::{Latencies, PERCENTILES, latency};
pub use looks::looks;
pub use row_chart::{Mark, Row, row_chart};
pub use sweep::sweep;
pub use throughput::throughput;
pub use waterfall::{waterfall, waterfall_of};
