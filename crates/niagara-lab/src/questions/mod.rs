//! How each kind of question is answered by duels, and what several of them share.

pub(crate) mod breakdown;
pub(crate) mod build_note;
pub(crate) mod by_digest;
pub(crate) mod combinations;
pub(crate) mod compare;
pub(crate) mod couples;
pub(crate) mod deploy_difference;
pub(crate) mod deployment;
pub(crate) mod final_check;
pub(crate) mod identical;
pub(crate) mod ladder;
pub(crate) mod matrix;
pub(crate) mod method_controls;
pub(crate) mod noise;
pub(crate) mod prepare_builds;
pub(crate) mod probe;
pub(crate) mod rate;
pub(crate) mod screen;
pub(crate) mod search;
pub(crate) mod sequential_test;
pub(crate) mod sweep;
pub(crate) mod sweep_set_up;
pub(crate) mod tune;
pub(crate) mod tune_plan;
pub(crate) mod tune_set_up;
