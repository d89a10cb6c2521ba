//! Workloads by `name=value`, with sysbench's names: for command lines.

use super::draw::{ITERATIONS, PARETO_H, PERCENT, SHARE, ZIPF_EXPONENT};
use super::{Distribution, PreparedStatements, WorkloadKind, WorkloadSpec};
use crate::error::LoadError;
use std::str::FromStr;

/// What the value of an option looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OptionValue {
    /// `on` or `off` (also `true`, `false`, `1`, `0`).
    Flag,
    /// A whole number, 0 or more.
    Number,
    /// A number.
    Real,
    /// Any text.
    Text,
    /// One of these words.
    Choice(&'static [&'static str]),
}

/// Which workloads have an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OptionGroup {
    /// Every workload but `bulk_insert`, be it that some take no notice of it.
    Oltp,
    /// `select_random_points`.
    RandomPoints,
    /// `select_random_ranges`.
    RandomRanges,
    /// How random numbers are drawn: all of sysbench's workloads.
    Random,
    /// How statements are sent: all workloads.
    Database,
    /// `tpcc`.
    Tpcc,
}

/// An option of the workloads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WorkloadOption {
    /// sysbench's name, with underscores.
    pub name: &'static str,
    /// What it takes.
    pub value: OptionValue,
    /// sysbench's default, as a user would write it; empty for no text.
    pub default: &'static str,
    /// One line.
    pub help: &'static str,
    /// Who has it.
    pub group: OptionGroup,
}

impl WorkloadOption {
    /// Whether `kind` has this option.
    pub fn applies_to(&self, kind: WorkloadKind) -> bool {
        match self.group {
            // What says how tables are made and connections kept is not sysbench's alone.
            OptionGroup::Oltp if !kind.is_sysbench() => {
                let in_create = self.name == "create_table_options" && kind == WorkloadKind::Tpcc;
                in_create || ["mysql_storage_engine", "reconnect"].contains(&self.name)
            }
            OptionGroup::Oltp => kind != WorkloadKind::BulkInsert,
            OptionGroup::RandomPoints => kind == WorkloadKind::SelectRandomPoints,
            OptionGroup::RandomRanges => kind == WorkloadKind::SelectRandomRanges,
            OptionGroup::Random => kind.is_sysbench(),
            OptionGroup::Tpcc => kind == WorkloadKind::Tpcc,
            OptionGroup::Database => true,
        }
    }

    /// The option of this name, written with dashes or underscores.
    pub fn find(name: &str) -> Option<&'static WorkloadOption> {
        let name = name.replace('-', "_");
        WORKLOAD_OPTIONS.iter().find(|option| option.name == name)
    }
}

const fn option(
    group: OptionGroup,
    name: &'static str,
    value: OptionValue,
    default: &'static str,
    help: &'static str,
) -> WorkloadOption {
    WorkloadOption {
        name,
        value,
        default,
        help,
        group,
    }
}

use OptionGroup::{Database, Oltp, Random, RandomPoints, RandomRanges, Tpcc};
use OptionValue::{Choice, Flag, Number, Real, Text};

