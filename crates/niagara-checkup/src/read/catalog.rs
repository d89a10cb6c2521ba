//! Tables and indexes. Nothing here opens all tables of a server: sizes are those of files, and what has to open a table is asked of few.
//! Which columns open tables: MySQL 5.7 reference manual, Optimizing INFORMATION_SCHEMA Queries.

use std::collections::BTreeMap;

use anyhow::Result;
use niagara_server::HideClause;

use super::reader::{Reader, Refusal, number, quoted, text};
use super::{Source, part};
use crate::facts::{
    Catalog, Index, IndexReads, Part, ReadsSource, Table, TableName, TableStatistics,
};
use crate::gap::{Gap, GapCause, MissingPart};

/// Tables at most: MariaDB opens the definition of each.
const MOST: u64 = 10_000;
/// Tables at most that are opened for one answer.
const OPENED: usize = 50;
/// The server's own databases.
const OURS: &str =
    "TABLE_SCHEMA NOT IN ('mysql', 'sys', 'information_schema', 'performance_schema')";
/// The same where the column has another name.
const OBJECTS: &str =
    "OBJECT_SCHEMA NOT IN ('mysql', 'sys', 'information_schema', 'performance_schema')";

pub(super) fn read(
    reader: &mut Reader<'_>,
    source: &Source<'_>,
    gaps: &mut Vec<Gap>,
) -> Result<Option<Catalog>> {
    let privileges = source.privileges;
    if !source.ends_statements {
        gaps.push(Gap {
            part: MissingPart::Tables,
            cause: GapCause::NoTimeLimit,
        });
        return Ok(None);
    }
    let count = reader.value(&format!(
        "SELECT COUNT(*) FROM information_schema.TABLES WHERE {OURS}"
    ));
    let count = part(
        count,
        MissingPart::Tables,
        privileges,
        "SELECT ON *.*",
        gaps,
    )?;
    let Some(count) = count else { return Ok(None) };
    let count = count.and_then(|count| count.parse().ok()).unwrap_or(0);
    if count > MOST {
        gaps.push(too_many(MissingPart::Tables, count, MOST));
        return Ok(None);
    }
    let tables = tables(reader, source);
    let tables = part(
        tables,
        MissingPart::Tables,
        privileges,
        "SELECT ON *.*",
        gaps,
    )?;
    let Some(tables) = tables else {
        return Ok(None);
    };
    if !privileges.may("SELECT") {
        gaps.push(privileges.gap(MissingPart::OtherTables, "SELECT ON *.*"));
    }
    let bytes = innodb_bytes(reader, source);
    let mut catalog = Catalog {
        tables,
        innodb_bytes: part(
            bytes,
            MissingPart::DataSize,
            privileges,
            "PROCESS ON *.*",
            gaps,
        )?,
        index_reads: None,
    };
    catalog.index_reads = index_reads(reader, source, gaps)?;
    if source.has_table_files() {
        let read = kinds(reader, &mut catalog.tables);
        let read = part(
            read,
            MissingPart::SimilarIndexes,
            privileges,
            "SELECT ON *.*",
            gaps,
        )?;
        let most = OPENED as u64;
        gaps.extend(
            read.flatten()
                .map(|tables| too_many(MissingPart::SimilarIndexes, tables, most)),
        );
    }
    if let Some(reads) = &catalog.index_reads {
        let read = unread_indexes(reader, &mut catalog.tables, reads);
        part(
            read,
            MissingPart::IndexReads,
            privileges,
            "SELECT ON *.*",
            gaps,
        )?;
    }
    let read = writes(reader, source, &mut catalog.tables);
    let read = part(read, MissingPart::Writes, privileges, "SELECT ON *.*", gaps)?;
    let most = OPENED as u64;
    gaps.extend(
        read.flatten()
            .map(|tables| too_many(MissingPart::Writes, tables, most)),
    );
    if source.variables.is_on("performance_schema") {
        let read = statistics(reader, source, &mut catalog.tables);
        part(
            read,
            MissingPart::Statistics,
            privileges,
            "SELECT ON *.*",
            gaps,
        )?;
    }
    Ok(Some(catalog))
}

