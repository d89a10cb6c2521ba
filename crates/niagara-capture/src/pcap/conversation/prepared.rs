//! Prepared statements: what is known of each, and their executions with the values put in.

use std::collections::HashMap;

use super::{Heard, MAX_COMMAND};
use crate::dropped::Cause;
use crate::pcap::field::Fields;
use crate::pcap::parameters::{Type, bytes_as_sql, question_marks, value};
use crate::sql::SqlMode;

/// Bytes of the statements of one connection; with more they are forgotten.
const MAX_TEXTS: usize = 64 << 20;
/// What is kept beside each, in bytes.
const BESIDE: usize = 192;
/// MariaDB: the statement that was prepared last, whose number the client does not know yet.
const LAST: u32 = u32::MAX;
/// CURSOR_TYPE… and, of MySQL, PARAMETER_COUNT_AVAILABLE: attributes may follow the parameters.
const COUNT_FOLLOWS: u8 = 8;
/// MariaDB's bulk: types come first.
const TYPES_FOLLOW: u64 = 128;

/// A statement that the client has prepared.
#[derive(Debug)]
struct Prepared {
    text: Vec<u8>,
    /// Where its question marks are.
    places: Vec<usize>,
    types: Vec<Type>,
    /// By parameter: what was sent ahead.
    ahead: HashMap<u16, Vec<u8>>,
    /// More was sent ahead than is kept.
    is_too_long: bool,
}

/// The prepared statements of a connection, by the server's numbers, which it uses once.
#[derive(Debug, Default)]
pub(super) struct Statements {
    known: HashMap<u32, Prepared>,
    last: Option<u32>,
    texts: usize,
    ahead: usize,
}

/// A statement with values in the places of its question marks, as far as it is written.
struct Filling<'a> {
    prepared: &'a Prepared,
    out: Vec<u8>,
    at: usize,
}

impl<'a> Filling<'a> {
    fn new(prepared: &'a Prepared) -> Filling<'a> {
        Filling {
            prepared,
            out: Vec::with_capacity(prepared.text.len() + 64),
            at: 0,
        }
    }

    /// Writes up to the question mark of this parameter, whose value comes next.
    fn next(&mut self, parameter: usize) -> Option<&mut Vec<u8>> {
        let &place = self.prepared.places.get(parameter)?;
        self.out
            .extend_from_slice(self.prepared.text.get(self.at..place)?);
        self.at = place + 1;
        Some(&mut self.out)
    }

    /// The value of this parameter is written, from this byte on. Servers make a whole number of one for LIMIT, of whatever type it is,
    /// and take no literal of another type there.
    fn written(&mut self, parameter: usize, from: usize) {
        let place = self.prepared.places[parameter];
        if counts_rows(&self.prepared.text[..place])
            && let Some(number) = whole_number(&self.out[from..])
        {
            self.out.truncate(from);
            self.out.extend_from_slice(number.to_string().as_bytes());
        }
    }

    fn end(mut self) -> Vec<u8> {
        self.out.extend_from_slice(&self.prepared.text[self.at..]);
        self.out
    }
}

/// Whether a number of rows comes next: `LIMIT`, `OFFSET`, `LIMIT 5,`.
fn counts_rows(before: &[u8]) -> bool {
    let ends_by = |text: &[u8], words: &[&[u8]]| {
        let text = text.trim_ascii_end();
        let length = text
            .iter()
            .rev()
            .take_while(|b| b.is_ascii_alphanumeric() || **b == b'_');
        let word = &text[text.len() - length.count()..];
        words.iter().any(|one| one.eq_ignore_ascii_case(word))
    };
    if ends_by(before, &[b"limit", b"offset"]) {
        return true;
    }
    let Some(first) = before.trim_ascii_end().strip_suffix(b",") else {
        return false;
    };
    let first = first.trim_ascii_end();
    let length = first
        .iter()
        .rev()
        .take_while(|b| b.is_ascii_digit() || **b == b'?');
    let length = length.count();
    length > 0 && ends_by(&first[..first.len() - length], &[b"limit"])
}

/// The whole number that a literal is: `'3'`, `3e0`.
fn whole_number(literal: &[u8]) -> Option<u64> {
    let text = literal
        .strip_prefix(b"'")
        .and_then(|text| text.strip_suffix(b"'"));
    let text = std::str::from_utf8(text.unwrap_or(literal)).ok()?.trim();
    text.parse().ok().or_else(|| {
        let number: f64 = text.parse().ok()?;
        let is_whole = number >= 0.0 && number.fract() == 0.0 && number < 2_f64.powi(53);
        is_whole.then_some(number as u64)
    })
}

impl Statements {
    /// Bytes of memory that they take.
    pub(super) fn held(&self) -> usize {
        self.texts + self.ahead
    }

