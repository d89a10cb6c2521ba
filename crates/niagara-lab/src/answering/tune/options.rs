//! How a server is tuned, and what that means for the time of its parts.

use std::collections::BTreeMap;

use niagara_model::{Goal, NextStep, NotTried, TailGuard, TargetSize};
use niagara_stats::{Components, ErrorBudget, Rule};

use crate::answering::ladder::rung_errors;
use crate::answering::sequential_test::SPARE_TIME;
use crate::answering::tune::plan::{TOTAL_DUELS, fewest_duels};
use crate::answering::tune::screen::ScreenTime;
use crate::asking::choose_levers::Keep;
use crate::asking::question::MAX_DUELS;
use crate::asking::rate_choice::RateChoice;
use crate::duels::inventory::MeasuredMachine;
use crate::plans::spec::Load;
use crate::profile::{ShortProfile, seconds_each};
use crate::variants::candidate::Candidate;
use crate::variants::variant::Variant;

/// How a server is tuned.
#[derive(Debug, Clone)]
pub(crate) struct TuneOptions {
    /// Where the ladder starts.
    pub base: Variant,
    /// Levers that apply here, the controls among them.
    pub candidates: Vec<Candidate>,
    /// Levers that do not apply here, each with the reason.
    pub not_applicable: Vec<NotTried>,
    /// What is tuned for.
    pub goal: Goal,
    /// The rate at which latencies are compared, where they are the goal.
    pub rate: Option<RateChoice>,
    /// Error probability of the total and, shared, of the claims.
    pub alpha: f64,
    /// Smallest worthwhile gain, futility.
    pub rule: Rule,
    /// Seconds for all of it, excluding setup.
    pub budget_seconds: f64,
    /// Couples of a screening duel, where asked for.
    pub screen_couples: Option<u32>,
    /// Couples of a duel that judges, where asked for.
    pub couples: Option<u32>,
    /// Counted time of a slice.
    pub slice_seconds: f64,
    /// Seed.
    pub seed: u64,
    /// The machine, for the person who deploys what was found.
    pub machine: MeasuredMachine,
    /// How many CPUs it has.
    pub cpus: usize,
    /// How the final variant is profiled; `None` leaves it out.
    pub profile: Option<ShortProfile>,
    /// What earlier comparisons on this machine tell of its noise; `None` before there are enough.
    pub noise: Option<Components>,
    /// Which promoted levers are handed over.
    pub keep: Keep,
    /// How much worse a tail of latency may become.
    pub guard: TailGuard,
    /// Whether the application runs on another host.
    pub remote_application: bool,
    /// What to try after this tuning, where it leaves nothing undecided.
    pub next: Option<NextStep>,
    /// By lever: variables that follow the machine.
    pub target_sizes: BTreeMap<String, Vec<TargetSize>>,
}

impl TuneOptions {
    /// Seconds of a slice; none where they differ, as those of a capture's segments do.
    pub(crate) fn slice_seconds_under(&self, load: &Load) -> Option<f64> {
        (load.workload.capture().is_none()).then_some(self.slice_seconds)
    }

    /// The total: is the final variant faster than the start? A tuning that loses hands nothing over, so only a gain is
    /// claimed.
    pub(crate) fn total_errors(&self) -> ErrorBudget {
        total_errors(self.alpha)
    }

    /// Duels without which the total has no interval.
    pub(crate) fn fewest_total_duels(&self) -> usize {
        fewest_duels(&self.total_errors())
    }

    pub(crate) fn screen_time(&self, couples: u32) -> ScreenTime {
        ScreenTime {
            budget_seconds: self.budget_seconds,
            judging_couples: couples,
            total_duels: [
                TOTAL_DUELS.max(self.fewest_total_duels()),
                self.fewest_total_duels(),
            ],
            proof_duels: 2 * fewest_duels(&two_rungs_errors(self.alpha))
                + self.fewest_total_duels(),
            spare: SPARE_TIME,
        }
    }

    /// Seconds of the budget that the profile of the final variant takes.
    pub(crate) fn profile_seconds(&self) -> f64 {
        let seconds = self
            .profile
            .as_ref()
            .and_then(|_| seconds_each(self.budget_seconds, 1));
        seconds.unwrap_or(0.0)
    }
}

/// How the error probability of each of two rungs is spent: the fewest that are claimed on their own.
pub(crate) fn two_rungs_errors(alpha: f64) -> ErrorBudget {
    rung_errors(alpha, 2, MAX_DUELS)
}

/// How the error probability of a total is spent.
pub(crate) fn total_errors(alpha: f64) -> ErrorBudget {
    ErrorBudget::one_sided(alpha, MAX_DUELS)
}
