//! The charts of the page, each a function from records to SVG.

mod forest;
mod latency;
mod looks;
mod row_chart;
mod throughput;
mod waterfall;

pub use forest::forest;
pub use latency::{Latencies, PERCENTILES, latency};
pub use looks::looks;
pub use throughput::throughput;
pub use waterfall::waterfall;
