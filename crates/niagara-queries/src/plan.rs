//! How the server says that it executes a statement: `EXPLAIN FORMAT=JSON` of MariaDB and of MySQL (its first form).

use std::fmt::{self, Formatter};

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use crate::catalog::is_same_name;

/// How a table is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Access {
    /// Every row of the table.
    Scan,
    /// Every entry of an index.
    IndexScan,
    /// A part of an index.
    Range,
    /// Entries of an index with given values.
    Lookup,
    /// At most one row for given values, of a unique index.
    UniqueLookup,
    /// Several indexes, put together.
    Merge,
    /// Words of a full-text index.
    Words,
    /// Anything else.
    Other,
}

impl Access {
    fn of(name: &str) -> Self {
        match name {
            "ALL" => Self::Scan,
            "index" => Self::IndexScan,
            "range" => Self::Range,
            "ref" | "ref_or_null" | "index_subquery" => Self::Lookup,
            "eq_ref" | "const" | "system" | "unique_subquery" => Self::UniqueLookup,
            "index_merge" => Self::Merge,
            "fulltext" => Self::Words,
            _ => Self::Other,
        }
    }

    /// Its name in records.
    pub fn code(self) -> &'static str {
        match self {
            Self::Scan => "scan",
            Self::IndexScan => "index_scan",
            Self::Range => "range",
            Self::Lookup => "lookup",
            Self::UniqueLookup => "unique_lookup",
            Self::Merge => "merge",
            Self::Words => "words",
            Self::Other => "other",
        }
    }

    /// Whether it reads from one end to the other.
    pub(crate) fn is_scan(self) -> bool {
        matches!(self, Self::Scan | Self::IndexScan)
    }
}

/// A table in a plan.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct TableAccess {
    /// What the statement calls it.
    pub alias: String,
    /// How it is read.
    pub access: Access,
    /// The index that is used; several of a merge, as the server writes them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Indexes that might have been used.
    pub possible_keys: Vec<String>,
    /// The columns of the index by which rows are found.
    pub used_key_parts: Vec<String>,
    /// Rows that are expected for each execution of this step.
    pub rows: f64,
    /// Percent of them that are expected to fit all conditions.
    pub filtered: f64,
    /// Its rows are joined with all that came before in memory, for there is no index to find them.
    pub join_buffer: bool,
    /// It is executed for each row of a block around it.
    pub dependent: bool,
    /// It stands behind another table of its block.
    pub is_joined: bool,
    /// The index holds all columns that are needed.
    pub covering: bool,
    /// The index whose entries say which rows need not be read (MariaDB's rowid filter).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub filter: Option<String>,
}

/// A plan.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct Plan {
    /// The tables in the order in which they are read.
    pub tables: Vec<TableAccess>,
    /// Rows are sorted.
    pub filesort: bool,
    /// A temporary table is made.
    pub temporary_table: bool,
    /// Results of queries within that are read as tables.
    pub derived: usize,
}

impl Plan {
    /// Reads what the server printed; none where that is no JSON.
    pub fn parse(text: &str) -> Option<Self> {
        let Printed(json) = serde_json::from_str(text).ok()?;
        let mut plan = Self::default();
        plan.walk(&json, Around::default());
        Some(plan)
    }

    /// The access to the table of this alias.
    pub fn table(&self, alias: &str) -> Option<&TableAccess> {
        self.tables
            .iter()
            .find(|table| is_same_name(&table.alias, alias))
    }

    /// Whether the tables are read in the same order and in the same way, whatever is expected of them.
    fn is_like(&self, other: &Self) -> bool {
        let way = |table: &TableAccess| {
            (
                table.alias.clone(),
                table.access,
                table.key.clone(),
                table.used_key_parts.clone(),
                table.filter.clone(),
                [table.join_buffer, table.dependent, table.covering],
            )
        };
        let steps = |plan: &Self| (plan.filesort, plan.temporary_table, plan.derived);
        steps(self) == steps(other) && self.tables.iter().map(way).eq(other.tables.iter().map(way))
    }

    /// Whether an index of this name is used for a table of this alias.
    pub fn uses(&self, alias: &str, index: &str) -> bool {
        self.tables.iter().any(|table| {
            let key = table.key.as_deref().unwrap_or_default();
            let names = key.split([',', '(', ')']);
            is_same_name(&table.alias, alias)
                && (key == index || names.into_iter().any(|name| name.trim() == index))
        })
    }

