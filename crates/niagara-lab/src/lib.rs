//! Levers, variants, duels, ladders: where a study is run.
//!
//! One measurement is one walk: a command (`tune`, `compare`) asks its question of
//! the `Study`, which runs a [`DuelSpec`] in the arena by its [`Protocol`], keeps the slices in the
//! store, and hands the duel's score to `niagara-stats`, whose verdict goes into the summary.

mod accounts;
mod arena;
mod breakdown;
mod build_note;
mod candidate;
mod client_host;
mod compare;
mod deployment;
mod duel;
mod duel_plan;
mod histogram;
mod history;
mod job;
mod judged;
mod ladder;
pub mod lever;
mod load_driver;
mod matrix;
mod noise;
mod observer;
mod patches;
mod prepare_builds;
mod probe;
mod profile;
mod promotion;
pub mod quantity;
mod rate;
mod screen;
mod server_build;
mod server_settings;
mod spec;
mod study;
pub mod study_file;
mod sweep;
mod tune;
mod variant;
mod warm_up;
mod workbench;

pub use candidate::Candidate;
pub use client_host::{
    ClientHost, ClientHostOptions, ClientHostRecord, RemoteShell, SSH_VARIABLE, own_hash,
    remark as client_host_remark,
};
pub use compare::{CompareOptions, compare};
pub use duel::fight;
pub use duel_plan::{assumed_sd, couples_for, couples_within, duel_seconds, unit_seconds};
pub use history::History;
pub use ladder::{LadderOptions, RungStart, climb_ladder, rung_errors};
pub use matrix::{Combination, MatrixOptions, fill_matrix};
pub use noise::{Noise, noise};
pub use observer::{Event, Observer};
pub use prepare_builds::prepare_builds;
pub use profile::{ProfileOptions, ShortProfile, View, profile};
pub use rate::RateChoice;
pub use server_build::{BuildOptions, build};
pub use spec::{DuelOutcome, DuelSpec, Lengths, Load, Protocol};
pub use study::{RESULTS_FILE, Study, StudyOptions};
pub use sweep::{MOST_SWEPT, SweepOptions, sweep, sweep_protocol, with_room};
pub use tune::{TuneOptions, TunePlan, tune};
pub use variant::Variant;
pub use workbench::{Workbench, looks_like_path};
