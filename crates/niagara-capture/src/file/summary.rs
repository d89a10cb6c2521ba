//! What a capture says about itself: the last block, as JSON.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::counts::ServerCounts;
use crate::client::ClientsOfUser;
use crate::dropped::{Cause, Dropped, Drops, Place};
use crate::log::{Dialect, LogKind, Meaning};
use crate::way::Ways;

/// The order of the events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// By their ends, as in a slow log.
    #[default]
    Completion,
    /// By their starts, as in a general log.
    Arrival,
}

/// A file that the capture was made from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Source {
    /// Its path as it was given.
    pub file: String,
    /// What kind of log it is.
    pub kind: LogKind,
    /// Who wrote it.
    pub dialect: Dialect,
    /// The server's version, where the log says it.
    pub version: Option<String>,
    /// What its seconds mean.
    pub seconds_mean: Meaning,
    /// It says times; else all is taken for the second in which the file was changed last.
    pub has_times: bool,
    /// Entries that were read.
    pub entries: u64,
    /// Their length, decompressed, in bytes.
    pub bytes: u64,
}

/// A block of events: where a reader may begin once it has the dictionary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BlockEntry {
    /// Where it is in the file, in bytes.
    pub at: u64,
    /// How many events it has.
    pub events: u32,
    /// The earliest start in it, in microseconds since 1970.
    pub first_us: i64,
    /// The latest end in it, in microseconds since 1970.
    pub last_us: i64,
}

/// What a capture says about itself.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Summary {
    /// The program that wrote it.
    pub made_by: String,
    /// What it was made from.
    pub sources: Vec<Source>,
    /// The order of the events.
    pub order: Order,
    /// How many events.
    pub events: u64,
    /// How many of them are executions of statements.
    pub statements: u64,
    /// How many sessions.
    pub sessions: u64,
    /// The earliest start, in microseconds since 1970; none without an event.
    pub first_us: Option<i64>,
    /// The latest end.
    pub last_us: Option<i64>,
    /// Durations are known.
    pub has_durations: bool,
    /// Connects are known, so that a session's length is.
    pub has_connects: bool,
    /// The source says who executed prepared statements.
    pub has_prepared: bool,
    /// All starts are known to the microsecond.
    pub exact_times: bool,
    /// Entries without a session's number, taken for one session.
    pub without_session: u64,
    /// The source has one in this many statements; 1 for all.
    pub sampled: u64,
    /// The source has one in this many sessions, each of them whole; 1 for all.
    pub sampled_sessions: u64,
    /// What clients have negotiated at their logins, by user, as far as their logins themselves are not in the source.
    pub clients: Vec<ClientsOfUser>,
    /// Users whose statements are in character sets that cannot be told from them.
    pub unknown_charsets: Vec<String>,
    /// Statements that triggers and stored functions may have executed, which a general log does not say; 0 where these were known.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub suspects: u64,
    /// How clients came, as far as the sources say it.
    #[serde(default)]
    pub ways: Ways,
    /// What of the sources is not in it.
    pub dropped: Dropped,
    /// What the server counted meanwhile; none where nobody asked it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counted: Option<ServerCounts>,
    /// Where the events are.
    pub blocks: Vec<BlockEntry>,
}

/// What of a source was read and not understood.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Loss {
    /// Entries, or pieces of unknown content.
    pub pieces: u64,
    /// Their share of all entries, or of all bytes, whichever is greater: 0 to 1.
    pub share: f64,
    /// Where the first one is.
    pub first: Option<Place>,
}

/// The end of a log that was cut may cost an entry. This many bytes are more than one, and count as lost.
const MAX_CUT: u64 = 1 << 20;

fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl Summary {
    /// What of the sources was read and not understood. What a log's own beginning and end have cut off is nothing that was read.
    pub fn loss(&self) -> Loss {
        let is_loss = |cause: Cause, drops: &Drops| match cause {
            Cause::CutHead | Cause::CutTail => drops.bytes > MAX_CUT,
            cause => cause.is_loss(),
        };
        let mut loss = Loss::default();
        let mut bytes = 0;
        for (_, drops) in self
            .dropped
            .by_cause()
            .filter(|(cause, drops)| is_loss(*cause, drops))
        {
            loss.pieces += drops.count;
            bytes += drops.bytes;
            loss.first = loss.first.or_else(|| drops.first.clone());
        }
        let entries: u64 = self.sources.iter().map(|source| source.entries).sum();
        let read: u64 = self.sources.iter().map(|source| source.bytes).sum();
        let share = |lost: u64, kept: u64| lost as f64 / (lost + kept).max(1) as f64;
        loss.share = share(loss.pieces, entries).max(share(bytes, read));
        loss
    }

    /// What to look at where not a single statement was found; `None` where there are some.
    pub fn remedy_for_nothing(&self) -> Option<&'static str> {
        if self.statements > 0 {
            return None;
        }
        let dropped = |cause| self.dropped.count(cause) > 0;
        let is_traffic = (self.sources.iter()).any(|source| source.kind == LogKind::Traffic);
        Some(if !is_traffic && dropped(Cause::BrokenHeader) {
            "give logs whose headers are whole: those of MySQL before 5.1 have no line SET timestamp=…, and cannot be read"
        } else if !is_traffic {
            "give logs with entries; `niagara capture advise` says what to set on the server for them"
        } else if dropped(Cause::Encrypted) || dropped(Cause::Compressed) {
            "what is encrypted or compressed cannot be read: import a slow log (`niagara capture start` makes one), or record clients \
             that connect in clear (--skip-ssl, --ssl-mode=DISABLED)"
        } else if dropped(Cause::UnknownLink) {
            "record with tcpdump or dumpcap on Ethernet, on the loopback, or with -i any: of another kind of link nothing can be read"
        } else if dropped(Cause::LostPackets) || dropped(Cause::Gap) {
            "record packets whole and without loss: tcpdump -s 0 -B 65536, until it says `0 packets dropped by kernel`"
        } else {
            "look at the recording (`tcpdump -r FILE | head`). Is it the interface that clients come by (-i any, -i lo on the \
             server's own host; a Unix socket is on none)? The server's port (port 3306; a server of another port is known when \
             its greeting to a new connection was recorded)? Both directions (no `src` or `dst` in the filter)? Whole packets (-s 0)?"
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_statement_says_what_to_look_at() {
        let source = |kind| Source {
            file: "shop".to_owned(),
            kind,
            dialect: Dialect::Mariadb,
            version: None,
            seconds_mean: Meaning::default(),
            has_times: true,
            entries: 0,
            bytes: 0,
        };
        let told = |kind, causes: &[Cause]| {
            let mut summary = Summary {
                sources: vec![source(kind)],
                ..Summary::default()
            };
            for &cause in causes {
                summary.dropped.add_without_place(cause, 1);
            }
            summary
                .remedy_for_nothing()
                .expect("no statement")
                .to_owned()
        };
        assert!(told(LogKind::Slow, &[]).contains("capture advise"));
        assert!(told(LogKind::Slow, &[Cause::BrokenHeader]).contains("SET timestamp"));
        let packets = told(LogKind::Traffic, &[]);
        for word in ["-i any", "port 3306", "directions", "-s 0"] {
            assert!(packets.contains(word), "{packets}");
        }
        assert!(told(LogKind::Traffic, &[Cause::Encrypted]).contains("--skip-ssl"));
        assert!(told(LogKind::Traffic, &[Cause::LostPackets]).contains("-B 65536"));
        assert!(told(LogKind::Traffic, &[Cause::Gap]).contains("-B 65536"));
        assert!(told(LogKind::Traffic, &[Cause::UnknownLink]).contains("Ethernet"));
        let some = Summary {
            statements: 1,
            ..Summary::default()
        };
        assert_eq!(some.remedy_for_nothing(), None);
    }
}
