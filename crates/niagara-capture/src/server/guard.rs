//! The guardian: a process of its own session that makes the changes, watches over them and undoes them, whatever
//! becomes of the command that started it.

use std::fs;
use std::io::{self, BufRead, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use niagara_error::Explanation;
use serde::{Deserialize, Serialize};

use super::advise::free_bytes;
use super::apply::{Outcome, apply, check_way_back, restore};
use super::connection::Connection;
use super::end::End;
use super::left_connections::number_of;
use super::state::{Process, State, Status};
use super::wanted::Change;
use crate::file::{ASK_COUNTS, ServerCounts};

/// How often the log's length and the disk are checked.
const STEP: Duration = Duration::from_millis(100);

/// How often undoing is tried again at the least: a server in trouble is not asked every moment.
const LONGEST_STEP: Duration = Duration::from_secs(5);

/// How long undoing is tried again while the server cannot be reached.
const RESTORE_FOR: Duration = Duration::from_secs(600);

/// How long that of a capture that could not begin is tried: somebody waits for it.
const UNDO_FOR: Duration = Duration::from_secs(30);

/// In which a server carries out a statement whose connection is gone.
pub const CARRIED_OUT: Duration = Duration::from_secs(2);

/// What a capture may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Longest log, in bytes.
    pub log_bytes: u64,
    /// Least free space on its disk, in bytes.
    pub free_bytes: u64,
    /// Longest time, in seconds.
    pub seconds: u64,
}

/// What the command says to the guardian, a line each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// End it.
    Stop,
    /// Continue without the command.
    Detach,
}

impl Order {
    /// The line that says it.
    pub fn line(self) -> &'static str {
        match self {
            Order::Stop => "stop",
            Order::Detach => "detach",
        }
    }
}

/// What a guardian watches over.
#[derive(Debug, Clone)]
pub struct Guard {
    /// What is changed, and the rest of what is on disk.
    pub state: State,
    /// Where that is.
    pub state_file: PathBuf,
    /// What it may take.
    pub limits: Limits,
}

/// How it went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Watched {
    /// Why it ended.
    pub end: End,
    /// What became of every variable.
    pub outcomes: Vec<(String, Outcome)>,
}

/// Makes the changes, says `on` on `out`, watches, undoes them. `connect` makes a connection; `stop` is set by signals. Orders
/// come as lines on `orders`, whose end is that of the command.
///
/// # Errors
/// The changes could not be made; then none is, or the error names those that are left.
pub fn watch(
    mut guard: Guard,
    mut connect: impl FnMut() -> Result<Box<dyn Connection>, String>,
    orders: impl BufRead + Send + 'static,
    mut out: impl Write,
    stop: &AtomicBool,
) -> Result<Watched, Explanation> {
    let mut connection = connect()?;
    guard.state.guardian = Some(Process::this());
    guard.state.status = Status::Running;
    let path = guard.state_file.clone();
    // Before anything is changed: whoever finds the file can undo it.
    let unwritten = |error: io::Error| match error.kind() {
        io::ErrorKind::AlreadyExists => {
            "another capture was begun on this server meanwhile: `niagara capture stop` ends it"
                .to_owned()
        }
        _ => format!("cannot write {}: {error}", path.display()),
    };
    guard.state.first_connection = number_of(connection.as_mut());
    guard.state.begin(&path).map_err(unwritten)?;
    // Not before: it would take another capture's log away.
    if let Err(error) = check_way_back(connection.as_mut(), &guard.state.changes) {
        let _ = fs::remove_file(&path);
        return Err(error);
    }
    if let Err(error) = apply(connection.as_mut(), &guard.state.changes) {
        // A connection whose answer did not come in time is one answer behind: another one looks at all of them.
        drop(connection);
        return Err(undone(error, &mut connect, &guard));
    }
    guard.state.counted_before = counts(connection.as_mut());
    let heard = listen(orders);
    let began = Instant::now();
    // A command that has gone already is noticed below.
    let _ = writeln!(out, "on").and_then(|()| out.flush());
    let end = wait(&guard, &heard, began, stop);
    let outcomes = restore_surely(Some(connection), &mut connect, &guard.state, RESTORE_FOR);
    // The settings come first, and nothing depends on this.
    let mut fresh = connect().ok();
    let counted = fresh.as_mut().and_then(|fresh| counts(fresh.as_mut()));
    guard.state.last_connection = fresh.and_then(|mut fresh| number_of(fresh.as_mut()));
    guard.state.counted = counted
        .zip(guard.state.counted_before)
        .and_then(|(now, before)| now.since(&before));
    guard.state.status = Status::Ended {
        end,
        outcomes: outcomes.clone(),
    };
    guard
        .state
        .write(&path)
        .map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    Ok(Watched { end, outcomes })
}

