//! A study under way: duels run or recalled, results kept after each, time counted.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Instant, SystemTime};

use anyhow::{Context, Result, bail};
use niagara_load::StepTime;
use niagara_stats::TakenSlope;
use niagara_store::{
    DuelRecord, Ending, Phase, RunTime, SliceRecord, Store, StudyLock, StudyRecord, VariantRecord,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::duels::arena::unix_ms;
use crate::duels::duel::{fight, learn_taken};
use crate::duels::duel_plan::unit_seconds;
use crate::duels::spec::{DuelOutcome, DuelSettings, DuelSpec, Load, Protocol};
use crate::duels::warm_up::WarmUpPlan;
use crate::duels::workbench::Workbench;
use crate::fleet::{Fleet, FleetOptions, FleetReport, FoughtOn};
use crate::studies::checkpoint::{self, Checkpoint};
use crate::studies::observer::{Event, Observer};
use crate::studies::study_key::study_key;
use crate::variants::variant::Variant;

/// Event kind under which the study keeps a decision that later steps depend on.
const DECISION: &str = "decision";
/// Event kind under which the steps of a job are kept, of A and of B.
const STEPS: &str = "steps";
/// Event kind under which it is kept which node ran a duel.
const FOUGHT_ON: &str = "fought on";
/// Times one duel is repeated when the machine disturbed it.
const MAX_REPEATS: u32 = 3;

/// Duels from which it is told how long the next ones will take: a machine's load changes.
const PACE_DUELS: usize = 12;

/// The results file within a study's folder.
pub const RESULTS_FILE: &str = "results.db";

/// A study with its results file. Everything it decides is a function of what the file holds, so
/// that a study opened again continues where it stopped.
pub struct Study {
    store: Store,
    // Held as long as the results may be written.
    _lock: StudyLock,
    seed: u64,
    folder: PathBuf,
    recalled: Vec<DuelRecord>,
    next: usize,
    done: Vec<DuelRecord>,
    duel_settings: DuelSettings,
    warm_up: WarmUpPlan,
    protocol: Protocol,
    /// Who runs its duels, if not this machine.
    fleet: Option<Fleet>,
    /// Machines that ran its duels elsewhere, in the order of their first.
    node_names: Vec<String>,
    /// By duel: the number of its machine.
    node_of: BTreeMap<u32, usize>,
    budget_seconds: f64,
    used_before: RunTime,
    clock: Option<Instant>,
    load_seconds: f64,
    rate: Option<f64>,
    /// By load: what its duels so far tell of throughput and CPU time taken by others.
    taken_slopes: BTreeMap<String, TakenSlope>,
    /// Slices of earlier sittings, by duel, until their duels are recalled.
    recalled_slices: BTreeMap<u32, Vec<SliceRecord>>,
}

/// What a study is opened with.
pub struct StudyOptions {
    /// Folder of the results, made if it is not there.
    pub folder: PathBuf,
    /// Seconds that the study may take, excluding setup.
    pub budget_seconds: f64,
    /// Slices and the longest warm-up.
    pub duel_settings: DuelSettings,
    /// How variants meet.
    pub protocol: Protocol,
}

impl Study {
    /// Begins the study in its folder, or continues it when the folder holds the same one (same key).
    ///
    /// # Errors
    /// Another Niagara runs it, the folder holds the results of another study, or cannot be written.
    pub fn open(record: &StudyRecord, options: StudyOptions) -> Result<Self> {
        std::fs::create_dir_all(&options.folder).map_err(|error| {
            anyhow::anyhow!(
                "cannot make the folder {} for the results: {error}; name another with --out",
                options.folder.display()
            )
        })?;
        let lock = StudyLock::take(&options.folder)?;
        let path = options.folder.join(RESULTS_FILE);
        let mut seed = record.seed;
        let store = if path.exists() {
            let store = Store::open(&path)?;
            let there = store.study()?;
            if there.key != record.key {
                bail!(
                    "{} holds another study ({}); name another folder with --out, or remove it",
                    path.display(),
                    there.command
                );
            }
            seed = there.seed;
            store.add_event(unix_ms(SystemTime::now()), "resumed", &record.command)?;
            store
        } else {
            Store::create(&path, record)?
        };
        let recalled = store.duels()?;
        let mut recalled_slices: BTreeMap<u32, Vec<SliceRecord>> = BTreeMap::new();
        for mut slice in store.slices(None)? {
            slice.histogram.clear();
            recalled_slices.entry(slice.duel).or_default().push(slice);
        }
        let mut used_before = store.total_run_time()?;
        // A sitting that was killed kept no time of its own; its duels did.
        let wall: f64 = recalled.iter().map(|duel| duel.wall_seconds).sum();
        let load: f64 = recalled.iter().map(|duel| duel.load_seconds).sum();
        used_before.elapsed_seconds = used_before.elapsed_seconds.max(wall);
        used_before.load_seconds = used_before.load_seconds.max(load);
        let mut study = Self {
            warm_up: WarmUpPlan::new(options.duel_settings.warm_up_seconds),
            folder: options.folder,
            duel_settings: options.duel_settings,
            protocol: options.protocol,
            fleet: None,
            node_names: Vec::new(),
            node_of: BTreeMap::new(),
            budget_seconds: options.budget_seconds,
            recalled,
            next: 0,
            done: Vec::new(),
            used_before,
            clock: None,
            load_seconds: 0.0,
            rate: None,
            taken_slopes: BTreeMap::new(),
            recalled_slices,
            store,
            seed,
            _lock: lock,
        };
        study.recall_warm_up()?;
        for fought_on in study.fought_on()? {
            study.was_fought_on(&fought_on);
        }
        Ok(study)
    }

    /// Takes over the warm-up that an earlier sitting settled, or what it had learned until then.
    fn recall_warm_up(&mut self) -> Result<()> {
        if let Some(seconds) = self.recall(&checkpoint::warm_up())? {
            self.warm_up.decided(seconds);
            return Ok(());
        }
        for duel in 0..self.recalled.len() as u32 {
            if let Some(curves) = self.recall(&checkpoint::warm_up_curves(duel))? {
                self.learn_warm_up(&curves)?;
            }
        }
        Ok(())
    }

    /// Keeps the curves of a duel that is about to be stored, as long as the warm-up is not settled. Kept before the
    /// duel: one that is lost with its process is fought again and its curves are kept again.
    fn keep_curves(&self, seq: u32, curves: &[Vec<f64>; 2]) -> Result<()> {
        if self.warm_up.is_settled() {
            return Ok(());
        }
        self.keep(&checkpoint::warm_up_curves(seq), curves)
    }

    fn learn_warm_up(&mut self, curves: &[Vec<f64>; 2]) -> Result<()> {
        if let Some(seconds) = self.warm_up.learn(curves) {
            self.keep(&checkpoint::warm_up(), &seconds)?;
        }
        Ok(())
    }

    /// The seed of every random choice: of a study that continues, the one it began with.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// The folder of the results.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The results file.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Whether anything was measured in an earlier sitting.
    pub(crate) fn is_resumed(&self) -> bool {
        !self.recalled.is_empty()
    }

    /// From here on nodes run the duels.
    ///
    /// # Errors
    /// The shared folder is another study's or cannot be written; Slurm does not answer.
    pub(crate) fn run_on(&mut self, fleet: &FleetOptions) -> Result<()> {
        let record = self.store.study()?;
        // Another study in this folder, also one of the same question and seed, shares nothing with this one.
        let folder = self.folder.canonicalize()?;
        let key = study_key(&(&record.key, record.started_unix_ms, &folder, self.seed))?;
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        self.fleet = Some(Fleet::open(fleet, &name, &key, self.seed)?);
        Ok(())
    }

    /// What whoever started it has to know of who runs its duels.
    pub(crate) fn fleet_announcement(&self) -> Option<String> {
        self.fleet.as_ref().map(Fleet::announcement)
    }

    /// Duels that whoever runs them wants to know of before they are asked for; 0 on one machine.
    pub(crate) fn ahead(&self) -> usize {
        match &self.fleet {
            Some(fleet) if !self.has_recalled() => fleet.ahead(),
            _ => 0,
        }
    }

    /// Variants and seeds of duels that are likely to be asked for next, in this order.
    pub(crate) fn expect(
        &mut self,
        bench: &Workbench,
        phase: Phase,
        subject: &str,
        couples: u32,
        duels: impl Iterator<Item = ([Variant; 2], u64)>,
    ) {
        let specs = duels
            .zip(self.next as u32..)
            .map(|((variants, seed), seq)| {
                let spec = self.spec(bench, phase, subject, variants, couples, seed);
                DuelSpec { seq, ..spec }
            })
            .collect();
        if let Some(fleet) = &mut self.fleet {
            fleet.expect(specs);
        }
    }

    fn was_fought_on(&mut self, fought_on: &FoughtOn) {
        let known = self
            .node_names
            .iter()
            .position(|name| *name == fought_on.node);
        let number = known.unwrap_or_else(|| {
            self.node_names.push(fought_on.node.clone());
            self.node_names.len() - 1
        });
        self.node_of.insert(fought_on.seq, number);
    }

    /// Machines that ran its duels elsewhere; the number of one is its place here.
    pub(crate) fn node_names(&self) -> &[String] {
        &self.node_names
    }

    /// The number of the machine of each duel; nothing where one of them was run here.
    pub(crate) fn node_numbers<'a>(
        &self,
        duels: impl Iterator<Item = &'a DuelRecord>,
    ) -> Vec<usize> {
        let numbers: Option<Vec<usize>> = duels
            .map(|duel| self.node_of.get(&duel.seq).copied())
            .collect();
        numbers.unwrap_or_default()
    }

    /// Whether its duels are run on other machines.
    pub(crate) fn is_elsewhere(&self) -> bool {
        self.fleet.is_some()
    }

    /// What nodes were held for in this sitting, and what went wrong on them; `None` of a study on one machine.
    ///
    /// # Errors
    /// The results file cannot be read.
    pub fn fleet_report(&self) -> Result<Option<FleetReport>> {
        let Some(fleet) = &self.fleet else {
            return Ok(None);
        };
        let taken: std::collections::BTreeSet<String> =
            self.fought_on()?.into_iter().map(|on| on.duel).collect();
        Ok(Some(fleet.report(|duel| taken.contains(duel))))
    }

    /// Where its duels were run, as far as that was elsewhere.
    ///
    /// # Errors
    /// The results file cannot be read.
    pub(crate) fn fought_on(&self) -> Result<Vec<FoughtOn>> {
        let events = self.store.events()?;
        let kept = events.iter().filter(|event| event.kind == FOUGHT_ON);
        Ok(kept
            .filter_map(|event| serde_json::from_str(&event.text).ok())
            .collect())
    }

    /// Set-up is done: from here on time counts against the budget.
    pub(crate) fn start_clock(&mut self) {
        self.clock = Some(Instant::now());
    }

    /// Does something that is no measuring (fetching, building, loading): its time does not count against the budget.
    pub(crate) fn aside<T>(&mut self, work: impl FnOnce() -> T) -> T {
        let began = Instant::now();
        let done = work();
        if let Some(clock) = &mut self.clock {
            *clock += began.elapsed();
        }
        done
    }

    /// Every start is warmed up for the longest time: where loads differ within a study, what one of them shows says
    /// nothing about the others.
    pub(crate) fn fix_warm_up(&mut self) {
        self.warm_up.decided(self.duel_settings.warm_up_seconds);
    }

    /// Seconds used, excluding setup, earlier sittings included.
    pub(crate) fn used_seconds(&self) -> f64 {
        let now = self
            .clock
            .map_or(0.0, |clock| clock.elapsed().as_secs_f64());
        self.used_before.elapsed_seconds + now
    }

    /// Seconds of those under load.
    pub(crate) fn load_seconds(&self) -> f64 {
        self.used_before.load_seconds + self.load_seconds
    }

    /// Counts seconds of load that no duel has.
    pub(crate) fn was_under_load(&mut self, seconds: f64) {
        self.load_seconds += seconds;
    }

    /// Seconds left of the budget; never negative.
    pub(crate) fn left_seconds(&self) -> f64 {
        (self.budget_seconds - self.used_seconds()).max(0.0)
    }

    /// The study's lengths, with the warm-up as it stands.
    pub fn duel_settings(&self) -> DuelSettings {
        DuelSettings {
            warm_up_seconds: self.warm_up.seconds(),
            ..self.duel_settings
        }
    }

    /// Duels done so far, earlier sittings included, in order.
    pub fn done(&self) -> &[DuelRecord] {
        &self.done
    }

    /// Whether duels of an earlier sitting are still to be recalled: those take no time.
    pub(crate) fn has_recalled(&self) -> bool {
        self.next < self.recalled.len()
    }

    /// From here on transactions arrive at this rate (per second, over all connections), whatever the servers do.
    pub(crate) fn set_rate(&mut self, rate: f64) {
        self.rate = Some(rate);
    }

    /// The rate of arrivals; `None` under closed load.
    pub fn rate(&self) -> Option<f64> {
        self.rate
    }

    /// Seconds that were asked for.
    pub fn budget_seconds(&self) -> f64 {
        self.budget_seconds
    }

    /// Wall-clock seconds that the next duel of this many couples will take, going by what the last ones took here,
    /// repeats and failures included.
    pub fn duel_seconds(&self, couples: u32) -> f64 {
        // Of several nodes each brings one in that time.
        let nodes = self.fleet.as_ref().map_or(1, Fleet::nodes);
        self.planned_seconds(couples) * self.pace() / f64::from(nodes.max(1))
    }

    fn planned_seconds(&self, couples: u32) -> f64 {
        unit_seconds(self.protocol, &self.duel_settings(), couples)
    }

    /// How many times longer than planned the last duels took. One duel as planned counts among them.
    fn pace(&self) -> f64 {
        let last = &self.done[self.done.len().saturating_sub(PACE_DUELS)..];
        let planned = |duel: &DuelRecord| self.planned_seconds(duel.couples);
        let counted: f64 = last
            .iter()
            .filter(|duel| duel.score.is_some())
            .map(planned)
            .sum();
        let took: f64 = last.iter().map(|duel| duel.wall_seconds).sum();
        let one = last.iter().map(planned).sum::<f64>() / last.len().max(1) as f64;
        if one > 0.0 {
            (took + one) / (counted + one)
        } else {
            1.0
        }
    }

    /// What was decided earlier under this key.
    ///
    /// # Errors
    /// The results file cannot be read, or does not hold under this name what the key says.
    pub(crate) fn recall<T: DeserializeOwned>(&self, key: &Checkpoint<T>) -> Result<Option<T>> {
        let events = self.store.events()?;
        let text = events.iter().rev().find_map(|event| {
            let kept = (event.kind == DECISION).then_some(event.text.as_str())?;
            kept.strip_prefix(key.name())?.strip_prefix('\t')
        });
        text.map(serde_json::from_str).transpose().with_context(|| {
            format!(
                "{}: the decision {} cannot be read; begin again with another --out",
                self.folder.join(RESULTS_FILE).display(),
                key.name()
            )
        })
    }

    /// Keeps a decision, so that a sitting that continues the study takes the same way.
    ///
    /// # Errors
    /// The results file cannot be written.
    pub(crate) fn keep<T: Serialize>(&self, key: &Checkpoint<T>, decided: &T) -> Result<()> {
        let text = serde_json::to_string(decided)?;
        self.note(DECISION, &format!("{}\t{text}", key.name()))
    }

    /// What was decided earlier under this key; decided now, and kept, where it was not.
    ///
    /// # Errors
    /// As with [`recall`](Self::recall) and [`keep`](Self::keep); what `decide` fails with.
    pub(crate) fn recall_or<T: DeserializeOwned + Serialize>(
        &self,
        key: &Checkpoint<T>,
        decide: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        if let Some(kept) = self.recall(key)? {
            return Ok(kept);
        }
        let decided = decide()?;
        self.keep(key, &decided)?;
        Ok(decided)
    }

    /// The steps of every pair of jobs so far, of A and of B.
    ///
    /// # Errors
    /// The results file cannot be read.
    pub fn steps(&self) -> Result<Vec<[Vec<StepTime>; 2]>> {
        let events = self.store.events()?;
        let kept = events.iter().filter(|event| event.kind == STEPS);
        Ok(kept
            .filter_map(|event| serde_json::from_str(&event.text).ok())
            .collect())
    }

    /// Keeps a line about what happened.
    ///
    /// # Errors
    /// The results file cannot be written.
    pub(crate) fn note(&self, kind: &str, text: &str) -> Result<()> {
        Ok(self
            .store
            .add_event(unix_ms(SystemTime::now()), kind, text)?)
    }

    /// The scored duel, run now or recalled; a disturbed one is repeated a few times. The record
    /// of a side that failed comes back as such.
    ///
    /// # Errors
    /// The study was stopped, or cannot continue here.
    #[expect(clippy::too_many_arguments, reason = "a duel is all of these")]
    pub fn duel(
        &mut self,
        bench: &Workbench,
        phase: Phase,
        subject: &str,
        variants: [Variant; 2],
        couples: u32,
        seed: u64,
        observer: &mut dyn Observer,
    ) -> Result<DuelRecord> {
        let mut repeats = 0;
        loop {
            let record = self.once(
                bench,
                self.spec(
                    bench,
                    phase,
                    subject,
                    variants.clone(),
                    couples,
                    seed.wrapping_add(u64::from(repeats) << 48),
                ),
                observer,
            )?;
            observer.see(Event::Duel(&record));
            self.done.push(record.clone());
            repeats += 1;
            let again = seed.wrapping_add(u64::from(repeats) << 48);
            let no_more = match self.recalled.get(self.next) {
                Some(next) => next.seed != again,
                None => repeats > MAX_REPEATS || self.left_seconds() <= record.wall_seconds,
            };
            if record.ending != Ending::Disturbed || no_more {
                return Ok(record);
            }
        }
    }

    fn spec(
        &self,
        bench: &Workbench,
        phase: Phase,
        subject: &str,
        variants: [Variant; 2],
        couples: u32,
        seed: u64,
    ) -> DuelSpec {
        DuelSpec {
            seq: self.next as u32,
            phase,
            subject: subject.to_owned(),
            variants,
            load: bench.load().clone(),
            duel_settings: DuelSettings {
                couples,
                ..self.duel_settings()
            },
            seed,
            taken_slope: self.taken_slope(bench.load()),
            rate: self.rate,
        }
    }

    /// The one place where it is decided who runs a duel: this machine, or a node.
    fn outcome(
        &mut self,
        bench: &Workbench,
        spec: &DuelSpec,
        observer: &mut dyn Observer,
    ) -> Result<DuelOutcome> {
        let Some(fleet) = &mut self.fleet else {
            return fight(bench, spec, self.protocol, observer);
        };
        let (outcome, fought_on, unattended) = fleet.run(bench, spec, self.protocol, observer)?;
        // A queue's time is not the study's.
        if let Some(clock) = &mut self.clock {
            *clock += unattended;
        }
        self.note(FOUGHT_ON, &serde_json::to_string(&fought_on)?)?;
        self.was_fought_on(&fought_on);
        Ok(outcome)
    }

    fn once(
        &mut self,
        bench: &Workbench,
        spec: DuelSpec,
        observer: &mut dyn Observer,
    ) -> Result<DuelRecord> {
        let ids = spec.variants.each_ref().map(Variant::id);
        if let Some(record) = self.recalled.get(self.next) {
            if record.variants != ids
                || record.phase != spec.phase
                || record.subject != spec.subject
                || record.seed != spec.seed
            {
                bail!(
                    "{}: duel {} is not the one this command would have run next; \
                     levers or servers changed since: start again with another --out",
                    self.folder.join(RESULTS_FILE).display(),
                    self.next
                );
            }
            let record = record.clone();
            let slices = self.recalled_slices.remove(&record.seq);
            self.learn_taken(&spec.load, &slices.unwrap_or_default());
            self.next += 1;
            return Ok(record);
        }
        bench.cancel().check()?;
        let outcome = self.outcome(bench, &spec, observer)?;
        for (variant, id) in spec.variants.iter().zip(ids) {
            let install = bench.install_of(variant)?;
            self.store.add_variant(&VariantRecord {
                id,
                label: variant.label(),
                content: serde_json::to_value(variant)?,
                command: niagara_server::command_line(install, &variant.runtime, &variant.config),
                server_version: install.version_string.clone(),
            })?;
        }
        if outcome.steps.iter().any(|steps| !steps.is_empty()) {
            self.note(STEPS, &serde_json::to_string(&outcome.steps)?)?;
        }
        let curves = outcome.warm_up_curves.map(as_kept);
        self.keep_curves(outcome.record.seq, &curves)?;
        for (side, counters) in &outcome.counters {
            self.store
                .add_resource_counters(outcome.record.seq, *side, counters)?;
        }
        for (side, replay) in &outcome.replays {
            self.store.add_replay(outcome.record.seq, *side, replay)?;
        }
        self.store.add_duel(&outcome.record, &outcome.slices)?;
        self.learn_taken(&spec.load, &outcome.slices);
        self.next += 1;
        self.load_seconds += outcome.record.load_seconds;
        self.learn_warm_up(&curves)?;
        Ok(outcome.record)
    }

    fn taken_slope(&self, load: &Load) -> TakenSlope {
        let known = self.taken_slopes.get(&load.one_line());
        known.copied().unwrap_or_default()
    }

    fn learn_taken(&mut self, load: &Load, slices: &[SliceRecord]) {
        let slope = self.taken_slopes.entry(load.one_line()).or_default();
        learn_taken(slope, slices);
    }

    /// Keeps the time of this sitting: call once at its end, however it ends.
    ///
    /// # Errors
    /// The results file cannot be written.
    pub(crate) fn end_sitting(&mut self) -> Result<()> {
        if let Some(fleet) = &mut self.fleet {
            fleet.end();
        }
        if let Some(clock) = self.clock.take() {
            let used = clock.elapsed().as_secs_f64();
            self.store.add_run_time(used, self.load_seconds)?;
            self.used_before.elapsed_seconds += used;
            self.used_before.load_seconds += self.load_seconds;
            self.load_seconds = 0.0;
        }
        Ok(())
    }
}

