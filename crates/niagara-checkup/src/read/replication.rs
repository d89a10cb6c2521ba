//! Where a replica's changes come from and how they arrive.

use std::collections::BTreeMap;

use anyhow::Result;

use super::reader::Refusal;
use super::{Reader, Source, part};
use crate::facts::{Channel, ReplicaThread};
use crate::gap::{Gap, MissingPart};

/// Of group replication: they stand still by design.
const OF_THE_GROUP: &str = "group_replication_";

/// The channels; none where it is no replica.
pub(super) fn read(
    reader: &mut Reader<'_>,
    source: &Source<'_>,
    gaps: &mut Vec<Gap>,
) -> Result<Vec<Channel>> {
    let version = source.server.version;
    let release = (version.major, version.minor, version.patch);
    let (statement, privilege) = match source.is_mariadb() {
        true if release >= (10, 5, 9) => ("SHOW ALL SLAVES STATUS", "SLAVE MONITOR ON *.*"),
        true => ("SHOW ALL SLAVES STATUS", "REPLICATION CLIENT ON *.*"),
        false if release >= (8, 0, 22) => ("SHOW REPLICA STATUS", "REPLICATION CLIENT ON *.*"),
        false => ("SHOW SLAVE STATUS", "REPLICATION CLIENT ON *.*"),
    };
    let table = match reader.table(statement) {
        // MariaDB before 10.0 has one channel.
        Err(Refusal::Other { .. }) => reader.table("SHOW SLAVE STATUS"),
        table => table,
    };
    let table = part(
        table,
        MissingPart::Replication,
        source.privileges,
        privilege,
        gaps,
    )?;
    let (names, rows) = table.unwrap_or_default();
    let channels = rows.into_iter().map(|row| {
        let cells = row.into_iter().map(Option::unwrap_or_default);
        channel(&names.iter().map(String::as_str).zip(cells).collect())
    });
    Ok(channels
        .filter(|channel| !channel.name.starts_with(OF_THE_GROUP))
        .collect())
}

/// Of two readings the better one of each channel.
pub(super) fn steady(before: Vec<Channel>, after: &[Channel]) -> Vec<Channel> {
    let better = |one: ReplicaThread, other: ReplicaThread| match one.runs {
        true => one,
        false => other,
    };
    let channels = before.into_iter().filter_map(|one| {
        let other = after.iter().find(|other| other.name == one.name)?;
        let lags = [one.lag_seconds, other.lag_seconds];
        Some(Channel {
            receiver: better(one.receiver, other.receiver),
            applier: better(one.applier, other.applier),
            lag_seconds: lags.into_iter().flatten().min_by(f64::total_cmp),
            ..one
        })
    });
    channels.collect()
}

/// A row by the names of its columns, of which releases have three sets.
fn channel(cells: &BTreeMap<&str, String>) -> Channel {
    let text = |names: [&str; 2]| names.into_iter().find_map(|name| cells.get(name));
    let number = |names| text(names).and_then(|text| text.parse::<f64>().ok());
    let thread = |runs, error: &str| ReplicaThread {
        runs: text(runs).is_some_and(|text| text == "Yes"),
        error: cells
            .get(error)
            .and_then(|text| text.parse().ok())
            .unwrap_or(0),
    };
    let host = text(["Source_Host", "Master_Host"]);
    let port = text(["Source_Port", "Master_Port"]);
    let delay = cells.get("SQL_Delay").and_then(|text| text.parse().ok());
    Channel {
        name: text(["Channel_Name", "Connection_name"])
            .cloned()
            .unwrap_or_default(),
        source: match (host, port) {
            (Some(host), Some(port)) => format!("{host}:{port}"),
            _ => String::new(),
        },
        receiver: thread(["Replica_IO_Running", "Slave_IO_Running"], "Last_IO_Errno"),
        applier: thread(
            ["Replica_SQL_Running", "Slave_SQL_Running"],
            "Last_SQL_Errno",
        ),
        lag_seconds: number(["Seconds_Behind_Source", "Seconds_Behind_Master"])
            .map(|lag| (lag - delay.unwrap_or(0.0)).max(0.0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_sets_of_names_are_read() {
        let old = [
            ("Connection_name", ""),
            ("Master_Host", "db0"),
            ("Master_Port", "3306"),
            ("Slave_IO_Running", "Connecting"),
            ("Slave_SQL_Running", "Yes"),
            ("Last_IO_Errno", "2003"),
            ("Seconds_Behind_Master", ""),
        ];
        let new = [
            ("Source_Host", "db0"),
            ("Source_Port", "3306"),
            ("Replica_IO_Running", "Yes"),
            ("Replica_SQL_Running", "Yes"),
            ("Seconds_Behind_Source", "3700"),
            ("SQL_Delay", "3600"),
        ];
        let read = |cells: &[(&'static str, &str)]| {
            channel(
                &cells
                    .iter()
                    .map(|(name, text)| (*name, (*text).to_owned()))
                    .collect(),
            )
        };
        let (old, new) = (read(&old), read(&new));
        assert_eq!(old.source, "db0:3306");
        assert_eq!(
            old.receiver,
            ReplicaThread {
                runs: false,
                error: 2003
            }
        );
        assert_eq!((old.applier.runs, old.lag_seconds), (true, None));
        assert_eq!((new.receiver.runs, new.lag_seconds), (true, Some(100.0)));
        let steady = steady(vec![old], &[new]);
        assert!(steady[0].receiver.runs);
        assert_eq!(steady[0].lag_seconds, Some(100.0));
    }
}
