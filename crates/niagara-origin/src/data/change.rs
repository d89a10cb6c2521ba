//! Statements by which a user changes the data of a private copy: read from files or texts, and refused where they would leave the
//! copy.

use std::fmt;
use std::path::Path;

use niagara_error::Explanation;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::elsewhere::{code_words, table_elsewhere};
use super::split::Statements;
use super::statement::{About, is_system, without_comments};

/// First words of statements that act on the server rather than on its data.
const OF_SERVER: [&str; 13] = [
    "BACKUP",
    "BINLOG",
    "CACHE",
    "CHANGE",
    "CLONE",
    "FLUSH",
    "INSTALL",
    "KILL",
    "PURGE",
    "RESET",
    "RESTART",
    "SHUTDOWN",
    "UNINSTALL",
];
/// Tables of the server's own that have statistics and costs: a change of these is one of how statements are planned.
const STATISTICS: [&str; 7] = [
    "INNODB_TABLE_STATS",
    "INNODB_INDEX_STATS",
    "TABLE_STATS",
    "COLUMN_STATS",
    "INDEX_STATS",
    "ENGINE_COST",
    "SERVER_COST",
];
/// How a file of statements ends.
const ENDING: &str = ".sql";
/// Characters of a statement that messages show.
const SHOWN: usize = 120;

/// A statement that changes the data; where it stands makes no difference to what it is.
#[derive(Debug, Clone, Default, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct ChangeStatement {
    /// The statement without comments before it and without its delimiter.
    pub text: String,
    /// Where it stands, for messages: `add-index.sql:3`; empty where that is not known.
    #[serde(skip)]
    pub place: String,
}

impl PartialEq for ChangeStatement {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

/// Why a statement is no change of a private copy's data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// It is about accounts.
    Accounts,
    /// It is about replication.
    Replication,
    /// It is about the server as a whole: global variables, plugins, libraries.
    Server,
    /// It names other servers.
    OtherServers,
    /// It changes a database that is the server's own.
    OwnDatabase {
        /// The database.
        database: String,
    },
    /// Rows of the table are on another server or in files outside of the data.
    Engine {
        /// The table.
        table: String,
        /// The engine.
        engine: &'static str,
    },
    /// It reads or writes files.
    Files,
    /// It puts a table's files outside of the data.
    Directory,
    /// It executes a text that nobody can look into.
    Prepared,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Accounts => f.write_str("it is about accounts, not about data"),
            Self::Replication => f.write_str("it is about replication, not about data"),
            Self::Server => f.write_str("it is about the server as a whole, not about data"),
            Self::OtherServers => {
                f.write_str("it names another server, which a private copy must not reach")
            }
            Self::OwnDatabase { database } => {
                write!(f, "{database} is a database of the server's own")
            }
            Self::Engine { table, engine } => write!(
                f,
                "the rows of a table of the engine {engine} ({table}) are outside of the private copy"
            ),
            Self::Files => f.write_str("it reads or writes files outside of the data"),
            Self::Directory => {
                f.write_str("it puts files outside of the data, where all copies would share them")
            }
            Self::Prepared => f.write_str("it executes a text that cannot be checked beforehand"),
        }
    }
}

