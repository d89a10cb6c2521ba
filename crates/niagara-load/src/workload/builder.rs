//! A workload by `name=value`, with sysbench's names: for command lines.

use super::option::WorkloadOption;
use super::random_options::RandomOptions;
use super::registry::Workload;
use super::spec::WorkloadSpec;
use crate::error::LoadError;
use std::collections::BTreeMap;

/// A [`WorkloadSpec`] in the making: options come in any order and are checked together at the end.
#[derive(Debug, Clone)]
pub struct WorkloadBuilder {
    spec: WorkloadSpec,
    random: RandomOptions,
    numbers: BTreeMap<String, u64>,
}

impl WorkloadBuilder {
    /// The workload with sysbench's defaults for what is not said.
    pub fn new(workload: impl Into<Workload>) -> Self {
        WorkloadBuilder::from(WorkloadSpec::of(workload))
    }

    /// Sets an option by its name, written with dashes or underscores. `Ok(false)`: the workload has no such option.
    /// A flag without a value is `on`, as in `set("skip-trx", "on")`.
    ///
    /// # Errors
    /// [`LoadError::invalid`] names the option and the values it takes.
    pub fn set(&mut self, name: &str, value: &str) -> Result<bool, LoadError> {
        let Some(option) = WorkloadOption::find(name) else {
            return Ok(false);
        };
        let draws = self.spec.workload.family().distribution().is_some();
        Ok(self.spec.common.set(option, value)?
            || (draws && self.random.set(option, value)?)
            || self.spec.workload.family_mut().set(option, value)?)
    }

    /// Sets a number of the workload's file, or an option of its script.
    ///
    /// # Errors
    /// [`LoadError::invalid`]: no whole number, or it is no workload from a file. Whether the file has such a number is
    /// known to [`build`](Self::build).
    pub fn set_scale(&mut self, name: &str, value: &str) -> Result<(), LoadError> {
        if let Some(result) = self.spec.workload.family_mut().set_text(name, value) {
            return result;
        }
        if self.spec.workload.family().numbers().is_none() {
            return Err(LoadError::invalid(format!(
                "{name}: {} has no such option",
                self.spec.name()
            )));
        }
        let number = value.replace('_', "").parse().map_err(|_| {
            LoadError::invalid(format!(
                "{name} = {value}: must be a whole number, 0 or more"
            ))
        })?;
        self.numbers.insert(name.to_owned(), number);
        Ok(())
    }

    /// The workload, validated.
    ///
    /// # Errors
    /// As [`WorkloadSpec::validate`], or a number that the workload's file does not have.
    pub fn build(&self) -> Result<WorkloadSpec, LoadError> {
        let mut spec = self.spec.clone();
        spec.workload
            .family_mut()
            .set_distribution(self.random.distribution());
        spec.workload.family_mut().set_numbers(&self.numbers)?;
        spec.validate()?;
        Ok(spec)
    }
}

impl From<WorkloadSpec> for WorkloadBuilder {
    fn from(spec: WorkloadSpec) -> Self {
        WorkloadBuilder {
            random: spec
                .workload
                .family()
                .distribution()
                .unwrap_or_default()
                .into(),
            numbers: BTreeMap::new(),
            spec,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::WorkloadKind;
    use super::super::draw::Distribution;
    use super::super::option::OptionValue;
    use super::super::registry::WORKLOAD_OPTIONS;
    use super::super::sysbench::{Sysbench, SysbenchTest};
    use super::super::tpcc::Tpcc;
    use super::*;

    #[test]
    fn the_listed_defaults_are_the_defaults() {
        for kind in WorkloadKind::all() {
            let mut builder = WorkloadBuilder::new(kind);
            for option in WORKLOAD_OPTIONS.iter() {
                let known = builder.set(option.name, option.default).unwrap();
                assert!(known || !Workload::from(kind).family().takes(option));
            }
            assert_eq!(builder.build().unwrap(), WorkloadSpec::of(kind));
        }
    }

    #[test]
    fn every_option_does_something() {
        for option in WORKLOAD_OPTIONS.iter() {
            let value = match option.value {
                OptionValue::Flag if option.default == "on" => "off",
                OptionValue::Flag => "on",
                OptionValue::Number => "7",
                OptionValue::Real => "0.3",
                OptionValue::Text => "aria",
                OptionValue::Choice(words) => words[1],
            };
            let read_write = Workload::from(Sysbench::from(SysbenchTest::OltpReadWrite));
            let sysbench = [
                read_write,
                Sysbench::from(SysbenchTest::SelectRandomPoints).into(),
                Sysbench::from(SysbenchTest::SelectRandomRanges).into(),
            ];
            let mut takes = sysbench
                .into_iter()
                .filter(|one| one.family().takes(option));
            let workload = takes.next().unwrap_or_else(|| Tpcc::default().into());
            let mut builder = WorkloadBuilder::new(workload);
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
        let mut builder = WorkloadBuilder::new(Sysbench::default());
        builder.set("rand-pareto-h", "0.3").unwrap();
        builder.set("rand-type", "pareto").unwrap();
        assert_eq!(
            builder.build().unwrap().workload.family().distribution(),
            Some(Distribution::Pareto { h: 0.3 })
        );
    }

    #[test]
    fn bad_values_are_refused_by_name() {
        let mut builder = WorkloadBuilder::new(Sysbench::default());
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
    fn only_a_file_has_numbers() {
        let mut builder = WorkloadBuilder::new(Sysbench::default());
        let error = builder.set_scale("rows", "5").unwrap_err().to_string();
        assert!(
            error.contains("oltp_read_only has no such option"),
            "{error}"
        );
        let mut builder = WorkloadBuilder::new("commit".parse::<WorkloadKind>().unwrap());
        builder.set_scale("accounts", "1_000").unwrap();
        assert_eq!(
            builder.build().unwrap(),
            serde_json::from_str(r#"{"kind": "commit", "scale": {"accounts": 1000}}"#).unwrap()
        );
        builder.set_scale("rows", "5").unwrap();
        assert!(builder.build().unwrap_err().to_string().contains("rows"));
    }
}
