//! Study files: what to run, as data. `studies/` holds the published ones; docs/studies.md shows the format.
//!
//! The way of a file: `structure` checks keys and kinds of values against `shape`, `document` reads it with the
//! places of its values, `read` checks what it means against the levers, servers and workloads known, and gives a
//! [`StudyDescription`](crate::StudyDescription) for each size.

mod build_table;
mod changes;
mod document;
mod mistake;
mod read;
mod schema;
mod shape;
mod structure;
#[cfg(test)]
mod tests;

pub use mistake::Mistake;
pub use read::{Known, StudyFile, read_study};
pub use schema::schema;
