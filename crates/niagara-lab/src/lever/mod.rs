//! Levers: named changes from one variant to another, as data.
//!
//! A lever is a file of `levers/`, or of a folder given by the user ([`load`]). It says what it changes, why,
//! and where it applies; values may be computed from the machine. [`Lever::applicability`] turns it into
//! a [`Change`] of literal values for the machine, server and workload at hand, or into the reason why not.
//! [`parse_variant`] reads what people write on the command line: `mariadb-10.11+malloc=jemalloc`.
//! The format is described in `docs/levers.md`.

mod applicability;
mod change;
mod condition;
mod context;
mod cpu_choice;
mod definition;
mod expression;
mod in_effect;
mod library;
mod measured;
mod open_files;
mod parse;
mod prior;
mod production;
mod range;
mod read_measured;
mod read_range;
mod rewrite_file;
mod risk;
#[cfg(test)]
mod shipped;
mod template;
mod variant_expr;
mod version_range;

pub use change::Change;
pub use condition::Condition;
pub use context::Context;
pub(crate) use definition::Role;
pub use definition::{Deploy, Lever, Need, NoteFor, When, WorkloadKind};
pub(crate) use in_effect::in_effect;
pub use in_effect::is_set_so;
pub use library::{called, load, meant};
pub use measured::Measured;
pub(crate) use open_files::open_files;
pub(crate) use parse::scheduling;
pub use parse::schema;
pub use production::ProductionMachine;
pub(crate) use range::Searching;
pub use range::{Scale, Span};
pub(crate) use rewrite_file::read_rewrites;
pub use risk::Risk;
pub use variant_expr::Item;
pub(crate) use variant_expr::{ENGINES, VariantError, known_engine, meant_engine, parse_variant};
pub use version_range::VersionRange;
