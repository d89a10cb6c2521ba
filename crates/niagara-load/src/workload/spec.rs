//! A workload with all its numbers.

use super::capture::CaptureWorkload;
use super::common::CommonOptions;
use super::family::Measure;
use super::kind::WorkloadKind;
use super::option::WorkloadOption;
use super::registry::Workload;
use super::sysbench::Sysbench;
use crate::error::LoadError;

/// A workload and its options. The default is sysbench's `oltp_read_only` with sysbench's own defaults.
#[derive(Debug, Clone, PartialEq)]
pub struct WorkloadSpec {
    /// Which workload, with the options that only such a workload has.
    pub workload: Workload,
    /// Options of all workloads.
    pub common: CommonOptions,
}

impl Default for WorkloadSpec {
    fn default() -> Self {
        WorkloadSpec::of(Sysbench::default())
    }
}

impl WorkloadSpec {
    /// The workload with the defaults of the options that all have.
    pub fn of(workload: impl Into<Workload>) -> Self {
        WorkloadSpec {
            workload: workload.into(),
            common: CommonOptions::default(),
        }
    }

    /// Refuses what cannot be run, naming the option and the values that can.
    ///
    /// # Errors
    /// What is wrong.
    pub fn validate(&self) -> Result<(), LoadError> {
        self.common.validate()?;
        self.workload.family().validate()
    }

    /// Which of those that are built in; `None`: it is from a file of the user's.
    pub fn kind(&self) -> Option<WorkloadKind> {
        self.workload.family().kind()
    }

    /// The capture that it replays; `None`: it is drawn.
    pub fn capture(&self) -> Option<&CaptureWorkload> {
        match &self.workload {
            Workload::Capture(capture) => Some(capture),
            _ => None,
        }
    }

    /// Whether it has no data of its own, so that they have to be given: a capture of which nobody said whose tables it
    /// ran on.
    pub fn needs_data(&self) -> bool {
        self.capture().is_some_and(CaptureWorkload::needs_data)
    }

    /// The name that people know the workload by: for one from a file of the user's, the file's.
    pub fn name(&self) -> &str {
        self.workload.family().name()
    }

    /// What stands for the content of the user's file that it is from, and of what that requires: equal content, equal
    /// text, wherever the file lies. `None`: it is built in.
    pub fn content(&self) -> Option<String> {
        self.workload.family().content()
    }

    /// What its file calls it, of a workload from a file.
    pub fn title(&self) -> Option<&str> {
        self.workload.family().title()
    }

    /// How the command line names it: a file by its path.
    pub fn spelling(&self) -> &str {
        self.workload.family().spelling()
    }

    /// Whether its transactions change data or lock rows.
    pub fn writes(&self) -> bool {
        self.workload.family().writes()
    }

    /// Whether it is a batch job, done once from a cold start, rather than a load that is kept up.
    pub fn is_job(&self) -> bool {
        self.workload.family().is_job()
    }

    /// Whether there are conditions that its data must meet after any load.
    pub fn has_conditions(&self) -> bool {
        self.workload.family().has_conditions()
    }

    /// What a measurement of it is about.
    pub fn measure(&self) -> Measure {
        self.workload.family().measure()
    }

    /// Whether an option means something to it.
    pub fn takes(&self, option: &WorkloadOption) -> bool {
        self.workload.family().takes(option)
    }

    /// Names of the numbers of its file, which can be set; `None` where it is from no file.
    pub fn numbers(&self) -> Option<Vec<String>> {
        self.workload.family().numbers()
    }

    /// The names of all tables when the load has `threads` connections.
    pub fn table_names(&self, threads: u32) -> Vec<String> {
        self.workload.family().table_names(threads)
    }

    /// Whether the workload's own table of this name has the column; `None` where that cannot be said. A table with
    /// another column is not one that [`prepare`](crate::prepare) made.
    pub fn has_column(&self, table: &str, column: &str) -> Option<bool> {
        self.workload.family().has_column(table, column)
    }

    /// The data in a few words, without the engine: `1 table of 100000 rows`.
    pub fn data_in_words(&self, threads: u32) -> String {
        self.workload.family().data_in_words(threads)
    }

    /// Names the tables and rows that [`prepare`](crate::prepare) makes for a load of `threads` connections: equal
    /// names, equal data. What only decides the load, and the storage engine, are no part of it.
    pub fn data_key(&self, threads: u32) -> String {
        self.workload.family().data_key(&self.common, threads)
    }

    /// Statements that read every table and every index once, in `database`.
    pub fn read_all_statements(&self, database: &str, threads: u32) -> Vec<String> {
        self.workload
            .family()
            .read_all_statements(&quoted(database), threads)
    }
}

/// The name of a database as statements write it.
pub(crate) fn quoted(database: &str) -> String {
    format!("`{}`", database.replace('`', "``"))
}