/// All options of all workloads, by group, then by name. `create_table_options`, `reconnect`, and `zipfian` with its
/// exponent are of sysbench's development version 1.1, all others of 1.0.20.
#[rustfmt::skip]
pub const WORKLOAD_OPTIONS: &[WorkloadOption] = &[
    option(Oltp, "auto_inc", Flag, "on", "Let the server number the rows (AUTO_INCREMENT); off: the client does"),
    option(Oltp, "create_secondary", Flag, "on", "Make an index on k besides the primary key"),
    option(Oltp, "create_table_options", Text, "", "Text to append to CREATE TABLE"),
    option(Oltp, "delete_inserts", Number, "1", "Deletes followed by an insert of the same row, per transaction"),
    option(Oltp, "distinct_ranges", Number, "1", "SELECT DISTINCT over a range, per transaction"),
    option(Oltp, "index_updates", Number, "1", "Updates of the indexed column, per transaction"),
    option(Oltp, "mysql_storage_engine", Text, "innodb", "Storage engine of the tables"),
    option(Oltp, "non_index_updates", Number, "1", "Updates of a column without an index, per transaction"),
    option(Oltp, "order_ranges", Number, "1", "SELECT with ORDER BY over a range, per transaction"),
    option(Oltp, "point_selects", Number, "10", "Selects of one row, per transaction"),
    option(Oltp, "range_selects", Flag, "on", "Whether there are range selects at all"),
    option(Oltp, "range_size", Number, "100", "Rows that a range covers"),
    option(Oltp, "reconnect", Number, "0", "Connect anew after so many transactions; 0: never"),
    option(Oltp, "secondary", Flag, "off", "Make an ordinary index on id in place of the primary key"),
    option(Oltp, "simple_ranges", Number, "1", "Selects of a range, per transaction"),
    option(Oltp, "skip_trx", Flag, "off", "Leave out BEGIN and COMMIT"),
    option(Oltp, "sum_ranges", Number, "1", "SELECT SUM() over a range, per transaction"),
    option(Oltp, "table_size", Number, "10000", "Rows per table"),
    option(Oltp, "tables", Number, "1", "Number of tables"),
    option(RandomPoints, "random_points", Number, "10", "Values in the IN list"),
    option(RandomRanges, "delta", Number, "5", "Width of a range"),
    option(RandomRanges, "number_of_ranges", Number, "10", "Ranges per SELECT"),
    option(Random, "rand_pareto_h", Real, "0.2", "pareto: the share of the rows that takes the share 1 - h of the draws"),
    option(Random, "rand_spec_iter", Number, "12", "special, gaussian: uniform numbers per draw"),
    option(Random, "rand_spec_pct", Number, "1", "special: percentage of the rows that are special"),
    option(Random, "rand_spec_res", Number, "75", "special: percentage of the draws that go to special rows"),
    option(Random, "rand_type", Choice(&Distribution::NAMES), "special", "How row numbers are drawn"),
    option(Random, "rand_zipfian_exp", Real, "0.8", "zipfian: the exponent theta"),
    option(Database, "db_ps_mode", Choice(&["auto", "disable"]), "auto", "disable: send all statements as text instead of preparing them"),
    option(Tpcc, "think_time", Flag, "off", "Wait between transactions as people at terminals do (keying and think times)"),
    option(Tpcc, "tpcc_batch", Flag, "on", "Ask for the rows that a transaction wants of one table with one statement"),
    option(Tpcc, "warehouses", Number, "5", "Warehouses"),
];

/// A [`WorkloadSpec`] in the making: options come in any order and are checked together at the end.
#[derive(Debug, Clone)]
pub struct WorkloadBuilder {
    spec: WorkloadSpec,
    rand_type: &'static str,
    iterations: u32,
    percent: u32,
    share: u32,
    h: f64,
    exponent: f64,
}

impl WorkloadBuilder {
    /// `kind` with sysbench's defaults.
    pub fn new(kind: WorkloadKind) -> Self {
        WorkloadBuilder::from(WorkloadSpec {
            kind,
            ..WorkloadSpec::default()
        })
    }

