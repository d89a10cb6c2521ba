//! Work, counted by the server: rows and pages read, rows sorted and put into temporary tables. It is the same from run to run on
//! a busy machine too.

use std::ops::{Add, AddAssign, Mul, Sub};

use niagara_load::{Admin, LoadError};
use schemars::JsonSchema;
use serde::Serialize;

/// A page costs as much as this many rows. MariaDB 10.11 with everything in memory took 0.26 to 0.38 µs for a row of a scan (20,001
/// rows in 5.2 ms, 60,001 in 23 ms), and 64 ms for a join of 105,000 rows that looked up 30,308 pages: 0.8 to 1.2 µs a page.
const ROWS_OF_A_PAGE: f64 = 3.0;

/// Counters of rows that handlers were asked for.
const READS: [&str; 7] = [
    "Handler_read_first",
    "Handler_read_key",
    "Handler_read_last",
    "Handler_read_next",
    "Handler_read_prev",
    "Handler_read_rnd",
    "Handler_read_rnd_next",
];
/// Counters of rows that a read puts elsewhere: temporary tables, of MariaDB by names of their own.
const EXTRA: [&str; 5] = [
    "Handler_tmp_write",
    "Handler_tmp_update",
    "Handler_write",
    "Handler_update",
    "Sort_rows",
];
const PAGES: &str = "Innodb_buffer_pool_read_requests";
const PAGES_WRITTEN: &str = "Innodb_buffer_pool_write_requests";

/// Work of one execution, or of many.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, JsonSchema)]
pub struct Work {
    /// Rows and index entries read.
    pub rows: f64,
    /// Pages of tables and indexes read.
    pub pages: f64,
    /// Rows sorted, and put into temporary tables.
    pub extra: f64,
    /// Changes of pages.
    pub pages_written: f64,
}

impl Work {
    /// All of it as one number, in rows.
    pub fn total(&self) -> f64 {
        self.rows + self.extra + ROWS_OF_A_PAGE * (self.pages + self.pages_written)
    }
}

impl Add for Work {
    type Output = Work;
    fn add(self, other: Work) -> Work {
        Work {
            rows: self.rows + other.rows,
            pages: self.pages + other.pages,
            extra: self.extra + other.extra,
            pages_written: self.pages_written + other.pages_written,
        }
    }
}

impl AddAssign for Work {
    fn add_assign(&mut self, other: Work) {
        *self = *self + other;
    }
}

impl Sub for Work {
    type Output = Work;
    fn sub(self, other: Work) -> Work {
        self + other * -1.0
    }
}

impl Mul<f64> for Work {
    type Output = Work;
    fn mul(self, factor: f64) -> Work {
        Work {
            rows: self.rows * factor,
            pages: self.pages * factor,
            extra: self.extra * factor,
            pages_written: self.pages_written * factor,
        }
    }
}

/// What one execution did.
#[derive(Debug, Clone, PartialEq)]
pub struct Counted {
    /// The work.
    pub work: Work,
    /// Rows that it sent; none of one that was ended.
    pub rows_sent: Option<f64>,
    /// The server ended it, for it took too long: the work up to then.
    pub was_cut: bool,
}

/// Errors of a statement that took longer than it may: of MariaDB, of MySQL.
const TOO_LONG: [u16; 3] = [1969, 3024, 1317];

/// Counts the work of statements on one connection to a server that does nothing else.
#[derive(Debug)]
pub struct Counter {
    query: String,
    /// What reading the counters itself counts.
    own: Work,
}

impl Counter {
    /// Measures what reading the counters costs.
    ///
    /// # Errors
    /// The server does not answer.
    pub fn new(admin: &mut Admin) -> Result<Self, LoadError> {
        let names: Vec<String> = READS
            .iter()
            .chain(&EXTRA)
            .chain(&[PAGES, PAGES_WRITTEN])
            .map(|name| format!("'{name}'"))
            .collect();
        let mut counter = Self {
            query: format!(
                "SHOW SESSION STATUS WHERE Variable_name IN ({})",
                names.join(", ")
            ),
            own: Work::default(),
        };
        // The first reading opens what later ones find open.
        counter.read(admin)?;
        let before = counter.read(admin)?;
        counter.own = counter.read(admin)? - before;
        Ok(counter)
    }

    /// Executes a statement and counts its work.
    ///
    /// # Errors
    /// The server refuses the statement, or does not answer.
    pub fn count(&self, admin: &mut Admin, sql: &str) -> Result<Counted, LoadError> {
        let before = self.read(admin)?;
        let rows_sent = match admin.count(sql.as_bytes()) {
            Ok(rows) => Some(rows as f64),
            Err(error)
                if error
                    .server_code()
                    .is_some_and(|code| TOO_LONG.contains(&code)) =>
            {
                None
            }
            Err(error) => return Err(error),
        };
        let work = self.read(admin)? - before - self.own;
        Ok(Counted {
            work: Work {
                rows: work.rows.max(0.0),
                pages: work.pages.max(0.0),
                extra: work.extra.max(0.0),
                pages_written: work.pages_written.max(0.0),
            },
            rows_sent,
            was_cut: rows_sent.is_none(),
        })
    }

    fn read(&self, admin: &mut Admin) -> Result<Work, LoadError> {
        let mut work = Work::default();
        for row in admin.rows(&self.query)? {
            let [Some(name), Some(value)] = &row[..] else {
                continue;
            };
            let value: f64 = value.parse().unwrap_or(0.0);
            match name.as_str() {
                name if READS.contains(&name) => work.rows += value,
                name if EXTRA.contains(&name) => work.extra += value,
                PAGES => work.pages += value,
                PAGES_WRITTEN => work.pages_written += value,
                _ => {}
            }
        }
        Ok(work)
    }
}
