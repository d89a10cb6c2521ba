//! The private copy of the data: a server that Niagara has started, asked on connections of its own.
//!
//! Statements of a capture go nowhere else: a [`DataCopy`] is made of a [`RunningServer`], which only Niagara starts. They are sent on a
//! connection whose transactions are read-only and whose statements end after a time.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use niagara_load::{Admin, LoadError};
use niagara_server::{Install, RunningServer};

use crate::canonical::without_marks;
use crate::catalog::{Abilities, Catalog, TableName, literal, quote};
use crate::executable::Executable;
use crate::plan::Plan;
use crate::work::{Counted, Counter, Work};

/// How long the server may take to build an index, or to answer at all.
const DDL_TIMEOUT: Duration = Duration::from_secs(24 * 3600);
/// Rows that the cost of an index entry is counted by.
const PROBED_ROWS: u64 = 20;
/// Times that a cheap statement is executed until two counts agree, at most; and the work below which it is cheap.
const EXECUTIONS: usize = 5;
const CHEAP: f64 = 20_000.0;
/// ER_WRONG_FIELD_WITH_GROUP, ER_MIX_OF_GROUP_FUNC_AND_FIELDS: a mode that the application's sessions may not have.
const GROUPING: [u16; 2] = [1055, 1140];

/// A server on a copy of the data.
pub struct DataCopy {
    reader: Admin,
    writer: Admin,
    counter: Counter,
    database: String,
    /// What it can do with indexes.
    pub abilities: Abilities,
    /// It is MariaDB.
    pub(crate) is_mariadb: bool,
    page_bytes: u64,
}

/// An index that was built.
#[derive(Debug, Clone, PartialEq)]
pub struct Built {
    /// How long it took.
    pub seconds: f64,
    /// Its size; none where the server's statistics do not have it, as of an index on an expression.
    pub bytes: Option<u64>,
    /// The table could be written to meanwhile (`LOCK=NONE`).
    pub online: bool,
}

impl DataCopy {
    /// Connects to a server on a copy of the data; a statement may take as long as `longest`.
    ///
    /// # Errors
    /// It does not answer.
    pub fn of(server: &RunningServer, install: &Install, longest: Duration) -> Result<Self> {
        let connect = || Admin::connect(&server.over_socket(""), DDL_TIMEOUT);
        let (mut reader, mut writer) = (connect()?, connect()?);
        let is_mariadb = install.family.is_mariadb();
        // Work that depends on what was read before, or on a thread in the background, cannot be counted.
        for setting in [
            "innodb_adaptive_hash_index = OFF",
            "innodb_stats_auto_recalc = OFF",
        ] {
            ignore_unknown(writer.run(format!("SET GLOBAL {setting}").as_bytes()))?;
        }
        writer.run(b"SET SESSION foreign_key_checks = 0")?;
        let longest = match is_mariadb {
            true => format!("SET SESSION max_statement_time = {}", longest.as_secs_f64()),
            false => format!("SET SESSION max_execution_time = {}", longest.as_millis()),
        };
        for setting in [
            longest.as_str(),
            "SET SESSION TRANSACTION READ ONLY",
            "SET SESSION explain_json_format_version = 1",
            "SET SESSION query_cache_type = OFF",
        ] {
            ignore_unknown(reader.run(setting.as_bytes()))?;
        }
        let page_bytes = writer.value("SELECT @@innodb_page_size")?;
        Ok(Self {
            counter: Counter::new(&mut reader)?,
            reader,
            writer,
            database: String::new(),
            abilities: Abilities::of(install.family, install.version),
            is_mariadb,
            page_bytes: page_bytes
                .and_then(|bytes| bytes.parse().ok())
                .unwrap_or(16_384),
        })
    }

    /// Its tables.
    ///
    /// # Errors
    /// The server does not answer.
    pub fn catalog(&mut self) -> Result<Catalog> {
        Catalog::read(&mut self.writer, self.abilities.hiding)
    }

    fn within(&mut self, database: &str) -> Result<(), LoadError> {
        if !database.is_empty() && self.database != database {
            self.reader
                .run(format!("USE {}", quote(database)).as_bytes())?;
            database.clone_into(&mut self.database);
        }
        Ok(())
    }

    /// How the server executes a statement; none where what it prints cannot be read, as MariaDB's plans of names with a double quote.
    ///
    /// # Errors
    /// It refuses the statement.
    pub(crate) fn plan(&mut self, one: &Executable) -> Result<Option<Plan>, LoadError> {
        self.within(&one.database)?;
        let text = self.forgiving(|reader| reader.value(&one.explain("FORMAT=JSON")))?;
        Ok(text.and_then(|text| Plan::parse(&text)))
    }