    /// Sets an option by its name, written with dashes or underscores. `Ok(false)`: no workload has such an option.
    /// A flag without a value is `on`, as in `set("skip-trx", "on")`.
    ///
    /// # Errors
    /// [`LoadError::Invalid`] names the option and the values it takes.
    pub fn set(&mut self, name: &str, value: &str) -> Result<bool, LoadError> {
        let Some(option) = WorkloadOption::find(name) else {
            return Ok(false);
        };
        let spec = &mut self.spec;
        match option.name {
            "auto_inc" => spec.auto_inc = flag(option, value)?,
            "create_secondary" => spec.create_secondary = flag(option, value)?,
            "create_table_options" => spec.create_table_options = value.to_owned(),
            "db_ps_mode" => {
                spec.db_ps_mode = match choice(option, value)? {
                    "disable" => PreparedStatements::Disable,
                    _ => PreparedStatements::Auto,
                };
            }
            "delete_inserts" => spec.delete_inserts = number(option, value)?,
            "delta" => spec.delta = number(option, value)?,
            "distinct_ranges" => spec.distinct_ranges = number(option, value)?,
            "index_updates" => spec.index_updates = number(option, value)?,
            "mysql_storage_engine" => spec.mysql_storage_engine = value.to_owned(),
            "non_index_updates" => spec.non_index_updates = number(option, value)?,
            "number_of_ranges" => spec.number_of_ranges = number(option, value)?,
            "order_ranges" => spec.order_ranges = number(option, value)?,
            "point_selects" => spec.point_selects = number(option, value)?,
            "rand_pareto_h" => self.h = real(option, value)?,
            "rand_spec_iter" => self.iterations = number(option, value)?,
            "rand_spec_pct" => self.percent = number(option, value)?,
            "rand_spec_res" => self.share = number(option, value)?,
            "rand_type" => self.rand_type = choice(option, value)?,
            "rand_zipfian_exp" => self.exponent = real(option, value)?,
            "random_points" => spec.random_points = number(option, value)?,
            "range_selects" => spec.range_selects = flag(option, value)?,
            "range_size" => spec.range_size = number(option, value)?,
            "reconnect" => spec.reconnect = number(option, value)?,
            "secondary" => spec.secondary = flag(option, value)?,
            "simple_ranges" => spec.simple_ranges = number(option, value)?,
            "skip_trx" => spec.skip_trx = flag(option, value)?,
            "sum_ranges" => spec.sum_ranges = number(option, value)?,
            "table_size" => spec.table_size = number(option, value)?,
            "tables" => spec.tables = number(option, value)?,
            "think_time" => spec.think_time = flag(option, value)?,
            "tpcc_batch" => spec.tpcc_batch = flag(option, value)?,
            "warehouses" => spec.warehouses = number(option, value)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Sets a number of the workload's file.
    ///
    /// # Errors
    /// [`LoadError::Invalid`]: no whole number, or it is no workload from a file. Whether the file has such a number is
    /// known to [`build`](Self::build).
    pub fn set_scale(&mut self, name: &str, value: &str) -> Result<(), LoadError> {
        if !self.spec.kind.is_from_file() {
            return Err(LoadError::Invalid(format!(
                "{name}: {} has no such option",
                self.spec.name()
            )));
        }
        let number = value.replace('_', "").parse().map_err(|_| {
            LoadError::Invalid(format!(
                "{name} = {value}: must be a whole number, 0 or more"
            ))
        })?;
        self.spec.scale.insert(name.to_owned(), number);
        Ok(())
    }

    /// The workload, validated.
    ///
    /// # Errors
    /// As [`WorkloadSpec::validate`].
    pub fn build(&self) -> Result<WorkloadSpec, LoadError> {
        let spec = WorkloadSpec {
            distribution: match self.rand_type {
                "uniform" => Distribution::Uniform,
                "gaussian" => Distribution::Gaussian {
                    iterations: self.iterations,
                },
                "pareto" => Distribution::Pareto { h: self.h },
                "zipfian" => Distribution::Zipfian {
                    exponent: self.exponent,
                },
                _ => Distribution::Special {
                    iterations: self.iterations,
                    percent: self.percent,
                    share: self.share,
                },
            },
            ..self.spec.clone()
        };
        spec.validate()?;
        Ok(spec)
    }
}

impl From<WorkloadSpec> for WorkloadBuilder {
    fn from(spec: WorkloadSpec) -> Self {
        let mut builder = WorkloadBuilder {
            rand_type: spec.distribution.name(),
            iterations: ITERATIONS,
            percent: PERCENT,
            share: SHARE,
            h: PARETO_H,
            exponent: ZIPF_EXPONENT,
            spec,
        };
        match builder.spec.distribution {
            Distribution::Uniform => {}
            Distribution::Gaussian { iterations } => builder.iterations = iterations,
            Distribution::Special {
                iterations,
                percent,
                share,
            } => {
                builder.iterations = iterations;
                builder.percent = percent;
                builder.share = share;
            }
            Distribution::Pareto { h } => builder.h = h,
            Distribution::Zipfian { exponent } => builder.exponent = exponent,
        }
        builder
    }
}

fn invalid(option: &WorkloadOption, value: &str, expected: &str) -> LoadError {
    LoadError::Invalid(format!("{} = {value}: must be {expected}", option.name))
}

fn flag(option: &WorkloadOption, value: &str) -> Result<bool, LoadError> {
    match value.to_ascii_lowercase().as_str() {
        "on" | "true" | "yes" | "1" => Ok(true),
        "off" | "false" | "no" | "0" => Ok(false),
        _ => Err(invalid(option, value, "on or off")),
    }
}

fn number<T: FromStr>(option: &WorkloadOption, value: &str) -> Result<T, LoadError> {
    value
        .parse()
        .map_err(|_| invalid(option, value, "a whole number, 0 or more"))
}

fn real(option: &WorkloadOption, value: &str) -> Result<f64, LoadError> {
    match value.parse::<f64>() {
        Ok(number) if number.is_finite() => Ok(number),
        _ => Err(invalid(option, value, "a number")),
    }
}

fn choice(option: &WorkloadOption, value: &str) -> Result<&'static str, LoadError> {
    let OptionValue::Choice(words) = option.value else {
        return Err(invalid(option, value, "a word"));
    };
    words
        .iter()
        .find(|word| **word == value)
        .copied()
        .ok_or_else(|| invalid(option, value, &format!("one of {}", words.join(", "))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_listed_defaults_are_the_defaults() {
        for kind in WorkloadKind::ALL {
            let mut builder = WorkloadBuilder::new(kind);
            for option in WORKLOAD_OPTIONS {
                assert!(builder.set(option.name, option.default).unwrap());
            }
            let expected = WorkloadSpec {
                kind,
                ..WorkloadSpec::default()
            };
            assert_eq!(builder.build().unwrap(), expected);
        }
    }

    #[test]
    fn every_option_does_something() {
        for option in WORKLOAD_OPTIONS {
            let value = match option.value {
                OptionValue::Flag if option.default == "on" => "off",
                OptionValue::Flag => "on",
                OptionValue::Number => "7",
                OptionValue::Real => "0.3",
                OptionValue::Text => "aria",
                OptionValue::Choice(words) => words[1],
            };
            let mut builder = WorkloadBuilder::new(WorkloadKind::OltpReadWrite);
            match option.name {
                "rand_pareto_h" => assert!(builder.set("rand-type", "pareto").unwrap()),
                "rand_zipfian_exp" => assert!(builder.set("rand-type", "zipfian").unwrap()),
                _ => {}
            }
            let before = builder.build().unwrap();
            assert!(builder.set(&option.name.replace('_', "-"), value).unwrap());
            let after = builder.build().unwrap();
            assert_ne!(before, after, "{}", option.name);
            // and a builder that starts from there arrives there
            assert_eq!(WorkloadBuilder::from(after.clone()).build().unwrap(), after);
        }
    }

    #[test]
    fn the_order_of_options_does_not_matter() {
        let mut builder = WorkloadBuilder::new(WorkloadKind::OltpReadOnly);
        builder.set("rand-pareto-h", "0.3").unwrap();
        builder.set("rand-type", "pareto").unwrap();
        assert_eq!(
            builder.build().unwrap().distribution,
            Distribution::Pareto { h: 0.3 }
        );
    }

    #[test]
    fn bad_values_are_refused_by_name() {
        let mut builder = WorkloadBuilder::new(WorkloadKind::OltpReadOnly);
        assert!(!builder.set("threads", "4").unwrap());
        for (name, value, words) in [
            ("tables", "many", "whole number"),
            ("tables", "-1", "whole number"),
            ("table-size", "99999999999999999999", "whole number"),
            ("skip-trx", "perhaps", "on or off"),
            ("rand-type", "normal", "zipfian"),
            ("rand-pareto-h", "NaN", "a number"),
            ("db-ps-mode", "always", "disable"),
        ] {
            let error = builder.set(name, value).unwrap_err().to_string();
            assert!(error.contains(&name.replace('-', "_")), "{error}");
            assert!(error.contains(words), "{error}");
        }
        builder.set("tables", "0").unwrap();
        assert!(builder.build().unwrap_err().to_string().contains("tables"));
    }

    #[test]
    fn groups() {
        let has = |name: &str, kind| WorkloadOption::find(name).unwrap().applies_to(kind);
        assert!(!has("tables", WorkloadKind::BulkInsert));
        assert!(has("db-ps-mode", WorkloadKind::BulkInsert));
        assert!(has("delta", WorkloadKind::SelectRandomRanges));
        assert!(!has("delta", WorkloadKind::SelectRandomPoints));
        assert!(has("random_points", WorkloadKind::SelectRandomPoints));
        assert!(has("warehouses", WorkloadKind::Tpcc));
        assert!(!has("tables", WorkloadKind::Tpcc));
        assert!(!has("warehouses", WorkloadKind::OltpReadOnly));
    }
}
