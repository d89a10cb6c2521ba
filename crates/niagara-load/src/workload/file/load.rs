//! Makes the tables of a file and fills them, several connections at once. The rows are the same every time.

use super::definition::{Column, Definition, Table};
use super::generator::{Drawer, Drawn};
use crate::error::LoadError;
use crate::workload::draw::Rng;
use crate::workload::family::Each;
use crate::workload::filling::{TableEvent, Work};
use crate::workload::parameters::quote;
use rand::SeedableRng;

/// Bytes after which an INSERT is sent.
const INSERT_BYTES: usize = 512 * 1024;
/// Rows that one connection fills at a time.
const ROWS_AT_ONCE: u64 = 50_000;

/// Makes the tables and fills them. `each` does a number of jobs on several connections at once.
pub(super) fn load(
    definition: &Definition,
    engine: &str,
    each: &mut Each<'_>,
) -> Result<(), LoadError> {
    each(1, &|work, _| {
        for table in &definition.tables {
            let sql = table.create.replace("{engine}", engine);
            work.execute(sql.as_bytes())?;
        }
        Ok(())
    })?;
    let mut jobs = Vec::new();
    for (number, table) in definition.tables.iter().enumerate() {
        let mut first = 1;
        while first <= table.rows {
            jobs.push((number, first));
            first += ROWS_AT_ONCE;
        }
    }
    each(jobs.len() as u32, &|work, job| {
        let (number, first) = jobs[job as usize - 1];
        fill(work, number, &definition.tables[number], first)
    })?;
    each(1, &|work, _| {
        for table in &definition.tables {
            for sql in &table.after {
                work.say(TableEvent::Step("running the statements after the load"));
                work.execute(sql.as_bytes())?;
            }
        }
        Ok(())
    })
}

fn fill(work: &mut Work<'_>, number: usize, table: &Table, first: u64) -> Result<(), LoadError> {
    let seed = (number as u64) << 48 | first;
    let mut rng = Rng::seed_from_u64(seed);
    let names: Vec<String> = table
        .columns
        .iter()
        .map(|(name, _)| format!("`{name}`"))
        .collect();
    let head = format!("INSERT INTO `{}` ({}) VALUES", table.name, names.join(", "));
    let mut drawers: Vec<Option<Drawer>> = table
        .columns
        .iter()
        .map(|(_, column)| match column {
            Column::Row => None,
            Column::Drawn(generator) => Some(Drawer::new(generator, seed, 0, 1)),
        })
        .collect();
    let mut sql = Vec::with_capacity(INSERT_BYTES + 4096);
    let mut text = Vec::new();
    let last = table.rows.min(first + ROWS_AT_ONCE - 1);
    let mut pending = 0;
    for row in first..=last {
        sql.extend_from_slice(if pending == 0 { head.as_bytes() } else { b"," });
        sql.push(b'(');
        for (place, drawer) in drawers.iter_mut().enumerate() {
            if place > 0 {
                sql.push(b',');
            }
            let mut digits = itoa::Buffer::new();
            match drawer {
                None => sql.extend_from_slice(digits.format(row).as_bytes()),
                Some(drawer) => match drawer.draw(&mut rng, &mut text) {
                    Drawn::Int(value) => sql.extend_from_slice(digits.format(value).as_bytes()),
                    Drawn::Text => quote(&mut sql, &text),
                },
            }
        }
        sql.push(b')');
        pending += 1;
        if sql.len() >= INSERT_BYTES || row == last {
            work.execute(&sql)?;
            sql.clear();
            work.say(TableEvent::Rows(std::mem::take(&mut pending), 0));
            if work.stopped() {
                return Ok(());
            }
        }
    }
    Ok(())
}
