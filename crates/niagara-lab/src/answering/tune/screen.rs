//! Screening: every fold-over duel sets every lever at once, least squares tells them apart. Which duel comes next, and what
//! those so far say of the levers.

use anyhow::Result;
use niagara_error::{Explanation, Problem, problem};
use niagara_load::counted;
use niagara_model::{
    DuelRecord, Ending, Goal, NotTried, Phase, Reason, Screened, TailEffect, Together, duel_totals,
};
use niagara_stats::{
    DuelTotals, Estimate, Expected, Factor, Fit, Observation, Row, ScreenedEffect, Unsteady,
    derive_seed, design_among, effects, interactions, ruinous, strongest_beside, student, unsteady,
    weights,
};

use crate::answering::tune::probe::failing_levers;
use crate::answering::tune::ruinous_lever::ruinous_lever;
use crate::answering::tune::suspects::Suspects;
use crate::duels::workbench::Workbench;
use crate::lever::Role;
use crate::plans::observer::{Event, Observer};
use crate::studies::checkpoint::{self, Checkpoint};
use crate::studies::history::score_again;
use crate::studies::series::{DuelRequest, Series, SeriesEnd};
use crate::studies::study::Study;
use crate::variants::candidate::{Candidate, LeverFactor, apart, factors, with_levels};
use crate::variants::variant::Variant;

/// Duels from which on estimates are shown while the screening runs and they are fewer than all levers take.
const FIRST_SHOWN: usize = 8;

/// Residual degrees of freedom below which the strongest effects alone are fitted: the standard errors of all would be luck.
const MIN_DF: f64 = 4.0;

/// Duels that fail before any is scored and that no start explains, after which the start is set against itself. Where that fails too a
/// screening gives up: it is the load or the machine.
const MAX_FAILURES: u32 = 6;

/// How the screening goes about it.
#[derive(Debug, Clone)]
pub(crate) struct ScreenOptions {
    /// Duels in the design.
    pub duels: usize,
    /// Couples in a duel.
    pub couples: u32,
    /// What levers are screened for.
    pub goal: Goal,
    /// What is left to it of the budget.
    pub time: ScreenTime,
    /// Log gain from which a lever is worth promoting.
    pub worthwhile: f64,
    /// Standard error (log) at which further replicates of the design are not worth their time.
    pub enough: f64,
    pub seed: u64,
}

/// Share of the budget that the screening takes at most: what it finds is handed over only with duels of its own.
pub(crate) const MAX_SCREENING: f64 = 0.5;
/// Share of the budget that the screening has at least, where the total's duels leave it: fewer find too little to prove.
pub(crate) const MIN_SCREENING: f64 = 1.0 / 3.0;

/// Seconds of the budget at which a screening that found something ends. It leaves room for the total's duels, and between both
/// shares for the first looks at the claims of two rungs: the first lever alone, and all others on top of it. `judging`: seconds of
/// a duel that judges, with what is to spare; `proof`: the duels of these looks and of the total's first one.
pub(crate) fn screening_until(budget: f64, judging: f64, total: usize, proof: usize) -> f64 {
    let until_proof = budget - proof as f64 * judging;
    let until_total = budget - total as f64 * judging;
    until_proof
        .clamp(MIN_SCREENING * budget, MAX_SCREENING * budget)
        .min(until_total)
}

/// The time of a screening, told again before every duel: what the total needs behind it depends on what duels take here.
#[derive(Debug, Clone)]
pub(crate) struct ScreenTime {
    /// Seconds of the whole study.
    pub budget_seconds: f64,
    /// Couples of a duel that judges the total.
    pub judging_couples: u32,
    /// Duels of the total that have to fit behind it: once something is worth promoting, and in any case.
    pub total_duels: [usize; 2],
    /// Duels of the first looks at two rungs' claims and at the total.
    pub proof_duels: usize,
    /// Room for duels that take longer than planned.
    pub spare: f64,
}

impl ScreenTime {
    /// Seconds of the budget at which the screening ends when something is worth promoting, and whatever was found.
    pub fn ends(&self, study: &Study) -> [f64; 2] {
        let duel = study.duel_seconds(self.judging_couples) * self.spare;
        let [total, fewest] = self.total_duels;
        [
            screening_until(self.budget_seconds, duel, total, self.proof_duels),
            self.budget_seconds - fewest as f64 * duel,
        ]
    }
}

