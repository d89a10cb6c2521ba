//! A workload with all its numbers.

use super::custom::{self as own, Definition, OwnFile};
use super::sysbench::{self, MOST_PARAMETERS};
use super::{Distribution, WorkloadKind, tpcc};
use crate::error::LoadError;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;

/// A workload and its parameters. The default is sysbench's `oltp_read_only` with sysbench's own defaults.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct WorkloadSpec {
    /// Which workload.
    pub kind: WorkloadKind,
    /// Tables, `sbtest1` to `sbtestN`; a statement's table is drawn uniformly.
    pub tables: u32,
    /// Rows per table.
    pub table_size: u64,
    /// How row numbers are drawn.
    pub distribution: Distribution,
    /// Rows that a range covers.
    pub range_size: u32,
    /// Point selects per transaction (`oltp_point_select` always has one).
    pub point_selects: u32,
    /// `SELECT c … BETWEEN` per transaction.
    pub simple_ranges: u32,
    /// `SELECT SUM(k) … BETWEEN` per transaction.
    pub sum_ranges: u32,
    /// `SELECT c … BETWEEN … ORDER BY c` per transaction.
    pub order_ranges: u32,
    /// `SELECT DISTINCT c … BETWEEN … ORDER BY c` per transaction.
    pub distinct_ranges: u32,
    /// Whether there are range selects at all.
    pub range_selects: bool,
    /// `UPDATE … SET k=k+1` per transaction.
    pub index_updates: u32,
    /// `UPDATE … SET c=…` per transaction.
    pub non_index_updates: u32,
    /// Deletes of a row followed by an insert with the same id, per transaction.
    pub delete_inserts: u32,
    /// Leave out `BEGIN` and `COMMIT`: every statement is its own transaction.
    pub skip_trx: bool,
    /// `id` is numbered by the server (`AUTO_INCREMENT`); otherwise by the client.
    pub auto_inc: bool,
    /// An ordinary index on `id` in place of the primary key.
    pub secondary: bool,
    /// An index on `k`.
    pub create_secondary: bool,
    /// Storage engine of the tables.
    pub mysql_storage_engine: String,
    /// Text that is appended to `CREATE TABLE`.
    pub create_table_options: String,
    /// Connect anew after so many transactions of a connection; 0: never.
    pub reconnect: u32,
    /// Values in the `IN` list of `select_random_points`.
    pub random_points: u32,
    /// Ranges of `select_random_ranges`.
    pub number_of_ranges: u32,
    /// Last value of such a range minus its first.
    pub delta: u32,
    /// Whether statements are prepared.
    pub db_ps_mode: PreparedStatements,
    /// Warehouses of `tpcc`.
    pub warehouses: u32,
    /// `tpcc`: rows that one transaction wants of one table are asked for with one statement where that is possible;
    /// otherwise one by one, as in the specification's words.
    pub tpcc_batch: bool,
    /// `tpcc`: connections wait between transactions as people at terminals do.
    pub think_time: bool,
    /// The file that says what a workload of kind [`Own`](WorkloadKind::Own) is.
    pub own: Option<OwnFile>,
    /// Numbers of such a file (or of `commit`) that are set otherwise than it says.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub scale: BTreeMap<String, u64>,
}

/// Whether statements are prepared (sysbench: `db-ps-mode`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PreparedStatements {
    /// Those that sysbench prepares are prepared.
    #[default]
    Auto,
    /// All statements go as text.
    Disable,
}

impl Default for WorkloadSpec {
    fn default() -> Self {
        WorkloadSpec {
            kind: WorkloadKind::OltpReadOnly,
            tables: 1,
            table_size: 10_000,
            distribution: Distribution::default(),
            range_size: 100,
            point_selects: 10,
            simple_ranges: 1,
            sum_ranges: 1,
            order_ranges: 1,
            distinct_ranges: 1,
            range_selects: true,
            index_updates: 1,
            non_index_updates: 1,
            delete_inserts: 1,
            skip_trx: false,
            auto_inc: true,
            secondary: false,
            create_secondary: true,
            mysql_storage_engine: "innodb".into(),
            create_table_options: String::new(),
            reconnect: 0,
            random_points: 10,
            number_of_ranges: 10,
            delta: 5,
            db_ps_mode: PreparedStatements::Auto,
            warehouses: 5,
            tpcc_batch: true,
            think_time: false,
            own: None,
            scale: BTreeMap::new(),
        }
    }
}