impl Refusal {
    /// What to write instead.
    pub fn remedy(&self) -> &'static str {
        match self {
            Self::Accounts => "leave it out: Niagara uses an account of its own on the copy",
            Self::Replication => "leave it out: a private copy replicates nothing",
            Self::Server => {
                "leave it out; a variable is a change of its own: cfg.NAME=VALUE, or `config` of a study file"
            }
            Self::OtherServers => "leave it out, or fill a table of the copy by INSERT",
            Self::OwnDatabase { .. } => {
                "change your own tables; of the server's own only the tables of statistics may be written"
            }
            Self::Engine { .. } => "use an engine that keeps its rows in the data, as InnoDB",
            Self::Files => "write the rows as INSERT, or load them into the data that --data names",
            Self::Directory => "leave out DATA DIRECTORY, INDEX DIRECTORY and DATAFILE",
            Self::Prepared => "write the statement itself",
        }
    }

    /// Why `statement` may not be executed on a private copy; none where it may.
    pub fn of(statement: &[u8]) -> Option<Self> {
        let words = code_words(statement);
        let word = |at: usize| words.get(at).map_or("", String::as_str);
        let plain = words.join(" ");
        for about in [About::of(statement), About::of(plain.as_bytes())] {
            match about {
                About::Accounts => return Some(Self::Accounts),
                About::Replication => return Some(Self::Replication),
                About::Server => return Some(Self::Server),
                About::OtherServers => return Some(Self::OtherServers),
                About::Database(true) => {
                    return Some(Self::OwnDatabase {
                        database: own_database(&words).unwrap_or_default(),
                    });
                }
                About::Use(database) if is_system(&database) => {
                    return Some(Self::OwnDatabase { database });
                }
                About::Data | About::Session | About::Use(_) | About::Database(false) => {}
            }
        }
        if OF_SERVER.contains(&word(0)) || sets_globally(&words) {
            return Some(Self::Server);
        }
        if matches!(word(0), "PREPARE" | "EXECUTE") || has(&words, &["EXECUTE", "IMMEDIATE"]) {
            return Some(Self::Prepared);
        }
        if matches!(word(0), "LOAD" | "IMPORT")
            || has(&words, &["INTO", "OUTFILE"])
            || has(&words, &["INTO", "DUMPFILE"])
        {
            return Some(Self::Files);
        }
        if let Some((table, engine)) = table_elsewhere(statement) {
            return Some(Self::Engine { table, engine });
        }
        let defines = matches!(word(0), "CREATE" | "ALTER");
        if defines
            && (has(&words, &["DATA", "DIRECTORY"])
                || has(&words, &["INDEX", "DIRECTORY"])
                || has(&words, &["ADD", "DATAFILE"]))
        {
            return Some(Self::Directory);
        }
        own_table(&words).map(|database| Self::OwnDatabase { database })
    }
}

fn has(words: &[String], sought: &[&str]) -> bool {
    words
        .windows(sought.len())
        .any(|pair| pair.iter().zip(sought).all(|(word, sought)| word == sought))
}

/// Whether a statement, or one within a routine that it makes, sets a variable of the server.
fn sets_globally(words: &[String]) -> bool {
    let is_global = |word: &String| matches!(word.as_str(), "GLOBAL" | "PERSIST" | "PERSIST_ONLY");
    match words.first().map(String::as_str) {
        Some("SET") => words.iter().any(is_global),
        Some("CREATE" | "ALTER") => words
            .windows(2)
            .any(|pair| pair[0] == "SET" && is_global(&pair[1])),
        _ => false,
    }
}

/// The server's own database that a statement about a database names.
fn own_database(words: &[String]) -> Option<String> {
    let names = words.iter().map(|word| word.to_lowercase());
    names.into_iter().find(|name| is_system(name))
}

/// The server's own database of a table that the statement names with it, tables of statistics aside.
fn own_table(words: &[String]) -> Option<String> {
    let mut named = words.windows(3).filter(|three| three[1] == ".");
    named.find_map(|three| {
        let database = three[0].to_lowercase();
        let is_own = is_system(&database) && !STATISTICS.contains(&three[2].as_str());
        is_own.then_some(database)
    })
}

/// The tables among `known` that statements name.
pub fn tables_named<'k>(
    statements: impl IntoIterator<Item = &'k str>,
    known: &'k [String],
) -> Vec<&'k String> {
    let words: std::collections::BTreeSet<String> = statements
        .into_iter()
        .flat_map(|text| code_words(text.as_bytes()))
        .collect();
    known
        .iter()
        .filter(|table| words.contains(&table.to_uppercase()))
        .collect()
}

/// A mistake in what is to change the data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChangeMistake {
    /// The file cannot be read.
    File {
        /// Its path.
        path: String,
        /// The system's words.
        error: String,
    },
    /// There is no statement.
    Empty {
        /// Where.
        place: String,
    },
    /// A statement that would leave the private copy.
    Refused {
        /// The statement.
        statement: ChangeStatement,
        /// Why.
        refusal: Refusal,
    },
}

impl ChangeMistake {
    /// What is wrong.
    pub fn cause(&self) -> String {
        match self {
            Self::File { path, error } => format!("cannot read {path}: {error}"),
            Self::Empty { place } => format!("{place}: there is no statement"),
            Self::Refused { statement, refusal } => format!(
                "{}: {} is refused: {refusal}",
                statement.place,
                statement.one_line()
            ),
        }
    }

    /// What to do.
    pub fn remedy(&self) -> &'static str {
        match self {
            Self::File { .. } => "name a file of statements, as in sql=./add-index.sql",
            Self::Empty { .. } => {
                "write a statement, as in ALTER TABLE orders ADD INDEX (customer_id)"
            }
            Self::Refused { refusal, .. } => refusal.remedy(),
        }
    }
}