/// What the screening found, by index of the candidate.
#[derive(Clone)]
pub(crate) struct Screening {
    pub effects: Vec<Option<Screened>>,
    /// Levers that do something together beyond their sum, by index of the candidates.
    pub together: Vec<([usize; 2], Together)>,
    /// Levers with which the server stood still now and then, by index of the candidate.
    pub unsteady: Vec<(usize, Unsteady)>,
    pub set_aside: Vec<(usize, NotTried)>,
    pub residual_sd: Option<f64>,
    /// Degrees of freedom of that: duels beyond the effects that were fitted.
    pub residual_df: f64,
    /// Duels that were scored.
    pub scored: usize,
    /// There were too few duels to tell all levers apart: only the strongest effects are known, roughly.
    pub strongest_only: bool,
    /// Duels of which one side failed.
    pub failed: u32,
    /// Whether the study was stopped in the middle of it.
    pub stopped: bool,
}

/// A screening under way.
pub(crate) struct RunningScreening<'a> {
    bench: &'a Workbench,
    base: &'a Variant,
    candidates: &'a [Candidate],
    options: ScreenOptions,
    /// The design that is being run, and the place of its next row.
    rows: Vec<Row>,
    place: usize,
    /// Designs so far.
    designs: u64,
    /// Duels so far.
    duels: u64,
    factors: Vec<LeverFactor>,
    shapes: Vec<Factor>,
    observations: Vec<Observation>,
    /// The same duels by throughput, whatever the goal: a server whose throughput collapses shows there.
    throughput: Vec<Observation>,
    /// The variance of each observation's score that its couples tell of; none where they do not, or something else than throughput is
    /// screened for.
    own_variances: Vec<Option<f64>>,
    /// The same duels by the 95th and the 99th percentile of latency; NaN where a duel has none.
    tails: [Vec<Observation>; 2],
    /// What each observation's duel came to over all time; none where something else than throughput is screened for.
    totals: Vec<Option<DuelTotals>>,
    /// Duels of which one side failed.
    failed: u32,
    /// Those before any duel was scored for which no lever is to blame.
    failed_at_first: u32,
    /// Why the last of all did.
    last_failure: Explanation,
    /// Levers that may have done it, where every start is one.
    suspects: Suspects,
    /// The start was set against itself, for nothing else had lasted.
    start_tried: bool,
    set_aside: Vec<(usize, NotTried)>,
    /// What is expected of the throughput of levers that were measured elsewhere.
    expected: Vec<Expected>,
}