/// What the server has counted; none where it does not say.
fn counts(connection: &mut dyn Connection) -> Option<ServerCounts> {
    let rows = connection.rows(ASK_COUNTS).ok()?;
    ServerCounts::of(|wanted| {
        let mut rows = rows.iter();
        rows.find_map(|row| match &row[..] {
            [Some(name), Some(value)] if name == wanted => value.parse().ok(),
            _ => None,
        })
    })
}

/// What is heard from the command.
enum Heard {
    Order(Order),
    Gone,
}

fn listen(orders: impl BufRead + Send + 'static) -> Receiver<Heard> {
    let (tell, heard) = channel();
    std::thread::spawn(move || {
        for line in orders.lines() {
            let order = match line.as_deref() {
                Ok("stop") => Order::Stop,
                Ok("detach") => Order::Detach,
                Ok(_) => continue,
                Err(_) => break,
            };
            if tell.send(Heard::Order(order)).is_err() {
                return;
            }
        }
        let _ = tell.send(Heard::Gone);
    });
    heard
}

/// Waits for a reason to end.
fn wait(guard: &Guard, heard: &Receiver<Heard>, began: Instant, stop: &AtomicBool) -> End {
    let mut alone = false;
    let mut seen = false;
    loop {
        match heard.recv_timeout(STEP) {
            Ok(Heard::Order(Order::Stop)) => return End::Asked,
            Ok(Heard::Order(Order::Detach)) => alone = true,
            Ok(Heard::Gone) | Err(RecvTimeoutError::Disconnected) if !alone => {
                return End::ParentGone;
            }
            // Nothing more is heard once the command has gone: this is the pause then.
            Err(RecvTimeoutError::Disconnected) => std::thread::sleep(STEP),
            Ok(Heard::Gone) | Err(RecvTimeoutError::Timeout) => {}
        }
        if stop.load(Ordering::Relaxed) {
            return End::Asked;
        }
        if began.elapsed() >= Duration::from_secs(guard.limits.seconds) {
            return End::Time;
        }
        match fs::metadata(&guard.state.log) {
            Ok(metadata) if metadata.len() >= guard.limits.log_bytes => return End::Size,
            Ok(_) => seen = true,
            Err(_) if seen => return End::LogGone,
            Err(_) => {}
        }
        let folder = guard.state.log.parent().unwrap_or(Path::new("/"));
        if free_bytes(folder).is_some_and(|free| free < guard.limits.free_bytes) {
            return End::Disk;
        }
    }
}

/// Undoes what was made of the changes until `error`, and what the server may still make of the one that failed. What is on disk goes
/// once nothing is left of them.
fn undone(
    error: Explanation,
    connect: &mut impl FnMut() -> Result<Box<dyn Connection>, String>,
    guard: &Guard,
) -> Explanation {
    restore_surely(None, connect, &guard.state, UNDO_FOR);
    std::thread::sleep(CARRIED_OUT);
    let outcomes = restore_surely(None, connect, &guard.state, UNDO_FOR);
    let left: Vec<&str> = outcomes
        .iter()
        .filter(|(_, outcome)| !outcome.is_settled())
        .map(|(name, _)| name.as_str())
        .collect();
    if left.is_empty() {
        let _ = fs::remove_file(&guard.state_file);
        return error;
    }
    error.with_cause(|cause| {
        format!(
            "{cause}; and these could not be set back: {}: `niagara capture stop` does it once the server answers",
            left.join(", ")
        )
    })
}

