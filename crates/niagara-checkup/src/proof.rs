//! How each finding is proven with Niagara: a command that measures or counts it, on copies and never on this server.

use niagara_server::shell_quoted;
use schemars::JsonSchema;
use serde::Serialize;

use crate::facts::TableName;
use crate::finding::Finding;
use crate::remedy::{NewSetting, Remedy, in_innodb, safe_value};

/// Traffic, data and settings in one file.
const PACK: &str = "shop.niagara";
/// Tables of a list whose statements a command has.
const SHOWN: usize = 3;
/// The traffic alone.
const CAPTURE: &str = "shop.capture";

/// What commands are about.
#[derive(Debug, Clone, Serialize)]
pub struct Ground {
    /// The server of the catalogue, or the path of its program.
    pub server: String,
    /// The socket or HOST:PORT.
    pub address: String,
    /// The options by which the checkup has logged in, each a word.
    pub login: Vec<String>,
    /// The database that most statements are of; none where nobody counts them.
    pub schema: Option<String>,
    /// Commands on the server's machine need root.
    pub needs_root: bool,
}

/// What a command shows of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Shows {
    /// That the finding holds, or what its remedy gains.
    Proof,
    /// What the remedy costs: the danger itself needs no proof.
    Price,
}

/// How a finding is proven.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Proof {
    /// By duels of the server as it is with this change.
    Compare(String),
    /// By duels of the data as they are with these tables in InnoDB.
    InInnodb(Vec<TableName>),
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
    let schema = ground.schema.as_ref().map_or(String::new(), |schema| {
        format!(" --schema {}", shell_quoted(schema))
    });
    format!(
        "{}niagara pack {}{}{schema} -o {PACK}",
        sudo(ground),
        shell_quoted(&ground.address),
        login(ground)
    )
}

/// The options of a command that goes to the server.
fn login(ground: &Ground) -> String {
    let words = ground.login.iter();
    words
        .map(|word| format!(" {}", shell_quoted(word)))
        .collect()
}

fn sudo(ground: &Ground) -> &'static str {
    match ground.needs_root {
        true => "sudo ",
        false => "",
    }
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
    format!(
        "{}niagara capture start {address}{} --for 10m -o {CAPTURE}",
        sudo(ground),
        login(ground)
    )
}

impl Proof {
    /// The command, as it is typed.
    pub(crate) fn command(&self, ground: &Ground) -> String {
        let options = options(ground);
        match self {
            Self::Compare(change) => {
                format!("niagara compare base {} {options}", shell_quoted(change))
            }
            Self::InInnodb(tables) => {
                let change = format!("sql=\"{}\"", to_innodb(tables, ground));
                format!("niagara compare base {} {options}", shell_quoted(&change))
            }
            Self::Advise => match ground.server.contains('/') {
                true => format!(
                    "niagara advise {PACK} --server {}",
                    shell_quoted(&ground.server)
                ),
                false => format!("niagara advise {PACK}"),
            },
            Self::Profile => format!("niagara profile base {options}"),
            Self::Capture => capture(ground),
            Self::Upgrade(newest) => format!(
                "niagara compare {} {newest} --pack {PACK}",
                shell_quoted(&ground.server)
            ),
            Self::Watch => format!(
                "niagara checkup {}{} --for 10m",
                shell_quoted(&ground.address),
                login(ground)
            ),
        }
    }
}

/// The statements for the first tables, of those that the pack has.
fn to_innodb(tables: &[TableName], ground: &Ground) -> String {
    let packed = |table: &&TableName| ground.schema.as_ref() == Some(&table.schema);
    let mut wanted: Vec<&TableName> = tables.iter().filter(packed).collect();
    if wanted.is_empty() {
        wanted = tables.iter().collect();
    }
    let statements = wanted.into_iter().take(SHOWN).map(in_innodb);
    statements.collect::<Vec<_>>().join(" ")
}

/// The settings as a variant of the server: `cfg.NAME=VALUE,…`.
fn as_variant(settings: &[NewSetting]) -> String {
    let parts: Vec<String> = settings
        .iter()
        .map(|one| format!("cfg.{}={}", one.variable, one.value))
        .collect();
    parts.join(",")
}

/// What the command of a finding shows: of what is counted or known, the price of its remedy.
pub(crate) fn shows(finding: &Finding, remedy: Option<&Remedy>) -> Shows {
    match finding {
        Finding::MemoryBeyondRam { .. } | Finding::Swapped { .. } if remedy.is_some() => {
            Shows::Price
        }
        Finding::DurabilityOff { .. }
        | Finding::EngineNotCrashSafe { .. }
        | Finding::ReleaseEnded { .. }
        | Finding::ReleaseEndedUpstream { .. }
        | Finding::ConnectionsRefused { .. }
        | Finding::ConnectionsNearLimit { .. } => Shows::Price,
        _ => Shows::Proof,
    }
}

