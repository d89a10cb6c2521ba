//! Tests that ask nothing of a server: what they have in common as programs of the load generator.

use std::sync::Arc;

use niagara_load::{
    Answer, Counts, Interrupter, LoadError, Program, Reply, ScriptInfo, ScriptThreads, Server, Want,
};

/// A thread of such a test.
pub trait Thread {
    /// Runs on until it wants something.
    ///
    /// # Errors
    /// The line that says what failed.
    fn resume(&mut self, reply: Reply) -> Result<Want, String>;
}

/// Who makes the threads of such a test.
pub trait Threads: Send + Sync {
    type Thread: Thread + 'static;

    /// The thread with this number.
    ///
    /// # Errors
    /// What it needs is not there.
    fn thread(&self, number: u32) -> Result<Self::Thread, LoadError>;
}

/// A test as the load generator runs it.
pub struct WithoutServer<T>(pub T);

impl<T: Threads> ScriptThreads for WithoutServer<T> {
    fn thread(&self, number: u32) -> Result<Box<dyn Program>, LoadError> {
        Ok(Box::new(Alone {
            thread: self.0.thread(number)?,
            nothing: Answer::of_script(),
        }))
    }

    fn command(&self, number: u32, _info: &ScriptInfo) -> Result<Box<dyn Program>, LoadError> {
        ScriptThreads::thread(self, number)
    }

    fn workers(&self, _info: &ScriptInfo) -> u32 {
        1
    }

    fn beginning(&self) -> Result<Box<dyn Program>, LoadError> {
        ScriptThreads::thread(self, 0)
    }
}

/// A thread, and the answer that never comes.
struct Alone<T> {
    thread: T,
    nothing: Answer,
}

impl<T: Thread> Program for Alone<T> {
    fn resume(&mut self, reply: Reply, _server: &mut dyn Server) -> Result<Want, String> {
        self.thread.resume(reply)
    }

    fn command(&self) -> &[u8] {
        &[]
    }

    fn answer(&mut self, _link: usize) -> &mut Answer {
        &mut self.nothing
    }

    fn take_counts(&mut self) -> Counts {
        Counts::default()
    }

    fn take_closed(&mut self) -> Vec<usize> {
        Vec::new()
    }

    fn interrupter(&self) -> Interrupter {
        // It cannot be interrupted within an event: where one does not come to its end, the run goes on without it.
        Arc::new(|| {})
    }
}
