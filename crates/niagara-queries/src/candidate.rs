//! Indexes that statements ask for: by equality, IN, range, join, order, group, and covering; merged where one order serves two
//! statements; and indexes that can go.

mod drops;
mod shape;

use std::collections::{BTreeMap, BTreeSet};

use niagara_server::HideClause;
use schemars::JsonSchema;
use serde::Serialize;

use crate::catalog::{
    Abilities, Catalog, Index, IndexKind, IndexPart, Table, TableName, ValueKind, folded, quote,
};
use crate::statement::{Asks, Block, Structure, Term};
pub use drops::{Drop, DropReason, IndexUse, Kept, KeptReason, drops};
use shape::Shape;

/// Longest key of an index, in bytes: InnoDB's, with DYNAMIC rows and pages of 16 KB.
const MAX_KEY: u64 = 3072;
/// Most parts of an index that is proposed.
const MAX_PARTS: usize = 6;
/// Most columns of an index that is to hold all that a statement needs.
const MAX_COVERING: usize = 5;
/// A column longer than this is not added only to cover.
const MAX_COVERING_BYTES: u64 = 400;
/// Most candidates of a table that are tried: as statements ask for them, and of orders that serve several.
const MAX_OF_TABLE: usize = 16;
const MAX_MERGED: usize = 8;
/// Lengths of prefixes that are tried, in characters.
const PREFIXES: [u64; 5] = [8, 16, 32, 64, 128];
/// A prefix is long enough when it tells so many of the values apart.
const TELLS_APART: f64 = 0.95;

/// Why an index is proposed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// Finds rows by values.
    Equality,
    /// Finds rows within bounds.
    Range,
    /// Finds the rows of a join.
    Join,
    /// Gives rows in order.
    Order,
    /// Gives rows by groups.
    Group,
    /// Holds all columns that a statement needs.
    Covering,
    /// Answers one alternative of an OR.
    Alternative,
    /// Finds rows by a function of a column.
    Function,
}

/// An index that may help.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Candidate {
    /// The table.
    pub table: TableName,
    /// Its name, which no index of the table has, unless it is there and hidden.
    pub name: String,
    /// The clause that shows it, where the index exists and is hidden from the optimizer; none of a new index.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hidden: Option<HideClause>,
    /// Its parts.
    pub parts: Vec<IndexPart>,
    /// Why it is proposed.
    pub purposes: BTreeSet<Purpose>,
    /// The digests that asked for it, by their places.
    #[serde(skip)]
    pub digests: BTreeSet<usize>,
    /// Existing indexes that it makes superfluous: they are its beginning.
    pub replaces: Vec<String>,
}

impl Candidate {
    /// The clause of ALTER TABLE that makes it, or shows it.
    pub fn add_clause(&self) -> String {
        if let Some(hiding) = self.hidden {
            return format!("ALTER INDEX {} {}", quote(&self.name), hiding.shows());
        }
        let parts: Vec<String> = self.parts.iter().map(IndexPart::sql).collect();
        format!("ADD INDEX {} ({})", quote(&self.name), parts.join(", "))
    }

    /// The clause that takes it back.
    pub(crate) fn undo_clause(&self) -> String {
        match self.hidden {
            Some(hiding) => format!("ALTER INDEX {} {}", quote(&self.name), hiding.hides()),
            None => format!("DROP INDEX {}", quote(&self.name)),
        }
    }
}

/// What was thought of and is not tried, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct NotTried {
    /// The table.
    pub table: TableName,
    /// The parts.
    pub parts: Vec<IndexPart>,
    /// Why.
    pub reason: NotTriedReason,
}

/// Why a candidate is not tried.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "code")]
pub enum NotTriedReason {
    /// An index has these parts, or begins with them.
    Exists {
        /// The index.
        index: String,
    },
    /// The primary key, or a unique index, finds the row already.
    FoundByUnique {
        /// The index.
        index: String,
    },
    /// Its key would be longer than an index may have.
    TooLong {
        /// Bytes.
        bytes: u64,
    },
    /// A column's values cannot be in an ordered index.
    NotIndexable {
        /// The column.
        column: String,
    },
    /// The table's engine is not InnoDB, whose pages are counted.
    OtherEngine {
        /// The engine.
        engine: String,
    },
    /// Others of the table promise more.
    TooMany,
    /// The table has hardly any rows.
    SmallTable {
        /// Rows.
        rows: u64,
    },
}