/// The family's default buffer pool, and about what a row of `report` takes, in bytes.
const DEFAULT_POOL: u64 = 128 << 20;
const REPORT_ROW: u64 = 256;
/// What sets the rows of `report` by how many times as large as the buffer pool they are to be.
const POOL_FACTOR: &str = "pool_factor";

/// Statements of one kind in one transaction; more is surely a mistake.
const MOST_PER_TRANSACTION: u32 = 100_000;

impl WorkloadSpec {
    /// Refuses what cannot be run, naming the field and the values that can.
    pub fn validate(&self) -> Result<(), LoadError> {
        let invalid = |message: String| Err(LoadError::Invalid(message));
        if !(1..=65_536).contains(&self.tables) {
            return invalid(format!("tables = {}: must be from 1 to 65536", self.tables));
        }
        // id is a signed 32-bit INTEGER, as in sysbench.
        if !(1..=i32::MAX as u64).contains(&self.table_size) {
            return invalid(format!(
                "table_size = {}: must be from 1 to {}",
                self.table_size,
                i32::MAX
            ));
        }
        if !(1..=i32::MAX as u32).contains(&self.range_size) {
            return invalid(format!(
                "range_size = {}: must be from 1 to {}",
                self.range_size,
                i32::MAX
            ));
        }
        for (field, count) in [
            ("point_selects", self.point_selects),
            ("simple_ranges", self.simple_ranges),
            ("sum_ranges", self.sum_ranges),
            ("order_ranges", self.order_ranges),
            ("distinct_ranges", self.distinct_ranges),
            ("index_updates", self.index_updates),
            ("non_index_updates", self.non_index_updates),
            ("delete_inserts", self.delete_inserts),
        ] {
            if count > MOST_PER_TRANSACTION {
                return invalid(format!(
                    "{field} = {count}: must be at most {MOST_PER_TRANSACTION}"
                ));
            }
        }
        // A range has two parameters.
        for (field, count, most) in [
            ("random_points", self.random_points, MOST_PARAMETERS),
            (
                "number_of_ranges",
                self.number_of_ranges,
                MOST_PARAMETERS / 2,
            ),
        ] {
            if !(1..=most).contains(&count) {
                return invalid(format!("{field} = {count}: must be from 1 to {most}"));
            }
        }
        if self.delta > i32::MAX as u32 {
            return invalid(format!(
                "delta = {}: must be at most {}",
                self.delta,
                i32::MAX
            ));
        }
        let engine = &self.mysql_storage_engine;
        if engine.is_empty()
            || !engine
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        {
            return invalid(format!(
                "mysql_storage_engine = '{engine}': cannot be the name of a storage engine"
            ));
        }
        if self.create_table_options.contains('\0') {
            return invalid("create_table_options: must not contain a zero byte".into());
        }
        if !(1..=100_000).contains(&self.warehouses) {
            return invalid(format!(
                "warehouses = {}: must be from 1 to 100000",
                self.warehouses
            ));
        }
        if self.kind.is_from_file() {
            self.definition()?;
        } else if let Some(name) = self.scale.keys().next() {
            return invalid(format!("{name}: {} has no such number", self.kind));
        }
        if self.kind.is_sysbench() && sysbench::steps(self).is_empty() {
            return invalid(format!(
                "a transaction of {} would have no statements: ask for some, or leave skip_trx off",
                self.kind
            ));
        }
        self.distribution.validate().map_err(LoadError::Invalid)
    }

    /// The name that people know the workload by: for one from a file, the file's.
    pub fn name(&self) -> &str {
        match &self.own {
            Some(file) if self.kind == WorkloadKind::Own => file.stem(),
            _ => self.kind.name(),
        }
    }

    /// What its file calls it, of a workload from a file.
    pub fn title(&self) -> Option<String> {
        let definition = self.kind.is_from_file().then(|| self.definition().ok());
        definition.flatten().map(|own| own.title)
    }

    /// How the command line names it: a file by its path.
    pub fn spelling(&self) -> &str {
        match &self.own {
            Some(file) if self.kind == WorkloadKind::Own => &file.path,
            _ => self.kind.name(),
        }
    }

