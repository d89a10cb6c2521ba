//! What a statement of a dump is about, told from its first words: which database it is meant in, and whether it belongs in
//! a private copy.

use niagara_load::sql_text;

use super::code::Code;

/// Databases that every server has of its own.
const SYSTEM: [&str; 5] = [
    "information_schema",
    "mysql",
    "sys",
    "performance_schema",
    "ndbinfo",
];

/// Words that are examined.
const WORDS: usize = 4;

/// What a statement is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum About {
    /// The data.
    Data,
    /// The session that loads them.
    Session,
    /// The database that what follows is meant in.
    Use(String),
    /// A database as a whole, which is made, changed or dropped; whether it is the server's own.
    Database(bool),
    /// Accounts and their rights.
    Accounts,
    /// Replication and its positions.
    Replication,
    /// The server as a whole: plugins, global variables, functions of shared libraries.
    Server,
    /// Other servers and how they are reached.
    OtherServers,
}

impl About {
    /// Told from the statement's first words.
    pub(crate) fn of(statement: &[u8]) -> Self {
        let code = without_comments(statement);
        let words = words(code);
        let word = |at: usize| words.get(at).map_or("", String::as_str);
        match (word(0), word(1)) {
            ("USE", _) => Self::Use(name_after_use(code)),
            ("CREATE" | "ALTER" | "DROP", "DATABASE" | "SCHEMA") => Self::Database(names_own(code)),
            ("CREATE", "OR") if matches!(word(3), "DATABASE" | "SCHEMA") => {
                Self::Database(names_own(code))
            }
            ("GRANT" | "REVOKE", _) => Self::Accounts,
            ("CREATE", "OR") if matches!(word(3), "USER" | "ROLE") => Self::Accounts,
            ("CREATE" | "ALTER" | "DROP" | "RENAME", "USER" | "ROLE") => Self::Accounts,
            ("SET", "PASSWORD" | "ROLE") => Self::Accounts,
            ("SET", "DEFAULT") if word(2) == "ROLE" => Self::Accounts,
            ("FLUSH", "PRIVILEGES") => Self::Accounts,
            ("CHANGE", "MASTER" | "REPLICATION") => Self::Replication,
            (
                "START" | "STOP" | "RESET",
                "SLAVE" | "REPLICA" | "ALL" | "MASTER" | "GROUP_REPLICATION",
            ) => Self::Replication,
            ("SET", "GLOBAL") if word(2).contains("GTID") => Self::Replication,
            ("SET", second) if second.starts_with("@@GLOBAL.") && second.contains("GTID") => {
                Self::Replication
            }
            ("SET", _) if sets_global(code) => Self::Server,
            ("RESET", "PERSIST") => Self::Server,
            ("INSTALL" | "UNINSTALL" | "SHUTDOWN" | "KILL", _) => Self::Server,
            ("CREATE" | "ALTER" | "DROP", "SERVER") => Self::OtherServers,
            ("CREATE", "OR") if word(3) == "SERVER" => Self::OtherServers,
            ("CREATE", "FUNCTION" | "AGGREGATE" | "OR") if is_of_library(code) => Self::Server,
            ("SET", _) => Self::Session,
            _ => Self::Data,
        }
    }

    /// For people, of those that are left out.
    pub(crate) fn words(&self) -> &'static str {
        match self {
            Self::Accounts => "about accounts",
            Self::Replication => "about replication",
            Self::Server => "about the server as a whole",
            Self::OtherServers => "about other servers",
            Self::Data | Self::Session | Self::Use(_) | Self::Database(_) => {
                "in the server's own databases"
            }
        }
    }
}

/// The first word of a statement, in upper case; nothing where there is none.
pub(crate) fn first_word(statement: &[u8]) -> String {
    let code = without_comments(statement);
    words(code).into_iter().next().unwrap_or_default()
}

/// The statement from its first word on: comments that servers execute begin behind their version.
pub(crate) fn without_comments(mut text: &[u8]) -> &[u8] {
    loop {
        text = text.trim_ascii_start();
        if text.starts_with(b"-- ") || text.starts_with(b"--\n") || text.starts_with(b"#") {
            let end = memchr::memchr(b'\n', text).unwrap_or(text.len() - 1);
            text = &text[end + 1..];
            continue;
        }
        let executed = text.strip_prefix(b"/*!").or(text.strip_prefix(b"/*M!"));
        if let Some(rest) = executed {
            let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
            // What no server is new enough for.
            if rest.starts_with(b"999999") {
                text = behind_comment(rest);
                continue;
            }
            text = &rest[digits..];
            continue;
        }
        match text.strip_prefix(b"/*") {
            Some(rest) => text = behind_comment(rest),
            None => return text,
        }
    }
}

