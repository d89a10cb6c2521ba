//! The tables of the copy: columns, indexes, foreign keys, sizes, as the server says them.

use std::collections::BTreeMap;
use std::fmt;

use anyhow::Result;
use niagara_load::Admin;
use niagara_server::{Family, HideClause, Version};
use schemars::JsonSchema;
use serde::Serialize;

/// Databases of the server itself.
const SYSTEM: &str = "'mysql', 'information_schema', 'performance_schema', 'sys'";

/// A table by its database and name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
pub struct TableName {
    /// The database.
    pub database: String,
    /// The table.
    pub table: String,
}

/// A value of a variable as SQL has it: a number, or a text in quotes.
pub(crate) fn literal(value: &str) -> String {
    match value.parse::<f64>() {
        Ok(_) => value.to_owned(),
        Err(_) => format!("'{}'", value.replace('\\', "\\\\").replace('\'', "''")),
    }
}

impl TableName {
    /// For statements: `` `shop`.`orders` ``.
    pub fn quoted(&self) -> String {
        format!("{}.{}", quote(&self.database), quote(&self.table))
    }
}

impl fmt::Display for TableName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", readable(&self.database), readable(&self.table))
    }
}

/// A name without its letter case, which the server folds in every alphabet.
pub(crate) fn folded(name: &str) -> String {
    // Letter by letter: `str::to_lowercase` looks at a letter's neighbours, and the server does not.
    name.chars().flat_map(char::to_lowercase).collect()
}

/// Whether two names are the same, whatever their letter case.
pub(crate) fn is_same_name(a: &str, b: &str) -> bool {
    folded(a) == folded(b)
}

/// A name for statements, in backticks.
pub fn quote(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

/// A name for people: in backticks where nobody could tell where it ends; on one line.
pub(crate) fn readable(name: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "_$-".contains(c);
    if !name.is_empty() && name.chars().all(is_plain) {
        return name.to_owned();
    }
    let name = quote(name);
    let letters = name.chars().map(|c| match c.is_control() {
        true => c.escape_default().to_string(),
        false => c.to_string(),
    });
    letters.collect()
}

/// What kind of values a column holds, as far as comparisons convert between kinds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ValueKind {
    /// Numbers.
    Number,
    /// Text with a character set.
    Text,
    /// Dates and times.
    Time,
    /// Bytes.
    Bytes,
    /// Anything else: JSON, geometry.
    Other,
}

/// A column.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// Its type's name: `varchar`.
    pub type_name: String,
    /// NULL is allowed.
    pub nullable: bool,
    /// Its collation, of text.
    pub collation: Option<String>,
    /// Longest value in characters, of text and bytes.
    pub length: Option<u64>,
    /// Longest value in bytes, of text and bytes.
    pub bytes: Option<u64>,
}

impl Column {
    /// The kind of its values.
    pub fn kind(&self) -> ValueKind {
        match self.type_name.as_str() {
            "tinyint" | "smallint" | "mediumint" | "int" | "bigint" | "decimal" | "float"
            | "double" | "bit" | "year" => ValueKind::Number,
            "char" | "varchar" | "tinytext" | "text" | "mediumtext" | "longtext" | "enum"
            | "set" => ValueKind::Text,
            "date" | "datetime" | "timestamp" | "time" => ValueKind::Time,
            "binary" | "varbinary" | "tinyblob" | "blob" | "mediumblob" | "longblob" => {
                ValueKind::Bytes
            }
            _ => ValueKind::Other,
        }
    }

    /// Whether an index may hold a part of it only: TEXT and BLOB.
    pub fn needs_prefix(&self) -> bool {
        self.type_name.ends_with("text") || self.type_name.ends_with("blob")
    }

    /// Bytes that it takes in an index, at most.
    pub fn key_bytes(&self) -> u64 {
        match self.kind() {
            ValueKind::Text | ValueKind::Bytes => match self.type_name.as_str() {
                "enum" => 2,
                "set" => 8,
                _ => self.bytes.unwrap_or(3072) + 2,
            },
            ValueKind::Other => u64::MAX / 4,
            ValueKind::Number | ValueKind::Time => 9,
        }
    }
}

