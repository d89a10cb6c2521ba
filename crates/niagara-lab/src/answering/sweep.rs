//! `sweep`: throughput and latency over thread counts, where it stops scaling, and why.
//!
//! Every point is measured again and again from fresh starts, in rounds: each round takes all points once, in an order
//! of its own, so that no thread count has the machine's good minutes to itself. The start is the unit of inference.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use niagara_error::bail;
use niagara_load::counted;
use niagara_model::{
    About, BuildNote, DuelRecord, Ending, Finding, Goal, Knee, Law, Phase, PointFailure, RatioAt,
    ResourceCounters, RoundRatio, SliceRecord, StudyHeader, Summary, SweepCurve, SweepPoint,
    SweepSummary, Warning,
};
use niagara_stats::{IntervalEstimate, Start, scalability};
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use crate::answering::breakdown::{breakdown, together};
use crate::answering::build_note::{Noted, build_notes};
use crate::answering::measuring::{Found, Measuring};
use crate::answering::sweep::by_round::round_ratios;
use crate::answering::sweep::failures::{failed_now_and_then, given_up};
use crate::answering::sweep::unevenness::unevenness;
use crate::client_host::ClientHost;
use crate::duels::score::throughput;
use crate::duels::workbench::Workbench;
use crate::plans::observer::{Event, Observer};
use crate::plans::spec::Protocol;
use crate::profile::{NO_TIME_FOR_A_PROFILE, ShortProfile, look, seconds_each};
use crate::studies::series::{DuelRequest, seed_without_repeats};
use crate::studies::study::Study;
use crate::variants::variant::Variant;
use crate::variants::with_max_connections::with_max_connections;
use niagara_stats::derive_seed;

mod by_round;
mod failures;
pub(crate) mod set_up;
mod unevenness;

/// A thread count this close to the best is as good.
const AS_GOOD: f64 = 0.02;
/// Failed starts of a point after which it is given up.
const MAX_FAILURES: u32 = 2;

/// What is swept.
pub(crate) struct SweepOptions<'a> {
    /// The study's words, where it comes from a file.
    pub about: Option<About>,
    /// Titles and variants; two are interleaved in duels.
    pub variants: Vec<(String, Variant)>,
    /// A workbench for each thread count.
    pub benches: &'a BTreeMap<u32, Workbench>,
    /// Fresh starts of each point, as far as the time allows.
    pub rounds: u32,
    /// Slices of a start (couples, of two variants).
    pub couples: u32,
    /// Intervals cover at 1 − alpha.
    pub alpha: f64,
    /// Seed.
    pub seed: u64,
    /// Seconds asked for.
    pub budget_seconds: f64,
    /// The load in one line, threads aside.
    pub workload: String,
    /// How each variant is profiled where it stops scaling; `None` leaves it out.
    pub profile: Option<ShortProfile>,
}

impl SweepOptions<'_> {
    /// Seconds of the budget that the profile of each variant takes; `None` when there is none.
    fn profile_seconds(&self) -> Option<f64> {
        let variants = self.variants.len();
        self.profile
            .as_ref()
            .and_then(|_| seconds_each(self.budget_seconds, variants))
    }
}

/// Threads of a sweep at most: every one is a connection of the load generator and of the server.
pub const MAX_SWEPT: u32 = 1024;

/// How variants meet in a sweep of this many of them.
pub fn sweep_protocol(variants: usize) -> Protocol {
    if variants == 2 {
        Protocol::Duel
    } else {
        Protocol::Solo
    }
}

/// One point of a sweep: a thread count, and the variant where they do not meet in duels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Point {
    threads: u32,
    /// Index of the variant; 0 of two that are interleaved.
    variant: usize,
}

impl Point {
    fn subject(self) -> String {
        match self.variant {
            0 => counted(u64::from(self.threads), "thread"),
            n => format!(
                "{}, variant {}",
                counted(u64::from(self.threads), "thread"),
                n + 1
            ),
        }
    }
}

