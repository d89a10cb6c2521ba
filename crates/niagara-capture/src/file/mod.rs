//! The capture file. [`DESCRIPTION`] describes it for who writes another reader.
//!
//! A dictionary of digests, statement templates and names grows as the file is written; events come in blocks of columns,
//! compressed by Zstandard. Writer and reader hold one block and the dictionary.

mod block;
mod columns;
mod counts;
mod dictionary;
mod event;
mod plan;
mod reader;
mod summary;
mod varint;
mod writer;

pub(crate) use counts::ASK as ASK_COUNTS;
pub use counts::ServerCounts;
pub use dictionary::{Dictionary, DigestEntry, DigestId, NameId, Template, TemplateId};
pub use event::{Event, EventKind, Measured, Parts, Place, Transaction};
pub use plan::Plan;
pub use reader::CaptureReader;
pub use summary::{BlockEntry, Loss, Order, Source, Summary};
pub(crate) use writer::CaptureWriter;

/// The format, byte by byte, as Markdown.
pub const DESCRIPTION: &str = include_str!("format.md");

/// The number of the format, raised with every change that an older reader cannot read.
const FORMAT: u32 = 2;

/// The first bytes of a capture: no text, so that transfers in text mode show.
const MAGIC: [u8; 8] = *b"NGCAP\r\n\x1a";
/// Its last bytes.
const END: [u8; 8] = *b"PACGN\r\n\x1a";
