//! The generator behind everything that is drawn.

/// Small, fast, and the same on every machine.
pub(crate) type Rng = rand::rngs::Xoshiro256PlusPlus;
