//! Packages from a distribution's archive, without root and without touching the system's own package state.

mod apt;
mod deb;
mod mirror;
mod pool;
mod room;

pub use apt::{Apt, SourceDownload};
pub(crate) use deb::{merge, package_and_version, unpack, unpack_as_it_is};
pub(crate) use mirror::host_release;
