//! A part of a capture, as a capture.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::dropped::Cause;
use crate::error::CaptureError;
use crate::file::{
    CaptureReader, CaptureWriter, Dictionary, Event, EventKind, NameId, Summary, TemplateId,
    Transaction,
};

/// What is kept: what fits everything that is asked for.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// What begins at or after this, in microseconds since 1970.
    pub from_us: Option<i64>,
    /// What begins before this, in microseconds since 1970.
    pub to_us: Option<i64>,
    /// What is sent with one of these databases in use; empty for all.
    pub databases: Vec<String>,
    /// What is sent with no database in use is kept, too: logins, and sessions before they choose one.
    pub without_database: bool,
    /// What is sent by one of these users; empty for all.
    pub users: Vec<String>,
    /// Statements whose digest's number begins so; empty for all. Events without a statement are kept.
    pub digests: Vec<String>,
    /// Statements that change nothing.
    pub read_only: bool,
    /// All but the whole tables that dump programs read.
    pub without_dumps: bool,
}

/// Writes what fits into another capture; its summary.
///
/// # Errors
/// The capture cannot be read or is damaged, none of its statements fits, the other cannot be written; `stop` was set.
pub fn filter(
    from: &Path,
    to: &Path,
    replace: bool,
    filter: &Filter,
    stop: &AtomicBool,
) -> Result<Summary, CaptureError> {
    let mut reader = CaptureReader::open(from)?;
    let mut writer = CaptureWriter::create(to, replace)?;
    let mut summary = reader.summary().clone();
    let mut copied = Copied::default();
    let mut left_out = 0;
    let mut sessions = HashSet::new();
    let mut begun = Begun::default();
    reader.for_each(|event, dictionary| {
        if stop.load(Ordering::Relaxed) {
            return Err(CaptureError::Stopped);
        }
        let is_kept = filter.keeps(event, dictionary);
        let transaction = begun.see(event, is_kept);
        if !is_kept {
            left_out += 1;
            return Ok(());
        }
        sessions.insert(event.place.session);
        let event = Event {
            transaction,
            ..*event
        };
        copied.write(&event, dictionary, &mut writer)
    })?;
    if left_out > 0 {
        summary.dropped.add_without_place(Cause::Filtered, left_out);
        // The server's counters are those of everything.
        summary.counted = None;
    }
    summary.sessions = sessions.len() as u64;
    if writer.statements() == 0 {
        return Err(CaptureError::NothingKept(from.to_owned()));
    }
    writer.finish(summary)
}

impl Filter {
    fn keeps(&self, event: &Event<'_>, dictionary: &Dictionary) -> bool {
        let named = |wanted: &[String], id: NameId| {
            wanted.is_empty()
                || wanted
                    .iter()
                    .any(|name| name.as_bytes() == dictionary.name(id))
        };
        let start = event.place.start_us;
        let in_time =
            self.from_us.is_none_or(|from| start >= from) && self.to_us.is_none_or(|to| start < to);
        in_time
            && (named(&self.databases, event.database)
                || (self.without_database && dictionary.name(event.database).is_empty()))
            && named(&self.users, event.user)
            && (!self.read_only || event.class.is_read_only())
            && (!self.without_dumps || !is_of_dump(event, dictionary))
            && self.keeps_digest(event, dictionary)
    }

    fn keeps_digest(&self, event: &Event<'_>, dictionary: &Dictionary) -> bool {
        let Some(template) = event.template else {
            return true;
        };
        if self.digests.is_empty() {
            return true;
        }
        let number = dictionary
            .digest(dictionary.template(template).digest)
            .digest
            .to_string();
        self.digests
            .iter()
            .any(|wanted| number.starts_with(&wanted.to_ascii_lowercase()))
    }
}

/// What mysqldump and mariadb-dump write into the statement that reads a table.
const OF_DUMP: &[u8] = b"/*!40001 SQL_NO_CACHE */";

/// Whether a statement is one by which a dump program reads a table.
pub(crate) fn is_dump(statement: &[u8]) -> bool {
    memchr::memmem::find(statement, OF_DUMP).is_some()
}

fn is_of_dump(event: &Event<'_>, dictionary: &Dictionary) -> bool {
    event
        .template
        .is_some_and(|template| is_dump(&dictionary.template(template).skeleton))
}

/// Sessions whose transaction under way is kept from its beginning on: what is left of others belongs to none, or it would be
/// taken for a part of the next one that is kept.
#[derive(Default)]
struct Begun(HashSet<u64>);

impl Begun {
    /// The transaction of an event, as far as it is kept.
    fn see(&mut self, event: &Event<'_>, is_kept: bool) -> Transaction {
        let (session, transaction) = (event.place.session, event.transaction);
        let ends_it = match event.kind {
            EventKind::Prepare | EventKind::Database => false,
            _ => !transaction.inside,
        };
        if ends_it || (transaction.first && !is_kept) {
            self.0.remove(&session);
        } else if transaction.first {
            self.0.insert(session);
        }
        let is_begun = self.0.contains(&session);
        if transaction.last {
            self.0.remove(&session);
        }
        match is_begun {
            true => transaction,
            false => Transaction::default(),
        }
    }
}

/// Numbers of the one file by those of the other.
#[derive(Default)]
struct Copied {
    names: HashMap<NameId, NameId>,
    templates: HashMap<TemplateId, TemplateId>,
}

impl Copied {
    fn write(
        &mut self,
        event: &Event<'_>,
        dictionary: &Dictionary,
        writer: &mut CaptureWriter,
    ) -> Result<(), CaptureError> {
        let mut name = |id: NameId, writer: &mut CaptureWriter| {
            *self
                .names
                .entry(id)
                .or_insert_with(|| writer.name(dictionary.name(id)))
        };
        let user = name(event.user, writer);
        let database = name(event.database, writer);
        let client = name(event.client, writer);
        let template = event.template.map(|id| {
            *self.templates.entry(id).or_insert_with(|| {
                let template = dictionary.template(id);
                if id == TemplateId(0) {
                    return id;
                }
                let digest = dictionary.digest(template.digest).clone();
                writer.template(digest, &template.skeleton)
            })
        });
        let event = Event {
            user,
            database,
            client,
            template,
            ..*event
        };
        writer.event(&event, event.parts())
    }
}
