//! A statement taken apart: the tables that it uses, what it asks of their columns, its order, its groups.
//!
//! It is read twice where that helps: as it was sent, with names resolved by the catalog, and as the server has resolved it
//! (views unfolded). The server's own form is printed behind its optimizer and may lack conditions; the sent form lacks the
//! tables of views.

mod columns;
mod resolve;
mod terms;

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Serialize;
use sqlparser::ast::{
    Expr, FromTable, GroupByExpr, LimitClause, OrderByKind, Query, Select, SelectItem, SetExpr,
    Statement as Ast, TableFactor, TableIndexDirective, TableObject, TableWithJoins, Value,
};
use sqlparser::dialect::MySqlDialect;
use sqlparser::parser::Parser;

use crate::catalog::{Catalog, TableName, folded};
use columns::collect_columns;
use resolve::Scope;
use terms::{Found, find_terms};

/// Deepest nesting of blocks that is looked at.
const MAX_DEPTH: usize = 12;

/// Operators of a statement that is taken apart, at most.
const MAX_OPERATORS: usize = 2000;
/// So many are taken apart on the stack that there is.
const FEW_OPERATORS: usize = 50;
/// Stack for all others, in bytes.
const DEEP_STACK: usize = 256 << 20;

/// Operators and connectives in a statement, at most: those in strings are counted too.
fn operators(text: &str) -> usize {
    let signs = text
        .bytes()
        .filter(|byte| b"+-*/|&=<>^%".contains(byte))
        .count();
    let words = text.split_ascii_whitespace().filter(|word| {
        ["and", "or", "xor", "not", "union"]
            .iter()
            .any(|known| word.eq_ignore_ascii_case(known))
    });
    signs + words.count()
}

/// What a statement does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Reads.
    Select,
    /// Adds rows.
    Insert,
    /// Changes rows.
    Update,
    /// Removes rows.
    Delete,
}

/// A statement taken apart.
#[derive(Debug, Clone, PartialEq)]
pub struct Structure {
    /// What it does.
    pub kind: Kind,
    /// Its query blocks, the outermost first.
    pub blocks: Vec<Block>,
    /// It asks for the number of rows that there would be without LIMIT.
    pub calc_found_rows: bool,
    /// It reads what it has found before (WITH RECURSIVE).
    pub recursive: bool,
    /// It has a query in place of a table: in FROM, or by WITH.
    pub has_derived: bool,
    /// The tables that it writes to, with the columns that an UPDATE sets.
    pub written: Vec<(TableName, BTreeSet<String>)>,
    /// Rows that an INSERT names.
    pub inserted_rows: u64,
    /// The part of a statement that finds rows, as a SELECT; none of one that finds none.
    pub reading: Option<String>,
}

/// A query block.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Block {
    /// The tables that it reads.
    pub uses: Vec<Use>,
    /// What it asks of all rows.
    pub terms: Vec<Term>,
    /// What it asks in alternatives (OR): for each OR, the terms of each alternative.
    pub alternatives: Vec<Vec<Vec<Term>>>,
    /// Groups, where all are columns.
    pub groups: Vec<Sorted>,
    /// It groups, by whatever.
    pub has_groups: bool,
    /// Its order, where all of it are columns.
    pub order: Vec<Sorted>,
    /// It sorts, by whatever.
    pub has_order: bool,
    /// It sorts by chance.
    pub random_order: bool,
    /// It drops rows that are the same.
    pub distinct: bool,
    /// It makes one row of many without GROUP BY.
    pub aggregates: bool,
    /// Its LIMIT.
    pub limit: Option<u64>,
    /// Rows that are passed over.
    pub offset: u64,
    /// It has a condition of its own.
    pub has_condition: bool,
    /// It refers to the rows of a block around it.
    pub is_correlated: bool,
}

/// A table used in a block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Use {
    /// What the statement calls it.
    pub alias: String,
    /// The table.
    pub table: TableName,
    /// The columns that the block needs of it.
    pub columns: BTreeSet<String>,
    /// The indexes that USE, FORCE or IGNORE INDEX names: without one of them the statement fails.
    pub named_indexes: BTreeSet<String>,
}

