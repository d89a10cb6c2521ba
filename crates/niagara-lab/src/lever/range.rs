//! Levers with a number to choose: the range that is searched, on this machine.

use std::collections::BTreeMap;

use niagara_server::Family;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::change::sized;
use super::context::Context;
use super::expression::Expression;

/// How the values of a range are spread.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Scale {
    /// Evenly.
    #[default]
    Linear,
    /// By their logarithms: for sizes and rates.
    Log,
}

/// What `[range]` says: for every branch, or for one.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Range {
    pub all: Option<Bounds>,
    pub mariadb: Option<Bounds>,
    pub mysql: Option<Bounds>,
    /// The lever's title with a searched number.
    pub title: Option<String>,
}

/// A variable and its bounds before they meet a machine.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Bounds {
    pub variable: String,
    pub from: Expression,
    pub to: Expression,
    pub scale: Scale,
    /// Values are multiples of it.
    pub step: u64,
    /// Variables that are set beside it, each to this many times its value.
    pub follows: BTreeMap<String, f64>,
}

/// A range of values of one variable on this machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Span {
    /// The variable.
    pub variable: String,
    /// Smallest value, in the variable's unit.
    pub from: u64,
    /// Largest value.
    pub to: u64,
    /// How values are spread.
    pub scale: Scale,
    /// Values are multiples of it.
    pub step: u64,
    /// Variables that are set beside it, each to this many times its value.
    pub follows: BTreeMap<String, f64>,
}

/// A range that is searched, and the value that the server has before.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Searching {
    /// Identifier of its lever.
    pub lever: String,
    /// The range.
    pub span: Span,
    /// The value to begin with, in the variable's unit.
    pub start: u64,
}

impl Range {
    fn bounds(&self, family: Family) -> Option<&Bounds> {
        let own = if family.is_mariadb() {
            &self.mariadb
        } else {
            &self.mysql
        };
        own.as_ref().or(self.all.as_ref())
    }
}

impl Range {
    /// The range on this machine; `None` where there is none for the branch, or none is left here.
    pub(crate) fn span(&self, context: &Context) -> Option<Span> {
        let bounds = self.bounds(context.family)?;
        let quantities = context.quantities();
        let value = |expression: &Expression| expression.value(&quantities).ok();
        let (from, to) = (value(&bounds.from)?, value(&bounds.to)?);
        let (from, to) = (rounded(from, bounds.step), rounded(to, bounds.step));
        let sensible = from < to && (bounds.scale == Scale::Linear || from > 0);
        sensible.then(|| Span {
            variable: bounds.variable.clone(),
            from,
            to,
            scale: bounds.scale,
            step: bounds.step,
            follows: bounds.follows.clone(),
        })
    }
}

fn rounded(value: u64, step: u64) -> u64 {
    let step = step.max(1);
    value.saturating_add(step / 2) / step * step
}

impl Span {
    /// The value at a place of the range: 0 is its beginning, 1 its end.
    pub(crate) fn value(&self, place: f64) -> u64 {
        let place = place.clamp(0.0, 1.0);
        let (from, to) = (self.from as f64, self.to as f64);
        let value = match self.scale {
            Scale::Linear => from + place * (to - from),
            Scale::Log => (from.ln() + place * (to.ln() - from.ln())).exp(),
        };
        rounded(value.round() as u64, self.step).clamp(self.from, self.to)
    }

    /// Where in the range a value stands; at an end, where it is beyond it.
    pub(crate) fn place(&self, value: u64) -> f64 {
        let (value, from, to) = (
            value.clamp(self.from, self.to) as f64,
            self.from as f64,
            self.to as f64,
        );
        match self.scale {
            Scale::Linear => (value - from) / (to - from),
            Scale::Log => (value.ln() - from.ln()) / (to.ln() - from.ln()),
        }
    }

    /// The server's variables with this value.
    pub(crate) fn config(&self, value: u64) -> BTreeMap<String, String> {
        let beside = self.follows.iter().map(|(name, times)| {
            let follows = (value as f64 * times).round() as u64;
            (name.clone(), follows.to_string())
        });
        std::iter::once((self.variable.clone(), value.to_string()))
            .chain(beside)
            .collect()
    }

    /// For people: `innodb_io_capacity from 100 to 20000, logarithmic`.
    pub fn one_line(&self) -> String {
        let scale = match self.scale {
            Scale::Linear => "linear",
            Scale::Log => "logarithmic",
        };
        format!(
            "{} from {} to {}, {scale}",
            self.variable,
            sized(self.from),
            sized(self.to)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(from: u64, to: u64, scale: Scale, step: u64) -> Span {
        Span {
            variable: "v".to_owned(),
            from,
            to,
            scale,
            step,
            follows: BTreeMap::from([("v_max".to_owned(), 2.0)]),
        }
    }

    #[test]
    fn places_and_values_are_each_others_inverse() {
        for span in [
            span(100, 20_000, Scale::Log, 1),
            span(0, 50, Scale::Linear, 1),
            span(96 << 20, 4 << 30, Scale::Log, 1 << 20),
        ] {
            assert_eq!((span.value(0.0), span.value(1.0)), (span.from, span.to));
            assert_eq!((span.value(-3.0), span.value(7.0)), (span.from, span.to));
            for place in [0.1, 0.25, 0.5, 0.9] {
                let value = span.value(place);
                assert_eq!(value % span.step, 0);
                assert_eq!(span.value(span.place(value)), value);
            }
        }
    }

    #[test]
    fn the_middle_of_a_logarithmic_range_is_its_geometric_mean() {
        assert_eq!(span(100, 10_000, Scale::Log, 1).value(0.5), 1_000);
        assert_eq!(span(0, 100, Scale::Linear, 1).value(0.5), 50);
    }

    #[test]
    fn variables_that_follow_are_set_beside_it() {
        let config = span(100, 10_000, Scale::Log, 1).config(500);
        assert_eq!(
            config,
            BTreeMap::from([
                ("v".to_owned(), "500".to_owned()),
                ("v_max".to_owned(), "1000".to_owned())
            ])
        );
    }
}
