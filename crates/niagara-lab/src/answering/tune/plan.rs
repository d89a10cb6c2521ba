//! What a tuning does with its time: how long its duels are, how many levers are screened.

use anyhow::Result;
use niagara_error::bail;
use niagara_model::Goal;
use niagara_stats::{
    COUPLES, Components, ErrorBudget, design_order, detectable, detectable_by, optimal_couples,
};

use crate::answering::tune::screen::{MIN_SCREENING, screening_until};
use crate::asking::duel_defaults::DefaultCouples;
use crate::lever::Role;
use crate::plans::announced::TunePlan;
use crate::plans::duel_plan::{couple_seconds, couples_within, duel_seconds, expected_sd};
use crate::plans::spec::DuelSettings;
use crate::variants::candidate::{Candidate, crowded_out, factors, most_levers};

/// Duels of the total that are to fit behind the screening; those of its first look must.
pub(crate) const TOTAL_DUELS: usize = 8;
/// Share of the budget that the total's duels are made to fit in, where nobody said how many couples they have. The proof has half of
/// the budget, and each of its questions as many duels: five of them fit in.
const TOTAL_SHARE: f64 = 0.1;
/// Design rows beyond the number of effects, so that the residual has degrees of freedom.
const SPARE_ROWS: usize = 10;
/// Levers that are screened with one duel at the most. With fewer duels than levers the strongest are found one after the
/// other; simulated, a lever more is worth trying up to three times the duels (docs/methodology.md).
const MAX_LEVERS_A_DUEL: usize = 3;
/// Duels without which a screening tells nothing: their median lever is then on each side in three.
const MIN_SCREENING_DUELS: usize = 6;
/// Couples below which a screening duel does not go.
const MIN_SCREEN_COUPLES: u32 = 2;

/// What a plan is made from.
pub(crate) struct TuneTime<'a> {
    /// Slices and warm-up.
    pub duel_settings: DuelSettings,
    /// Seconds of the whole tuning.
    pub budget_seconds: f64,
    /// What is tuned for.
    pub goal: Goal,
    /// Levers that apply and that the server takes, the most promising first, the controls among them.
    pub candidates: &'a [Candidate],
    /// Couples of a screening duel, where asked for.
    pub screen_couples: Option<u32>,
    /// Couples of a duel that judges, where asked for.
    pub couples: Option<u32>,
    /// What earlier comparisons on this machine tell of its noise.
    pub noise: Option<Components>,
    /// How the error probability of the total is spent.
    pub total_errors: ErrorBudget,
    /// Likewise of each of two rungs.
    pub rung_errors: ErrorBudget,
    /// Room for duels that take longer than planned.
    pub spare: f64,
}

/// Duels without which a question with this error probability has no interval.
pub(crate) fn fewest_duels(errors: &ErrorBudget) -> usize {
    errors.fewest_duels().unwrap_or(TOTAL_DUELS)
}

/// The duels of a tuning, before its levers are chosen.
struct Screening {
    /// Couples of a duel that judges.
    couples: u32,
    /// Seconds that it takes.
    judging: f64,
    /// Duels of the total.
    total_duels: usize,
    /// Seconds after which the screening ends.
    until: f64,
    /// Couples of a screening duel.
    screen_couples: u32,
    /// Seconds that it takes.
    screening: f64,
    /// Screening duels that there is time for.
    affordable: usize,
}

