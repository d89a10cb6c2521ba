//! Why a statement costs what it costs: its structure, its plan and its counted work, put together.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Serialize;

use crate::catalog::{Catalog, IndexKind, Table, TableName, ValueKind, is_same_name};
use crate::plan::{Access, Plan, TableAccess};
use crate::statement::{Asks, Block, Operand, Structure, Term, Use};
use crate::work::Work;

/// Reading so many times the rows that are returned is far more than a statement needs.
const FAR_MORE: f64 = 10.0;
/// A table with fewer rows costs next to nothing, however it is read.
const FEW_ROWS: f64 = 50.0;
/// Rows that are passed over by OFFSET, from which on it is deep.
const DEEP: u64 = 500;
/// Share of a digest's executions in loops, from which on it is asked row by row.
const IN_LOOPS: f64 = 0.5;
/// Share of the time that waits for locks, from which on they are the cause.
const LOCKED: f64 = 0.5;

/// Why a statement costs what it costs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "code")]
pub enum Cause {
    /// No index begins with a column that the statement asks for.
    NoUsableIndex {
        /// The table.
        table: TableName,
        /// The columns that it asks for.
        columns: Vec<String>,
    },
    /// An index is used, or could be, and leaves most rows to be looked at.
    NotSelective {
        /// The table.
        table: TableName,
        /// The index.
        index: String,
        /// Columns of the condition that it does not have.
        without: Vec<String>,
    },
    /// Values are converted for the comparison: an index on the column cannot be used.
    Conversion {
        /// The table.
        table: TableName,
        /// The column.
        column: String,
        /// The kind of the column.
        from: ValueKind,
        /// The kind of what it is compared with.
        to: ValueKind,
    },
    /// Two columns of different collations are compared.
    Collation {
        /// The table.
        table: TableName,
        /// The column.
        column: String,
        /// Its collation.
        collation: String,
        /// The other's.
        other: String,
    },
    /// The condition is on a function of the column.
    FunctionOnColumn {
        /// The table.
        table: TableName,
        /// The column.
        column: String,
        /// The function.
        function: String,
    },
    /// `LIKE '%…'`, or a regular expression.
    LeadingWildcard {
        /// The table.
        table: TableName,
        /// The column.
        column: String,
    },
    /// OR asks different columns, which one index cannot answer.
    OrAcrossColumns {
        /// The table.
        table: TableName,
        /// The columns.
        columns: Vec<String>,
    },
    /// A condition that leaves nearly everything: `<>`, `NOT IN`, `NOT LIKE`.
    NegatedCondition {
        /// The table.
        table: TableName,
        /// The columns.
        columns: Vec<String>,
    },
    /// A table is scanned for the rows of another.
    JoinWithoutIndex {
        /// The table.
        table: TableName,
        /// The columns that it is joined by.
        columns: Vec<String>,
    },
    /// A query within is executed for each row of the one around it.
    DependentSubquery {
        /// The table that it reads.
        table: TableName,
    },
    /// Rows are sorted that an index could give in order.
    Filesort {
        /// The table; none where the order is of several, or of expressions.
        #[serde(skip_serializing_if = "Option::is_none")]
        table: Option<TableName>,
        /// The columns of the order.
        columns: Vec<String>,
    },
    /// Groups are made in a temporary table.
    TemporaryTable {
        /// The table; none where the groups are of several, or of expressions.
        #[serde(skip_serializing_if = "Option::is_none")]
        table: Option<TableName>,
        /// The columns of the groups.
        columns: Vec<String>,
    },
    /// The server's statistics of the table are not those of its rows.
    StaleStatistics {
        /// The table.
        table: TableName,
    },
    /// All rows are found to be counted, though few are wanted.
    CalcFoundRows,
    /// Rows are found, sorted and passed over.
    DeepOffset {
        /// How many.
        offset: u64,
    },
    /// Rows are sorted by chance.
    RandomOrder,
    /// The same statement many times for one page, or one transaction.
    NPlusOne {
        /// Executions in each loop.
        each: u64,
    },
    /// It asks for all rows.
    ReadsEverything {
        /// The table.
        table: TableName,
    },
    /// It is not known: the server's plan cannot be read.
    PlanNotRead,
    /// It waits for locks of others.
    LockWaits {
        /// Percent of its time.
        percent: u64,
    },
}

impl Cause {
    /// Whether it is in how rows are found; else in how often the statement is sent, or in what it waits for.
    pub fn is_of_reading(&self) -> bool {
        !matches!(self, Self::NPlusOne { .. } | Self::LockWaits { .. })
    }

