//! The interpreter that does what is done once: `init` before the threads of a load are there, `done` after they have gone. It
//! stays on a thread of its own in between, so that `done` finds the variables that `init` has set.

use super::program::Reply;
use super::runtime::ScriptThreads;
use super::wires::{Wires, run_on};
use crate::engine::script_watch::{Watch, Watched};
use crate::error::LoadError;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::JoinHandle;

/// Keeps that interpreter. Dropping it has `done` called.
#[derive(Debug)]
pub(crate) struct Keeper {
    /// Dropped for `done`; something is sent for an end without it.
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<Result<(), LoadError>>>,
}

impl Keeper {
    /// Runs `init`.
    ///
    /// # Errors
    /// The script fails, or is cancelled.
    pub(crate) fn begin(
        threads: &Arc<dyn ScriptThreads>,
        wires: Wires,
        cancel: &Arc<AtomicBool>,
    ) -> Result<Keeper, LoadError> {
        let (end, ends) = mpsc::channel();
        let (say, begun) = mpsc::channel();
        let (threads, cancel) = (Arc::clone(threads), Arc::clone(cancel));
        let thread = std::thread::Builder::new()
            .name("script-once".into())
            .spawn(move || keep(&threads, wires, &cancel, &say, &ends))
            .map_err(|error| LoadError::Client(format!("starting a thread: {error}")))?;
        let keeper = Keeper {
            end: Some(end),
            thread: Some(thread),
        };
        match begun.recv() {
            Ok(result) => result.map(|()| keeper),
            Err(_) => Err(LoadError::Client("a thread of the script died".into())),
        }
    }

    /// Ends without `done`: the load has failed.
    pub(crate) fn abandon(mut self) {
        if let Some(end) = &self.end {
            // A thread that has died needs no telling.
            let _ = end.send(());
        }
        // It has nothing to do that could fail.
        let _ = self.finish();
    }

    /// Runs `done`.
    ///
    /// # Errors
    /// The script fails.
    pub(crate) fn finish(&mut self) -> Result<(), LoadError> {
        self.end = None;
        match self.thread.take().map(JoinHandle::join) {
            None => Ok(()),
            Some(result) => result
                .unwrap_or_else(|_| Err(LoadError::Client("a thread of the script died".into()))),
        }
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        // What fails is said in the script's log.
        let _ = self.finish();
    }
}

fn keep(
    threads: &Arc<dyn ScriptThreads>,
    mut wires: Wires,
    cancel: &Arc<AtomicBool>,
    say: &Sender<Result<(), LoadError>>,
    ends: &Receiver<()>,
) -> Result<(), LoadError> {
    wires.end_by(cancel);
    let watch = match Watch::new(cancel) {
        Ok(watch) => watch,
        Err(error) => {
            // Whoever waits for it is there.
            let _ = say.send(Err(error));
            return Ok(());
        }
    };
    let begun = threads.beginning().and_then(|program| {
        let mut program = Watched::new(program, &watch);
        run_on(&mut program, Reply::Go, &mut wires).map(|_| program)
    });
    let mut program = match begun {
        Ok(program) => program,
        Err(error) => {
            let _ = say.send(Err(error));
            return Ok(());
        }
    };
    let _ = say.send(Ok(()));
    if ends.recv().is_ok() {
        wires.quit();
        return Ok(());
    }
    // A load that was cancelled has an end too.
    wires.end_by(&Arc::default());
    let ended = run_on(&mut program, Reply::Goodbye, &mut wires).map(|_| ());
    wires.quit();
    ended
}