impl TuneTime<'_> {
    /// What there is time for: couples, levers and duels of the screening, with the total behind it.
    ///
    /// # Errors
    /// The time is too short for a screening and a total.
    pub fn plan(&self) -> Result<TunePlan> {
        let Screening {
            couples,
            judging,
            total_duels,
            until,
            screen_couples,
            screening,
            affordable,
        } = self.screening()?;
        let (kept, left_out) = self.kept(affordable);
        let duels = design_order(kept.len() + SPARE_ROWS).min(affordable);
        let (screening_sd, noise) = expected_sd(self.noise, &self.duel_settings, screen_couples);
        let (total_sd, _) = expected_sd(self.noise, &self.duel_settings, couples);
        // Of the noise of other goals nothing is known before their first duels.
        let known = self.goal == Goal::Throughput;
        Ok(TunePlan {
            detectable_lever: (known && kept.len() < duels)
                .then(|| detectable(screening_sd, duels)),
            detectable_total: known
                .then(|| detectable_by(total_duels, total_sd, &self.total_errors))
                .flatten(),
            noise,
            levers: kept,
            left_out,
            screening_duels: duels,
            screening_duel_seconds: screening,
            duel_seconds: judging,
            screening_until: until,
            screen_couples,
            couples,
            slice_seconds: self.duel_settings.slice_seconds,
        })
    }

    /// Levels of one choice that the screening will tell apart.
    ///
    /// # Errors
    /// As with [`plan`](Self::plan).
    pub fn levels_of_a_choice(&self) -> Result<usize> {
        Ok(most_levers(self.screening()?.affordable))
    }

    /// The duels that there is time for.
    fn screening(&self) -> Result<Screening> {
        let couples = self.couples.unwrap_or_else(|| self.total_couples());
        let judging = duel_seconds(&self.duel_settings, couples);
        let total_duels = TOTAL_DUELS.max(fewest_duels(&self.total_errors));
        let total_seconds = total_duels as f64 * judging * self.spare;
        let until = screening_until(
            self.budget_seconds,
            judging * self.spare,
            total_duels,
            2 * fewest_duels(&self.rung_errors) + fewest_duels(&self.total_errors),
        );
        let screen_couples = self
            .screen_couples
            .unwrap_or_else(|| self.screening_couples(until));
        let screening = duel_seconds(&self.duel_settings, screen_couples);
        let affordable = (until / screening).max(0.0) as usize;
        if affordable < MIN_SCREENING_DUELS {
            let screening_seconds = MIN_SCREENING_DUELS as f64 * screening;
            let least = (total_seconds + screening_seconds).max(screening_seconds / MIN_SCREENING);
            bail!(
                "a budget of {:.0} s is too short: a duel that judges takes about {judging:.0} s here, and the total wants \
                 {total_duels} of them behind the screening", self.budget_seconds;
                remedy: "--budget {:.0}m, or shorter duels (--slice, --couples)", (least / 60.0).ceil()
            );
        }
        Ok(Screening {
            couples,
            judging,
            total_duels,
            until,
            screen_couples,
            screening,
            affordable,
        })
    }

    /// Couples of a duel that judges: what pays for a restart by what is known of this machine's noise, as far as the
    /// total's first looks fit in their share of the budget.
    fn total_couples(&self) -> u32 {
        let usual = DefaultCouples::LADDER.of(self.duel_settings.slice_seconds);
        let best = self.paying(usual);
        let seconds = self.budget_seconds * TOTAL_SHARE / TOTAL_DUELS as f64 / self.spare;
        couples_within(&self.duel_settings, best.max(*COUPLES.start()), seconds)
    }

    /// Couples of a screening duel: what pays for a restart, or fewer where there is not a duel for every lever. A further
    /// duel tells levers apart; a further couple only makes one duel more exact. Never so few that the starts take more than
    /// twice the time of the slices.
    fn screening_couples(&self, seconds: f64) -> u32 {
        let usual = DefaultCouples::SCREENING.of(self.duel_settings.slice_seconds);
        let starts = duel_seconds(&self.duel_settings, 0);
        let worth_a_start = (starts / 2.0 / couple_seconds(&self.duel_settings)).ceil() as u32;
        let least = worth_a_start.max(MIN_SCREEN_COUPLES).min(usual);
        let most = self.paying(usual).max(least);
        let wanted = (self.candidates.len() + SPARE_ROWS) as f64;
        (least..=most)
            .rev()
            .find(|&couples| seconds / duel_seconds(&self.duel_settings, couples) >= wanted)
            .unwrap_or(least)
    }

    /// The couples that narrow intervals most per minute, √(σ²couple · cost of a restart / (2σ²restart · cost of a couple)),
    /// from half to twice the usual number; the usual one while nothing is known of the noise here.
    fn paying(&self, usual: u32) -> u32 {
        let best = self.noise.map(|noise| {
            let starts = duel_seconds(&self.duel_settings, 0);
            optimal_couples(&noise, starts, couple_seconds(&self.duel_settings))
        });
        best.map_or(usual, |best| best.clamp(usual.div_ceil(2), 2 * usual))
    }

    /// Identifiers of the levers that this many duels screen, and of those that they do not. Levers drop out from the end of
    /// the list, the controls never.
    fn kept(&self, duels: usize) -> (Vec<String>, Vec<String>) {
        let candidates = self.candidates;
        let is_lever = |index: usize| candidates[index].lever.role() == Role::Lever;
        let mut kept: Vec<usize> = (0..candidates.len()).collect();
        let mut left_out = Vec::new();
        // A control that is a level of a choice stays.
        for index in crowded_out(&factors(candidates), duels) {
            if is_lever(index) {
                kept.retain(|&other| other != index);
                left_out.push(index);
            }
        }
        while kept.len() > MAX_LEVERS_A_DUEL * duels {
            let Some(place) = kept.iter().rposition(|&index| is_lever(index)) else {
                break;
            };
            left_out.push(kept.remove(place));
        }
        let ids = |indices: Vec<usize>| {
            let ids = indices.iter().map(|&index| candidates[index].lever.id());
            ids.map(str::to_owned).collect()
        };
        (ids(kept), ids(left_out))
    }
}