/// A sweep that is set up, run until all rounds are done or the budget ends.
pub(crate) struct Run<'a> {
    options: &'a SweepOptions<'a>,
    interleaved: bool,
    points: Vec<Point>,
    /// What a reader must know before all else.
    told_first: Vec<Warning>,
    /// Failures in a row.
    failures: BTreeMap<Point, u32>,
    /// Given up: the side that could not be measured, and why.
    failed: BTreeMap<Point, (u8, String)>,
    late: bool,
    /// Why a variant has no profile.
    not_profiled: Vec<Finding>,
}

impl<'a> Run<'a> {
    pub(crate) fn new(options: &'a SweepOptions<'a>) -> Self {
        let interleaved = sweep_protocol(options.variants.len()) == Protocol::Duel;
        let lanes = match interleaved {
            true => 1,
            false => options.variants.len(),
        };
        let counts = options.benches.keys();
        Self {
            options,
            interleaved,
            points: counts
                .flat_map(|&threads| (0..lanes).map(move |variant| Point { threads, variant }))
                .collect(),
            told_first: Vec::new(),
            failures: BTreeMap::new(),
            failed: BTreeMap::new(),
            late: false,
            not_profiled: Vec::new(),
        }
    }

    /// An error where nothing at all could be measured.
    fn check_anything(&self, study: &Study, summary: &SweepSummary) -> Result<()> {
        if summary.curves.iter().any(|curve| !curve.points.is_empty()) {
            return Ok(());
        }
        let reasons = self.failed.values().map(|(_, reason)| reason.as_str());
        let reasons: BTreeSet<&str> = reasons.collect();
        match reasons.first() {
            Some(reason) => bail!(
                "nothing could be measured: {reason}";
                remedy: "once its cause is gone, the same command with another --out"
            ),
            None => bail!(
                "nothing was measured: {}",
                self.uncounted(study, &summary.curves)
                    .first()
                    .map_or("the time ended before it".to_owned(), Finding::to_string);
                remedy: "a longer --budget, or fewer thread counts"
            ),
        }
    }

    fn rounds(&mut self, study: &mut Study, observer: &mut dyn Observer) -> Result<()> {
        let each = self.options.profile_seconds().unwrap_or(0.0);
        let profiles = each * self.options.variants.len() as f64;
        for round in 0..self.options.rounds {
            let name = format!("round {} of {}", round + 1, self.options.rounds);
            observer.see(Event::Stage {
                name: &name,
                seconds: study.left_seconds(),
            });
            let order = self.order(round);
            for (place, &point) in order.iter().enumerate() {
                if !self.failed.is_empty() && study.tries_again()? {
                    self.failures.clear();
                    self.failed.clear();
                }
                if self.failed.contains_key(&point) {
                    continue;
                }
                let needed = typical_seconds(study) + profiles;
                if !study.has_recalled() && study.left_seconds() <= needed {
                    self.late = true;
                    return Ok(());
                }
                // Those of the next round follow when this one has no more.
                let next = self.order(round + 1).into_iter();
                let next = next.map(|point| (point, round + 1));
                let rest = order[place..].iter().map(|&point| (point, round));
                let likely = rest
                    .chain(next.filter(|(_, round)| *round < self.options.rounds))
                    .filter(|(point, _)| !self.failed.contains_key(point))
                    .take(study.ahead());
                let likely = likely.filter_map(|(point, round)| self.request(point, round));
                study.expect(likely, observer)?;
                self.start(study, point, round, observer)?;
            }
        }
        Ok(())
    }

    /// What limits each variant where it stops scaling.
    fn profile_knees(&mut self, study: &mut Study, observer: &mut dyn Observer) -> Result<()> {
        let options = self.options;
        let Some(short) = &options.profile else {
            return Ok(());
        };
        let Some(seconds) = options.profile_seconds() else {
            self.not_profiled.push(NO_TIME_FOR_A_PROFILE);
            return Ok(());
        };
        let curves = self.summary(study, true)?.curves;
        for (curve, (_, variant)) in curves.iter().zip(&options.variants) {
            let knee = curve.knee.as_ref().map(|knee| knee.threads);
            let Some((threads, bench)) = knee.and_then(|knee| options.benches.get_key_value(&knee))
            else {
                continue;
            };
            let at = counted(u64::from(*threads), "thread");
            let subject = format!("{} at its knee, {at}", curve.title);
            let warning = look(study, bench, &subject, variant, short, seconds, observer)?;
            self.not_profiled.extend(warning);
        }
        Ok(())
    }