/// Undoes the changes, on a new connection where the old one is lost, for as long as is given or until nothing more can come of it.
fn restore_surely(
    mut connection: Option<Box<dyn Connection>>,
    connect: &mut impl FnMut() -> Result<Box<dyn Connection>, String>,
    state: &State,
    for_as_long: Duration,
) -> Vec<(String, Outcome)> {
    let began = Instant::now();
    let unreached = |change: &Change| {
        let why = "the server could not be reached".to_owned();
        (change.name.clone(), Outcome::Failed(why))
    };
    let mut outcomes: Vec<(String, Outcome)> = state.changes.iter().map(unreached).collect();
    let mut step = STEP;
    loop {
        // A server that was restarted has the settings of its files.
        if let Some(mut reached) = connection.take().or_else(|| connect().ok()) {
            outcomes = restore(reached.as_mut(), &state.changes);
        }
        let is_over = outcomes.iter().all(|(_, outcome)| outcome.is_final());
        if is_over || began.elapsed() >= for_as_long {
            return outcomes;
        }
        std::thread::sleep(step);
        step = (step * 2).min(LONGEST_STEP);
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::collections::BTreeMap;
    use std::rc::Rc;

    use super::super::connection::{Refusal, Row};
    use super::super::wanted::{LOG_FILE, Purpose};
    use super::*;

    type Variables = Rc<RefCell<BTreeMap<String, String>>>;

    /// A connection to two variables. One that is `late` gets no answer to its second change, which is carried out, nor to anything after.
    struct Variable {
        variables: Variables,
        late: bool,
        changes: u32,
    }

    /// What a server does not take once it runs.
    const NO_FILE: &str = "/dev/null";

    fn refusal(code: Option<u16>, message: &str) -> Refusal {
        Refusal {
            code,
            message: message.to_owned(),
        }
    }

    impl Connection for Variable {
        fn rows(&mut self, sql: &str) -> Result<Vec<Row>, Refusal> {
            if sql.starts_with("SET") && sql.contains(NO_FILE) {
                return Err(refusal(Some(1231), "cannot be set to the value"));
            }
            if let Some(name) = sql.strip_prefix("SELECT @@GLOBAL.") {
                let value = self.variables.borrow().get(name).cloned();
                return match self.late && self.changes > 1 {
                    true => Err(refusal(None, "no answer")),
                    false => Ok(vec![vec![value]]),
                };
            }
            if let Some(set) = sql.strip_prefix("SET GLOBAL ") {
                self.changes += 1;
                let (name, value) = set.split_once('=').expect("an assignment");
                let value = value.trim().trim_matches('\'').to_owned();
                self.variables
                    .borrow_mut()
                    .insert(name.trim().to_owned(), value);
            }
            match self.late && self.changes > 1 {
                true => Err(refusal(None, "no answer")),
                false => Ok(Vec::new()),
            }
        }
    }

    fn state(folder: &Path, changes: Vec<Change>) -> State {
        State {
            server: "a server".into(),
            user: "root".into(),
            log: folder.join("log"),
            changes,
            guardian: None,
            began: 0,
            counted_before: None,
            counted: None,
            outlasting: None,
            first_connection: None,
            last_connection: None,
            general_log: None,
            sql_mode: String::new(),
            clients: Vec::new(),
            status: Status::Running,
        }
    }

    #[test]
    fn what_could_not_begin_leaves_the_server_as_it_was_also_where_an_answer_did_not_come() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let before = [("a", "1"), ("b", "2")].map(|(name, value)| (name.into(), value.into()));
        let variables: Variables = Rc::new(RefCell::new(BTreeMap::from(before)));
        let state_file = folder.path().join("state.json");
        let change = |name: &str, from: &str| Change {
            name: name.into(),
            from: from.into(),
            to: "0".into(),
            purpose: Purpose::EveryStatement,
        };
        let guard = Guard {
            state: state(folder.path(), vec![change("a", "1"), change("b", "2")]),
            state_file: state_file.clone(),
            limits: Limits {
                log_bytes: 1,
                free_bytes: 0,
                seconds: 1,
            },
        };
        let mut connections = 0;
        let connect = || -> Result<Box<dyn Connection>, String> {
            connections += 1;
            Ok(Box::new(Variable {
                variables: Rc::clone(&variables),
                late: connections == 1,
                changes: 0,
            }))
        };
        let stop = AtomicBool::new(false);
        let error = watch(guard, connect, io::empty(), io::sink(), &stop);
        let error = error.expect_err("no answer");
        assert!(error.cause.contains("b cannot be set"), "{error}");
        let values: Vec<String> = variables.borrow().values().cloned().collect();
        assert_eq!(values, ["1", "2"]);
        assert!(!state_file.exists());
    }

    fn file_change() -> Change {
        Change {
            name: LOG_FILE.into(),
            from: NO_FILE.into(),
            to: "/capture.log".into(),
            purpose: Purpose::OwnFile,
        }
    }

    #[test]
    fn a_file_that_cannot_be_set_back_is_told_before_anything_is_set() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let before = [("long_query_time", "7"), (LOG_FILE, NO_FILE)];
        let before: BTreeMap<String, String> =
            BTreeMap::from(before.map(|(name, value)| (name.into(), value.into())));
        let variables: Variables = Rc::new(RefCell::new(before.clone()));
        let time = Change {
            name: "long_query_time".into(),
            from: "7".into(),
            to: "0".into(),
            purpose: Purpose::EveryStatement,
        };
        let guard = Guard {
            state: state(folder.path(), vec![time, file_change()]),
            state_file: folder.path().join("state.json"),
            limits: Limits {
                log_bytes: 1,
                free_bytes: 0,
                seconds: 1,
            },
        };
        let connect = || -> Result<Box<dyn Connection>, String> {
            Ok(Box::new(Variable {
                variables: Rc::clone(&variables),
                late: false,
                changes: 0,
            }))
        };
        let state_file = guard.state_file.clone();
        let stop = AtomicBool::new(false);
        let error = watch(guard, connect, io::empty(), io::sink(), &stop).expect_err("refused");
        let told = error.to_string();
        for words in [LOG_FILE, NO_FILE, "nothing was changed", "remedy:"] {
            assert!(told.contains(words), "no {words} in {told}");
        }
        assert_eq!(*variables.borrow(), before);
        assert!(!state_file.exists());
    }

    #[test]
    fn what_the_server_refuses_is_asked_of_it_once() {
        let now = BTreeMap::from([(LOG_FILE.to_owned(), "/capture.log".to_owned())]);
        let connection = Variable {
            variables: Rc::new(RefCell::new(now)),
            late: false,
            changes: 0,
        };
        let state = state(Path::new("/"), vec![file_change()]);
        let mut connect = || -> Result<Box<dyn Connection>, String> {
            panic!("it is asked a second time");
        };
        let outcomes = restore_surely(
            Some(Box::new(connection)),
            &mut connect,
            &state,
            RESTORE_FOR,
        );
        let refused = Outcome::Refused("cannot be set to the value".to_owned());
        assert_eq!(outcomes, [(LOG_FILE.to_owned(), refused)]);
    }

    #[test]
    fn a_capture_that_another_one_has_begun_before_changes_nothing() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("state.json");
        let state = state(folder.path(), Vec::new());
        state.begin(&path).expect("nothing is there");
        let error = state.begin(&path).expect_err("one is there");
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
        let names: Vec<_> = fs::read_dir(folder.path()).expect("a folder").collect();
        assert_eq!(names.len(), 1, "{names:?}");
    }
}
