//! The picture of a running study: progress, the estimate and how it narrows, the levers as they separate.
//! `state` knows what happened, `picture` draws it, `glyphs` says with which characters; none of them does I/O.

mod glyphs;
mod picture;
mod state;

pub use glyphs::{Glyphs, is_utf8, plain};
pub use picture::{Frame, lines, one_line, outcome, words};
pub use state::State;

#[cfg(test)]
mod tests;
