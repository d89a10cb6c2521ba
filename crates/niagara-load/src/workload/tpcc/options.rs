//! The options of TPC-C.

use crate::error::LoadError;
use crate::workload::option::OptionGroup::Other;
use crate::workload::option::OptionValue::{Flag, Number};
use crate::workload::option::{WorkloadOption, flag, number, option};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// TPC-C with its options.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
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
    /// With this many warehouses.
    pub fn of(warehouses: u32) -> Self {
        Tpcc {
            warehouses,
            batch: true,
            think_time: false,
        }
    }
}

/// The options by name.
#[rustfmt::skip]
pub(super) const OPTIONS: &[WorkloadOption] = &[
    option(Other, "think_time", Flag, "off", "Wait between transactions as people at terminals do (keying and think times)"),
    option(Other, "tpcc_batch", Flag, "on", "Ask for the rows that a transaction wants of one table with one statement"),
    option(Other, "warehouses", Number, "5", "Warehouses"),
];

impl Tpcc {
    /// Sets an option; false if it is not one of these.
    pub(super) fn set_option(
        &mut self,
        option: &WorkloadOption,
        value: &str,
    ) -> Result<bool, LoadError> {
        match option.name {
            "think_time" => self.think_time = flag(option, value)?,
            "tpcc_batch" => self.batch = flag(option, value)?,
            "warehouses" => self.warehouses = number(option, value)?,
            _ => return Ok(false),
        }
        Ok(true)
    }
}
