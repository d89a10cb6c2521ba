//! Statistics brought to a copy.

use std::iter::zip;

use anyhow::Result;
use niagara_load::{counted, sql_text};
use niagara_server::{Install, RunningServer, Version};

use super::table::{Column, StatisticsTable};
use super::{OptimizerStatistics, StatisticsRows};

/// The first MySQL that takes a histogram as text.
const TAKES_HISTOGRAMS: Version = Version {
    major: 8,
    minor: 0,
    patch: 31,
};

/// Gives a copy the statistics of the server that its data are of, in place of those that it gathered. They count from its next start
/// on. What it does not take is told.
///
/// # Errors
/// The server is lost.
pub(crate) fn bring(
    server: &RunningServer,
    install: &Install,
    statistics: &OptimizerStatistics,
) -> Result<Vec<String>> {
    let mut refused = 0;
    server.query("START TRANSACTION")?;
    for StatisticsRows { table, rows } in &statistics.tables {
        for row in rows {
            let is_taken = match takes(*table, install, statistics) {
                true => is_done(&server.query(&statement(*table, row))),
                false => false,
            };
            refused += u64::from(!is_taken);
        }
    }
    server.query("COMMIT")?;
    Ok(match refused {
        0 => Vec::new(),
        some => vec![format!(
            "{} of the optimizer, which this release does not take: the copy may execute statements otherwise",
            counted(some, "statistic")
        )],
    })
}

/// Whether a copy on this server has a use for rows of this table.
fn takes(table: StatisticsTable, install: &Install, statistics: &OptimizerStatistics) -> bool {
    let is_mariadb = install.family.is_mariadb();
    match table {
        // Both families have inherited them.
        StatisticsTable::InnodbTables | StatisticsTable::InnodbIndexes => true,
        StatisticsTable::ServerTables
        | StatisticsTable::ServerColumns
        | StatisticsTable::ServerIndexes => is_mariadb && statistics.is_mariadb(),
        StatisticsTable::Histograms => !is_mariadb && install.version >= TAKES_HISTOGRAMS,
    }
}

/// `ANALYZE TABLE` answers with rows that say what failed.
fn is_done(answer: &Result<Vec<Vec<String>>>) -> bool {
    let failed = |row: &Vec<String>| row.iter().any(|value| value == "Error");
    answer.as_ref().is_ok_and(|rows| !rows.iter().any(failed))
}

/// The statement that brings a row. One about a table or index that the copy lacks changes nothing.
fn statement(table: StatisticsTable, row: &[Option<String>]) -> String {
    let (keys, values) = row.split_at(table.keys().len().min(row.len()));
    let pairs = |columns: &[Column], values: &[Option<String>], between: &str| {
        let pairs: Vec<String> = zip(columns, values)
            .map(|(column, value)| {
                format!("{} = {}", column.name, literal(*column, value.as_deref()))
            })
            .collect();
        pairs.join(between)
    };
    match table {
        StatisticsTable::InnodbTables | StatisticsTable::InnodbIndexes => format!(
            "UPDATE {} SET {} WHERE {}",
            table.name(),
            pairs(table.values(), values, ", "),
            pairs(table.keys(), keys, " AND ")
        ),
        StatisticsTable::ServerTables
        | StatisticsTable::ServerColumns
        | StatisticsTable::ServerIndexes => format!(
            "REPLACE INTO {} SET {}, {}",
            table.name(),
            pairs(table.keys(), keys, ", "),
            pairs(table.values(), values, ", ")
        ),
        StatisticsTable::Histograms => {
            let quoted = |name: &Option<String>| {
                format!(
                    "`{}`",
                    name.as_deref().unwrap_or_default().replace('`', "``")
                )
            };
            let names: Vec<String> = keys.iter().map(quoted).collect();
            let data = values.first().and_then(Option::as_deref);
            format!(
                "ANALYZE TABLE {} UPDATE HISTOGRAM ON {} USING DATA {}",
                names[..names.len().min(2)].join("."),
                names.last().map_or("", String::as_str),
                sql_text(data.unwrap_or_default())
            )
        }
    }
}

/// A value as a statement has it.
fn literal(column: Column, value: Option<&str>) -> String {
    match value {
        None => "NULL".to_owned(),
        Some(digits) if column.is_binary => format!("x'{digits}'"),
        Some(text) => sql_text(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_becomes_a_statement_of_its_table() {
        let row = |values: &[Option<&str>]| -> Vec<Option<String>> {
            values
                .iter()
                .map(|value| value.map(str::to_owned))
                .collect()
        };
        let index = row(&[
            Some("shop"),
            Some("it's"),
            Some("PRIMARY"),
            Some("size"),
            Some("7"),
            None,
        ]);
        assert_eq!(
            statement(StatisticsTable::InnodbIndexes, &index),
            "UPDATE mysql.innodb_index_stats SET stat_value = '7', sample_size = NULL \
             WHERE database_name = 'shop' AND table_name = 'it''s' AND index_name = 'PRIMARY' AND stat_name = 'size'"
        );
        let column = row(&[Some("shop"), Some("t"), Some("c"), Some("31"), None]);
        assert_eq!(
            statement(StatisticsTable::ServerColumns, &column),
            "REPLACE INTO mysql.column_stats SET db_name = 'shop', table_name = 't', column_name = 'c', min_value = x'31', max_value = NULL"
        );
        let histogram = row(&[Some("shop"), Some("a`b"), Some("c"), Some(r#"{"a": "\n"}"#)]);
        assert_eq!(
            statement(StatisticsTable::Histograms, &histogram),
            r#"ANALYZE TABLE `shop`.`a``b` UPDATE HISTOGRAM ON `c` USING DATA '{"a": "\\n"}'"#
        );
        // Of a file that somebody has cut.
        statement(StatisticsTable::Histograms, &row(&[]));
    }
}
