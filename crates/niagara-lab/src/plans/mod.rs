//! Plans, and what a watcher sees of them. A duel has a specification, a duration and what it shows. A study has a plan, a key and
//! events.

pub(crate) mod announced;
pub(crate) mod duel_plan;
pub(crate) mod observer;
pub(crate) mod spec;
pub(crate) mod study_key;