    /// Whether its transactions change data or lock rows.
    pub fn writes(&self) -> bool {
        match self.kind.is_from_file() {
            // A file with a mistake is refused elsewhere.
            true => self.definition().is_ok_and(|own| own.writes()),
            false => self.kind.writes(),
        }
    }

    /// Names of the numbers of its file, which can be set; none where it is from no file.
    ///
    /// # Errors
    /// A mistake in the file.
    pub fn numbers(&self) -> Result<Vec<String>, LoadError> {
        if !self.kind.is_from_file() {
            return Ok(Vec::new());
        }
        let mut names = self.definition()?.scale;
        if self.kind == WorkloadKind::Report {
            names.push(POOL_FACTOR.into());
        }
        Ok(names)
    }

    /// The file behind a workload that is from one.
    fn file(&self) -> Result<OwnFile, LoadError> {
        match (self.kind, &self.own) {
            (WorkloadKind::Commit, _) => Ok(OwnFile::commit()),
            (WorkloadKind::Report, _) => Ok(OwnFile::report()),
            (_, Some(file)) => Ok(file.clone()),
            (_, None) => Err(LoadError::Invalid(
                "a workload of one's own has no file: name it as in --workload ./shop.toml".into(),
            )),
        }
    }

    /// What such a file says.
    pub(crate) fn definition(&self) -> Result<Definition, LoadError> {
        let file = self.file()?;
        let mut scale = self.scale.clone();
        if self.kind == WorkloadKind::Report
            && let Some(factor) = scale.remove(POOL_FACTOR)
        {
            let rows = factor.saturating_mul(DEFAULT_POOL) / REPORT_ROW;
            scale.insert("rows".into(), rows.clamp(1, i32::MAX as u64));
        }
        own::read(&file.path, &file.text, &scale).map_err(LoadError::Invalid)
    }

    /// The names of all tables when the load has `threads` connections.
    pub fn table_names(&self, threads: u32) -> Vec<String> {
        match self.kind {
            WorkloadKind::Tpcc => tpcc::TABLES.map(str::to_owned).into(),
            kind if kind.is_from_file() => self.definition().map_or_else(
                |_| Vec::new(),
                |own| own.tables.into_iter().map(|table| table.name).collect(),
            ),
            _ => (1..=self.table_count(threads))
                .map(|number| format!("sbtest{number}"))
                .collect(),
        }
    }

    /// The data in a few words, without the engine: `1 table of 100000 rows`.
    pub fn data_in_words(&self, threads: u32) -> String {
        let plural = |count: u32, one: &str| match count {
            1 => format!("1 {one}"),
            count => format!("{count} {one}s"),
        };
        match self.kind {
            WorkloadKind::Tpcc => plural(self.warehouses, "warehouse"),
            kind if kind.is_from_file() => {
                let tables = self
                    .definition()
                    .map_or_else(|_| Vec::new(), |own| own.tables);
                let rows: u64 = tables.iter().map(|table| table.rows).sum();
                format!(
                    "{} of {rows} rows in all",
                    plural(tables.len() as u32, "table")
                )
            }
            _ => format!(
                "{} of {} rows",
                plural(self.table_count(threads), "table"),
                self.rows()
            ),
        }
    }

    /// How many of sysbench's tables there are when the load has `threads` connections: `bulk_insert` has one for each.
    pub fn table_count(&self, threads: u32) -> u32 {
        match self.kind {
            WorkloadKind::BulkInsert => threads,
            kind if !kind.is_sysbench() => 0,
            _ => self.tables,
        }
    }

    /// Rows that each table is made with. None where the load inserts rows under ids of its own.
    pub fn rows(&self) -> u64 {
        match self.kind {
            WorkloadKind::BulkInsert => 0,
            WorkloadKind::OltpInsert if !self.auto_inc => 0,
            _ => self.table_size,
        }
    }

