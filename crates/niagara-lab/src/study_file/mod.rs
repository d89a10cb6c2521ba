//! Study files: what to run, as data. `studies/` holds the published ones; docs/studies.md shows the format.
//!
//! The way of a file: `structure` checks keys and kinds of values against `shape`, `document` reads it with the
//! places of its values, `read` checks what it means against the levers, servers and workloads known, and gives a
//! [`StudyDescription`] for each size.

mod build_table;
mod changes;
mod document;
mod level_sets;
mod mistake;
mod part;
mod read;
mod schema;
mod shape;
mod structure;
mod study;
#[cfg(test)]
mod tests;
mod workload;

pub use level_sets::{LevelSet, level_sets};
pub use mistake::Mistake;
pub use part::WantedLevel;
pub use read::{Known, StudyFile, read_study};
pub use schema::schema;
pub use study::{
    AxisRecipe, LevelRecipe, RungRecipe, StudyDescription, StudyKind, StudyQuestion, StudySize,
    StudyWorkload, VariantRecipe,
};
pub use workload::{load_of, names_file, own_workload};