impl Series for RunningScreening<'_> {
    type Outcome = Screening;

    fn ended_key(&self) -> Checkpoint<u64> {
        checkpoint::screening_ended()
    }

    /// None once every effect is exact enough.
    fn next(&mut self, study: &Study, _observer: &mut dyn Observer) -> Result<Option<DuelRequest>> {
        if self.failed_at_first >= MAX_FAILURES && !self.start_tried {
            // Whether it is the levers at all, shows the start without any.
            self.start_tried = true;
            let start = vec![0; self.factors.len()];
            let row = Row {
                a: start.clone(),
                b: start,
            };
            self.rows.insert(self.place.min(self.rows.len()), row);
        } else if self.failed_at_first >= MAX_FAILURES {
            if !study.tries_again()? {
                let told = problem!(
                    "no duel of the screening came to its end, whatever levers were in force; {} failed, the last one so:\n{}",
                    counted(u64::from(self.failed), "duel"),
                    self.last_failure.cause;
                    remedy: "see whether the load runs on one such server (niagara bench), and whether two of them have the memory that \
                     they need; the same command then tries again"
                );
                return Err(self
                    .last_failure
                    .details
                    .iter()
                    .fold(told, Problem::detail)
                    .into());
            }
            self.failed_at_first = 0;
            self.start_tried = false;
        }
        if self.place >= self.rows.len() {
            let is_enough = |worst| worst <= self.options.enough;
            if self.designs > 0 && self.worst_std_err().is_some_and(is_enough) {
                return Ok(None);
            }
            self.begin_design();
        }
        let next = self.rows.get(self.place);
        Ok(next.map(|row| self.request(row, self.duels)))
    }

    fn is_late(&mut self, study: &Study, _observer: &mut dyn Observer) -> bool {
        // On a busy machine starts may take so long that no time seems left behind the first failures. A few duels more tell whether
        // anything lasts here: without them a load that fails on every server would pass for a search that found nothing.
        if self.failed_at_first > 0 && study.left_seconds() > 0.0 {
            return false;
        }
        let options = &self.options;
        let then = study.used_seconds() + study.duel_seconds(options.couples);
        let [until, latest] = options.time.ends(study);
        then > latest || (then > until && self.is_anything_promising())
    }

    fn likely(&self, most: usize) -> Vec<DuelRequest> {
        let rows = self.rows[self.place..].iter().take(most);
        rows.zip(self.duels..)
            .map(|(row, duel)| self.request(row, duel))
            .collect()
    }

    /// Takes its result; sets a lever aside where it shows that one keeps the server from working: the next duel is then of a
    /// design without it.
    fn take(
        &mut self,
        study: &Study,
        record: DuelRecord,
        observer: &mut dyn Observer,
    ) -> Result<()> {
        let row = self.rows[self.place].clone();
        self.place += 1;
        self.duels += 1;
        let aside_before = self.set_aside.len();
        match &record.ending {
            Ending::Failed { side, reason } => {
                let levels = if *side == 0 { &row.a } else { &row.b };
                self.failed += 1;
                self.last_failure.clone_from(reason);
                self.set_aside_failing(study, levels, reason)?;
                let is_unexplained = self.set_aside.len() == aside_before;
                if is_unexplained && self.observations.is_empty() {
                    self.failed_at_first += 1;
                }
                if is_unexplained {
                    let in_force = self.in_force(levels);
                    self.suspects.failed(in_force);
                    self.set_aside_suspects();
                }
            }
            Ending::Scored => {
                self.failed_at_first = 0;
                for levels in [&row.a, &row.b] {
                    let in_force = self.in_force(levels);
                    self.suspects.lasted(in_force);
                }
                self.set_aside_suspects();
                if let Some(score) = self.options.goal.gain(&record) {
                    if let Some(throughput) = record.score {
                        let throughput = Observation::new(row.clone(), throughput);
                        self.throughput.push(throughput);
                    }
                    let p95 = record.latency_scores.map(|scores| scores[1]);
                    for (tail, score) in self.tails.iter_mut().zip([p95, record.p99_score]) {
                        let score = score.unwrap_or(f64::NAN);
                        tail.push(Observation::new(row.clone(), score));
                    }
                    self.observations.push(Observation::new(row, score));
                    self.learn_from_slices(study, &record)?;
                    self.set_aside_ruinous(study)?;
                    self.show(observer);
                }
            }
            Ending::Disturbed => self.start_tried = false,
        }
        for (_, NotTried { lever, reason, .. }) in &self.set_aside[aside_before..] {
            observer.see(Event::Note(&format!("set aside: {lever} ({reason})")));
        }
        if self.set_aside.len() > aside_before {
            self.begin_design();
        }
        Ok(())
    }

    fn outcome(&self, end: SeriesEnd) -> Screening {
        self.screening(matches!(end, SeriesEnd::Stopped | SeriesEnd::GoesOn))
    }
}

/// What is expected of the levels of the design that were measured elsewhere.
fn expected(candidates: &[Candidate], factors: &[LeverFactor]) -> Vec<Expected> {
    let levels = factors.iter().enumerate().flat_map(|(factor, of)| {
        let levels = of.levels.iter().enumerate();
        levels.map(move |(place, &index)| (factor, place + 1, index))
    });
    levels
        .filter_map(|(factor, level, index)| {
            Some(Expected {
                factor,
                level,
                log_effect: candidates[index].prior?.log_effect,
            })
        })
        .collect()
}

/// The effects that are known, by index of the candidate, without those of the controls: whoever watches looks for what helps.
fn without_controls(
    effects: impl Iterator<Item = Option<Screened>>,
    candidates: &[Candidate],
) -> Vec<Screened> {
    let levers = effects.zip(candidates);
    let levers = levers.filter(|(_, candidate)| candidate.lever.role() == Role::Lever);
    levers.filter_map(|(effect, _)| effect).collect()
}

