//! The watched seconds: counters at both ends, statements under way in between.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use niagara_load::Row;

use super::Source;
use super::host::{Process, pages_from_swap};
use super::reader::{Reader, Refusal, number, text};
use super::server::counters;
use crate::facts::{Activity, Counters, Sample, Window};
use crate::redo;

/// Pause between two looks.
const PAUSE: Duration = Duration::from_millis(250);
/// And on a server with many connections, whose list takes long.
const LONG_PAUSE: Duration = Duration::from_secs(2);
const MANY: f64 = 1000.0;
/// Counters that are read at each look.
const LOOK: &str = "SHOW GLOBAL STATUS WHERE Variable_name IN ('Threads_running', 'Threads_connected', 'Innodb_checkpoint_age', \
    'Innodb_checkpoint_max_age', 'Innodb_redo_log_current_lsn', 'Innodb_redo_log_checkpoint_lsn')";
/// Time of all statements that ended.
const SUM: &str = "SELECT SUM(SUM_TIMER_WAIT) / 1e12 FROM performance_schema.events_statements_summary_global_by_event_name \
    WHERE EVENT_NAME LIKE 'statement/%'";

/// The window, and what of it is the checkup's own.
pub(super) struct Observation {
    pub(super) window: Window,
    pub(super) statement_seconds: Option<f64>,
    pub(super) own_seconds: f64,
}

/// Watches until `end`, or `stop` is set.
pub(super) fn watch(
    reader: &mut Reader<'_>,
    source: &Source<'_>,
    host: Option<&Process>,
    (end, stop): (Instant, &AtomicBool),
) -> Result<Observation, Refusal> {
    // The last look may begin shortly before the end.
    reader.extend(end + LONG_PAUSE * 3);
    let before = End::read(reader, source)?;
    let (began, spent) = (Instant::now(), reader.spent());
    let usage = host.and_then(|process| process.meter.as_ref()?.sample().ok());
    let swap = pages_from_swap();
    // The checkup itself, and the scheduler of events, which MySQL and MariaDB count as running while it waits.
    let scheduler = source.variables.is_on("event_scheduler");
    let not_clients = if scheduler { 2.0 } else { 1.0 };
    let connection = reader.value("SELECT CONNECTION_ID()")?.unwrap_or_default();
    let mut samples = Vec::new();
    let mut redo_in_use: Option<f64> = None;
    loop {
        let look = if_answered(look(reader))?.unwrap_or_default();
        let many = look.or_zero("threads_connected") > MANY;
        let in_use = redo::in_use(source.variables, &look);
        redo_in_use = in_use.into_iter().chain(redo_in_use).max_by(f64::total_cmp);
        let doing = match source.privileges.may("PROCESS") {
            true => if_answered(doing(reader, &connection))?,
            false => None,
        };
        let running = match &doing {
            Some(doing) => Some(f64::from(doing.values().sum::<u32>())),
            None => look
                .get("threads_running")
                .map(|running| (running - not_clients).max(0.0)),
        };
        samples.extend(running.map(|running| Sample { running, doing }));
        let pause = if many { LONG_PAUSE } else { PAUSE };
        if Instant::now() + pause >= end {
            sleep(end.saturating_duration_since(Instant::now()));
            break;
        }
        sleep(pause);
        if stop.load(Ordering::Relaxed) {
            break;
        }
    }
    let used = host.and_then(|process| {
        let now = process.meter.as_ref()?.sample().ok()?;
        Some(now.since(usage.as_ref()?))
    });
    let (seconds, own_seconds) = (
        began.elapsed().as_secs_f64(),
        (reader.spent() - spent).as_secs_f64(),
    );
    let after = End::read(reader, source)?;
    Ok(Observation {
        window: Window {
            seconds,
            growth: after.global.since(
                &before.global,
                &own(&before.session, &after.session, &before.global),
            ),
            samples,
            statement_seconds: None,
            usage: used,
            pages_from_swap: pages_from_swap().zip(swap).map(|(now, then)| now - then),
            redo_in_use,
        },
        statement_seconds: after
            .seconds
            .zip(before.seconds)
            .map(|(now, then)| now - then),
        own_seconds,
    })
}

/// One end of the window.
struct End {
    global: Counters,
    session: Counters,
    seconds: Option<f64>,
}

impl End {
    fn read(reader: &mut Reader<'_>, source: &Source<'_>) -> Result<End, Refusal> {
        let seconds = match source.variables.is_on("performance_schema") {
            true => if_answered(reader.value(SUM))?.flatten(),
            false => None,
        };
        Ok(End {
            session: counters(reader, "SESSION")?,
            global: counters(reader, "GLOBAL")?,
            seconds: seconds.and_then(|sum| sum.parse().ok()),
        })
    }
}