/// A table with fewer rows is read in a page or two.
const SMALL_TABLE: u64 = 100;

/// What is known of a column's values, from a sample of the table's rows.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ColumnValues {
    /// Share of the sample's rows that have different values, 0 to 1.
    pub distinct: f64,
    /// The same of the beginnings of the values, by the number of characters.
    pub distinct_prefixes: Vec<(u64, f64)>,
}

/// By table and column.
pub type Values = BTreeMap<(TableName, String), ColumnValues>;

/// A statement that asks for indexes.
#[derive(Debug)]
pub struct Asking<'a> {
    /// Its place among the digests.
    pub digest: usize,
    /// Its structures: as sent, and as the server has resolved it.
    pub structures: Vec<&'a Structure>,
    /// How much of the work is its own: those with more come first.
    pub weight: f64,
}

/// The candidates for all statements, and what was not tried.
pub fn candidates(
    asking: &[Asking<'_>],
    catalog: &Catalog,
    values: &Values,
    abilities: Abilities,
) -> (Vec<Candidate>, Vec<NotTried>) {
    let mut shapes: BTreeMap<TableName, Vec<Shape>> = BTreeMap::new();
    for one in asking {
        for structure in &one.structures {
            for block in &structure.blocks {
                for shape in shapes_of(block, catalog, abilities) {
                    let table = block.uses[shape.used].table.clone();
                    let of_table = shapes.entry(table).or_default();
                    shape::add(of_table, shape.with_digest(one.digest, one.weight));
                }
            }
        }
    }
    let mut chosen = Vec::new();
    let mut not_tried = Vec::new();
    for (name, shapes) in shapes {
        let Some(table) = catalog.tables.get(&name) else {
            continue;
        };
        of_table(
            table,
            shapes,
            values,
            abilities,
            &mut chosen,
            &mut not_tried,
        );
    }
    (chosen, not_tried)
}

fn of_table(
    table: &Table,
    shapes: Vec<Shape>,
    values: &Values,
    abilities: Abilities,
    chosen: &mut Vec<Candidate>,
    not_tried: &mut Vec<NotTried>,
) {
    let refuse = |parts: Vec<IndexPart>, reason: NotTriedReason| NotTried {
        table: table.name.clone(),
        parts,
        reason,
    };
    let shapes = shape::without_beginnings(shapes);
    let (mut plain, mut merged) = (shapes.clone(), shape::merged(&shapes));
    for shapes in [&mut plain, &mut merged] {
        shapes.sort_by(|a, b| b.weight.total_cmp(&a.weight));
    }
    let mut candidates: Vec<Candidate> = Vec::new();
    let limits = (plain.into_iter().map(|shape| (shape, MAX_OF_TABLE))).chain(
        merged
            .into_iter()
            .map(|shape| (shape, MAX_OF_TABLE + MAX_MERGED)),
    );
    for (shape, limit) in limits {
        let mut parts = match parts_of(&shape, table, values) {
            Ok(parts) => parts,
            Err((parts, reason)) => {
                not_tried.push(refuse(parts, reason));
                continue;
            }
        };
        if let Some(reason) = needless(&parts, &shape, table) {
            not_tried.push(refuse(parts, reason));
            continue;
        }
        let hidden = hidden(&parts, table);
        if let Some(index) = hidden {
            parts.clone_from(&index.parts);
        }
        if let Some(known) = candidates.iter_mut().find(|known| known.parts == parts) {
            known.purposes.extend(shape.purposes.clone());
            known.digests.extend(shape.digests.keys().copied());
            continue;
        }
        if candidates.len() >= limit {
            not_tried.push(refuse(parts, NotTriedReason::TooMany));
            continue;
        }
        candidates.push(Candidate {
            table: table.name.clone(),
            name: hidden.map_or_else(String::new, |index| index.name.clone()),
            hidden: abilities.hiding.filter(|_| hidden.is_some()),
            replaces: replaced(&parts, table),
            purposes: shape.purposes.clone(),
            digests: shape.digests.keys().copied().collect(),
            parts,
        });
    }
    let mut names: BTreeSet<String> = table
        .indexes
        .iter()
        .map(|index| folded(&index.name))
        .collect();
    let made = candidates.iter_mut().filter(|one| one.name.is_empty());
    for candidate in made {
        candidate.name = free_name(&candidate.parts, &mut names);
    }
    not_tried.dedup();
    chosen.extend(candidates);
}

/// A name of the parts that no other index has.
fn free_name(parts: &[IndexPart], taken: &mut BTreeSet<String>) -> String {
    let words = parts.iter().map(|part| match &part.expression {
        None => part.column.clone(),
        Some(expression) => expression
            .chars()
            .filter(|c| c.is_ascii_alphanumeric() || *c == '_')
            .collect(),
    });
    let words: Vec<String> = words.collect();
    // Names of indexes may have 64 characters.
    let base: String = format!("idx_{}", words.join("_"))
        .chars()
        .take(56)
        .collect();
    let mut name = base.clone();
    let mut number = 2;
    while !taken.insert(folded(&name)) {
        name = format!("{base}_{number}");
        number += 1;
    }
    name
}

/// An index with these parts, or more behind them, that is hidden: writes pay for it already. The shortest of them.
fn hidden<'t>(parts: &[IndexPart], table: &'t Table) -> Option<&'t Index> {
    let hidden = (table.indexes.iter()).filter(|index| !index.visible && index.begins_with(parts));
    hidden.min_by_key(|index| index.parts.len())
}

