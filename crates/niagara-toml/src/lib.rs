//! How Niagara reads its TOML files: a format is a Rust type, and every mistake has a file, line, column, cause and remedy.
//!
//! A format's type derives [`serde::Deserialize`] and [`schemars::JsonSchema`], with `deny_unknown_fields`; the doc comments of
//! its fields are what messages and editors say about keys. [`read`] checks a text against the type's schema, which finds all
//! mistakes of structure at once, then makes the value. [`At`] keeps where a value stands, for mistakes of meaning, which
//! the caller adds to [`Mistakes`]; [`schema`] is the JSON Schema for editors.

mod at;
mod check;
mod mistake;
mod nearest;
mod read;
mod schema;
mod values;

pub use at::At;
pub use check::Format;
pub use mistake::{FileError, Finding, Found, Mistake, Mistakes, finding};
pub use nearest::{did_you_mean, nearest};
pub use read::read;
pub use schema::schema;
pub use values::{Scalar, Text, TextOr};