/// The columns are those that a server has without opening a table.
fn tables(reader: &mut Reader<'_>, source: &Source<'_>) -> Result<Vec<Table>, Refusal> {
    let mut tables = BTreeMap::new();
    let rows = reader.rows(&format!(
        "SELECT TABLE_SCHEMA, TABLE_NAME, ENGINE FROM information_schema.TABLES WHERE {OURS} AND TABLE_TYPE = 'BASE TABLE'"
    ))?;
    for row in &rows {
        let name = name(row, 0);
        let table = Table {
            name: name.clone(),
            engine: text(row, 2).to_owned(),
            ..Table::default()
        };
        tables.insert(name, table);
    }
    let hiding = source.server.hide_clause();
    let hidden = hiding.map_or("0", HideClause::condition);
    let (order, kind) = match source.has_table_files() {
        // The table would be opened for the kind, and without it the order is not said.
        true => ("NULL", "NULL"),
        false => ("COLLATION", "INDEX_TYPE"),
    };
    let mut rows = reader.rows(&format!(
        "SELECT TABLE_SCHEMA, TABLE_NAME, INDEX_NAME, NON_UNIQUE, SEQ_IN_INDEX, COLUMN_NAME, SUB_PART, {order}, NULLABLE, {kind}, {hidden} \
         FROM information_schema.STATISTICS WHERE {OURS}"
    ))?;
    rows.sort_by(|a, b| {
        (text(a, 0), text(a, 1), text(a, 2))
            .cmp(&(text(b, 0), text(b, 1), text(b, 2)))
            .then(number(a, 4).total_cmp(&number(b, 4)))
    });
    for row in &rows {
        let Some(table) = tables.get_mut(&name(row, 0)) else {
            continue;
        };
        if table
            .indexes
            .last()
            .is_none_or(|index| index.name != text(row, 2))
        {
            table.indexes.push(Index {
                name: text(row, 2).to_owned(),
                unique: text(row, 3) == "0",
                kind: row.get(9).cloned().flatten(),
                hidden: text(row, 10) == "1",
                parts: Vec::new(),
            });
        }
        if let Some(index) = table.indexes.last_mut() {
            index.parts.push(Part {
                column: text(row, 5).to_owned(),
                prefix: text(row, 6).parse().ok(),
                descending: text(row, 7) == "D",
                nullable: text(row, 8) == "YES",
            });
        }
    }
    Ok(tables.into_values().collect())
}

/// The size of the files of InnoDB's tablespaces.
fn innodb_bytes(reader: &mut Reader<'_>, source: &Source<'_>) -> Result<u64, Refusal> {
    let table = match source.has_table_files() {
        true => "INNODB_SYS_TABLESPACES",
        false => "INNODB_TABLESPACES",
    };
    let sum = reader.value(&format!(
        "SELECT SUM(FILE_SIZE) FROM information_schema.{table} \
         WHERE NAME LIKE '%/%' AND NAME NOT LIKE 'mysql/%' AND NAME NOT LIKE 'sys/%'"
    ))?;
    Ok(sum.and_then(|sum| sum.parse::<f64>().ok()).unwrap_or(0.0) as u64)
}

/// How often each index was read.
fn index_reads(
    reader: &mut Reader<'_>,
    source: &Source<'_>,
    gaps: &mut Vec<Gap>,
) -> Result<Option<IndexReads>> {
    let (read, privilege) = if source.variables.is_on("performance_schema") {
        let lost = reader.rows("SHOW GLOBAL STATUS LIKE 'Performance_schema_index_stat_lost'");
        if lost.is_ok_and(|rows| rows.iter().any(|row| number(row, 1) > 0.0)) {
            gaps.push(Gap {
                part: MissingPart::IndexReads,
                cause: GapCause::Lost,
            });
            return Ok(None);
        }
        (
            reads_of_performance_schema(reader),
            "SELECT ON performance_schema.*",
        )
    } else if source.variables.is_on("userstat") {
        (reads_of_user_statistics(reader).map(Some), "PROCESS ON *.*")
    } else {
        (Ok(None), "SELECT ON performance_schema.*")
    };
    let read = part(
        read,
        MissingPart::IndexReads,
        source.privileges,
        privilege,
        gaps,
    )?;
    if let Some(None) = read {
        let option = match source.is_mariadb() {
            true => "userstat = ON",
            false => "performance_schema = ON, and its instrument wait/io/table/sql/handler",
        };
        gaps.push(Gap {
            part: MissingPart::IndexReads,
            cause: GapCause::NotCounted {
                option: option.to_owned(),
            },
        });
    }
    Ok(read.flatten())
}

/// None where the instrument is off.
fn reads_of_performance_schema(reader: &mut Reader<'_>) -> Result<Option<IndexReads>, Refusal> {
    let enabled = reader.value(
        "SELECT ENABLED FROM performance_schema.setup_instruments WHERE NAME = 'wait/io/table/sql/handler'",
    )?;
    if enabled.as_deref() != Some("YES") {
        return Ok(None);
    }
    let rows = reader.rows(&format!(
        "SELECT OBJECT_SCHEMA, OBJECT_NAME, COALESCE(INDEX_NAME, ''), COUNT_READ \
         FROM performance_schema.table_io_waits_summary_by_index_usage WHERE OBJECT_TYPE = 'TABLE' AND {OBJECTS}"
    ))?;
    Ok(Some(IndexReads {
        source: ReadsSource::PerformanceSchema,
        of_table: by_table(&rows),
    }))
}