/// Existing indexes that are the beginning of the new one and enforce nothing.
fn replaced(parts: &[IndexPart], table: &Table) -> Vec<String> {
    let is_beginning = |index: &&Index| {
        !index.unique
            && index.kind == IndexKind::Ordered
            && index.visible
            && index.parts.len() < parts.len()
            && parts[..index.parts.len()] == index.parts[..]
    };
    let indexes = table.indexes.iter().filter(is_beginning);
    indexes.map(|index| index.name.clone()).collect()
}

/// Why an index with these parts is not needed.
fn needless(parts: &[IndexPart], shape: &Shape, table: &Table) -> Option<NotTriedReason> {
    if let Some(index) =
        (table.indexes.iter()).find(|index| index.visible && index.begins_with(parts))
    {
        return Some(NotTriedReason::Exists {
            index: index.name.clone(),
        });
    }
    // A row that a unique index finds by its values needs no other.
    let found = shape.found_by();
    let unique = table.indexes.iter().find(|index| {
        let is_given = |part: &IndexPart| {
            part.prefix.is_none() && found.iter().any(|column| *column == folded(&part.column))
        };
        let finds = index.unique && index.visible && index.kind == IndexKind::Ordered;
        finds && index.parts.iter().all(is_given)
    });
    if let Some(index) = unique {
        return Some(NotTriedReason::FoundByUnique {
            index: index.name.clone(),
        });
    }
    // An index that begins with the whole primary key of a clustered table finds nothing sooner.
    if let Some(primary) = table.primary().filter(|_| table.is_innodb())
        && parts.len() > primary.parts.len()
        && parts[..primary.parts.len()] == primary.parts[..]
    {
        return Some(NotTriedReason::Exists {
            index: primary.name.clone(),
        });
    }
    None
}

/// The parts of an index in the order that the shape leaves open, by how well columns tell rows apart.
fn parts_of(
    shape: &Shape,
    table: &Table,
    values: &Values,
) -> Result<Vec<IndexPart>, (Vec<IndexPart>, NotTriedReason)> {
    let distinct = |column: &str| {
        let known = values.get(&(table.name.clone(), column.to_owned()));
        known.map_or(0.0, |known| known.distinct)
    };
    let mut parts: Vec<IndexPart> = Vec::new();
    let all = shape.along(table).ordered(&distinct);
    let plain = || all.clone();
    if table.rows < SMALL_TABLE {
        return Err((plain(), NotTriedReason::SmallTable { rows: table.rows }));
    }
    if !table.is_innodb() {
        let engine = table.engine.clone().unwrap_or_default();
        return Err((plain(), NotTriedReason::OtherEngine { engine }));
    }
    let mut bytes = 0;
    for mut part in all.iter().cloned() {
        if part.expression.is_some() {
            bytes += 100;
            parts.push(part);
            continue;
        }
        let Some(column) = table.column(&part.column) else {
            return Err((
                plain(),
                NotTriedReason::NotIndexable {
                    column: part.column,
                },
            ));
        };
        if column.kind() == ValueKind::Other {
            let column = part.column;
            return Err((plain(), NotTriedReason::NotIndexable { column }));
        }
        let left = MAX_KEY.saturating_sub(bytes);
        if column.needs_prefix() || column.key_bytes() > left {
            let known = values.get(&(table.name.clone(), column.name.clone()));
            let enough = known.and_then(|known| {
                let fits = known
                    .distinct_prefixes
                    .iter()
                    .find(|(_, distinct)| *distinct >= TELLS_APART * known.distinct);
                fits.or(known.distinct_prefixes.last())
            });
            let characters = enough.map_or(PREFIXES[2], |(characters, _)| *characters);
            let width = match (column.bytes, column.length) {
                (Some(bytes), Some(length)) if length > 0 => bytes.div_ceil(length).clamp(1, 4),
                _ => 4,
            };
            if characters * width > left {
                return Err((
                    plain(),
                    NotTriedReason::TooLong {
                        bytes: bytes + characters * width,
                    },
                ));
            }
            part.prefix = Some(characters);
            parts.push(part);
            // Behind a prefix nothing is in order.
            break;
        }
        bytes += column.key_bytes();
        parts.push(part);
    }
    Ok(parts)
}