/// A column in an order or a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sorted {
    /// The place of its table in [`Block::uses`].
    pub table: usize,
    /// The column.
    pub column: String,
    /// Descending.
    pub descending: bool,
}

/// What a block asks of a column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Term {
    /// The place of its table in [`Block::uses`].
    pub table: usize,
    /// The column.
    pub column: String,
    /// What is asked.
    pub asks: Asks,
}

/// What is asked of a column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Asks {
    /// That it is this value.
    Equal(Operand),
    /// That it is one of these values.
    In(Operand),
    /// That it is within bounds.
    Range(Operand),
    /// That it begins so.
    Prefix,
    /// That it holds this somewhere: LIKE '%…'.
    LeadingWildcard,
    /// That it is the column of another table: its place in [`Block::uses`], with its name; none of a block around.
    Join(Option<(usize, String)>),
    /// That a function of it is this: the function's name, and the expression as SQL with bare columns, where it is of this table only.
    Function {
        /// The function.
        name: String,
        /// The expression.
        expression: Option<String>,
    },
    /// That it is not something.
    Not,
    /// That its words match.
    Words,
}

/// What a column is compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operand {
    /// A number.
    Number,
    /// A string.
    Text,
    /// NULL, a function, a variable, anything else.
    Other,
}

/// Why a statement has no structure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "code")]
pub enum NotUnderstood {
    /// The parser does not know the grammar: its words.
    Grammar {
        /// What the parser says.
        message: String,
    },
    /// It has more operators than are taken apart.
    TooLong,
    /// Several statements, or none.
    NotOne,
    /// It neither reads nor changes rows.
    OtherKind,
}

impl Structure {
    /// Takes a statement apart that is executed with this database in use.
    ///
    /// # Errors
    /// Why that cannot be done.
    pub fn read(text: &str, database: &str, catalog: &Catalog) -> Result<Self, NotUnderstood> {
        let operators = operators(text);
        if operators > MAX_OPERATORS {
            return Err(NotUnderstood::TooLong);
        }
        if operators < FEW_OPERATORS {
            return Self::parse(text, database, catalog);
        }
        // A chain of operators is a tree as deep as the chain is long.
        std::thread::scope(|scope| {
            let deep = std::thread::Builder::new().stack_size(DEEP_STACK);
            let parsing = deep.spawn_scoped(scope, || Self::parse(text, database, catalog));
            match parsing.map(std::thread::ScopedJoinHandle::join) {
                Ok(Ok(structure)) => structure,
                _ => Err(NotUnderstood::TooLong),
            }
        })
    }

    fn parse(text: &str, database: &str, catalog: &Catalog) -> Result<Self, NotUnderstood> {
        let dialect = MySqlDialect {};
        let mut parsed =
            Parser::parse_sql(&dialect, text).map_err(|error| NotUnderstood::Grammar {
                message: expected(&error.to_string()),
            })?;
        let (Some(ast), true) = (parsed.pop(), parsed.is_empty()) else {
            return Err(NotUnderstood::NotOne);
        };
        let mut reader = Reader {
            database,
            catalog,
            blocks: Vec::new(),
            calc_found_rows: false,
            recursive: false,
            has_derived: false,
            with: Vec::new(),
        };
        reader.statement(&ast)
    }

    /// All tables that it uses or writes to.
    pub fn tables(&self) -> BTreeSet<TableName> {
        let used = self
            .blocks
            .iter()
            .flat_map(|block| block.uses.iter().map(|used| used.table.clone()));
        used.chain(self.written.iter().map(|(table, _)| table.clone()))
            .collect()
    }

    /// The largest offset of its blocks, with its limit.
    pub fn deepest_offset(&self) -> (u64, Option<u64>) {
        let blocks = self.blocks.iter().map(|block| (block.offset, block.limit));
        blocks
            .max_by_key(|(offset, _)| *offset)
            .unwrap_or((0, None))
    }
}