/// A part of an index.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub struct IndexPart {
    /// The column; empty of an expression.
    pub column: String,
    /// Characters of the column that are in it, where not all are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prefix: Option<u64>,
    /// Descending.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub descending: bool,
    /// The expression, of a functional part.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expression: Option<String>,
}

impl IndexPart {
    /// A whole column, ascending.
    pub fn column(name: &str) -> Self {
        Self {
            column: name.to_owned(),
            prefix: None,
            descending: false,
            expression: None,
        }
    }

    /// For statements.
    pub fn sql(&self) -> String {
        self.with(quote(&self.column))
    }

    /// For people: `placed DESC`.
    pub(crate) fn in_words(&self) -> String {
        self.with(readable(&self.column))
    }

    /// With its column written so.
    fn with(&self, column: String) -> String {
        let mut text = match &self.expression {
            Some(expression) => format!("({expression})"),
            None => column,
        };
        if let Some(prefix) = self.prefix {
            text.push_str(&format!("({prefix})"));
        }
        if self.descending {
            text.push_str(" DESC");
        }
        text
    }
}

/// How an index is built.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum IndexKind {
    /// A tree in order of its parts.
    Ordered,
    /// By hash.
    Hash,
    /// Words of texts.
    Fulltext,
    /// Geometries, vectors.
    Other,
}

/// An index.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Index {
    /// Its name; `PRIMARY` of the primary key.
    pub name: String,
    /// It enforces that values differ.
    pub unique: bool,
    /// How it is built.
    pub kind: IndexKind,
    /// Its parts in their order.
    pub parts: Vec<IndexPart>,
    /// The optimizer may use it.
    pub visible: bool,
}

impl Index {
    /// Whether it is the primary key.
    pub fn is_primary(&self) -> bool {
        self.name.eq_ignore_ascii_case("PRIMARY")
    }

    /// Whether `parts` are the beginning of this index, or all of it.
    pub fn begins_with(&self, parts: &[IndexPart]) -> bool {
        self.kind == IndexKind::Ordered
            && self.parts.len() >= parts.len()
            && self.parts[..parts.len()] == *parts
    }
}

/// Parts for people: `(customer_id, placed DESC)`.
pub fn parts_in_words(parts: &[IndexPart]) -> String {
    let parts: Vec<String> = parts.iter().map(IndexPart::in_words).collect();
    format!("({})", parts.join(", "))
}

/// A table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Table {
    /// Its name.
    pub name: TableName,
    /// Its engine; none of a view.
    pub engine: Option<String>,
    /// Rows, as the server estimates them.
    pub rows: u64,
    /// Bytes of its rows.
    pub data_bytes: u64,
    /// Bytes of its indexes.
    pub index_bytes: u64,
    /// Its columns in their order.
    pub columns: Vec<Column>,
    /// Its indexes.
    pub indexes: Vec<Index>,
}

impl Table {
    /// A column, whatever the letter case.
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.columns
            .iter()
            .find(|column| is_same_name(&column.name, name))
    }

    /// An index by its name.
    pub fn index(&self, name: &str) -> Option<&Index> {
        self.indexes
            .iter()
            .find(|index| is_same_name(&index.name, name))
    }

    /// The primary key.
    pub fn primary(&self) -> Option<&Index> {
        self.indexes.iter().find(|index| index.is_primary())
    }

    /// Whether it is a view.
    pub fn is_view(&self) -> bool {
        self.engine.is_none()
    }

    /// Whether its engine has transactions and row locks.
    pub fn is_innodb(&self) -> bool {
        self.engine
            .as_deref()
            .is_some_and(|engine| engine.eq_ignore_ascii_case("innodb"))
    }
}

/// A foreign key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ForeignKey {
    /// Its name.
    pub name: String,
    /// The table that refers.
    pub table: TableName,
    /// Its columns.
    pub columns: Vec<String>,
    /// The table that is referred to.
    pub referenced: TableName,
    /// Its columns.
    pub referenced_columns: Vec<String>,
    /// Rows that refer go or change when those that they refer to are deleted.
    pub follows_delete: bool,
    /// They change with the columns that they refer to.
    pub follows_update: bool,
}

