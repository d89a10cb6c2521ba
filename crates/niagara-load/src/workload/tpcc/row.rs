//! Rows of a table in the making, in the form that the server takes them in.

use super::random::digits;
use crate::protocol::command::ParameterType;
use crate::workload::Rng;
use crate::workload::draw::letters;

/// The time of everything that happened before the load began: always the same, so that the rows are.
const BEFORE: &str = "2009-04-22 08:00:00";
/// The same as a parameter: its length, year, month, day, hour, minute, second.
const BEFORE_BINARY: [u8; 8] = [7, 0xd9, 0x07, 4, 22, 8, 0, 0];

/// How rows go to the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// As they stand in an INSERT, in parentheses: every server reads that.
    Text,
    /// As parameters of one execution, which MariaDB neither has to parse nor to convert.
    Bulk,
}

/// Rows with the same columns, and what the server has to know about them.
#[derive(Debug)]
pub(super) struct Rows {
    form: Form,
    bytes: Vec<u8>,
    types: Vec<ParameterType>,
    count: u64,
}

impl Rows {
    pub(super) fn new(form: Form) -> Self {
        Rows {
            form,
            bytes: Vec::new(),
            types: Vec::new(),
            count: 0,
        }
    }

    /// The rows, with commas between them in text.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The types of the columns as parameters; none in text.
    pub(super) fn types(&self) -> &[ParameterType] {
        &self.types
    }

    pub(super) fn count(&self) -> u64 {
        self.count
    }

    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.types.clear();
        self.count = 0;
    }

    /// A further row, begun.
    pub(super) fn row(&mut self) -> Row<'_> {
        if self.form == Form::Text {
            self.bytes
                .extend_from_slice(if self.count == 0 { b"(" } else { b",(" });
        }
        let names_types = self.count == 0;
        self.count += 1;
        Row {
            form: self.form,
            out: &mut self.bytes,
            types: names_types.then_some(&mut self.types),
            is_first: true,
        }
    }
}

/// A row in the making.
pub(super) struct Row<'a> {
    form: Form,
    out: &'a mut Vec<u8>,
    /// Wanted of the first row only.
    types: Option<&'a mut Vec<ParameterType>>,
    is_first: bool,
}