/// A warm-up curve (transactions per second) in tenths: short decimals are read again as the very numbers they were.
fn as_kept(curve: Vec<f64>) -> Vec<f64> {
    curve
        .into_iter()
        .map(|rate| (rate * 10.0).round() / 10.0)
        .collect()
}

#[cfg(test)]
impl Study {
    /// A study in `folder` with a budget of ten minutes.
    pub(crate) fn for_tests(folder: &Path, duel_settings: DuelSettings) -> Result<Self> {
        let record = StudyRecord {
            kind: "tune".into(),
            command: "niagara tune".into(),
            key: "k".into(),
            seed: 5,
            started_unix_ms: 0,
            plan: serde_json::json!({}),
            machine: serde_json::json!({}),
            niagara_version: "0".into(),
        };
        let options = StudyOptions {
            folder: folder.to_owned(),
            budget_seconds: 600.0,
            duel_settings,
            protocol: Protocol::Duel,
        };
        Study::open(&record, options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use niagara_store::SliceRecord;

    const LONGEST: f64 = 4.0;

    fn open(folder: &Path) -> Result<Study> {
        Study::for_tests(
            folder,
            DuelSettings {
                couples: 4,
                slice_seconds: 0.5,
                ramp_seconds: 0.05,
                warm_up_seconds: LONGEST,
                disturbance: 0.05,
            },
        )
    }

    /// A start that is steady after `ramp` of 40 tenths of a second.
    fn start(ramp: usize) -> Vec<f64> {
        (0..40)
            .map(|i| {
                let wobble = ((i * 7919) % 13) as f64 / 3.0;
                1000.0 + wobble
                    - if i < ramp {
                        700.0 - 20.0 * i as f64
                    } else {
                        0.0
                    }
            })
            .collect()
    }

    /// What `once` does with a duel that was fought.
    fn fought(study: &mut Study, seq: u32) {
        for id in ["a", "b"] {
            study
                .store
                .add_variant(&VariantRecord {
                    id: id.into(),
                    label: id.into(),
                    content: serde_json::json!({}),
                    command: String::new(),
                    server_version: String::new(),
                })
                .expect("room");
        }
        let curves = [start(5 + seq as usize), start(6)].map(as_kept);
        study.keep_curves(seq, &curves).expect("room");
        let record = DuelRecord {
            seq,
            phase: Phase::Compare,
            subject: String::new(),
            variants: ["a".into(), "b".into()],
            seed: u64::from(seq),
            started_unix_ms: 0,
            wall_seconds: 5.0,
            load_seconds: 4.0,
            score: Some(0.0),
            cpu_score: None,
            raw_score: None,
            latency_scores: None,
            p99_score: None,
            couples: 4,
            dropped: [0, 0],
            ending: Ending::Scored,
        };
        study
            .store
            .add_duel(&record, &[] as &[SliceRecord])
            .expect("room");
        study.learn_warm_up(&curves).expect("room");
    }

    #[test]
    fn a_continued_study_settles_the_same_warm_up_after_the_same_duel() {
        let whole = tempfile::tempdir().expect("a temporary folder");
        let mut study = open(whole.path()).expect("new");
        for seq in 0..3 {
            assert_eq!(
                study.duel_settings().warm_up_seconds,
                LONGEST,
                "after {seq} duels"
            );
            fought(&mut study, seq);
        }
        let settled = study.duel_settings().warm_up_seconds;
        assert!(settled < LONGEST);

        let parts = tempfile::tempdir().expect("a temporary folder");
        for seq in 0..3 {
            let mut study = open(parts.path()).expect("new, or continued");
            assert_eq!(
                study.duel_settings().warm_up_seconds,
                LONGEST,
                "after {seq} duels"
            );
            fought(&mut study, seq);
        }
        let study = open(parts.path()).expect("continued");
        assert_eq!(study.duel_settings().warm_up_seconds, settled);
    }

    #[test]
    fn curves_of_a_duel_that_was_lost_do_not_count() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut study = open(folder.path()).expect("new");
        fought(&mut study, 0);
        fought(&mut study, 1);
        // Killed between the curves and the duel.
        let steep = [start(30), start(30)];
        study.keep_curves(2, &steep).expect("room");
        drop(study);
        let mut study = open(folder.path()).expect("continued");
        assert_eq!(study.duel_settings().warm_up_seconds, LONGEST);
        fought(&mut study, 2);
        assert!(study.duel_settings().warm_up_seconds < LONGEST);
    }

    #[test]
    fn decisions_are_kept_once_and_read_as_earlier_versions_wrote_them() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let study = open(folder.path()).expect("new");
        for line in [
            "couples\t23",
            "warm-up\t1",
            "ended Claim malloc-jemalloc\t7",
        ] {
            study.note(DECISION, line).expect("room");
        }
        let couples = || study.recall_or(&checkpoint::couples(), || Ok(40));
        assert_eq!(couples().expect("readable"), 23);
        assert_eq!(
            study.recall(&checkpoint::warm_up()).expect("readable"),
            Some(1.0)
        );
        let ended = checkpoint::ended(Phase::Claim, "malloc-jemalloc");
        assert_eq!(study.recall(&ended).expect("readable"), Some(7));
        let other = checkpoint::ended(Phase::Claim, "malloc");
        assert_eq!(study.recall(&other).expect("readable"), None);
        let promoted = || vec!["transport-unix".to_owned()];
        for decided in [promoted(), Vec::new()] {
            let kept = study.recall_or(&checkpoint::promoted(), || Ok(decided));
            assert_eq!(kept.expect("readable"), promoted());
        }
        study.note(DECISION, "couples\tmany").expect("room");
        let error = format!("{:#}", couples().expect_err("no number"));
        assert!(
            error.contains("couples") && error.contains("--out"),
            "{error}"
        );
    }

    #[test]
    fn a_study_is_run_by_one_at_a_time_and_keeps_its_seed() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let study = open(folder.path()).expect("new");
        let error = open(folder.path()).err().expect("taken");
        assert!(format!("{error:#}").contains("--out"), "{error:#}");
        assert_eq!(study.seed(), 5);
        drop(study);
        open(folder.path()).expect("free again");
    }
}
