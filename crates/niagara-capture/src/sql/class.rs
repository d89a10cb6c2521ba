//! What kind of statement a digest's text is.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The kind of a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum Class {
    /// Reads tables without locking rows for a change.
    Read = 0,
    /// Changes rows, or locks them to do so.
    Write = 1,
    /// Begins a transaction.
    Begin = 2,
    /// Commits.
    Commit = 3,
    /// Rolls back, as a whole.
    Rollback = 4,
    /// Changes tables, or other objects of the schema.
    Ddl = 5,
    /// Sets variables.
    Set = 6,
    /// Chooses a database.
    Use = 7,
    /// Calls a procedure.
    Call = 8,
    /// Shows, describes, explains.
    Show = 9,
    /// Locks or unlocks tables.
    Lock = 10,
    /// Prepares a statement by SQL, executes it or forgets it.
    Prepared = 11,
    /// Acts on the server: FLUSH, KILL, SHUTDOWN, SET GLOBAL, replication.
    Server = 12,
    /// Savepoints and everything else.
    Other = 13,
    /// Nothing but a comment.
    Empty = 14,
}

impl Class {
    /// All classes; the place of each is its number in a capture.
    pub const ALL: [Class; 15] = [
        Class::Read,
        Class::Write,
        Class::Begin,
        Class::Commit,
        Class::Rollback,
        Class::Ddl,
        Class::Set,
        Class::Use,
        Class::Call,
        Class::Show,
        Class::Lock,
        Class::Prepared,
        Class::Server,
        Class::Other,
        Class::Empty,
    ];

    /// The class with this number.
    pub(crate) fn from_number(number: u8) -> Option<Class> {
        Class::ALL.get(usize::from(number)).copied()
    }

    /// Whether a capture without writes keeps it.
    pub(crate) fn is_read_only(self) -> bool {
        !matches!(
            self,
            Class::Write | Class::Ddl | Class::Call | Class::Lock | Class::Server
        )
    }
}

/// What is known of a digest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Traits {
    /// The kind of statement.
    pub class: Class,
    /// Its answer or effect differs from run to run: NOW, UUID, RAND and the like.
    pub volatile: bool,
}

/// Functions whose value is another one at another time, or in another session.
const VOLATILE: [&[u8]; 17] = [
    b"now",
    b"sysdate",
    b"curdate",
    b"curtime",
    b"current_timestamp",
    b"current_date",
    b"current_time",
    b"localtime",
    b"localtimestamp",
    b"utc_timestamp",
    b"utc_date",
    b"utc_time",
    b"unix_timestamp",
    b"uuid",
    b"uuid_short",
    b"rand",
    b"connection_id",
];

/// The words of a digest's text: names and keywords, without what stands between them.
pub(crate) fn words(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|&b| !super::byte::is_word(b))
        .filter(|word| !word.is_empty())
}

/// What kind of statement a digest's text is.
pub fn classify(text: &[u8]) -> Traits {
    Traits {
        class: of_all(text),
        volatile: words(text).any(|word| VOLATILE.contains(&word)),
    }
}

/// Several statements sent as one are what the strongest of them is.
fn of_all(text: &[u8]) -> Class {
    let mut parts = text.split(|&b| b == b';');
    let first = class(parts.next().unwrap_or_default());
    let changes = |part: &[u8]| !class(part.trim_ascii_start()).is_read_only();
    if first.is_read_only() && parts.any(changes) {
        Class::Write
    } else {
        first
    }
}

fn class(text: &[u8]) -> Class {
    let mut words = words(text);
    let first = words.next().unwrap_or_default();
    let second = words.next().unwrap_or_default();
    match first {
        b"select" | b"table" | b"values" => select(text),
        b"with" => with(text),
        b"insert" | b"update" | b"delete" | b"replace" | b"load" | b"handler" | b"import" => {
            Class::Write
        }
        b"begin" if second.is_empty() || second == b"work" => Class::Begin,
        // A block of statements.
        b"begin" if second == b"not" => Class::Write,
        b"start" if second == b"transaction" => Class::Begin,
        b"xa" => match second {
            b"start" | b"begin" => Class::Begin,
            b"commit" => Class::Commit,
            b"rollback" => Class::Rollback,
            _ => Class::Other,
        },
        b"commit" => Class::Commit,
        b"rollback" if memchr::memmem::find(text, b" to ").is_none() => Class::Rollback,
        b"set"
            if matches!(second, b"global" | b"persist" | b"persist_only")
                || text.starts_with(b"set @@global")
                || text.starts_with(b"set @@persist") =>
        {
            Class::Server
        }
        // A statement with settings of its own.
        b"set" if second == b"statement" => match memchr::memmem::find(text, b" for ") {
            Some(at) => class(&text[at + b" for ".len()..]),
            None => Class::Set,
        },
        b"set" => Class::Set,
        b"use" => Class::Use,
        b"call" | b"do" => Class::Call,
        b"show" | b"desc" | b"describe" | b"explain" | b"help" => Class::Show,
        b"lock" | b"unlock" => Class::Lock,
        b"prepare" | b"execute" | b"deallocate" => Class::Prepared,
        b"drop" if second == b"prepare" => Class::Prepared,
        b"analyze"
            if !matches!(
                second,
                b"" | b"table" | b"tables" | b"local" | b"no_write_to_binlog"
            ) =>
        {
            analyzed(text)
        }
        b"create" | b"alter" | b"drop" | b"rename" | b"truncate" | b"optimize" | b"analyze"
        | b"repair" | b"check" | b"checksum" => Class::Ddl,
        b"flush" | b"kill" | b"shutdown" | b"reset" | b"purge" | b"stop" | b"start" | b"change"
        | b"install" | b"uninstall" | b"restart" | b"clone" | b"binlog" | b"cache" | b"backup" => {
            Class::Server
        }
        b"" if text.is_empty() => Class::Empty,
        _ => Class::Other,
    }
}

