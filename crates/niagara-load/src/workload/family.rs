//! What a folder of workloads brings: options and properties of its workloads, their tables, and their transactions.
//!
//! The first two traits are asked before a load and after it; the last two are the load itself and know their types, so
//! that a statement costs no indirect call.

use super::common::CommonOptions;
use super::draw::{Distribution, Rng};
use super::filling::{JobWork, TableEvent};
use super::kind::WorkloadKind;
use super::option::{OptionGroup, WorkloadOption};
use super::parameters::Parameters;
use super::template::{Next, Templates, Unexpected};
use crate::error::LoadError;
use crate::protocol::answer::Answer;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;

/// Does a number of jobs on several connections at once: those numbered from 1 to the number given.
pub(crate) type Each<'e> = dyn FnMut(u32, &JobWork<'_>) -> Result<(), LoadError> + 'e;

/// What a measurement of a workload is about, besides its throughput and latency.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Measure {
    /// Nothing besides.
    #[default]
    Transactions,
    /// Commits, and how many of them share one sync of the log.
    Commits,
    /// New orders per minute; TPC-C's.
    #[serde(skip_deserializing)]
    NewOrders,
}

/// A workload with its options.
pub(crate) trait Family {
    /// Its name; `None`: the user's own file has none that is known to everybody.
    fn kind(&self) -> Option<WorkloadKind>;

    /// The name that people know it by.
    fn name(&self) -> &str;

    /// How the command line names it.
    fn spelling(&self) -> &str {
        self.name()
    }

    /// What stands for the content of the user's file that it is from; `None`: it is built in.
    fn content(&self) -> Option<String> {
        None
    }

    /// What it is in a few words, where that is not said by its name.
    fn title(&self) -> Option<&str> {
        None
    }

    /// Whether its transactions change data or lock rows.
    fn writes(&self) -> bool;

    /// Whether it is a batch job, done once from a cold start, rather than a load that is kept up.
    fn is_job(&self) -> bool {
        false
    }

    /// Whether there are conditions that its data must meet after any load.
    fn has_conditions(&self) -> bool {
        false
    }

    /// What a measurement of it is about.
    fn measure(&self) -> Measure {
        Measure::default()
    }

    /// Whether an option means something to it.
    fn takes(&self, option: &WorkloadOption) -> bool;

    /// Sets an option of its own; false if it has none of this name.
    ///
    /// # Errors
    /// A value that the option does not take.
    fn set(&mut self, option: &WorkloadOption, value: &str) -> Result<bool, LoadError>;

    /// How its row numbers are drawn, where the user may choose.
    fn distribution(&self) -> Option<Distribution> {
        None
    }

    /// Chooses how its row numbers are drawn.
    fn set_distribution(&mut self, _distribution: Distribution) {}

    /// Names of its numbers that are not options of the program; `None`: it cannot have any.
    fn numbers(&self) -> Option<Vec<String>> {
        None
    }

    /// Sets numbers by their names.
    ///
    /// # Errors
    /// There is no such number, or it does not fit.
    fn set_numbers(&mut self, numbers: &BTreeMap<String, u64>) -> Result<(), LoadError> {
        match numbers.keys().next() {
            None => Ok(()),
            Some(number) => Err(LoadError::invalid(format!(
                "{number}: {} has no such number",
                self.name()
            ))),
        }
    }

    /// Sets an option of the user's own program, whatever its value is; `None`: it is none.
    fn set_text(&mut self, _name: &str, _value: &str) -> Option<Result<(), LoadError>> {
        None
    }

    /// Refuses what cannot be run, naming the option and the values that can.
    ///
    /// # Errors
    /// What is wrong.
    fn validate(&self) -> Result<(), LoadError>;

    /// The names of all tables when the load has `threads` connections.
    fn table_names(&self, threads: u32) -> Vec<String>;

    /// Whether the workload's own table of this name has the column; `None` where that cannot be said.
    fn has_column(&self, _table: &str, _column: &str) -> Option<bool> {
        None
    }

    /// The data in a few words, without the engine: `1 table of 100000 rows`.
    fn data_in_words(&self, threads: u32) -> String;

    /// Names the tables and rows that are made for a load of `threads` connections: equal names, equal data. What only
    /// decides the load, and the storage engine, are no part of it.
    fn data_key(&self, common: &CommonOptions, threads: u32) -> String;

    /// Rows of all tables, as far as that can be said.
    fn expected_rows(&self, threads: u32) -> u64;

    /// Statements that read every table and every index once; `database` is quoted.
    fn read_all_statements(&self, database: &str, threads: u32) -> Vec<String>;

