//! All that reads the text of a dump, on any bytes.

use super::dump_head::DumpHead;
use super::elsewhere;
use super::ending::Ending;
use super::first_lines::said_by_tool;
use super::generated::Insert;
use super::in_clear::in_clear;
use super::mydumper::DELIMITER;
use super::split::Statements;
use super::sql_mode::{modes, value_of_mode, with_modes};
use super::statement::{About, without_comments};

/// Reads a dump in which statements end as in a file of a client, and as in one of mydumper.
pub fn read_dump_text(text: &[u8]) {
    DumpHead::of(&String::from_utf8_lossy(text)).foreign_tool();
    for by_line in [false, true] {
        let mut statements = Statements::of(text);
        if by_line {
            statements = statements.ended_by(DELIMITER);
        }
        let mut ending = Ending::default();
        let mut length = 0;
        while let Ok(Some(statement)) = statements.next() {
            length += statement.len();
            ending.see(statement);
            read_statement(statement);
        }
        assert!(length <= text.len(), "nothing is read twice");
        ending.cut();
    }
}

fn read_statement(statement: &[u8]) {
    said_by_tool(without_comments(statement));
    About::of(statement).words();
    let _ = elsewhere::refuse(statement);
    if let Some(clear) = in_clear(statement) {
        assert_eq!(in_clear(&clear), None, "nothing is encrypted any more");
    }
    if let Some(value) = value_of_mode(statement) {
        let modes = modes(&statement[value.clone()]);
        with_modes(statement, value, &modes);
    }
    if let Some(insert) = Insert::of(statement) {
        insert.with_defaults(&[0, insert.columns.len()]);
    }
}