    /// Its stable code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::NoUsableIndex { .. } => "no_usable_index",
            Self::NotSelective { .. } => "not_selective",
            Self::Conversion { .. } => "conversion",
            Self::Collation { .. } => "collation",
            Self::FunctionOnColumn { .. } => "function_on_column",
            Self::LeadingWildcard { .. } => "leading_wildcard",
            Self::OrAcrossColumns { .. } => "or_across_columns",
            Self::NegatedCondition { .. } => "negated_condition",
            Self::JoinWithoutIndex { .. } => "join_without_index",
            Self::DependentSubquery { .. } => "dependent_subquery",
            Self::Filesort { .. } => "filesort",
            Self::TemporaryTable { .. } => "temporary_table",
            Self::StaleStatistics { .. } => "stale_statistics",
            Self::CalcFoundRows => "calc_found_rows",
            Self::DeepOffset { .. } => "deep_offset",
            Self::RandomOrder => "random_order",
            Self::NPlusOne { .. } => "n_plus_one",
            Self::ReadsEverything { .. } => "reads_everything",
            Self::PlanNotRead => "plan_not_read",
            Self::LockWaits { .. } => "lock_waits",
        }
    }
}

/// What is known of a statement.
#[derive(Debug, Clone, Copy)]
pub struct Evidence<'e> {
    /// Its structure.
    pub structure: Option<&'e Structure>,
    /// Its plan.
    pub plan: &'e Plan,
    /// Mean work of an execution.
    pub work: Work,
    /// Mean rows that an execution sends or changes.
    pub rows_returned: Option<f64>,
    /// Share of its executions in loops.
    pub in_loops: f64,
    /// Mean executions in a loop.
    pub loop_length: f64,
    /// Share of its time that waits for locks, in the capture.
    pub locked: f64,
    /// A table whose fresh statistics alone take much of the work away.
    pub stale: Option<&'e TableName>,
}

/// The causes, the one that matters most first.
pub fn causes(evidence: &Evidence<'_>, catalog: &Catalog) -> Vec<Cause> {
    let mut causes = Vec::new();
    if let Some(table) = evidence.stale {
        causes.push(Cause::StaleStatistics {
            table: table.clone(),
        });
    }
    if evidence.locked >= LOCKED {
        causes.push(Cause::LockWaits {
            percent: (evidence.locked * 100.0).round() as u64,
        });
    }
    if let Some(structure) = evidence.structure {
        of_structure(structure, evidence, catalog, &mut causes);
    } else {
        of_plan(evidence, &mut causes);
    }
    let is_cheap = evidence.work.rows < FEW_ROWS;
    if evidence.in_loops >= IN_LOOPS && evidence.loop_length >= 5.0 {
        let cause = Cause::NPlusOne {
            each: evidence.loop_length.round() as u64,
        };
        match is_cheap {
            true => causes.insert(0, cause),
            false => causes.push(cause),
        }
    }
    let mut seen = Vec::new();
    causes.retain(|cause| {
        let is_new = !seen.contains(cause);
        seen.push(cause.clone());
        is_new
    });
    causes
}

/// Of a statement whose grammar is not known: what the plan alone says.
fn of_plan(evidence: &Evidence<'_>, causes: &mut Vec<Cause>) {
    if evidence.work.rows < FEW_ROWS {
        return;
    }
    if evidence.plan.temporary_table {
        causes.push(Cause::TemporaryTable {
            table: None,
            columns: Vec::new(),
        });
    }
    if evidence.plan.filesort {
        causes.push(Cause::Filesort {
            table: None,
            columns: Vec::new(),
        });
    }
}

