//! A dump's file as a client reads it: without a mark of its encoding, without what a tool said before its first statement.

use std::io::{Cursor, Read};
use std::path::Path;

use anyhow::{Context, Result};
use niagara_capture::log::Input;
use niagara_error::bail;

/// Bytes in which the first statement begins.
const HEAD: usize = 64 << 10;
/// Lines before it that a tool, a container or a pipe may have written.
const MOST: usize = 50;
/// The mark of UTF-8, which clients pass over.
const UTF8: &[u8] = b"\xef\xbb\xbf";
/// Words that a statement of a dump begins with.
const WORDS: [&str; 38] = [
    "ALTER",
    "ANALYZE",
    "BEGIN",
    "CALL",
    "CHANGE",
    "CHECK",
    "COMMIT",
    "CREATE",
    "DELETE",
    "DELIMITER",
    "DO",
    "DROP",
    "EXECUTE",
    "EXPLAIN",
    "FLUSH",
    "GRANT",
    "INSERT",
    "INSTALL",
    "KILL",
    "LOAD",
    "LOCK",
    "OPTIMIZE",
    "PREPARE",
    "PURGE",
    "RENAME",
    "REPLACE",
    "RESET",
    "REVOKE",
    "ROLLBACK",
    "SELECT",
    "SET",
    "SHOW",
    "START",
    "STOP",
    "TRUNCATE",
    "UNLOCK",
    "UPDATE",
    "USE",
];
/// Tools that write to the file of a dump what is meant for the terminal, where both go to one file.
const TOOLS: [&str; 6] = [
    "mysqldump",
    "mariadb-dump",
    "mysqlpump",
    "mydumper",
    "mysql",
    "mariadb",
];

/// The file of a dump.
pub(crate) struct DumpText {
    front: Cursor<Vec<u8>>,
    input: Input,
    /// Lines before its first statement that are none of its.
    pub(crate) passed_over: Vec<String>,
}

impl DumpText {
    /// Opens the file at `path`.
    ///
    /// # Errors
    /// It cannot be read; its text is UTF-16.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let mut input = Input::open(path)?;
        let mut front = Vec::with_capacity(HEAD);
        (&mut input)
            .take(HEAD as u64)
            .read_to_end(&mut front)
            .with_context(|| format!("cannot read {}", path.display()))?;
        if is_utf16(&front) {
            let shown = path.display();
            bail!(
                "{shown} is UTF-16, as PowerShell's > writes it: no client reads it, and bytes of rows may be lost in it";
                remedy: "dump again with --result-file=FILE; or, where all rows are text, iconv -f UTF-16 -t UTF-8 {shown} > FILE"
            );
        }
        let begin = if front.starts_with(UTF8) {
            UTF8.len()
        } else {
            0
        };
        let (length, passed_over) = lines_before(&front[begin..]);
        front.drain(..begin + length);
        Ok(Self {
            front: Cursor::new(front),
            input,
            passed_over,
        })
    }

    /// The beginning, in clear.
    pub(crate) fn head(&self) -> &[u8] {
        self.front.get_ref()
    }

    /// Bytes read of the file, as it is on disk.
    pub(crate) fn bytes_read(&self) -> u64 {
        self.input.bytes_read()
    }
}

impl Read for DumpText {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        match self.front.read(buffer)? {
            0 => self.input.read(buffer),
            count => Ok(count),
        }
    }
}

/// Whether a text is UTF-16, with its mark or without.
fn is_utf16(text: &[u8]) -> bool {
    let is_mark = text.starts_with(b"\xff\xfe") || text.starts_with(b"\xfe\xff");
    let first = text.get(..8).unwrap_or_default();
    let every_other = |from: usize| {
        let mut zeros = first.iter().skip(from).step_by(2);
        let mut letters = first.iter().skip(1 - from).step_by(2);
        !first.is_empty() && zeros.all(|byte| *byte == 0) && letters.all(|byte| *byte != 0)
    };
    is_mark || every_other(0) || every_other(1)
}

/// The lines before the first one that a client understands, and their length; none where no such line follows.
fn lines_before(text: &[u8]) -> (usize, Vec<String>) {
    let (mut at, mut lines) = (0, Vec::new());
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        let bare = line.trim_ascii();
        if is_of_sql(bare) {
            return (at, lines);
        }
        if lines.len() == MOST {
            break;
        }
        if !bare.is_empty() {
            lines.push(String::from_utf8_lossy(bare).into_owned());
        }
        at += line.len();
    }
    (0, Vec::new())
}

