//! A distribution by sysbench's options, which come in any order: the parameters may come before the name.

use super::draw::{Distribution, ITERATIONS, PARETO_H, PERCENT, SHARE, ZIPF_EXPONENT};
use super::option::OptionGroup::Random;
use super::option::OptionValue::{Choice, Number, Real};
use super::option::{WorkloadOption, choice, number, option, real};
use crate::error::LoadError;

/// The options by name; `zipfian` with its exponent is of sysbench's development version 1.1.
#[rustfmt::skip]
pub(super) const OPTIONS: [WorkloadOption; 6] = [
    option(Random, "rand_pareto_h", Real, "0.2", "pareto: the share of the rows that takes the share 1 - h of the draws"),
    option(Random, "rand_spec_iter", Number, "12", "special, gaussian: uniform numbers per draw"),
    option(Random, "rand_spec_pct", Number, "1", "special: percentage of the rows that are special"),
    option(Random, "rand_spec_res", Number, "75", "special: percentage of the draws that go to special rows"),
    option(Random, "rand_type", Choice(&Distribution::NAMES), "special", "How row numbers are drawn"),
    option(Random, "rand_zipfian_exp", Real, "0.8", "zipfian: the exponent theta"),
];

/// A distribution in the making.
#[derive(Debug, Clone)]
pub(super) struct RandomOptions {
    rand_type: &'static str,
    iterations: u32,
    percent: u32,
    share: u32,
    h: f64,
    exponent: f64,
}

impl RandomOptions {
    /// Sets an option; false if it is not one of these.
    ///
    /// # Errors
    /// A value that the option does not take.
    pub(super) fn set(&mut self, option: &WorkloadOption, value: &str) -> Result<bool, LoadError> {
        match option.name {
            "rand_pareto_h" => self.h = real(option, value)?,
            "rand_spec_iter" => self.iterations = number(option, value)?,
            "rand_spec_pct" => self.percent = number(option, value)?,
            "rand_spec_res" => self.share = number(option, value)?,
            "rand_type" => self.rand_type = choice(option, value)?,
            "rand_zipfian_exp" => self.exponent = real(option, value)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// What the options come to.
    pub(super) fn distribution(&self) -> Distribution {
        match self.rand_type {
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
        }
    }
}

impl From<Distribution> for RandomOptions {
    fn from(distribution: Distribution) -> Self {
        let mut options = RandomOptions {
            rand_type: distribution.name(),
            iterations: ITERATIONS,
            percent: PERCENT,
            share: SHARE,
            h: PARETO_H,
            exponent: ZIPF_EXPONENT,
        };
        match distribution {
            Distribution::Uniform => {}
            Distribution::Gaussian { iterations } => options.iterations = iterations,
            Distribution::Special {
                iterations,
                percent,
                share,
            } => {
                options.iterations = iterations;
                options.percent = percent;
                options.share = share;
            }
            Distribution::Pareto { h } => options.h = h,
            Distribution::Zipfian { exponent } => options.exponent = exponent,
        }
        options
    }
}