fn of_structure(
    structure: &Structure,
    evidence: &Evidence<'_>,
    catalog: &Catalog,
    causes: &mut Vec<Cause>,
) {
    let reads_much = evidence.work.rows >= FEW_ROWS;
    let (offset, limit) = structure.deepest_offset();
    if offset >= DEEP && offset > 2 * limit.unwrap_or(0) {
        causes.push(Cause::DeepOffset { offset });
    }
    if structure.blocks.iter().any(|block| block.random_order) && reads_much {
        causes.push(Cause::RandomOrder);
    }
    if !reads_much {
        return;
    }
    let mut of_tables: Vec<(f64, Vec<Cause>)> = Vec::new();
    for block in &structure.blocks {
        for (place, used) in block.uses.iter().enumerate() {
            let (Some(table), Some(access)) = (
                catalog.tables.get(&used.table),
                evidence.plan.table(&used.alias),
            ) else {
                continue;
            };
            let found = of_table(
                &Place {
                    block,
                    place,
                    used,
                    table,
                    access,
                },
                evidence,
                catalog,
            );
            if !found.is_empty() {
                of_tables.push((weight(access, table, &found), found));
            }
        }
    }
    of_tables.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    causes.extend(of_tables.into_iter().flat_map(|(_, causes)| causes));
    // Rows that an index would find are few to count.
    if structure.calc_found_rows {
        causes.push(Cause::CalcFoundRows);
    }
    for block in &structure.blocks {
        sorting(block, evidence, causes);
    }
    if causes.is_empty() {
        for block in &structure.blocks {
            let whole = block.uses.iter().find(|used| {
                let access = evidence.plan.table(&used.alias);
                access.is_some_and(|access| access.access.is_scan() && !access.is_joined)
            });
            if let Some(used) = whole.filter(|_| !block.has_condition && block.limit.is_none()) {
                causes.push(Cause::ReadsEverything {
                    table: used.table.clone(),
                });
            }
        }
    }
}

/// How much of the work is at this table.
fn weight(access: &TableAccess, table: &Table, found: &[Cause]) -> f64 {
    // Values that would find its rows matter more than bounds that leave many.
    if access.is_joined
        && !access.access.is_scan()
        && matches!(found, [Cause::NoUsableIndex { .. }])
    {
        return table.rows as f64 * 2.0;
    }
    let rows = match access.access.is_scan() {
        true => access.rows.max(table.rows as f64),
        false => access.rows,
    };
    match access.is_joined && (access.access.is_scan()) {
        true => rows * 100.0,
        false => rows,
    }
}

/// A table in a block and in the plan.
struct Place<'e> {
    block: &'e Block,
    place: usize,
    used: &'e Use,
    table: &'e Table,
    access: &'e TableAccess,
}

impl Place<'_> {
    /// What the block asks of this table alone, alternatives left out.
    fn terms(&self) -> impl Iterator<Item = &Term> {
        self.block
            .terms
            .iter()
            .filter(|term| term.table == self.place)
    }

    fn columns(&self, fits: impl Fn(&Asks) -> bool) -> Vec<String> {
        let mut columns: Vec<String> = Vec::new();
        for term in self.terms().filter(|term| fits(&term.asks)) {
            if !columns.contains(&term.column) {
                columns.push(term.column.clone());
            }
        }
        columns
    }

    /// Whether an index begins with this column.
    fn is_indexed(&self, column: &str) -> bool {
        self.table.indexes.iter().any(|index| {
            let first = index.parts.first();
            index.kind == IndexKind::Ordered
                && index.visible
                && first.is_some_and(|part| is_same_name(&part.column, column))
        })
    }
}

