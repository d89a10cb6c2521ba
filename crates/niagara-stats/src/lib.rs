//! Estimates, sequential tests, designs: pure functions, no I/O.

mod all_time;
mod components;
mod confidence_sequence;
mod couple;
mod difference;
mod duel_score;
mod eigen;
mod estimate;
mod evidence;
mod foldover;
mod hadamard;
mod holm;
mod interval_estimate;
mod interval_once;
mod judge;
mod judgement;
mod looks;
mod nodes;
mod normal;
mod outwards;
mod pair;
mod planning;
mod promotion;
mod race;
mod rule;
mod sample;
mod scalability;
mod seed;
mod selection;
mod sign_flips;
pub mod signed_rank;
mod stability;
pub mod student;
mod taken;
mod trend;
mod trimmed;
mod unbounded;
mod unfit;
mod warm_up;
mod whole_table;

pub use all_time::{AllTime, Batch, DuelTotals};
pub use components::{COUPLES, Components, components, optimal_couples};
pub use confidence_sequence::confidence_sequence;
pub use couple::Couple;
pub use difference::{difference, widened};
pub use duel_score::{DuelScore, Weighing, duel_score};
pub use estimate::Estimate;
pub use foldover::{
    Effect, Expected, Factor, Fit, Interaction, Observation, Pair, Row, Unsteady, design,
    design_among, design_order, effects, interactions, ruinous, strongest_beside, unsteady,
    weights,
};
pub use holm::{holm, p_of_zero_mean};
pub use interval_estimate::IntervalEstimate;
pub use interval_once::interval_once;
pub use judge::{
    at_look_on_nodes, hold_against_all_time, hold_against_failures, hold_without_interval, judge,
    judge_beside, judge_final, judge_final_on_nodes, judge_on_nodes,
};
pub use judgement::{Judgement, Verdict};
pub use looks::{ErrorBudget, Look, LookPlan};
pub use nodes::{Heterogeneity, MIN_NODES, NodeEstimate, heterogeneity};
pub use outwards::outwards;
pub use pair::{run_value, window_sd};
pub use planning::{detectable, detectable_at, detectable_by, detectable_in, detectable_of_starts};
pub use promotion::{Bond, Prior, Prospect, ScreenedEffect, promote};
pub use race::{Found, ROUND_DUELS, Race, SIDE_BY_SIDE};
pub use rule::Rule;
pub use sample::{geometric_means, median, standard_deviation};
pub use scalability::{Scalability, Start, scalability};
pub use seed::derive_seed;
pub use selection::{
    AGAIN_SHARE, Disagreement, Selection, Trial, disagreement, is_worse, log_width, meets, product,
    quotient,
};
pub use stability::{Stability, stability};
pub use taken::{
    HALF_WEIGHT, InterferenceSlope, judged_as_measured, taken_difference, taken_more_from,
};
pub use trend::{Trend, trend};
pub use trimmed::trimmed;
pub use unfit::{MachineDuel, MachineTrial, NoisyNode, unfit, unfit_by_trial};
pub use warm_up::{WarmUp, warm_up_cut};
pub use whole_table::{TableCell, over_the_whole_table};
