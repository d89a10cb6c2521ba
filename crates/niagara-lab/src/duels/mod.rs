//! One duel: two servers in the arena, slices of load by turns, and what comes of them.

pub(crate) mod arena;
pub(crate) mod data_change;
pub(crate) mod data_image;
pub(crate) mod data_notes;
pub(crate) mod duel;
pub(crate) mod duel_plan;
pub(crate) mod histogram;
pub(crate) mod job;
pub(crate) mod log_syncs;
pub(crate) mod replayed;
pub(crate) mod resource_counters;
pub(crate) mod score;
pub(crate) mod seat;
pub(crate) mod spec;
mod taken_by_others;
pub(crate) mod warm_up;
pub(crate) mod workbench;
