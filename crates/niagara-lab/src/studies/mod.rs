//! A study around its duels: set up, begun or continued, its decisions and time kept.

pub(crate) mod availability;
pub(crate) mod checkpoint;
pub(crate) mod clock;
pub(crate) mod history;
pub(crate) mod host_identity;
pub(crate) mod memory_in_use;
pub(crate) mod nodes;
pub(crate) mod pace;
pub(crate) mod part_begun;
pub(crate) mod results_folder;
pub(crate) mod series;
pub(crate) mod session;
pub(crate) mod set_up;
pub(crate) mod study;
pub(crate) mod variant_set_up;
