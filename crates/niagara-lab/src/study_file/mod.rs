//! Study files: what to run, as data. `studies/` holds the published ones; docs/studies.md shows the format.
//!
//! The way of a file: `document` is its format, by which `niagara-toml` checks its structure; `read` checks what it means
//! against the levers, servers and workloads known, and gives a [`StudyDescription`](crate::StudyDescription) for each size.

mod blame;
mod build_table;
mod document;
mod known;
mod matrix;
mod quantities;
mod read;
#[cfg(test)]
mod tests;
mod variant_parts;

pub use document::schema;
pub use known::Known;
pub use read::{StudyFile, read_study};
