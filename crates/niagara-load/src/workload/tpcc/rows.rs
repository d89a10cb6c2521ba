//! The rows that the tables are loaded with (clause 4.3.3.1), as they stand in an INSERT.

use super::random::{Constants, data, digits, last_name, letters};
use super::{CUSTOMERS, DELIVERED, DISTRICTS, FEWEST_LINES, ITEMS, MOST_LINES};
use crate::workload::Rng;
use rand::RngExt;
use rand::seq::SliceRandom;

/// The time of everything that happened before the load began: always the same, so that the rows are.
const BEFORE: &str = "2009-04-22 08:00:00";

/// Rows in the making: values in parentheses, with commas between.
pub struct Row<'a> {
    out: &'a mut Vec<u8>,
    is_first: bool,
}

impl<'a> Row<'a> {
    pub fn new(out: &'a mut Vec<u8>) -> Self {
        out.push(b'(');
        Row {
            out,
            is_first: true,
        }
    }

    fn comma(&mut self) {
        if !std::mem::take(&mut self.is_first) {
            self.out.push(b',');
        }
    }

    pub fn int(mut self, value: i32) -> Self {
        self.comma();
        self.out
            .extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
        self
    }

    /// What needs no quotes: a decimal number, NULL.
    pub fn plain(mut self, text: &str) -> Self {
        self.comma();
        self.out.extend_from_slice(text.as_bytes());
        self
    }

    /// `digits` after the point.
    pub fn decimal(mut self, value: i32, digits: usize) -> Self {
        self.comma();
        let power = 10_i32.pow(digits as u32);
        let mut number = itoa::Buffer::new();
        self.out
            .extend_from_slice(number.format(value / power).as_bytes());
        self.out.push(b'.');
        let part = number.format(value % power + power);
        self.out.extend_from_slice(&part.as_bytes()[1..]);
        self
    }

    /// A text that needs no escape, written by `fill`.
    pub fn text(mut self, fill: impl FnOnce(&mut Vec<u8>)) -> Self {
        self.comma();
        self.out.push(b'\'');
        fill(self.out);
        self.out.push(b'\'');
        self
    }

    pub fn letters(self, rng: &mut Rng, fewest: usize, most: usize) -> Self {
        self.text(|out| letters(out, rng, fewest, most))
    }

    pub fn word(self, word: &str) -> Self {
        self.text(|out| out.extend_from_slice(word.as_bytes()))
    }

    /// Streets, city, state, zip code (clause 4.3.2.7).
    fn address(self, rng: &mut Rng) -> Self {
        self.letters(rng, 10, 20)
            .letters(rng, 10, 20)
            .letters(rng, 10, 20)
            .letters(rng, 2, 2)
            .text(|out| {
                digits(out, rng, 4);
                out.extend_from_slice(b"11111");
            })
    }

    pub fn end(self) {
        self.out.push(b')');
    }
}

pub fn warehouse(out: &mut Vec<u8>, rng: &mut Rng, warehouse: i32) {
    Row::new(out)
        .int(warehouse)
        .letters(rng, 6, 10)
        .address(rng)
        .decimal(rng.random_range(0..=2000), 4)
        .plain("300000.00")
        .end();
}

pub fn district(out: &mut Vec<u8>, rng: &mut Rng, warehouse: i32, district: i32) {
    Row::new(out)
        .int(district)
        .int(warehouse)
        .letters(rng, 6, 10)
        .address(rng)
        .decimal(rng.random_range(0..=2000), 4)
        .plain("30000.00")
        .int(CUSTOMERS + 1)
        .end();
}

pub fn item(out: &mut Vec<u8>, rng: &mut Rng, item: i32) {
    Row::new(out)
        .int(item)
        .int(rng.random_range(1..=10_000))
        .letters(rng, 14, 24)
        .decimal(rng.random_range(100..=10_000), 2)
        .text(|out| data(out, rng))
        .end();
}

pub fn stock(out: &mut Vec<u8>, rng: &mut Rng, warehouse: i32, item: i32) {
    let mut row = Row::new(out)
        .int(item)
        .int(warehouse)
        .int(rng.random_range(10..=100));
    for _ in 0..DISTRICTS {
        row = row.letters(rng, 24, 24);
    }
    row.int(0).int(0).int(0).text(|out| data(out, rng)).end();
}

