//! What a capture would set, cost and miss, said before anything is changed.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Serialize;

use super::codes::{Agreement, InWords, Miss, Note};
use super::connection::Connection;
use super::outlast::{Outlasting, goes_to};
use super::product::Product;
use super::wanted::{Change, wanted};

/// What to do by hand, or what `start` would do.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Advice {
    /// The server's version.
    pub version: String,
    /// What to set, in this order.
    pub set: Vec<String>,
    /// What undoes it, in this order.
    pub undo: Vec<String>,
    /// The changes, with reasons.
    pub changes: Vec<Change>,
    /// What a capture misses all the same.
    pub misses: Vec<InWords<Miss>>,
    /// What else should be known.
    pub notes: Vec<InWords<Note>>,
    /// What `start` does to the user's own logs, which somebody has to agree to.
    pub needs_yes: Vec<InWords<Agreement>>,
    /// What of the server's `sql_mode` an import of the log has to be told; empty for nothing.
    pub sql_mode: String,
    /// The privileges of the account do not suffice.
    pub may_not_set: bool,
}

/// What to set on a server so that `file` has every statement. Changes nothing.
///
/// # Errors
/// What the server says.
pub fn advise(connection: &mut dyn Connection, file: &str) -> Result<Advice, String> {
    let product = Product::ask(connection)?;
    let wanted = wanted(&product, file);
    let mut notes = Vec::new();
    notes.push(sessions(connection)?);
    notes.push(rate(connection)?);
    notes.extend(disk(file));
    notes.extend(standing(&product));
    let may_not_set = !may_set(connection)?;
    let kept = Outlasting::of(&product, &wanted.changes);
    let kept = kept.and_then(|kept| kept.to_agree());
    let moved = general_log_elsewhere(&product, &wanted.changes);
    let moved = moved.map(|file| Agreement::GeneralLogToFile {
        log_output: product.variable("log_output").unwrap_or("?").to_owned(),
        file,
    });
    let needs_yes = kept.into_iter().chain(moved).chain(slow_table(&product));
    Ok(Advice {
        version: product.version.clone(),
        set: wanted.changes.iter().map(Change::set).collect(),
        undo: wanted.changes.iter().rev().map(Change::unset).collect(),
        changes: wanted.changes,
        misses: wanted.misses.into_iter().map(InWords::from).collect(),
        notes: notes.into_iter().map(InWords::from).collect(),
        needs_yes: needs_yes.map(InWords::from).collect(),
        sql_mode: mode_to_tell(&product),
        may_not_set,
    })
}

fn status(connection: &mut dyn Connection, name: &str) -> Result<Option<f64>, String> {
    let rows = connection.rows(&format!("SHOW GLOBAL STATUS LIKE '{name}'"))?;
    Ok(rows
        .into_iter()
        .next()
        .and_then(|row| row.into_iter().nth(1).flatten())
        .and_then(|value| value.parse().ok()))
}

fn sessions(connection: &mut dyn Connection) -> Result<Note, String> {
    let connected = status(connection, "Threads_connected")?.unwrap_or(0.0);
    Ok(Note::Sessions {
        connected: connected as u64,
    })
}

/// What a second of the log would be, by what the server has answered since its start.
fn rate(connection: &mut dyn Connection) -> Result<Note, String> {
    let questions = status(connection, "Questions")?.unwrap_or(0.0);
    let uptime = status(connection, "Uptime")?.unwrap_or(1.0).max(1.0);
    Ok(Note::Rate {
        statements: questions / uptime,
    })
}

/// The space that is free where the log goes, if the folder can be seen from here.
fn disk(file: &str) -> Option<Note> {
    let folder = Path::new(file).parent()?;
    Some(Note::FreeSpace {
        bytes: free_bytes(folder)?,
        folder: folder.to_path_buf(),
    })
}

/// Bytes that are free in a folder, if it can be seen.
pub(super) fn free_bytes(folder: &Path) -> Option<u64> {
    let stat = nix::sys::statvfs::statvfs(folder).ok()?;
    Some(stat.blocks_available() * stat.fragment_size())
}

fn standing(product: &Product) -> Vec<Note> {
    let mut notes = Vec::new();
    if let Some(goes_to) = goes_to(product) {
        notes.push(Note::SlowLogOn { goes_to });
    }
    if product.variable("general_log") == Some("ON") {
        notes.push(Note::GeneralLogOn);
    }
    notes
}

/// What a capture keeps from the slow log's table; nothing where no entry goes there.
fn slow_table(product: &Product) -> Option<Agreement> {
    let is_filled = product.variable("slow_query_log") == Some("ON")
        && product.logs_to("TABLE")
        && !product.logs_to("NONE");
    is_filled.then(|| Agreement::SlowTablePauses {
        log_output: product.variable("log_output").unwrap_or("?").to_owned(),
    })
}

