//! Conditions as what they ask of columns.

use std::ops::ControlFlow;

use sqlparser::ast::{
    BinaryOperator, Expr, Ident, InTarget, Query, UnaryOperator, Value, VisitMut, VisitorMut,
};

use super::columns::{columns_of, subqueries};
use super::resolve::{Scope, inner, last_part, parts_of};
use super::{Asks, Operand, Term};

/// What conditions ask, and the queries within them.
#[derive(Default)]
pub(super) struct Found<'a> {
    pub terms: Vec<Term>,
    pub alternatives: Vec<Vec<Vec<Term>>>,
    pub queries: Vec<Inner<'a>>,
    pub refers_to_outer: bool,
}

/// A query within a condition.
pub(super) struct Inner<'a> {
    pub query: &'a Query,
    /// Of `IN (SELECT …)`.
    pub is_in: bool,
}

/// One side of a comparison.
enum Side {
    Column(usize, String),
    Outer,
    Constant(Operand),
    Wrapped {
        table: usize,
        column: String,
        name: String,
        expression: Option<String>,
    },
    Mixed,
}

/// Adds what a condition asks.
pub(super) fn find_terms<'a>(expr: &'a Expr, scope: &Scope<'_>, found: &mut Found<'a>) {
    let (_, refers_to_outer) = columns_of(expr, scope);
    found.refers_to_outer |= refers_to_outer;
    match expr {
        Expr::Nested(inner) => find_terms(inner, scope, found),
        Expr::BinaryOp { left, op, right } => match op {
            BinaryOperator::And => {
                find_terms(left, scope, found);
                find_terms(right, scope, found);
            }
            BinaryOperator::Or => find_alternatives(expr, scope, found),
            _ => {
                compare(left, op, right, scope, found);
                add_queries(expr, found);
            }
        },
        Expr::In {
            expr,
            target,
            negated,
            ..
        } => {
            let operand = match target {
                InTarget::List(list) => list.first().map_or(Operand::Other, operand),
                _ => Operand::Other,
            };
            let asks = match (negated, target) {
                (true, _) => Asks::Not,
                (false, InTarget::Subquery(_)) => Asks::Join(None),
                (false, InTarget::List(list)) if list.len() == 1 => Asks::Equal(operand),
                (false, _) => Asks::In(operand),
            };
            match inner(expr) {
                Expr::Tuple(items) => {
                    for item in items {
                        ask(side(item, scope), asks.clone(), scope, found);
                    }
                }
                expr => ask(side(expr, scope), asks, scope, found),
            }
            if let InTarget::Subquery(query) = target {
                found.queries.push(Inner {
                    query,
                    is_in: !negated,
                });
            }
            add_queries(expr, found);
        }
        Expr::Between {
            expr,
            negated,
            low,
            high,
        } => {
            let asks = match negated {
                true => Asks::Not,
                false => Asks::Range(operand(low)),
            };
            ask(side(expr, scope), asks, scope, found);
            for expr in [expr, low, high] {
                add_queries(expr, found);
            }
        }
        Expr::Like {
            negated,
            expr,
            pattern,
            ..
        } => {
            let asks = match (negated, text(pattern)) {
                (true, _) => Asks::Not,
                (false, Some(text)) if text.starts_with(['%', '_']) => Asks::LeadingWildcard,
                (false, _) => Asks::Prefix,
            };
            ask(side(expr, scope), asks, scope, found);
        }
        Expr::RLike { expr, .. } => ask(side(expr, scope), Asks::LeadingWildcard, scope, found),
        Expr::IsNull(expr) => ask(side(expr, scope), Asks::Equal(Operand::Other), scope, found),
        Expr::IsNotNull(expr) => ask(side(expr, scope), Asks::Not, scope, found),
        Expr::MatchAgainst { columns, .. } => {
            for name in columns {
                if let Some((table, column)) = scope.column(&super::resolve::parts(name)) {
                    found.terms.push(Term {
                        table,
                        column,
                        asks: Asks::Words,
                    });
                }
            }
        }
        Expr::UnaryOp {
            op: UnaryOperator::Not | UnaryOperator::BangNot,
            expr,
        } => {
            for (table, column) in columns_of(expr, scope).0 {
                found.terms.push(Term {
                    table,
                    column,
                    asks: Asks::Not,
                });
            }
            add_queries(expr, found);
        }
        // A tuple compared as a whole, a function as a condition.
        expr => {
            if let Side::Wrapped {
                table,
                column,
                name,
                expression,
            } = side(expr, scope)
            {
                found.terms.push(Term {
                    table,
                    column,
                    asks: Asks::Function { name, expression },
                });
            }
            add_queries(expr, found);
        }
    }
}

