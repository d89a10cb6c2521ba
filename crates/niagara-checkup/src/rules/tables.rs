//! Tables and indexes.

use std::collections::BTreeMap;

use crate::facts::{Catalog, Facts, Index, Part, Table};
use crate::finding::{DuplicateIndex, Finding, Likeness, StaleTable, UnusedIndex};
use crate::rule::Rules;

const PRIMARY: &str = "PRIMARY";
/// The kind of an index that is sorted.
const SORTED: Option<&str> = Some("BTREE");

pub(super) fn findings(facts: &Facts, rules: &Rules) -> Vec<Finding> {
    let Some(catalog) = &facts.catalog else {
        return Vec::new();
    };
    let duplicates = duplicates(catalog);
    let unused = unused(catalog, &duplicates, rules, facts.server.uptime_seconds);
    let can_hide = facts.server.hide_clause().is_some();
    let duplicates = (!duplicates.is_empty()).then_some(Finding::DuplicateIndexes {
        indexes: duplicates,
        can_hide,
    });
    let found = [
        without_key(catalog),
        duplicates,
        stale(catalog, rules),
        unused,
    ];
    found.into_iter().flatten().collect()
}

/// InnoDB takes a unique index of columns that are never NULL for the primary key.
fn without_key(catalog: &Catalog) -> Option<Finding> {
    let is_key = |index: &Index| {
        index.name == PRIMARY
            || (index.unique
                && index
                    .parts
                    .iter()
                    .all(|part| !part.nullable && !part.column.is_empty()))
    };
    let tables: Vec<_> = catalog
        .tables
        .iter()
        .filter(|table| is_innodb(table) && !table.indexes.iter().any(is_key))
        .map(|table| table.name.clone())
        .collect();
    (!tables.is_empty()).then_some(Finding::TablesWithoutKey { tables })
}

fn is_innodb(table: &Table) -> bool {
    table.engine.eq_ignore_ascii_case("InnoDB")
}

fn duplicates(catalog: &Catalog) -> Vec<DuplicateIndex> {
    let mut indexes = Vec::new();
    for table in &catalog.tables {
        for (place, index) in table.indexes.iter().enumerate() {
            let others = table.indexes.iter().enumerate();
            let cover = others.filter(|(other, _)| *other != place);
            let cover = cover
                // Of two that are equal the first one stays, unless it alone is hidden.
                .filter(|(other, by)| {
                    is_covered(index, by) && !(is_covered(by, index) && place < *other)
                })
                .map(|(_, by)| (likeness(table, index, by), by))
                // What is hidden has been tried: only an equal one shows that nobody needs it.
                .filter(|(likeness, _)| !index.hidden || *likeness == Likeness::Equal)
                .min_by_key(|(likeness, _)| *likeness);
            indexes.extend(cover.map(|(likeness, by)| DuplicateIndex {
                table: table.name.clone(),
                index: index.name.clone(),
                covered_by: by.name.clone(),
                likeness,
            }));
        }
    }
    indexes
}

/// Whether `by` finds all that `index` finds, and forbids all that it forbids. Statements cannot use one that is hidden.
fn is_covered(index: &Index, by: &Index) -> bool {
    let same_kind = index.kind.is_some() && index.kind == by.kind;
    if index.name == PRIMARY || !same_kind || by.hidden {
        return false;
    }
    let is_ordered = index.kind.as_deref() == SORTED;
    let same_length = index.parts.len() == by.parts.len();
    let is_beginning = by.parts.starts_with(&index.parts);
    // Expressions are not compared.
    let known = |part: &Part| !part.column.is_empty();
    is_beginning
        && index.parts.iter().all(known)
        && (is_ordered || same_length)
        && (!index.unique || (by.unique && same_length))
}

/// How alike an index of a table is to one that covers it. InnoDB ends each secondary index by the primary key: a beginning sorts rows
/// of equal values by it, the longer index by its own columns.
/// Source: MySQL reference manual, Use of Index Extensions.
fn likeness(table: &Table, index: &Index, by: &Index) -> Likeness {
    if by.name == PRIMARY && is_innodb(table) {
        Likeness::WholeRows
    } else if by.parts.len() > index.parts.len() {
        Likeness::Beginning
    } else {
        Likeness::Equal
    }
}

/// Indexes that nothing reads. One that covers another gets its reads when that goes, and a duplicate has a remedy already.
fn unused(
    catalog: &Catalog,
    duplicates: &[DuplicateIndex],
    rules: &Rules,
    since_seconds: f64,
) -> Option<Finding> {
    let reads = catalog.index_reads.as_ref()?;
    let least = rules.unused_indexes.limits.table_reads;
    let mut indexes = Vec::new();
    for table in &catalog.tables {
        let Some(of_table) = reads.of_table.get(&table.name) else {
            continue;
        };
        let table_reads: f64 = of_table.values().sum();
        if table_reads < least {
            continue;
        }
        let pairs = duplicates.iter().filter(|pair| pair.table == table.name);
        let pairs: Vec<&DuplicateIndex> = pairs.collect();
        let unread = table.indexes.iter().filter(|index| {
            let begins = index.parts.first().map(|part| &part.column);
            let serves_foreign_key =
                begins.is_some_and(|column| table.foreign_keys.contains(column));
            let is_duplicate = pairs.iter().any(|pair| pair.index == index.name);
            !index.unique
                && !index.hidden
                && !is_duplicate
                && index.kind.as_deref() == SORTED
                && !serves_foreign_key
                && !is_read(&index.name, of_table, &pairs)
        });
        indexes.extend(unread.map(|index| UnusedIndex {
            table: table.name.clone(),
            index: index.name.clone(),
            table_reads,
        }));
    }
    (!indexes.is_empty()).then_some(Finding::UnusedIndexes {
        indexes,
        since_seconds,
        counted_by: reads.source,
    })
}

/// Whether something reads an index, or one that it covers.
fn is_read(index: &str, of_table: &BTreeMap<String, f64>, pairs: &[&DuplicateIndex]) -> bool {
    let mut covered = pairs.iter().filter(|pair| pair.covered_by == index);
    of_table.get(index).is_some_and(|reads| *reads > 0.0)
        || covered.any(|pair| is_read(&pair.index, of_table, pairs))
}

fn stale(catalog: &Catalog, rules: &Rules) -> Option<Finding> {
    let limits = &rules.statistics_stale.limits;
    let tables = catalog.tables.iter().filter_map(|table| {
        let statistics = table.statistics?;
        let grown = statistics.inserted >= limits.rows
            && statistics.inserted >= limits.times * statistics.rows;
        (statistics.before_start && grown).then(|| StaleTable {
            table: table.name.clone(),
            rows: statistics.rows,
            inserted: statistics.inserted,
        })
    });
    let tables: Vec<StaleTable> = tables.collect();
    (!tables.is_empty()).then_some(Finding::StatisticsStale { tables })
}
