//! Servers built from source: the recipe, its store, and the way from one to the other.
//!
//! The walk is: [`Recipe`] → [`Builder::ensure`] → source → instrumented build → training → optimised build → BOLT →
//! [`Built`], whose install is launched like any other.

mod able;
mod additions;
mod bolt;
mod builder;
mod bundled_libraries;
mod cmake_answers;
mod compile;
mod compiler_profile;
mod counting;
mod described;
mod ensure;
mod experience;
mod first_error;
mod flags;
mod forecast;
mod freed_space;
mod in_use;
mod load_trainer;
mod lock;
mod named_training;
mod ninja_progress;
mod order;
mod package_changes;
mod patch;
mod place;
mod prefix;
mod recipe;
mod sampling;
mod search_folders;
mod setting;
mod shipped_patches;
mod shipped_profiles;
mod source;
mod step;
mod stopwatch;
mod store;
mod today;
mod toolchain;
mod trainer;
mod training;
mod training_files;
mod training_list;

pub use able::{check_packages, check_tools};
pub use additions::settings_with;
pub use builder::{Builder, Built, Wanted};
pub use described::{built_as, kept_as};
pub use forecast::Forecast;
pub use in_use::InUse;
pub use load_trainer::{Exercise, LoadTrainer, stopped};
pub use package_changes::{PROFILE_PLACE, PackageChanges};
pub use patch::Patch;
pub use recipe::{BoltProfile, Linker, Lto, Recipe, StaticLibrary};
pub use sampling::Sampler;
pub use setting::{check_build_setting, check_names, setting_in_folder};
pub use shipped_patches::{lever_texts, patch_names, patch_text};
pub use source::Source;
pub use step::BuildStopped;
pub use store::{BuildKind, BuildRecord, BuildStore, StoredBuild, Unreadable};
pub use trainer::{Trainer, TrainingJob};
pub use training::{TRAINING_PART, Training};