    /// Names the tables and rows that [`prepare`](crate::prepare) makes for a load of `threads` connections: equal
    /// names, equal data. What only decides the load, and the storage engine, are no part of it.
    pub fn data_key(&self, threads: u32) -> String {
        match self.kind {
            WorkloadKind::BulkInsert => return format!("bulk-{threads}"),
            WorkloadKind::Tpcc if self.create_table_options.is_empty() => {
                return format!("tpcc-{}", self.warehouses);
            }
            WorkloadKind::Tpcc => {
                let options = &self.create_table_options;
                return format!("tpcc-{} options: {options}", self.warehouses);
            }
            kind if kind.is_from_file() => {
                let text = self.file().map_or_else(|_| String::new(), |file| file.text);
                let digest: String = Sha256::digest(text.as_bytes())
                    .iter()
                    .take(12)
                    .map(|byte| format!("{byte:02x}"))
                    .collect();
                return format!("{}-{digest} {:?}", self.name(), self.scale);
            }
            _ => {}
        }
        let mut key = format!("oltp-{}x{}", self.tables, self.rows());
        // The values of k are drawn.
        if self.rows() > 0 && self.distribution != Distribution::default() {
            key += &format!(" {}", self.distribution);
        }
        for (word, differs) in [
            (" auto_inc=off", !self.auto_inc),
            (" secondary=on", self.secondary),
            (" create_secondary=off", !self.create_secondary),
        ] {
            if differs {
                key += word;
            }
        }
        if !self.create_table_options.is_empty() {
            key += &format!(" options: {}", self.create_table_options);
        }
        key
    }

