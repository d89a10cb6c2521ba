//! What workloads draw: numbers by a distribution, numbers that nobody else draws, texts.

mod distribution;
mod rng;
mod text;
mod unique;
mod zipf;

pub use distribution::Distribution;
pub(crate) use distribution::{ITERATIONS, PARETO_H, PERCENT, SHARE, Sampler, ZIPF_EXPONENT};
pub(crate) use rng::Rng;
pub(crate) use text::{decimal, letters};
pub(crate) use unique::UniqueIds;