/// Lengths of prefixes that are worth a look for a column.
pub fn prefixes() -> &'static [u64] {
    &PREFIXES
}

/// The shapes that a block asks for.
fn shapes_of(block: &Block, catalog: &Catalog, abilities: Abilities) -> Vec<Shape> {
    let mut shapes = Vec::new();
    for (used, table_use) in block.uses.iter().enumerate() {
        let Some(table) = catalog.tables.get(&table_use.table) else {
            continue;
        };
        let terms: Vec<&Term> = block
            .terms
            .iter()
            .filter(|term| term.table == used)
            .collect();
        let asked = Asked::of(&terms);
        let mut of_use = asked.shapes(block, used, abilities);
        for alternatives in &block.alternatives {
            for alternative in alternatives {
                let with: Vec<&Term> = alternative
                    .iter()
                    .filter(|term| term.table == used)
                    .collect();
                if with.is_empty() {
                    continue;
                }
                let asked = Asked::of(
                    &with
                        .iter()
                        .copied()
                        .chain(terms.iter().copied())
                        .collect::<Vec<_>>(),
                );
                for mut shape in asked.shapes(&Block::default(), used, abilities) {
                    shape.purposes.insert(Purpose::Alternative);
                    of_use.push(shape);
                }
            }
        }
        let mut covering: Vec<Shape> = Vec::new();
        for shape in &of_use {
            if let Some(shape) = covering_shape(shape, &table_use.columns, table) {
                covering.push(shape);
            }
        }
        // A scan of all that is needed, where nothing is asked.
        if of_use.is_empty()
            && (block.aggregates || block.has_groups)
            && let Some(shape) = covering_shape(
                &Shape::of(used, Vec::new(), Purpose::Covering),
                &table_use.columns,
                table,
            )
        {
            covering.push(shape);
        }
        shapes.extend(
            of_use
                .into_iter()
                .chain(covering)
                .filter(|shape| !shape.is_empty()),
        );
    }
    shapes
}

/// The shape with all other columns that are needed behind it, where they are few and short.
fn covering_shape(shape: &Shape, needed: &BTreeSet<String>, table: &Table) -> Option<Shape> {
    let has = shape.columns();
    let in_key = |column: &String| {
        let primary = table.primary().filter(|_| table.is_innodb());
        primary.is_some_and(|primary| primary.parts.iter().any(|part| part.column == *column))
    };
    let others: BTreeSet<String> = needed
        .iter()
        .filter(|column| !has.contains(*column) && !in_key(column))
        .cloned()
        .collect();
    if others.is_empty() || has.len() + others.len() > MAX_COVERING || shape.has_expression() {
        return None;
    }
    let is_short = |name: &String| {
        let column = table.column(name);
        column.is_some_and(|column| {
            !column.needs_prefix() && column.key_bytes() <= MAX_COVERING_BYTES
        })
    };
    others
        .iter()
        .all(is_short)
        .then(|| shape.clone().covering(others))
}

/// What a block asks of one table, sorted by what an index can do with it.
#[derive(Default)]
struct Asked {
    equal: BTreeSet<String>,
    any_of: BTreeSet<String>,
    ranges: BTreeSet<String>,
    joins: BTreeSet<String>,
    functions: Vec<String>,
}

