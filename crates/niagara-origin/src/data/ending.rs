//! Whether a dump is whole. mariadb-dump, mysqldump and mysqlpump say at the beginning that they dump and at the end that they are done;
//! these and others set variables of the session at the beginning, and set them back at the end. A dump that was cut off between
//! two statements loads without an error, and is half of the data.

/// Beginnings of the line that the tools write first.
const BEGINS: [&[u8]; 3] = [
    b"-- MariaDB dump",
    b"-- MySQL dump",
    b"-- Dump created by MySQL pump",
];
/// Of the one that they write last.
const ENDS: [&[u8]; 2] = [b"-- Dump completed", b"-- Dump end time"];
/// Where the tools keep a variable of the session until the end; mysqldump, phpMyAdmin, HeidiSQL, Sequel Pro and others do.
const KEPT: &[u8] = b"@OLD_CHARACTER_SET_CLIENT";
/// Bytes of a statement in which its comments are.
const HEAD: usize = 4096;

/// What a dump has said so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Ending {
    is_open: bool,
    is_kept: bool,
}

/// How it shows that a dump was cut off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cut {
    /// The line is missing that the tool writes last.
    NoEnd,
    /// A variable that was set at the beginning was not set back.
    NotRestored,
}

impl Ending {
    /// Looks at a statement: at the comments that it begins with, and whether it keeps a variable or sets it back.
    pub(crate) fn see(&mut self, statement: &[u8]) {
        let begins = [&b"--"[..], b"#", b"/*"];
        if !begins.iter().any(|begin| statement.starts_with(begin)) {
            return;
        }
        let head = &statement[..statement.len().min(HEAD)];
        // Several dumps in a row are one file.
        for line in head.split(|byte| *byte == b'\n') {
            if BEGINS.iter().any(|begin| line.starts_with(begin)) {
                self.is_open = true;
            } else if ENDS.iter().any(|end| line.starts_with(end)) {
                self.is_open = false;
            }
        }
        if let Some(at) = memchr::memmem::find(head, KEPT) {
            let rest = head[at + KEPT.len()..].trim_ascii_start();
            self.is_kept = rest.starts_with(b"=") || rest.starts_with(b":=");
        }
    }

    /// How a dump shows that it ends too early; none of a whole one.
    pub(crate) fn cut(self) -> Option<Cut> {
        match (self.is_open, self.is_kept) {
            (true, _) => Some(Cut::NoEnd),
            (false, true) => Some(Cut::NotRestored),
            (false, false) => None,
        }
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
        // Without comments nothing is known, but by what is set back.
        assert!(!open(&["/*!40101 SET @a=1 */", rows]));
        let keep = "/*!40101 SET @OLD_CHARACTER_SET_CLIENT=@@CHARACTER_SET_CLIENT */";
        for back in [
            "/*!40101 SET CHARACTER_SET_CLIENT=@OLD_CHARACTER_SET_CLIENT */",
            "/*!40101 SET CHARACTER_SET_CLIENT=IFNULL(@OLD_CHARACTER_SET_CLIENT, '') */",
        ] {
            assert!(open(&[keep, rows]));
            assert!(!open(&[keep, rows, back]));
        }
        let pump = "-- Dump created by MySQL pump utility, version: 5.7.22\nSET @a = 1";
        assert!(open(&[pump, rows]));
        assert!(!open(&[pump, rows, "-- Dump end time: Fri Nov 27"]));
    }
}
