//! A thread that talks to Slurm: it may take a minute to answer, and nothing else is to wait for it.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::Result;

use crate::slurm::{Slurm, SlurmOptions, Task};

/// How often the queue is asked for while all is as it should be.
const SLOW: Duration = Duration::from_secs(30);
/// The same while workers are to come or have just gone.
const FAST: Duration = Duration::from_secs(5);
/// The same soon after nodes were asked for: a free node begins within seconds, and is held from then on.
const AT_ONCE: Duration = Duration::from_secs(2);
/// How long after.
const SOON: Duration = Duration::from_secs(30);
/// How long Slurm may not answer before that is told.
const MUTE: Duration = Duration::from_secs(60);

/// What is asked of the thread, and what it found.
#[derive(Debug, Default)]
struct Talk {
    /// Ask for this many more nodes, without these.
    wanted: Option<(u32, Vec<String>)>,
    /// End these tasks.
    cancelled: Vec<String>,
    /// Those that were to be ended, whatever came of it.
    ended: BTreeSet<String>,
    /// Arrays that were submitted and are not fetched yet: number and tasks.
    submitted: Vec<(String, u32)>,
    /// What Slurm said last, and when.
    tasks: Option<(Instant, Vec<Task>)>,
    /// Since when it does not say how its queue is, and why not.
    mute: Option<(Instant, String)>,
    /// What it refused last.
    refused: Option<String>,
    /// Nodes are being asked for: Slurm may have taken a job of which only its answer says the number.
    asking: bool,
    hurry: bool,
    over: bool,
}

/// Slurm behind a thread.
#[derive(Debug)]
pub struct Queue {
    talk: Arc<Mutex<Talk>>,
    slurm: Arc<Slurm>,
    thread: Mutex<Option<JoinHandle<()>>>,
    /// Nodes to be held at the same time.
    pub nodes: u32,
}

impl Queue {
    /// Begins to ask.
    ///
    /// # Errors
    /// There is no Slurm here.
    pub fn begin(options: SlurmOptions, name: &str, folder: &Path) -> Result<Self> {
        let nodes = options.nodes;
        let slurm = Arc::new(Slurm::new(options, name, folder)?);
        let talk = Arc::new(Mutex::new(Talk {
            hurry: true,
            ..Talk::default()
        }));
        let (its_slurm, its_talk) = (Arc::clone(&slurm), Arc::clone(&talk));
        let thread = std::thread::spawn(move || ask(&its_slurm, &its_talk));
        Ok(Self {
            talk,
            slurm,
            thread: Mutex::new(Some(thread)),
            nodes,
        })
    }

    fn talk(&self) -> MutexGuard<'_, Talk> {
        lock(&self.talk)
    }

    /// Asks for more nodes, unless that is under way.
    pub fn submit(&self, tasks: u32, without: Vec<String>) {
        let mut talk = self.talk();
        if talk.wanted.is_none() {
            talk.wanted = Some((tasks, without));
        }
    }

    /// Ends a task, once.
    pub fn cancel(&self, task: &str) {
        let mut talk = self.talk();
        if talk.ended.insert(task.to_owned()) {
            talk.cancelled.push(task.to_owned());
        }
    }

    /// Whether nodes were asked for and Slurm has not answered.
    pub fn is_submitting(&self) -> bool {
        self.talk().wanted.is_some()
    }

    /// An array that was submitted.
    pub fn submitted(&self) -> Option<(String, u32)> {
        self.talk().submitted.pop()
    }

    /// What Slurm refused last, once.
    pub fn refused(&self) -> Option<String> {
        self.talk().refused.take()
    }

    /// What Slurm said last, and when.
    pub fn tasks(&self) -> Option<(Instant, Vec<Task>)> {
        self.talk().tasks.clone()
    }

    /// Why Slurm has not said how its queue is, for longer than passes by itself.
    pub fn mute(&self) -> Option<String> {
        let talk = self.talk();
        let (since, why) = talk.mute.as_ref()?;
        (since.elapsed() > MUTE).then(|| why.clone())
    }

    /// Whether to ask more often.
    pub fn hurry(&self, hurry: bool) {
        self.talk().hurry = hurry;
    }

    /// Ends these jobs and those that were not fetched yet, and asks no more. What Slurm is being asked for is waited for: a job that
    /// it takes now would wait in its queue for a study that has ended.
    ///
    /// # Errors
    /// Slurm does not answer.
    pub fn end(&self, jobs: &[String]) -> Result<()> {
        let asking = {
            let mut talk = self.talk();
            talk.over = true;
            talk.asking
        };
        let mut thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        if let (true, Some(thread)) = (asking, thread.take()) {
            let _ = thread.join();
        }
        drop(thread);
        let mut jobs = jobs.to_vec();
        let submitted = std::mem::take(&mut self.talk().submitted);
        jobs.extend(submitted.into_iter().map(|(job, _)| job));
        self.slurm.cancel(&jobs)
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        self.talk().over = true;
    }
}

fn lock(talk: &Mutex<Talk>) -> MutexGuard<'_, Talk> {
    talk.lock().unwrap_or_else(PoisonError::into_inner)
}

fn ask(slurm: &Slurm, talk: &Mutex<Talk>) {
    let mut asked: Option<Instant> = None;
    let mut submitted: Option<Instant> = None;
    loop {
        let (wanted, cancelled, due) = {
            let mut talk = lock(talk);
            if talk.over {
                return;
            }
            let every = match (talk.hurry, submitted) {
                (true, Some(at)) if at.elapsed() < SOON => AT_ONCE,
                (true, _) => FAST,
                (false, _) => SLOW,
            };
            let due = asked.is_none_or(|asked| asked.elapsed() >= every);
            talk.asking = talk.wanted.is_some();
            (
                talk.wanted.clone(),
                std::mem::take(&mut talk.cancelled),
                due,
            )
        };
        // One that is not ended by it is not counted all the same.
        let _ = slurm.cancel(&cancelled);
        if let Some((tasks, without)) = wanted {
            let without: Vec<&str> = without.iter().map(String::as_str).collect();
            let answer = slurm.submit(tasks, &without);
            submitted = Some(Instant::now());
            let mut talk = lock(talk);
            match answer {
                Ok(job) => talk.submitted.push((job, tasks)),
                Err(error) => talk.refused = Some(format!("{error:#}")),
            }
            talk.wanted = None;
            talk.asking = false;
            // What was asked for before knows nothing of it.
            talk.tasks = None;
            asked = None;
        } else if due {
            let answer = slurm.queue();
            asked = Some(Instant::now());
            let mut talk = lock(talk);
            match answer {
                Ok(tasks) => {
                    talk.tasks = Some((Instant::now(), tasks));
                    talk.mute = None;
                }
                Err(error) => {
                    let since = talk
                        .mute
                        .as_ref()
                        .map_or_else(Instant::now, |(since, _)| *since);
                    talk.mute = Some((since, format!("{error:#}")));
                }
            }
        }
        std::thread::sleep(Duration::from_millis(200));
    }
}
