//! Values that are written in a way of their own: how they are checked and what they mean.

use std::borrow::Cow;
use std::time::Duration;

use niagara_toml::{Format, Scalar};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;

use crate::asking::quantity;

/// A value of a format of [`FORMATS`], which reading has checked.
macro_rules! written {
    ($(#[$about:meta])* $name:ident, $format:literal, $schema:tt) => {
        $(#[$about])*
        #[derive(Debug, Clone, Deserialize)]
        #[serde(transparent)]
        pub(crate) struct $name(pub Scalar);

        impl JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> Cow<'static, str> {
                $format.into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                let mut schema = json_schema!($schema);
                schema.insert("format".into(), $format.into());
                schema
            }
        }
    };
}

written!(
    /// `90s`, `10m`.
    DurationText, "niagara-duration", {"anyOf": [
        {"type": "string", "pattern": "^[0-9]"},
        {"type": "number", "exclusiveMinimum": 0},
    ]}
);
written!(
    /// `0.5%` or `0.005`.
    ShareText, "niagara-share", {"anyOf": [
        {"type": "string", "pattern": r"^[0-9.]+ ?%?$"},
        {"type": "number", "minimum": 0, "maximum": 1},
    ]}
);
written!(
    /// A probability from 0.0001 to 0.5.
    Probability, "niagara-probability", {"type": "number", "minimum": 0.0001, "maximum": 0.5}
);
written!(
    /// One thread count, a list of them, or `1..256`.
    ThreadCounts, "niagara-threads", {"anyOf": [
        {"type": "integer", "minimum": 1, "maximum": 16384},
        {"type": "string", "pattern": r"^[0-9., ]+$"},
        {"type": "array", "items": {"type": "integer", "minimum": 1, "maximum": 16384}, "minItems": 1},
    ]}
);

impl DurationText {
    pub(crate) fn value(&self) -> Option<Duration> {
        quantity::duration(&self.0).ok()
    }
}

impl ShareText {
    pub(crate) fn value(&self) -> Option<f64> {
        quantity::share(&self.0).ok()
    }
}

impl Probability {
    pub(crate) fn value(&self) -> Option<f64> {
        probability(&self.0)
    }
}

impl ThreadCounts {
    pub(crate) fn value(&self) -> Option<Vec<u32>> {
        quantity::threads(&self.0).ok()
    }
}

fn probability(text: &str) -> Option<f64> {
    let number = text.parse().ok()?;
    (0.0001..=0.5).contains(&number).then_some(number)
}

/// What the schemas above name.
pub(crate) const FORMATS: [Format; 4] = [
    Format {
        name: "niagara-duration",
        holds: |text| quantity::duration(text).is_ok(),
        what: "a duration",
        written: "as in \"500ms\", \"90s\", \"10m\" or \"1h30m\"",
    },
    Format {
        name: "niagara-share",
        holds: |text| quantity::share(text).is_ok(),
        what: "a share",
        written: "as in \"0.5%\" or 0.005",
    },
    Format {
        name: "niagara-probability",
        holds: |text| probability(text).is_some(),
        what: "a probability",
        written: "a number from 0.0001 to 0.5, such as 0.05",
    },
    Format {
        name: "niagara-threads",
        holds: |text| quantity::threads(text).is_ok(),
        what: "a thread count or a list of thread counts",
        written: "thread counts from 1 to 16384, such as 8, [1, 2, 4, 8] or \"1..256\"",
    },
];