/// The root of the mean of variances; 0 of none.
fn root_mean(variances: impl Iterator<Item = f64>) -> f64 {
    let all: Vec<f64> = variances.collect();
    (all.iter().sum::<f64>() / all.len().max(1) as f64).sqrt()
}

impl<'a> RunningScreening<'a> {
    /// Nothing seen yet.
    pub(crate) fn begin(
        bench: &'a Workbench,
        base: &'a Variant,
        candidates: &'a [Candidate],
        options: ScreenOptions,
    ) -> Self {
        let factors = factors(candidates);
        Self {
            bench,
            base,
            candidates,
            rows: Vec::new(),
            place: 0,
            designs: 0,
            duels: 0,
            expected: expected(candidates, &factors),
            shapes: factors.iter().map(LeverFactor::shape).collect(),
            factors,
            options,
            observations: Vec::new(),
            throughput: Vec::new(),
            own_variances: Vec::new(),
            tails: [Vec::new(), Vec::new()],
            totals: Vec::new(),
            failed: 0,
            failed_at_first: 0,
            last_failure: Explanation::default(),
            suspects: Suspects::default(),
            start_tried: false,
            set_aside: Vec::new(),
        }
    }

    fn request(&self, row: &Row, duel: u64) -> DuelRequest {
        DuelRequest {
            phase: Phase::Screen,
            subject: String::new(),
            variants: [&row.a, &row.b]
                .map(|levels| with_levels(self.base, self.candidates, &self.factors, levels)),
            shape: self.options.couples.into(),
            seed: derive_seed(self.options.seed, "screen", duel),
        }
    }

    /// A design of the levers that are left.
    fn begin_design(&mut self) {
        let seed = derive_seed(self.options.seed, "design", self.designs);
        self.rows = self.rows(self.options.duels, seed);
        self.place = 0;
        self.designs += 1;
    }

    fn is_aside(&self, candidate: usize) -> bool {
        self.set_aside.iter().any(|(index, _)| *index == candidate)
    }

    /// Rows over the levers still in the field; those set aside stay at base on both sides, and levers that exclude each other
    /// meet on none.
    fn rows(&self, duels: usize, seed: u64) -> Vec<Row> {
        // For each factor the original levels that are left, base first.
        let left: Vec<Vec<usize>> = self
            .factors
            .iter()
            .map(|factor| {
                std::iter::once(0)
                    .chain(
                        (1..=factor.levels.len())
                            .filter(|level| !self.is_aside(factor.levels[level - 1])),
                    )
                    .collect()
            })
            .collect();
        design_among(&left, &apart(self.candidates, &self.factors), duels, seed)
    }

    /// The fit, and whether it is of the strongest effects only, there being too few duels for all.
    fn fit_or_strongest(&self) -> (Fit, bool) {
        let fit = self.fit();
        if fit.residual_df >= MIN_DF {
            return (fit, false);
        }
        (self.strongest(), true)
    }

    /// The fit of the strongest effects only.
    fn strongest(&self) -> Fit {
        let own_sd = self.own_sd();
        let expected: &[Expected] = match self.options.goal {
            Goal::Throughput => &self.expected,
            Goal::Cpu | Goal::P95 | Goal::P99 => &[],
        };
        strongest_beside(&self.shapes, &self.observations, expected, own_sd)
            .with_noise_at_least(own_sd)
    }

    fn fit(&self) -> Fit {
        // What the fit leaves over tells its noise: that of the couples within the duels knows nothing of restarts and of
        // levers that act on each other, and is the least that it can be. Of those levers, the strongest are fitted themselves.
        let own_sd = self.own_sd();
        let pairs = interactions(&self.shapes, &self.observations, own_sd);
        effects(&self.shapes, &self.observations, &pairs).with_noise_at_least(own_sd)
    }

