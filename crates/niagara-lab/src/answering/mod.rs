//! How each kind of question is answered by duels. A kind has its file, and a folder with what only it needs (`tune.rs` and `tune/`); the other
//! files are shared by several. `answer.rs` opens a study and lets its kind run.

pub(crate) mod answer;
pub(crate) mod breakdown;
pub(crate) mod build_note;
pub(crate) mod by_digest;
pub(crate) mod compare;
pub(crate) mod comparison;
pub(crate) mod confirmation;
pub(crate) mod deploy_difference;
pub(crate) mod deployment;
pub(crate) mod failure_summary;
pub(crate) mod final_check;
pub(crate) mod identical;
pub(crate) mod ladder;
pub(crate) mod matrix;
pub(crate) mod measuring;
pub(crate) mod method_controls;
pub(crate) mod noise;
pub(crate) mod opening;
pub(crate) mod prepare_builds;
pub(crate) mod rate;
pub(crate) mod same_answers;
pub(crate) mod sequential_test;
pub(crate) mod sweep;
pub(crate) mod target_sizes;
pub(crate) mod tune;