fn of_table(place: &Place<'_>, evidence: &Evidence<'_>, catalog: &Catalog) -> Vec<Cause> {
    let access = place.access;
    let table = &place.used.table;
    let is_small = place.table.rows < 20 && access.rows < 20.0;
    let is_scan = access.access.is_scan();
    let returned = match place.block.aggregates {
        true => None,
        false => evidence.rows_returned,
    };
    let reads_far_more =
        returned.is_none_or(|returned| evidence.work.rows >= FAR_MORE * returned.max(1.0));
    let narrows = matches!(
        access.access,
        Access::Lookup | Access::Range | Access::Merge
    );
    if is_small {
        return Vec::new();
    }
    if !(is_scan || (narrows && reads_far_more && access.rows >= FEW_ROWS)) {
        return found_by_the_other_side(place, reads_far_more);
    }
    let mut causes = Vec::new();
    obstacles(place, catalog, &mut causes);
    let joins = place.columns(|asks| matches!(asks, Asks::Join(_)));
    let asked = place.columns(is_sargable);
    let not_converted: Vec<String> = (asked.iter())
        .filter(|column| !causes.iter().any(|cause| is_about(cause, column)))
        .cloned()
        .collect();
    if is_scan {
        let is_looked_up = access.is_joined || access.join_buffer || access.dependent;
        let free_joins: Vec<String> = (joins.iter())
            .filter(|column| !causes.iter().any(|cause| is_about(cause, column)))
            .cloned()
            .collect();
        if is_looked_up
            && !free_joins.is_empty()
            && !free_joins.iter().any(|column| place.is_indexed(column))
        {
            causes.insert(
                0,
                Cause::JoinWithoutIndex {
                    table: table.clone(),
                    columns: free_joins,
                },
            );
        }
        let possible = not_converted.iter().find(|column| place.is_indexed(column));
        match possible {
            Some(column) => {
                let index = place.table.indexes.iter().find(|index| {
                    let first = index.parts.first();
                    first.is_some_and(|part| is_same_name(&part.column, column))
                });
                if let Some(index) = index {
                    causes.push(Cause::NotSelective {
                        table: table.clone(),
                        index: index.name.clone(),
                        without: without(place, index, &not_converted),
                    });
                }
            }
            None if !not_converted.is_empty() => causes.push(Cause::NoUsableIndex {
                table: table.clone(),
                columns: not_converted,
            }),
            None => {}
        }
    } else if let Some(index) = access.key.as_deref().and_then(|key| place.table.index(key)) {
        let without = without(place, index, &not_converted);
        let has_more = !without.is_empty() || !causes.is_empty();
        // A sort that LIMIT would spare explains the rest.
        let is_sorted =
            evidence.plan.filesort && place.block.has_order && place.block.limit.is_some();
        if has_more || (returned.is_some() && !is_sorted) {
            causes.push(Cause::NotSelective {
                table: table.clone(),
                index: index.name.clone(),
                without,
            });
        }
    }
    if access.dependent && place.block.is_correlated {
        causes.insert(
            0,
            Cause::DependentSubquery {
                table: table.clone(),
            },
        );
    }
    let negated = place.columns(|asks| matches!(asks, Asks::Not));
    if causes.is_empty() && is_scan && !negated.is_empty() {
        causes.push(Cause::NegatedCondition {
            table: table.clone(),
            columns: negated,
        });
    }
    causes
}

/// Whether a cause speaks of this column as an obstacle.
fn is_about(cause: &Cause, name: &str) -> bool {
    match cause {
        Cause::Conversion { column, .. }
        | Cause::Collation { column, .. }
        | Cause::FunctionOnColumn { column, .. }
        | Cause::LeadingWildcard { column, .. } => column == name,
        _ => false,
    }
}

/// A table that is joined row by row though the statement asks for values of its own. No index finds these, or one finds some of them
/// alone: the join has to begin at the other side.
fn found_by_the_other_side(place: &Place<'_>, reads_far_more: bool) -> Vec<Cause> {
    let columns = place.columns(|asks| matches!(asks, Asks::Equal(_) | Asks::In(_)));
    let is_late = place.access.is_joined && reads_far_more;
    if !is_late || columns.is_empty() {
        return Vec::new();
    }
    let mut begun = place.table.indexes.iter().filter(|index| {
        let first = index.parts.first();
        let begins = |column: &String| first.is_some_and(|part| is_same_name(&part.column, column));
        index.kind == IndexKind::Ordered && index.visible && columns.iter().any(begins)
    });
    if let Some(index) = begun.next() {
        let without = without(place, index, &columns);
        return match without.is_empty() || begun.next().is_some() {
            true => Vec::new(),
            false => vec![Cause::NotSelective {
                table: place.used.table.clone(),
                index: index.name.clone(),
                without,
            }],
        };
    }
    vec![Cause::NoUsableIndex {
        table: place.used.table.clone(),
        columns,
    }]
}

fn is_sargable(asks: &Asks) -> bool {
    matches!(
        asks,
        Asks::Equal(_) | Asks::In(_) | Asks::Range(_) | Asks::Prefix
    )
}

/// Columns of the condition that an index does not have.
fn without(place: &Place<'_>, index: &crate::catalog::Index, columns: &[String]) -> Vec<String> {
    let has = |column: &String| {
        index
            .parts
            .iter()
            .any(|part| is_same_name(&part.column, column))
    };
    let joins = place.columns(|asks| matches!(asks, Asks::Join(_)));
    let joins = joins.into_iter().filter(|_| place.access.is_joined);
    let all: BTreeSet<String> = columns.iter().cloned().chain(joins).collect();
    all.into_iter().filter(|column| !has(column)).collect()
}