/// The file that the general log goes to alone for the time of the capture, where it goes to a table otherwise.
pub fn general_log_elsewhere(product: &Product, changes: &[Change]) -> Option<PathBuf> {
    if product.variable("general_log") != Some("ON") {
        return None;
    }
    changes.iter().find(|change| change.name == "log_output")?;
    let file = product.variable("general_log_file").unwrap_or("its file");
    let folder = product.variable("datadir").unwrap_or_default();
    Some(Path::new(folder).join(file))
}

/// The modes that move the ends of literals, as `--sql-mode` wants them.
fn mode_to_tell(product: &Product) -> String {
    let modes = product.variable("sql_mode").unwrap_or_default().split(',');
    let told: Vec<&str> = modes
        .filter(|mode| ["ANSI_QUOTES", "NO_BACKSLASH_ESCAPES"].contains(mode))
        .collect();
    told.join(",")
}

/// Whether the account may set global variables, for all that its grants say.
fn may_set(connection: &mut dyn Connection) -> Result<bool, String> {
    let grants = connection.rows("SHOW GRANTS")?;
    // Roles and future names of privileges may allow it too: only a list without any of these is a no.
    Ok(grants.into_iter().flatten().flatten().any(|grant| {
        [
            "ALL PRIVILEGES ON *.*",
            "SUPER",
            "SYSTEM_VARIABLES_ADMIN",
            "SLOW",
            "LOG ADMIN",
            "TO `role",
        ]
        .iter()
        .any(|word| grant.contains(word))
    }))
}

#[cfg(test)]
mod tests {
    use super::super::product::Family;
    use super::*;

    fn product(variables: &[(&str, &str)]) -> Product {
        Product::of(Family::Mariadb, variables)
    }

    #[test]
    fn a_general_log_in_a_table_goes_to_a_file_meanwhile() {
        let server = |general: &str, output: &str| {
            let server = product(&[
                ("general_log", general),
                ("general_log_file", "db1.log"),
                ("datadir", "/data/"),
                ("log_output", output),
            ]);
            let changes = wanted(&server, "/capture.log").changes;
            general_log_elsewhere(&server, &changes)
        };
        assert_eq!(server("ON", "TABLE"), Some(PathBuf::from("/data/db1.log")));
        assert_eq!(server("OFF", "TABLE"), None);
        assert_eq!(server("ON", "FILE"), None);
        assert_eq!(
            server("ON", "FILE,TABLE"),
            Some(PathBuf::from("/data/db1.log"))
        );
    }

    #[test]
    fn slow_log_in_a_table_pauses_after_agreement() {
        let pauses = |slow: &str, output: &str| {
            let server = product(&[("slow_query_log", slow), ("log_output", output)]);
            slow_table(&server).map(|agreement| agreement.to_string())
        };
        for output in ["TABLE", "FILE,TABLE"] {
            let told = pauses("ON", output).expect("it is filled");
            assert!(
                told.contains(output) && told.contains("mysql.slow_log"),
                "{told}"
            );
            assert_eq!(pauses("OFF", output), None);
        }
        for output in ["FILE", "NONE", "TABLE,NONE"] {
            assert_eq!(pauses("ON", output), None, "{output}");
        }
    }

    #[test]
    fn notes_have_codes_and_words() {
        let note = InWords::from(Note::Rate { statements: 10.0 });
        let json = serde_json::to_value(&note).unwrap();
        assert_eq!(json["code"], "rate");
        assert_eq!(json["statements"], 10.0);
        let text = json["text"].as_str().unwrap();
        assert!(text.contains("some 3 kB a second"), "{text}");
        let notes = standing(&product(&[
            ("slow_query_log", "ON"),
            ("general_log", "ON"),
            ("log_output", "TABLE"),
        ]));
        let goes_to = "the table mysql.slow_log".to_owned();
        assert_eq!(notes, [Note::SlowLogOn { goes_to }, Note::GeneralLogOn]);
    }

    #[test]
    fn an_import_is_told_the_modes_that_matter() {
        let told = |mode: &str| mode_to_tell(&product(&[("sql_mode", mode)]));
        assert_eq!(told("STRICT_TRANS_TABLES,ANSI_QUOTES"), "ANSI_QUOTES");
        assert_eq!(
            told("PIPES_AS_CONCAT,ANSI_QUOTES,ORACLE,NO_BACKSLASH_ESCAPES"),
            "ANSI_QUOTES,NO_BACKSLASH_ESCAPES"
        );
        assert_eq!(told("STRICT_TRANS_TABLES"), "");
    }
}
