//! How a server keeps an index from its optimizer without dropping it.

use schemars::JsonSchema;
use serde::Serialize;

use crate::family::{Family, Version};

/// The attribute of an index that hides it from the optimizer; the server still maintains the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HideClause {
    /// `IGNORED`, of MariaDB from 10.6 on.
    Ignored,
    /// `INVISIBLE`, of MySQL from 8.0 on.
    Invisible,
}

impl HideClause {
    /// The one that a server has; none of a server that cannot hide an index.
    /// Source: MariaDB documentation, Ignored Indexes (10.6); MySQL reference manual, Invisible Indexes (8.0).
    pub fn of(family: Family, version: Version) -> Option<Self> {
        match family.is_mariadb() {
            true => (!version.is_before(10, 6)).then_some(Self::Ignored),
            false => (!version.is_before(8, 0)).then_some(Self::Invisible),
        }
    }

    /// What stands behind `ALTER INDEX name` to hide it.
    pub fn hides(self) -> &'static str {
        match self {
            Self::Ignored => "IGNORED",
            Self::Invisible => "INVISIBLE",
        }
    }

    /// What stands there to show it again.
    pub fn shows(self) -> &'static str {
        match self {
            Self::Ignored => "NOT IGNORED",
            Self::Invisible => "VISIBLE",
        }
    }

    /// The condition on a row of `information_schema.STATISTICS` that holds for a hidden index.
    pub fn condition(self) -> &'static str {
        match self {
            Self::Ignored => "`IGNORED` = 'YES'",
            Self::Invisible => "IS_VISIBLE = 'NO'",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hiding_follows_the_release() {
        let of =
            |family, version: &str| HideClause::of(family, version.parse().expect("a version"));
        assert_eq!(of(Family::Mariadb, "10.5.2"), None);
        assert_eq!(of(Family::Mariadb, "10.6.0"), Some(HideClause::Ignored));
        assert_eq!(of(Family::Mysql, "5.7.44"), None);
        assert_eq!(of(Family::Percona, "8.0.36"), Some(HideClause::Invisible));
    }
}
