//! Levers, variants, duels, ladders: where a study is run.
//!
//! One measurement is one walk: a command or a study file comes to a [`StudyDescription`], [`answer`] sets up what it
//! takes and opens the [`Study`], which runs a [`DuelSpec`] in the arena by its [`Protocol`], keeps the slices in the
//! store, and hands the duel's score to `niagara-stats`, whose verdict goes into the summary.
//!
//! The rooms: `asking/` (what people ask, as they write it), `lever/` and `variants/` (what a server can be set to),
//! `study_file/` (questions in files), `plans/` (what is planned and told), `duels/` (one duel in the arena), `studies/` (a study around its duels),
//! `answering/` (how each kind is answered), `profile/` (where the time goes), `client_host/` (load from elsewhere), `fleet/` (duels elsewhere).
//! They use each other in one direction: `crates/niagara/tests/circles.rs` holds that.

mod answering;
mod asking;
mod client_host;
mod duels;
mod fleet;
pub mod lever;
mod plans;
mod profile;
mod studies;
pub mod study_file;
mod variants;

pub use answering::answer::{Answer, answer};
pub use answering::compare::compare_plan;
pub use answering::compare::couples::couples_of;
pub use answering::ladder::rung_errors;
pub use answering::matrix::parts::PartsSoFar;
pub use answering::measuring::Found;
pub use answering::method_controls::{CONTROL_COUNT, control_duels};
pub use answering::noise::Noise;
pub use answering::opening::parts_so_far;
pub use answering::sweep::{MAX_SWEPT, sweep_protocol};
pub use asking::choose_levers::{Application, CountedLever, Keep, TuneQuestion};
pub use asking::duel_defaults::{DefaultCouples, DuelOptions};
pub use asking::level_sets::{AxisRecipe, LevelRecipe, LevelSet, MatrixQuestion};
pub use asking::load_of::load_of;
pub use asking::own_training::{holdout_load, trains_builds};
pub use asking::quantity;
pub use asking::question::{
    Question, RungRecipe, StudyDescription, StudyKind, StudySize, StudyWorkload,
};
pub use asking::rate_choice::RateChoice;
pub use asking::recipe::VariantRecipe;
pub use asking::recipes_of::recipes_of;
pub use asking::wanted_level::WantedLevel;
pub use client_host::{
    ClientHost, ClientHostOptions, ClientHostRecord, RemoteShell, SSH_VARIABLE, own_hash,
    remark as client_host_remark,
};
pub use duels::inventory::{Inventory, server_name};
pub use duels::lever_context::lever_context;
pub use duels::log_syncs::log_syncs;
pub use duels::workbench::{Workbench, looks_like_path};
pub use fleet::{BuiltOnNodes, FleetOptions, NodeOptions, build_on_nodes, work_on_node};
pub use plans::announced::{Announced, ComparePlan, TunePlan};
pub use plans::duel_plan::{
    NoiseSource, duel_seconds, expected_sd, unit_seconds, warmed_up_unit_seconds,
};
pub use plans::observer::{Event, Observer};
pub use plans::spec::{DuelSettings, Load, Protocol};
pub use plans::study_key::study_key;
pub use profile::debug_symbols::debug_symbols;
pub use profile::{
    LiveSubject, ProfileOptions, ShortProfile, View, profile, profile_live, sweep_profile_seconds,
};
pub use studies::history::History;
pub use studies::results_folder::{RESULTS, RESULTS_FILE, file_name};
pub use studies::session::Session;
pub use studies::study::{Study, StudyOptions};
pub use studies::variant_set_up::variant_of;
pub use variants::build_time::BuildAhead;
pub use variants::origin::{Data, Origin};
pub use variants::server_build::{BuildOptions, ServerRecipe, build};
pub use variants::variant::Variant;
