//! How each finding is proven with Niagara: a command that measures or counts it, on copies and never on this server.

use niagara_server::shell_quoted;
use serde::Serialize;

use crate::finding::Finding;
use crate::remedy::safe_value;

/// Traffic, data and settings in one file.
const PACK: &str = "shop.niagara";
/// The traffic alone.
const CAPTURE: &str = "shop.capture";

/// What commands are about.
#[derive(Debug, Clone, Serialize)]
pub struct Ground {
    /// The server of the catalogue, or the path of its program.
    pub server: String,
    /// The socket or HOST:PORT.
    pub address: String,
}

/// How a finding is proven.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Proof {
    /// By duels of the server as it is with this change.
    Compare(String),
    /// By duels of a workload of Niagara in both engines.
    CompareEngines,
    /// By counting rows and pages on a copy.
    Advise,
    /// By profiling the captured traffic on a copy.
    Profile,
    /// By recording what clients send.
    Capture,
    /// By duels of the server as it is with another release.
    Upgrade(String),
    /// By another checkup, ten minutes long.
    Watch,
}

/// The options of commands that start copies of the server.
fn options(ground: &Ground) -> String {
    match ground.server.contains('/') {
        true => format!("--server {} --pack {PACK}", shell_quoted(&ground.server)),
        false => format!("--pack {PACK}"),
    }
}

/// The command that tries all levers.
pub(crate) fn tune(ground: &Ground) -> String {
    match ground.server.contains('/') {
        true => format!(
            "niagara tune {} --pack {PACK}",
            shell_quoted(&ground.server)
        ),
        false => format!("niagara tune {PACK}"),
    }
}

/// The command that makes the pack, on the server's machine.
pub(crate) fn pack(ground: &Ground) -> String {
    format!("niagara pack {} -o {PACK}", shell_quoted(&ground.address))
}

/// The command that records the traffic alone.
fn capture(ground: &Ground) -> String {
    let address = match ground.address.contains('/') {
        true => format!("--socket {}", shell_quoted(&ground.address)),
        false => match ground.address.rsplit_once(':') {
            Some((host, port)) => format!("--host {} --port {port}", shell_quoted(host)),
            None => format!("--host {}", shell_quoted(&ground.address)),
        },
    };
    format!("niagara capture start {address} --for 10m -o {CAPTURE}")
}

impl Proof {
    /// The command, as it is typed.
    pub(crate) fn command(&self, ground: &Ground) -> String {
        let options = options(ground);
        match self {
            Self::Compare(change) => {
                format!("niagara compare base {} {options}", shell_quoted(change))
            }
            Self::CompareEngines => format!(
                "niagara compare engine=MyISAM engine=InnoDB --server {} --workload oltp_read_write",
                shell_quoted(&ground.server)
            ),
            Self::Advise => format!("niagara advise {options}"),
            Self::Profile => format!("niagara profile base {options}"),
            Self::Capture => capture(ground),
            Self::Upgrade(newest) => format!(
                "niagara compare {} {newest} --pack {PACK}",
                shell_quoted(&ground.server)
            ),
            Self::Watch => format!(
                "niagara checkup {} --for 10m",
                shell_quoted(&ground.address)
            ),
        }
    }
}

/// How a finding is proven.
pub(crate) fn proof(finding: &Finding) -> Proof {
    let compare = |change: &str| Proof::Compare(change.to_owned());
    match finding {
        Finding::DurabilityOff { variable, .. } => {
            compare(&format!("cfg.{variable}={}", safe_value(variable)))
        }
        Finding::ReleaseEnded { series } | Finding::ReleaseEndedUpstream { series, .. } => {
            Proof::Upgrade(series.newest.clone())
        }
        Finding::ReplicaStopped { .. }
        | Finding::ReplicaLags { .. }
        | Finding::ReplicaWritable { .. } => Proof::Watch,
        Finding::MemoryBeyondRam { .. }
        | Finding::Swapped { .. }
        | Finding::PoolTooSmall { .. } => compare("buffer-pool=data"),
        Finding::EngineNotCrashSafe { .. } => Proof::CompareEngines,
        Finding::ConnectionsRefused {
            max_connections, ..
        }
        | Finding::ConnectionsNearLimit {
            max_connections, ..
        } => compare(&format!("cfg.max_connections={}", max_connections * 2)),
        Finding::LoginsFailed { .. }
        | Finding::ClientsLost { .. }
        | Finding::StatementsNotRecorded { .. } => Proof::Capture,
        Finding::RedoTooSmall { .. } => compare("redo-log-large"),
        Finding::LogBufferWaits { .. } => compare("log-buffer-large"),
        Finding::QueryCacheOn { .. } => compare("cfg.query_cache_type=OFF,cfg.query_cache_size=0"),
        Finding::TemporaryTablesOnDisk { .. } => compare("temporary-tables-large"),
        Finding::TablesWithoutKey { .. }
        | Finding::DuplicateIndexes { .. }
        | Finding::UnusedIndexes { .. }
        | Finding::StatementsReadMuch { .. }
        | Finding::StatisticsStale { .. } => Proof::Advise,
        Finding::RowLockWaits { .. } => Proof::Profile,
        Finding::ThreadsNotCached { .. } => compare("cfg.thread_cache_size=256"),
        Finding::TableCacheTooSmall { .. } => compare("table-cache-large"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_name_the_server_and_its_address() {
        let mut ground = Ground {
            server: "mariadb-10.11".to_owned(),
            address: "/run/my sqld.sock".to_owned(),
        };
        let command = Proof::Compare("redo-log-large".to_owned()).command(&ground);
        assert_eq!(
            command,
            "niagara compare base redo-log-large --pack shop.niagara"
        );
        assert_eq!(
            pack(&ground),
            "niagara pack '/run/my sqld.sock' -o shop.niagara"
        );
        ground.server = "/usr/sbin/mariadbd".to_owned();
        assert_eq!(
            tune(&ground),
            "niagara tune /usr/sbin/mariadbd --pack shop.niagara"
        );
        ground.address = "db1:3307".to_owned();
        assert_eq!(
            capture(&ground),
            "niagara capture start --host db1 --port 3307 --for 10m -o shop.capture"
        );
    }
}
