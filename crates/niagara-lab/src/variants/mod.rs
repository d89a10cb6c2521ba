//! What servers are set to: variants, the builds and patches behind them, and what a server and a machine allow.

pub(crate) mod build_time;
pub(crate) mod built_sets;
pub(crate) mod candidate;
pub(crate) mod lever_context;
pub(crate) mod patches;
pub(crate) mod server_build;
pub(crate) mod server_settings;
pub(crate) mod variant;
pub(crate) mod with_max_connections;