fn reads_of_user_statistics(reader: &mut Reader<'_>) -> Result<IndexReads, Refusal> {
    let indexes = reader.rows(&format!(
        "SELECT TABLE_SCHEMA, TABLE_NAME, INDEX_NAME, ROWS_READ FROM information_schema.INDEX_STATISTICS WHERE {OURS}"
    ))?;
    // What was read without an index.
    let tables = reader.rows(&format!(
        "SELECT TABLE_SCHEMA, TABLE_NAME, '', ROWS_READ FROM information_schema.TABLE_STATISTICS WHERE {OURS}"
    ))?;
    Ok(IndexReads {
        source: ReadsSource::UserStatistics,
        of_table: by_table(&[indexes, tables].concat()),
    })
}

fn by_table(rows: &[niagara_load::Row]) -> BTreeMap<TableName, BTreeMap<String, f64>> {
    let mut of_table: BTreeMap<TableName, BTreeMap<String, f64>> = BTreeMap::new();
    for row in rows {
        let reads = of_table.entry(name(row, 0)).or_default();
        *reads.entry(text(row, 2).to_owned()).or_default() += number(row, 3);
    }
    of_table
}

/// Kinds of indexes of tables in which one may replace another; how many such tables there are, if more than are opened.
fn kinds(reader: &mut Reader<'_>, tables: &mut [Table]) -> Result<Option<u64>, Refusal> {
    let mut similar: Vec<&mut Table> = tables
        .iter_mut()
        .filter(|table| has_similar_indexes(table))
        .collect();
    for table in similar.iter_mut().take(OPENED) {
        kinds_of(reader, table)?;
    }
    Ok((similar.len() > OPENED).then_some(similar.len() as u64))
}

/// Whether an index equals or begins another one, by its columns.
fn has_similar_indexes(table: &Table) -> bool {
    let indexes = || table.indexes.iter().enumerate();
    indexes().any(|(place, index)| {
        let mut others = indexes().filter(|(other, _)| *other != place);
        index.name != "PRIMARY" && others.any(|(_, other)| other.parts.starts_with(&index.parts))
    })
}

/// Kinds and orders of a table's indexes, for which the server opens it; nothing where they are known.
fn kinds_of(reader: &mut Reader<'_>, table: &mut Table) -> Result<(), Refusal> {
    if table.indexes.iter().all(|index| index.kind.is_some()) {
        return Ok(());
    }
    let rows = reader.rows(&format!(
        "SELECT INDEX_NAME, SEQ_IN_INDEX, COLLATION, INDEX_TYPE FROM information_schema.STATISTICS \
         WHERE TABLE_SCHEMA = {} AND TABLE_NAME = {}",
        quoted(&table.name.schema),
        quoted(&table.name.table)
    ))?;
    for row in &rows {
        let mut indexes = table.indexes.iter_mut();
        let Some(index) = indexes.find(|index| index.name == text(row, 0)) else {
            continue;
        };
        index.kind = row.get(3).cloned().flatten();
        let place = number(row, 1) as usize;
        if let Some(part) = place
            .checked_sub(1)
            .and_then(|place| index.parts.get_mut(place))
        {
            part.descending = text(row, 2) == "D";
        }
    }
    Ok(())
}

/// Kinds of indexes and columns of foreign keys, of tables that have an index that was not read.
fn unread_indexes(
    reader: &mut Reader<'_>,
    tables: &mut [Table],
    reads: &IndexReads,
) -> Result<(), Refusal> {
    let has_unread = |table: &&mut Table| {
        let reads = reads.of_table.get(&table.name);
        reads.is_some_and(|reads| {
            let mut indexes = table.indexes.iter().filter(|index| !index.unique);
            indexes.any(|index| reads.get(&index.name).is_none_or(|reads| *reads == 0.0))
        })
    };
    let mut unread: Vec<&mut Table> = tables.iter_mut().filter(has_unread).collect();
    for table in unread.iter_mut().take(OPENED) {
        kinds_of(reader, table)?;
        let rows = reader.rows(&format!(
            "SELECT COLUMN_NAME FROM information_schema.KEY_COLUMN_USAGE WHERE TABLE_SCHEMA = {} AND TABLE_NAME = {} \
             AND REFERENCED_TABLE_NAME IS NOT NULL",
            quoted(&table.name.schema),
            quoted(&table.name.table)
        ))?;
        table.foreign_keys = rows.iter().map(|row| text(row, 0).to_owned()).collect();
    }
    // Of the others nobody knows what their indexes serve.
    for table in unread.iter_mut().skip(OPENED) {
        table.foreign_keys = first_columns(table);
    }
    Ok(())
}

