//! The report as one page: no network, no other file, light and dark, screen and paper.

mod facts;
mod findings;
mod page;
mod study;

pub use findings::warnings;
pub use page::{document, html};
pub use study::table;