/// What the parser expected, without what it found, which may be a literal.
fn expected(message: &str) -> String {
    let (wanted, found) = message.split_once(", found").unwrap_or((message, ""));
    let place = found.rfind(" at Line").map_or("", |at| &found[at..]);
    let wanted = wanted.trim_start_matches("sql parser error: ");
    match wanted.starts_with("Expected") {
        true => format!("{wanted}{place}"),
        false => "it cannot be taken apart".to_owned(),
    }
}

/// Reads one statement.
struct Reader<'c> {
    database: &'c str,
    catalog: &'c Catalog,
    blocks: Vec<Block>,
    calc_found_rows: bool,
    recursive: bool,
    has_derived: bool,
    /// Names of common table expressions.
    with: Vec<String>,
}

impl Reader<'_> {
    fn statement(&mut self, ast: &Ast) -> Result<Structure, NotUnderstood> {
        let mut written = Vec::new();
        let mut inserted_rows = 0;
        let (kind, reading) = match ast {
            Ast::Query(query) => {
                self.query(query, None, 0);
                (Kind::Select, Some(ast.to_string()))
            }
            Ast::Insert(insert) => {
                if let TableObject::TableName(name) = &insert.table
                    && let Some(table) = resolve::table_of(name, self.database, self.catalog)
                {
                    written.push((table.name.clone(), BTreeSet::new()));
                }
                let source = insert.source.as_deref();
                let reading = source.and_then(|query| match &*query.body {
                    SetExpr::Values(values) => {
                        inserted_rows = values.rows.len() as u64;
                        None
                    }
                    _ => {
                        self.query(query, None, 0);
                        Some(query.to_string())
                    }
                });
                inserted_rows = inserted_rows.max(1);
                (Kind::Insert, reading)
            }
            Ast::Update(update) => {
                let tables = std::slice::from_ref(&update.table);
                let block = self.changing(
                    tables,
                    update.selection.as_ref(),
                    &update.order_by,
                    update.limit.as_ref(),
                );
                for assignment in &update.assignments {
                    self.note_written(&block, assignment, &mut written);
                }
                let reading = reading(
                    tables,
                    update.selection.as_ref(),
                    &update.order_by,
                    update.limit.as_ref(),
                );
                self.blocks.insert(0, block);
                (Kind::Update, Some(reading))
            }
            Ast::Delete(delete) => {
                let (FromTable::WithFromKeyword(from) | FromTable::WithoutKeyword(from)) =
                    &delete.from;
                let tables = delete.using.as_deref().unwrap_or(from);
                let block = self.changing(
                    tables,
                    delete.selection.as_ref(),
                    &delete.order_by,
                    delete.limit.as_ref(),
                );
                // Of several tables, those that are named before FROM; the first of FROM where none is.
                let named: Vec<String> = (delete.tables.iter())
                    .map(|name| folded(resolve::last_part(name)))
                    .collect();
                for (place, used) in block.uses.iter().enumerate() {
                    let is_written = match named.is_empty() {
                        true => place == 0,
                        false => named.contains(&folded(&used.alias)),
                    };
                    if is_written {
                        written.push((used.table.clone(), BTreeSet::new()));
                    }
                }
                let reading = reading(
                    tables,
                    delete.selection.as_ref(),
                    &delete.order_by,
                    delete.limit.as_ref(),
                );
                self.blocks.insert(0, block);
                (Kind::Delete, Some(reading))
            }
            _ => return Err(NotUnderstood::OtherKind),
        };
        Ok(Structure {
            kind,
            blocks: std::mem::take(&mut self.blocks),
            calc_found_rows: self.calc_found_rows,
            recursive: self.recursive,
            has_derived: self.has_derived,
            written,
            inserted_rows,
            reading,
        })
    }

    fn note_written(
        &self,
        block: &Block,
        assignment: &sqlparser::ast::Assignment,
        written: &mut Vec<(TableName, BTreeSet<String>)>,
    ) {
        use sqlparser::ast::AssignmentTarget;
        let names = match &assignment.target {
            AssignmentTarget::ColumnName(name) => std::slice::from_ref(name),
            AssignmentTarget::Tuple(names) => names,
        };
        for name in names {
            let parts = resolve::parts(name);
            let scope = Scope::of(block, self.catalog, None);
            let Some((table, column)) = scope.column(&parts) else {
                continue;
            };
            let table = block.uses[table].table.clone();
            match written.iter_mut().find(|(known, _)| *known == table) {
                Some((_, columns)) => {
                    columns.insert(column);
                }
                None => written.push((table, BTreeSet::from([column]))),
            }
        }
    }

    /// The block of a statement that changes rows.
    fn changing(
        &mut self,
        tables: &[TableWithJoins],
        selection: Option<&Expr>,
        order: &[sqlparser::ast::OrderByExpr],
        limit: Option<&Expr>,
    ) -> Block {
        let mut block = Block::default();
        let mut conditions: Vec<&Expr> = selection.into_iter().collect();
        self.from(tables, &mut block, &mut conditions, None, 0);
        block.has_condition = !conditions.is_empty();
        self.conditions(&mut block, &conditions, None, 0);
        self.order_by(&mut block, order, &[]);
        block.limit = limit.and_then(number);
        // Rows that are changed are read whole.
        for used in &mut block.uses {
            if let Some(table) = self.catalog.tables.get(&used.table) {
                used.columns
                    .extend(table.columns.iter().map(|column| column.name.clone()));
            }
        }
        block
    }

    fn query(&mut self, query: &Query, outer: Option<&Scope<'_>>, depth: usize) {
        if depth > MAX_DEPTH {
            return;
        }
        let known = self.with.len();
        if let Some(with) = &query.with {
            self.recursive |= with.recursive;
            self.has_derived = true;
            for table in &with.cte_tables {
                self.with.push(folded(&table.alias.name.value));
            }
            for table in &with.cte_tables {
                self.query(&table.query, outer, depth + 1);
            }
        }
        self.body(&query.body, Some(query), outer, depth);
        self.with.truncate(known);
    }

    fn body(
        &mut self,
        body: &SetExpr,
        query: Option<&Query>,
        outer: Option<&Scope<'_>>,
        depth: usize,
    ) {
        match body {
            SetExpr::Select(select) => self.select(select, query, outer, depth),
            SetExpr::Query(query) => self.query(query, outer, depth + 1),
            SetExpr::SetOperation { left, right, .. } => {
                self.body(left, None, outer, depth + 1);
                self.body(right, None, outer, depth + 1);
            }
            _ => {}
        }
    }

    fn select(
        &mut self,
        select: &Select,
        query: Option<&Query>,
        outer: Option<&Scope<'_>>,
        depth: usize,
    ) {
        let modifiers = select.select_modifiers.as_ref();
        self.calc_found_rows |= modifiers.is_some_and(|modifiers| modifiers.sql_calc_found_rows);
        let mut block = Block {
            distinct: select.distinct.is_some(),
            ..Block::default()
        };
        let mut conditions: Vec<&Expr> = select.selection.iter().collect();
        let place = self.blocks.len();
        self.blocks.push(Block::default());
        self.from(&select.from, &mut block, &mut conditions, outer, depth);
        block.has_condition = select
            .selection
            .as_ref()
            .is_some_and(|condition| !is_constant_true(condition));
        self.conditions(&mut block, &conditions, outer, depth);
        self.group_by(&mut block, select);
        let scope = Scope::of(&block, self.catalog, outer);
        let needed = collect_columns(select, query, &scope);
        block.is_correlated |= needed.refers_to_outer;
        block.aggregates = needed.aggregates && !block.has_groups;
        for (used, columns) in block.uses.iter_mut().zip(needed.columns) {
            used.columns.extend(columns);
        }
        if let Some(query) = query {
            if let Some(order) = &query.order_by
                && let OrderByKind::Expressions(order) = &order.kind
            {
                self.order_by(&mut block, order, &select.projection);
            }
            (block.limit, block.offset) = match &query.limit_clause {
                Some(LimitClause::LimitOffset { limit, offset, .. }) => (
                    limit.as_ref().and_then(number),
                    offset
                        .as_ref()
                        .and_then(|offset| number(&offset.value))
                        .unwrap_or(0),
                ),
                Some(LimitClause::OffsetCommaLimit { offset, limit }) => {
                    (number(limit), number(offset).unwrap_or(0))
                }
                None => (None, 0),
            };
        }
        // Queries within expressions of the projection and of HAVING.
        let scope = Scope::of(&block, self.catalog, outer);
        let mut inner = Vec::new();
        for item in &select.projection {
            if let SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } = item {
                columns::subqueries(expr, &mut inner);
            }
        }
        if let Some(having) = &select.having {
            columns::subqueries(having, &mut inner);
        }
        for query in inner {
            self.query(query, Some(&scope), depth + 1);
        }
        self.blocks[place] = block;
    }

    /// Takes in the tables of FROM, with the conditions of their joins.
    fn from<'a>(
        &mut self,
        tables: &'a [TableWithJoins],
        block: &mut Block,
        conditions: &mut Vec<&'a Expr>,
        outer: Option<&Scope<'_>>,
        depth: usize,
    ) {
        for table in tables {
            self.factor(&table.relation, block, conditions, outer, depth);
            for join in &table.joins {
                self.factor(&join.relation, block, conditions, outer, depth);
                match resolve::constraint(&join.join_operator) {
                    Some(sqlparser::ast::JoinConstraint::On(expr)) => conditions.push(expr),
                    Some(sqlparser::ast::JoinConstraint::Using(names)) => {
                        for name in names {
                            using(block, self.catalog, resolve::last_part(name));
                        }
                    }
                    _ => {}
                }
            }
        }
    }

    fn factor<'a>(
        &mut self,
        factor: &'a TableFactor,
        block: &mut Block,
        conditions: &mut Vec<&'a Expr>,
        outer: Option<&Scope<'_>>,
        depth: usize,
    ) {
        match factor {
            TableFactor::Table {
                name,
                alias,
                index_directives,
                ..
            } => {
                let is_with =
                    name.0.len() == 1 && self.with.contains(&folded(resolve::last_part(name)));
                let table = (!is_with)
                    .then(|| resolve::table_of(name, self.database, self.catalog))
                    .flatten();
                if let Some(table) = table.filter(|table| !table.is_view()) {
                    let alias = alias
                        .as_ref()
                        .map_or(table.name.table.clone(), |alias| alias.name.value.clone());
                    block.uses.push(Use {
                        alias,
                        table: table.name.clone(),
                        columns: BTreeSet::new(),
                        named_indexes: named_indexes(index_directives),
                    });
                }
            }
            TableFactor::Derived { subquery, .. } => {
                self.has_derived = true;
                self.query(subquery, outer, depth + 1);
            }
            TableFactor::NestedJoin {
                table_with_joins, ..
            } => {
                self.from(
                    std::slice::from_ref(&**table_with_joins),
                    block,
                    conditions,
                    outer,
                    depth,
                );
            }
            _ => {}
        }
    }

    fn conditions(
        &mut self,
        block: &mut Block,
        conditions: &[&Expr],
        outer: Option<&Scope<'_>>,
        depth: usize,
    ) {
        let mut found = Found::default();
        let scope = Scope::of(block, self.catalog, outer);
        for condition in conditions {
            find_terms(condition, &scope, &mut found);
        }
        block.is_correlated |= found.refers_to_outer;
        for query in found.queries {
            let before = self.blocks.len();
            self.query(query.query, Some(&scope), depth + 1);
            // The outer column is looked up among what the inner block gives.
            if query.is_in
                && let Some(inner) = self.blocks.get_mut(before)
                && let Some(term) = resolve::given_column(query.query, inner, self.catalog)
            {
                inner.terms.push(term);
            }
        }
        block.terms.extend(found.terms);
        block.alternatives.extend(found.alternatives);
    }

    fn group_by(&self, block: &mut Block, select: &Select) {
        let exprs = match &select.group_by {
            GroupByExpr::Expressions(exprs, _) => exprs.as_slice(),
            GroupByExpr::All(_) => &[],
        };
        block.has_groups = !exprs.is_empty();
        let scope = Scope::of(block, self.catalog, None);
        let groups = exprs
            .iter()
            .map(|expr| scope.sorted(expr, &select.projection, false));
        block.groups = groups.collect::<Option<Vec<_>>>().unwrap_or_default();
    }

    fn order_by(
        &self,
        block: &mut Block,
        order: &[sqlparser::ast::OrderByExpr],
        projection: &[SelectItem],
    ) {
        use sqlparser::ast::OrderBySort;
        block.has_order = !order.is_empty();
        block.random_order = order.iter().any(|item| columns::calls(&item.expr, "rand"));
        let scope = Scope::of(block, self.catalog, None);
        let sorted = order.iter().map(|item| {
            let descending = matches!(item.options.sort, Some(OrderBySort::Desc));
            scope.sorted(&item.expr, projection, descending)
        });
        block.order = sorted.collect::<Option<Vec<_>>>().unwrap_or_default();
    }
}

