//! Statistics read from a running server.

use niagara_load::{Admin, LoadError, sql_text};

use super::table::{Column, StatisticsTable};
use super::{OptimizerStatistics, StatisticsRows};

/// There is no such table: ER_NO_SUCH_TABLE, and ER_UNKNOWN_TABLE of the information schema.
const NO_TABLE: [u16; 2] = [1146, 1109];

/// The statistics of these databases on a running server that calls itself `version`.
///
/// # Errors
/// The account may not read them; the server is lost.
pub fn statistics_of(
    admin: &mut Admin,
    version: &str,
    databases: &[String],
) -> Result<OptimizerStatistics, LoadError> {
    let mut found = OptimizerStatistics {
        version: version.to_owned(),
        tables: Vec::new(),
    };
    let names: Vec<String> = databases.iter().map(|name| sql_text(name)).collect();
    for &table in StatisticsTable::of_family(found.is_mariadb()) {
        let rows = match admin.rows(&question(table, &names.join(", "))) {
            Ok(rows) => rows,
            // Of an old server.
            Err(error)
                if error
                    .server_code()
                    .is_some_and(|code| NO_TABLE.contains(&code)) =>
            {
                continue;
            }
            Err(error) => return Err(error),
        };
        if !rows.is_empty() {
            found.tables.push(StatisticsRows { table, rows });
        }
    }
    Ok(found)
}

/// The statement that asks for what a table has of these databases.
fn question(table: StatisticsTable, databases: &str) -> String {
    let read = |column: Column| match column.is_binary {
        true => format!("HEX({})", column.name),
        false => column.name.to_owned(),
    };
    let columns: Vec<String> = table.columns().map(read).collect();
    let database = table.keys().first().map_or("", |column| column.name);
    format!(
        "SELECT {} FROM {} WHERE {database} IN ({databases})",
        columns.join(", "),
        table.name()
    )
}