    /// Statements that read every table and every index once, in `database`.
    pub fn read_all_statements(&self, database: &str, threads: u32) -> Vec<String> {
        let database = database.replace('`', "``");
        if self.kind == WorkloadKind::Tpcc {
            return tpcc::read_all(&format!("`{database}`"));
        }
        if self.kind.is_from_file() {
            // A checksum is of every row, whatever columns and indexes there are.
            let tables = self.table_names(threads);
            let sum = |table: &String| format!("CHECKSUM TABLE `{database}`.`{table}`");
            return tables.iter().map(sum).collect();
        }
        let mut statements = Vec::new();
        for number in 1..=self.table_count(threads) {
            let table = format!("`{database}`.sbtest{number}");
            if self.kind == WorkloadKind::BulkInsert {
                statements.push(format!("SELECT SUM(k) FROM {table}"));
                continue;
            }
            // Without a primary key the rows are not in an index that has a name.
            let clustered = if self.secondary {
                ""
            } else {
                " FORCE INDEX (PRIMARY)"
            };
            statements.push(format!("SELECT SUM(LENGTH(c)) FROM {table}{clustered}"));
            if self.secondary {
                statements.push(format!("SELECT SUM(id) FROM {table} FORCE INDEX (xid)"));
            }
            if self.create_secondary {
                statements.push(format!(
                    "SELECT SUM(k) FROM {table} FORCE INDEX (k_{number})"
                ));
            }
        }
        statements
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_round_trip_and_defaults() {
        let spec: WorkloadSpec =
            serde_json::from_str(r#"{"kind": "oltp_read_write", "tables": 4}"#).unwrap();
        assert_eq!(spec.kind, WorkloadKind::OltpReadWrite);
        assert_eq!((spec.tables, spec.table_size), (4, 10_000));
        let text = serde_json::to_string(&spec).unwrap();
        assert_eq!(serde_json::from_str::<WorkloadSpec>(&text).unwrap(), spec);
        assert!(serde_json::from_str::<WorkloadSpec>(r#"{"table": 4}"#).is_err());
    }

    #[test]
    fn what_cannot_be_run_is_refused_by_name() {
        let good = WorkloadSpec::default();
        good.validate().unwrap();
        let refused = |spec: WorkloadSpec, word: &str| {
            let message = spec.validate().unwrap_err().to_string();
            assert!(message.contains(word), "{message}");
        };
        refused(
            WorkloadSpec {
                tables: 0,
                ..good.clone()
            },
            "tables",
        );
        refused(
            WorkloadSpec {
                table_size: 0,
                ..good.clone()
            },
            "table_size",
        );
        refused(
            WorkloadSpec {
                table_size: 1 << 31,
                ..good.clone()
            },
            "table_size",
        );
        refused(
            WorkloadSpec {
                range_size: 0,
                ..good.clone()
            },
            "range_size",
        );
        refused(
            WorkloadSpec {
                order_ranges: u32::MAX,
                ..good.clone()
            },
            "order_ranges",
        );
        refused(
            WorkloadSpec {
                point_selects: 0,
                range_selects: false,
                skip_trx: true,
                ..good.clone()
            },
            "no statements",
        );
        refused(
            WorkloadSpec {
                distribution: Distribution::Special {
                    iterations: 0,
                    percent: 1,
                    share: 75,
                },
                ..good.clone()
            },
            "iterations",
        );
        for random_points in [0, 65_536] {
            refused(
                WorkloadSpec {
                    random_points,
                    ..good.clone()
                },
                "random_points",
            );
        }
        for number_of_ranges in [0, 32_768] {
            refused(
                WorkloadSpec {
                    number_of_ranges,
                    ..good.clone()
                },
                "number_of_ranges",
            );
        }
        refused(
            WorkloadSpec {
                delta: u32::MAX,
                ..good.clone()
            },
            "delta",
        );
        refused(
            WorkloadSpec {
                mysql_storage_engine: "in`nodb".into(),
                ..good.clone()
            },
            "mysql_storage_engine",
        );
        refused(
            WorkloadSpec {
                kind: WorkloadKind::OltpUpdateIndex,
                index_updates: 0,
                ..good
            },
            "no statements",
        );
    }

    #[test]
    fn every_field_survives_json() {
        let spec = WorkloadSpec {
            kind: WorkloadKind::SelectRandomRanges,
            tables: 2,
            table_size: 3,
            distribution: Distribution::Zipfian { exponent: 1.5 },
            range_size: 4,
            point_selects: 5,
            simple_ranges: 6,
            sum_ranges: 7,
            order_ranges: 8,
            distinct_ranges: 9,
            range_selects: false,
            index_updates: 10,
            non_index_updates: 11,
            delete_inserts: 12,
            skip_trx: true,
            auto_inc: false,
            secondary: true,
            create_secondary: false,
            mysql_storage_engine: "aria".into(),
            create_table_options: "COMMENT 'a \"b\"'".into(),
            reconnect: 13,
            random_points: 14,
            number_of_ranges: 15,
            delta: 16,
            db_ps_mode: PreparedStatements::Disable,
            warehouses: 17,
            tpcc_batch: false,
            think_time: true,
            own: Some(OwnFile {
                path: "a.toml".into(),
                text: "title = 'a'".into(),
            }),
            scale: BTreeMap::from([("rows".into(), 5)]),
        };
        let text = serde_json::to_string(&spec).unwrap();
        assert_eq!(serde_json::from_str::<WorkloadSpec>(&text).unwrap(), spec);
    }

    #[test]
    fn equal_keys_for_equal_data_only() {
        let base = WorkloadSpec::default();
        assert_eq!(base.data_key(8), "oltp-1x10000");
        let same = WorkloadSpec {
            kind: WorkloadKind::OltpInsert,
            range_size: 3,
            point_selects: 4,
            reconnect: 5,
            random_points: 6,
            skip_trx: true,
            db_ps_mode: PreparedStatements::Disable,
            ..base.clone()
        };
        assert_eq!(same.data_key(1), base.data_key(8));

        let mut keys = std::collections::BTreeSet::from([base.data_key(8)]);
        for other in [
            WorkloadSpec {
                tables: 2,
                ..base.clone()
            },
            WorkloadSpec {
                table_size: 2,
                ..base.clone()
            },
            WorkloadSpec {
                distribution: Distribution::Uniform,
                ..base.clone()
            },
            WorkloadSpec {
                distribution: Distribution::Zipfian { exponent: 0.9 },
                ..base.clone()
            },
            WorkloadSpec {
                auto_inc: false,
                ..base.clone()
            },
            WorkloadSpec {
                secondary: true,
                ..base.clone()
            },
            WorkloadSpec {
                create_secondary: false,
                ..base.clone()
            },
            WorkloadSpec {
                create_table_options: "ROW_FORMAT=COMPRESSED".into(),
                ..base.clone()
            },
            WorkloadSpec {
                kind: WorkloadKind::OltpInsert,
                auto_inc: false,
                ..base.clone()
            },
            WorkloadSpec {
                kind: WorkloadKind::BulkInsert,
                ..base.clone()
            },
        ] {
            assert!(keys.insert(other.data_key(8)), "{}", other.data_key(8));
        }
        let bulk = WorkloadSpec {
            kind: WorkloadKind::BulkInsert,
            ..base
        };
        assert_ne!(bulk.data_key(8), bulk.data_key(9));
    }
}
