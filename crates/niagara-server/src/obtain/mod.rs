//! Servers obtained: described in the catalogue, fetched from an archive, made to run from their own prefix; and what goes
//! with them: storage engines, debug symbols, test suites.

pub mod archive;
pub(crate) mod catalog;
pub(crate) mod debug_symbols;
pub(crate) mod engine;
pub(crate) mod fetch;
pub(crate) mod mallocs;
pub(crate) mod patchelf;
pub(crate) mod test_suite;
