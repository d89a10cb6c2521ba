//! The options of sysbench's tests.

use super::statement::MAX_PARAMETERS;
use super::test::SysbenchTest;
use crate::error::LoadError;
use crate::workload::draw::Distribution;
use crate::workload::option::OptionGroup::{Oltp, RandomPoints, RandomRanges};
use crate::workload::option::OptionValue::{Flag, Number};
use crate::workload::option::{WorkloadOption, flag, number, option};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One of sysbench's tests with its options. The default is `oltp_read_only` with sysbench's own defaults.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Sysbench {
    /// Which test.
    #[serde(rename = "kind")]
    pub test: SysbenchTest,
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
    /// Values in the `IN` list of `select_random_points`.
    pub random_points: u32,
    /// Ranges of `select_random_ranges`.
    pub number_of_ranges: u32,
    /// Last value of such a range minus its first.
    pub delta: u32,
}

impl Default for Sysbench {
    fn default() -> Self {
        Sysbench {
            test: SysbenchTest::OltpReadOnly,
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
            random_points: 10,
            number_of_ranges: 10,
            delta: 5,
        }
    }
}

impl From<SysbenchTest> for Sysbench {
    fn from(test: SysbenchTest) -> Self {
        Sysbench {
            test,
            ..Sysbench::default()
        }
    }
}

/// The options by name: those of sysbench 1.0.20.
#[rustfmt::skip]
pub(super) const OPTIONS: &[WorkloadOption] = &[
    option(Oltp, "auto_inc", Flag, "on", "Let the server number the rows (AUTO_INCREMENT); off: the client does"),
    option(Oltp, "create_secondary", Flag, "on", "Make an index on k besides the primary key"),
    option(Oltp, "delete_inserts", Number, "1", "Deletes followed by an insert of the same row, per transaction"),
    option(Oltp, "distinct_ranges", Number, "1", "SELECT DISTINCT over a range, per transaction"),
    option(Oltp, "index_updates", Number, "1", "Updates of the indexed column, per transaction"),
    option(Oltp, "non_index_updates", Number, "1", "Updates of a column without an index, per transaction"),
    option(Oltp, "order_ranges", Number, "1", "SELECT with ORDER BY over a range, per transaction"),
    option(Oltp, "point_selects", Number, "10", "Selects of one row, per transaction"),
    option(Oltp, "range_selects", Flag, "on", "Whether there are range selects at all"),
    option(Oltp, "range_size", Number, "100", "Rows that a range covers"),
    option(Oltp, "secondary", Flag, "off", "Make an ordinary index on id in place of the primary key"),
    option(Oltp, "simple_ranges", Number, "1", "Selects of a range, per transaction"),
    option(Oltp, "skip_trx", Flag, "off", "Leave out BEGIN and COMMIT"),
    option(Oltp, "sum_ranges", Number, "1", "SELECT SUM() over a range, per transaction"),
    option(Oltp, "table_size", Number, "10000", "Rows per table"),
    option(Oltp, "tables", Number, "1", "Number of tables"),
    option(RandomPoints, "random_points", Number, "10", "Values in the IN list"),
    option(RandomRanges, "delta", Number, "5", "Width of a range"),
    option(RandomRanges, "number_of_ranges", Number, "10", "Ranges per SELECT"),
];

/// Statements of one kind in one transaction; more is surely a mistake.
const MAX_PER_TRANSACTION: u32 = 100_000;

