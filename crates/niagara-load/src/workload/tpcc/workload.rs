//! What TPC-C is as a workload: properties, tables, data.

use super::options::{OPTIONS, Tpcc};
use super::transaction::{TpccScript, TpccTransaction};
use super::{TABLES, load, schema};
use crate::counted;
use crate::error::LoadError;
use crate::workload::common::CommonOptions;
use crate::workload::family::{Each, Family, Measure, Registered, takes_common};
use crate::workload::kind::WorkloadKind;
use crate::workload::option::WorkloadOption;
use crate::workload::template::Templates;

const NAME: &str = "tpcc";

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
        takes_common(option, true) || OPTIONS.contains(option)
    }

    fn set(&mut self, option: &WorkloadOption, value: &str) -> Result<bool, LoadError> {
        self.set_option(option, value)
    }

    fn validate(&self) -> Result<(), LoadError> {
        if (1..=100_000).contains(&self.warehouses) {
            return Ok(());
        }
        Err(LoadError::invalid(format!(
            "warehouses = {}: must be from 1 to 100000",
            self.warehouses
        )))
    }

    fn table_names(&self, _threads: u32) -> Vec<String> {
        TABLES.map(str::to_owned).into()
    }

    fn data_in_words(&self, _threads: u32) -> String {
        counted(u64::from(self.warehouses), "warehouse")
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
    const OPTIONS: &'static [WorkloadOption] = OPTIONS;
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