    /// The points in the order of a round.
    fn order(&self, round: u32) -> Vec<Point> {
        let mut order = self.points.clone();
        let seed = derive_seed(self.options.seed, "sweep order", u64::from(round));
        order.shuffle(&mut ChaCha8Rng::seed_from_u64(seed));
        order
    }

    /// The start of a point in a round, and where it is made.
    fn request(&self, point: Point, round: u32) -> Option<(&'a Workbench, DuelRequest)> {
        let bench = self.options.benches.get(&point.threads)?;
        let of =
            |index: usize| with_max_connections(&self.options.variants[index].1, point.threads);
        let sides = if self.interleaved {
            [of(0), of(1)]
        } else {
            [of(point.variant), of(point.variant)]
        };
        let request = DuelRequest {
            phase: Phase::Sweep,
            subject: point.subject(),
            variants: sides,
            shape: self.options.couples.into(),
            seed: self.seed(point, round),
        };
        Some((bench, request))
    }

    fn seed(&self, point: Point, round: u32) -> u64 {
        derive_seed(self.options.seed, &point.subject(), u64::from(round))
    }

    fn start(
        &mut self,
        study: &mut Study,
        point: Point,
        round: u32,
        observer: &mut dyn Observer,
    ) -> Result<()> {
        let Some((bench, request)) = self.request(point, round) else {
            return Ok(());
        };
        let record = study.duel(bench, &request, observer)?;
        study.tell_so_far(|study| {
            let summary = self.summary(study, false)?;
            Ok(Summary::Sweep(Box::new(summary)))
        });
        match record.ending {
            Ending::Failed { side, reason } => {
                let failures = self.failures.entry(point).or_default();
                *failures += 1;
                if *failures >= MAX_FAILURES {
                    self.failed
                        .insert(point, (side, reason.headline().to_owned()));
                }
            }
            Ending::Scored | Ending::Disturbed => {
                self.failures.remove(&point);
            }
        }
        Ok(())
    }

    /// The curve of one variant, from the slices of each duel and what was counted over them.
    fn curve(
        &self,
        index: usize,
        study: &Study,
        by_duel: &BTreeMap<u32, Vec<&SliceRecord>>,
        counters: &[(u32, u8, ResourceCounters)],
    ) -> SweepCurve {
        let options = self.options;
        let (title, variant) = &options.variants[index];
        let (lane, side) = if self.interleaved {
            (0, index)
        } else {
            (index, 0)
        };
        let mut points = Vec::new();
        let mut starts = Vec::new();
        let mut failures = BTreeMap::new();
        for &threads in options.benches.keys() {
            let point = Point {
                threads,
                variant: lane,
            };
            let of_point: Vec<Measured<'_>> = scored(study, point)
                .filter_map(|duel| {
                    Measured::of(duel, side as u8, by_duel.get(&duel.seq)?, counters)
                })
                .collect();
            if let Some((failed, reason)) = self.failed.get(&point) {
                let by_other = self.interleaved && usize::from(*failed) != index;
                failures.insert(threads, given_up(reason, of_point.len(), by_other));
            }
            starts.extend(of_point.iter().map(|measured| Start {
                threads: f64::from(threads),
                throughput: measured.tps,
            }));
            points.extend(sweep_point(threads, &of_point, options.alpha));
        }
        let law = scalability(&starts, options.alpha);
        let server_version = options
            .benches
            .values()
            .next()
            .and_then(|bench| bench.install_of(variant).ok())
            .map(|install| install.version_string.clone())
            .unwrap_or_default();
        SweepCurve {
            title: title.clone(),
            label: variant.label(),
            server_version,
            knee: knee(&points),
            law: law.map(|law| Law {
                lambda: law.lambda,
                sigma: law.sigma,
                kappa: law.kappa,
                peak_threads: law.peak_threads,
                peak_tps: Some(law.peak()).filter(|peak| peak.is_finite()),
                residual: law.residual,
                misfit: law.misfit,
            }),
            points,
            failures,
        }
    }

