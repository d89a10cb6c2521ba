//! Fills the tables, several connections at once. The rows are the same every time.

use super::row::{Form, Rows};
use super::rows;
use super::schema::{TABLES, create_indexes, create_table};
use super::{CUSTOMERS, DELIVERED, DISTRICTS, ITEMS};
use crate::error::LoadError;
use crate::workload::common::CommonOptions;
use crate::workload::draw::Rng;
use crate::workload::family::Each;
use crate::workload::filling::{TableEvent, Work};
use rand::SeedableRng;

/// Bytes after which an INSERT is sent.
const INSERT_BYTES: usize = 512 * 1024;
/// Items of a job.
const ITEMS_AT_ONCE: i32 = 25_000;

/// What one connection does without another's help.
#[derive(Debug, Clone, Copy)]
enum Job {
    Items(i32),
    /// A part of a warehouse's stock, from this item on.
    Stock(i32, i32),
    Customers(i32, i32),
    Orders(i32, i32),
}

/// Rows of all tables of `warehouses`, lines of orders by their mean.
pub(super) fn expected_rows(warehouses: u32) -> u64 {
    let customers = (DISTRICTS * CUSTOMERS) as u64;
    let new_orders = (DISTRICTS * (CUSTOMERS - DELIVERED)) as u64;
    let of_warehouse =
        1 + DISTRICTS as u64 + 2 * customers + customers + new_orders + 10 * customers;
    ITEMS as u64 + u64::from(warehouses) * (of_warehouse + ITEMS as u64)
}

/// Makes the tables and fills them. `each` does a number of jobs on several connections at once.
pub(super) fn load(
    warehouses: u32,
    common: &CommonOptions,
    each: &mut Each<'_>,
) -> Result<(), LoadError> {
    each(1, &|work, _| {
        work.say(TableEvent::Step("making the tables"));
        for table in TABLES {
            let sql = create_table(
                table,
                &common.mysql_storage_engine,
                &common.create_table_options,
            );
            work.execute(sql.as_bytes())?;
        }
        Ok(())
    })?;
    let jobs = jobs(warehouses as i32);
    each(jobs.len() as u32, &|work, number| {
        // No row is there twice, and there are no foreign keys: the server need not look. In the tables' character set
        // it need not convert either.
        work.execute(b"SET NAMES latin1")?;
        work.execute(b"SET unique_checks = 0, foreign_key_checks = 0")?;
        do_job(work, jobs[number as usize - 1])
    })?;
    let indexes = create_indexes();
    each(indexes.len() as u32, &|work, number| {
        work.say(TableEvent::Step("making the indexes"));
        let (_, sql) = indexes[number as usize - 1];
        work.execute(sql.as_bytes())
    })
}

fn jobs(warehouses: i32) -> Vec<Job> {
    let mut jobs = Vec::new();
    for first in (1..=ITEMS).step_by(ITEMS_AT_ONCE as usize) {
        jobs.push(Job::Items(first));
    }
    for warehouse in 1..=warehouses {
        for first in (1..=ITEMS).step_by(ITEMS_AT_ONCE as usize) {
            jobs.push(Job::Stock(warehouse, first));
        }
        for district in 1..=DISTRICTS {
            jobs.push(Job::Customers(warehouse, district));
            jobs.push(Job::Orders(warehouse, district));
        }
    }
    jobs
}

/// Rows of one table, sent when there are many.
struct Insert<'w, 'a> {
    work: &'w std::cell::RefCell<&'w mut Work<'a>>,
    table: &'static str,
    rows: Rows,
}

impl<'w, 'a> Insert<'w, 'a> {
    fn new(work: &'w std::cell::RefCell<&'w mut Work<'a>>, table: &'static str) -> Self {
        let form = match work.borrow().takes_bulk() {
            true => Form::Bulk,
            false => Form::Text,
        };
        Insert {
            work,
            table,
            rows: Rows::new(form),
        }
    }