impl Asked {
    fn of(terms: &[&Term]) -> Self {
        let mut asked = Self::default();
        for term in terms {
            let column = term.column.clone();
            match &term.asks {
                Asks::Equal(_) => asked.equal.insert(column),
                Asks::In(_) => asked.any_of.insert(column),
                Asks::Range(_) | Asks::Prefix => asked.ranges.insert(column),
                Asks::Join(_) => asked.joins.insert(column),
                Asks::Function {
                    expression: Some(expression),
                    name,
                } if name != "rand" && !expression.contains('\'') => {
                    asked.functions.push(expression.clone());
                    false
                }
                Asks::Function { .. } | Asks::LeadingWildcard | Asks::Not | Asks::Words => false,
            };
        }
        asked.any_of = asked.any_of.difference(&asked.equal).cloned().collect();
        asked.ranges = asked.ranges.difference(&asked.equal).cloned().collect();
        asked.ranges = asked.ranges.difference(&asked.any_of).cloned().collect();
        asked
    }

    fn shapes(&self, block: &Block, used: usize, abilities: Abilities) -> Vec<Shape> {
        let mut shapes = Vec::new();
        let columns = |set: &BTreeSet<String>| {
            set.iter()
                .map(|name| IndexPart::column(name))
                .collect::<BTreeSet<_>>()
        };
        let equal = columns(&self.equal);
        let joins: BTreeSet<IndexPart> =
            columns(&self.joins.difference(&self.equal).cloned().collect());
        let any_of = columns(&self.any_of);
        let one = |part: &IndexPart| BTreeSet::from([part.clone()]);
        let fixed: BTreeSet<IndexPart> = equal.union(&any_of).cloned().collect();
        let mut add = |groups: Vec<BTreeSet<IndexPart>>, purpose: Purpose| {
            shapes.push(Shape::of(used, groups, purpose));
        };
        if !fixed.is_empty() {
            add(vec![equal.clone(), any_of.clone()], Purpose::Equality);
        }
        for range in columns(&self.ranges) {
            add(
                vec![equal.clone(), any_of.clone(), one(&range)],
                Purpose::Range,
            );
        }
        for join in &joins {
            add(vec![one(join)], Purpose::Join);
            if !equal.is_empty() {
                add(
                    vec![equal.union(&one(join)).cloned().collect()],
                    Purpose::Join,
                );
            }
        }
        if joins.len() > 1 {
            add(vec![joins.clone()], Purpose::Join);
        }
        let filters = !any_of.is_empty() || !self.ranges.is_empty();
        if filters && !joins.is_empty() {
            let keys: BTreeSet<IndexPart> = equal.union(&joins).cloned().collect();
            for range in any_of.iter().cloned().chain(columns(&self.ranges)) {
                add(vec![keys.clone(), one(&range)], Purpose::Join);
            }
        }
        for (items, purpose) in [
            (&block.order, Purpose::Order),
            (&block.groups, Purpose::Group),
        ] {
            if items.is_empty() || items.iter().any(|item| item.table != used) {
                continue;
            }
            // What is fixed by equality need not be in the order.
            let free: Vec<_> = items
                .iter()
                .filter(|item| !self.equal.contains(&item.column))
                .collect();
            if free.is_empty() {
                continue;
            }
            let is_mixed = free
                .iter()
                .any(|item| item.descending != free[0].descending);
            if is_mixed && !abilities.descending {
                continue;
            }
            let sequence = free.iter().map(|item| {
                BTreeSet::from([IndexPart {
                    descending: is_mixed && item.descending,
                    ..IndexPart::column(&item.column)
                }])
            });
            let sequence: Vec<BTreeSet<IndexPart>> = sequence.collect();
            let behind = |first: &BTreeSet<IndexPart>| {
                let mut groups = vec![first.clone()];
                groups.extend(sequence.clone());
                groups
            };
            if !equal.is_empty() {
                add(behind(&equal), purpose.clone());
            }
            if equal.is_empty() || block.limit.is_some() {
                add(sequence.clone(), purpose.clone());
            }
        }
        if abilities.functional {
            for expression in &self.functions {
                let part = IndexPart {
                    expression: Some(expression.clone()),
                    ..IndexPart::column("")
                };
                add(vec![equal.clone(), one(&part)], Purpose::Function);
            }
        }
        shapes
    }
}

#[cfg(test)]
mod tests;
