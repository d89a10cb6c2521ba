//! New-order (clause 2.4): takes an order of 5 to 15 lines. One in a hundred names an item that there is not, and is
//! rolled back.

use super::statements::Sql;
use super::transaction::{TpccScript, TpccTransaction, amount, missing, number};
use crate::protocol::answer::Answer;
use crate::workload::draw::decimal;
use crate::workload::parameters::Parameters;
use crate::workload::template::Unexpected;

impl TpccTransaction {
    pub(super) fn encode_order(&self, sql: Sql, rows: usize, command: impl Parameters) {
        let (inputs, work) = (&self.inputs, &self.work);
        let (warehouse, district) = (inputs.warehouse, inputs.district);
        match sql {
            Sql::OrderCustomer => command.int(warehouse).int(district).int(work.customer),
            Sql::OrderDistrict | Sql::OrderNextNumber => command.int(warehouse).int(district),
            Sql::OrderInsert => command
                .int(work.order)
                .int(district)
                .int(warehouse)
                .int(work.customer)
                .int(inputs.count as i32)
                .int(i32::from(inputs.all_local())),
            Sql::OrderNewOrder => command.int(work.order).int(district).int(warehouse),
            Sql::OrderItems => (0..rows).fold(command, |command, row| {
                command.int(inputs.lines[self.line(row, rows)].item)
            }),
            Sql::OrderStock => (0..rows).fold(command.int(district), |command, row| {
                let line = inputs.lines[self.line(row, rows)];
                command.int(line.supplier).int(line.item)
            }),
            Sql::OrderStockUpdate => {
                let line = inputs.lines[self.place];
                command
                    .int(work.quantities[self.place])
                    .int(line.quantity)
                    .int(i32::from(line.supplier != warehouse))
                    .int(line.supplier)
                    .int(line.item)
            }
            Sql::OrderLines => (0..rows).fold(command, |command, row| {
                let place = self.line(row, rows);
                let line = inputs.lines[place];
                let total = work.prices[place] * i64::from(line.quantity);
                command
                    .int(work.order)
                    .int(district)
                    .int(warehouse)
                    .int(place as i32 + 1)
                    .int(line.item)
                    .int(line.supplier)
                    .int(line.quantity)
                    .bytes(decimal(total, &mut [0; 24]))
                    .bytes(&work.district_info[place])
            }),
            _ => command,
        }
        .finish();
    }

    /// The line that row `row` of a statement of `rows` rows is about: the line at hand of a statement of one row, and
    /// the last one where a list is longer than the order.
    fn line(&self, row: usize, rows: usize) -> usize {
        if rows == 1 {
            self.place
        } else {
            row.min(self.inputs.count - 1)
        }
    }

    pub(super) fn advance_order(
        &mut self,
        script: &TpccScript,
        answer: &Answer,
    ) -> Result<(), Unexpected> {
        let lines = if script.batch {
            0..self.inputs.count
        } else {
            self.place..self.place + 1
        };
        self.sql = match self.sql {
            Sql::Begin => Sql::OrderCustomer,
            Sql::OrderCustomer => {
                if answer.rows() == 0 {
                    return Err(missing("there is no such customer"));
                }
                Sql::OrderDistrict
            }
            Sql::OrderDistrict => {
                let mut row = answer
                    .row(0)
                    .ok_or_else(|| missing("there is no such district"))?;
                self.work.order = number(row.int()?)?;
                Sql::OrderNextNumber
            }
            Sql::OrderNextNumber => Sql::OrderInsert,
            Sql::OrderInsert => Sql::OrderNewOrder,
            Sql::OrderNewOrder => Sql::OrderItems,
            Sql::OrderItems => {
                if self.take_prices(lines, answer)? {
                    Sql::OrderStock
                } else {
                    Sql::Rollback
                }
            }
            Sql::OrderStock => {
                self.take_stock(lines, answer)?;
                Sql::OrderStockUpdate
            }
            Sql::OrderStockUpdate => {
                let is_last = self.place + 1 == self.inputs.count;
                match script.batch {
                    false => Sql::OrderLines,
                    true if is_last => Sql::OrderLines,
                    true => {
                        self.place += 1;
                        Sql::OrderStockUpdate
                    }
                }
            }
            Sql::OrderLines if !script.batch && self.place + 1 < self.inputs.count => {
                self.place += 1;
                Sql::OrderItems
            }
            _ => Sql::Commit,
        };
        Ok(())
    }

    /// Notes what the items cost; false when one of them is not there.
    fn take_prices(
        &mut self,
        lines: std::ops::Range<usize>,
        answer: &Answer,
    ) -> Result<bool, Unexpected> {
        for place in lines.clone() {
            self.work.prices[place] = -1;
        }
        for index in 0..answer.rows() {
            let Some(mut row) = answer.row(index) else {
                break;
            };
            let item = number(row.int()?)?;
            let price = amount(row.hundredths()?)?;
            for place in lines.clone() {
                if self.inputs.lines[place].item == item {
                    self.work.prices[place] = price;
                }
            }
        }
        let mut prices = self.work.prices[lines].iter();
        Ok(prices.all(|price| *price >= 0))
    }

    /// Notes what is left in stock after this order, and what its lines say of the district.
    fn take_stock(
        &mut self,
        lines: std::ops::Range<usize>,
        answer: &Answer,
    ) -> Result<(), Unexpected> {
        let (inputs, work) = (&self.inputs, &mut self.work);
        let mut found = 0;
        for index in 0..answer.rows() {
            let Some(mut row) = answer.row(index) else {
                break;
            };
            let supplier = number(row.int()?)?;
            let item = number(row.int()?)?;
            let mut quantity = number(row.int()?)?;
            let info = row
                .bytes()?
                .ok_or_else(|| missing("a stock row has nothing for a district"))?;
            for place in lines.clone() {
                let line = inputs.lines[place];
                if (line.supplier, line.item) != (supplier, item) {
                    continue;
                }
                // An item may be in an order twice: its second line finds what the first one left.
                quantity -= line.quantity;
                if quantity < 10 {
                    quantity += 91;
                }
                work.quantities[place] = quantity;
                let length = info.len().min(24);
                work.district_info[place] = [b' '; 24];
                work.district_info[place][..length].copy_from_slice(&info[..length]);
                found += 1;
            }
        }
        if found == lines.len() {
            Ok(())
        } else {
            Err(missing("an item has no stock"))
        }
    }
}