/// A trigger.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Trigger {
    /// Its name.
    pub name: String,
    /// The table whose changes set it off.
    pub table: TableName,
    /// Which changes: `INSERT`, `UPDATE` or `DELETE`.
    pub event: String,
    /// What it does.
    pub body: String,
}

/// A procedure or a function.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Routine {
    /// The database.
    pub database: String,
    /// Its name.
    pub name: String,
    /// It is a function.
    pub is_function: bool,
    /// What it does.
    pub body: String,
}

/// How variables are set for one statement alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StatementSetting {
    /// `SET STATEMENT … FOR` before it.
    SetStatement,
    /// The hint `SET_VAR` within it.
    Hint,
}

/// What the server can do with indexes, and with statements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Abilities {
    /// How an index is hidden from the optimizer; none where it is dropped and made again instead.
    pub hiding: Option<HideClause>,
    /// Descending parts.
    pub descending: bool,
    /// Parts that are expressions.
    pub functional: bool,
    /// Histograms by ANALYZE TABLE … UPDATE HISTOGRAM.
    pub histograms: bool,
    /// Variables of one statement alone; none where a session has them for all.
    pub for_statement: Option<StatementSetting>,
}

impl Abilities {
    /// Of a server.
    pub fn of(family: Family, version: Version) -> Self {
        let hiding = HideClause::of(family, version);
        let at_least = |major: u32, minor: u32| (version.major, version.minor) >= (major, minor);
        match family.is_mariadb() {
            true => Self {
                hiding,
                descending: at_least(10, 8),
                functional: false,
                histograms: false,
                // MariaDB documentation: SET STATEMENT, from 10.1.2.
                for_statement: at_least(10, 1).then_some(StatementSetting::SetStatement),
            },
            false => Self {
                hiding,
                descending: at_least(8, 0),
                functional: at_least(8, 0),
                histograms: at_least(8, 0),
                // MySQL reference manual: Variable-Setting Hint Syntax, from 8.0.3.
                for_statement: at_least(8, 0).then_some(StatementSetting::Hint),
            },
        }
    }
}

/// All tables of the copy.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Catalog {
    /// Tables and views.
    pub tables: BTreeMap<TableName, Table>,
    /// Foreign keys.
    pub foreign_keys: Vec<ForeignKey>,
    /// Triggers.
    pub triggers: Vec<Trigger>,
    /// Procedures and functions.
    pub routines: Vec<Routine>,
}

impl Catalog {
    /// Asks the server.
    ///
    /// # Errors
    /// It does not answer.
    pub fn read(admin: &mut Admin, hiding: Option<HideClause>) -> Result<Self> {
        let mut catalog = Self::default();
        catalog.read_tables(admin)?;
        catalog.read_columns(admin)?;
        catalog.read_indexes(admin, hiding)?;
        catalog.read_foreign_keys(admin)?;
        catalog.read_programs(admin)?;
        Ok(catalog)
    }

    /// The table of this name, whatever the letter case where no other one has it exactly.
    pub fn table(&self, database: &str, table: &str) -> Option<&Table> {
        let name = TableName {
            database: database.to_owned(),
            table: table.to_owned(),
        };
        self.tables.get(&name).or_else(|| {
            self.tables.values().find(|table| {
                is_same_name(&table.name.database, &name.database)
                    && is_same_name(&table.name.table, &name.table)
            })
        })
    }

