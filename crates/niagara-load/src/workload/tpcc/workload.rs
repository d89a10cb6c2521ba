//! What TPC-C is as a workload: options, properties, tables.

use super::transaction::{TpccScript, TpccTransaction};
use super::{TABLES, load, schema};
use crate::error::LoadError;
use crate::workload::common::CommonOptions;
use crate::workload::family::{Each, Family, Measure, Registered, plural, takes_common};
use crate::workload::kind::WorkloadKind;
use crate::workload::option::OptionGroup::Other;
use crate::workload::option::OptionValue::{Flag, Number};
use crate::workload::option::{WorkloadOption, flag, number, option};
use crate::workload::template::Templates;
use serde::{Deserialize, Serialize};

const NAME: &str = "tpcc";

/// TPC-C with its options.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Tpcc {
    /// Warehouses.
    pub warehouses: u32,
    /// Rows that one transaction wants of one table are asked for with one statement where that is possible; otherwise
    /// one by one, as in the specification's words.
    #[serde(rename = "tpcc_batch")]
    pub batch: bool,
    /// Connections wait between transactions as people at terminals do.
    pub think_time: bool,
}

impl Default for Tpcc {
    fn default() -> Self {
        Tpcc::of(5)
    }
}

impl Tpcc {
    /// With so many warehouses.
    pub fn of(warehouses: u32) -> Self {
        Tpcc {
            warehouses,
            batch: true,
            think_time: false,
        }
    }
}

impl Family for Tpcc {
    fn kind(&self) -> Option<WorkloadKind> {
        Some(WorkloadKind::new(NAME))
    }

    fn name(&self) -> &str {
        NAME
    }

    fn writes(&self) -> bool {
        true
    }

    fn has_conditions(&self) -> bool {
        true
    }

    fn measure(&self) -> Measure {
        Measure::NewOrders
    }

    fn takes(&self, option: &WorkloadOption) -> bool {
        takes_common(option, true) || Self::OPTIONS.contains(option)
    }

    fn set(&mut self, option: &WorkloadOption, value: &str) -> Result<bool, LoadError> {
        match option.name {
            "think_time" => self.think_time = flag(option, value)?,
            "tpcc_batch" => self.batch = flag(option, value)?,
            "warehouses" => self.warehouses = number(option, value)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn validate(&self) -> Result<(), LoadError> {
        if (1..=100_000).contains(&self.warehouses) {
            return Ok(());
        }
        Err(LoadError::Invalid(format!(
            "warehouses = {}: must be from 1 to 100000",
            self.warehouses
        )))
    }

    fn table_names(&self, _threads: u32) -> Vec<String> {
        TABLES.map(str::to_owned).into()
    }

    fn data_in_words(&self, _threads: u32) -> String {
        plural(self.warehouses, "warehouse")
    }

    fn data_key(&self, common: &CommonOptions, _threads: u32) -> String {
        let options = &common.create_table_options;
        match options.is_empty() {
            true => format!("tpcc-{}", self.warehouses),
            false => format!("tpcc-{} options: {options}", self.warehouses),
        }
    }

    fn expected_rows(&self, _threads: u32) -> u64 {
        load::expected_rows(self.warehouses)
    }

    fn read_all_statements(&self, database: &str, _threads: u32) -> Vec<String> {
        schema::read_all(database)
    }

    fn fill(
        &self,
        common: &CommonOptions,
        _threads: u32,
        each: &mut Each<'_>,
    ) -> Result<(), LoadError> {
        load::load(self.warehouses, common, each)
    }
}

impl Registered for Tpcc {
    #[rustfmt::skip]
    const OPTIONS: &'static [WorkloadOption] = &[
        option(Other, "think_time", Flag, "off", "Wait between transactions as people at terminals do (keying and think times)"),
        option(Other, "tpcc_batch", Flag, "on", "Ask for the rows that a transaction wants of one table with one statement"),
        option(Other, "warehouses", Number, "5", "Warehouses"),
    ];
    type Script = Box<TpccScript>;
    // Boxed: it holds an order, and connections of other workloads need not be as large.
    type Transaction = Box<TpccTransaction>;

    fn names() -> Vec<&'static str> {
        vec![NAME]
    }

    fn named(name: &str) -> Option<Self> {
        (name == NAME).then(Tpcc::default)
    }

    fn script(
        &self,
        common: &CommonOptions,
        _threads: u32,
        seed: u64,
        templates: &mut Templates,
    ) -> Box<TpccScript> {
        Box::new(TpccScript::new(self, common.as_text(), seed, templates))
    }
}
