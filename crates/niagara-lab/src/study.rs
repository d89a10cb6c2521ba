//! A study under way: duels run or recalled, results kept after each, time counted.

use std::path::{Path, PathBuf};
use std::time::{Instant, SystemTime};

use anyhow::{Result, bail};
use niagara_store::{DuelRecord, Ending, Phase, RunTime, Store, StudyRecord, VariantRecord};

use crate::arena::unix_ms;
use crate::duel::fight;
use crate::observer::{Event, Observer};
use crate::spec::{DuelSpec, Lengths, Protocol};
use crate::variant::Variant;
use crate::warm_up::WarmUpPlan;
use crate::workbench::Workbench;

/// Event kind under which the study keeps a decision that later steps depend on.
const DECISION: &str = "decision";
/// Times one duel is repeated when the machine disturbed it.
const MOST_REPEATS: u32 = 3;

/// The results file within a study's folder.
pub const RESULTS_FILE: &str = "results.db";

/// A study with its results file. Everything it decides is a function of what the file holds, so
/// that a study opened again goes on where it stopped.
pub struct Study {
    store: Store,
    folder: PathBuf,
    recalled: Vec<DuelRecord>,
    next: usize,
    done: Vec<DuelRecord>,
    lengths: Lengths,
    warm_up: WarmUpPlan,
    protocol: Protocol,
    budget_seconds: f64,
    used_before: RunTime,
    clock: Option<Instant>,
    load_seconds: f64,
}

/// What a study is opened with.
pub struct StudyOptions {
    /// Folder of the results, made if it is not there.
    pub folder: PathBuf,
    /// Seconds that the study may take, set-up aside.
    pub budget_seconds: f64,
    /// Slices and the longest warm-up.
    pub lengths: Lengths,
    /// How variants meet.
    pub protocol: Protocol,
}

impl Study {
    /// Begins the study in its folder, or goes on with it when the folder holds the same one (same key).
    ///
    /// # Errors
    /// The folder holds the results of another study, or cannot be written.
    pub fn open(record: &StudyRecord, options: StudyOptions) -> Result<Self> {
        std::fs::create_dir_all(&options.folder).map_err(|error| {
            anyhow::anyhow!(
                "cannot make the folder {} for the results: {error}; name another with --out",
                options.folder.display()
            )
        })?;
        let path = options.folder.join(RESULTS_FILE);
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
            store.add_event(unix_ms(SystemTime::now()), "resumed", &record.command)?;
            store
        } else {
            Store::create(&path, record)?
        };
        let recalled = store.duels()?;
        let mut used_before = store.total_run_time()?;
        // A sitting that was killed kept no time of its own; its duels did.
        let wall: f64 = recalled.iter().map(|duel| duel.wall_seconds).sum();
        let load: f64 = recalled.iter().map(|duel| duel.load_seconds).sum();
        used_before.elapsed_seconds = used_before.elapsed_seconds.max(wall);
        used_before.load_seconds = used_before.load_seconds.max(load);
        let mut study = Self {
            warm_up: WarmUpPlan::new(options.lengths.warm_up_seconds),
            folder: options.folder,
            lengths: options.lengths,
            protocol: options.protocol,
            budget_seconds: options.budget_seconds,
            recalled,
            next: 0,
            done: Vec::new(),
            used_before,
            clock: None,
            load_seconds: 0.0,
            store,
        };
        if let Some(text) = study.decision("warm-up")? {
            study
                .warm_up
                .decided(text.parse().unwrap_or(options.lengths.warm_up_seconds));
        }
        Ok(study)
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
    pub fn is_resumed(&self) -> bool {
        !self.recalled.is_empty()
    }

    /// Set-up is done: from here on time counts against the budget.
    pub fn start_clock(&mut self) {
        self.clock = Some(Instant::now());
    }

    /// Seconds used, set-up aside, earlier sittings included.
    pub fn used_seconds(&self) -> f64 {
        let now = self
            .clock
            .map_or(0.0, |clock| clock.elapsed().as_secs_f64());
        self.used_before.elapsed_seconds + now
    }

    /// Seconds of those under load.
    pub fn load_seconds(&self) -> f64 {
        self.used_before.load_seconds + self.load_seconds
    }

    /// Seconds left of the budget; never negative.
    pub fn left_seconds(&self) -> f64 {
        (self.budget_seconds - self.used_seconds()).max(0.0)
    }

