//! The head: grants duels, takes results, replaces workers. It runs in a thread of its own, so that workers hear of it
//! whatever the study does meanwhile.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use niagara_model::{NodeReason, NodeSeconds, NodeTrouble, SharedMachine};

use crate::office::{Coordinator, STOP_TIMEOUT};
use crate::options::{DuelResult, HeadOptions, Order};

/// How often the workers' logs are read.
const LOOK: Duration = Duration::from_millis(200);

/// A head at work.
pub struct Head {
    office: Arc<Mutex<Coordinator>>,
    over: Arc<AtomicBool>,
    thread: Option<std::thread::JoinHandle<()>>,
    /// Microseconds of waiting in which no worker ran a duel.
    idle: AtomicU64,
}

impl Head {
    /// Opens the shared folder, or continues in it: workers that are there are adopted, results that came are taken.
    ///
    /// # Errors
    /// The folder is another study's or cannot be written; Slurm does not answer.
    pub fn open(options: HeadOptions) -> anyhow::Result<Self> {
        let office = Arc::new(Mutex::new(Coordinator::open(options)?));
        let over = Arc::new(AtomicBool::new(false));
        let thread = {
            let (office, over) = (Arc::clone(&office), Arc::clone(&over));
            std::thread::spawn(move || {
                while !over.load(Ordering::Relaxed) {
                    lock(&office).step();
                    std::thread::sleep(LOOK);
                }
            })
        };
        Ok(Self {
            office,
            over,
            thread: Some(thread),
            idle: AtomicU64::new(0),
        })
    }

    fn office(&self) -> MutexGuard<'_, Coordinator> {
        lock(&self.office)
    }

    /// From here on these duels are wanted, the most urgent first. Those that run and are not among them are stopped. Where the
    /// folder cannot be written, that is tried again; [`Head::wait`] says when it was tried for too long.
    pub fn want(&self, orders: &[Order]) {
        self.office().want(orders);
    }

    /// Waits for a duel that is wanted. `tell` gets what is worth telling; `None` once `stop` says so.
    ///
    /// # Errors
    /// The duel was lost too often; the folder cannot be written; Slurm takes no jobs.
    pub fn wait(
        &self,
        duel: &str,
        stop: &dyn Fn() -> bool,
        tell: &mut dyn FnMut(&str),
    ) -> anyhow::Result<Option<DuelResult>> {
        let mut looked = Instant::now();
        loop {
            {
                let mut office = self.office();
                let passed = looked.elapsed();
                looked = Instant::now();
                if !office.is_duel_run() {
                    let passed = passed.as_micros() as u64;
                    self.idle.fetch_add(passed, Ordering::Relaxed);
                }
                for notice in std::mem::take(&mut office.notices) {
                    tell(&notice);
                }
                if let Some(result) = office.result(duel)? {
                    return Ok(Some(result));
                }
                if let Some(trouble) = office.trouble() {
                    return Err(trouble.into());
                }
            }
            if stop() {
                return Ok(None);
            }
            std::thread::sleep(Duration::from_millis(25));
        }
    }

    /// How long was waited for results while no worker ran a duel: there was none, or servers and data were copied to its node.
    pub fn idle(&self) -> Duration {
        Duration::from_micros(self.idle.load(Ordering::Relaxed))
    }

    /// Duels that can be run at the same time by the workers that are there; 0 where there is none yet.
    pub fn abreast(&self) -> usize {
        self.office().desk.abreast()
    }

    /// What nodes were held for so far; `counts` says which duels the study's verdicts rest on.
    pub fn cost(&self, counts: impl Fn(&str) -> bool) -> BTreeMap<String, NodeSeconds> {
        self.office().cost(counts)
    }

    /// Nodes that were set aside, each with its reason.
    pub fn set_aside(&self) -> Vec<NodeTrouble> {
        self.office().set_aside.clone()
    }

    /// From here on `node` gets no more duels; what it has run counts. Nothing happens where that is so already.
    pub fn set_aside_for(&self, node: &str, why: NodeReason) {
        let mut office = self.office();
        office.unfit.insert(node.to_owned(), why);
    }

    /// Workers that were on a machine on which another one worked.
    pub fn on_one_machine(&self) -> Vec<SharedMachine> {
        self.office().on_one_machine.values().cloned().collect()
    }

    /// Attempts that were lost after they had begun.
    pub fn losses(&self) -> Vec<NodeTrouble> {
        self.office().losses.clone()
    }

    /// Ends all workers and waits for them a little; jobs that do not end are cancelled.
    pub fn end(&mut self) {
        let Some(thread) = self.thread.take() else {
            return;
        };
        let is_succeeded = {
            let mut office = self.office();
            let is_succeeded = office.is_succeeded();
            if !is_succeeded {
                office.want(&[]);
                office.ending = true;
                // What cannot be written now is tried again in the next rounds.
                office.step();
            }
            is_succeeded
        };
        if is_succeeded {
            // Workers and jobs are the other head's.
            self.over.store(true, Ordering::Relaxed);
            let _ = thread.join();
            return;
        }
        let began = Instant::now();
        while began.elapsed() < STOP_TIMEOUT && self.office().is_somebody_there() {
            std::thread::sleep(LOOK);
        }
        self.over.store(true, Ordering::Relaxed);
        let _ = thread.join();
        let office = self.office();
        if let Some(queue) = &office.queue {
            let _ = queue.end(&office.jobs.keys().cloned().collect::<Vec<_>>());
        }
    }
}

impl Drop for Head {
    fn drop(&mut self) {
        self.end();
    }
}

fn lock(office: &Mutex<Coordinator>) -> MutexGuard<'_, Coordinator> {
    office.lock().unwrap_or_else(PoisonError::into_inner)
}
