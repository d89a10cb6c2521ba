//! What servers are set to and start from: variants, the user's own server, the builds and patches behind them.

pub(crate) mod build_time;
pub(crate) mod built_sets;
pub(crate) mod candidate;
pub(crate) mod origin;
pub(crate) mod patches;
pub(crate) mod server_build;
pub(crate) mod server_settings;
pub(crate) mod variant;
pub(crate) mod with_max_connections;
