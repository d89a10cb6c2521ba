//! The format of a workload's file: its keys, what they are for (messages say these comments) and where they stand.

use crate::workload::family::Measure;
use niagara_toml::{At, Text, TextOr};
use schemars::JsonSchema;
use serde::Deserialize;
use std::collections::BTreeMap;

/// A number, or the name of one of `[scale]`.
pub(super) type Number = At<TextOr<u64>>;
/// Values by name, and how they are drawn.
pub(super) type Draw = BTreeMap<At<String>, At<Way>>;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct WorkloadFormat {
    /// what the load is in a few words, in quotes
    pub title: Text,
    /// true for a batch job, done once: its statements that have names are timed
    pub job: Option<At<bool>>,
    /// what a measurement is about
    #[serde(default)]
    pub measure: Measure,
    /// numbers by name, which can be set otherwise, as in rows = 1_000
    #[serde(default)]
    pub scale: BTreeMap<String, u64>,
    /// names that set a number of [scale] to a multiple, as in size = { of = "rows", each = 1_000 }
    #[serde(default)]
    pub multiple: BTreeMap<At<String>, Multiple>,
    /// tables, [[table]] before each
    #[serde(default)]
    pub table: Vec<TableFormat>,
    /// transactions, [[transaction]] before each
    #[serde(default)]
    pub transaction: Vec<TransactionFormat>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Multiple {
    /// a name of [scale], in quotes
    pub of: At<Text>,
    /// the multiple, as in 1_000
    #[schemars(range(min = 1))]
    pub each: u64,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct TableFormat {
    /// its name, in quotes
    pub name: At<Text>,
    /// how many rows it has, as in 1_000
    pub rows: Number,
    /// its statement, "CREATE TABLE …"
    pub create: At<Text>,
    /// what is in its rows, column by column, as in id = "row"
    #[serde(default)]
    pub columns: BTreeMap<At<String>, At<TextOr<Way>>>,
    /// statements for when the rows are in
    #[serde(default)]
    pub after: Vec<Text>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct TransactionFormat {
    /// its name, in quotes
    pub name: At<Text>,
    /// its share of all transactions, beside the weights of the others
    #[schemars(range(min = 1, max = 1_000_000))]
    pub weight: Option<u32>,
    /// values that are drawn when it begins
    #[serde(default)]
    pub draw: Draw,
    /// its statements in order, ["SELECT …"]
    pub statements: At<Vec<At<TextOr<StatementFormat>>>>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct StatementFormat {
    /// the statement, "SELECT …"
    pub sql: At<Text>,
    /// what it is called in a job's times
    pub name: Option<Text>,
    /// how often it is executed
    pub times: Option<Number>,
    /// values that are drawn whenever it is executed
    #[serde(default)]
    pub draw: Draw,
    /// names for the first columns of its first row
    pub keep: Option<At<Vec<At<Text>>>>,
}

/// How a value is drawn: one of these ways, with what belongs to it.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Way {
    pub int: Option<At<Vec<Number>>>,
    #[serde(default)]
    #[schemars(with = "serde_json::Value")]
    pub distribution: Option<At<toml::Value>>,
    pub decimal: Option<At<Vec<f64>>>,
    pub text: Option<At<Vec<Number>>>,
    pub pattern: Option<At<String>>,
    pub one_of: Option<At<Vec<String>>>,
    #[schemars(inner(range(min = 1, max = 1_000_000)))]
    pub weights: Option<At<Vec<u32>>>,
    pub unique: Option<At<bool>>,
}
