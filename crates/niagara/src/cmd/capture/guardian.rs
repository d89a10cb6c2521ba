//! The guardian of a capture: the process that undoes what was set. The command talks to it by pipes.

use std::io::{BufRead, BufReader, BufWriter, Write, stdin, stdout};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, ExitCode, ExitStatus, Stdio};

use anyhow::{Context, Result};
use niagara_capture::server::{Guard, Limits, Order, State, watch};
use niagara_error::Explanation;
use niagara_load::Endpoint;
use serde::{Deserialize, Serialize};

use super::connection::connect;
use super::stop_flag::stop_flag;

/// All that a guardian has to know. It holds the password, so it goes through a pipe.
#[derive(Serialize, Deserialize)]
pub struct Task {
    /// The way to the server.
    pub endpoint: Endpoint,
    /// What is changed.
    pub state: State,
    /// Where that is on disk.
    pub state_file: PathBuf,
    /// What it may take.
    pub limits: Limits,
}

/// `niagara capture guard`: what the guardian does.
pub fn run() -> Result<ExitCode> {
    // A session of its own: neither Ctrl-C nor the end of the terminal reaches it. It fails only for who has one already.
    let _ = nix::unistd::setsid();
    let mut input = BufReader::new(stdin());
    let mut line = String::new();
    input
        .read_line(&mut line)
        .context("no task for the guardian")?;
    let task: Task = serde_json::from_str(&line).context("the guardian's task cannot be read")?;
    let stop = stop_flag("")?;
    let endpoint = task.endpoint;
    let guard = Guard {
        state: task.state,
        state_file: task.state_file,
        limits: task.limits,
    };
    let out = BufWriter::new(stdout());
    match watch(guard, || connect(&endpoint), input, out, &stop) {
        Ok(_) => Ok(ExitCode::SUCCESS),
        Err(error) => {
            // The command reads it from the same pipe.
            say!("{}", serde_json::to_string(&error)?);
            Ok(ExitCode::FAILURE)
        }
    }
}

/// Why a guardian does not watch.
pub enum GuardianFailure {
    /// It says why; it has set everything back, or says what is left.
    Told(anyhow::Error),
    /// It has ended without a word: what it had set may stand.
    Ended {
        /// Its number.
        process: u32,
        /// How it ended.
        status: ExitStatus,
    },
}

impl From<anyhow::Error> for GuardianFailure {
    fn from(error: anyhow::Error) -> Self {
        Self::Told(error)
    }
}

/// A guardian that watches.
pub struct Guardian {
    child: Child,
    orders: Option<ChildStdin>,
}

impl Guardian {
    /// Starts one, which makes the changes.
    ///
    /// # Errors
    /// It cannot be started; the changes cannot be made; it was killed.
    pub fn start(task: &Task) -> Result<Guardian, GuardianFailure> {
        let program = std::env::current_exe().context("cannot find the program's own file")?;
        let mut child = Command::new(program)
            .args(["capture", "guard"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            // Not in the way of whoever wants to unmount the folder.
            .current_dir("/")
            .spawn()
            .context("cannot start the guardian")?;
        let mut orders = child.stdin.take().context("no pipe to the guardian")?;
        let answers = child.stdout.take().context("no pipe from the guardian")?;
        let mut task = serde_json::to_string(task).context("cannot write the guardian's task")?;
        task.push('\n');
        // Where it has ended already, its answer says why.
        let _ = orders.write_all(task.as_bytes());
        let mut answer = String::new();
        BufReader::new(answers)
            .read_line(&mut answer)
            .context("no answer from the guardian")?;
        if answer.trim_end() != "on" {
            let status = child.wait().context("the guardian is lost")?;
            return Err(match serde_json::from_str::<Explanation>(&answer) {
                Ok(told) => GuardianFailure::Told(told.into()),
                Err(_) => GuardianFailure::Ended {
                    process: child.id(),
                    status,
                },
            });
        }
        Ok(Guardian {
            child,
            orders: Some(orders),
        })
    }

    /// Whether it has ended.
    pub fn has_ended(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }

    /// Has it undo everything and waits for its end.
    pub fn stop(mut self) {
        if let Some(mut orders) = self.orders.take() {
            // One that has ended has undone everything, or cannot any more: who asks reads what is on disk.
            let _ = writeln!(orders, "{}", Order::Stop.line());
        }
        let _ = self.child.wait();
    }

    /// Lets it continue without this command.
    ///
    /// # Errors
    /// It has ended.
    pub fn detach(mut self) -> Result<()> {
        let mut orders = self.orders.take().context("no pipe to the guardian")?;
        writeln!(orders, "{}", Order::Detach.line()).context("the guardian has ended")
    }
}