/// `USING (column)`: the column of the last table is that of one before it.
fn using(block: &mut Block, catalog: &Catalog, column: &str) {
    let has = |used: &Use| {
        catalog
            .tables
            .get(&used.table)
            .and_then(|table| table.column(column))
    };
    let Some(last) = block.uses.len().checked_sub(1) else {
        return;
    };
    let other = block.uses[..last]
        .iter()
        .position(|used| has(used).is_some());
    let (Some(other), Some(name)) = (
        other,
        has(&block.uses[last]).map(|column| column.name.clone()),
    ) else {
        return;
    };
    for (table, partner) in [(last, other), (other, last)] {
        block.terms.push(Term {
            table,
            column: name.clone(),
            asks: Asks::Join(Some((partner, name.clone()))),
        });
    }
}

/// The rows that a statement changes, as a SELECT.
fn reading(
    tables: &[TableWithJoins],
    selection: Option<&Expr>,
    order: &[sqlparser::ast::OrderByExpr],
    limit: Option<&Expr>,
) -> String {
    let tables: Vec<String> = tables.iter().map(ToString::to_string).collect();
    let mut text = format!("SELECT * FROM {}", tables.join(", "));
    if let Some(selection) = selection {
        text.push_str(&format!(" WHERE {selection}"));
    }
    if !order.is_empty() {
        let order: Vec<String> = order.iter().map(ToString::to_string).collect();
        text.push_str(&format!(" ORDER BY {}", order.join(", ")));
    }
    if let Some(limit) = limit {
        text.push_str(&format!(" LIMIT {limit}"));
    }
    text
}

fn number(expr: &Expr) -> Option<u64> {
    match expr {
        Expr::Value(value) => match &value.value {
            Value::Number(text, _) => text.parse().ok(),
            _ => None,
        },
        Expr::Nested(inner) => number(inner),
        _ => None,
    }
}

/// `WHERE 1`, `WHERE 1=1`: no condition.
fn is_constant_true(expr: &Expr) -> bool {
    match expr {
        Expr::Nested(inner) => is_constant_true(inner),
        Expr::Value(_) => number(expr) != Some(0),
        Expr::BinaryOp { left, right, .. } => {
            matches!((&**left, &**right), (Expr::Value(a), Expr::Value(b)) if a.value == b.value)
        }
        _ => false,
    }
}

/// The indexes that USE, FORCE and IGNORE INDEX name, in lower case.
fn named_indexes(directives: &[TableIndexDirective]) -> BTreeSet<String> {
    let hints = directives.iter().filter_map(|directive| match directive {
        TableIndexDirective::MySql(hints) => Some(&hints.index_names),
        TableIndexDirective::IndexedBy(_) | TableIndexDirective::NotIndexed => None,
    });
    hints.flatten().map(|index| folded(&index.value)).collect()
}