impl fmt::Display for ChangeMistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.cause())
    }
}

impl std::error::Error for ChangeMistake {}

niagara_error::remedied!(ChangeMistake, |mistake| Explanation::new(mistake.cause())
    .remedy(mistake.remedy()));

impl ChangeStatement {
    /// Its beginning on one line, for messages.
    pub fn one_line(&self) -> String {
        let words: Vec<&str> = self.text.split_whitespace().collect();
        let line = words.join(" ");
        match line.char_indices().nth(SHOWN) {
            Some((end, _)) => format!("{}…", &line[..end]),
            None => line,
        }
    }
}

/// Whether a text names a file of statements rather than being one.
fn names_file(text: &str) -> bool {
    let text = text.trim();
    text.to_ascii_lowercase().ends_with(ENDING) && !text.contains(['\n', ';', '('])
}

/// The statements of `text`: those of the file that it names from `folder`, or its own, which stand at `place`.
///
/// # Errors
/// A file that cannot be read; nothing there; a statement that would leave the private copy.
pub fn change_statements(
    text: &str,
    folder: &Path,
    place: &str,
) -> Result<Vec<ChangeStatement>, ChangeMistake> {
    if !names_file(text) {
        return cut(text, &|_| place.to_owned(), place);
    }
    let path = folder.join(text.trim());
    let shown = path.display().to_string();
    let read = std::fs::read_to_string(&path).map_err(|error| ChangeMistake::File {
        path: shown.clone(),
        error: error.to_string(),
    })?;
    cut(&read, &|line| format!("{shown}:{line}"), &shown)
}