/// A part that is not read of all tables.
fn too_many(part: MissingPart, tables: u64, most: u64) -> Gap {
    Gap {
        part,
        cause: GapCause::TooManyTables { tables, most },
    }
}

fn first_columns(table: &Table) -> Vec<String> {
    let parts = table.indexes.iter().filter_map(|index| index.parts.first());
    parts.map(|part| part.column.clone()).collect()
}

/// Whether tables in other engines than InnoDB were written since the start; how many there are where not all were asked about.
fn writes(
    reader: &mut Reader<'_>,
    source: &Source<'_>,
    tables: &mut [Table],
) -> Result<Option<u64>, Refusal> {
    let others = tables.iter_mut();
    let mut others: Vec<&mut Table> = others
        .filter(|table| table.engine.eq_ignore_ascii_case("MyISAM"))
        .collect();
    for table in others.iter_mut().take(OPENED) {
        // The time of the last write is that of its file, which is made by CREATE TABLE.
        let written = reader.value(&format!(
            "SELECT UPDATE_TIME > NOW() - INTERVAL {:.0} SECOND AND (UPDATE_TIME > CREATE_TIME OR TABLE_ROWS > 0) \
             FROM information_schema.TABLES WHERE TABLE_SCHEMA = {} AND TABLE_NAME = {}",
            source.server.uptime_seconds,
            quoted(&table.name.schema),
            quoted(&table.name.table)
        ))?;
        table.is_written = written.map(|written| written == "1");
    }
    Ok((others.len() > OPENED).then_some(others.len() as u64))
}

/// Persistent statistics of InnoDB's tables against the rows that were inserted since the start.
fn statistics(
    reader: &mut Reader<'_>,
    source: &Source<'_>,
    tables: &mut [Table],
) -> Result<(), Refusal> {
    let changed = reader.rows(&format!(
        "SELECT OBJECT_SCHEMA, OBJECT_NAME, COUNT_INSERT - COUNT_DELETE FROM performance_schema.table_io_waits_summary_by_table \
         WHERE OBJECT_TYPE = 'TABLE' AND COUNT_INSERT > COUNT_DELETE AND {OBJECTS}"
    ))?;
    if changed.is_empty() {
        return Ok(());
    }
    let inserted: BTreeMap<TableName, f64> = changed
        .iter()
        .map(|row| (name(row, 0), number(row, 2)))
        .collect();
    let rows = reader.rows(&format!(
        "SELECT database_name, table_name, n_rows, last_update < NOW() - INTERVAL {:.0} SECOND FROM mysql.innodb_table_stats",
        source.server.uptime_seconds
    ))?;
    let statistics: BTreeMap<TableName, (f64, bool)> = rows
        .iter()
        .map(|row| (name(row, 0), (number(row, 2), text(row, 3) == "1")))
        .collect();
    for table in tables {
        let known = statistics.get(&table.name).zip(inserted.get(&table.name));
        table.statistics = known.map(|(&(rows, before_start), &inserted)| TableStatistics {
            rows,
            inserted,
            before_start,
        });
    }
    Ok(())
}

fn name(row: &niagara_load::Row, column: usize) -> TableName {
    TableName {
        schema: text(row, column).to_owned(),
        table: text(row, column + 1).to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_opened_whose_indexes_may_be_alike() {
        let similar = |indexes: &[(&str, &[&str])]| {
            let index = |(name, columns): &(&str, &[&str])| Index {
                name: (*name).to_owned(),
                parts: columns
                    .iter()
                    .map(|column| Part {
                        column: (*column).to_owned(),
                        ..Part::default()
                    })
                    .collect(),
                ..Index::default()
            };
            has_similar_indexes(&Table {
                indexes: indexes.iter().map(index).collect(),
                ..Table::default()
            })
        };
        assert!(!similar(&[("PRIMARY", &["id"]), ("a", &["a"])]));
        assert!(!similar(&[("PRIMARY", &["id"]), ("ia", &["id", "a"])]));
        assert!(similar(&[("PRIMARY", &["id", "a"]), ("i", &["id"])]));
        assert!(similar(&[("ab", &["a", "b"]), ("a", &["a"])]));
        assert!(similar(&[("a", &["a"]), ("a2", &["a"])]));
    }
}
