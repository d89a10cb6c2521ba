//! Servers launched: on which data, in which surroundings, reachable from where; asked, frozen, stopped.

pub(crate) mod account;
pub(crate) mod arguments;
mod asked;
mod certificate;
pub(crate) mod child;
mod command;
pub(crate) mod environment;
pub(crate) mod error_log;
pub(crate) mod huge_text;
pub(crate) mod kept_options;
pub(crate) mod registry;
pub(crate) mod remote_access;
mod run_files;
pub(crate) mod running;
pub(crate) mod shell_words;
pub(crate) mod spec;
pub(crate) mod start;
pub(crate) mod start_obstacle;
mod verify;