    fn summary(&self, study: &Study, complete: bool) -> Result<SweepSummary> {
        let options = self.options;
        let slices = study.store().slices(None)?;
        let counters = study.store().resource_counters()?;
        let mut by_duel: BTreeMap<u32, Vec<&SliceRecord>> = BTreeMap::new();
        for slice in &slices {
            by_duel.entry(slice.duel).or_default().push(slice);
        }
        let variants = 0..options.variants.len();
        let curves: Vec<SweepCurve> = variants
            .map(|index| self.curve(index, study, &by_duel, &counters))
            .collect();
        Ok(SweepSummary {
            header: StudyHeader {
                about: options.about.clone(),
                server: options.variants[0].1.server.clone(),
                server_version: curves[0].server_version.clone(),
                workload: options.workload.clone(),
                goal: Goal::Throughput,
                rate: None,
                protocol: sweep_protocol(options.variants.len()).to_string(),
                seed: options.seed,
                alpha: options.alpha,
                budget_seconds: Some(options.budget_seconds),
                elapsed_seconds: study.used_seconds(),
                load_seconds: study.load_seconds(),
                complete,
                sd_duel: None,
                builds: self.builds()?,
                checks: Vec::new(),
                deployment: None,
                warnings: self.warnings(study, &curves, complete),
            },
            ratios: self.ratios(study),
            by_round: self.by_round(study, &by_duel, &counters),
            curves,
        })
    }

    /// What there is to know of the variants' built servers.
    fn builds(&self) -> Result<Vec<BuildNote>> {
        let options = self.options;
        let Some(bench) = options.benches.values().next() else {
            return Ok(Vec::new());
        };
        let variants = options.variants.iter();
        let set_up: Vec<Noted<'_>> = variants
            .filter(|(_, variant)| bench.install_of(variant).is_ok())
            .map(|(title, variant)| Noted {
                of: title,
                variant,
                beside: None,
            })
            .collect();
        build_notes(bench, &set_up)
    }

    fn ratios(&self, study: &Study) -> Vec<RatioAt> {
        if !self.interleaved {
            return Vec::new();
        }
        let at = |&threads: &u32| {
            let point = Point {
                threads,
                variant: 0,
            };
            let ratios: Vec<f64> = scored(study, point)
                .filter_map(|duel| Some(duel.score?.exp()))
                .collect();
            Some(RatioAt {
                threads,
                ratio: IntervalEstimate::geometric(&ratios, self.options.alpha)?,
                duels: ratios.len() as u32,
            })
        };
        self.options.benches.keys().filter_map(at).collect()
    }

    /// Each variant over the first and over the one before it, where they were measured each alone.
    fn by_round(
        &self,
        study: &Study,
        by_duel: &BTreeMap<u32, Vec<&SliceRecord>>,
        counters: &[(u32, u8, ResourceCounters)],
    ) -> Vec<RoundRatio> {
        if self.interleaved {
            return Vec::new();
        }
        let options = self.options;
        let rounds_of = |point: Point| -> BTreeMap<u32, f64> {
            let known: BTreeMap<u64, u32> = (0..options.rounds)
                .map(|round| (seed_without_repeats(self.seed(point, round)), round))
                .collect();
            let starts = scored(study, point).filter_map(|duel| {
                let round = known.get(&seed_without_repeats(duel.seed))?;
                let start = Measured::of(duel, 0, by_duel.get(&duel.seq)?, counters)?;
                Some((*round, start.tps))
            });
            starts.collect()
        };
        let counts = options.benches.keys();
        counts
            .flat_map(|&threads| {
                let variants = 0..options.variants.len();
                let points = variants.map(|variant| Point { threads, variant });
                let rounds: Vec<_> = points.map(rounds_of).collect();
                round_ratios(threads, &rounds, options.alpha)
            })
            .collect()
    }

