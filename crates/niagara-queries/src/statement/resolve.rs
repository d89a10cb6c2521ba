//! Which table a name belongs to.

use sqlparser::ast::{
    Expr, Ident, JoinConstraint, JoinOperator, ObjectName, Query, SelectItem, SetExpr,
};

use super::{Asks, Block, Sorted, Term, number};
use crate::catalog::{Catalog, Table, folded, is_same_name};

/// The tables of a block, and of the blocks around it.
pub(super) struct Scope<'b> {
    uses: Vec<(String, &'b Table)>,
    outer: Option<&'b Scope<'b>>,
}

impl<'b> Scope<'b> {
    /// Of the tables that are in the block so far.
    pub fn of(block: &Block, catalog: &'b Catalog, outer: Option<&'b Scope<'b>>) -> Self {
        let uses = block.uses.iter().filter_map(|used| {
            let table = catalog.tables.get(&used.table)?;
            Some((folded(&used.alias), table))
        });
        Self {
            uses: uses.collect(),
            outer,
        }
    }

    pub fn tables(&self) -> impl Iterator<Item = &'b Table> {
        self.uses.iter().map(|(_, table)| *table)
    }

    /// The place of the column's table, and its name as the table has it.
    pub fn column(&self, parts: &[&str]) -> Option<(usize, String)> {
        let (column, qualifier) = parts.split_last()?;
        let of = |place: usize| {
            let table = self.uses[place].1;
            table
                .column(column)
                .map(|column| (place, column.name.clone()))
        };
        match qualifier.last() {
            Some(alias) => {
                let alias = folded(alias);
                let place = self.uses.iter().position(|(name, _)| *name == alias)?;
                of(place)
            }
            None => (0..self.uses.len()).find_map(of),
        }
    }

    /// Whether it is a column of a block around this one.
    pub fn is_outer(&self, parts: &[&str]) -> bool {
        let outer = self.outer;
        outer.is_some_and(|outer| outer.column(parts).is_some() || outer.is_outer(parts))
    }

    /// The place of a table by its alias.
    pub fn alias(&self, alias: &str) -> Option<usize> {
        let alias = folded(alias);
        self.uses.iter().position(|(name, _)| *name == alias)
    }

    /// A column of an order or a group: by its name, by an alias or the number of the projection.
    pub fn sorted(
        &self,
        expr: &Expr,
        projection: &[SelectItem],
        descending: bool,
    ) -> Option<Sorted> {
        let expr = inner(expr);
        let projected = |place: usize| match projection.get(place)? {
            SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => {
                Some(inner(expr))
            }
            _ => None,
        };
        let named = match expr {
            Expr::Value(_) => projected(usize::try_from(number(expr)?).ok()?.checked_sub(1)?)?,
            Expr::Identifier(name) => projection
                .iter()
                .find_map(|item| match item {
                    SelectItem::ExprWithAlias { expr, alias }
                        if is_same_name(&alias.value, &name.value) =>
                    {
                        Some(inner(expr))
                    }
                    _ => None,
                })
                .unwrap_or(expr),
            expr => expr,
        };
        let (table, column) = self.column(&parts_of(named)?)?;
        Some(Sorted {
            table,
            column,
            descending,
        })
    }
}

/// Without parentheses around it.
pub(super) fn inner(expr: &Expr) -> &Expr {
    match expr {
        Expr::Nested(expr) => inner(expr),
        expr => expr,
    }
}

/// The parts of the name that an expression is.
pub(super) fn parts_of(expr: &Expr) -> Option<Vec<&str>> {
    match inner(expr) {
        Expr::Identifier(Ident {
            value, quote_style, ..
        }) if *quote_style != Some('"') => Some(vec![value.as_str()]),
        Expr::CompoundIdentifier(parts) => {
            Some(parts.iter().map(|part| part.value.as_str()).collect())
        }
        _ => None,
    }
}

pub(super) fn parts(name: &ObjectName) -> Vec<&str> {
    let parts = name.0.iter().filter_map(|part| part.as_ident());
    parts.map(|ident| ident.value.as_str()).collect()
}

pub(super) fn last_part(name: &ObjectName) -> &str {
    parts(name).last().copied().unwrap_or_default()
}

/// The table of the catalog that a name means.
pub(super) fn table_of<'c>(
    name: &ObjectName,
    database: &str,
    catalog: &'c Catalog,
) -> Option<&'c Table> {
    match parts(name)[..] {
        [table] => catalog.table(database, table),
        [database, table] => catalog.table(database, table),
        _ => None,
    }
}

pub(super) fn constraint(operator: &JoinOperator) -> Option<&JoinConstraint> {
    match operator {
        JoinOperator::Join(constraint)
        | JoinOperator::Inner(constraint)
        | JoinOperator::Left(constraint)
        | JoinOperator::LeftOuter(constraint)
        | JoinOperator::Right(constraint)
        | JoinOperator::RightOuter(constraint)
        | JoinOperator::FullOuter(constraint)
        | JoinOperator::CrossJoin(constraint)
        | JoinOperator::Semi(constraint)
        | JoinOperator::LeftSemi(constraint)
        | JoinOperator::RightSemi(constraint)
        | JoinOperator::Anti(constraint)
        | JoinOperator::LeftAnti(constraint)
        | JoinOperator::RightAnti(constraint)
        | JoinOperator::StraightJoin(constraint) => Some(constraint),
        _ => None,
    }
}

/// The column that a query in `IN (SELECT …)` gives, as something that is looked up.
pub(super) fn given_column(query: &Query, block: &Block, catalog: &Catalog) -> Option<Term> {
    let SetExpr::Select(select) = &*query.body else {
        return None;
    };
    let [SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. }] =
        &select.projection[..]
    else {
        return None;
    };
    let (table, column) = Scope::of(block, catalog, None).column(&parts_of(expr)?)?;
    Some(Term {
        table,
        column,
        asks: Asks::Join(None),
    })
}