/// Whether a line begins a statement or a comment.
fn is_of_sql(line: &[u8]) -> bool {
    let is_comment = [&b"--"[..], b"#", b"/*", b"(", b";"]
        .iter()
        .any(|begin| line.starts_with(begin));
    let length = line.iter().take_while(|byte| byte.is_ascii_alphabetic());
    let word = &line[..length.count()];
    // A word that a colon follows is the name of a program.
    let is_named = line.get(word.len()) == Some(&b':');
    is_comment
        || (!is_named
            && WORDS
                .iter()
                .any(|other| word.eq_ignore_ascii_case(other.as_bytes())))
}

/// What a tool said where a statement should begin: its line, the statement behind it, and whether it is but a warning.
pub(crate) fn said_by_tool(code: &[u8]) -> Option<(String, &[u8], bool)> {
    let end = memchr::memchr(b'\n', code).unwrap_or(code.len());
    let line = String::from_utf8_lossy(&code[..end]).trim_end().to_owned();
    let (name, said) = line.split_once(": ")?;
    let name = name.rsplit(['/', '\\']).next()?.trim_end_matches(".exe");
    if !TOOLS.contains(&name) {
        return None;
    }
    let is_warning = said.starts_with("[Warning]")
        || said.starts_with("Warning")
        || said.starts_with("Deprecated program name");
    Some((line, &code[end..], is_warning))
}

#[cfg(test)]
mod tests {
    use niagara_error::Explain as _;

    use super::*;

    fn open(bytes: &[u8]) -> Result<(String, Vec<String>)> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("shop.sql");
        std::fs::write(&path, bytes)?;
        let mut text = DumpText::open(&path)?;
        let mut all = String::new();
        text.read_to_string(&mut all)?;
        Ok((all, text.passed_over))
    }

    #[test]
    fn what_stands_before_the_first_statement_is_passed_over() -> Result<()> {
        for (text, rest, lines) in [
            ("\u{feff}-- MySQL dump\n", "-- MySQL dump\n", &[][..]),
            (
                "mysqldump: [Warning] Using a password on the command line interface can be insecure.\n/*!40101 SET a=1 */;\n",
                "/*!40101 SET a=1 */;\n",
                &[
                    "mysqldump: [Warning] Using a password on the command line interface can be insecure.",
                ],
            ),
            (
                "Defaulted container \"mysql\" out of: mysql, metrics\r\n\r\nmysqldump: Deprecated program name.\r\nset names utf8;\r\n",
                "set names utf8;\r\n",
                &[
                    "Defaulted container \"mysql\" out of: mysql, metrics",
                    "mysqldump: Deprecated program name.",
                ],
            ),
            ("\n\nUSE shop;", "\n\nUSE shop;", &[]),
            // No line of it is a statement: the server is to say so.
            ("hello\nworld\n", "hello\nworld\n", &[]),
        ] {
            let (all, passed_over) = open(text.as_bytes())?;
            assert_eq!(all.trim_start(), rest.trim_start(), "{text}");
            assert_eq!(passed_over, lines, "{text}");
        }
        Ok(())
    }

    #[test]
    fn a_text_of_utf16_is_refused_by_its_name() {
        let wide = |little: bool, mark: &[u8]| {
            let units = "-- MySQL dump\n".encode_utf16();
            let bytes = units.flat_map(|unit| match little {
                true => unit.to_le_bytes(),
                false => unit.to_be_bytes(),
            });
            [mark, &bytes.collect::<Vec<u8>>()].concat()
        };
        for bytes in [
            wide(true, b"\xff\xfe"),
            wide(false, b"\xfe\xff"),
            wide(true, b""),
            wide(false, b""),
        ] {
            let told = open(&bytes).expect_err("UTF-16").explain().to_string();
            assert!(told.contains("UTF-16") && told.contains("remedy"), "{told}");
        }
    }

    #[test]
    fn a_tools_words_are_told_from_statements() {
        let said = |text: &str| {
            said_by_tool(text.as_bytes()).map(|(line, rest, warns)| {
                (line, String::from_utf8_lossy(rest).trim().to_owned(), warns)
            })
        };
        let error = "mysqldump: Error 2013: Lost connection to server during query when dumping table `t` at row: 3";
        assert_eq!(said(error), Some((error.to_owned(), String::new(), false)));
        let warning = "/usr/bin/mysqldump: [Warning] x";
        assert_eq!(
            said(&format!("{warning}\nSELECT 1")),
            Some((warning.to_owned(), "SELECT 1".to_owned(), true))
        );
        assert_eq!(said("label: BEGIN END"), None);
        assert_eq!(said("INSERT INTO t VALUES ('mysqldump: x')"), None);
    }
}