    fn walk(&mut self, value: &Value, around: Around) {
        match value {
            Value::Array(items) => {
                let mut around = around;
                for item in items {
                    self.walk(item, around);
                    around.is_joined |= around.in_loop;
                }
            }
            Value::Object(fields) => {
                let mut around = around;
                let is_true = |name: &str| {
                    fields
                        .get(name)
                        .is_some_and(|value| value == &Value::Bool(true))
                };
                self.filesort |= is_true("using_filesort") || fields.contains_key("filesort");
                self.temporary_table |=
                    is_true("using_temporary_table") || fields.contains_key("temporary_table");
                around.dependent |= is_true("dependent");
                if fields.contains_key("expression_cache") {
                    around.dependent = true;
                }
                if let Some(Value::String(name)) = fields.get("table_name") {
                    self.table_of(name, fields, around);
                }
                for (name, value) in fields {
                    let inner = match name.as_str() {
                        "nested_loop" => Around {
                            in_loop: true,
                            is_joined: false,
                            ..around
                        },
                        "block-nl-join" => Around {
                            join_buffer: true,
                            is_joined: true,
                            ..around
                        },
                        "query_block"
                        | "query_specifications"
                        | "materialized"
                        | "materialized_from_subquery" => Around {
                            in_loop: false,
                            is_joined: false,
                            join_buffer: false,
                            ..around
                        },
                        "subqueries" | "attached_subqueries" | "select_list_subqueries" => Around {
                            in_loop: false,
                            is_joined: false,
                            ..around
                        },
                        _ => around,
                    };
                    self.walk(value, inner);
                }
            }
            _ => {}
        }
    }

    fn table_of(&mut self, name: &str, fields: &serde_json::Map<String, Value>, around: Around) {
        // Results of unions and of queries within are no tables.
        if name.starts_with('<') {
            self.derived += 1;
            return;
        }
        let text = |name: &str| fields.get(name).and_then(Value::as_str).map(str::to_owned);
        let texts = |name: &str| -> Vec<String> {
            let list = fields.get(name).and_then(Value::as_array);
            let texts = list.into_iter().flatten().filter_map(Value::as_str);
            texts.map(str::to_owned).collect()
        };
        let number = |name: &str| match fields.get(name)? {
            Value::Number(number) => number.as_f64(),
            Value::String(text) => text.parse().ok(),
            _ => None,
        };
        let access = text("access_type").map_or(Access::Other, |name| Access::of(&name));
        self.tables.push(TableAccess {
            alias: name.to_owned(),
            access,
            key: text("key").or_else(|| merged(fields)),
            possible_keys: texts("possible_keys"),
            used_key_parts: texts("used_key_parts"),
            rows: number("rows")
                .or_else(|| number("rows_examined_per_scan"))
                .unwrap_or(0.0),
            filtered: number("filtered").unwrap_or(100.0),
            join_buffer: around.join_buffer || fields.contains_key("using_join_buffer"),
            dependent: around.dependent,
            is_joined: around.is_joined,
            covering: fields.get("using_index") == Some(&Value::Bool(true)),
            filter: (fields
                .get("rowid_filter")
                .and_then(|filter| filter.pointer("/range/key")))
            .and_then(Value::as_str)
            .map(str::to_owned),
        });
    }
}

/// Whether tables are read in another order, or by other ways.
pub(crate) fn is_other_plan(before: Option<&Plan>, after: Option<&Plan>) -> bool {
    match (before, after) {
        (Some(before), Some(after)) => !before.is_like(after),
        (before, after) => before.is_some() != after.is_some(),
    }
}

/// JSON as a server printed it. MariaDB before 10.9 writes the tables of a join as fields of one object that have the same name;
/// here they are the list that later releases write.
struct Printed(Value);

/// Fields that are one step of a join each.
const STEPS: [&str; 4] = [
    "table",
    "block-nl-join",
    "read_sorted_file",
    "duplicates_removal",
];

impl<'de> Deserialize<'de> for Printed {
    fn deserialize<D: Deserializer<'de>>(json: D) -> Result<Self, D::Error> {
        json.deserialize_any(PrintedVisitor)
    }
}

struct PrintedVisitor;

impl<'de> Visitor<'de> for PrintedVisitor {
    type Value = Printed;

