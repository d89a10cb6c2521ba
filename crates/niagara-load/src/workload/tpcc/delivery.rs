//! Delivery (clause 2.7): delivers the oldest new order of each of a warehouse's ten districts. A district without one
//! is left out. All of it is one transaction, done at once and not deferred.

use super::DISTRICTS;
use super::statements::Sql;
use super::transaction::{TpccScript, TpccTransaction, amount, missing, number};
use crate::protocol::answer::Answer;
use crate::workload::draw::decimal;
use crate::workload::parameters::Parameters;
use crate::workload::template::Unexpected;

impl TpccTransaction {
    pub(super) fn encode_delivery(&self, sql: Sql, rows: usize, command: impl Parameters) {
        let warehouse = self.inputs.warehouse;
        let district = self.place as i32 + 1;
        match sql {
            Sql::DeliveryOldest => command.int(warehouse).int(district),
            Sql::DeliveryUpdate => command
                .bytes(decimal(self.work.sums[self.place], &mut [0; 24]))
                .int(warehouse)
                .int(district)
                .int(self.work.customers[self.place]),
            _ => {
                let command = match sql {
                    Sql::DeliveryCarrier => command.int(self.inputs.carrier),
                    _ => command,
                };
                (0..rows).fold(command, |command, row| {
                    let place = if rows == 1 {
                        self.place
                    } else {
                        self.filled(row)
                    };
                    command
                        .int(warehouse)
                        .int(place as i32 + 1)
                        .int(self.work.orders[place])
                })
            }
        }
        .finish();
    }

    /// The district of a row (from 0): one without an order has its place taken by another one, which changes no
    /// answer.
    fn filled(&self, row: usize) -> usize {
        let orders = &self.work.orders;
        if orders[row] > 0 {
            return row;
        }
        orders.iter().position(|order| *order > 0).unwrap_or(row)
    }

    pub(super) fn advance_delivery(
        &mut self,
        script: &TpccScript,
        answer: &Answer,
    ) -> Result<(), Unexpected> {
        self.sql = match self.sql {
            Sql::Begin => {
                self.work.orders = [0; DISTRICTS as usize];
                Sql::DeliveryOldest
            }
            Sql::DeliveryOldest => {
                if let Some(mut row) = answer.row(0) {
                    self.work.orders[self.place] = number(row.int()?)?;
                }
                let is_last = self.place + 1 == DISTRICTS as usize;
                match script.batch {
                    true if !is_last => {
                        self.place += 1;
                        Sql::DeliveryOldest
                    }
                    true if self.work.orders.iter().all(|order| *order == 0) => Sql::Commit,
                    true => Sql::DeliveryDelete,
                    false if self.work.orders[self.place] == 0 => self.next_district(script),
                    false => Sql::DeliveryDelete,
                }
            }
            Sql::DeliveryDelete => Sql::DeliveryCustomer,
            Sql::DeliveryCustomer => {
                self.take(answer, |transaction, district, row| {
                    transaction.work.customers[district] = number(row.int()?)?;
                    Ok(())
                })?;
                Sql::DeliveryCarrier
            }
            Sql::DeliveryCarrier => Sql::DeliveryDate,
            Sql::DeliveryDate => Sql::DeliverySum,
            Sql::DeliverySum => {
                self.take(answer, |transaction, district, row| {
                    transaction.work.sums[district] = amount(row.hundredths()?)?;
                    Ok(())
                })?;
                if script.batch {
                    self.place = self.filled(0);
                }
                Sql::DeliveryUpdate
            }
            _ => self.next_district(script),
        };
        Ok(())
    }

    /// The next district's first statement, of those that are done by district; the end when there is none.
    fn next_district(&mut self, script: &TpccScript) -> Sql {
        loop {
            self.place += 1;
            if self.place >= DISTRICTS as usize {
                return Sql::Commit;
            }
            if !script.batch {
                return Sql::DeliveryOldest;
            }
            if self.work.orders[self.place] > 0 {
                return Sql::DeliveryUpdate;
            }
        }
    }

    /// Takes what the rows say, each of a district that is its first column.
    fn take(
        &mut self,
        answer: &Answer,
        mut what: impl FnMut(
            &mut Self,
            usize,
            &mut crate::protocol::answer::Row<'_>,
        ) -> Result<(), Unexpected>,
    ) -> Result<(), Unexpected> {
        if answer.rows() == 0 {
            return Err(missing(
                "a row of new_order has no order, or no order lines",
            ));
        }
        for index in 0..answer.rows() {
            let Some(mut row) = answer.row(index) else {
                break;
            };
            let district = number(row.int()?)?;
            if !(1..=DISTRICTS).contains(&district) {
                return Err(missing("there is no such district"));
            }
            what(self, district as usize - 1, &mut row)?;
        }
        Ok(())
    }
}
