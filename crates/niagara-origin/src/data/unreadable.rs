//! Tables of a copy that cannot be opened: of a file that did not come along, of an engine that is not here. Without a look at each a
//! copy of half of the data would pass for the data.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::Result;
use niagara_error::bail;
use niagara_load::{Admin, LoadError, counted};
use niagara_server::{Cancel, RunningServer};

use super::elsewhere::engines;
use super::statement::not_system;

/// Opening a table may have to wait for its file.
const TIMEOUT: Duration = Duration::from_secs(600);
/// ER_UNKNOWN_STORAGE_ENGINE, and ER_FEATURE_DISABLED of an engine that is switched off.
const NO_ENGINE: [u16; 2] = [1286, 1289];
/// Tables that are named one by one.
const NAMED: usize = 5;

/// A table that was opened, or why it could not be.
struct Opened {
    database: String,
    table: String,
    /// The error's number and words.
    failed: Option<(u16, String)>,
}

/// Opens every table of the user's; what cannot be opened, in words.
///
/// # Errors
/// A database has tables, and none of them can be opened; the server refuses to list them; a stop that was asked for.
pub(crate) fn unreadable(server: &RunningServer, cancel: &Cancel) -> Result<Vec<String>> {
    let mut admin = Admin::connect(&server.over_socket(""), TIMEOUT)?;
    // Those whose rows are elsewhere are told by themselves.
    let tables = admin.rows(&format!(
        "SELECT table_schema, table_name FROM information_schema.tables WHERE table_type IN ('BASE TABLE', 'SYSTEM VERSIONED') \
         AND {} AND (engine IS NULL OR engine NOT IN ({})) ORDER BY 1, 2",
        not_system("table_schema"),
        engines()
    ))?;
    let mut all = Vec::with_capacity(tables.len());
    for row in tables {
        cancel.check()?;
        let mut cells = row.into_iter().flatten();
        let (Some(database), Some(table)) = (cells.next(), cells.next()) else {
            continue;
        };
        let name = |name: &str| format!("`{}`", name.replace('`', "``"));
        let open = format!("SELECT 1 FROM {}.{} LIMIT 0", name(&database), name(&table));
        let failed = match admin.rows(&open) {
            Ok(_) => None,
            Err(LoadError::Query { code, message, .. }) => Some((code, message)),
            Err(error) => return Err(error.into()),
        };
        all.push(Opened {
            database,
            table,
            failed,
        });
    }
    told(&all)
}

/// What was found, in words.
fn told(all: &[Opened]) -> Result<Vec<String>> {
    let mut databases: BTreeMap<&str, Vec<&Opened>> = BTreeMap::new();
    for opened in all {
        databases.entry(&opened.database).or_default().push(opened);
    }
    for (database, tables) in &databases {
        if let Some(first) = tables.first()
            && let Some((_, message)) = &first.failed
            && tables.iter().all(|table| table.failed.is_some())
        {
            bail!(
                "none of the {} of the database {database} can be opened, {} first: {message}",
                counted(tables.len() as u64, "table"),
                first.table;
                remedy: "where files are missing or damaged, take another physical backup or a dump; where their engine is \
                 not here, name a server that has it by its path"
            );
        }
    }
    let (mut of_engines, mut broken) = (Vec::new(), Vec::new());
    for opened in all {
        match &opened.failed {
            Some((code, _)) if NO_ENGINE.contains(code) => of_engines.push(opened),
            Some(_) => broken.push(opened),
            None => {}
        }
    }
    let mut told = Vec::new();
    if !of_engines.is_empty() {
        told.push(format!(
            "the copy is without {} whose engine is not here ({}): statements on them fail",
            counted(of_engines.len() as u64, "table"),
            named(&of_engines)
        ));
    }
    if let Some(Opened {
        failed: Some((_, message)),
        ..
    }) = broken.first()
    {
        told.push(format!(
            "the copy is without {} that the data do not have whole ({}; {message}): statements on them fail",
            counted(broken.len() as u64, "table"),
            named(&broken)
        ));
    }
    Ok(told)
}

fn named(tables: &[&Opened]) -> String {
    let names: Vec<String> = tables
        .iter()
        .take(NAMED)
        .map(|opened| format!("{}.{}", opened.database, opened.table))
        .collect();
    let more = match tables.len() > NAMED {
        true => ", …",
        false => "",
    };
    format!("{}{more}", names.join(", "))
}

#[cfg(test)]
mod tests {
    use niagara_error::Explain as _;

    use super::*;

    #[test]
    fn tables_that_cannot_be_opened_are_named_and_a_lost_database_is_refused() -> Result<()> {
        let of = |name: &str, failed: Option<u16>| {
            let (database, table) = name.split_once('.').unwrap();
            Opened {
                database: database.to_owned(),
                table: table.to_owned(),
                failed: failed.map(|code| (code, format!("error {code}"))),
            }
        };
        assert_eq!(told(&[of("shop.a", None)])?, [] as [&str; 0]);
        let some = told(&[
            of("shop.a", None),
            of("shop.b", Some(1932)),
            of("shop.c", Some(1286)),
        ])?;
        assert_eq!(some.len(), 2);
        assert!(some[0].contains("1 table whose engine") && some[0].contains("shop.c"));
        assert!(some[1].contains("shop.b") && some[1].contains("error 1932"));
        let lost = [of("shop.a", None), of("old.b", Some(1932))];
        let refused = told(&lost)
            .expect_err("a lost database")
            .explain()
            .to_string();
        assert!(
            refused.contains("database old") && refused.contains("remedy"),
            "{refused}"
        );
        Ok(())
    }
}
