//! One duel: what it is run with (inventory, workbench), two servers in the arena, slices of load by turns, and what comes of them.

pub(crate) mod arena;
pub(crate) mod data_change;
pub(crate) mod data_image;
pub(crate) mod data_notes;
pub(crate) mod duel;
pub(crate) mod histogram;
pub(crate) mod inventory;
pub(crate) mod job;
pub(crate) mod lever_context;
pub(crate) mod log_syncs;
pub(crate) mod replayed;
pub(crate) mod resource_counters;
pub(crate) mod score;
pub(crate) mod seat;
mod taken_by_others;
pub(crate) mod warm_up;
pub(crate) mod workbench;