    /// Keeps what the slices of the last observation's duel tell beside its score, and weighs all observations anew by the variance that
    /// their couples have. Of goals other than throughput neither is known.
    fn learn_from_slices(&mut self, study: &Study, duel: &DuelRecord) -> Result<()> {
        let (variance, totals) = match self.options.goal {
            Goal::Throughput => {
                let slices = study.store().slices(Some(duel.seq))?;
                let score = score_again(duel.seq, &slices, &study.duel_settings());
                let score = score.filter(|score| score.used > 1);
                let variance = score.map(|score| score.couple_sd.powi(2) / score.used as f64);
                // At a rate that is given, what comes late was held up before.
                let totals = duel_totals(duel, &slices).filter(|_| study.rate().is_none());
                (variance, totals)
            }
            Goal::Cpu | Goal::P95 | Goal::P99 => (None, None),
        };
        self.totals.push(totals);
        self.own_variances.push(variance);
        let all = weights(&self.own_variances, self.options.couples);
        for (observation, weight) in self.observations.iter_mut().zip(all) {
            observation.weight = weight;
        }
        Ok(())
    }

    /// Standard deviation that the couples within the duels tell of the score of one that counts whole; 0 while nothing does.
    fn own_sd(&self) -> f64 {
        let all = self.own_variances.iter().zip(&self.observations);
        root_mean(all.filter_map(|(variance, observation)| {
            let variance = variance.as_ref()?;
            Some(variance * observation.weight)
        }))
    }

    /// Likewise of all scores, each as it is.
    fn whole_sd(&self) -> f64 {
        root_mean(self.own_variances.iter().flatten().copied())
    }

    /// Whether a lever would be promoted by what is known so far, as one that is surely a gain; without one, the time kept for
    /// judging is better spent on further screening.
    fn is_anything_promising(&self) -> bool {
        let (fit, _) = self.fit_or_strongest();
        let (unsteady, worthwhile) = (self.unsteady(), self.options.worthwhile);
        fit.effects.iter().any(|effect| {
            let index = self.factors[effect.factor].levels[effect.level - 1];
            let screened = ScreenedEffect {
                log_effect: effect.log_effect,
                std_err: effect.std_err,
                prior: self.candidates[index].prior_of(self.options.goal),
            };
            let costs = unsteady.iter().find(|(known, _)| *known == index);
            self.candidates[index].lever.role() == Role::Lever
                && !self.is_aside(index)
                && screened.is_sure(worthwhile)
                && !costs.is_some_and(|(_, costs)| costs.outweighs(&screened, worthwhile))
        })
    }

    /// Levers with which the server stood still now and then.
    fn unsteady(&self) -> Vec<(usize, Unsteady)> {
        let rows = self.observations.iter().map(|observation| &observation.row);
        let found = unsteady(&self.shapes, rows.zip(self.totals.iter().copied()));
        let index = |one: &Unsteady| self.factors[one.factor].levels[one.level - 1];
        found.into_iter().map(|one| (index(&one), one)).collect()
    }

    /// Largest standard error among the levers in the field; `None` while one is not estimable.
    fn worst_std_err(&self) -> Option<f64> {
        let fit = self.fit();
        if fit.residual_df < MIN_DF {
            return None;
        }
        let mut worst: f64 = 0.0;
        for (f, factor) in self.factors.iter().enumerate() {
            for level in 1..=factor.levels.len() {
                if self.is_aside(factor.levels[level - 1]) {
                    continue;
                }
                let effect = fit.effect(f, level)?;
                worst = worst.max(effect.std_err);
            }
        }
        worst.is_finite().then_some(worst)
    }

    /// The candidates in force on a side.
    fn in_force(&self, levels: &[usize]) -> Vec<usize> {
        let factors = self.factors.iter().zip(levels);
        factors
            .filter(|&(_, &level)| level > 0)
            .map(|(factor, &level)| factor.levels[level - 1])
            .collect()
    }

    /// A side did not last though every start is one: sets aside what was there whenever that happened, and never when it did not.
    fn set_aside_suspects(&mut self) {
        let blamed = self.suspects.blamed();
        let blamed = blamed.into_iter().filter(|&index| {
            self.candidates[index].lever.role() == Role::Lever && !self.is_aside(index)
        });
        let cause = self.last_failure.headline();
        let aside: Vec<(usize, NotTried)> = blamed
            .map(|index| {
                let reason = Reason::DidNotLast {
                    cause: cause.to_owned(),
                };
                (index, self.candidates[index].not_tried(reason))
            })
            .collect();
        if !aside.is_empty() {
            self.failed_at_first = 0;
        }
        self.set_aside.extend(aside);
    }

