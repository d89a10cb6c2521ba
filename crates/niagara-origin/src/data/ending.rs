//! Whether a dump is whole. mariadb-dump, mysqldump and mysqlpump say at the beginning that they dump and at the end that they are done;
//! these and others unlock the tables that they lock, and commit what they begin. A dump that was cut off between two statements
//! loads without an error, and is half of the data.

use super::code::Code;

/// Beginnings of the line that the tools write first.
const BEGINS: [&[u8]; 3] = [
    b"-- MariaDB dump",
    b"-- MySQL dump",
    b"-- Dump created by MySQL pump",
];
/// Of the one that they write last.
const ENDS: [&[u8]; 2] = [b"-- Dump completed", b"-- Dump end time"];
/// Bytes of a statement in which its comments are.
const HEAD: usize = 4096;

/// What a dump has said so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Ending {
    is_open: bool,
    is_locked: bool,
    is_begun: bool,
}

/// How it shows that a dump was cut off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cut {
    /// The line is missing that the tool writes last.
    NoEnd,
    /// A table is locked that is not unlocked.
    Locked,
    /// A transaction is begun that is not committed.
    Begun,
}

impl std::fmt::Display for Cut {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::NoEnd => {
                "its last line is not `-- Dump completed`, which its tool writes when all is dumped"
            }
            Self::Locked => "it locks a table (LOCK TABLES) that it does not unlock",
            Self::Begun => "it begins a transaction (START TRANSACTION) that it does not commit",
        })
    }
}

impl Ending {
    /// Looks at a statement: at the comments that it begins with, and at its first words.
    pub(crate) fn see(&mut self, statement: &[u8]) {
        let head = &statement[..statement.len().min(HEAD)];
        let mut code = Code::of(head);
        if code.takes("LOCK") {
            self.is_locked = true;
        } else if code.takes("UNLOCK") {
            self.is_locked = false;
        } else if code.takes("START") && code.takes("TRANSACTION") {
            self.is_begun = true;
        } else if code.takes_any(&["COMMIT", "ROLLBACK"]) {
            self.is_begun = false;
        }
        if !statement.starts_with(b"--") && !statement.starts_with(b"/*") {
            return;
        }
        // Several dumps in a row are one file.
        for line in head.split(|byte| *byte == b'\n') {
            if BEGINS.iter().any(|begin| line.starts_with(begin)) {
                self.is_open = true;
            } else if ENDS.iter().any(|end| line.starts_with(end)) {
                self.is_open = false;
            }
        }
    }

    /// How a dump shows that it ends too early; none of a whole one.
    pub(crate) fn cut(self) -> Option<Cut> {
        let signs = [
            (self.is_open, Cut::NoEnd),
            (self.is_locked, Cut::Locked),
            (self.is_begun, Cut::Begun),
        ];
        let mut signs = signs.into_iter();
        signs.find_map(|(is_there, cut)| is_there.then_some(cut))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dump_that_was_cut_off_is_open() {
        let open = |statements: &[&str]| {
            let mut ending = Ending::default();
            statements
                .iter()
                .for_each(|statement| ending.see(statement.as_bytes()));
            ending.cut().is_some()
        };
        let head = "/*M!999999\\- enable the sandbox mode */ \n-- MariaDB dump 10.19-11.8.6-MariaDB\n--\n/*!40101 SET @a=1 */";
        let rows = "INSERT INTO t VALUES ('\n-- Dump completed')";
        let end = "-- Dump completed on 2026-01-01 12:00:00";
        assert!(open(&[head, rows]));
        assert!(!open(&[head, rows, end]));
        // One behind the other.
        assert!(open(&[
            head,
            rows,
            end,
            "-- MySQL dump 10.13\n--\nSELECT 1",
            rows
        ]));
        let first = format!("{end}\n-- MySQL dump 10.13\n--\nSELECT 1");
        assert!(open(&[head, rows, &first]));
        // Without comments nothing is known, but by what is begun.
        assert!(!open(&["/*!40101 SET @a=1 */", rows]));
        assert!(open(&["LOCK TABLES `t` WRITE", rows]));
        assert!(!open(&["LOCK TABLES `t` WRITE", rows, "UNLOCK TABLES"]));
        assert!(open(&["-- x\nSTART TRANSACTION", rows]));
        assert!(!open(&["START TRANSACTION", rows, "-- x\nCOMMIT"]));
        let pump = "-- Dump created by MySQL pump utility, version: 5.7.22\nSET @a = 1";
        assert!(open(&[pump, rows]));
        assert!(!open(&[pump, rows, "-- Dump end time: Fri Nov 27"]));
    }
}
