//! Rows with values of generated columns. MariaDB's client dumps them from MySQL, and MySQL takes none but DEFAULT.

use super::code::Code;

/// An `INSERT` or `REPLACE` of rows.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Insert<'a> {
    /// Its table.
    pub table: String,
    /// The columns that it names; empty where it means all.
    pub columns: Vec<String>,
    /// The statement up to its first row.
    head: &'a [u8],
    /// Its rows.
    rows: &'a [u8],
}

impl<'a> Insert<'a> {
    /// The rows that a statement inserts; none where it inserts none by values.
    pub(crate) fn of(statement: &'a [u8]) -> Option<Self> {
        let mut code = Code::of(statement);
        if !code.takes_any(&["INSERT", "REPLACE"]) {
            return None;
        }
        while code.takes_any(&["LOW_PRIORITY", "DELAYED", "HIGH_PRIORITY", "IGNORE"]) {}
        code.takes("INTO");
        let table = code.last_name()?;
        let mut columns = Vec::new();
        if let Some(inside) = code.rest().trim_ascii_start().strip_prefix(b"(") {
            code = Code::of(inside);
            loop {
                columns.push(code.name()?);
                let rest = code.rest().trim_ascii_start();
                if let Some(rest) = rest.strip_prefix(b",") {
                    code = Code::of(rest);
                    continue;
                }
                code = Code::of(rest.strip_prefix(b")")?);
                break;
            }
        }
        if !code.takes_any(&["VALUES", "VALUE"]) {
            return None;
        }
        let rows = code.rest();
        Some(Self {
            table,
            columns,
            head: &statement[..statement.len() - rows.len()],
            rows,
        })
    }

    /// The statement with DEFAULT in place of the values at these positions of each row, from 0.
    pub(crate) fn with_defaults(&self, positions: &[usize]) -> Vec<u8> {
        let mut out = self.head.to_vec();
        let (mut depth, mut position, mut at) = (0_usize, 0, 0);
        let mut begun = 0;
        while let Some(&byte) = self.rows.get(at) {
            let next = match byte {
                b'\'' | b'"' => at + quoted(&self.rows[at..]),
                _ => at + 1,
            };
            let is_end = depth == 1 && matches!(byte, b',' | b')');
            if is_end {
                if positions.contains(&position) {
                    out.extend_from_slice(b"DEFAULT");
                } else {
                    out.extend_from_slice(&self.rows[begun..at]);
                }
                position += 1;
            }
            match byte {
                b'(' => depth += 1,
                b')' => depth = depth.saturating_sub(1),
                _ => {}
            }
            if byte == b'(' && depth == 1 {
                position = 0;
            }
            let is_outside = depth == 0 || (depth == 1 && (is_end || (byte == b'(')));
            if is_outside {
                out.extend_from_slice(&self.rows[at..next]);
                begun = next;
            }
            at = next;
        }
        out.extend_from_slice(&self.rows[begun.min(self.rows.len())..]);
        out
    }
}

/// Bytes of a text in quotes, with them.
fn quoted(text: &[u8]) -> usize {
    let quote = text[0];
    let mut at = 1;
    while let Some(&byte) = text.get(at) {
        at += match byte {
            b'\\' => 2,
            byte if byte == quote => return at + 1,
            _ => 1,
        };
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_generated_columns_become_defaults() {
        for (text, positions, expected) in [
            (
                "INSERT INTO `t` VALUES\n(1,'one','2020-01-01',3),\n(2,'two;),(',NULL,5)",
                &[3][..],
                "INSERT INTO `t` VALUES\n(1,'one','2020-01-01',DEFAULT),\n(2,'two;),(',NULL,DEFAULT)",
            ),
            (
                "INSERT IGNORE INTO `t` (`a`, `g,(`, `c`) VALUES (ST_GeomFromText('POINT(1 2)',0),'it\\'s',_binary 'x')",
                &[1],
                "INSERT IGNORE INTO `t` (`a`, `g,(`, `c`) VALUES (ST_GeomFromText('POINT(1 2)',0),DEFAULT,_binary 'x')",
            ),
            (
                "INSERT INTO t VALUES (f(1,2),0x00),('',1)",
                &[0],
                "INSERT INTO t VALUES (DEFAULT,0x00),(DEFAULT,1)",
            ),
        ] {
            let insert = Insert::of(text.as_bytes()).unwrap();
            let new = String::from_utf8(insert.with_defaults(positions)).unwrap();
            assert_eq!(new, expected);
        }
    }

    #[test]
    fn an_insert_tells_its_table_and_columns() {
        let insert = Insert::of(b"REPLACE INTO `d`.`t` (`a`,`b`) VALUES (1,2)").unwrap();
        assert_eq!(insert.table, "t");
        assert_eq!(insert.columns, ["a", "b"]);
        assert_eq!(Insert::of(b"INSERT INTO t SELECT 1"), None);
        assert_eq!(Insert::of(b"UPDATE t SET a = 1"), None);
    }
}