fn add_queries<'a>(expr: &'a Expr, found: &mut Found<'a>) {
    let mut queries = Vec::new();
    subqueries(expr, &mut queries);
    let inner = queries.into_iter().map(|query| Inner {
        query,
        is_in: false,
    });
    found.queries.extend(inner);
}

/// `a OR b OR c`: one column's values where all ask the same column, else alternatives.
fn find_alternatives<'a>(expr: &'a Expr, scope: &Scope<'_>, found: &mut Found<'a>) {
    let mut arms = Vec::new();
    flatten(expr, &mut arms);
    let mut alternatives = Vec::new();
    for arm in arms {
        let mut inside = Found::default();
        find_terms(arm, scope, &mut inside);
        found.queries.append(&mut inside.queries);
        found.alternatives.append(&mut inside.alternatives);
        alternatives.push(inside.terms);
    }
    let single = |terms: &Vec<Term>| match &terms[..] {
        [
            Term {
                table,
                column,
                asks: Asks::Equal(operand) | Asks::In(operand),
            },
        ] => Some((*table, column.clone(), *operand)),
        _ => None,
    };
    let same: Option<Vec<_>> = alternatives.iter().map(single).collect();
    if let Some(same) = same
        && let Some((table, column, operand)) = same.first().cloned()
        && same.iter().all(|(t, c, _)| *t == table && *c == column)
    {
        found.terms.push(Term {
            table,
            column,
            asks: Asks::In(operand),
        });
        return;
    }
    found.alternatives.push(alternatives);
}

fn flatten<'a>(expr: &'a Expr, arms: &mut Vec<&'a Expr>) {
    match expr {
        Expr::Nested(inner) => flatten(inner, arms),
        Expr::BinaryOp {
            left,
            op: BinaryOperator::Or,
            right,
        } => {
            flatten(left, arms);
            flatten(right, arms);
        }
        expr => arms.push(expr),
    }
}

fn compare<'a>(
    left: &'a Expr,
    op: &BinaryOperator,
    right: &'a Expr,
    scope: &Scope<'_>,
    found: &mut Found<'a>,
) {
    let kind: fn(Operand) -> Asks = match op {
        BinaryOperator::Eq | BinaryOperator::Spaceship => Asks::Equal,
        BinaryOperator::Lt | BinaryOperator::LtEq | BinaryOperator::Gt | BinaryOperator::GtEq => {
            Asks::Range
        }
        BinaryOperator::NotEq => |_| Asks::Not,
        _ => return,
    };
    if let (Expr::Tuple(left), Expr::Tuple(right)) = (inner(left), inner(right)) {
        for (left, right) in left.iter().zip(right) {
            compare(left, op, right, scope, found);
        }
        return;
    }
    match (side(left, scope), side(right, scope)) {
        (Side::Column(table, column), Side::Column(other, partner)) if table != other => {
            let is_equal = matches!(kind(Operand::Other), Asks::Equal(_));
            for (table, column, other) in [
                (table, column.clone(), (other, partner.clone())),
                (other, partner, (table, column)),
            ] {
                let asks = match is_equal {
                    true => Asks::Join(Some(other)),
                    false => Asks::Range(Operand::Other),
                };
                found.terms.push(Term {
                    table,
                    column,
                    asks,
                });
            }
        }
        (Side::Outer, of) | (of, Side::Outer) => {
            let asks = match kind(Operand::Other) {
                Asks::Equal(_) => Asks::Join(None),
                asks => asks,
            };
            ask(of, asks, scope, found);
        }
        (Side::Constant(operand), of) | (of, Side::Constant(operand)) => {
            ask(of, kind(operand), scope, found)
        }
        // A function of a column compared with another table's: each may be an obstacle.
        (Side::Wrapped { .. }, Side::Column(table, column))
        | (Side::Column(table, column), Side::Wrapped { .. }) => {
            let wrapped = [left, right].map(|expr| side(expr, scope));
            for of in wrapped {
                if let Side::Wrapped { table: other, .. } = &of {
                    let other = *other;
                    ask(of, kind(Operand::Other), scope, found);
                    if other != table {
                        found.terms.push(Term {
                            table,
                            column: column.clone(),
                            asks: Asks::Join(None),
                        });
                    }
                }
            }
        }
        (left @ Side::Wrapped { .. }, right @ Side::Wrapped { .. }) => {
            ask(left, kind(Operand::Other), scope, found);
            ask(right, kind(Operand::Other), scope, found);
        }
        _ => {}
    }
}