    /// A side failed: finds the lever that keeps it from starting, where there is one.
    fn set_aside_failing(
        &mut self,
        study: &Study,
        levels: &[usize],
        reason: &Explanation,
    ) -> Result<()> {
        let candidates = self.candidates;
        // Its time is the budget's: what is left for the total is not spent on finding the one to blame.
        let until = self.options.time.ends(study)[1];
        let may_go_on = || study.used_seconds() < until;
        let found = study.recall_or(&checkpoint::blame(self.duels), || {
            let levers = self.in_force(levels);
            let found = failing_levers(self.bench, self.base, candidates, &levers, &may_go_on)?;
            study.note(&niagara_model::Event::SideFailed {
                error: reason.clone(),
            })?;
            Ok(found)
        })?;
        self.set_aside.extend(found.into_iter().filter_map(|lever| {
            let index = candidates
                .iter()
                .position(|candidate| candidate.lever.id() == lever.lever)?;
            Some((index, lever))
        }));
        Ok(())
    }

    /// Sets aside a lever that surely costs much of the throughput.
    fn set_aside_ruinous(&mut self, study: &Study) -> Result<()> {
        let candidates = self.candidates;
        let found = ruinous(
            &self.shapes,
            &self.throughput,
            &self.expected,
            // Its duels count whole, those in which a server stood still above all.
            self.whole_sd(),
        );
        let is_aside = |index| self.is_aside(index);
        let Some((index, told)) = ruinous_lever(&found, candidates, &self.factors, is_aside) else {
            return Ok(());
        };
        // A sitting that continues the study finds the same in the duels that it takes again.
        study.recall_or(&checkpoint::set_aside(self.duels), || {
            study.note(&niagara_model::Event::SetAside(told.clone()))?;
            Ok(true)
        })?;
        self.set_aside.push((index, told));
        // Its duels stay in the fit, all of them: keeping only those that look normal would select by outcome.
        Ok(())
    }

    /// The effects of a fit, by index of the candidate.
    fn screened(&self, fit: &Fit) -> Vec<Option<Screened>> {
        let candidates = self.candidates;
        let mut found = vec![None; candidates.len()];
        // Percentiles scatter in their own way: each has the noise that its own fit leaves over.
        let tails = self.tails.each_ref().map(|tail| {
            let fit = effects(&self.shapes, tail, &[]);
            (fit.residual_df >= MIN_DF).then_some(fit)
        });
        let tail_of = |factor: usize, level: usize| {
            let [p95, p99] = tails.each_ref().map(|fit| {
                let fit = fit.as_ref()?;
                let effect = fit.effect(factor, level)?;
                effect
                    .std_err
                    .is_finite()
                    .then(|| fit.interval(effect, 0.95))
            });
            Some(TailEffect {
                p95: p95?,
                p99: p99?,
            })
        };
        for effect in &fit.effects {
            let index = self.factors[effect.factor].levels[effect.level - 1];
            if self.is_aside(index) || !effect.std_err.is_finite() {
                continue;
            }
            let candidate = &candidates[index];
            let prior = candidate.prior_of(self.options.goal);
            let expected = prior.map(|_| {
                ScreenedEffect {
                    log_effect: effect.log_effect,
                    std_err: effect.std_err,
                    prior,
                }
                .expected_ratio()
            });
            found[index] = Some(Screened {
                lever: candidate.lever.id().to_owned(),
                title: candidate.lever.title().to_owned(),
                change: candidate.change.one_line(),
                effect: fit.interval(effect, 0.95),
                std_err: effect.std_err,
                expected,
                duels: effect.duels as u32,
                tail: tail_of(effect.factor, effect.level),
            });
        }
        found
    }

