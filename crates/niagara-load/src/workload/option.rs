//! An option of a workload as command lines write it, `name=value`, and the values there are.

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

/// Where help lists an option. Options stand in this order, then by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum OptionGroup {
    /// sysbench's `oltp` tests. Some of these other workloads have too.
    Oltp,
    /// `select_random_points`.
    RandomPoints,
    /// `select_random_ranges`.
    RandomRanges,
    /// How random numbers are drawn.
    Random,
    /// How statements are sent.
    Database,
    /// Workloads that are not sysbench's.
    Other,
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
    /// Where help lists it.
    pub group: OptionGroup,
}

pub(super) const fn option(
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

fn invalid(option: &WorkloadOption, value: &str, expected: &str) -> LoadError {
    LoadError::invalid(format!("{} = {value}: must be {expected}", option.name))
}

pub(super) fn flag(option: &WorkloadOption, value: &str) -> Result<bool, LoadError> {
    match value.to_ascii_lowercase().as_str() {
        "on" | "true" | "yes" | "1" => Ok(true),
        "off" | "false" | "no" | "0" => Ok(false),
        _ => Err(invalid(option, value, "on or off")),
    }
}

pub(super) fn number<T: FromStr>(option: &WorkloadOption, value: &str) -> Result<T, LoadError> {
    value
        .parse()
        .map_err(|_| invalid(option, value, "a whole number, 0 or more"))
}

pub(super) fn real(option: &WorkloadOption, value: &str) -> Result<f64, LoadError> {
    match value.parse::<f64>() {
        Ok(number) if number.is_finite() => Ok(number),
        _ => Err(invalid(option, value, "a number")),
    }
}

pub(super) fn choice(option: &WorkloadOption, value: &str) -> Result<&'static str, LoadError> {
    let OptionValue::Choice(words) = option.value else {
        return Err(invalid(option, value, "a word"));
    };
    words
        .iter()
        .find(|word| **word == value)
        .copied()
        .ok_or_else(|| invalid(option, value, &format!("one of {}", words.join(", "))))
}
