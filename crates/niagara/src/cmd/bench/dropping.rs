//! Before tables of a running server are dropped: what they are, whether they are the workload's at all, and somebody's word.

use std::io::{BufRead, IsTerminal, stdin};

use anyhow::Result;
use niagara_error::bail;
use niagara_lab::Load;
use niagara_load::sql_text;

use super::table_names::{listed, number, table};
use super::target::Target;

/// Above this many rows the server's own estimate is told: counting would read the whole table.
const COUNTED: u64 = 1_000_000;

/// A table that is to go.
struct Doomed {
    name: String,
    rows: u64,
    is_exact: bool,
    /// Columns that the workload's own table has not.
    foreign: Vec<String>,
}

/// Lists `names` with their rows, and has somebody agree to their being dropped: `yes`, or an answer on the terminal.
///
/// # Errors
/// A table is not one that `prepare` makes, whoever agrees; nobody was there to agree; somebody did not.
pub fn agree(target: &mut Target, load: &Load, names: &[String], yes: bool) -> Result<()> {
    if names.is_empty() {
        return Ok(());
    }
    let doomed = names
        .iter()
        .map(|name| look_at(target, load, name))
        .collect::<Result<Vec<_>>>()?;
    let database = target.endpoint.database.clone();
    for table in &doomed {
        if let [column, ..] = &table.foreign[..] {
            bail!(
                "table {} of database {database} is not the workload's: it has a column {column}, which the table that \
                 `prepare` makes has not; nothing was dropped", table.name;
                remedy: "--database for a place of the workload's own, or drop it yourself: DROP TABLE {}",
                super::table_names::table(&database, &table.name)
            );
        }
    }
    tell!(
        "to be dropped from database {database} at {}:",
        target.endpoint.transport
    );
    for table in &doomed {
        let about = if table.is_exact { "" } else { "about " };
        tell!("  {}: {about}{} rows", table.name, table.rows);
    }
    tell!(
        "`prepare` with these options makes {}",
        load.workload.data_in_words(load.threads)
    );
    agreed(&format!("drop {}", listed(names)), yes)
}

/// Has somebody agree to a script's own statements: what they drop is known to nobody beforehand.
///
/// # Errors
/// Nobody was there to agree; somebody did not.
pub fn agree_to_script(load: &Load, yes: bool) -> Result<()> {
    agreed(
        &format!(
            "run what {} itself says under cleanup",
            load.workload.spelling()
        ),
        yes,
    )
}

fn agreed(to: &str, yes: bool) -> Result<()> {
    if yes {
        return Ok(());
    }
    if !stdin().is_terminal() || !std::io::stderr().is_terminal() {
        bail!(
            "this would {to}, and nobody is there to agree";
            remedy: "--yes, once you have seen that it may"
        );
    }
    crate::say::remark(format_args!("This will {to}. Type yes: "));
    let mut answer = String::new();
    stdin().lock().read_line(&mut answer)?;
    if answer.trim() != "yes" {
        bail!("nothing was dropped");
    }
    Ok(())
}

fn look_at(target: &mut Target, load: &Load, name: &str) -> Result<Doomed> {
    let database = target.endpoint.database.clone();
    let place = format!(
        "table_schema = {} AND table_name = {}",
        sql_text(&database),
        sql_text(name)
    );
    let sql = format!("SELECT table_rows FROM information_schema.tables WHERE {place}");
    let estimate = number(target, &sql)?;
    let (rows, is_exact) = if estimate > COUNTED {
        (estimate, false)
    } else {
        let sql = format!("SELECT COUNT(*) FROM {}", table(&database, name));
        (number(target, &sql)?, true)
    };
    let sql = format!("SELECT column_name FROM information_schema.columns WHERE {place}");
    let columns = target.admin.rows(&sql);
    let columns = columns.map_err(|error| target.explain(error))?;
    let foreign = columns
        .into_iter()
        .filter_map(|row| row.into_iter().next().flatten())
        .filter(|column| load.workload.has_column(name, column) == Some(false))
        .collect();
    Ok(Doomed {
        name: name.to_owned(),
        rows,
        is_exact,
        foreign,
    })
}
