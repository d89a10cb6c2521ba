//! Dataset images: made, cloned, put out of the page cache.

pub(crate) mod clone;
mod initialise;
pub(crate) mod layout;
pub(crate) mod making;
pub(crate) mod page_cache;
pub(crate) mod store;
pub(crate) mod unused;