fn cut(
    text: &str,
    place: &dyn Fn(usize) -> String,
    whole: &str,
) -> Result<Vec<ChangeStatement>, ChangeMistake> {
    let mut statements = Statements::of(text.as_bytes());
    let mut found = Vec::new();
    let mut behind = 0;
    // A text in memory can be read.
    while let Ok(Some(statement)) = statements.next() {
        let code = without_comments(statement);
        if code.is_empty() {
            continue;
        }
        // Statements are parts of the text as they stand there.
        let at = memchr::memmem::find(&text.as_bytes()[behind..], statement)
            .map_or(behind, |at| behind + at);
        behind = at + statement.len();
        let begins = behind - code.len();
        let line = 1 + memchr::memchr_iter(b'\n', &text.as_bytes()[..begins]).count();
        // Code of a comment that servers execute is nothing without it.
        let executed = memchr::memmem::find(&statement[..statement.len() - code.len()], b"/*!");
        let kept = if executed.is_some() { statement } else { code };
        let one = ChangeStatement {
            text: String::from_utf8_lossy(kept).into_owned(),
            place: place(line),
        };
        if let Some(refusal) = Refusal::of(one.text.as_bytes()) {
            return Err(ChangeMistake::Refused {
                statement: one,
                refusal,
            });
        }
        found.push(one);
    }
    if found.is_empty() {
        return Err(ChangeMistake::Empty {
            place: whole.to_owned(),
        });
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_that_leave_the_copy_are_refused() {
        let own = |database: &str| Refusal::OwnDatabase {
            database: database.to_owned(),
        };
        for (text, expected) in [
            (
                "CREATE SERVER far FOREIGN DATA WRAPPER mysql OPTIONS (HOST 'x')",
                Refusal::OtherServers,
            ),
            ("INSTALL PLUGIN x SONAME 'x.so'", Refusal::Server),
            ("INSTALL COMPONENT 'file://x'", Refusal::Server),
            (
                "CREATE FUNCTION f RETURNS INTEGER SONAME 'x.so'",
                Refusal::Server,
            ),
            ("CREATE USER a", Refusal::Accounts),
            ("GRANT ALL ON *.* TO a", Refusal::Accounts),
            ("SET /* x */ GLOBAL max_connections = 5", Refusal::Server),
            ("SET @@global.max_connections = 5", Refusal::Server),
            (
                "SET sort_buffer_size = 1, PERSIST max_connections = 5",
                Refusal::Server,
            ),
            (
                "CREATE PROCEDURE p() SET GLOBAL max_connections = 5",
                Refusal::Server,
            ),
            (
                "LOAD DATA INFILE '/etc/passwd' INTO TABLE t",
                Refusal::Files,
            ),
            ("SELECT * FROM t INTO OUTFILE '/tmp/x'", Refusal::Files),
            ("SELECT * INTO DUMPFILE '/tmp/x' FROM t", Refusal::Files),
            (
                "CREATE TABLE t (a INT) ENGINE=FEDERATED CONNECTION='mysql://x/t'",
                Refusal::Engine {
                    table: "t".to_owned(),
                    engine: "FEDERATED",
                },
            ),
            (
                "ALTER TABLE t ENGINE = CONNECT",
                Refusal::Engine {
                    table: "t".to_owned(),
                    engine: "CONNECT",
                },
            ),
            (
                "CREATE TABLE t (a INT) DATA DIRECTORY = '/srv'",
                Refusal::Directory,
            ),
            (
                "CREATE TABLESPACE s ADD DATAFILE '/srv/s.ibd'",
                Refusal::Directory,
            ),
            ("UPDATE mysql.user SET host = '%'", own("mysql")),
            (
                "INSERT INTO `mysql` . `global_priv` VALUES (1)",
                own("mysql"),
            ),
            ("USE mysql", own("mysql")),
            ("DROP DATABASE sys", own("sys")),
            ("PREPARE s FROM @text", Refusal::Prepared),
            ("EXECUTE IMMEDIATE 'SET GLOBAL x = 1'", Refusal::Prepared),
            ("FLUSH LOGS", Refusal::Server),
            ("CHANGE MASTER TO MASTER_HOST = 'x'", Refusal::Replication),
        ] {
            assert_eq!(Refusal::of(text.as_bytes()), Some(expected), "{text}");
        }
    }

    #[test]
    fn changes_of_data_are_taken() {
        for text in [
            "ALTER TABLE orders ADD INDEX (customer_id), ALGORITHM=INPLACE",
            "ANALYZE TABLE orders UPDATE HISTOGRAM ON status WITH 10 BUCKETS",
            "UPDATE t SET global = 1, note = 'SET GLOBAL x INTO OUTFILE'",
            "UPDATE mysql.innodb_table_stats SET n_rows = 5",
            "SET SESSION sort_buffer_size = 5",
            "START TRANSACTION",
            "DROP INDEX k_1 ON sbtest1",
            "CREATE TABLE user (a INT) COMMENT 'mysql.user'",
            "DELETE FROM shop.mysql WHERE a = 1.5",
            "OPTIMIZE TABLE t",
            "ALTER TABLE t ENGINE=MyISAM",
        ] {
            assert_eq!(Refusal::of(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn statements_of_a_file_have_their_lines() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("add.sql");
        let text =
            "-- first\n\nALTER TABLE a ADD INDEX (b);\n\n# second\nANALYZE TABLE a;\n-- end\n";
        std::fs::write(&path, text).expect("written");
        let found = change_statements("add.sql", folder.path(), "").expect("statements");
        let found: Vec<(&str, &str)> = found
            .iter()
            .map(|one| {
                (
                    one.text.as_str(),
                    one.place.rsplit('/').next().unwrap_or(""),
                )
            })
            .collect();
        assert_eq!(
            found,
            [
                ("ALTER TABLE a ADD INDEX (b)", "add.sql:3"),
                ("ANALYZE TABLE a", "add.sql:6"),
            ]
        );
        std::fs::write(&path, "SELECT 1;\nSET GLOBAL a = 1;\n").expect("written");
        let refused = change_statements("add.sql", folder.path(), "").expect_err("refused");
        assert!(
            refused
                .to_string()
                .contains("add.sql:2: SET GLOBAL a = 1 is refused"),
            "{refused}"
        );
        std::fs::write(&path, "-- nothing\n").expect("written");
        let empty = change_statements("add.sql", folder.path(), "").expect_err("empty");
        assert!(
            empty.to_string().contains("there is no statement"),
            "{empty}"
        );
        let none = change_statements("other.sql", folder.path(), "").expect_err("no file");
        assert!(none.to_string().contains("other.sql"), "{none}");
        let own = change_statements(
            "ANALYZE TABLE a; ANALYZE TABLE b",
            folder.path(),
            "study.toml:7",
        );
        assert_eq!(own.expect("statements")[1].place, "study.toml:7");
    }

    #[test]
    fn tables_are_named_by_words() {
        let known = ["sbtest1".to_owned(), "sbtest2".to_owned()];
        let named = tables_named(["alter table `SBTEST2` add index (c)"], &known);
        assert_eq!(named, [&known[1]]);
    }
}
