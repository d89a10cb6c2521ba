//! Recorded duels played back in real time: what the way between head and nodes costs and whether it loses anything can be
//! measured without a server.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use niagara_fleet::{Done, Sharing, Work};
use niagara_model::{DuelRecord, Ending, SliceRecord};
use niagara_server::{Cache, Cancelled};
use niagara_store::Store;
use serde_json::Value;

use crate::fleet::order::{NodeResult, OrderDocument};
use crate::plans::spec::DuelOutcome;
use crate::variants::variant::Variant;

/// The duels of a study, to be played back.
pub(crate) struct Replay {
    duels: Vec<(DuelRecord, Vec<SliceRecord>)>,
    speed: f64,
    /// The node's folder on its own disk, until it was seen to be one.
    disk: Option<PathBuf>,
}

impl Replay {
    /// Those that counted in the results file `file`, played back this many times faster on a node whose own disk has the
    /// folder `disk`.
    ///
    /// # Errors
    /// No results, or none that counted.
    pub(crate) fn of(file: &Path, speed: f64, disk: &Path) -> Result<Self> {
        let store = Store::open_read_only(file)?;
        let slices = store.slices(None)?;
        let duels: Vec<_> = store
            .duels()?
            .into_iter()
            .filter(|duel| duel.ending == Ending::Scored)
            .map(|duel| {
                let its = slices.iter().filter(|slice| slice.duel == duel.seq);
                let its = its.cloned().collect();
                (duel, its)
            })
            .collect();
        if duels.is_empty() {
            bail!("{} holds no duel to play back", file.display());
        }
        Ok(Self {
            duels,
            speed,
            disk: Some(disk.to_owned()),
        })
    }
}

impl Work for Replay {
    /// It only sleeps.
    fn sharing(&self) -> Sharing {
        Sharing::Everybody
    }

    fn wants_staging(&self, _order: &Value) -> bool {
        self.disk.is_some()
    }

    /// Nothing is copied; a disk that cannot be written is one on which no duel is played back either.
    fn stage(&mut self, _order: &Value) -> Result<()> {
        if let Some(disk) = &self.disk {
            Cache::at(disk)?;
        }
        self.disk = None;
        Ok(())
    }

    /// The recorded duel that the order's seed picks: the same whoever plays it.
    fn run(
        &mut self,
        order: &Value,
        cancel: &Arc<AtomicBool>,
        _tell: &dyn Fn(&str),
    ) -> Result<Done> {
        let order: OrderDocument =
            serde_json::from_value(order.clone()).context("the order cannot be understood")?;
        let spec = &order.spec;
        let (recorded, slices) = &self.duels[(spec.seed % self.duels.len() as u64) as usize];
        let began = Instant::now();
        let wall = Duration::from_secs_f64(recorded.wall_seconds / self.speed);
        while began.elapsed() < wall {
            if cancel.load(Ordering::Relaxed) {
                return Err(Cancelled.into());
            }
            std::thread::sleep(Duration::from_millis(5).min(wall.saturating_sub(began.elapsed())));
        }
        let outcome = DuelOutcome {
            record: DuelRecord {
                seq: spec.seq,
                phase: spec.phase,
                subject: spec.subject.clone(),
                variants: spec.variants.each_ref().map(Variant::id),
                seed: spec.seed,
                wall_seconds: recorded.wall_seconds / self.speed,
                load_seconds: recorded.load_seconds / self.speed,
                ..recorded.clone()
            },
            slices: slices.clone(),
            warm_up_curves: Default::default(),
            counters: Vec::new(),
            replays: Vec::new(),
            steps: Default::default(),
            encryption: [None, None],
        };
        Ok(Done {
            load_seconds: outcome.record.load_seconds,
            failed: false,
            document: serde_json::to_vec(&NodeResult {
                outcome,
                trial: None,
                played_back: true,
            })?,
        })
    }
}
