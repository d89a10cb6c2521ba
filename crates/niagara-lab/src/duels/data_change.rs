//! A variant's statements, executed once on a copy of the dataset image: the result is an image as any other, known by the image
//! that it is of and by the statements.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use niagara_error::anyhow;
use niagara_load::{Admin, LoadError};
use niagara_origin::data::{ChangeStatement, tables_named};
use niagara_server::{
    Cache, Cancel, Config, Image, ImageContent, ImageStore, Install, RunningServer,
};
use sha2::{Digest, Sha256};

/// An index of a large table takes its time.
const LONGEST: Duration = Duration::from_secs(24 * 3600);
/// Between two words of a statement that is being executed.
const INTERVAL: Duration = Duration::from_millis(500);
/// Statements that take less are not told how far they are.
const SHORT: Duration = Duration::from_secs(2);

/// What the statements are executed on.
pub(crate) struct ChangedData<'a> {
    /// The server.
    pub install: &'a Install,
    /// How its data are laid out, and the plugins that their tables need.
    pub layout: &'a Config,
    /// Names the image that is changed.
    pub key: &'a str,
    /// Storage engine of tables that name none.
    pub engine: &'a str,
    /// The database that the statements are meant in.
    pub database: &'a str,
    /// The statements, in order.
    pub statements: &'a [ChangeStatement],
}

/// Makes the image that is changed, where it is not there.
pub(crate) type Parent<'p> = dyn FnMut(&mut dyn FnMut(&str)) -> Result<Image> + 'p;

/// The image with the statements executed, made where it is not there yet. It is made in a folder of its own: nothing half-changed
/// is ever an image.
///
/// # Errors
/// A statement that the server refuses, with its place; those of `parent`; the disk is full; stopped.
pub(crate) fn changed_image(
    cache: &Cache,
    data: &ChangedData<'_>,
    parent: &mut Parent<'_>,
    cancel: &Cancel,
    tell: &mut dyn FnMut(&str),
) -> Result<Image> {
    let key = changed_key(data.key, data.statements);
    ImageStore::new(cache).laid_out(data.layout).ensure_made(
        data.install,
        &key,
        data.engine,
        tell,
        &mut |making, tell| {
            let image = parent(tell)?;
            tell("copying the data for a change");
            image.clone_until(&making.datadir(), cancel)?;
            let mut unlogged = Config::from([("skip_log_bin".to_owned(), String::new())]);
            let plugins = data.layout.get_key_value("plugin_load_add");
            unlogged.extend(plugins.map(|(name, value)| (name.clone(), value.clone())));
            let server = making.launch(&unlogged)?;
            execute(&server, data.database, data.statements, cancel, tell)?;
            tell("private copy: purge, clean shutdown");
            server.stop()?;
            making.dig_holes()?;
            let record = image.record()?;
            Ok(ImageContent {
                databases: record.databases,
                without: record.without,
            })
        },
    )
}

/// Names an image with the statements executed.
fn changed_key(parent: &str, statements: &[ChangeStatement]) -> String {
    let mut digest = Sha256::new();
    for statement in statements {
        digest.update(statement.text.as_bytes());
        digest.update([0]);
    }
    format!("{parent} sql {}", hex::encode(&digest.finalize()[..8]))
}

fn execute(
    server: &RunningServer,
    database: &str,
    statements: &[ChangeStatement],
    cancel: &Cancel,
    tell: &mut dyn FnMut(&str),
) -> Result<()> {
    let mut admin = Admin::connect(&server.over_socket(""), LONGEST)?;
    admin.run(format!("USE {}", quoted(database)).as_bytes())?;
    let count = statements.len();
    for (place, statement) in statements.iter().enumerate() {
        cancel.check()?;
        let line = format!(
            "statement {} of {count}: {}",
            place + 1,
            statement.one_line()
        );
        tell(&line);
        admin = run_watched(admin, server, statement, cancel, &mut |elapsed, share| {
            tell(&progress(&line, elapsed, share));
        })?;
    }
    // Statements may have switched autocommit off.
    Ok(admin.run(b"COMMIT")?)
}

fn quoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

/// How far a statement is; `share` is what the server says, 0 to 1.
fn progress(line: &str, elapsed: Duration, share: Option<f64>) -> String {
    let seconds = elapsed.as_secs_f64();
    match share.filter(|share| *share > 0.05) {
        None => format!("{line} ({seconds:.0} s)"),
        Some(share) => format!(
            "{line} ({seconds:.0} s, {:.0} %, about {:.0} s left)",
            100.0 * share,
            seconds * (1.0 - share) / share
        ),
    }
}

