//! A block of events, column by column: what is alike lies together and compresses well.

use super::dictionary::{Dictionary, NameId, TemplateId};
use super::event::{Event, EventKind, Measured, Parts, Place, Transaction};
use super::plan::Plan;
use super::varint::{self, Cursor};
use crate::sql::Class;

const COLUMNS: usize = 15;

/// Places of the columns.
mod column {
    pub const KIND: usize = 0;
    pub const FLAGS: usize = 1;
    pub const SESSION: usize = 2;
    pub const START: usize = 3;
    pub(crate) const DURATION: usize = 4;
    pub const LOCK: usize = 5;
    pub(crate) const SENT: usize = 6;
    pub(crate) const EXAMINED: usize = 7;
    pub(crate) const AFFECTED: usize = 8;
    pub const ERROR: usize = 9;
    pub const NAMES: usize = 10;
    pub(crate) const TEMPLATE: usize = 11;
    pub(crate) const LENGTHS: usize = 12;
    pub(crate) const PARTS: usize = 13;
    pub const PLAN: usize = 14;
}

const EXACT: u8 = 1;
const INSIDE: u8 = 2;
const FIRST: u8 = 4;
const LAST: u8 = 8;

/// A block that is being filled.
#[derive(Debug, Default)]
pub(super) struct Columns {
    columns: [Vec<u8>; COLUMNS],
    events: u32,
    session: u64,
    start_us: i64,
    /// The earliest start and the latest end in it.
    pub span: Option<(i64, i64)>,
}

impl Columns {
    pub fn events(&self) -> u32 {
        self.events
    }

    /// How many bytes are in it.
    pub fn length(&self) -> usize {
        self.columns.iter().map(Vec::len).sum()
    }

    /// Adds an event whose literals are `parts`.
    pub fn push<'p>(&mut self, event: &Event<'_>, parts: impl Iterator<Item = &'p [u8]>) {
        use column::*;
        let columns = &mut self.columns;
        columns[KIND].push(event.kind as u8 | (event.class as u8) << 4);
        let flag = |set: bool, bit: u8| if set { bit } else { 0 };
        let transaction = event.transaction;
        columns[FLAGS].push(
            flag(event.place.exact, EXACT)
                | flag(transaction.inside, INSIDE)
                | flag(transaction.first, FIRST)
                | flag(transaction.last, LAST),
        );
        let place = event.place;
        varint::put_signed(
            &mut columns[SESSION],
            place.session.wrapping_sub(self.session) as i64,
        );
        varint::put_signed(
            &mut columns[START],
            place.start_us.wrapping_sub(self.start_us),
        );
        self.session = place.session;
        self.start_us = place.start_us;
        let measured = event.measured;
        for (column, value) in [
            (DURATION, measured.duration_us),
            (LOCK, measured.lock_us),
            (SENT, measured.rows_sent),
            (EXAMINED, measured.rows_examined),
            (AFFECTED, measured.rows_affected),
            (ERROR, measured.error.map(u64::from)),
            (TEMPLATE, event.template.map(|id| u64::from(id.0))),
        ] {
            varint::put_option(&mut columns[column], value);
        }
        varint::put(&mut columns[PLAN], measured.plan.to_number());
        varint::put(&mut columns[NAMES], u64::from(event.user.0));
        varint::put(&mut columns[NAMES], u64::from(event.database.0));
        varint::put(&mut columns[NAMES], u64::from(event.client.0));
        for part in parts {
            varint::put(&mut columns[LENGTHS], part.len() as u64);
            columns[PARTS].extend_from_slice(part);
        }
        self.events += 1;
        let (first, last) = self.span.unwrap_or((place.start_us, event.end_us()));
        self.span = Some((first.min(place.start_us), last.max(event.end_us())));
    }

    /// The block as it is written; it is empty afterwards.
    pub fn take(&mut self, out: &mut Vec<u8>) {
        varint::put(out, u64::from(self.events));
        for column in &mut self.columns {
            varint::put_bytes(out, column);
            column.clear();
        }
        self.events = 0;
        self.session = 0;
        self.start_us = 0;
        self.span = None;
    }
}

/// A block that is being read.
pub(super) struct ColumnReader<'a> {
    columns: [Cursor<'a>; COLUMNS],
    left: u64,
    session: u64,
    start_us: i64,
}

impl<'a> ColumnReader<'a> {
    /// At the beginning of a block; none when it is damaged.
    pub fn new(bytes: &'a [u8]) -> Option<ColumnReader<'a>> {
        let mut cursor = Cursor(bytes);
        let left = cursor.number()?;
        let mut columns = [Cursor(&[][..]); COLUMNS];
        for column in &mut columns {
            *column = Cursor(cursor.bytes()?);
        }
        let whole = cursor.is_empty() && columns[column::KIND].0.len() as u64 == left;
        whole.then_some(ColumnReader {
            columns,
            left,
            session: 0,
            start_us: 0,
        })
    }

    /// The next event; `Ok(None)` at the end, an error where the block is damaged.
    pub fn next(&mut self, dictionary: &Dictionary) -> Result<Option<Event<'a>>, ()> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        self.event(dictionary).map(Some).ok_or(())
    }

    fn event(&mut self, dictionary: &Dictionary) -> Option<Event<'a>> {
        use column::*;
        let columns = &mut self.columns;
        let kind = columns[KIND].byte()?;
        let flags = columns[FLAGS].byte()?;
        self.session = self.session.wrapping_add(columns[SESSION].signed()? as u64);
        self.start_us = self.start_us.wrapping_add(columns[START].signed()?);
        let measured = Measured {
            duration_us: columns[DURATION].option()?,
            lock_us: columns[LOCK].option()?,
            rows_sent: columns[SENT].option()?,
            rows_examined: columns[EXAMINED].option()?,
            rows_affected: columns[AFFECTED].option()?,
            error: match columns[ERROR].option()? {
                Some(number) => Some(u32::try_from(number).ok()?),
                None => None,
            },
            plan: Plan::from_number(columns[PLAN].number()?)?,
        };
        let mut name = || {
            let id = NameId(u32::try_from(columns[NAMES].number()?).ok()?);
            dictionary.has_name(id).then_some(id)
        };
        let (user, database, client) = (name()?, name()?, name()?);
        let template = match columns[TEMPLATE].option()? {
            Some(number) => Some(TemplateId(u32::try_from(number).ok()?)),
            None => None,
        };
        let parts = match template {
            Some(id) => {
                let count = dictionary.templates().get(id.0 as usize)?.parts;
                self.parts(count)?
            }
            None => Parts::default(),
        };
        Some(Event {
            kind: EventKind::from_number(kind & 0x0f)?,
            class: Class::from_number(kind >> 4)?,
            place: Place {
                session: self.session,
                start_us: self.start_us,
                exact: flags & EXACT != 0,
            },
            transaction: Transaction {
                inside: flags & INSIDE != 0,
                first: flags & FIRST != 0,
                last: flags & LAST != 0,
            },
            measured,
            user,
            database,
            client,
            template,
            parts,
        })
    }

    fn parts(&mut self, count: u32) -> Option<Parts<'a>> {
        let before = self.columns[column::LENGTHS].0;
        let mut total = 0_usize;
        for _ in 0..count {
            let length = self.columns[column::LENGTHS].number()?;
            total = total.checked_add(usize::try_from(length).ok()?)?;
        }
        let used = before.len() - self.columns[column::LENGTHS].0.len();
        Some(Parts {
            lengths: &before[..used],
            bytes: self.columns[column::PARTS].take(total)?,
        })
    }
}