/// MariaDB's `ANALYZE FORMAT = JSON SELECT …` executes the statement.
fn analyzed(text: &[u8]) -> Class {
    let rest = &text[b"analyze".len()..];
    let statement = match rest.strip_prefix(b" format = ") {
        Some(rest) => rest.iter().position(|&b| b == b' ').map(|end| &rest[end..]),
        None => Some(rest),
    };
    statement.map_or(Class::Other, class)
}

fn select(text: &[u8]) -> Class {
    let has = |part: &[u8]| memchr::memmem::find(text, part).is_some();
    if has(b" for update") || has(b" for share") || has(b" lock in share mode") {
        Class::Write
    } else if has(b" into outfile ") || has(b" into dumpfile ") {
        Class::Server
    } else {
        Class::Read
    }
}

/// The statement that follows the common table expressions.
fn with(text: &[u8]) -> Class {
    let mut depth = 0_u32;
    for (at, &byte) in text.iter().enumerate() {
        match byte {
            b'(' => depth += 1,
            b')' => depth = depth.saturating_sub(1),
            b' ' if depth == 0 => {
                let rest = &text[at + 1..];
                let verb = words(rest).next().unwrap_or_default();
                if matches!(
                    verb,
                    b"select" | b"update" | b"delete" | b"insert" | b"replace"
                ) && rest.starts_with(verb)
                {
                    return class(rest);
                }
            }
            _ => {}
        }
    }
    Class::Read
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_have_their_class() {
        for (text, expected) in [
            ("select ?", Class::Read),
            ("select * from t for update", Class::Write),
            ("(select ?) union (select ?)", Class::Read),
            ("with a as(select ?) select * from a", Class::Read),
            (
                "with a as(select ?) update t join a set x = ?",
                Class::Write,
            ),
            ("insert into t values(...)", Class::Write),
            ("begin", Class::Begin),
            ("begin work", Class::Begin),
            ("start transaction read only", Class::Begin),
            ("rollback", Class::Rollback),
            ("rollback to sp", Class::Other),
            ("set @x = ?", Class::Set),
            ("set global x = ?", Class::Server),
            (
                "set statement max_statement_time = ? for select ?",
                Class::Read,
            ),
            (
                "set statement max_statement_time = ? for update t set a = ?",
                Class::Write,
            ),
            ("begin not atomic select ?", Class::Write),
            ("use other", Class::Use),
            ("set persist x = ?", Class::Server),
            ("set persist_only x = ?", Class::Server),
            ("set @@persist_only.x = ?", Class::Server),
            ("analyze table t", Class::Ddl),
            ("analyze local table t", Class::Ddl),
            ("analyze no_write_to_binlog table t", Class::Ddl),
            ("analyze select a from t", Class::Read),
            ("analyze(select ?)", Class::Read),
            ("analyze format = json select a from t", Class::Read),
            ("analyze format = ? select a from t", Class::Read),
            ("analyze format = json update t set a = ?", Class::Write),
            ("analyze select a from t for update", Class::Write),
            ("analyze with a as(select ?) select * from a", Class::Read),
            ("analyze delete from t", Class::Write),
            ("analyze", Class::Ddl),
            ("analyze format = json", Class::Other),
            ("prepare p from ?", Class::Prepared),
            ("", Class::Empty),
            ("selec bad syntax", Class::Other),
            ("select ?; select ?", Class::Read),
            ("select ?; insert into t values(...)", Class::Write),
        ] {
            assert_eq!(classify(text.as_bytes()).class, expected, "{text}");
        }
        assert!(classify(b"select now()").volatile);
        assert!(!classify(b"select nowhere from t").volatile);
        for (number, class) in Class::ALL.into_iter().enumerate() {
            assert_eq!(class as usize, number);
            assert_eq!(Class::from_number(number as u8), Some(class));
        }
    }
}
