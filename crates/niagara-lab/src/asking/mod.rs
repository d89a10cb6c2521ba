//! What is asked, as people write it: questions, recipes of variants, loads, quantities, and what they come to.

pub(crate) mod choose_builds;
pub(crate) mod choose_levers;
pub(crate) mod duel_defaults;
pub(crate) mod level_sets;
pub(crate) mod load_of;
pub(crate) mod own_training;
pub mod quantity;
pub(crate) mod question;
pub(crate) mod rate_choice;
pub(crate) mod recipe;
pub(crate) mod recipes_of;
pub(crate) mod wanted_level;