/// An answer; none where the server refused it or took too long.
fn if_answered<T>(answer: Result<T, Refusal>) -> Result<Option<T>, Refusal> {
    match answer {
        Ok(answer) => Ok(Some(answer)),
        Err(refusal @ Refusal::Lost(_)) => Err(refusal),
        Err(_) => Ok(None),
    }
}

/// Growth of this session's own counters. Those that are global alone are the same in both answers, and nobody's own.
fn own(before: &Counters, after: &Counters, global: &Counters) -> BTreeMap<String, f64> {
    const OWN: [&str; 4] = [
        "questions",
        "created_tmp_tables",
        "created_tmp_disk_tables",
        "com_select",
    ];
    let grown = OWN.iter().filter_map(|&name| {
        let is_own = before.get(name)? < global.get(name)?;
        is_own.then_some((name.to_owned(), after.get(name)? - before.get(name)?))
    });
    grown.collect()
}

fn look(reader: &mut Reader<'_>) -> Result<Counters, Refusal> {
    let rows = reader.rows(LOOK)?;
    let counters = rows
        .iter()
        .map(|row| (text(row, 0).to_ascii_lowercase(), number(row, 1)));
    Ok(Counters(counters.collect()))
}

/// What connections do at this moment; the statement's text is cut by the server and looked at for COMMIT alone.
fn doing(reader: &mut Reader<'_>, own: &str) -> Result<BTreeMap<Activity, u32>, Refusal> {
    let rows = reader.rows("SHOW PROCESSLIST")?;
    let mut doing = BTreeMap::new();
    for row in rows.iter().filter(|row| text(row, 0) != own) {
        if let Some(activity) = activity(row) {
            *doing.entry(activity).or_insert(0) += 1;
        }
    }
    Ok(doing)
}

/// What a connection does: Id, User, Host, db, Command, Time, State, Info. None of one that is idle or the server's own.
fn activity(row: &Row) -> Option<Activity> {
    let (user, command) = (text(row, 1), text(row, 4));
    let state = text(row, 6).to_ascii_lowercase();
    let statement = text(row, 7).trim_start().to_ascii_uppercase();
    if user == "unauthenticated user" || (command == "Connect" && user != "system user") {
        return Some(Activity::Login);
    }
    if !matches!(
        command,
        "Query" | "Execute" | "Prepare" | "Fetch" | "Close stmt" | "Reset stmt"
    ) {
        return None;
    }
    let commits = [
        "commit",
        "handler commit",
        "query end",
        "semi-sync",
        "prior transaction",
    ];
    let is_commit =
        commits.iter().any(|word| state.contains(word)) || statement.starts_with("COMMIT");
    let waits_for_table = state.starts_with("waiting for") && state.contains("lock");
    Some(match (is_commit, waits_for_table) {
        (true, _) => Activity::Commit,
        (false, true) => Activity::TableLock,
        (false, false) => Activity::Query,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_are_told_apart_by_command_and_state() {
        let row = |user: &str, command: &str, state: &str, info: &str| -> Row {
            ["7", user, "h", "db", command, "0", state, info]
                .iter()
                .map(|cell| Some((*cell).to_owned()))
                .collect()
        };
        for (row, expected) in [
            (row("a", "Sleep", "", ""), None),
            (
                row("a", "Query", "Sending data", "SELECT 1"),
                Some(Activity::Query),
            ),
            (
                row("a", "Query", "Commit", "INSERT INTO t"),
                Some(Activity::Commit),
            ),
            (
                row("a", "Query", "waiting for handler commit", "COMMIT"),
                Some(Activity::Commit),
            ),
            (row("a", "Query", "", "commit"), Some(Activity::Commit)),
            (
                row("a", "Execute", "Waiting for table metadata lock", "ALTER"),
                Some(Activity::TableLock),
            ),
            (
                row("unauthenticated user", "Connect", "login", ""),
                Some(Activity::Login),
            ),
            (
                row("system user", "Connect", "Waiting for master", ""),
                None,
            ),
            (row("event_scheduler", "Daemon", "Waiting", ""), None),
            (row("r", "Binlog Dump", "Master has sent", ""), None),
        ] {
            assert_eq!(activity(&row), expected, "{row:?}");
        }
        assert_eq!(activity(&Vec::new()), None);
    }
}
