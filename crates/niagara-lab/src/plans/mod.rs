//! What is planned, and what a watcher is told of it: the specification of a duel, how long it takes and what it shows, the plan of a
//! study, what a study is known by, its events.

pub(crate) mod announced;
pub(crate) mod duel_plan;
pub(crate) mod observer;
pub(crate) mod spec;
pub(crate) mod study_key;