    fn warnings(&self, study: &Study, curves: &[SweepCurve], complete: bool) -> Vec<Warning> {
        let mut findings = Vec::new();
        let points = || curves.iter().flat_map(|curve| &curve.points);
        let uncounted = match complete {
            true => self.uncounted(study, curves),
            // Those to come are not missing yet.
            false => Vec::new(),
        };
        let fewest = match uncounted.is_empty() {
            true => points().map(|point| point.starts).min().unwrap_or(0),
            false => 0,
        };
        findings.extend(uncounted);
        if self.late && fewest < self.options.rounds {
            findings.push(Finding::FewRounds {
                fewest,
                wanted: self.options.rounds,
            });
        }
        if points().any(|point| point.starts == 1) {
            findings.push(Finding::SingleStarts);
        }
        for curve in curves {
            for (threads, failure) in &curve.failures {
                findings.push(point_failed(curve, *threads, failure.clone()));
            }
        }
        findings.extend(self.survived(study, curves));
        findings.extend(law_misses(curves));
        findings.extend(self.not_profiled.iter().cloned());
        let benches = &mut self.options.benches.values();
        findings.extend(benches.find_map(Workbench::client).map(ClientHost::remark));
        let first = self.told_first.iter().cloned();
        first
            .chain(findings.into_iter().map(Warning::from))
            .collect()
    }

    /// The points that were measured to the end although starts of theirs failed: what counts are those that survived.
    fn survived(&self, study: &Study, curves: &[SweepCurve]) -> Vec<Finding> {
        let mut told = Vec::new();
        for (index, curve) in curves.iter().enumerate() {
            for point in &curve.points {
                if curve.failures.contains_key(&point.threads) {
                    continue;
                }
                let (variant, side) = match self.interleaved {
                    true => (0, index),
                    false => (index, 0),
                };
                let threads = point.threads;
                let subject = Point { threads, variant }.subject();
                let starts = study.done().iter().filter(|duel| duel.subject == subject);
                let failure = failed_now_and_then(starts, side);
                told.extend(failure.map(|failure| point_failed(curve, threads, failure)));
            }
        }
        told
    }

    /// The points that no start counts for although they were not given up, each with the reason.
    fn uncounted(&self, study: &Study, curves: &[SweepCurve]) -> Vec<Finding> {
        let mut told = Vec::new();
        for (index, curve) in curves.iter().enumerate() {
            for &threads in self.options.benches.keys() {
                let is_there = curve.points.iter().any(|point| point.threads == threads);
                if is_there || curve.failures.contains_key(&threads) {
                    continue;
                }
                let variant = if self.interleaved { 0 } else { index };
                let subject = Point { threads, variant }.subject();
                let starts = || study.done().iter().filter(|duel| duel.subject == subject);
                let failure = starts().find_map(|duel| match &duel.ending {
                    Ending::Failed { reason, .. } => Some(reason.headline().to_owned()),
                    Ending::Scored | Ending::Disturbed => None,
                });
                let failure = match (starts().count(), failure) {
                    (starts, Some(error)) if starts > 0 => PointFailure::EndedAfter { error },
                    (starts, _) => PointFailure::NoneCounted { starts },
                };
                told.push(point_failed(curve, threads, failure));
            }
        }
        told
    }
}

impl Measuring for Run<'_> {
    fn prepare(&mut self, study: &mut Study, _observer: &mut dyn Observer) -> Result<()> {
        study.fix_warm_up();
        Ok(())
    }

    fn measure(&mut self, study: &mut Study, observer: &mut dyn Observer) -> Result<()> {
        self.rounds(study, observer)?;
        self.profile_knees(study, observer)?;
        self.check_anything(study, &self.summary(study, true)?)
    }

    fn warn(&mut self, finding: Finding) {
        self.told_first.push(finding.into());
    }

    fn found(&self, study: &Study, complete: bool) -> Result<Found> {
        let summary = self.summary(study, complete)?;
        Ok(Found::Summary(Summary::Sweep(Box::new(summary))))
    }
}

/// What is to be said of the curves that the scalability law does not describe; nothing where there are none.
fn law_misses(curves: &[SweepCurve]) -> Option<Finding> {
    let missed: Vec<String> = curves
        .iter()
        .filter(|curve| curve.law.as_ref().is_some_and(|law| law.misfit))
        .map(|curve| curve.title.clone())
        .collect();
    (!missed.is_empty()).then_some(Finding::LawMisses { curves: missed })
}