    /// The statement as the server has resolved it; none where it does not say.
    ///
    /// # Errors
    /// It refuses the statement.
    pub(crate) fn canonical(&mut self, one: &Executable) -> Result<Option<String>, LoadError> {
        self.within(&one.database)?;
        let explain = one.explain(match self.is_mariadb {
            true => "EXTENDED",
            false => "FORMAT=TRADITIONAL",
        });
        self.forgiving(|reader| reader.run(explain.as_bytes()))?;
        let rows = self.reader.rows("SHOW WARNINGS")?;
        let mut noted =
            rows.into_iter()
                .filter_map(|row| match <[Option<String>; 3]>::try_from(row) {
                    Ok([_, Some(code), Some(message)]) if code == "1003" => Some(message),
                    _ => None,
                });
        Ok(noted.next_back().map(|text| without_marks(&text)))
    }

    /// Sets variables for the statements that follow.
    ///
    /// # Errors
    /// The server refuses one of them; those before it are set.
    pub(crate) fn set(&mut self, variables: &BTreeMap<String, String>) -> Result<(), LoadError> {
        for (name, value) in variables {
            self.reader
                .run(format!("SET SESSION {} = {}", quote(name), literal(value)).as_bytes())?;
        }
        Ok(())
    }

    /// Gives variables the values back that sessions begin with; those that the server does not know have none.
    ///
    /// # Errors
    /// The server is lost; it refuses one though none `was_refused` before.
    pub(crate) fn unset(
        &mut self,
        variables: &BTreeMap<String, String>,
        was_refused: bool,
    ) -> Result<()> {
        for name in variables.keys().map(|name| quote(name)) {
            let back = format!("SET SESSION {name} = @@GLOBAL.{name}");
            let done = self.reader.run(back.as_bytes());
            match was_refused {
                true => ignore_unknown(done)?,
                false => done.with_context(|| format!("cannot take a setting back: {back}"))?,
            }
        }
        Ok(())
    }

    /// Executes a statement that reads, and counts its work.
    ///
    /// # Errors
    /// It refuses the statement.
    pub(crate) fn count(&mut self, one: &Executable) -> Result<Counted, LoadError> {
        self.within(&one.database)?;
        let sql = one.text();
        let mut least = self.count_once(&sql)?;
        // The server's own threads read pages, too: purge after an index was built. What it counts twice is the statement's.
        for _ in 1..EXECUTIONS {
            if least.was_cut || least.work.total() > CHEAP {
                break;
            }
            let again = self.count_once(&sql)?;
            if again.work.total() == least.work.total() {
                break;
            }
            if again.work.total() < least.work.total() {
                least = again;
            }
        }
        Ok(least)
    }

    fn count_once(&mut self, sql: &str) -> Result<Counted, LoadError> {
        let counter = &self.counter;
        match counter.count(&mut self.reader, sql) {
            Err(error)
                if error
                    .server_code()
                    .is_some_and(|code| GROUPING.contains(&code)) =>
            {
                without_mode(&mut self.reader, |reader| counter.count(reader, sql))
            }
            counted => counted,
        }
    }

    /// Asks again without the strict mode, where that alone is in the way.
    fn forgiving<T>(
        &mut self,
        ask: impl Fn(&mut Admin) -> Result<T, LoadError>,
    ) -> Result<T, LoadError> {
        match ask(&mut self.reader) {
            Err(error)
                if error
                    .server_code()
                    .is_some_and(|code| GROUPING.contains(&code)) =>
            {
                without_mode(&mut self.reader, ask)
            }
            answer => answer,
        }
    }

    /// Builds an index, online where the server does that.
    ///
    /// # Errors
    /// The server refuses it.
    pub(crate) fn build(&mut self, table: &TableName, name: &str, add: &str) -> Result<Built> {
        let alter = format!("ALTER TABLE {} {add}", table.quoted());
        let begun = Instant::now();
        let online = match self
            .writer
            .run(format!("{alter}, ALGORITHM=INPLACE, LOCK=NONE").as_bytes())
        {
            Ok(()) => true,
            Err(error) if error.server_code().is_some() => {
                self.writer
                    .run(alter.as_bytes())
                    .with_context(|| format!("cannot build an index: {alter}"))?;
                false
            }
            Err(error) => return Err(error.into()),
        };
        let seconds = begun.elapsed().as_secs_f64();
        Ok(Built {
            seconds,
            bytes: self.index_bytes(table, name)?,
            online,
        })
    }