fn behind_comment(text: &[u8]) -> &[u8] {
    let end = memchr::memmem::find(text, b"*/").map_or(text.len(), |at| at + 2);
    &text[end..]
}

fn words(code: &[u8]) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut rest = without_comments(code);
    while words.len() < WORDS {
        let length = rest.iter().take_while(|byte| !ends_word(**byte)).count();
        // A comment may follow at once, and what servers execute of one ends somewhere.
        let length = memchr::memmem::find(&rest[..length], b"/*").unwrap_or(length);
        let word = rest[..length]
            .strip_suffix(b"*/")
            .unwrap_or(&rest[..length]);
        if !word.is_empty() {
            words.push(String::from_utf8_lossy(word).to_ascii_uppercase());
        }
        rest = &rest[length..];
        let between = rest.iter().take_while(|byte| ends_word(**byte)).count();
        rest = without_comments(&rest[between..]);
        if rest.is_empty() {
            break;
        }
    }
    words
}

fn ends_word(byte: u8) -> bool {
    byte.is_ascii_whitespace() || matches!(byte, b'=' | b'(' | b';' | b'\0')
}

/// Whether a statement that begins with SET sets a variable of the whole server, be it behind others.
fn sets_global(code: &[u8]) -> bool {
    let scope = |words: &[String]| {
        let first = words.first().map_or("", String::as_str);
        ["GLOBAL", "PERSIST", "PERSIST_ONLY"].contains(&first)
            || ["@@GLOBAL.", "@@PERSIST.", "@@PERSIST_ONLY."]
                .iter()
                .any(|begin| first.starts_with(begin))
    };
    assignments(code)
        .into_iter()
        .any(|part| scope(&words(part)))
}

/// The parts of a statement that commas separate, outside of quotes, parentheses and comments; the first without its SET.
fn assignments(code: &[u8]) -> Vec<&[u8]> {
    let code = without_comments(code);
    let code = code.get(3..).unwrap_or_default();
    let (mut parts, mut begin, mut at, mut depth) = (Vec::new(), 0, 0, 0_usize);
    while let Some(&byte) = code.get(at) {
        let rest = &code[at..];
        at += match byte {
            b'\'' | b'"' | b'`' => quoted_length(rest),
            b'/' if rest.starts_with(b"/*")
                && !rest.starts_with(b"/*!")
                && !rest.starts_with(b"/*M!") =>
            {
                rest.len() - behind_comment(&rest[2..]).len()
            }
            _ => 1,
        };
        match byte {
            b'(' => depth += 1,
            b')' => depth = depth.saturating_sub(1),
            b',' if depth == 0 => {
                parts.push(&code[begin..at - 1]);
                begin = at;
            }
            _ => {}
        }
    }
    parts.push(&code[begin.min(code.len())..]);
    parts
}

/// Bytes of a quoted text with its quotes.
pub(super) fn quoted_length(text: &[u8]) -> usize {
    let quote = text[0];
    let mut at = 1;
    while let Some(&byte) = text.get(at) {
        at += match byte {
            b'\\' if quote != b'`' => 2,
            byte if byte == quote => return at + 1,
            _ => 1,
        };
    }
    text.len()
}

/// Whether `CREATE [OR REPLACE] [AGGREGATE] FUNCTION` is of a shared library: its name is not followed by parentheses.
fn is_of_library(code: &[u8]) -> bool {
    let mut code = Code::of(code);
    code.takes("CREATE");
    if code.takes("OR") {
        code.takes("REPLACE");
    }
    code.takes("AGGREGATE");
    if !code.takes("FUNCTION") {
        return false;
    }
    if code.takes("IF") {
        code.takes("NOT");
        code.takes("EXISTS");
    }
    code.last_name().is_some() && code.takes("RETURNS")
}

/// Names as texts, for `IN (…)`.
pub(crate) fn quoted(names: &[&str]) -> String {
    let all: Vec<String> = names.iter().map(|name| sql_text(name)).collect();
    all.join(", ")
}

/// Whether a database of this name is the server's own. `information_schema` has its name in any case, others in theirs.
pub(crate) fn is_system(name: &str) -> bool {
    name.eq_ignore_ascii_case(SYSTEM[0]) || SYSTEM.contains(&name)
}

/// The condition that `column` names none of the server's own databases.
pub(crate) fn not_system(column: &str) -> String {
    format!("CAST({column} AS BINARY) NOT IN ({})", quoted(&SYSTEM))
}

/// Whether a statement about a database names one of the server's own.
fn names_own(statement: &[u8]) -> bool {
    let mut code = Code::of(statement);
    code.takes_any(&["CREATE", "ALTER", "DROP"]);
    if code.takes("OR") {
        code.takes("REPLACE");
    }
    code.takes_any(&["DATABASE", "SCHEMA"]);
    if code.takes("IF") {
        code.takes("NOT");
        code.takes("EXISTS");
    }
    code.name().is_some_and(|name| is_system(&name))
}