/// A customer, and the payment that the customer has made.
pub fn customer(
    customers: &mut Vec<u8>,
    rng: &mut Rng,
    (warehouse, district, customer): (i32, i32, i32),
) {
    let name = if customer <= 1000 {
        customer - 1
    } else {
        Constants::load().last_name(rng)
    };
    let (name, length) = last_name(name);
    Row::new(customers)
        .int(customer)
        .int(district)
        .int(warehouse)
        .letters(rng, 8, 16)
        .word("OE")
        .text(|out| out.extend_from_slice(&name[..length]))
        .address(rng)
        .text(|out| digits(out, rng, 16))
        .word(BEFORE)
        .word(if rng.random_range(0..10) == 0 {
            "BC"
        } else {
            "GC"
        })
        .plain("50000.00")
        .decimal(rng.random_range(0..=5000), 4)
        .plain("-10.00")
        .plain("10.00")
        .int(1)
        .int(0)
        .letters(rng, 300, 500)
        .end();
}

pub fn history(out: &mut Vec<u8>, rng: &mut Rng, (warehouse, district, customer): (i32, i32, i32)) {
    Row::new(out)
        .int(customer)
        .int(district)
        .int(warehouse)
        .int(district)
        .int(warehouse)
        .word(BEFORE)
        .plain("10.00")
        .letters(rng, 12, 24)
        .end();
}

/// The customers of a district in the order of their first orders: each has one.
pub fn order_customers(rng: &mut Rng) -> Vec<i32> {
    let mut customers: Vec<i32> = (1..=CUSTOMERS).collect();
    customers.shuffle(rng);
    customers
}

/// An order; returns how many lines it has.
pub fn order(
    out: &mut Vec<u8>,
    rng: &mut Rng,
    (warehouse, district, order): (i32, i32, i32),
    customer: i32,
) -> usize {
    let lines = rng.random_range(FEWEST_LINES..=MOST_LINES);
    let row = Row::new(out)
        .int(order)
        .int(district)
        .int(warehouse)
        .int(customer)
        .word(BEFORE);
    let row = if order <= DELIVERED {
        row.int(rng.random_range(1..=10))
    } else {
        row.plain("NULL")
    };
    row.int(lines as i32).int(1).end();
    lines
}

pub fn new_order(out: &mut Vec<u8>, (warehouse, district, order): (i32, i32, i32)) {
    Row::new(out).int(order).int(district).int(warehouse).end();
}

pub fn order_line(
    out: &mut Vec<u8>,
    rng: &mut Rng,
    (warehouse, district, order): (i32, i32, i32),
    number: usize,
) {
    let row = Row::new(out)
        .int(order)
        .int(district)
        .int(warehouse)
        .int(number as i32)
        .int(rng.random_range(1..=ITEMS))
        .int(warehouse);
    let row = if order <= DELIVERED {
        row.word(BEFORE).int(5).plain("0.00")
    } else {
        row.plain("NULL")
            .int(5)
            .decimal(rng.random_range(1..=999_999), 2)
    };
    row.letters(rng, 24, 24).end();
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;

    #[test]
    fn rows_have_the_columns_of_their_tables() {
        let mut rng = Rng::seed_from_u64(1);
        let key = (1, 2, 3);
        type Write = fn(&mut Vec<u8>, &mut Rng, (i32, i32, i32));
        let writers: [(&str, Write); 9] = [
            ("warehouse", |out, rng, key| warehouse(out, rng, key.0)),
            ("district", |out, rng, key| district(out, rng, key.0, key.1)),
            ("customer", customer),
            ("history", history),
            ("new_order", |out, _, key| new_order(out, key)),
            ("orders", |out, rng, key| {
                order(out, rng, key, 7);
            }),
            ("order_line", |out, rng, key| order_line(out, rng, key, 1)),
            ("item", |out, rng, key| item(out, rng, key.2)),
            ("stock", |out, rng, key| stock(out, rng, key.0, key.2)),
        ];
        for (table, write) in writers {
            let mut out = Vec::new();
            write(&mut out, &mut rng, key);
            let text = String::from_utf8(out).unwrap();
            assert!(text.starts_with('(') && text.ends_with(')'), "{text}");
            let columns = super::super::schema::create_table(table, "InnoDB", "")
                .split_once('(')
                .map(|(_, columns)| columns.to_owned())
                .unwrap();
            // Every column's definition has its type after its name; keys have none.
            let count = columns
                .split(", ")
                .filter(|part| part.split(' ').next().unwrap().contains('_'))
                .filter(|part| {
                    part.split(' ').nth(1).is_some_and(|word| {
                        ["INT", "VARCHAR", "CHAR", "DECIMAL", "DATETIME"]
                            .iter()
                            .any(|kind| word.starts_with(kind))
                    })
                })
                .count();
            assert_eq!(text.matches(',').count() + 1, count, "{table}: {text}");
        }
    }

    #[test]
    fn decimals_keep_their_zeros() {
        let mut out = Vec::new();
        Row::new(&mut out)
            .decimal(7, 4)
            .decimal(12_345, 2)
            .int(-1)
            .end();
        assert_eq!(out, b"(0.0007,123.45,-1)");
    }
}
