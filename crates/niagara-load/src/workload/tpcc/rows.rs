//! The rows that the tables are loaded with (clause 4.3.3.1).

use super::random::{Constants, data, digits, last_name};
use super::row::Rows;
use super::{CUSTOMERS, DELIVERED, DISTRICTS, FEWEST_LINES, ITEMS, MAX_LINES};
use crate::protocol::command::ParameterType;
use crate::workload::Rng;
use rand::RngExt;
use rand::seq::SliceRandom;

pub(super) fn warehouse(out: &mut Rows, rng: &mut Rng, warehouse: i32) {
    out.row()
        .int(warehouse)
        .letters(rng, 6, 10)
        .address(rng)
        .decimal(rng.random_range(0..=2000), 4)
        .number("300000.00")
        .end();
}

pub(super) fn district(out: &mut Rows, rng: &mut Rng, warehouse: i32, district: i32) {
    out.row()
        .int(district)
        .int(warehouse)
        .letters(rng, 6, 10)
        .address(rng)
        .decimal(rng.random_range(0..=2000), 4)
        .number("30000.00")
        .int(CUSTOMERS + 1)
        .end();
}

pub(super) fn item(out: &mut Rows, rng: &mut Rng, item: i32) {
    out.row()
        .int(item)
        .int(rng.random_range(1..=10_000))
        .letters(rng, 14, 24)
        .decimal(rng.random_range(100..=10_000), 2)
        .text(|out| data(out, rng))
        .end();
}

pub(super) fn stock(out: &mut Rows, rng: &mut Rng, warehouse: i32, item: i32) {
    let mut row = out
        .row()
        .int(item)
        .int(warehouse)
        .int(rng.random_range(10..=100));
    for _ in 0..DISTRICTS {
        row = row.letters(rng, 24, 24);
    }
    row.int(0).int(0).int(0).text(|out| data(out, rng)).end();
}

/// A customer, and the payment that the customer has made.
pub(super) fn customer(
    customers: &mut Rows,
    rng: &mut Rng,
    (warehouse, district, customer): (i32, i32, i32),
) {
    let name = if customer <= 1000 {
        customer - 1
    } else {
        Constants::load().last_name(rng)
    };
    let (name, length) = last_name(name);
    customers
        .row()
        .int(customer)
        .int(district)
        .int(warehouse)
        .letters(rng, 8, 16)
        .word("OE")
        .text(|out| out.extend_from_slice(&name[..length]))
        .address(rng)
        .text(|out| digits(out, rng, 16))
        .before()
        .word(if rng.random_range(0..10) == 0 {
            "BC"
        } else {
            "GC"
        })
        .number("50000.00")
        .decimal(rng.random_range(0..=5000), 4)
        .number("-10.00")
        .number("10.00")
        .int(1)
        .int(0)
        .letters(rng, 300, 500)
        .end();
}

pub(super) fn history(
    out: &mut Rows,
    rng: &mut Rng,
    (warehouse, district, customer): (i32, i32, i32),
) {
    out.row()
        .int(customer)
        .int(district)
        .int(warehouse)
        .int(district)
        .int(warehouse)
        .before()
        .number("10.00")
        .letters(rng, 12, 24)
        .end();
}

/// The customers of a district in the order of their first orders: each has one.
pub(super) fn order_customers(rng: &mut Rng) -> Vec<i32> {
    let mut customers: Vec<i32> = (1..=CUSTOMERS).collect();
    customers.shuffle(rng);
    customers
}

/// An order; returns how many lines it has.
pub(super) fn order(
    out: &mut Rows,
    rng: &mut Rng,
    (warehouse, district, order): (i32, i32, i32),
    customer: i32,
) -> usize {
    let lines = rng.random_range(FEWEST_LINES..=MAX_LINES);
    let row = out
        .row()
        .int(order)
        .int(district)
        .int(warehouse)
        .int(customer)
        .before();
    let row = if order <= DELIVERED {
        row.int(rng.random_range(1..=10))
    } else {
        row.null(ParameterType::Int)
    };
    row.int(lines as i32).int(1).end();
    lines
}

pub(super) fn new_order(out: &mut Rows, (warehouse, district, order): (i32, i32, i32)) {
    out.row().int(order).int(district).int(warehouse).end();
}

pub(super) fn order_line(
    out: &mut Rows,
    rng: &mut Rng,
    (warehouse, district, order): (i32, i32, i32),
    number: usize,
) {
    let row = out
        .row()
        .int(order)
        .int(district)
        .int(warehouse)
        .int(number as i32)
        .int(rng.random_range(1..=ITEMS))
        .int(warehouse);
    let row = if order <= DELIVERED {
        row.before().int(5).number("0.00")
    } else {
        row.null(ParameterType::DateTime)
            .int(5)
            .decimal(rng.random_range(1..=999_999), 2)
    };
    row.letters(rng, 24, 24).end();
}

#[cfg(test)]
mod tests {
    use super::super::row::Form;
    use super::*;
    use rand::SeedableRng;

    #[test]
    fn rows_have_the_columns_of_their_tables() {
        let mut rng = Rng::seed_from_u64(1);
        let key = (1, 2, 3);
        type Write = fn(&mut Rows, &mut Rng, (i32, i32, i32));
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
            let mut out = Rows::new(Form::Text);
            write(&mut out, &mut rng, key);
            let text = String::from_utf8(out.bytes().to_vec()).unwrap();
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
}