    /// The study's lengths, with the warm-up as it stands.
    pub fn lengths(&self) -> Lengths {
        Lengths {
            warm_up_seconds: self.warm_up.seconds(),
            ..self.lengths
        }
    }

    /// Duels done so far, earlier sittings included, in order.
    pub fn done(&self) -> &[DuelRecord] {
        &self.done
    }

    /// Whether duels of an earlier sitting are still to be recalled: those take no time.
    pub fn has_recalled(&self) -> bool {
        self.next < self.recalled.len()
    }

    /// Mean wall-clock seconds of a duel so far; `None` before the first.
    pub fn seconds_per_duel(&self, phase: Phase) -> Option<f64> {
        let times: Vec<f64> = self
            .done
            .iter()
            .filter(|duel| duel.phase == phase && duel.score.is_some())
            .map(|duel| duel.wall_seconds)
            .collect();
        (!times.is_empty()).then(|| times.iter().sum::<f64>() / times.len() as f64)
    }

    /// A decision kept earlier under `name`.
    ///
    /// # Errors
    /// The results file cannot be read.
    pub fn decision(&self, name: &str) -> Result<Option<String>> {
        Ok(self.store.events()?.into_iter().rev().find_map(|event| {
            (event.kind == DECISION)
                .then(|| {
                    event
                        .text
                        .strip_prefix(name)?
                        .strip_prefix('\t')
                        .map(str::to_owned)
                })
                .flatten()
        }))
    }

    /// Keeps a decision, so that a study that goes on later takes the same way.
    ///
    /// # Errors
    /// The results file cannot be written.
    pub fn decide(&self, name: &str, text: &str) -> Result<()> {
        self.note(DECISION, &format!("{name}\t{text}"))
    }

    /// Keeps a line about what happened.
    ///
    /// # Errors
    /// The results file cannot be written.
    pub fn note(&self, kind: &str, text: &str) -> Result<()> {
        Ok(self
            .store
            .add_event(unix_ms(SystemTime::now()), kind, text)?)
    }

    /// The scored duel, run now or recalled; a disturbed one is repeated a few times. The record
    /// of a side that failed comes back as such.
    ///
    /// # Errors
    /// The study was stopped, or cannot go on here.
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
                DuelSpec {
                    seq: self.next as u32,
                    phase,
                    subject: subject.to_owned(),
                    variants: variants.clone(),
                    load: bench.load().clone(),
                    lengths: Lengths {
                        couples,
                        ..self.lengths()
                    },
                    seed: seed.wrapping_add(u64::from(repeats) << 48),
                },
                observer,
            )?;
            observer.see(Event::Duel(&record));
            self.done.push(record.clone());
            repeats += 1;
            let again = seed.wrapping_add(u64::from(repeats) << 48);
            let no_more = match self.recalled.get(self.next) {
                Some(next) => next.seed != again,
                None => repeats > MOST_REPEATS || self.left_seconds() <= record.wall_seconds,
            };
            if record.ending != Ending::Disturbed || no_more {
                return Ok(record);
            }
        }
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
                     levers or servers changed since: start anew with another --out",
                    self.folder.join(RESULTS_FILE).display(),
                    self.next
                );
            }
            self.next += 1;
            return Ok(record.clone());
        }
        bench.cancel().check()?;
        let outcome = fight(bench, &spec, self.protocol, observer)?;
        for (variant, id) in spec.variants.iter().zip(ids) {
            let install = bench.install(&variant.server)?;
            self.store.add_variant(&VariantRecord {
                id,
                label: variant.label(),
                content: serde_json::to_value(variant)?,
                command: niagara_server::command_line(install, &variant.runtime, &variant.config),
                server_version: install.version_string.clone(),
            })?;
        }
        self.store.add_duel(&outcome.record, &outcome.slices)?;
        self.next += 1;
        self.load_seconds += outcome.record.load_seconds;
        if let Some(seconds) = self.warm_up.learn(&outcome.warm_up_curves) {
            self.decide("warm-up", &seconds.to_string())?;
        }
        Ok(outcome.record)
    }

    /// Keeps the time of this sitting: call once at its end, however it ends.
    ///
    /// # Errors
    /// The results file cannot be written.
    pub fn end_sitting(&mut self) -> Result<()> {
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