    /// The foreign keys that need an index which begins with these columns of the table: of a table that refers, and of one that is
    /// referred to.
    pub fn foreign_keys_on<'c>(
        &'c self,
        table: &'c TableName,
    ) -> impl Iterator<Item = (&'c ForeignKey, &'c [String])> {
        self.foreign_keys.iter().flat_map(move |key| {
            let refers = (key.table == *table).then_some((key, key.columns.as_slice()));
            let referred =
                (key.referenced == *table).then_some((key, key.referenced_columns.as_slice()));
            refers.into_iter().chain(referred)
        })
    }

    fn read_tables(&mut self, admin: &mut Admin) -> Result<()> {
        let rows = admin.rows(&format!(
            "SELECT table_schema, table_name, engine, table_rows, data_length, index_length, table_type \
             FROM information_schema.tables WHERE table_schema NOT IN ({SYSTEM})"
        ))?;
        for row in rows {
            let mut row = Values(row.into_iter());
            let name = row.table_name();
            let engine = row.next();
            let (rows, data_bytes, index_bytes) = (row.number(), row.number(), row.number());
            let is_view = row.text().contains("VIEW");
            self.tables.insert(
                name.clone(),
                Table {
                    name,
                    engine: engine.filter(|_| !is_view),
                    rows,
                    data_bytes,
                    index_bytes,
                    columns: Vec::new(),
                    indexes: Vec::new(),
                },
            );
        }
        Ok(())
    }

    fn read_columns(&mut self, admin: &mut Admin) -> Result<()> {
        let rows = admin.rows(&format!(
            "SELECT table_schema, table_name, column_name, data_type, is_nullable, collation_name, character_maximum_length, \
             character_octet_length FROM information_schema.columns WHERE table_schema NOT IN ({SYSTEM}) \
             ORDER BY table_schema, table_name, ordinal_position"
        ))?;
        for row in rows {
            let mut row = Values(row.into_iter());
            let Some(table) = self.tables.get_mut(&row.table_name()) else {
                continue;
            };
            table.columns.push(Column {
                name: row.text(),
                type_name: row.text().to_ascii_lowercase(),
                nullable: row.text() == "YES",
                collation: row.next(),
                length: row.next().and_then(|length| length.parse().ok()),
                bytes: row.next().and_then(|length| length.parse().ok()),
            });
        }
        Ok(())
    }

    fn read_indexes(&mut self, admin: &mut Admin, hiding: Option<HideClause>) -> Result<()> {
        let hidden = hiding.map_or("0", HideClause::condition);
        // MySQL has invisible indexes and indexes on expressions from the same release on.
        let expression = match hiding {
            Some(HideClause::Invisible) => "expression",
            Some(HideClause::Ignored) | None => "NULL",
        };
        let rows = admin.rows(&format!(
            "SELECT table_schema, table_name, index_name, non_unique, index_type, IF({hidden}, 'NO', 'YES'), column_name, sub_part, collation, \
             {expression} FROM information_schema.statistics WHERE table_schema NOT IN ({SYSTEM}) \
             ORDER BY table_schema, table_name, index_name, seq_in_index"
        ))?;
        for row in rows {
            let mut row = Values(row.into_iter());
            let Some(table) = self.tables.get_mut(&row.table_name()) else {
                continue;
            };
            let name = row.text();
            let unique = row.text() == "0";
            let kind = match row.text().as_str() {
                "BTREE" => IndexKind::Ordered,
                "HASH" => IndexKind::Hash,
                "FULLTEXT" => IndexKind::Fulltext,
                _ => IndexKind::Other,
            };
            let visible = row.text() == "YES";
            let part = IndexPart {
                column: row.text(),
                prefix: row.next().and_then(|prefix| prefix.parse().ok()),
                descending: row.text() == "D",
                expression: row.next().map(|expression| expression.replace("\\'", "'")),
            };
            match table.indexes.last_mut().filter(|index| index.name == name) {
                Some(index) => index.parts.push(part),
                None => table.indexes.push(Index {
                    name,
                    unique,
                    kind,
                    parts: vec![part],
                    visible,
                }),
            }
        }
        Ok(())
    }

    fn read_foreign_keys(&mut self, admin: &mut Admin) -> Result<()> {
        let rows = admin.rows(&format!(
            "SELECT k.constraint_name, k.table_schema, k.table_name, k.column_name, k.referenced_table_schema, \
             k.referenced_table_name, k.referenced_column_name, r.delete_rule, r.update_rule \
             FROM information_schema.key_column_usage k LEFT JOIN information_schema.referential_constraints r \
             ON r.constraint_schema = k.constraint_schema AND r.constraint_name = k.constraint_name AND r.table_name = k.table_name \
             WHERE k.referenced_table_name IS NOT NULL AND k.table_schema NOT IN ({SYSTEM}) \
             ORDER BY k.table_schema, k.table_name, k.constraint_name, k.ordinal_position"
        ))?;
        for row in rows {
            let mut row = Values(row.into_iter());
            let name = row.text();
            let table = row.table_name();
            let column = row.text();
            let referenced = row.table_name();
            let referenced_column = row.text();
            let follows = |rule: String| rule == "CASCADE" || rule.starts_with("SET ");
            let (follows_delete, follows_update) = (follows(row.text()), follows(row.text()));
            let last = self.foreign_keys.last_mut();
            match last.filter(|key| key.name == name && key.table == table) {
                Some(key) => {
                    key.columns.push(column);
                    key.referenced_columns.push(referenced_column);
                }
                None => self.foreign_keys.push(ForeignKey {
                    name,
                    table,
                    columns: vec![column],
                    referenced,
                    referenced_columns: vec![referenced_column],
                    follows_delete,
                    follows_update,
                }),
            }
        }
        Ok(())
    }

    fn read_programs(&mut self, admin: &mut Admin) -> Result<()> {
        let rows = admin.rows(&format!(
            "SELECT trigger_name, event_object_schema, event_object_table, event_manipulation, action_statement \
             FROM information_schema.triggers WHERE trigger_schema NOT IN ({SYSTEM})"
        ))?;
        for row in rows {
            let mut row = Values(row.into_iter());
            self.triggers.push(Trigger {
                name: row.text(),
                table: row.table_name(),
                event: row.text(),
                body: row.text(),
            });
        }
        let rows = admin.rows(&format!(
            "SELECT routine_schema, routine_name, routine_type, routine_definition FROM information_schema.routines \
             WHERE routine_schema NOT IN ({SYSTEM}) AND routine_type IN ('PROCEDURE', 'FUNCTION')"
        ))?;
        for row in rows {
            let mut row = Values(row.into_iter());
            self.routines.push(Routine {
                database: row.text(),
                name: row.text(),
                is_function: row.text() == "FUNCTION",
                body: row.text(),
            });
        }
        Ok(())
    }
}

