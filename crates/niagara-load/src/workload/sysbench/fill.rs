//! Fills a table; the rows are the same every time.

use super::options::Sysbench;
use super::schema;
use super::values;
use crate::error::LoadError;
use crate::workload::draw::{Rng, Sampler};
use crate::workload::filling::{TableEvent, Work};
use rand::SeedableRng;
use std::io::Write;

/// Bytes of one multi-row insert, as sysbench sends them; every server's max_allowed_packet has room for it.
const INSERT_BYTES: usize = 512 * 1024;

/// Fills table `table` in the order of its ids.
pub(super) fn fill_table(
    work: &mut Work<'_>,
    spec: &Sysbench,
    table: u32,
) -> Result<(), LoadError> {
    // Validation holds the size within i32.
    let sampler = Sampler::new(spec.distribution, spec.table_size as u32);
    let mut rng = Rng::seed_from_u64(u64::from(table));
    let head = schema::insert_into(spec, table);
    let mut c = [0; values::C_LENGTH as usize];
    let mut pad = [0; values::PAD_LENGTH as usize];
    let mut insert = std::mem::take(&mut work.insert);
    insert.reserve(INSERT_BYTES + 1024);
    let rows = spec.rows();
    let mut done = 0;
    while done < rows && !work.stopped() {
        insert.clear();
        insert.extend_from_slice(head.as_bytes());
        let before = done;
        while done < rows && insert.len() < INSERT_BYTES {
            if done > before {
                insert.push(b',');
            }
            values::fill_digits(&mut c, &mut rng);
            values::fill_digits(&mut pad, &mut rng);
            insert.push(b'(');
            // Writing to memory does not fail.
            if !spec.auto_inc {
                let _ = write!(insert, "{},", done + 1);
            }
            let _ = write!(insert, "{},'", sampler.draw(&mut rng));
            insert.extend_from_slice(&c);
            insert.extend_from_slice(b"','");
            insert.extend_from_slice(&pad);
            insert.extend_from_slice(b"')");
            done += 1;
        }
        work.execute(&insert)?;
        work.say(TableEvent::Rows(done - before, rows));
    }
    work.insert = insert;
    Ok(())
}