fn name_after_use(statement: &[u8]) -> String {
    let mut code = Code::of(statement);
    code.takes("USE");
    // A name without quotes may have signs that no bare word has.
    let bare = || {
        let text = String::from_utf8_lossy(code.rest()).into_owned();
        text.trim().trim_end_matches("*/").trim_end().to_owned()
    };
    let whole = bare();
    match whole.starts_with(['`', '"']) {
        true => code.name().unwrap_or(whole),
        false => whole,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_are_told_by_their_first_words() {
        let of = |text: &str| About::of(text.as_bytes());
        for (text, about) in [
            ("INSERT INTO t VALUES (1)", About::Data),
            ("/*!40000 ALTER TABLE `t` DISABLE KEYS */", About::Data),
            ("/*!40101 SET NAMES utf8 */", About::Session),
            ("-- x\n\nUSE `sh``op`", About::Use("sh`op".into())),
            (
                "/*M!999999\\- enable the sandbox mode */ \n-- y\n/*!40101 SET @a=1 */",
                About::Session,
            ),
            ("CREATE USER `a`@`%`", About::Accounts),
            (
                "CREATE /*M!100103 OR REPLACE */ TABLE t (a INT)",
                About::Data,
            ),
            ("GRANT ALL ON *.* TO a", About::Accounts),
            (
                "SET @@GLOBAL.GTID_PURGED=/*!80000 '+'*/ 'x:1-5'",
                About::Replication,
            ),
            ("CHANGE MASTER TO MASTER_LOG_FILE='b'", About::Replication),
            ("SET GLOBAL gtid_slave_pos='0-1-2'", About::Replication),
            ("SET GLOBAL max_connections=5", About::Server),
            ("SET PERSIST_ONLY max_connections=5", About::Server),
            ("SET @@persist.max_connections=5", About::Server),
            ("SET @@session.sort_buffer_size=5", About::Session),
            ("SET @a=1, GLOBAL general_log_file='/x'", About::Server),
            ("SET/**/GLOBAL general_log=1", About::Server),
            ("/*!50003 SET*/ GLOBAL general_log=1", About::Server),
            (
                "/*!50003 SET */ /* x */ @@global.general_log=1",
                About::Server,
            ),
            ("SET a=(SELECT 1, 2), /*!50003 PERSIST*/ b=1", About::Server),
            ("SET @a='x, GLOBAL b', @c=@@GLOBAL.d", About::Session),
            (
                "CREATE /* ( */ FUNCTION f RETURNS INT SONAME 'x.so'",
                About::Server,
            ),
            ("GRANT/**/ALL ON *.* TO a", About::Accounts),
            ("CREATE ROLE r", About::Accounts),
            (
                "CREATE SERVER far FOREIGN DATA WRAPPER mysql OPTIONS (HOST 'x')",
                About::OtherServers,
            ),
            (
                "CREATE OR REPLACE SERVER far FOREIGN DATA WRAPPER mysql OPTIONS (HOST 'x')",
                About::OtherServers,
            ),
            (
                "CREATE FUNCTION sys_exec RETURNS INTEGER SONAME 'lib_mysqludf_sys.so'",
                About::Server,
            ),
            (
                "CREATE AGGREGATE FUNCTION m RETURNS REAL SONAME 'm.so'",
                About::Server,
            ),
            (
                "CREATE DEFINER=`a`@`%` FUNCTION soname(a INT) RETURNS INT RETURN 1",
                About::Data,
            ),
            (
                "CREATE FUNCTION f(soname INT) RETURNS INT RETURN soname",
                About::Data,
            ),
            ("CREATE OR REPLACE VIEW v AS SELECT 1", About::Data),
            (
                "CREATE DATABASE /*!32312 IF NOT EXISTS*/ `shop`",
                About::Database(false),
            ),
            (
                "/*!40000 DROP DATABASE IF EXISTS `mysql`*/",
                About::Database(true),
            ),
            (
                "CREATE DATABASE `old` COMMENT 'moved from mysql on a1'",
                About::Database(false),
            ),
            (
                "CREATE SCHEMA IF NOT EXISTS `mysql backup` /* sys */",
                About::Database(false),
            ),
            ("CREATE DATABASE Sys", About::Database(false)),
            (
                "ALTER DATABASE `mysql-5` COMMENT 'sys'",
                About::Database(false),
            ),
            (
                "CREATE OR REPLACE DATABASE `performance_schema`",
                About::Database(true),
            ),
            (
                "DROP DATABASE IF EXISTS INFORMATION_SCHEMA",
                About::Database(true),
            ),
            ("/*!40000 USE `my;sql` */", About::Use("my;sql".into())),
            ("", About::Data),
        ] {
            assert_eq!(of(text), about, "{text}");
        }
    }
}