/// The values of a row, one after the other.
struct Values(std::vec::IntoIter<Option<String>>);

impl Values {
    fn next(&mut self) -> Option<String> {
        self.0.next().flatten()
    }

    fn text(&mut self) -> String {
        self.next().unwrap_or_default()
    }

    /// A database and a table.
    fn table_name(&mut self) -> TableName {
        TableName {
            database: self.text(),
            table: self.text(),
        }
    }

    fn number(&mut self) -> u64 {
        self.next().and_then(|text| text.parse().ok()).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn abilities_follow_the_version() {
        let of = |family, version: &str| Abilities::of(family, version.parse().unwrap());
        assert_eq!(of(Family::Mariadb, "10.5.2").hiding, None);
        assert_eq!(
            of(Family::Mariadb, "10.11.19").hiding,
            Some(HideClause::Ignored)
        );
        assert!(of(Family::Mariadb, "10.11.19").descending);
        assert_eq!(of(Family::Mysql, "5.7.44").hiding, None);
        let mysql = of(Family::Mysql, "9.7.4");
        assert!(
            mysql.hiding == Some(HideClause::Invisible) && mysql.functional && mysql.histograms
        );
    }

    #[test]
    fn parts_are_written_as_statements_want_them() {
        let part = IndexPart {
            prefix: Some(20),
            descending: true,
            ..IndexPart::column("a`b")
        };
        assert_eq!(part.sql(), "`a``b`(20) DESC");
        let part = IndexPart {
            expression: Some("lower(`a`)".into()),
            ..IndexPart::column("")
        };
        assert_eq!(part.sql(), "(lower(`a`))");
    }

    #[test]
    fn people_see_where_a_name_ends() {
        for (name, expected) in [
            ("größe", "größe"),
            ("idx_a-b$", "idx_a-b$"),
            ("gr`öße", "`gr``öße`"),
            ("order line", "`order line`"),
            ("c,d", "`c,d`"),
            ("a.b", "`a.b`"),
            ("", "``"),
            ("a\u{1b}[2J\n", "`a\\u{1b}[2J\\n`"),
        ] {
            assert_eq!(readable(name), expected);
        }
        let parts = ["c,d", "e"].map(IndexPart::column);
        assert_eq!(parts_in_words(&parts), "(`c,d`, e)");
    }
}
