//! A study with its results file: what it has measured, decided and used of its time, in this sitting and earlier ones. Its
//! duels are run in `series`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, Result};
use niagara_error::{anyhow, bail};
use niagara_load::StepTime;
use niagara_model::{
    DuelRecord, Event, Finding, FoughtOn, SliceRecord, StudyRecord, Summary, VariantRecord,
};
use niagara_server::file_digest;
use niagara_stats::InterferenceSlope;
use niagara_store::{Store, StoreError, StudyLock};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::duels::arena::unix_ms;
use crate::duels::score::learn_taken;
use crate::duels::warm_up::WarmUpPlan;
use crate::duels::workbench::Workbench;
use crate::fleet::{Fleet, FleetOptions};
use crate::plans::duel_plan::{DuelShape, unit_seconds, warmed_up_unit_seconds};
use crate::plans::observer::{self, Observer};
use crate::plans::spec::{DuelOutcome, DuelSettings, DuelSpec, Load, Protocol};
use crate::plans::study_key::study_key;
use crate::studies::checkpoint::{self, Checkpoint};
use crate::studies::clock::Clock;
use crate::studies::host_identity::HostIdentity;
use crate::studies::nodes::Nodes;
use crate::studies::pace::seconds_beyond;
use crate::studies::part_begun::PartBegun;
use crate::studies::results_folder::{RESULTS_FILE, is_bare};
use crate::variants::variant::Variant;

/// Duels from which it is told how long the next ones will take: a machine's load changes.
const PACE_DUELS: usize = 12;

/// Telling how far it came takes at most one of so many parts of a study's time.
const TELLING: u32 = 100;

/// A study with its results file. Everything it decides is a function of what the file holds, so
/// that a study opened again continues where it stopped.
pub struct Study {
    store: Store,
    // Held as long as the results may be written.
    _lock: StudyLock,
    seed: u64,
    folder: PathBuf,
    /// Duels of the parts before this one: they are not recalled.
    earlier: usize,
    pub(super) recalled: Vec<DuelRecord>,
    pub(super) next: usize,
    pub(super) done: Vec<DuelRecord>,
    /// The shapes of those, in the same order.
    pub(super) done_shapes: Vec<DuelShape>,
    duel_settings: DuelSettings,
    warm_up: WarmUpPlan,
    pub(super) protocol: Protocol,
    /// Who runs its duels, if not this machine.
    pub(super) fleet: Option<Fleet>,
    nodes: Nodes,
    pub(super) clock: Clock,
    pub(super) rate: Option<f64>,
    /// By load: what its duels so far tell of throughput and CPU time taken by others.
    interference_slopes: BTreeMap<String, InterferenceSlope>,
    /// Slices of earlier sittings, by duel, until their duels are recalled.
    recalled_slices: BTreeMap<u32, Vec<SliceRecord>>,
    /// Servers and builds whose binaries are known to be those of earlier sittings.
    same_binaries: BTreeSet<String>,
    /// When it was told last how far the study came, and how long that took.
    told: Option<(Instant, Duration)>,
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
    /// Whether a part begins: what is in the folder stays, and nothing of it is repeated or continued.
    pub begins_part: bool,
}

impl Study {
    /// Begins the study in its folder, or continues it when the folder holds the same one (same key).
    ///
    /// # Errors
    /// Another Niagara runs it, the folder holds the results of another study, or cannot be written.
    pub fn open(record: &StudyRecord, options: StudyOptions) -> Result<Self> {
        Self::open_if(record, options, |_| Ok(()))
    }

