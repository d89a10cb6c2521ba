//! The user's configuration: option files or a running server, as a private server can take them.

mod differing;
mod dropped_settings;
mod effective;
mod kept_value;
mod known_options;
mod option_file;
mod option_name;
mod other_groups;
mod persisted;
mod place;
mod release;
mod running;
mod running_malloc;
mod secret;
mod server_options;
mod setting;
mod size;
mod source;
mod start;
mod successor;
mod trial;
mod without_effect;

#[cfg(fuzzing)]
pub use option_file::read_option_text;
pub use persisted::Persisted;
pub use place::Place;
pub use running::running_config;
pub(crate) use secret::is_hidden;
pub use server_options::ServerOptions;
pub use size::{number, same_value, shown};
pub use source::{
    COMMAND_LINE, ConfigSource, DIFFERS, RunningConfig, RunningSetting, SET_GLOBAL, SET_PERSIST,
};
pub use start::{Lowered, StartConfiguration};
pub use without_effect::says_without_effect;
