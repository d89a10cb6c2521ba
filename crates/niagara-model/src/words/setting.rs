//! The English of why settings are left out.

use std::fmt::{Display, Formatter, Result};

use crate::{LostSetting, SettingReason, Successor};

impl Display for LostSetting {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "{} ({}): {}", self.setting, self.place, self.reason)
    }
}

impl Display for SettingReason {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let words = match self {
            Self::OwnPath => "a path of the original; the copy has its own",
            Self::ForeignPath => "a path of the original; it may not be here",
            Self::Secret => "a secret of the original; it stays with you",
            Self::OwnAddress => "the copy listens on a socket and a loopback port of its own",
            Self::Unencrypted => {
                "the keys stay with you: load on the copy is in clear, or under its own key with transport=tls"
            }
            Self::Replication => {
                "the copy takes no part in replication; what the binary log costs stays, what replicas cost does not"
            }
            Self::AuditLog => {
                "the copy's audit log stays with its data: this machine's log is not for the statements of a measurement"
            }
            Self::Events => "events of the original sleep in the copy",
            Self::Encryption => "the keys stay with you: nothing is encrypted in the copy",
            Self::Process => "how the process runs is up to Niagara; the copy reports to nobody",
            Self::TablesElsewhere => {
                "its tables are on other servers or in files outside of the data: a copy must not reach them"
            }
            Self::Memory => {
                "it would take this machine's memory for one of the two servers that run here at once"
            }
            Self::HugePages => {
                "huge pages that are reserved for your server are not there for two here; `large-pages` is a lever"
            }
            Self::Distress => "a server in distress is not measured",
            Self::NoValue => "it has no value: no server starts with this line",
            Self::EmptyValue => "its value is empty: the start has the server's own",
            Self::NamedTimeZone => {
                "named zones are in the original's data (--data, as files): times are this machine's here"
            }
            Self::PluginMissing { library } => {
                return write!(
                    f,
                    "the plugin {library} is not here: what it costs is not measured"
                );
            }
            Self::PassedOver { server } => {
                return write!(f, "{server} does not know it, and passes over it");
            }
            Self::NoSuchOption {
                release,
                successor: Some(successor),
            } => return write!(f, "{release} has no such option: {successor}"),
            Self::NoSuchOption {
                release,
                successor: None,
            } => return write!(f, "{release} has no such option"),
            Self::NoOptionForVariable { release } => {
                return write!(
                    f,
                    "no option of {release} sets this variable (SET GLOBAL does): the start has the server's own value"
                );
            }
            Self::Refused {
                release,
                said,
                is_part,
            } => {
                write!(f, "{release} does not take it")?;
                if let Some(said) = said {
                    write!(f, " ({said})")?;
                }
                match is_part {
                    true => "; the rest of the line is kept",
                    false => "; where your server does, name its release, or its binary's path",
                }
            }
        };
        f.write_str(words)
    }
}

impl Display for Successor {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "its successor is {}", self.name)?;
        match &self.how {
            Some(how) => write!(f, " ({how})"),
            None => Ok(()),
        }
    }
}
