//! Documents written down, a file for each format.

mod html;
mod markdown;
mod scroll;
mod terminal;

pub use html::html_page;
pub(crate) use html::page;
pub(crate) use markdown::text as markdown;
pub(crate) use terminal::text as terminal_text;
pub use terminal::{Files, View, terminal, wrapped};