    pub(super) fn clear(&mut self) {
        *self = Statements::default();
    }

    /// The server's number of a statement.
    pub(super) fn number(&self, number: u32) -> u32 {
        match (number, self.last) {
            (LAST, Some(last)) => last,
            (number, _) => number,
        }
    }

    /// A statement was prepared: the server's number and its parameters; none: it was refused, or nobody knows.
    pub(super) fn prepared(&mut self, heard: &Heard, answer: Option<(u32, u16)>) {
        self.last = answer.map(|(statement, _)| statement);
        let Some((statement, parameters)) = answer else {
            return;
        };
        let places = question_marks(&heard.text, heard.mode);
        if places.len() != usize::from(parameters) {
            return;
        }
        if self.texts > MAX_TEXTS {
            self.known.clear();
            (self.texts, self.ahead) = (0, 0);
        }
        let prepared = Prepared {
            text: heard.text.clone(),
            places,
            types: Vec::new(),
            ahead: HashMap::new(),
            is_too_long: false,
        };
        self.forget(statement);
        self.texts += prepared.length();
        self.known.insert(statement, prepared);
    }

    fn forget(&mut self, statement: u32) {
        if let Some(prepared) = self.known.remove(&statement) {
            self.texts -= prepared.length();
            self.ahead -= prepared.ahead.values().map(Vec::len).sum::<usize>();
        }
    }

    fn find(&mut self, number: Option<u64>) -> Option<(u32, &mut Prepared)> {
        let statement = self.number(number? as u32);
        Some((statement, self.known.get_mut(&statement)?))
    }

    /// COM_STMT_CLOSE.
    pub(super) fn close(&mut self, body: &[u8]) {
        if let Some(statement) = Fields(body).number(4) {
            self.forget(self.number(statement as u32));
        }
    }

    /// COM_STMT_RESET: what was sent ahead is void.
    pub(super) fn reset(&mut self, body: &[u8]) {
        let Some((_, prepared)) = self.find(Fields(body).number(4)) else {
            return;
        };
        let ahead = prepared.take_ahead();
        self.ahead -= ahead.values().map(Vec::len).sum::<usize>();
    }

    /// COM_STMT_SEND_LONG_DATA: a value, or a part of it, ahead of the execution.
    pub(super) fn long_data(&mut self, body: &[u8]) {
        let mut fields = Fields(body);
        let (statement, Some(parameter)) = (fields.number(4), fields.number(2)) else {
            return;
        };
        let is_too_much = self.ahead + fields.0.len() > MAX_COMMAND;
        let Some((_, prepared)) = self.find(statement) else {
            return;
        };
        if is_too_much {
            prepared.is_too_long = true;
            return;
        }
        let ahead = prepared.ahead.entry(parameter as u16).or_default();
        ahead.extend_from_slice(fields.0);
        self.ahead += fields.0.len();
    }

    /// The statement of a COM_STMT_EXECUTE with its values, and its number. `attributes`: whether client and server know
    /// them, if that is known.
    ///
    /// # Errors
    /// Why it is not kept: it is not known, cannot be written, or is too long.
    pub(super) fn execute(
        &mut self,
        body: &[u8],
        attributes: Option<bool>,
        mode: SqlMode,
    ) -> Result<(u32, Vec<u8>), Cause> {
        let mut fields = Fields(body);
        let Some((statement, prepared)) = self.find(fields.number(4)) else {
            return Err(Cause::UnknownPrepared);
        };
        let text = prepared.execution(&mut fields, attributes, mode);
        let is_too_long = prepared.is_too_long;
        let ahead = prepared.take_ahead();
        self.ahead -= ahead.values().map(Vec::len).sum::<usize>();
        match text {
            _ if is_too_long => Err(Cause::TooLong),
            Some(text) => Ok((statement, text)),
            None => Err(Cause::UnknownPrepared),
        }
    }