    /// The size of an index, as the server's statistics have it.
    ///
    /// # Errors
    /// The server does not answer.
    fn index_bytes(&mut self, table: &TableName, index: &str) -> Result<Option<u64>> {
        let escaped = |text: &str| text.replace('\\', "\\\\").replace('\'', "''");
        let pages = self.writer.value(&format!(
            "SELECT CAST(SUM(stat_value) AS UNSIGNED) FROM mysql.innodb_index_stats WHERE database_name = '{}' \
             AND (table_name = '{}' OR table_name LIKE '{}#%') AND index_name = '{}' AND stat_name = 'size'",
            escaped(&table.database),
            escaped(&table.table),
            escaped(&table.table),
            escaped(index)
        ))?;
        let pages = pages.and_then(|pages| pages.parse::<u64>().ok());
        Ok(pages.map(|pages| pages * self.page_bytes))
    }

    /// Hides an index from the optimizer, or shows it again; `add` makes it where it cannot be hidden and is dropped instead.
    ///
    /// # Errors
    /// The server refuses it.
    pub(crate) fn show(
        &mut self,
        table: &TableName,
        index: &str,
        add: &str,
        is_shown: bool,
    ) -> Result<()> {
        let index = quote(index);
        let clause = match (self.abilities.hiding, is_shown) {
            (Some(hiding), true) => format!("ALTER INDEX {index} {}", hiding.shows()),
            (Some(hiding), false) => format!("ALTER INDEX {index} {}", hiding.hides()),
            (None, true) => add.to_owned(),
            (None, false) => format!("DROP INDEX {index}"),
        };
        let alter = format!("ALTER TABLE {} {clause}", table.quoted());
        self.writer
            .run(alter.as_bytes())
            .with_context(|| format!("cannot switch an index: {alter}"))
    }

    /// Gathers a table's statistics.
    ///
    /// # Errors
    /// The server refuses it.
    pub(crate) fn analyze(&mut self, table: &TableName) -> Result<()> {
        Ok(self
            .writer
            .run(format!("ANALYZE TABLE {}", table.quoted()).as_bytes())?)
    }

    /// The mean work of removing a row of the table, which is put back; none of a table without rows, and where the server refuses.
    ///
    /// # Errors
    /// The server does not answer.
    pub(crate) fn removal_work(&mut self, table: &TableName) -> Result<Option<Work>> {
        let rows = self.writer.value(&format!(
            "SELECT COUNT(*) FROM (SELECT 1 FROM {} LIMIT {PROBED_ROWS}) AS few",
            table.quoted()
        ))?;
        let rows: f64 = rows.and_then(|rows| rows.parse().ok()).unwrap_or(0.0);
        if rows < 1.0 {
            return Ok(None);
        }
        let delete = format!("DELETE FROM {} LIMIT {PROBED_ROWS}", table.quoted());
        let mut least: Option<Work> = None;
        // The first time pages may be split or read that are not touched again.
        for _ in 0..2 {
            self.writer.run(b"START TRANSACTION")?;
            let counted = self.counter.count(&mut self.writer, &delete);
            self.writer.run(b"ROLLBACK")?;
            let Ok(counted) = counted else {
                return Ok(None);
            };
            if least.is_none_or(|least| counted.work.total() < least.total()) {
                least = Some(counted.work);
            }
        }
        Ok(least.map(|work| work * (1.0 / rows)))
    }

    /// Rows of a statement about the tables themselves.
    ///
    /// # Errors
    /// The server refuses it.
    pub(crate) fn rows(&mut self, sql: &str) -> Result<Vec<niagara_load::Row>> {
        Ok(self.writer.rows(sql)?)
    }
}

/// Asks with the plainest mode of SQL.
fn without_mode<T>(
    reader: &mut Admin,
    ask: impl Fn(&mut Admin) -> Result<T, LoadError>,
) -> Result<T, LoadError> {
    reader.run(b"SET @niagara_mode = @@SESSION.sql_mode, SESSION sql_mode = ''")?;
    let answer = ask(reader);
    reader.run(b"SET SESSION sql_mode = @niagara_mode")?;
    answer
}

/// A server without a variable needs no setting of it.
fn ignore_unknown(done: Result<(), LoadError>) -> Result<(), LoadError> {
    match done {
        Err(error) if error.server_code().is_some() => Ok(()),
        done => done,
    }
}
