//! Whether a dump is whole: mariadb-dump and mysqldump say at the beginning that they dump and at the end that they are done. One that
//! was cut off between two statements loads without an error, and is half of the data.

/// Beginnings of the line that the tools write first.
const BEGINS: [&[u8]; 2] = [b"-- MariaDB dump", b"-- MySQL dump"];
/// Of the one that they write last.
const ENDS: &[u8] = b"-- Dump completed";
/// Bytes of a statement in which its comments are.
const HEAD: usize = 4096;

/// What the comments of a dump have said so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Ending {
    is_open: bool,
}

impl Ending {
    /// Looks at the comments that a statement begins with.
    pub(crate) fn see(&mut self, statement: &[u8]) {
        if !statement.starts_with(b"--") && !statement.starts_with(b"/*") {
            return;
        }
        // Several dumps in a row are one file.
        for line in statement[..statement.len().min(HEAD)].split(|byte| *byte == b'\n') {
            if BEGINS.iter().any(|begin| line.starts_with(begin)) {
                self.is_open = true;
            } else if line.starts_with(ENDS) {
                self.is_open = false;
            }
        }
    }

    /// Whether a dump began that has not ended.
    pub(crate) fn is_open(self) -> bool {
        self.is_open
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
            ending.is_open()
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
        // Without comments nothing is known.
        assert!(!open(&["/*!40101 SET @a=1 */", rows]));
    }
}