/// How a finding with this remedy is proven.
pub(crate) fn proof(finding: &Finding, remedy: Option<&Remedy>) -> Proof {
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
        // Levers size the pool by data and memory of where they run: they may enlarge what is too large here.
        Finding::MemoryBeyondRam { .. } | Finding::Swapped { .. } => match remedy {
            Some(Remedy::Settings { settings, .. }) => compare(&as_variant(settings)),
            _ => Proof::Watch,
        },
        Finding::PoolTooSmall { .. } => compare("buffer-pool=data"),
        Finding::EngineNotCrashSafe { tables } => Proof::InInnodb(tables.clone()),
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
            login: Vec::new(),
            schema: None,
            needs_root: false,
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
        ground.schema = Some("my shop".to_owned());
        ground.needs_root = true;
        assert_eq!(
            pack(&ground),
            "sudo niagara pack '/run/my sqld.sock' --schema 'my shop' -o shop.niagara"
        );
        ground.needs_root = false;
        ground.server = "/usr/sbin/mariadbd".to_owned();
        assert_eq!(
            tune(&ground),
            "niagara tune /usr/sbin/mariadbd --pack shop.niagara"
        );
        assert_eq!(
            Proof::Advise.command(&ground),
            "niagara advise shop.niagara --server /usr/sbin/mariadbd"
        );
        ground.address = "db1:3307".to_owned();
        assert_eq!(
            capture(&ground),
            "niagara capture start --host db1 --port 3307 --for 10m -o shop.capture"
        );
        ground.login = ["--user", "my app"].map(str::to_owned).into();
        assert_eq!(
            pack(&ground),
            "niagara pack db1:3307 --user 'my app' --schema 'my shop' -o shop.niagara"
        );
        assert_eq!(
            capture(&ground),
            "niagara capture start --host db1 --port 3307 --user 'my app' --for 10m -o shop.capture"
        );
        assert_eq!(
            Proof::Watch.command(&ground),
            "niagara checkup db1:3307 --user 'my app' --for 10m"
        );
    }

    #[test]
    fn a_danger_has_a_price_on_the_users_own_tables() {
        let table = |schema: &str, table: &str| TableName {
            schema: schema.to_owned(),
            table: table.to_owned(),
        };
        let unsafe_tables = Finding::EngineNotCrashSafe {
            tables: vec![table("blog", "a"), table("shop", "b"), table("shop", "c")],
        };
        assert_eq!(shows(&unsafe_tables, None), Shows::Price);
        let ground = Ground {
            server: "mariadb-10.11".to_owned(),
            address: "/a.sock".to_owned(),
            login: Vec::new(),
            schema: Some("shop".to_owned()),
            needs_root: true,
        };
        assert_eq!(
            proof(&unsafe_tables, None).command(&ground),
            "niagara compare base 'sql=\"ALTER TABLE `shop`.`b` ENGINE=InnoDB; ALTER TABLE `shop`.`c` ENGINE=InnoDB;\"' \
             --pack shop.niagara"
        );
    }

    #[test]
    fn a_smaller_pool_has_its_own_price() {
        let ground = Ground {
            server: "mariadb-10.11".to_owned(),
            address: "/a.sock".to_owned(),
            login: Vec::new(),
            schema: None,
            needs_root: true,
        };
        let smaller = Remedy::Settings {
            settings: vec![NewSetting {
                variable: "innodb_buffer_pool_size".to_owned(),
                value: "4096M".to_owned(),
                statement: None,
            }],
            option_file: None,
        };
        let beyond = Finding::MemoryBeyondRam {
            buffer_bytes: 9 << 30,
            memory_bytes: 8 << 30,
        };
        let swapped = Finding::Swapped {
            swapped_bytes: 1 << 30,
            resident_bytes: 1 << 30,
            pages_read: 9,
        };
        for finding in [beyond, swapped] {
            assert_eq!(shows(&finding, Some(&smaller)), Shows::Price);
            assert_eq!(
                proof(&finding, Some(&smaller)).command(&ground),
                "niagara compare base cfg.innodb_buffer_pool_size=4096M --pack shop.niagara"
            );
            // Another buffer takes the memory, or another process.
            assert_eq!(shows(&finding, None), Shows::Proof);
            assert_eq!(
                proof(&finding, None).command(&ground),
                "niagara checkup /a.sock --for 10m"
            );
        }
    }
}
