//! A study around its duels: set up, opened or continued, watched, its decisions and time kept.

pub(crate) mod announced;
pub(crate) mod answer;
pub(crate) mod availability;
pub(crate) mod checkpoint;
pub(crate) mod clock;
pub(crate) mod debug_symbols;
pub(crate) mod history;
pub(crate) mod host_identity;
pub(crate) mod inventory;
pub(crate) mod measuring;
pub(crate) mod memory_in_use;
pub(crate) mod nodes;
pub(crate) mod observer;
pub(crate) mod opening;
pub(crate) mod pace;
pub(crate) mod part_begun;
pub(crate) mod results_folder;
pub(crate) mod series;
pub(crate) mod session;
pub(crate) mod set_up;
pub(crate) mod study;
pub(crate) mod study_key;
