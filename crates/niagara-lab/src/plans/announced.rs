//! What a study is about to do and what it can show, once that is known.

use serde::{Deserialize, Serialize};

use crate::plans::duel_plan::NoiseSource;
use crate::plans::spec::Protocol;

/// What is about to happen.
#[derive(Debug, Clone, Copy)]
pub enum Announced<'a> {
    /// A comparison.
    Compare(&'a ComparePlan),
    /// A tuning.
    Tune {
        /// The server.
        server: &'a str,
        /// The load in one line.
        load: &'a str,
        /// Seconds asked for.
        budget_seconds: f64,
        /// What is tried in them.
        plan: &'a TunePlan,
        /// How many of its levers are controls.
        controls: usize,
    },
}

/// What a comparison is about to do.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ComparePlan {
    /// A, for people.
    pub a: String,
    /// B, for people.
    pub b: String,
    /// The load in one line.
    pub load: String,
    /// How they meet.
    pub protocol: Protocol,
    /// Couples of a duel.
    pub couples: u32,
    /// Seconds after which the load goes to the other side.
    pub slice_seconds: f64,
    /// Estimated seconds of a duel, pair or series; `None` of jobs, which take as long as they take.
    pub duel_seconds: Option<f64>,
    /// Seconds asked for.
    pub budget_seconds: f64,
    /// Duels that fit into them, as far as that can be told: of jobs as many as there may be.
    pub duels: usize,
    /// Smallest difference that those show 4 times in 5, as a fraction; `None` of protocols other than duels.
    pub detectable: Option<f64>,
    /// Where the noise that this goes by is from.
    pub noise: NoiseSource,
    /// Smallest gain that is worth the trouble, as a fraction.
    pub min_effect: f64,
}

/// What a tuning is about to do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TunePlan {
    /// Levers that go into the screening, the controls included.
    pub levers: Vec<String>,
    /// Levers left out because the budget is too short for them.
    pub left_out: Vec<String>,
    /// Duels of the screening design.
    pub screening_duels: usize,
    /// Estimated seconds of a screening duel.
    pub screening_duel_seconds: f64,
    /// Estimated seconds of a duel that judges.
    pub duel_seconds: f64,
    /// Seconds of the budget at which the screening ends when it found something.
    pub screening_until: f64,
    /// Smallest effect of one lever that the screening shows (2.8 standard errors), as a fraction; `None` where it is not
    /// throughput that is tuned for, of whose noise nothing is known yet, and where there are more levers than duels.
    pub detectable_lever: Option<f64>,
    /// Smallest effect of the total that its first looks show, as a fraction; `None` where nothing is known of the noise of
    /// what is tuned for.
    pub detectable_total: Option<f64>,
    /// Where the noise that these go by is from.
    pub noise: NoiseSource,
    /// Couples of a screening duel.
    pub screen_couples: u32,
    /// Couples of a duel that judges.
    pub couples: u32,
    /// Seconds after which the load goes to the other side.
    pub slice_seconds: f64,
}
