//! Levers, variants, duels, ladders: where a study is run.
//!
//! One measurement is one walk: a command or a study file comes to a [`StudyDescription`], [`answer`] sets up what it
//! takes and opens the [`Study`], which runs a [`DuelSpec`] in the arena by its [`Protocol`], keeps the slices in the
//! store, and hands the duel's score to `niagara-stats`, whose verdict goes into the summary.
//!
//! The rooms: `asking/` (what people ask, as they write it), `lever/` and `variants/` (what a server can be set to),
//! `study_file/` (questions in files), `duels/` (one duel in the arena), `studies/` (a study around its duels),
//! `questions/` (how each kind is answered), `profile/` (where the time goes), `client_host/` (load from elsewhere), `fleet/` (duels elsewhere).

mod asking;
mod client_host;
mod duels;
mod fleet;
pub mod lever;
mod profile;
mod questions;
mod studies;
pub mod study_file;
mod variants;

pub use asking::choose_levers::{Application, Keep, TuneQuestion};
pub use asking::duel_defaults::{DefaultCouples, DuelOptions};
pub use asking::level_sets::{AxisRecipe, LevelRecipe, LevelSet, MatrixQuestion};
pub use asking::load_by_name::load_of;
pub use asking::origin::{Data, Origin};
pub use asking::own_training::{holdout_load, trains_builds};
pub use asking::quantity;
pub use asking::question::{
    Question, RungRecipe, StudyDescription, StudyKind, StudySize, StudyWorkload,
};
pub use asking::rate_choice::RateChoice;
pub use asking::recipe::VariantRecipe;
pub use asking::recipes_of::recipes_of;
pub use asking::resolve::variant_of;
pub use asking::wanted_level::WantedLevel;
pub use client_host::{
    ClientHost, ClientHostOptions, ClientHostRecord, RemoteShell, SSH_VARIABLE, own_hash,
    remark as client_host_remark,
};
pub use duels::duel_plan::{
    NoiseSource, duel_seconds, expected_sd, unit_seconds, warmed_up_unit_seconds,
};
pub use duels::log_syncs::log_syncs;
pub use duels::spec::{DuelSettings, Load, Protocol};
pub use duels::workbench::{Workbench, looks_like_path};
pub use fleet::{BuiltOnNodes, FleetOptions, NodeOptions, build_on_nodes, work_on_node};
pub use profile::{ProfileOptions, ShortProfile, View, profile, sweep_profile_seconds};
pub use questions::compare::compare_plan;
pub use questions::couples::couples_of;
pub use questions::ladder::rung_errors;
pub use questions::method_controls::{CONTROL_COUNT, control_duels};
pub use questions::noise::Noise;
pub use questions::parts::PartsSoFar;
pub use questions::sweep::{MAX_SWEPT, sweep_protocol};
pub use studies::announced::{Announced, ComparePlan, TunePlan};
pub use studies::answer::{Answer, answer};
pub use studies::debug_symbols::debug_symbols;
pub use studies::history::History;
pub use studies::inventory::{Inventory, server_name};
pub use studies::measuring::Found;
pub use studies::observer::{Event, Observer};
pub use studies::opening::parts_so_far;
pub use studies::results_folder::{RESULTS, RESULTS_FILE, file_name};
pub use studies::session::Session;
pub use studies::study::{Study, StudyOptions};
pub use studies::study_key::study_key;
pub use variants::build_time::BuildAhead;
pub use variants::lever_context::lever_context;
pub use variants::server_build::{BuildOptions, ServerRecipe, build};
pub use variants::variant::Variant;