#[cfg(test)]
mod tests {
    use niagara_error::Explain as _;
    use niagara_server::Family;
    use niagara_server::machine::Fingerprint;

    use super::*;
    use crate::answering::tune::screen::MAX_SCREENING;
    use crate::lever::{Context, load};
    use crate::plans::duel_plan::NoiseSource;

    /// All shipped levers that apply to MariaDB 10.11 with a workload that writes, on 2 CPUs.
    fn candidates() -> Vec<Candidate> {
        let mut machine = Fingerprint::default();
        machine.cpu.threads = 2;
        machine.memory.bytes = 8 << 30;
        let mut context = Context::new(
            Family::Mariadb,
            "10.11.19".parse().expect("a version"),
            machine,
        );
        context.writes = true;
        context.data_bytes = 400 << 20;
        context.mallocs = ["jemalloc", "tcmalloc", "mimalloc"]
            .map(str::to_owned)
            .into();
        let levers = load(&[]).expect("the shipped levers");
        levers
            .into_iter()
            .filter_map(|lever| {
                Some(Candidate {
                    change: lever.applicability(&context).ok()?,
                    span: None,
                    prior: None,
                    lever,
                })
            })
            .collect()
    }

    fn time(candidates: &[Candidate], minutes: f64, slice_seconds: f64) -> TuneTime<'_> {
        TuneTime {
            duel_settings: DuelSettings {
                couples: 20,
                slice_seconds,
                ramp_seconds: 0.0,
                warm_up_seconds: 3.0,
                disturbance: 0.05,
            },
            budget_seconds: 60.0 * minutes,
            goal: Goal::Throughput,
            candidates,
            screen_couples: None,
            couples: None,
            noise: None,
            total_errors: ErrorBudget::one_sided(0.05, 44),
            rung_errors: ErrorBudget::one_sided(0.025, 44),
            spare: 1.15,
        }
    }

    #[test]
    fn seven_minutes_of_writing_screen_every_lever_and_pay_for_the_total() {
        let candidates = candidates();
        let time = time(&candidates, 7.0, 1.0);
        let plan = time.plan().expect("enough time");
        assert!(plan.levers.len() > 35, "{}", plan.levers.len());
        for id in [
            "connect-errors-more",
            "performance-schema-all",
            "transport-unix",
        ] {
            assert!(plan.levers.iter().any(|lever| lever == id), "{id}");
        }
        assert!(plan.screening_duels >= 20, "{plan:?}");
        let total = 8.0 * plan.duel_seconds * time.spare;
        assert!(total <= 0.45 * time.budget_seconds, "{plan:?}");
        let screening = plan.screening_duels as f64 * plan.screening_duel_seconds;
        assert!(total + screening <= time.budget_seconds, "{plan:?}");
        assert_eq!(plan.detectable_lever, None, "more levers than duels");
    }

    #[test]
    fn ten_minutes_of_reading_have_duels_for_four_levers_and_the_total() {
        let candidates = candidates();
        let time = time(&candidates, 10.0, 0.1);
        let plan = time.plan().expect("enough time");
        let proof = (time.budget_seconds - plan.screening_until) / (plan.duel_seconds * time.spare);
        assert!(proof >= 5.0 * TOTAL_DUELS as f64, "{proof} {plan:?}");
    }

    #[test]
    fn a_screening_leaves_time_for_rungs_where_one_can_be_claimed() {
        let candidates = candidates();
        let until = |minutes: f64| {
            let plan = time(&candidates, minutes, 1.0).plan().expect("enough time");
            let total = 8.0 * plan.duel_seconds * 1.15;
            (
                plan.screening_until / (60.0 * minutes),
                total / (60.0 * minutes),
            )
        };
        for minutes in [6.0, 8.0, 10.0, 60.0] {
            let (screening, total) = until(minutes);
            assert!(
                (MIN_SCREENING..=MAX_SCREENING).contains(&screening) && screening + total <= 1.0,
                "{minutes}: {screening} {total}"
            );
        }
        let (screening, total) = until(60.0);
        assert!(
            (screening - MAX_SCREENING).abs() < 1e-9 && total < 0.2,
            "{screening} {total}"
        );
    }

    #[test]
    fn couples_grow_with_the_budget_and_what_is_asked_for_stays() {
        let candidates = candidates();
        let of = |minutes: f64| time(&candidates, minutes, 1.0).plan().expect("enough time");
        let (short, long) = (of(6.0), of(60.0));
        assert_eq!((short.couples, long.couples), (8, 12));
        assert_eq!((short.screen_couples, long.screen_couples), (2, 4));
        assert!(long.detectable_lever.is_some());
        let asked = TuneTime {
            couples: Some(5),
            screen_couples: Some(3),
            ..time(&candidates, 10.0, 1.0)
        };
        let plan = asked.plan().expect("enough time");
        assert_eq!((plan.couples, plan.screen_couples), (5, 3));
    }

    #[test]
    fn what_shows_goes_by_this_machines_noise_where_it_is_known() {
        let candidates = candidates();
        let of = |noise: Option<Components>| {
            let time = TuneTime {
                noise,
                couples: Some(20),
                screen_couples: Some(4),
                ..time(&candidates, 60.0, 1.0)
            };
            time.plan().expect("enough time")
        };
        let quiet = Components {
            within: 0.01_f64.powi(2),
            restart: 0.0,
            within_df: 1000.0,
            between_df: 30.0,
        };
        let (assumed, known) = (of(None), of(Some(quiet)));
        assert_eq!(assumed.noise, NoiseSource::Assumed);
        assert_eq!(known.noise, NoiseSource::History);
        assert!(known.detectable_total < assumed.detectable_total);
        assert!(known.detectable_lever < assumed.detectable_lever);
    }

    #[test]
    fn restarts_that_differ_want_fewer_couples_each() {
        let candidates = candidates();
        let of = |restart: f64| {
            let noise = Components {
                within: 0.05_f64.powi(2),
                restart: restart * restart,
                within_df: 1000.0,
                between_df: 30.0,
            };
            let time = TuneTime {
                noise: Some(noise),
                ..time(&candidates, 60.0, 0.1)
            };
            time.plan().expect("enough time").couples
        };
        assert!(of(0.05) < of(0.002), "{} {}", of(0.05), of(0.002));
    }

    #[test]
    fn a_budget_that_is_too_short_says_what_would_do() {
        let candidates = candidates();
        let error = time(&candidates, 1.0, 1.0).plan().expect_err("too short");
        let text = error.explain().to_string();
        let minutes = text
            .split("--budget ")
            .nth(1)
            .and_then(|rest| rest.split('m').next()?.parse().ok());
        let minutes: f64 = minutes.expect("a remedy");
        time(&candidates, minutes, 1.0)
            .plan()
            .expect("enough, as it says");
    }

    #[test]
    fn of_goals_whose_noise_is_unknown_nothing_is_promised() {
        let candidates = candidates();
        let plan = TuneTime {
            goal: Goal::Cpu,
            ..time(&candidates, 60.0, 0.1)
        };
        let plan = plan.plan().expect("enough time");
        assert_eq!((plan.detectable_lever, plan.detectable_total), (None, None));
    }
}
