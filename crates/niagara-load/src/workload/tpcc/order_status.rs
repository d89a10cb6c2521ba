//! Order-status (clause 2.6): what became of a customer's last order.

use super::inputs::Customer;
use super::statements::Sql;
use super::transaction::{TpccTransaction, missing, number};
use crate::protocol::answer::Answer;
use crate::workload::parameters::Parameters;
use crate::workload::template::Unexpected;

impl TpccTransaction {
    pub(super) fn encode_status(&self, sql: Sql, command: impl Parameters) {
        let command = command.int(self.inputs.warehouse).int(self.inputs.district);
        match sql {
            Sql::StatusByName => {
                let (name, length) = self.last_name();
                command.bytes(&name[..length])
            }
            Sql::StatusLines => command.int(self.work.order),
            _ => command.int(self.work.customer),
        }
        .finish();
    }

    pub(super) fn advance_status(&mut self, answer: &Answer) -> Result<(), Unexpected> {
        self.sql = match self.sql {
            Sql::Begin => match self.inputs.customer {
                Customer::Name(_) => Sql::StatusByName,
                Customer::Number(_) => Sql::StatusCustomer,
            },
            Sql::StatusByName => {
                self.take_middle_customer(answer)?;
                Sql::StatusCustomer
            }
            Sql::StatusCustomer => {
                if answer.rows() == 0 {
                    return Err(missing("there is no such customer"));
                }
                Sql::StatusOrder
            }
            Sql::StatusOrder => {
                let mut row = answer
                    .row(0)
                    .ok_or_else(|| missing("a customer has no order"))?;
                self.work.order = number(row.int()?)?;
                Sql::StatusLines
            }
            // An order may be without lines as yet: an engine without transactions shows it before them. That none stays so
            // is a condition of consistency, checked after the run.
            _ => Sql::Commit,
        };
        Ok(())
    }
}