    /// Makes the tables and fills them.
    ///
    /// # Errors
    /// The server refuses a statement.
    fn fill(
        &self,
        common: &CommonOptions,
        threads: u32,
        each: &mut Each<'_>,
    ) -> Result<(), LoadError>;

    /// Drops the tables, where they exist.
    ///
    /// # Errors
    /// The server refuses a statement.
    fn drop_tables(&self, threads: u32, each: &mut Each<'_>) -> Result<(), LoadError> {
        let tables = self.table_names(threads);
        each(1, &|work, _| {
            work.say(TableEvent::Step("dropping the tables"));
            for table in &tables {
                work.execute(format!("DROP TABLE IF EXISTS `{table}`").as_bytes())?;
            }
            Ok(())
        })
    }

    /// Reads the tables into the server's memory; `database` is quoted.
    ///
    /// # Errors
    /// The server refuses a statement, or there is nothing to read.
    fn preload(&self, database: &str, threads: u32, each: &mut Each<'_>) -> Result<(), LoadError> {
        let statements = self.read_all_statements(database, threads);
        each(statements.len() as u32, &|work, number| {
            work.execute(statements[number as usize - 1].as_bytes())
        })
    }
}

/// A family whose types are known: what [the registry](super::registry) needs of it besides.
pub(crate) trait Registered: Family + Sized + Serialize + DeserializeOwned {
    /// Its options, beside [those of all workloads](CommonOptions).
    const OPTIONS: &[WorkloadOption] = &[];
    /// What all connections of a load share; boxed where it is large.
    type Script;
    /// Where one connection is; boxed where it is large.
    type Transaction;

    /// Its workloads' names.
    fn names() -> Vec<&'static str>;

    /// The workload of this name, with default options.
    fn named(name: &str) -> Option<Self>;

    /// Its statements, added to `templates`, and what decides their order, for options that were validated and `threads`
    /// connections that draw from `seed`.
    fn script(
        &self,
        common: &CommonOptions,
        threads: u32,
        seed: u64,
        templates: &mut Templates,
    ) -> Self::Script;
}

/// What all connections of a load share.
pub(crate) trait Script {
    /// Where one of them is; boxed where it is large.
    type Transaction;

    /// The types of transactions that are told apart; empty where there is one only.
    fn types(&self) -> Vec<String> {
        Vec::new()
    }

    /// The transactions of connection `number` (from 0).
    fn transaction(&self, number: u32, rng: Rng) -> Self::Transaction;
}

/// Where one connection is in a transaction of its script: a small state machine over the templates.
pub(crate) trait Steps {
    /// What it shares with the other connections.
    type Script;

    /// A new transaction begins: what stays the same when it is begun again after an error is drawn.
    fn draw(&mut self, script: &Self::Script);

    /// What [`draw`](Self::draw) drew is there already, by the server: what can be drawn anew is, for the same type of transaction.
    /// Nothing where each beginning draws anyway, or where the same input is wanted again.
    fn redraw(&mut self, _script: &Self::Script) {}

    /// Goes to the first statement, for the first time or again after an error.
    fn restart(&mut self);

    /// The template of the statement that is next. To be asked once for each: it may draw.
    fn current(&mut self, script: &Self::Script) -> usize {
        self.peek(script)
    }

    /// As [`current`](Self::current) said last.
    fn peek(&self, script: &Self::Script) -> usize;

    /// Writes the parameters of the statement at hand, which is of `template`.
    fn encode(&mut self, script: &Self::Script, template: usize, command: impl Parameters);

    /// Writes a statement that is not its template's text into `out`, which is emptied; false: it is.
    fn encode_text(&mut self, _out: &mut Vec<u8>) -> bool {
        false
    }

    /// Follows the answer to the statement at hand.
    ///
    /// # Errors
    /// The answer cannot be.
    fn advance(&mut self, script: &Self::Script, answer: &Answer) -> Result<Next, Unexpected>;

    /// Whether the server may hold a transaction open that has to be rolled back when a statement fails.
    fn is_open(&self, script: &Self::Script) -> bool;

    /// How long the connection rests after the transaction that has just completed.
    fn pause(&mut self, _script: &Self::Script) -> Duration {
        Duration::ZERO
    }

    /// Its type's place in [`Script::types`].
    fn kind(&self) -> usize {
        0
    }

    /// The text of a statement that is not its template's.
    fn sql(&self) -> Option<String> {
        None
    }
}

/// Options of all workloads that a workload takes which is not sysbench's.
pub(super) fn takes_common(option: &WorkloadOption, tables: bool) -> bool {
    option.group == OptionGroup::Database
        || ["mysql_storage_engine", "reconnect"].contains(&option.name)
        || (tables && option.name == "create_table_options")
}
