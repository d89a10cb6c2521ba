//! The workloads' names.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// A workload, by the name sysbench gave it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkloadKind {
    /// One `SELECT` by primary key, outside of a transaction.
    OltpPointSelect,
    /// `BEGIN`, point selects, four kinds of range selects, `COMMIT`.
    OltpReadOnly,
    /// As `oltp_read_only`, then two updates, a delete and an insert of the same row.
    OltpReadWrite,
}

impl WorkloadKind {
    /// All of them.
    pub const ALL: [WorkloadKind; 3] = [
        WorkloadKind::OltpPointSelect,
        WorkloadKind::OltpReadOnly,
        WorkloadKind::OltpReadWrite,
    ];

    /// Whether its transactions change data.
    pub fn writes(self) -> bool {
        match self {
            WorkloadKind::OltpPointSelect | WorkloadKind::OltpReadOnly => false,
            WorkloadKind::OltpReadWrite => true,
        }
    }

    /// The name that users write.
    pub fn name(self) -> &'static str {
        match self {
            WorkloadKind::OltpPointSelect => "oltp_point_select",
            WorkloadKind::OltpReadOnly => "oltp_read_only",
            WorkloadKind::OltpReadWrite => "oltp_read_write",
        }
    }
}

impl fmt::Display for WorkloadKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for WorkloadKind {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        WorkloadKind::ALL
            .into_iter()
            .find(|kind| kind.name() == name)
            .ok_or_else(|| {
                let known: Vec<_> = WorkloadKind::ALL.iter().map(|kind| kind.name()).collect();
                format!("no workload '{name}'; known are {}", known.join(", "))
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_go_both_ways() {
        for kind in WorkloadKind::ALL {
            assert_eq!(kind.to_string().parse(), Ok(kind));
            assert_eq!(
                serde_json::to_string(&kind).unwrap(),
                format!("\"{}\"", kind.name())
            );
        }
        let error = "oltp".parse::<WorkloadKind>().unwrap_err();
        assert!(error.contains("oltp_read_only"), "{error}");
    }
}