/// Executes a statement on a thread of its own, so that it can be watched and stopped; gives the connection back.
fn run_watched(
    mut admin: Admin,
    server: &RunningServer,
    statement: &ChangeStatement,
    cancel: &Cancel,
    told: &mut dyn FnMut(Duration, Option<f64>),
) -> Result<Admin> {
    let begun = Instant::now();
    let thread_number = admin.value("SELECT CONNECTION_ID()")?.unwrap_or_default();
    let (done, over) = channel();
    thread::scope(|scope| {
        scope.spawn(move || {
            let answer = admin.run(statement.text.as_bytes());
            // Nobody listens where the watcher has failed.
            let _ = done.send((answer, admin));
        });
        let mut was_ended = false;
        loop {
            match over.recv_timeout(INTERVAL) {
                Ok((answer, mut admin)) => {
                    cancel.check()?;
                    answer.map_err(|error| explained(statement, &error))?;
                    warn_of_errors(&mut admin, statement)?;
                    return Ok(admin);
                }
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(anyhow!("the thread of a statement has panicked"));
                }
                Err(RecvTimeoutError::Timeout) if cancel.is_cancelled() => {
                    if !was_ended {
                        was_ended = true;
                        // One that has ended on its own needs no end.
                        let _ = server.query(&format!("KILL {thread_number}"));
                    }
                }
                Err(RecvTimeoutError::Timeout) if begun.elapsed() > SHORT => {
                    told(begun.elapsed(), share_done(server, &thread_number));
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    })
}

/// How much of a connection's statement is done, where the server says: MariaDB does, of tables that it copies.
fn share_done(server: &RunningServer, thread_number: &str) -> Option<f64> {
    let rows = server.query(&format!(
        "SELECT (stage - 1 + progress / 100) / max_stage FROM information_schema.processlist \
         WHERE id = {thread_number} AND max_stage > 0"
    ));
    rows.ok()?.first()?.first()?.parse().ok()
}

/// `ANALYZE TABLE` and its like answer with rows that say what failed.
fn warn_of_errors(admin: &mut Admin, statement: &ChangeStatement) -> Result<()> {
    let failed = admin.rows("SHOW WARNINGS")?.into_iter().find_map(|row| {
        match <[Option<String>; 3]>::try_from(row) {
            Ok([Some(level), code, Some(message)]) if level == "Error" => {
                Some(format!("{} ({message})", code.unwrap_or_default()))
            }
            _ => None,
        }
    });
    match failed {
        None => Ok(()),
        Some(failed) => Err(refused(statement, &failed)),
    }
}

fn explained(statement: &ChangeStatement, error: &LoadError) -> anyhow::Error {
    match error.server_code() {
        Some(_) => refused(statement, &error.to_string()),
        None => anyhow!("{}: the server was lost: {error}", statement.place),
    }
}

fn refused(statement: &ChangeStatement, error: &str) -> anyhow::Error {
    anyhow!(
        "{}: the server refuses {}\ncause: {error}",
        match statement.place.as_str() {
            "" => "a statement of the variant",
            place => place,
        },
        statement.one_line();
        remedy: "correct the statement; the data without it are as they were"
    )
}

/// Statements that read every index of the tables of `database` that `statements` name, for those that the workload does not know.
///
/// # Errors
/// The server does not answer.
pub(crate) fn read_changed(
    admin: &mut Admin,
    database: &str,
    statements: &[ChangeStatement],
) -> Result<Vec<String>> {
    let rows = admin
        .rows(&format!(
            "SELECT DISTINCT table_name, index_name FROM information_schema.statistics WHERE table_schema = {} \
             AND index_type = 'BTREE' ORDER BY 1, 2",
            niagara_load::sql_text(database)
        ))
        .context("cannot list the indexes")?;
    let indexes: Vec<(String, String)> = rows
        .into_iter()
        .filter_map(|row| match <[Option<String>; 2]>::try_from(row) {
            Ok([Some(table), Some(index)]) => Some((table, index)),
            _ => None,
        })
        .collect();
    let tables: Vec<String> = indexes.iter().map(|(table, _)| table.clone()).collect();
    let named = tables_named(statements.iter().map(|one| one.text.as_str()), &tables);
    let reads = indexes
        .iter()
        .filter(|(table, _)| named.contains(&table))
        .map(|(table, index)| {
            format!(
                "SELECT COUNT(*) FROM {}.{} FORCE INDEX ({})",
                quoted(database),
                quoted(table),
                quoted(index)
            )
        });
    Ok(reads.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn statement(text: &str, place: &str) -> ChangeStatement {
        ChangeStatement {
            text: text.to_owned(),
            place: place.to_owned(),
        }
    }

    #[test]
    fn a_key_is_of_content_and_order() {
        let key = |texts: &[&str], place: &str| {
            let all: Vec<ChangeStatement> =
                texts.iter().map(|text| statement(text, place)).collect();
            changed_key("data", &all)
        };
        assert_eq!(key(&["a", "b"], "x.sql:1"), key(&["a", "b"], "y.sql:7"));
        assert_ne!(key(&["a", "b"], ""), key(&["b", "a"], ""));
        assert_ne!(key(&["a", "b"], ""), key(&["ab"], ""));
    }

    #[test]
    fn progress_says_what_is_left() {
        let line = "statement 1 of 1: x";
        let told = |share| progress(line, Duration::from_secs(30), share);
        assert_eq!(told(None), "statement 1 of 1: x (30 s)");
        assert_eq!(
            told(Some(0.25)),
            "statement 1 of 1: x (30 s, 25 %, about 90 s left)"
        );
    }
}