/// What failed at a point of a curve.
fn point_failed(curve: &SweepCurve, threads: u32, failure: PointFailure) -> Finding {
    Finding::PointFailed {
        curve: curve.title.clone(),
        threads,
        failure,
    }
}

/// The starts of a point that count.
fn scored(study: &Study, point: Point) -> impl Iterator<Item = &DuelRecord> {
    let subject = point.subject();
    let done = study.done().iter();
    done.filter(move |duel| duel.subject == subject && duel.ending == Ending::Scored)
}

fn typical_seconds(study: &Study) -> f64 {
    let times: Vec<f64> = study.done().iter().map(|duel| duel.wall_seconds).collect();
    niagara_stats::median(&times).unwrap_or(0.0)
}

/// One side of one start.
struct Measured<'a> {
    tps: f64,
    /// p50, p95, p99, milliseconds.
    latency: [f64; 3],
    disturbed: u32,
    slices: u32,
    errors: BTreeMap<u16, u64>,
    counters: Option<&'a ResourceCounters>,
}

impl<'a> Measured<'a> {
    /// From the slices that nothing disturbed; `None` when none of them did anything.
    fn of(
        duel: &DuelRecord,
        side: u8,
        slices: &[&SliceRecord],
        counters: &'a [(u32, u8, ResourceCounters)],
    ) -> Option<Self> {
        let own: Vec<&&SliceRecord> = slices.iter().filter(|slice| slice.side == side).collect();
        let sound: Vec<&&&SliceRecord> = own.iter().filter(|slice| !slice.disturbed).collect();
        let rates: Vec<f64> = sound.iter().map(|slice| throughput(slice)).collect();
        let latency = [0, 1, 2].map(|place| {
            let values: Vec<f64> = sound
                .iter()
                .map(|slice| slice.latency_us[place] as f64 / 1000.0)
                .collect();
            niagara_stats::median(&values).unwrap_or(0.0)
        });
        let mut errors = BTreeMap::new();
        for slice in &own {
            for (&code, count) in &slice.errors {
                *errors.entry(code).or_default() += count;
            }
        }
        Some(Self {
            tps: niagara_stats::median(&rates).filter(|rate| *rate > 0.0)?,
            latency,
            disturbed: (own.len() - sound.len()) as u32,
            slices: own.len() as u32,
            errors,
            counters: counters
                .iter()
                .find(|(seq, its, _)| *seq == duel.seq && *its == side)
                .map(|(_, _, record)| record),
        })
    }
}

fn sweep_point(threads: u32, measured: &[Measured<'_>], alpha: f64) -> Option<SweepPoint> {
    let level = |figure: &dyn Fn(&Measured<'_>) -> f64| {
        let figures: Vec<f64> = measured.iter().map(figure).collect();
        IntervalEstimate::geometric(&figures, alpha)
    };
    let mut errors = BTreeMap::new();
    for (&code, count) in measured.iter().flat_map(|start| &start.errors) {
        *errors.entry(code).or_default() += count;
    }
    let counters: Vec<&ResourceCounters> = measured.iter().filter_map(|m| m.counters).collect();
    Some(SweepPoint {
        threads,
        starts: measured.len() as u32,
        tps: level(&|start| start.tps)?,
        p50_ms: level(&|start| start.latency[0])?,
        p95_ms: level(&|start| start.latency[1])?,
        p99_ms: level(&|start| start.latency[2])?,
        disturbed: [
            measured.iter().map(|start| start.disturbed).sum(),
            measured.iter().map(|start| start.slices).sum(),
        ],
        errors,
        breakdown: together(&counters).and_then(|sum| breakdown(&sum)),
        unevenness: unevenness(&counters, alpha),
    })
}

/// The smallest thread count that is as good as the best.
fn knee(points: &[SweepPoint]) -> Option<Knee> {
    let best = points
        .iter()
        .max_by(|one, other| one.tps.value.total_cmp(&other.tps.value))?;
    let knee = points
        .iter()
        .find(|point| point.tps.value >= (1.0 - AS_GOOD) * best.tps.value)?;
    Some(Knee {
        threads: knee.threads,
        best_threads: best.threads,
        within: AS_GOOD,
        held_back_by: knee.breakdown.as_ref().map(|breakdown| breakdown.bound),
    })
}