    fn row<T>(&mut self, write: impl FnOnce(&mut Rows) -> T) -> Result<T, LoadError> {
        let result = write(&mut self.rows);
        if self.rows.bytes().len() >= INSERT_BYTES {
            self.send()?;
        }
        Ok(result)
    }

    fn send(&mut self) -> Result<(), LoadError> {
        let count = self.rows.count();
        if count > 0 {
            let mut work = self.work.borrow_mut();
            let (table, types) = (self.table, self.rows.types());
            if types.is_empty() {
                let head = format!("INSERT INTO {table} VALUES");
                work.execute(&[head.as_bytes(), self.rows.bytes()].concat())?;
            } else {
                let marks = vec!["?"; types.len()].join(",");
                let sql = format!("INSERT INTO {table} VALUES({marks})");
                work.insert_bulk(sql, types, self.rows.bytes())?;
            }
            work.say(TableEvent::Rows(count, 0));
            self.rows.clear();
        }
        Ok(())
    }

    fn stopped(&self) -> bool {
        self.work.borrow().stopped()
    }
}

/// Does a job; what it draws is decided by which job it is.
fn do_job(work: &mut Work<'_>, job: Job) -> Result<(), LoadError> {
    let seed = |table: u64, one: i32, other: i32| {
        Rng::seed_from_u64(table << 48 | (one as u64) << 20 | other as u64)
    };
    let work = &std::cell::RefCell::new(work);
    match job {
        Job::Items(first) => {
            let mut rng = seed(1, 0, first);
            let mut items = Insert::new(work, "item");
            for number in first..first + ITEMS_AT_ONCE {
                items.row(|out| rows::item(out, &mut rng, number))?;
                if items.stopped() {
                    return Ok(());
                }
            }
            items.send()
        }
        Job::Stock(warehouse, first) => {
            let mut rng = seed(2, warehouse, first);
            let mut stock = Insert::new(work, "stock");
            for number in first..first + ITEMS_AT_ONCE {
                stock.row(|out| rows::stock(out, &mut rng, warehouse, number))?;
                if stock.stopped() {
                    return Ok(());
                }
            }
            stock.send()
        }
        Job::Customers(warehouse, district) => {
            let mut rng = seed(3, warehouse, district);
            if district == 1 {
                let mut warehouses = Insert::new(work, "warehouse");
                warehouses.row(|out| rows::warehouse(out, &mut rng, warehouse))?;
                warehouses.send()?;
            }
            let mut districts = Insert::new(work, "district");
            districts.row(|out| rows::district(out, &mut rng, warehouse, district))?;
            districts.send()?;
            let mut customers = Insert::new(work, "customer");
            let mut history = Insert::new(work, "history");
            for number in 1..=CUSTOMERS {
                let key = (warehouse, district, number);
                customers.row(|out| rows::customer(out, &mut rng, key))?;
                history.row(|out| rows::history(out, &mut rng, key))?;
                if customers.stopped() {
                    return Ok(());
                }
            }
            customers.send()?;
            history.send()
        }
        Job::Orders(warehouse, district) => {
            let mut rng = seed(4, warehouse, district);
            let mut orders = Insert::new(work, "orders");
            let mut new_orders = Insert::new(work, "new_order");
            let mut lines = Insert::new(work, "order_line");
            let customers = rows::order_customers(&mut rng);
            for (order, customer) in (1..).zip(customers) {
                let key = (warehouse, district, order);
                let count = orders.row(|out| rows::order(out, &mut rng, key, customer))?;
                if order > DELIVERED {
                    new_orders.row(|out| rows::new_order(out, key))?;
                }
                for line in 1..=count {
                    lines.row(|out| rows::order_line(out, &mut rng, key, line))?;
                }
                if orders.stopped() {
                    return Ok(());
                }
            }
            orders.send()?;
            new_orders.send()?;
            lines.send()
        }
    }
}
