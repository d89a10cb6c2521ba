//! A server's traffic, data and configuration in one file, made on its machine and unpacked on another.
//!
//! A pack is a tar archive. `manifest.json` stands last: a pack without it was never finished. The manifest has the size and the
//! SHA-256 of every other member.

mod dump;
mod elsewhere;
mod manifest;
mod reader;
mod sizes;
mod writer;

pub use dump::{Dump, DumpLimits, DumpState, dump_program};
pub use elsewhere::{TablesElsewhere, tables_elsewhere};
pub use manifest::{
    LeftOut, MANIFEST_FORMAT, MachineFacts, Manifest, Member, PackedDatabase, ServerFacts,
};
pub use reader::{PackFolder, checked_manifest, unpack};
pub use sizes::{DatabaseSize, database_sizes, databases, table_count};
pub use writer::PackWriter;

/// How the name of a pack ends.
pub const PACK_ENDING: &str = ".niagara";
/// The member with the captured traffic.
pub const CAPTURE: &str = "shop.capture";
/// The member with the settings of the server.
pub const CONFIG: &str = "config.json";
/// The member with a dump that was made for the pack.
pub const DUMP: &str = "data.sql.zst";
/// The member with one file of data that was there already.
pub const DATA_FILE: &str = "data.dump";
/// The member with a folder of data that was there already.
pub const DATA_FOLDER: &str = "data.tar.zst";
/// The member that ends a pack.
const MANIFEST: &str = "manifest.json";
