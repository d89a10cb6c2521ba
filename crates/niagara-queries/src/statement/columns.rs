//! The columns that a block needs of its tables.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use niagara_load::AGGREGATES;
use sqlparser::ast::{
    Expr, OrderByKind, Query, Select, SelectItem, SelectItemQualifiedWildcardKind, Visit, Visitor,
};

use super::resolve::{Scope, parts, parts_of};

/// Functions that make one value of many rows beside those whose value does not depend on the order of the rows.
const BY_ORDER: [&str; 4] = [
    "group_concat",
    "json_arrayagg",
    "json_objectagg",
    "any_value",
];

/// What is needed.
#[derive(Debug, Default)]
pub(super) struct Needed {
    /// By the place of the table in the block.
    pub columns: Vec<BTreeSet<String>>,
    /// A column of a block around it is needed.
    pub refers_to_outer: bool,
    /// It has a function that makes one value of many rows.
    pub aggregates: bool,
}

struct Collector<'s, 'b> {
    scope: &'s Scope<'b>,
    needed: Needed,
    /// Queries around the expression at hand, within the block.
    depth: usize,
}

impl Visitor for Collector<'_, '_> {
    type Break = ();

    fn pre_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
        self.depth += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        if let Expr::Function(function) = expr
            && self.depth == 0
            && function.over.is_none()
        {
            let name = super::resolve::last_part(&function.name).to_lowercase();
            let mut known = AGGREGATES.iter().chain(&BY_ORDER);
            self.needed.aggregates |= known.any(|known| *known == name);
        }
        if matches!(expr, Expr::Identifier(_) | Expr::CompoundIdentifier(_))
            && let Some(parts) = parts_of(expr)
        {
            // In a query within, a bare name is that query's.
            if self.depth == 0 || parts.len() > 1 {
                match self.scope.column(&parts) {
                    Some((table, column)) => {
                        self.needed.columns[table].insert(column);
                    }
                    None => {
                        self.needed.refers_to_outer |=
                            self.depth == 0 && self.scope.is_outer(&parts)
                    }
                }
            }
        }
        ControlFlow::Continue(())
    }
}

/// The columns that a select needs, with those of its query's order.
pub(super) fn collect_columns(select: &Select, query: Option<&Query>, scope: &Scope<'_>) -> Needed {
    let mut collector = Collector {
        scope,
        needed: Needed {
            columns: vec![BTreeSet::new(); scope.tables().count()],
            ..Needed::default()
        },
        depth: 0,
    };
    for item in &select.projection {
        match item {
            SelectItem::Wildcard(_) => {
                for place in 0..collector.needed.columns.len() {
                    collector.all_of(place);
                }
            }
            SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), _) => {
                let place = parts(name).last().and_then(|alias| scope.alias(alias));
                if let Some(place) = place {
                    collector.all_of(place);
                }
            }
            item => {
                let _ = item.visit(&mut collector);
            }
        }
    }
    let aggregates = collector.needed.aggregates;
    for expr in select.selection.iter().chain(&select.having) {
        let _ = expr.visit(&mut collector);
    }
    let _ = select.group_by.visit(&mut collector);
    for table in &select.from {
        for join in &table.joins {
            let _ = join.join_operator.visit(&mut collector);
        }
    }
    if let Some(order) = query.and_then(|query| query.order_by.as_ref())
        && let OrderByKind::Expressions(items) = &order.kind
    {
        for item in items {
            let _ = item.expr.visit(&mut collector);
        }
    }
    collector.needed.aggregates = aggregates;
    collector.needed
}

impl Collector<'_, '_> {
    fn all_of(&mut self, place: usize) {
        if let Some(table) = self.scope.tables().nth(place) {
            let names = table.columns.iter().map(|column| column.name.clone());
            self.needed.columns[place].extend(names);
        }
    }
}

/// The columns of an expression, outside of queries within it.
pub(super) fn columns_of(expr: &Expr, scope: &Scope<'_>) -> (BTreeSet<(usize, String)>, bool) {
    let mut collector = Collector {
        scope,
        needed: Needed {
            columns: vec![BTreeSet::new(); scope.tables().count()],
            ..Needed::default()
        },
        depth: 0,
    };
    let _ = expr.visit(&mut collector);
    let columns = collector.needed.columns.into_iter().enumerate();
    let columns =
        columns.flat_map(|(table, columns)| columns.into_iter().map(move |column| (table, column)));
    (columns.collect(), collector.needed.refers_to_outer)
}

/// Whether an expression calls this function.
pub(super) fn calls(expr: &Expr, name: &str) -> bool {
    struct Finder<'n>(&'n str);
    impl Visitor for Finder<'_> {
        type Break = ();
        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
            match expr {
                Expr::Function(function)
                    if super::resolve::last_part(&function.name).eq_ignore_ascii_case(self.0) =>
                {
                    ControlFlow::Break(())
                }
                _ => ControlFlow::Continue(()),
            }
        }
    }
    expr.visit(&mut Finder(name)).is_break()
}

/// The queries within an expression, without those within them.
pub(super) fn subqueries<'a>(expr: &'a Expr, found: &mut Vec<&'a Query>) {
    use sqlparser::ast::{FunctionArg, FunctionArgExpr, FunctionArguments, InTarget};
    match expr {
        Expr::Subquery(query) => found.push(query),
        Expr::Exists { subquery, .. } => found.push(subquery),
        Expr::In { expr, target, .. } => {
            subqueries(expr, found);
            if let InTarget::Subquery(query) = target {
                found.push(query);
            }
        }
        Expr::Nested(inner)
        | Expr::UnaryOp { expr: inner, .. }
        | Expr::Cast { expr: inner, .. } => subqueries(inner, found),
        Expr::BinaryOp { left, right, .. }
        | Expr::AnyOp { left, right, .. }
        | Expr::AllOp { left, right, .. } => {
            subqueries(left, found);
            subqueries(right, found);
        }
        Expr::Between {
            expr, low, high, ..
        } => {
            subqueries(expr, found);
            subqueries(low, found);
            subqueries(high, found);
        }
        Expr::Case {
            operand,
            conditions,
            else_result,
            ..
        } => {
            for expr in operand.iter().chain(else_result) {
                subqueries(expr, found);
            }
            for when in conditions {
                subqueries(&when.condition, found);
                subqueries(&when.result, found);
            }
        }
        Expr::Function(function) => {
            if let FunctionArguments::List(list) = &function.args {
                for argument in &list.args {
                    if let FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) = argument {
                        subqueries(expr, found);
                    }
                }
            }
        }
        _ => {}
    }
}