impl Row<'_> {
    /// What comes before a value that is not NULL; returns whether it goes in text.
    fn begin(&mut self, parameter: ParameterType) -> bool {
        const NOT_NULL: u8 = 0;
        self.separate(parameter, NOT_NULL)
    }

    fn separate(&mut self, parameter: ParameterType, indicator: u8) -> bool {
        match self.form {
            Form::Text => {
                if !std::mem::take(&mut self.is_first) {
                    self.out.push(b',');
                }
                true
            }
            Form::Bulk => {
                if let Some(types) = &mut self.types {
                    types.push(parameter);
                }
                self.out.push(indicator);
                false
            }
        }
    }

    pub(super) fn int(mut self, value: i32) -> Self {
        if self.begin(ParameterType::Int) {
            self.out
                .extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
        } else {
            self.out.extend_from_slice(&value.to_le_bytes());
        }
        self
    }

    /// NULL in a column of this type.
    pub(super) fn null(mut self, parameter: ParameterType) -> Self {
        const NULL: u8 = 1;
        if self.separate(parameter, NULL) {
            self.out.extend_from_slice(b"NULL");
        }
        self
    }

    /// A decimal number in digits.
    pub(super) fn number(mut self, digits: &str) -> Self {
        if !self.begin(ParameterType::Decimal) {
            // None of them has more than 250 digits.
            self.out.push(digits.len() as u8);
        }
        self.out.extend_from_slice(digits.as_bytes());
        self
    }

    /// `digits` after the point.
    pub(super) fn decimal(mut self, value: i32, digits: usize) -> Self {
        let power = 10_i32.pow(digits as u32);
        let is_text = self.begin(ParameterType::Decimal);
        let start = self.out.len();
        if !is_text {
            self.out.push(0);
        }
        let mut number = itoa::Buffer::new();
        self.out
            .extend_from_slice(number.format(value / power).as_bytes());
        self.out.push(b'.');
        let part = number.format(value % power + power);
        self.out.extend_from_slice(&part.as_bytes()[1..]);
        if !is_text {
            self.out[start] = (self.out.len() - start - 1) as u8;
        }
        self
    }

    /// The time before the load.
    pub(super) fn before(mut self) -> Self {
        if self.begin(ParameterType::DateTime) {
            self.out.push(b'\'');
            self.out.extend_from_slice(BEFORE.as_bytes());
            self.out.push(b'\'');
        } else {
            self.out.extend_from_slice(&BEFORE_BINARY);
        }
        self
    }

    /// A text that needs no escape, written by `fill`.
    pub(super) fn text(mut self, fill: impl FnOnce(&mut Vec<u8>)) -> Self {
        if self.begin(ParameterType::String) {
            self.out.push(b'\'');
            fill(self.out);
            self.out.push(b'\'');
            return self;
        }
        let start = self.out.len();
        self.out.push(0);
        fill(self.out);
        // No column is longer than 65,535 bytes.
        let length = (self.out.len() - start - 1) as u16;
        match length {
            0..=250 => self.out[start] = length as u8,
            _ => {
                let [low, high] = length.to_le_bytes();
                self.out.splice(start..=start, [0xfc, low, high]);
            }
        }
        self
    }

    pub(super) fn letters(self, rng: &mut Rng, fewest: usize, most: usize) -> Self {
        self.text(|out| letters(out, rng, fewest, most))
    }

    pub(super) fn word(self, word: &str) -> Self {
        self.text(|out| out.extend_from_slice(word.as_bytes()))
    }

    /// Streets, city, state, zip code (clause 4.3.2.7).
    pub(super) fn address(self, rng: &mut Rng) -> Self {
        self.letters(rng, 10, 20)
            .letters(rng, 10, 20)
            .letters(rng, 10, 20)
            .letters(rng, 2, 2)
            .text(|out| {
                digits(out, rng, 4);
                out.extend_from_slice(b"11111");
            })
    }

    pub(super) fn end(self) {
        if self.form == Form::Text {
            self.out.push(b')');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(form: Form) -> Rows {
        let mut rows = Rows::new(form);
        rows.row()
            .decimal(7, 4)
            .decimal(12_345, 2)
            .int(-1)
            .before()
            .null(ParameterType::Int)
            .word("a")
            .end();
        rows.row()
            .number("1.5")
            .number("-2.00")
            .int(258)
            .null(ParameterType::DateTime)
            .int(3)
            .word("")
            .end();
        rows
    }

    #[test]
    fn in_text_they_stand_as_in_an_insert() {
        let rows = written(Form::Text);
        assert_eq!(
            String::from_utf8_lossy(rows.bytes()),
            "(0.0007,123.45,-1,'2009-04-22 08:00:00',NULL,'a'),(1.5,-2.00,258,NULL,3,'')"
        );
        assert_eq!((rows.count(), rows.types()), (2, &[][..]));
    }

    #[test]
    fn in_bulk_they_are_parameters() {
        use ParameterType::{DateTime, Decimal, Int, String};
        let rows = written(Form::Bulk);
        let first: [&[u8]; 6] = [
            b"\0\x060.0007",
            b"\0\x06123.45",
            &[0, 0xff, 0xff, 0xff, 0xff],
            &[0, 7, 0xd9, 7, 4, 22, 8, 0, 0],
            &[1],
            b"\0\x01a",
        ];
        let second: [&[u8]; 6] = [
            b"\0\x031.5",
            b"\0\x05-2.00",
            &[0, 2, 1, 0, 0],
            &[1],
            &[0, 3, 0, 0, 0],
            &[0, 0],
        ];
        assert_eq!(rows.bytes(), [first.concat(), second.concat()].concat());
        assert_eq!(rows.types(), [Decimal, Decimal, Int, DateTime, Int, String]);
    }

    #[test]
    fn long_texts_have_long_lengths() {
        for (length, head) in [
            (250, &[0, 250][..]),
            (251, &[0, 0xfc, 251, 0]),
            (500, &[0, 0xfc, 0xf4, 1]),
        ] {
            let mut rows = Rows::new(Form::Bulk);
            rows.row().word(&"x".repeat(length)).end();
            let (start, text) = rows.bytes().split_at(head.len());
            assert_eq!((start, text.len()), (head, length));
        }
    }
}