/// What keeps an index from being used.
fn obstacles(place: &Place<'_>, catalog: &Catalog, causes: &mut Vec<Cause>) {
    let table = &place.used.table;
    for term in place.terms() {
        let Some(column) = place.table.column(&term.column) else {
            continue;
        };
        match &term.asks {
            Asks::Equal(Operand::Number)
            | Asks::In(Operand::Number)
            | Asks::Range(Operand::Number)
                if column.kind() == ValueKind::Text
                    && !matches!(column.type_name.as_str(), "enum" | "set") =>
            {
                causes.push(Cause::Conversion {
                    table: table.clone(),
                    column: term.column.clone(),
                    from: ValueKind::Text,
                    to: ValueKind::Number,
                });
            }
            Asks::Join(Some((other, name))) => {
                compared(place, catalog, column, (*other, name), causes)
            }
            Asks::Function { name, .. } => causes.push(Cause::FunctionOnColumn {
                table: table.clone(),
                column: term.column.clone(),
                function: name.clone(),
            }),
            Asks::LeadingWildcard => causes.push(Cause::LeadingWildcard {
                table: table.clone(),
                column: term.column.clone(),
            }),
            _ => {}
        }
    }
    for alternatives in &place.block.alternatives {
        let mine: Vec<Vec<&Term>> = alternatives
            .iter()
            .map(|terms| {
                terms
                    .iter()
                    .filter(|term| term.table == place.place)
                    .collect()
            })
            .collect();
        let columns: BTreeSet<String> = mine
            .iter()
            .flatten()
            .map(|term| term.column.clone())
            .collect();
        let is_shared = columns.iter().any(|column| {
            // A column that every alternative asks is no obstacle.
            mine.iter().all(|terms| {
                terms
                    .iter()
                    .any(|term| term.column == *column && is_sargable(&term.asks))
            })
        });
        if is_shared || mine.iter().all(Vec::is_empty) {
            continue;
        }
        let wildcards = mine
            .iter()
            .flatten()
            .filter(|term| term.asks == Asks::LeadingWildcard);
        let wildcards: Vec<Cause> = wildcards
            .map(|term| Cause::LeadingWildcard {
                table: table.clone(),
                column: term.column.clone(),
            })
            .collect();
        causes.extend(wildcards);
        if columns.len() > 1 || mine.iter().any(Vec::is_empty) {
            causes.push(Cause::OrAcrossColumns {
                table: table.clone(),
                columns: columns.into_iter().collect(),
            });
        }
    }
}

/// Two columns that are joined: values are converted where their kinds or collations differ.
fn compared(
    place: &Place<'_>,
    catalog: &Catalog,
    column: &crate::catalog::Column,
    (other, name): (usize, &str),
    causes: &mut Vec<Cause>,
) {
    let partner = place
        .block
        .uses
        .get(other)
        .and_then(|used| catalog.tables.get(&used.table));
    let Some(partner) = partner.and_then(|table| table.column(name)) else {
        return;
    };
    let table = place.used.table.clone();
    if column.kind() != partner.kind() {
        // The side whose values are converted is the text.
        if column.kind() == ValueKind::Text {
            causes.push(Cause::Conversion {
                table,
                column: column.name.clone(),
                from: column.kind(),
                to: partner.kind(),
            });
        }
    } else if let (Some(collation), Some(other)) = (&column.collation, &partner.collation)
        && collation != other
    {
        causes.push(Cause::Collation {
            table,
            column: column.name.clone(),
            collation: collation.clone(),
            other: other.clone(),
        });
    }
}

/// Sorts and temporary tables that an index could spare.
fn sorting(block: &Block, evidence: &Evidence<'_>, causes: &mut Vec<Cause>) {
    let is_in_plan = |used: &Use| evidence.plan.table(&used.alias).is_some();
    if !block.uses.iter().any(is_in_plan) {
        return;
    }
    let of_one = |items: &[crate::statement::Sorted]| {
        let first = items.first()?;
        let same = items.iter().all(|item| item.table == first.table);
        let table = block.uses.get(first.table)?.table.clone();
        same.then_some(table)
    };
    let names =
        |items: &[crate::statement::Sorted]| items.iter().map(|item| item.column.clone()).collect();
    if evidence.plan.temporary_table && (block.has_groups || block.distinct) {
        causes.push(Cause::TemporaryTable {
            table: of_one(&block.groups),
            columns: names(&block.groups),
        });
    }
    if evidence.plan.filesort && block.has_order && !block.random_order {
        causes.push(Cause::Filesort {
            table: of_one(&block.order),
            columns: names(&block.order),
        });
    } else if evidence.plan.filesort && block.has_groups && !evidence.plan.temporary_table {
        causes.push(Cause::Filesort {
            table: of_one(&block.groups),
            columns: names(&block.groups),
        });
    }
}
