//! Stock-level (clause 2.8): how many of the items that a district sold lately are low in stock.

use super::statements::Sql;
use super::transaction::{TpccTransaction, missing, number};
use crate::protocol::answer::Answer;
use crate::workload::parameters::Parameters;
use crate::workload::template::Unexpected;

/// Orders that are read.
const ORDERS: i32 = 20;

impl TpccTransaction {
    pub(super) fn encode_level(&self, sql: Sql, command: impl Parameters) {
        let command = command.int(self.inputs.warehouse).int(self.inputs.district);
        match sql {
            Sql::LevelStock => command
                .int(self.work.order)
                .int(self.work.order - ORDERS)
                .int(self.inputs.threshold),
            _ => command,
        }
        .finish();
    }

    pub(super) fn advance_level(&mut self, answer: &Answer) -> Result<(), Unexpected> {
        self.sql = match self.sql {
            Sql::Begin => Sql::LevelDistrict,
            Sql::LevelDistrict => {
                let mut row = answer
                    .row(0)
                    .ok_or_else(|| missing("there is no such district"))?;
                self.work.order = number(row.int()?)?;
                Sql::LevelStock
            }
            _ => Sql::Commit,
        };
        Ok(())
    }
}
