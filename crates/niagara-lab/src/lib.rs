//! Levers, variants, duels, ladders: where a study is run.
//!
//! One measurement is one walk: a command or a study file comes to a [`StudyDescription`], [`answer`] sets up what it
//! takes and opens the [`Study`], which runs a [`DuelSpec`] in the arena by its [`Protocol`], keeps the slices in the
//! store, and hands the duel's score to `niagara-stats`, whose verdict goes into the summary.

mod accounts;
mod announced;
mod answer;
mod arena;
mod breakdown;
mod build_note;
mod candidate;
mod checkpoint;
mod choose_levers;
mod client_host;
mod combinations;
mod compare;
mod couples;
mod debug_symbols;
mod default_lengths;
mod deployment;
mod duel;
mod duel_plan;
mod histogram;
mod history;
mod identical;
mod inventory;
mod job;
mod judged;
mod ladder;
mod level_sets;
pub mod lever;
mod lever_context;
mod load_by_name;
mod load_driver;
mod matrix;
mod measuring;
mod noise;
mod observer;
mod opening;
mod patches;
mod prepare_builds;
mod probe;
mod profile;
mod promotion;
pub mod quantity;
mod question;
mod rate;
mod recipe;
mod resolve;
mod results_folder;
mod screen;
mod server_build;
mod server_settings;
mod session;
mod set_up;
mod spec;
mod study;
pub mod study_file;
mod sweep;
mod sweep_set_up;
mod tune;
mod tune_set_up;
mod variant;
mod wanted_level;
mod warm_up;
mod with_room;
mod workbench;

pub use announced::{Announced, ComparePlan, TunePlan};
pub use answer::{Answer, answer};
pub use candidate::Candidate;
pub use choose_levers::TuneQuestion;
pub use client_host::{
    ClientHost, ClientHostOptions, ClientHostRecord, RemoteShell, SSH_VARIABLE, own_hash,
    remark as client_host_remark,
};
pub use compare::compare_plan;
pub use couples::couples_of;
pub use debug_symbols::debug_symbols;
pub use default_lengths::{DefaultCouples, LengthOptions};
pub use duel::fight;
pub use duel_plan::{assumed_sd, couples_within, duel_seconds, unit_seconds};
pub use history::History;
pub use inventory::{Inventory, server_name};
pub use ladder::rung_errors;
pub use level_sets::{AxisRecipe, LevelRecipe, LevelSet, level_sets};
pub use lever_context::lever_context;
pub use load_by_name::{load_of, names_file, own_workload};
pub use measuring::Found;
pub use noise::Noise;
pub use observer::{Event, Observer};
pub use opening::study_key;
pub use profile::{ProfileOptions, ShortProfile, View, profile};
pub use question::{
    MAX_DUELS, Question, RungRecipe, StudyDescription, StudyKind, StudySize, StudyWorkload,
};
pub use rate::RateChoice;
pub use recipe::VariantRecipe;
pub use resolve::variant_of;
pub use results_folder::{RESULTS, file_name};
pub use server_build::{BuildOptions, build};
pub use session::Session;
pub use spec::{DuelOutcome, DuelSpec, Lengths, Load, Protocol};
pub use study::{RESULTS_FILE, Study, StudyOptions};
pub use sweep::{MOST_SWEPT, sweep_protocol};
pub use variant::Variant;
pub use wanted_level::WantedLevel;
pub use workbench::{Workbench, looks_like_path};
