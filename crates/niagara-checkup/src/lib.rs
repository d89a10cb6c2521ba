//! A checkup reads a running server for ten seconds: its kind, its settings, where its time goes, and its faults. It changes nothing.
//!
//! The walk: [`read`] turns a connection into [`facts`], `rules` turn facts into findings (pure), `words` has their English, [`screen`]
//! and [`html`] show them. Limits and evidence of rules are data (`data/checkup/rules.toml`), what settings do is known by the levers.
//! Only SELECT and SHOW are sent, and SET for the limits of the own session.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod busy;
mod facts;
mod finding;
mod gap;
mod html;
mod levers;
mod proof;
mod read;
mod redo;
mod release;
mod remedy;
mod report;
mod rule;
mod rules;
mod screen;
mod words;

pub use html::html;
pub use read::{Request, read};
pub use report::{Checkup, checkup};
pub use screen::{Look, screen};
