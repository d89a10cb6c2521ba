//! The user's own server as the start of a study: its configuration, and (in `data`) its data.
//!
//! `configuration` reads option files or asks a running server, and says what a private copy takes of them and what not.

#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod configuration;