/// Notes what is asked of one side.
fn ask(side: Side, asks: Asks, _: &Scope<'_>, found: &mut Found<'_>) {
    match side {
        Side::Column(table, column) => found.terms.push(Term {
            table,
            column,
            asks,
        }),
        Side::Wrapped {
            table,
            column,
            name,
            expression,
        } => found.terms.push(Term {
            table,
            column,
            asks: Asks::Function { name, expression },
        }),
        Side::Outer | Side::Constant(_) | Side::Mixed => {}
    }
}

fn side(expr: &Expr, scope: &Scope<'_>) -> Side {
    let expr = inner(expr);
    if let Some(parts) = parts_of(expr) {
        return match scope.column(&parts) {
            Some((table, column)) => Side::Column(table, column),
            None if scope.is_outer(&parts) => Side::Outer,
            // A column of a derived table or of a view: as from outside.
            None => Side::Outer,
        };
    }
    if matches!(expr, Expr::Subquery(_)) {
        return Side::Constant(Operand::Other);
    }
    let (columns, refers_to_outer) = columns_of(expr, scope);
    let mut columns = columns.into_iter();
    match columns.next() {
        None if refers_to_outer => Side::Outer,
        None => Side::Constant(operand(expr)),
        Some((table, column)) => {
            let alone = columns.all(|(other, _)| other == table);
            match alone {
                true => Side::Wrapped {
                    table,
                    column,
                    name: wrapper(expr),
                    expression: (!refers_to_outer).then(|| with_bare_columns(expr)),
                },
                false => Side::Mixed,
            }
        }
    }
}

/// The name of what is around a column.
fn wrapper(expr: &Expr) -> String {
    match expr {
        Expr::Function(function) => last_part(&function.name).to_lowercase(),
        Expr::Cast { .. } => "cast".to_owned(),
        Expr::Convert { .. } => "convert".to_owned(),
        Expr::Collate { .. } => "collate".to_owned(),
        Expr::Substring { .. } => "substring".to_owned(),
        Expr::Trim { .. } => "trim".to_owned(),
        Expr::Extract { .. } => "extract".to_owned(),
        Expr::Ceil { .. } => "ceil".to_owned(),
        Expr::Floor { .. } => "floor".to_owned(),
        Expr::Case { .. } => "case".to_owned(),
        Expr::BinaryOp { op, .. } => op.to_string().to_lowercase(),
        Expr::UnaryOp { op, .. } => op.to_string().to_lowercase(),
        _ => "expression".to_owned(),
    }
}

/// The expression as SQL, columns without their tables.
fn with_bare_columns(expr: &Expr) -> String {
    struct Bare;
    impl VisitorMut for Bare {
        type Break = ();
        fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
            if let Expr::CompoundIdentifier(parts) = expr
                && let Some(last) = parts.last().cloned()
            {
                *expr = Expr::Identifier(Ident::with_quote('`', last.value));
            }
            ControlFlow::Continue(())
        }
    }
    let mut expr = expr.clone();
    let _ = expr.visit(&mut Bare);
    expr.to_string()
}

/// What a constant is.
fn operand(expr: &Expr) -> Operand {
    match inner(expr) {
        Expr::Value(value) => match &value.value {
            Value::Number(..) => Operand::Number,
            Value::Boolean(_) | Value::Null | Value::Placeholder(_) => Operand::Other,
            _ => Operand::Text,
        },
        Expr::UnaryOp { expr, .. } => operand(expr),
        _ => Operand::Other,
    }
}

/// The text of a string.
fn text(expr: &Expr) -> Option<String> {
    match inner(expr) {
        Expr::Value(value) => value.value.clone().into_string(),
        _ => None,
    }
}