    /// The statements of MariaDB's COM_STMT_BULK_EXECUTE: one with the values of each row.
    ///
    /// # Errors
    /// As of [`execute`](Statements::execute).
    pub(super) fn execute_all(
        &mut self,
        body: &[u8],
        mode: SqlMode,
    ) -> Result<Vec<Vec<u8>>, Cause> {
        let mut fields = Fields(body);
        let Some((_, prepared)) = self.find(fields.number(4)) else {
            return Err(Cause::UnknownPrepared);
        };
        let flags = fields.number(2).ok_or(Cause::UnknownPrepared)?;
        if flags & TYPES_FOLLOW != 0 {
            let count = prepared.places.len();
            let types = (0..count).map(|_| fields.number(2).map(|kind| kind as Type));
            prepared.types = types
                .collect::<Option<Vec<Type>>>()
                .ok_or(Cause::UnknownPrepared)?;
        }
        let mut texts = Vec::new();
        let mut length = 0;
        while !fields.0.is_empty() && !prepared.places.is_empty() {
            let text = prepared
                .row(&mut fields, mode)
                .ok_or(Cause::UnknownPrepared)?;
            length += text.len();
            if length > MAX_COMMAND {
                return Err(Cause::TooLong);
            }
            texts.push(text);
        }
        Ok(texts)
    }
}

impl Prepared {
    fn length(&self) -> usize {
        self.text.len() + self.places.len() * size_of::<usize>() + BESIDE
    }

    fn take_ahead(&mut self) -> HashMap<u16, Vec<u8>> {
        self.is_too_long = false;
        std::mem::take(&mut self.ahead)
    }

    /// From behind the statement's number.
    fn execution(
        &mut self,
        fields: &mut Fields<'_>,
        attributes: Option<bool>,
        mode: SqlMode,
    ) -> Option<Vec<u8>> {
        let flags = fields.u8()?;
        // Once.
        fields.bytes(4)?;
        let own = self.places.len();
        // Who sends the number of parameters sends names with their types.
        let named = attributes.unwrap_or(flags & COUNT_FOLLOWS != 0);
        let mut count = own;
        // Of a statement with parameters it stands there in any case.
        // Source: MySQL's Client/Server Protocol, COM_STMT_EXECUTE.
        if named && (own > 0 || flags & COUNT_FOLLOWS != 0) {
            count = usize::try_from(fields.lenenc()?)
                .ok()
                .filter(|&count| count < 1 << 16)?;
        }
        if count < own {
            return None;
        }
        if count == 0 {
            return Some(self.text.clone());
        }
        let nulls = fields.bytes(count.div_ceil(8))?;
        // Else they are those of the last time.
        if fields.u8()? == 1 {
            self.types.clear();
            for _ in 0..count {
                self.types.push(fields.number(2)? as Type);
                if named {
                    fields.string()?;
                }
            }
        }
        let mut filling = Filling::new(self);
        for place in 0..own {
            let kind = *self.types.get(place)?;
            let out = filling.next(place)?;
            let from = out.len();
            if let Some(ahead) = self.ahead.get(&(place as u16)) {
                bytes_as_sql(ahead, kind, mode, out);
            } else if nulls[place / 8] & (1 << (place % 8)) != 0 {
                out.extend_from_slice(b"NULL");
            } else {
                value(fields, kind, mode, out)?;
            }
            filling.written(place, from);
        }
        Some(filling.end())
    }

    /// With the values of one row of a bulk.
    fn row(&self, fields: &mut Fields<'_>, mode: SqlMode) -> Option<Vec<u8>> {
        let mut filling = Filling::new(self);
        for place in 0..self.places.len() {
            let kind = *self.types.get(place)?;
            let out = filling.next(place)?;
            match fields.u8()? {
                0 => value(fields, kind, mode, out)?,
                1 => out.extend_from_slice(b"NULL"),
                2 => out.extend_from_slice(b"DEFAULT"),
                // Leave the column as it is: SQL has no word for that.
                _ => return None,
            }
        }
        Some(filling.end())
    }
}