impl Sysbench {
    pub(super) fn set_option(
        &mut self,
        option: &WorkloadOption,
        value: &str,
    ) -> Result<bool, LoadError> {
        match option.name {
            "auto_inc" => self.auto_inc = flag(option, value)?,
            "create_secondary" => self.create_secondary = flag(option, value)?,
            "delete_inserts" => self.delete_inserts = number(option, value)?,
            "delta" => self.delta = number(option, value)?,
            "distinct_ranges" => self.distinct_ranges = number(option, value)?,
            "index_updates" => self.index_updates = number(option, value)?,
            "non_index_updates" => self.non_index_updates = number(option, value)?,
            "number_of_ranges" => self.number_of_ranges = number(option, value)?,
            "order_ranges" => self.order_ranges = number(option, value)?,
            "point_selects" => self.point_selects = number(option, value)?,
            "random_points" => self.random_points = number(option, value)?,
            "range_selects" => self.range_selects = flag(option, value)?,
            "range_size" => self.range_size = number(option, value)?,
            "secondary" => self.secondary = flag(option, value)?,
            "simple_ranges" => self.simple_ranges = number(option, value)?,
            "skip_trx" => self.skip_trx = flag(option, value)?,
            "sum_ranges" => self.sum_ranges = number(option, value)?,
            "table_size" => self.table_size = number(option, value)?,
            "tables" => self.tables = number(option, value)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    pub(super) fn check_options(&self) -> Result<(), LoadError> {
        let invalid = |message: String| Err(LoadError::invalid(message));
        // id is a signed 32-bit INTEGER, as in sysbench. A range has two parameters.
        for (field, value, most) in [
            ("tables", u64::from(self.tables), 65_536),
            ("table_size", self.table_size, i32::MAX as u64),
            ("range_size", self.range_size.into(), i32::MAX as u64),
            (
                "random_points",
                self.random_points.into(),
                MAX_PARAMETERS.into(),
            ),
            (
                "number_of_ranges",
                self.number_of_ranges.into(),
                u64::from(MAX_PARAMETERS / 2),
            ),
        ] {
            if !(1..=most).contains(&value) {
                return invalid(format!("{field} = {value}: must be from 1 to {most}"));
            }
        }
        for (field, value, most) in [
            ("point_selects", self.point_selects, MAX_PER_TRANSACTION),
            ("simple_ranges", self.simple_ranges, MAX_PER_TRANSACTION),
            ("sum_ranges", self.sum_ranges, MAX_PER_TRANSACTION),
            ("order_ranges", self.order_ranges, MAX_PER_TRANSACTION),
            ("distinct_ranges", self.distinct_ranges, MAX_PER_TRANSACTION),
            ("index_updates", self.index_updates, MAX_PER_TRANSACTION),
            (
                "non_index_updates",
                self.non_index_updates,
                MAX_PER_TRANSACTION,
            ),
            ("delete_inserts", self.delete_inserts, MAX_PER_TRANSACTION),
            ("delta", self.delta, i32::MAX as u32),
        ] {
            if value > most {
                return invalid(format!("{field} = {value}: must be at most {most}"));
            }
        }
        self.distribution.validate().map_err(LoadError::invalid)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::WorkloadSpec;

    #[test]
    fn impossible_options_are_refused_by_name() {
        let good = Sysbench::default;
        WorkloadSpec::of(good()).validate().unwrap();
        let special = |iterations| Distribution::Special {
            iterations,
            percent: 1,
            share: 75,
        };
        let refused = |word: &str, change: &dyn Fn(&mut Sysbench)| {
            let mut spec = good();
            change(&mut spec);
            let message = WorkloadSpec::of(spec).validate().unwrap_err().to_string();
            assert!(message.contains(word), "{message}");
        };
        refused("tables", &|spec| spec.tables = 0);
        refused("table_size", &|spec| spec.table_size = 0);
        refused("table_size", &|spec| spec.table_size = 1 << 31);
        refused("range_size", &|spec| spec.range_size = 0);
        refused("order_ranges", &|spec| spec.order_ranges = u32::MAX);
        refused("iterations", &|spec| spec.distribution = special(0));
        for random_points in [0, 65_536] {
            refused("random_points", &|spec| spec.random_points = random_points);
        }
        for number_of_ranges in [0, 32_768] {
            refused("number_of_ranges", &|spec| {
                spec.number_of_ranges = number_of_ranges;
            });
        }
        refused("delta", &|spec| spec.delta = u32::MAX);
        refused("no statements", &|spec| {
            spec.point_selects = 0;
            spec.range_selects = false;
            spec.skip_trx = true;
        });
        refused("no statements", &|spec| {
            spec.test = SysbenchTest::OltpUpdateIndex;
            spec.index_updates = 0;
        });
    }
}
