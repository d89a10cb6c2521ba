//! Errors as data: what went wrong, and what to do about it.
//!
//! `anyhow` carries errors and their contexts. A remedy is no part of a message: a [`Problem`] has it beside the cause.
//! [`Explain::explain`] gathers both from a whole chain into an [`Explanation`], which is kept in results and JSON.
//! Its `Display` is the one place that writes a remedy for people.
//!
//! ```
//! use anyhow::{Context as _, Result};
//! use niagara_error::{Explain as _, Remedy as _, bail};
//!
//! fn connect(tool: &str) -> Result<()> {
//!     bail!("building takes {tool}, which is not here"; remedy: "apt install {tool}");
//! }
//!
//! fn read() -> Result<String> {
//!     std::fs::read_to_string("/none").context("cannot read /none").remedy("check the path")
//! }
//!
//! let told = connect("cmake").context("no build").expect_err("none").explain();
//! assert_eq!(told.cause, "no build: building takes cmake, which is not here");
//! assert_eq!(told.to_string(), format!("{}\nremedy: apt install cmake", told.cause));
//! assert_eq!(read().expect_err("none").explain().remedies, ["check the path"]);
//! ```

mod explain;
mod explanation;
mod problem;
mod remedied;

pub use explain::Explain;
pub use explanation::{Explanation, remedy_line};
pub use problem::{Problem, Remedy};

/// What the macros name.
#[doc(hidden)]
pub mod private {
    pub use {anyhow, inventory};

    pub use crate::remedied::Registration;
}

/// A [`Problem`] of two formats, as in `problem!("{tool} is not here"; remedy: "apt install {tool}")`.
#[macro_export]
macro_rules! problem {
    ($cause:literal $(, $arg:expr)* $(,)? $(; remedy: $remedy:literal $(, $word:expr)* $(,)?)*) => {
        $crate::Problem::new(::std::format!($cause $(, $arg)*))
            $(.remedy(::std::format!($remedy $(, $word)*)))*
    };
}

/// [`anyhow::anyhow!`] that takes remedies as [`problem!`] does.
#[macro_export]
macro_rules! anyhow {
    ($cause:literal $(, $arg:expr)* $(,)? $(; remedy: $remedy:literal $(, $word:expr)* $(,)?)+) => {
        $crate::private::anyhow::Error::new(
            $crate::problem!($cause $(, $arg)* $(; remedy: $remedy $(, $word)*)+)
        )
    };
    ($($message:tt)*) => {
        $crate::private::anyhow::anyhow!($($message)*)
    };
}

/// [`anyhow::bail!`] that takes remedies as [`problem!`] does.
#[macro_export]
macro_rules! bail {
    ($cause:literal $(, $arg:expr)* $(,)? $(; remedy: $remedy:literal $(, $word:expr)* $(,)?)+) => {
        return ::std::result::Result::Err(
            $crate::anyhow!($cause $(, $arg)* $(; remedy: $remedy $(, $word)*)+)
        )
    };
    ($($message:tt)*) => {
        $crate::private::anyhow::bail!($($message)*)
    };
}
