//! The user's own server as the start of a study: its configuration and its data.
//!
//! `configuration` reads option files or asks a running server, and says what a private copy takes of them and what not. `data`
//! makes dataset images of data directories, backups and dumps. `statistics` reads those that the server's optimizer goes by, and brings
//! them to a copy. `pack` puts a server's traffic, data and configuration into one file.

#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod configuration;
pub mod data;
pub mod pack;
pub mod statistics;
/// Readers of the user's files, for the fuzzer.
#[cfg(fuzzing)]
#[doc(hidden)]
pub use crate::{configuration::read_option_text, data::read_dump_text};
