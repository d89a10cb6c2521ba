//! Watches over the threads of a script on one loop: one that does not come back when time is over is interrupted.

use crate::error::LoadError;
use crate::protocol::answer::Answer;
use crate::script::program::{Counts, Interrupter, Program, Reply, Server, Want};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How often is looked.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// A thread that has not come back for this long is not just busy.
const STUCK: Duration = Duration::from_millis(500);
/// No deadline.
const NEVER: u64 = u64::MAX;
/// Nobody runs.
const NOBODY: usize = usize::MAX;

/// What the loop and its watch share.
#[derive(Debug)]
struct Shared {
    start: Instant,
    /// Who runs, by its place among the interrupters.
    current: AtomicUsize,
    /// Counts the times that somebody began to run.
    turn: AtomicU64,
    /// After this many milliseconds from `start` whoever is stuck is interrupted.
    deadline: AtomicU64,
    /// The loop is over.
    over: AtomicBool,
    cancel: Arc<AtomicBool>,
}

/// A watch over one loop.
pub(crate) struct Watch {
    shared: Arc<Shared>,
    interrupters: Arc<Mutex<Vec<Interrupter>>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Watch {
    pub(crate) fn new(cancel: &Arc<AtomicBool>) -> Result<Self, LoadError> {
        let shared = Arc::new(Shared {
            start: Instant::now(),
            current: AtomicUsize::new(NOBODY),
            turn: AtomicU64::new(0),
            deadline: AtomicU64::new(NEVER),
            over: AtomicBool::new(false),
            cancel: Arc::clone(cancel),
        });
        let interrupters = Arc::new(Mutex::new(Vec::<Interrupter>::new()));
        let (own, theirs) = (Arc::clone(&shared), Arc::clone(&interrupters));
        let thread = std::thread::Builder::new()
            .name("script-watch".into())
            .spawn(move || watch(&own, &theirs))
            .map_err(|error| LoadError::Client(format!("starting a thread: {error}")))?;
        Ok(Watch {
            shared,
            interrupters,
            thread: Some(thread),
        })
    }

    /// One more thread; returns its place.
    pub(crate) fn add(&self, interrupter: Interrupter) -> usize {
        let mut all = self
            .interrupters
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        all.push(interrupter);
        all.len() - 1
    }

    /// From this moment on, whoever does not come back is interrupted.
    pub(crate) fn give_up_at(&self, moment: Instant) {
        let after = moment.saturating_duration_since(self.shared.start);
        let after = u64::try_from(after.as_millis()).unwrap_or(NEVER);
        self.shared.deadline.store(after, Ordering::Relaxed);
    }

    /// No moment is the last one any more.
    pub(crate) fn give_up_never(&self) {
        self.shared.deadline.store(NEVER, Ordering::Relaxed);
    }

    /// The thread at `place` begins to run.
    #[inline]
    pub(crate) fn enter(&self, place: usize) {
        // Nobody else counts them: no need for an addition that others see at once.
        let turn = self.shared.turn.load(Ordering::Relaxed);
        self.shared.turn.store(turn + 1, Ordering::Relaxed);
        self.shared.current.store(place, Ordering::Release);
    }

    /// It has come back.
    #[inline]
    pub(crate) fn leave(&self) {
        self.shared.current.store(NOBODY, Ordering::Release);
    }
}

fn watch(shared: &Shared, interrupters: &Mutex<Vec<Interrupter>>) {
    let mut seen = (0, Instant::now());
    while !shared.over.load(Ordering::Relaxed) {
        std::thread::park_timeout(POLL_INTERVAL);
        let now = Instant::now();
        let turn = shared.turn.load(Ordering::Relaxed);
        let place = shared.current.load(Ordering::Acquire);
        if turn != seen.0 || place == NOBODY {
            seen = (turn, now);
            continue;
        }
        let passed = now.saturating_duration_since(shared.start).as_millis();
        let late = u128::from(shared.deadline.load(Ordering::Relaxed)) <= passed;
        if now.saturating_duration_since(seen.1) >= STUCK
            && (late || shared.cancel.load(Ordering::Relaxed))
        {
            let all = interrupters.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(interrupt) = all.get(place) {
                interrupt();
            }
        }
    }
}

/// A program that is watched over wherever it runs.
pub(crate) struct Watched<'a> {
    program: Box<dyn Program>,
    watch: &'a Watch,
    place: usize,
}

impl<'a> Watched<'a> {
    pub(crate) fn new(program: Box<dyn Program>, watch: &'a Watch) -> Self {
        Watched {
            place: watch.add(program.interrupter()),
            program,
            watch,
        }
    }
}

impl Program for Watched<'_> {
    fn resume(&mut self, reply: Reply, server: &mut dyn Server) -> Result<Want, String> {
        self.watch.enter(self.place);
        let want = self.program.resume(reply, server);
        self.watch.leave();
        want
    }

    fn command(&self) -> &[u8] {
        self.program.command()
    }

    fn answer(&mut self, link: usize) -> &mut Answer {
        self.program.answer(link)
    }

    fn take_counts(&mut self) -> Counts {
        self.program.take_counts()
    }

    fn take_closed(&mut self) -> Vec<usize> {
        self.program.take_closed()
    }

    fn interrupter(&self) -> Interrupter {
        self.program.interrupter()
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.shared.over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // It cannot panic.
            let _ = thread.join();
        }
    }
}
