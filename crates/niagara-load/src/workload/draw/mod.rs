//! What workloads draw: numbers by a distribution, numbers that nobody else draws, texts.

mod distribution;
mod rng;
mod text;
mod unique;
mod zipf;

pub use distribution::{
    Distribution, ITERATIONS, PARETO_H, PERCENT, SHARE, Sampler, ZIPF_EXPONENT,
};
pub use rng::Rng;
pub use text::{decimal, letters};
pub use unique::UniqueIds;
