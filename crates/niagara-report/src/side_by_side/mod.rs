//! Two studies side by side: before and after, two machines, two versions.

mod common;
mod picture;
mod sections;
mod set_up;
mod studies;

pub use common::Common;
pub(crate) use sections::document;
pub use set_up::{Fact, Part};
pub use studies::{SideBySide, StudyInShort};