    fn expecting(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Printed, E> {
        Ok(Printed(value.into()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Printed, E> {
        Ok(Printed(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Printed, E> {
        Ok(Printed(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Printed, E> {
        Ok(Printed(value.into()))
    }

    fn visit_str<E>(self, value: &str) -> Result<Printed, E> {
        Ok(Printed(value.into()))
    }

    fn visit_unit<E>(self) -> Result<Printed, E> {
        Ok(Printed(Value::Null))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Printed, A::Error> {
        let mut list = Vec::new();
        while let Some(Printed(item)) = items.next_element()? {
            list.push(item);
        }
        Ok(Printed(list.into()))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Printed, A::Error> {
        let mut steps = Vec::new();
        let mut object = serde_json::Map::new();
        while let Some((name, Printed(value))) = fields.next_entry::<String, Printed>()? {
            match STEPS.contains(&name.as_str()) {
                true => steps.push((name, value)),
                false => {
                    object.insert(name, value);
                }
            }
        }
        match steps.len() {
            0 | 1 => object.extend(steps),
            _ => {
                let steps: Vec<Value> = (steps.into_iter())
                    .map(|step| Value::Object([step].into_iter().collect()))
                    .collect();
                object.insert("nested_loop".to_owned(), steps.into());
            }
        }
        Ok(Printed(object.into()))
    }
}

/// The indexes of a merge, which MariaDB writes as a tree.
fn merged(fields: &serde_json::Map<String, Value>) -> Option<String> {
    fn names(value: &Value, found: &mut Vec<String>) {
        match value {
            Value::Object(fields) => {
                if let Some(Value::String(key)) = fields.get("key") {
                    found.push(key.clone());
                }
                fields.values().for_each(|value| names(value, found));
            }
            Value::Array(items) => items.iter().for_each(|value| names(value, found)),
            _ => {}
        }
    }
    let mut found = Vec::new();
    names(fields.get("index_merge")?, &mut found);
    (!found.is_empty()).then(|| found.join(","))
}

/// What surrounds a table.
#[derive(Debug, Clone, Copy, Default)]
struct Around {
    in_loop: bool,
    is_joined: bool,
    join_buffer: bool,
    dependent: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    const MARIADB: &str = r#"{"query_block": {"select_id": 1, "filesort": {"sort_key": "count(0) desc", "temporary_table": {
        "nested_loop": [
          {"table": {"table_name": "c", "access_type": "ALL", "possible_keys": ["PRIMARY"], "rows": 20359, "filtered": 100,
            "attached_condition": "c.phone = 123"}},
          {"block-nl-join": {"table": {"table_name": "o", "access_type": "ref", "possible_keys": ["cust"], "key": "cust",
            "used_key_parts": ["customer_id"], "rows": 1, "filtered": 100}, "buffer_type": "flat"}}]}}}}"#;

    const MYSQL: &str = r#"{"query_block": {"select_id": 1, "ordering_operation": {"using_filesort": true, "nested_loop": [
          {"table": {"table_name": "c", "access_type": "ALL", "rows_examined_per_scan": 9, "filtered": "11.11"}},
          {"table": {"table_name": "o", "access_type": "ref", "key": "cust", "used_key_parts": ["customer_id"],
            "rows_examined_per_scan": 3, "filtered": "100.00", "using_index": true,
            "attached_subqueries": [{"dependent": true, "cacheable": false, "query_block": {"select_id": 2,
              "table": {"table_name": "i", "access_type": "index", "key": "a"}}}]}}]}}}"#;

    #[test]
    fn plans_of_mariadb_are_read() {
        let plan = Plan::parse(MARIADB).unwrap();
        assert!(plan.filesort && plan.temporary_table);
        let [c, o] = &plan.tables[..] else {
            panic!("{plan:?}");
        };
        assert_eq!(
            (c.access, c.is_joined, c.join_buffer),
            (Access::Scan, false, false)
        );
        assert_eq!(
            (o.access, o.is_joined, o.join_buffer),
            (Access::Lookup, true, true)
        );
        assert!(plan.uses("o", "cust") && !plan.uses("o", "cus"));
    }

    #[test]
    fn aliases_have_letters_of_any_alphabet() {
        let plan = Plan::parse(&MARIADB.replace("\"o\"", "\"ΌΡΟΣ\"")).unwrap();
        assert!(plan.uses("όροσ", "cust"));
        assert!(plan.table("όροσ").is_some() && plan.table("Ό").is_none());
    }

    #[test]
    fn another_plan_reads_otherwise_whatever_it_expects() {
        let plan = |text: &str| Plan::parse(text).unwrap();
        let usual = plan(MARIADB);
        let is_other = |text: &str| is_other_plan(Some(&usual), Some(&plan(text)));
        assert!(!is_other(MARIADB));
        assert!(!is_other(&MARIADB.replace("20359", "7")));
        let filter = r#""rows": 1, "rowid_filter": {"range": {"key": "placed", "used_key_parts": ["placed"]}, "rows": 8}"#;
        assert!(is_other(&MARIADB.replace(r#""rows": 1"#, filter)));
        let derived = r#"[{"table": {"table_name": "<derived2>", "access_type": "ALL"}},"#;
        assert!(is_other(&MARIADB.replacen('[', derived, 1)));
        assert!(is_other_plan(Some(&usual), None) && !is_other_plan(None, None));
    }

    #[test]
    fn joins_of_old_mariadb_are_read() {
        let plan = Plan::parse(
            r#"{"query_block": {"select_id": 1,
              "table": {"table_name": "l", "access_type": "ref", "key": "idx_sku", "rows": 8, "filtered": 100},
              "block-nl-join": {"table": {"table_name": "o", "access_type": "ALL", "rows": 9}},
              "table": {"table_name": "p", "access_type": "eq_ref", "key": "PRIMARY", "rows": 1, "filtered": 100}}}"#,
        )
        .unwrap();
        let [l, o, p] = &plan.tables[..] else {
            panic!("{plan:?}");
        };
        assert!(plan.uses("l", "idx_sku") && !l.is_joined);
        assert!(o.join_buffer && o.is_joined && p.is_joined && !p.join_buffer);
    }

    #[test]
    fn plans_of_mysql_are_read() {
        let plan = Plan::parse(MYSQL).unwrap();
        assert!(plan.filesort && !plan.temporary_table);
        let c = plan.table("C").unwrap();
        assert_eq!((c.rows, c.filtered), (9.0, 11.11));
        let o = plan.table("o").unwrap();
        assert!(o.is_joined && o.covering && !o.dependent);
        let i = plan.table("i").unwrap();
        assert!(i.dependent && i.access == Access::IndexScan);
        assert_eq!(Plan::parse("no"), None);
    }
}
