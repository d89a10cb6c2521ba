//! What a workload's file says, understood: every name resolved, every number known.

use super::generator::Generator;
use super::sql;
use crate::workload::family::Measure;

/// A workload.
#[derive(Debug, Clone)]
pub(crate) struct Definition {
    pub title: String,
    /// Whether it is a batch job, done once: its statements that have names are timed.
    pub job: bool,
    /// What a measurement of it is about.
    pub measure: Measure,
    /// The names of its numbers, which can be set otherwise than it says.
    pub scale: Vec<String>,
    pub tables: Vec<Table>,
    pub transactions: Vec<Transaction>,
}

#[derive(Debug, Clone)]
pub(crate) struct Table {
    pub name: String,
    pub rows: u64,
    /// `{engine}` stands for the storage engine.
    pub create: String,
    pub columns: Vec<(String, Column)>,
    /// Statements for when the rows are in.
    pub after: Vec<String>,
}

#[derive(Debug, Clone)]
pub(crate) enum Column {
    /// The row's number, from 1.
    Row,
    Drawn(Generator),
}

#[derive(Debug, Clone)]
pub(crate) struct Transaction {
    pub name: String,
    pub weight: u32,
    /// Values by their names, in the order in which statements know them.
    pub values: Vec<(String, Source)>,
    pub steps: Vec<Step>,
    /// One of its steps is a BEGIN: a statement that fails leaves something to be rolled back.
    pub begins: bool,
}

/// Where a value comes from.
#[derive(Debug, Clone)]
pub(crate) enum Source {
    /// Drawn when the transaction begins; the same when it is begun again after a deadlock.
    Transaction(Generator),
    /// Drawn whenever the step of this place is executed.
    Step(usize, Generator),
    /// A column of the first row that a step's answer has.
    Answer,
}

#[derive(Debug, Clone)]
pub(crate) struct Step {
    /// What it is called, if it has a name: what a job times.
    pub name: Option<String>,
    /// With question marks.
    pub sql: String,
    /// The values for them, by their places.
    pub parameters: Vec<usize>,
    /// How often it is executed.
    pub times: u32,
    /// Values that are taken from its answer, by their places, column by column.
    pub keep: Vec<usize>,
}

impl Definition {
    /// Whether its transactions change data or lock rows.
    pub(crate) fn writes(&self) -> bool {
        let mut steps = self.transactions.iter().flat_map(|one| &one.steps);
        steps.any(|step| !sql::only_reads(&step.sql))
    }
}
