//! Payment (clause 2.5): a customer pays; warehouse, district and customer keep their sums.

use super::inputs::Customer;
use super::random::last_name;
use super::statements::Sql;
use super::transaction::{TpccTransaction, keep, missing};
use crate::protocol::answer::Answer;
use crate::workload::draw::decimal;
use crate::workload::parameters::Parameters;
use crate::workload::template::Unexpected;

impl TpccTransaction {
    pub(super) fn encode_payment(&self, sql: Sql, command: impl Parameters) {
        let (inputs, work) = (&self.inputs, &self.work);
        let (warehouse, district) = (inputs.warehouse, inputs.district);
        let (of_warehouse, of_district) = (inputs.customer_warehouse, inputs.customer_district);
        let mut buffer = [0; 24];
        let amount = decimal(inputs.amount, &mut buffer);
        match sql {
            Sql::PaymentWarehouseUpdate => command.bytes(amount).int(warehouse),
            Sql::PaymentWarehouse => command.int(warehouse),
            Sql::PaymentDistrictUpdate => command.bytes(amount).int(warehouse).int(district),
            Sql::PaymentDistrict => command.int(warehouse).int(district),
            Sql::PaymentByName => {
                let (name, length) = self.last_name();
                command
                    .int(of_warehouse)
                    .int(of_district)
                    .bytes(&name[..length])
            }
            Sql::PaymentCustomer | Sql::PaymentData => command
                .int(of_warehouse)
                .int(of_district)
                .int(work.customer),
            Sql::PaymentUpdate => command
                .bytes(amount)
                .bytes(amount)
                .int(of_warehouse)
                .int(of_district)
                .int(work.customer),
            Sql::PaymentDataUpdate => {
                let mut note = Note::default();
                for number in [
                    work.customer,
                    of_district,
                    of_warehouse,
                    district,
                    warehouse,
                ] {
                    note.push(itoa::Buffer::new().format(number).as_bytes());
                    note.push(b" ");
                }
                note.push(amount);
                note.push(b"|");
                command
                    .bytes(amount)
                    .bytes(amount)
                    .bytes(note.bytes())
                    .int(of_warehouse)
                    .int(of_district)
                    .int(work.customer)
            }
            Sql::PaymentHistory => {
                let [(warehouse_name, one), (district_name, other)] = &work.names;
                let mut note = Note::default();
                note.push(&warehouse_name[..*one]);
                note.push(b"    ");
                note.push(&district_name[..*other]);
                command
                    .int(work.customer)
                    .int(of_district)
                    .int(of_warehouse)
                    .int(district)
                    .int(warehouse)
                    .bytes(amount)
                    .bytes(note.bytes())
            }
            _ => command,
        }
        .finish();
    }

    /// The last name that is asked for.
    pub(super) fn last_name(&self) -> ([u8; super::random::MAX_NAME], usize) {
        match self.inputs.customer {
            Customer::Name(number) => last_name(number),
            Customer::Number(_) => last_name(0),
        }
    }

    pub(super) fn advance_payment(&mut self, answer: &Answer) -> Result<(), Unexpected> {
        self.sql = match self.sql {
            Sql::Begin => Sql::PaymentWarehouseUpdate,
            Sql::PaymentWarehouseUpdate => Sql::PaymentWarehouse,
            Sql::PaymentWarehouse => {
                let mut row = answer
                    .row(0)
                    .ok_or_else(|| missing("there is no such warehouse"))?;
                self.work.names[0] = keep(row.bytes()?)?;
                Sql::PaymentDistrictUpdate
            }
            Sql::PaymentDistrictUpdate => Sql::PaymentDistrict,
            Sql::PaymentDistrict => {
                let mut row = answer
                    .row(0)
                    .ok_or_else(|| missing("there is no such district"))?;
                self.work.names[1] = keep(row.bytes()?)?;
                match self.inputs.customer {
                    Customer::Name(_) => Sql::PaymentByName,
                    Customer::Number(_) => Sql::PaymentCustomer,
                }
            }
            Sql::PaymentByName => {
                self.take_middle_customer(answer)?;
                Sql::PaymentCustomer
            }
            Sql::PaymentCustomer => {
                let mut row = answer
                    .row(0)
                    .ok_or_else(|| missing("there is no such customer"))?;
                // A customer with bad credit gets a note.
                if row.bytes()? == Some(b"BC") {
                    Sql::PaymentData
                } else {
                    Sql::PaymentUpdate
                }
            }
            Sql::PaymentData => Sql::PaymentDataUpdate,
            Sql::PaymentUpdate | Sql::PaymentDataUpdate => Sql::PaymentHistory,
            _ => Sql::Commit,
        };
        Ok(())
    }
}

/// A short text put together without allocating.
struct Note {
    text: [u8; 128],
    length: usize,
}

impl Default for Note {
    fn default() -> Self {
        Note {
            text: [0; 128],
            length: 0,
        }
    }
}

impl Note {
    /// Appends what there is room for.
    fn push(&mut self, part: &[u8]) {
        let room = self.text.len() - self.length;
        let part = &part[..part.len().min(room)];
        self.text[self.length..self.length + part.len()].copy_from_slice(part);
        self.length += part.len();
    }

    fn bytes(&self) -> &[u8] {
        &self.text[..self.length]
    }
}
