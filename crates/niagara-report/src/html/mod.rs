//! The report as one page: no network, no other file, light and dark, screen and paper.

mod facts;
mod findings;
mod page;
mod study;

pub use page::html;
