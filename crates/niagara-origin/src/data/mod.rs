//! The user's data: data directories, physical backups and dumps, told apart, checked, and made into dataset images.

mod asleep;
mod backup;
mod change;
mod code;
mod database;
mod digest;
mod directory;
mod dump_files;
mod dump_head;
pub(crate) mod elsewhere;
mod ending;
mod first_lines;
#[cfg(fuzzing)]
mod fuzzing;
mod generated;
mod image;
mod in_clear;
mod load;
mod made_by;
mod mydumper;
mod nearest;
mod progress;
mod source;
mod split;
mod sql_mode;
mod statement;
mod stored;
mod system_tables;
mod tablespace;
mod unreadable;

pub use change::{ChangeMistake, ChangeStatement, Refusal, change_statements, tables_named};
pub use database::{database_of, databases_in_words};
pub use dump_head::DumpTool;
#[cfg(fuzzing)]
pub use fuzzing::read_dump_text;
pub use image::image_of;
pub use made_by::MadeBy;
pub use source::{DataKind, DataSource};
pub use stored::read_stored_code;
