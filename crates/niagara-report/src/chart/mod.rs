//! The charts of the page, each a function from records to SVG.

mod cells;
mod comparison;
mod forest;
mod latency;
mod looks;
mod row_chart;
mod sweep;
mod throughput;
mod waterfall;
mod work;

pub(crate) use cells::cells;
pub(crate) use comparison::comparison;
pub(crate) use forest::forest;
pub(crate) use latency::{Latencies, PERCENTILES, latency};
pub(crate) use looks::looks;
pub(crate) use row_chart::{Mark, Row, domain, interval, row_chart};
pub(crate) use sweep::sweep;
pub(crate) use throughput::throughput;
pub(crate) use waterfall::waterfall;
pub(crate) use work::{Row as WorkRow, work};
