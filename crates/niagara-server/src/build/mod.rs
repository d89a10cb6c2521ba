//! Servers built from source: the recipe, its store, and the way from one to the other.
//!
//! The walk is: [`Recipe`] → [`Builder::ensure`] → source → instrumented build → training → optimised build → BOLT →
//! [`Built`], whose install is launched like any other.

mod bolt;
mod builder;
mod disk;
mod failure;
mod flags;
mod forecast;
mod ninja_progress;
mod own_libraries;
mod patches;
mod prefix;
mod profile;
mod recipe;
mod run;
mod sampling;
mod source;
mod stopwatch;
mod store;
mod toolchain;
mod training;

pub use builder::{Builder, Built, Trainer, TrainingJob};
pub use forecast::Forecast;
pub use patches::Patch;
pub use prefix::PRIVATE_LIB;
pub use profile::ProfileSummary;
pub use recipe::{
    BoltProfile, Compiler, CompilerFamily, Linker, Lto, RECIPE_KEYS, Recipe, StaticLibrary,
};
pub use run::BuildStopped;
pub use sampling::{Sampler, Sampling};
pub use source::Source;
pub use store::{BuildKind, BuildRecord, BuildStore, Collected, InUse, StoredBuild, Unreadable};
pub use toolchain::{LinkerFound, Toolchain};
pub use training::Training;
