//! Indexes that can go: duplicates, beginnings of others, and those that nothing in the capture uses.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Serialize;

use crate::catalog::{
    Catalog, ForeignKey, Index, IndexKind, Table, TableName, folded, is_same_name, parts_in_words,
    readable,
};

/// An index that can go.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Drop {
    /// The table.
    pub table: TableName,
    /// The index as it is: its undo.
    pub index: Index,
    /// Why.
    pub reason: DropReason,
}

/// Why an index can go.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "code")]
pub enum DropReason {
    /// Another one has the same parts.
    Duplicate {
        /// The other.
        of: String,
    },
    /// Another one begins with its parts.
    LeftPrefix {
        /// The other.
        of: String,
    },
    /// No statement of the capture uses it.
    NeverUsed,
    /// Statements of the capture use it, and none does once the set is there.
    NotUsedBesideSet,
}

impl DropReason {
    /// Whether it goes for what a capture does not do, which others may do.
    pub fn is_by_use(&self) -> bool {
        self.covered_by().is_none()
    }

    /// The index that does what this one does; none where it goes for what a capture does not do.
    pub fn covered_by(&self) -> Option<&str> {
        match self {
            Self::Duplicate { of } | Self::LeftPrefix { of } => Some(of),
            Self::NeverUsed | Self::NotUsedBesideSet => None,
        }
    }
}

/// An index that would be dropped and stays.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Kept {
    /// The table.
    pub table: TableName,
    /// The index.
    pub index: String,
    /// Why.
    pub reason: KeptReason,
}

/// Why an index stays.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "code")]
pub enum KeptReason {
    /// It enforces that values differ.
    Unique,
    /// A foreign key needs it.
    ForeignKey {
        /// The foreign key.
        name: String,
    },
    /// USE, FORCE or IGNORE INDEX of a statement names it.
    Named,
    /// Statements read more without it.
    StillUseful,
    /// Not every statement of the capture could be looked at.
    NotAllSeen {
        /// How many could not.
        statements: u64,
    },
}

/// What the statements of a capture do with indexes.
#[derive(Debug, Clone, Default)]
pub struct IndexUse {
    /// The indexes that some statement uses beside the set.
    pub used: BTreeSet<(TableName, String)>,
    /// The indexes that some statement uses without the set.
    pub used_before: BTreeSet<(TableName, String)>,
    /// Those that a hint names, in lower case.
    pub named: BTreeSet<(TableName, String)>,
    /// The tables of all statements.
    pub touched: BTreeSet<TableName>,
    /// How many digests could not be looked at.
    pub unseen: u64,
}

/// The indexes that can go by their parts, or because nothing uses them.
pub fn drops(catalog: &Catalog, of: &IndexUse) -> (Vec<Drop>, Vec<Kept>) {
    let (mut drops, mut kept) = (Vec::new(), Vec::new());
    let (mut used, mut used_before) = (of.used.clone(), of.used_before.clone());
    for table in catalog.tables.values().filter(|table| table.is_innodb()) {
        let mut gone: BTreeSet<String> = BTreeSet::new();
        for index in &table.indexes {
            let ordered = index.kind == IndexKind::Ordered && index.visible;
            if index.is_primary() || !ordered {
                continue;
            }
            let place = (table.name.clone(), index.name.clone());
            let is_used = used.contains(&place);
            let is_named = (of.named).contains(&(table.name.clone(), folded(&index.name)));
            let reason = match covered_by(table, index, &gone) {
                Some(reason) => reason,
                // A table that the capture does not touch says nothing of its indexes.
                None if !is_used && of.touched.contains(&table.name) => {
                    match used_before.contains(&place) {
                        true => DropReason::NotUsedBesideSet,
                        false => DropReason::NeverUsed,
                    }
                }
                None => continue,
            };
            let named = is_named.then_some(KeptReason::Named);
            let stays = named.or_else(|| stays(catalog, table, index, &gone));
            let stays = stays.or_else(|| {
                let is_unsure = reason.is_by_use() && of.unseen > 0;
                is_unsure.then_some(KeptReason::NotAllSeen {
                    statements: of.unseen,
                })
            });
            match stays {
                // That a unique index is not used for reading is no news.
                Some(KeptReason::Unique) if reason.is_by_use() => {}
                Some(reason) => kept.push(Kept {
                    table: table.name.clone(),
                    index: index.name.clone(),
                    reason,
                }),
                None => {
                    // What uses it will use the one that covers it, which must not go for want of use.
                    if let Some(other) = reason.covered_by() {
                        for uses in [&mut used, &mut used_before] {
                            if uses.contains(&place) {
                                uses.insert((table.name.clone(), other.to_owned()));
                            }
                        }
                    }
                    gone.insert(index.name.clone());
                    drops.push(Drop {
                        table: table.name.clone(),
                        index: index.clone(),
                        reason,
                    });
                }
            }
        }
    }
    (drops, kept)
}

/// The index that does what this one does.
fn covered_by(table: &Table, index: &Index, gone: &BTreeSet<String>) -> Option<DropReason> {
    table.indexes.iter().find_map(|other| {
        let stays = other.name != index.name && other.visible && !gone.contains(&other.name);
        if !stays || !other.begins_with(&index.parts) {
            return None;
        }
        match other.parts.len() == index.parts.len() {
            // Of two that are the same the one that enforces more stays, else the first.
            true if index.unique && !other.unique => None,
            true => Some(DropReason::Duplicate {
                of: other.name.clone(),
            }),
            false => Some(DropReason::LeftPrefix {
                of: other.name.clone(),
            }),
        }
    })
}

/// What needs the index.
fn stays(
    catalog: &Catalog,
    table: &Table,
    index: &Index,
    gone: &BTreeSet<String>,
) -> Option<KeptReason> {
    if index.unique {
        let same = table.indexes.iter().any(|other| {
            other.name != index.name
                && other.unique
                && !gone.contains(&other.name)
                && other.parts == index.parts
        });
        if !same {
            return Some(KeptReason::Unique);
        }
    }
    let needs = |(_, columns): &(&ForeignKey, &[String])| {
        let serves = |index: &Index| {
            index.kind == IndexKind::Ordered
                && index.parts.len() >= columns.len()
                && index.parts.iter().zip(*columns).all(|(part, column)| {
                    is_same_name(&part.column, column) && part.prefix.is_none()
                })
        };
        serves(index)
            && !(table.indexes.iter()).any(|other| {
                other.name != index.name && !gone.contains(&other.name) && serves(other)
            })
    };
    let foreign = catalog.foreign_keys_on(&table.name).find(needs);
    foreign.map(|(key, _)| KeptReason::ForeignKey {
        name: key.name.clone(),
    })
}

impl Drop {
    /// The clause of ALTER TABLE that undoes it.
    pub fn undo_clause(&self) -> String {
        let parts: Vec<String> = self
            .index
            .parts
            .iter()
            .map(crate::catalog::IndexPart::sql)
            .collect();
        let unique = if self.index.unique { "UNIQUE " } else { "" };
        format!(
            "ADD {unique}INDEX {} ({})",
            crate::catalog::quote(&self.index.name),
            parts.join(", ")
        )
    }

    /// For people: `shop.orders.cust (customer_id)`.
    pub fn title(&self) -> String {
        format!(
            "{}.{} {}",
            self.table,
            readable(&self.index.name),
            parts_in_words(&self.index.parts)
        )
    }
}
