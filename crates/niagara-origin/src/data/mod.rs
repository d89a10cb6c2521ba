//! The user's data: data directories, physical backups and dumps, told apart, checked, and made into dataset images.

mod asleep;
mod backup;
mod digest;
mod directory;
mod dump_files;
pub(crate) mod elsewhere;
mod ending;
mod image;
mod in_clear;
mod load;
mod made_by;
mod progress;
mod source;
mod split;
mod statement;
mod tablespace;
mod unreadable;

pub use image::image_of;
pub use made_by::MadeBy;
pub use source::{DataKind, DataSource};
