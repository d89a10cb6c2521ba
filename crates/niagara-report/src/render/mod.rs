//! Documents written down, a file for each format.

mod github;
mod html;
mod markdown;
mod openmetrics;
mod scroll;
mod terminal;

pub(crate) use github::text as github;
pub use html::html_page;
pub(crate) use html::page;
pub(crate) use markdown::text as markdown;
pub(crate) use openmetrics::text as openmetrics;
pub use openmetrics::{Label, OpenMetrics};
pub(crate) use terminal::text as terminal_text;
pub use terminal::{Files, View, terminal, wrapped};