    /// The same, if `check` has nothing against it: that is asked before anything is written, of the results that are there, while
    /// no other Niagara can write to them.
    ///
    /// # Errors
    /// As with [`open`](Self::open); what `check` fails with.
    pub(crate) fn open_if(
        record: &StudyRecord,
        options: StudyOptions,
        check: impl FnOnce(Option<&Store>) -> Result<()>,
    ) -> Result<Self> {
        std::fs::create_dir_all(&options.folder).map_err(|error| {
            anyhow!(
                "cannot make the folder {} for the results: {error}", options.folder.display();
                remedy: "name another with --out"
            )
        })?;
        let lock = StudyLock::take(&options.folder)?;
        let path = options.folder.join(RESULTS_FILE);
        let mut seed = record.seed;
        let there = match Store::open(&path) {
            // There is none, or the disk was full when it was made: then nothing is lost with it.
            Err(StoreError::Missing { .. } | StoreError::Empty { .. }) => None,
            store => Some(store?),
        };
        // Another study that measured nothing gives way.
        let there = match there {
            Some(store) if store.study()?.key != record.key && is_bare(&store)? => {
                drop(store);
                std::fs::remove_file(&path).with_context(|| {
                    format!(
                        "cannot remove {}, for which nothing was measured",
                        path.display()
                    )
                })?;
                None
            }
            there => there,
        };
        let store = if let Some(store) = there {
            let there = store.study()?;
            if there.key != record.key {
                bail!(
                    "{} holds another study ({}); name another folder with --out, or remove it",
                    path.display(),
                    there.command
                );
            }
            seed = there.seed;
            check(Some(&store))?;
            let command = record.command.clone();
            let event = match options.begins_part {
                true => Event::NextPart { command },
                false => Event::Resumed { command },
            };
            store.add_event(unix_ms(SystemTime::now()), &event)?;
            store
        } else {
            check(None)?;
            Store::create(&path, record)?
        };
        let recalled = store.duels()?;
        let mut begun = PartBegun::last(&store)?;
        begun.settle(&store, &recalled)?;
        if options.begins_part {
            begun = PartBegun::next(&store, &recalled)?;
        }
        let earlier = begun.duels.min(recalled.len());
        let mut recalled_slices: BTreeMap<u32, Vec<SliceRecord>> = BTreeMap::new();
        for mut slice in store.slices(None)? {
            if slice.duel as usize >= earlier {
                slice.histogram.clear();
                recalled_slices.entry(slice.duel).or_default().push(slice);
            }
        }
        let used_before = begun.used_since(&store)?;
        let mut study = Self {
            warm_up: WarmUpPlan::new(options.duel_settings.warm_up_seconds),
            folder: options.folder,
            duel_settings: options.duel_settings,
            protocol: options.protocol,
            fleet: None,
            nodes: Nodes::default(),
            clock: Clock::new(options.budget_seconds, begun.used, used_before),
            next: earlier,
            earlier,
            recalled,
            done: Vec::new(),
            done_shapes: Vec::new(),
            rate: None,
            interference_slopes: BTreeMap::new(),
            recalled_slices,
            same_binaries: BTreeSet::new(),
            told: None,
            store,
            seed,
            _lock: lock,
        };
        study.recall_warm_up()?;
        for fought_on in study.fought_on()? {
            study.nodes.add(&fought_on);
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

    /// Whether anything was measured in an earlier sitting; of a part, whether anything of that part was.
    pub(crate) fn is_resumed(&self) -> bool {
        self.recalled.len() > self.earlier
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
    pub(crate) fn fleet_announcement(&self) -> Option<&str> {
        self.fleet.as_ref().map(Fleet::announcement)
    }

    /// Duels that whoever runs them wants to know of before they are asked for; 0 on one machine.
    pub(crate) fn ahead(&self) -> usize {
        match &self.fleet {
            Some(fleet) if !self.has_recalled() => fleet.ahead(),
            _ => 0,
        }
    }

    /// Machines that ran its duels elsewhere.
    pub(crate) fn nodes(&self) -> &Nodes {
        &self.nodes
    }

    /// Keeps which machine ran a duel.
    ///
    /// # Errors
    /// The results file cannot be written.
    pub(super) fn keep_node(&mut self, fought_on: &FoughtOn) -> Result<()> {
        self.note(&Event::FoughtOn(fought_on.clone()))?;
        self.nodes.add(fought_on);
        Ok(())
    }

    /// Whether its duels are run on other machines.
    pub(crate) fn is_elsewhere(&self) -> bool {
        self.fleet.is_some()
    }

    /// Keeps what nodes were held for, in all sittings.
    ///
    /// # Errors
    /// The results file cannot be read or written.
    fn keep_node_account(&self) -> Result<()> {
        let Some(fleet) = &self.fleet else {
            return Ok(());
        };
        let taken: BTreeSet<String> = self.fought_on()?.into_iter().map(|on| on.duel).collect();
        let account = fleet.account(|duel| taken.contains(duel));
        self.note(&Event::NodesHeld(account))
    }

    /// Where its duels were run, as far as that was elsewhere.
    ///
    /// # Errors
    /// The results file cannot be read.
    pub(crate) fn fought_on(&self) -> Result<Vec<FoughtOn>> {
        let events = self.store.events()?.into_iter();
        let kept = events.filter_map(|record| match record.event {
            Event::FoughtOn(fought_on) => Some(fought_on),
            _ => None,
        });
        Ok(kept.collect())
    }

    /// Set-up is done: from here on time counts against the budget.
    pub(crate) fn start_clock(&mut self) {
        self.clock.start();
    }

    /// Does something that is no measuring (fetching, building, loading): its time does not count against the budget.
    pub(crate) fn aside<T>(
        &mut self,
        observer: &mut dyn Observer,
        work: impl FnOnce(&mut dyn Observer) -> T,
    ) -> T {
        let began = Instant::now();
        let done = work(observer);
        let took = began.elapsed();
        self.clock.leave_out(took);
        observer.see(observer::Event::LeftOut(took));
        done
    }

    /// Every start is warmed up for the longest time: where loads differ within a study, what one of them shows says
    /// nothing about the others.
    pub(crate) fn fix_warm_up(&mut self) {
        self.warm_up.decided(self.duel_settings.warm_up_seconds);
    }

    /// Seconds used of the budget, excluding setup, earlier sittings included.
    pub(crate) fn used_seconds(&self) -> f64 {
        self.clock.used_seconds()
    }

    /// Seconds used by all parts, excluding setup.
    pub(crate) fn total_seconds(&self) -> f64 {
        self.clock.total_seconds()
    }

    /// Seconds of those under load.
    pub(crate) fn load_seconds(&self) -> f64 {
        self.clock.load_seconds()
    }

    /// Counts seconds of load that no duel has.
    pub(crate) fn was_under_load(&mut self, seconds: f64) {
        self.clock.add_load(seconds);
    }

    /// Seconds left of the budget; never negative.
    pub(crate) fn left_seconds(&self) -> f64 {
        self.clock.left_seconds()
    }

    /// The study's lengths, with the warm-up as it stands.
    pub fn duel_settings(&self) -> DuelSettings {
        DuelSettings {
            warm_up_seconds: self.warm_up.seconds(),
            ..self.duel_settings
        }
    }

    /// Duels done so far, earlier sittings included, in order; of a part, those of that part.
    pub fn done(&self) -> &[DuelRecord] {
        &self.done
    }

    /// Duels of the parts before this one.
    pub(crate) fn earlier_parts(&self) -> &[DuelRecord] {
        &self.recalled[..self.earlier]
    }

    /// Whether duels of an earlier sitting are still to be recalled: those take no time.
    pub(crate) fn has_recalled(&self) -> bool {
        self.next < self.recalled.len()
    }

    /// Whether more is known than an earlier sitting could keep.
    fn says_more(&self) -> bool {
        !self.is_resumed() || self.next > self.recalled.len()
    }

    /// Whether what failed before is tried again from here on: once where a sitting takes over from the one before, as the cause may
    /// be gone by now, and wherever an earlier sitting did so.
    ///
    /// # Errors
    /// The results file cannot be read or written.
    pub(crate) fn tries_again(&self) -> Result<bool> {
        let key = checkpoint::tried_again(self.next);
        if self.recall(&key)?.is_some() {
            return Ok(true);
        }
        let takes_over = self.is_resumed() && self.next == self.recalled.len();
        if takes_over {
            self.keep(&key, &true)?;
        }
        Ok(takes_over)
    }

    /// From here on transactions arrive at this rate (per second, over all connections), whatever the servers do.
    pub(crate) fn set_rate(&mut self, rate: f64) {
        self.rate = Some(rate);
    }

    /// The rate of arrivals; `None` under closed load.
    pub fn rate(&self) -> Option<f64> {
        self.rate
    }

    /// How variants meet.
    pub(crate) fn protocol(&self) -> Protocol {
        self.protocol
    }

    /// Seconds that were asked for.
    pub fn budget_seconds(&self) -> f64 {
        self.clock.budget_seconds()
    }

    /// Wall-clock seconds that the next duel of this shape will take, going by what the last ones took here, repeats and
    /// failures included.
    pub fn duel_seconds(&self, shape: impl Into<DuelShape>) -> f64 {
        self.duel_seconds_of(shape, u32::MAX)
    }

    /// The same of duels of which no more than `known` are known at a time: others cannot be run meanwhile.
    pub(crate) fn duel_seconds_of(&self, shape: impl Into<DuelShape>, known: u32) -> f64 {
        let abreast = self.fleet.as_ref().map_or(1, Fleet::abreast).min(known);
        let first = self.done.len().saturating_sub(PACE_DUELS);
        let shapes = self.done_shapes[first..].iter().copied();
        let last: Vec<(&DuelRecord, DuelShape)> = self.done[first..].iter().zip(shapes).collect();
        let planned = |shape| self.planned_seconds(shape);
        (planned(shape.into()) + seconds_beyond(&last, planned)) / f64::from(abreast.max(1))
    }

    fn planned_seconds(&self, shape: DuelShape) -> f64 {
        let seconds = match self.warm_up.is_settled() {
            true => warmed_up_unit_seconds,
            false => unit_seconds,
        };
        let settings = shape.settings(self.duel_settings());
        seconds(self.protocol, &settings, shape.couples)
    }

    /// What was decided earlier under this key.
    ///
    /// # Errors
    /// The results file cannot be read, or does not hold under this name what the key says.
    pub(crate) fn recall<T: DeserializeOwned>(&self, key: &Checkpoint<T>) -> Result<Option<T>> {
        key.kept_in(&self.store, &self.folder.join(RESULTS_FILE))
    }

    /// Keeps a decision, so that a sitting that continues the study takes the same way.
    ///
    /// # Errors
    /// The results file cannot be written.
    pub(crate) fn keep<T: Serialize>(&self, key: &Checkpoint<T>, decided: &T) -> Result<()> {
        key.keep_in(&self.store, decided)
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

    /// Keeps how far the study has come: what is reported of it should this process be killed. Until a duel was fought in this sitting,
    /// what an earlier one kept says more than is known again by now, and stays.
    ///
    /// # Errors
    /// The results file cannot be written.
    pub(crate) fn keep_unfinished(&self, mut summary: Summary) -> Result<()> {
        if !self.says_more() {
            return Ok(());
        }
        summary
            .header_mut()
            .warnings
            .push(Finding::Unfinished.into());
        Ok(self.store.set_summary(&summary)?)
    }

    /// The same within a question, after a duel, unless that was done just now: it reads all slices again.
    pub(crate) fn tell_so_far(&mut self, summary: impl FnOnce(&Self) -> Result<Summary>) {
        let is_early = |(at, took): (Instant, Duration)| at.elapsed() < TELLING * took;
        if !self.says_more() || self.told.is_some_and(is_early) {
            return;
        }
        let began = Instant::now();
        // Nothing hangs on it: what cannot be told of so few duels can be of more, and of a full disk the next duel tells.
        let _ = summary(self).and_then(|summary| self.keep_unfinished(summary));
        self.told = Some((Instant::now(), began.elapsed()));
    }

    /// The steps of every pair of jobs so far, of A and of B.
    ///
    /// # Errors
    /// The results file cannot be read.
    pub fn steps(&self) -> Result<Vec<[Vec<StepTime>; 2]>> {
        let events = self.store.events()?.into_iter();
        Ok(steps_of_duels(events.map(|record| record.event), self.next))
    }

    /// Keeps what happened.
    ///
    /// # Errors
    /// The results file cannot be written.
    pub(crate) fn note(&self, event: &Event) -> Result<()> {
        Ok(self.store.add_event(unix_ms(SystemTime::now()), event)?)
    }

    /// Whether it is continued where it was begun.
    ///
    /// # Errors
    /// It was begun elsewhere: what differs, and what can be done.
    pub(crate) fn check_place(&self, now: &HostIdentity) -> Result<()> {
        let then = self.recall_or(&checkpoint::host_identity(), || Ok(now.clone()))?;
        let differences = then.differences(now);
        if differences.is_empty() {
            return Ok(());
        }
        bail!(
            "{} was begun elsewhere ({}): duels from there and from here do not go into one result",
            self.folder.display(),
            differences.join("; ");
            remedy: "continue it where it was begun, or name another folder with --out"
        )
    }

    /// Whether the servers of a duel are those that earlier ones were fought with.
    ///
    /// # Errors
    /// The binary of one is another one now.
    pub(super) fn check_binaries(&mut self, bench: &Workbench, spec: &DuelSpec) -> Result<()> {
        for variant in &spec.variants {
            let server = variant.server_and_build();
            if self.same_binaries.contains(&server) {
                continue;
            }
            let path = &bench.install_of(variant)?.server;
            let now = file_digest(path)?;
            let then = self.recall_or(&checkpoint::binary(&server), || Ok(now.clone()))?;
            if then != now {
                bail!(
                    "{} is another binary of {server} than the one that {} was begun with: their duels do not go into one result",
                    path.display(),
                    self.folder.display();
                    remedy: "begin again with another --out"
                );
            }
            self.same_binaries.insert(server);
        }
        Ok(())
    }

    /// The next duel as an earlier sitting measured it; `None` where there was none.
    ///
    /// # Errors
    /// That sitting ran another duel here.
    pub(super) fn recall_duel(&mut self, spec: &DuelSpec) -> Result<Option<DuelRecord>> {
        let Some(record) = self.recalled.get(self.next).cloned() else {
            return Ok(None);
        };
        if record.variants != spec.variants.each_ref().map(Variant::id)
            || record.phase != spec.phase
            || record.subject != spec.subject
            || record.seed != spec.seed
        {
            bail!(
                "{}: duel {} is not the one this command would have run next; \
                 levers changed since: start again with another --out",
                self.folder.join(RESULTS_FILE).display(),
                self.next
            );
        }
        let slices = self.recalled_slices.remove(&record.seq);
        self.learn_taken(&spec.load, &slices.unwrap_or_default());
        self.next += 1;
        Ok(Some(record))
    }

    /// Keeps what came of a duel, and learns from it.
    ///
    /// # Errors
    /// The results file cannot be written.
    pub(super) fn keep_duel(
        &mut self,
        bench: &Workbench,
        spec: &DuelSpec,
        outcome: DuelOutcome,
    ) -> Result<DuelRecord> {
        for variant in &spec.variants {
            let install = bench.install_of(variant)?;
            self.store.add_variant(&VariantRecord {
                id: variant.id(),
                label: variant.label(),
                content: serde_json::to_value(variant)?,
                command: niagara_server::command_line(install, &variant.runtime, &variant.config),
                server_version: install.version_string.clone(),
            })?;
        }
        if outcome.steps.iter().any(|steps| !steps.is_empty()) {
            let of_side = |side: Vec<StepTime>| -> Vec<(String, f64)> {
                let steps = side.into_iter();
                steps.map(|step| (step.name, step.seconds)).collect()
            };
            self.note(&Event::Steps {
                duel: outcome.record.seq,
                seconds: outcome.steps.map(of_side),
            })?;
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
        for (variant, session) in spec.variants.iter().zip(outcome.encryption) {
            if let Some(session) = session {
                self.recall_or(&checkpoint::encryption(&variant.id()), || Ok(session))?;
            }
        }
        self.store.add_duel(&outcome.record, &outcome.slices)?;
        self.learn_taken(&spec.load, &outcome.slices);
        self.next += 1;
        self.clock.add_load(outcome.record.load_seconds);
        self.learn_warm_up(&curves)?;
        Ok(outcome.record)
    }

    pub(super) fn interference_slope(&self, load: &Load) -> InterferenceSlope {
        let known = self.interference_slopes.get(&load.one_line());
        known.copied().unwrap_or_default()
    }

    fn learn_taken(&mut self, load: &Load, slices: &[SliceRecord]) {
        let slope = self.interference_slopes.entry(load.one_line()).or_default();
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
        self.keep_node_account()?;
        if let Some(sitting) = self.clock.end() {
            self.store
                .add_run_time(sitting.elapsed_seconds, sitting.load_seconds)?;
            self.keep(
                &checkpoint::time_kept(),
                &self.next.max(self.recalled.len()),
            )?;
        }
        Ok(())
    }
}

/// The steps of the duels before `next`, of events in the order in which they were kept: of a duel that has two, the last one holds.
fn steps_of_duels(events: impl Iterator<Item = Event>, next: usize) -> Vec<[Vec<StepTime>; 2]> {
    let of_side = |side: Vec<(String, f64)>| -> Vec<StepTime> {
        let steps = side.into_iter();
        steps
            .map(|(name, seconds)| StepTime { name, seconds })
            .collect()
    };
    let kept = events.filter_map(|event| match event {
        Event::Steps { duel, seconds } if (duel as usize) < next => {
            Some((duel, seconds.map(of_side)))
        }
        _ => None,
    });
    let by_duel: BTreeMap<u32, _> = kept.collect();
    by_duel.into_values().collect()
}

/// A warm-up curve (transactions per second) in tenths: short decimals are read again as the very numbers they were.
fn as_kept(curve: Vec<f64>) -> Vec<f64> {
    curve
        .into_iter()
        .map(|rate| (rate * 10.0).round() / 10.0)
        .collect()
}

#[cfg(test)]
pub(crate) mod tests;
