//! What a variable must be for a lever to have something to act on.

use std::borrow::Cow;
use std::fmt;

use niagara_origin::configuration::{number, same_value};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};

/// A condition on the value of a variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Condition {
    /// This value.
    Is(String),
    /// Less than this number.
    Below(String),
    /// More than this number.
    Above(String),
}

impl Condition {
    /// Reads `ON`, `<2000` or `>64M`.
    ///
    /// # Errors
    /// What follows a sign is no number.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let (make, limit): (fn(String) -> Self, &str) =
            match (text.strip_prefix('<'), text.strip_prefix('>')) {
                (Some(limit), _) => (Self::Below, limit.trim()),
                (_, Some(limit)) => (Self::Above, limit.trim()),
                _ => return Ok(Self::Is(text.to_owned())),
            };
        match number(limit) {
            Some(_) => Ok(make(limit.to_owned())),
            None => Err(format!("`{limit}` is not a number")),
        }
    }

    /// Whether a variable of this value meets it. What is no number is neither less nor more than one.
    pub fn holds(&self, value: &str) -> bool {
        let compared = |limit: &str| Some(number(value)?.total_cmp(&number(limit)?));
        match self {
            Self::Is(wanted) => same_value(value, wanted),
            Self::Below(limit) => compared(limit).is_some_and(|order| order.is_lt()),
            Self::Above(limit) => compared(limit).is_some_and(|order| order.is_gt()),
        }
    }
}

/// As it stands behind a variable: `= ON`, `< 2000`.
impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Is(value) => write!(f, "= {value}"),
            Self::Below(limit) => write!(f, "< {limit}"),
            Self::Above(limit) => write!(f, "> {limit}"),
        }
    }
}

/// As a lever's file has it.
impl Serialize for Condition {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Is(value) => serializer.serialize_str(value),
            Self::Below(limit) => serializer.collect_str(&format_args!("<{limit}")),
            Self::Above(limit) => serializer.collect_str(&format_args!(">{limit}")),
        }
    }
}

impl JsonSchema for Condition {
    fn schema_name() -> Cow<'static, str> {
        "Condition".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "What a variable must be: a value, or `<` or `>` and a number.",
            "type": "string",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_meet_conditions() {
        for (condition, value, holds) in [
            ("ON", "on", true),
            ("ON", "TRUE", true),
            ("ON", "OFF", false),
            ("<2000", "200", true),
            ("<2000", "2000", false),
            ("<2000", "10000", false),
            (">1000", "10000", true),
            (">1000", "1000", false),
            ("< 64M", "16777216", true),
            ("<64M", "ON", false),
        ] {
            let read = Condition::parse(condition).expect("a condition");
            assert_eq!(read.holds(value), holds, "{condition} {value}");
        }
        let read = Condition::parse("< 64M").expect("a condition");
        assert_eq!(read.to_string(), "< 64M");
        assert_eq!(serde_json::to_value(read).expect("a text"), "<64M");
        assert!(Condition::parse("<many").is_err());
    }
}