    /// Tells whoever watches what is known by now. Interactions are left out: they cost a search after every duel, and nothing
    /// is decided by what is shown here.
    fn show(&self, observer: &mut dyn Observer) {
        let all = effects(&self.shapes, &self.observations, &[]);
        let fit = match all.residual_df >= MIN_DF {
            true => Some(all.with_noise_at_least(self.own_sd())),
            // As long as there are fewer duels than levers, what the strongest leave over is noise to the others.
            false => (self.observations.len() >= FIRST_SHOWN).then(|| self.strongest()),
        };
        let levers = fit.iter().flat_map(|fit| self.screened(fit));
        let levers = without_controls(levers, self.candidates);
        observer.see(Event::Screened {
            levers: &levers,
            from: FIRST_SHOWN,
        });
    }

    fn screening(&self, stopped: bool) -> Screening {
        let candidates = self.candidates;
        let (fit, strongest_only) = self.fit_or_strongest();
        let found = self.screened(&fit);
        let together = fit
            .interactions
            .iter()
            .map(|interaction| {
                let pair = interaction.pair;
                let levers = [pair.one, pair.other]
                    .map(|(factor, level)| self.factors[factor].levels[level - 1]);
                let t = student::quantile(0.975, fit.residual_df);
                let together = Together {
                    levers: levers.map(|index| candidates[index].lever.id().to_owned()),
                    titles: levers.map(|index| candidates[index].lever.title().to_owned()),
                    effect: Estimate::from_log_std_err(
                        interaction.log_effect,
                        interaction.std_err,
                        t,
                    ),
                    std_err: interaction.std_err,
                };
                (levers, together)
            })
            .collect();
        Screening {
            effects: found,
            together,
            unsteady: self.unsteady(),
            strongest_only,
            residual_sd: fit.residual_sd.is_finite().then_some(fit.residual_sd),
            residual_df: fit.residual_df,
            scored: self.observations.len(),
            failed: self.failed,
            stopped,
            set_aside: self.set_aside.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use niagara_server::Cache;

    use super::*;
    use crate::answering::tune::tests::{candidate, opened, workbench};
    use crate::lever::{Change, load};
    use crate::plans::observer::Silent;
    use crate::studies::study::tests::failed;

    #[test]
    fn controls_are_not_shown_among_the_levers() {
        let ids = [
            "performance-schema-all",
            "transport-unix",
            "connect-errors-more",
            "scheduling-batch",
        ];
        let shipped = load(&[]).expect("the shipped levers");
        let candidates = ids.map(|id| {
            let mut levers = shipped.iter();
            let lever = levers.find(|lever| lever.id() == id);
            Candidate {
                lever: lever.expect("a shipped lever").clone(),
                change: Change::default(),
                span: None,
                prior: None,
            }
        });
        let screened = |id: &&str| Screened {
            lever: (*id).to_owned(),
            title: String::new(),
            change: String::new(),
            effect: Estimate::from_log_std_err(0.1, 0.01, 2.0),
            std_err: 0.01,
            expected: None,
            duels: 8,
            tail: None,
        };
        // Of the last lever nothing is known.
        let effects = ids[..3].iter().map(screened).map(Some).chain([None]);
        let shown = without_controls(effects, &candidates);
        let shown: Vec<&str> = shown.iter().map(|one| one.lever.as_str()).collect();
        assert_eq!(shown, ["transport-unix"]);
    }

    #[test]
    fn a_screening_is_not_over_while_nothing_has_lasted_yet() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let study = opened(folder.path(), 0.05);
        let bench = workbench(Cache::open().expect("the shared cache"), "1");
        let base = Variant::base("mariadb-10.11");
        let candidates = [candidate()];
        // More duels than the time holds have to follow: it is late from the beginning.
        let options = ScreenOptions {
            duels: 4,
            couples: 2,
            goal: Goal::Throughput,
            time: ScreenTime {
                budget_seconds: study.left_seconds(),
                judging_couples: 2,
                total_duels: [1 << 20; 2],
                proof_duels: 1,
                spare: 1.0,
            },
            worthwhile: 0.01,
            enough: 0.01,
            seed: 1,
        };
        let mut screening = RunningScreening::begin(&bench, &base, &candidates, options);
        assert!(screening.is_late(&study, &mut Silent));
        assert!(
            screening
                .next(&study, &mut Silent)
                .expect("readable")
                .is_some()
        );
        screening
            .take(&study, failed(0, 1), &mut Silent)
            .expect("room");
        assert!(!screening.is_late(&study, &mut Silent));
    }
}
