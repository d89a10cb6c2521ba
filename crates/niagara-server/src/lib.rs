//! Private MySQL-family servers: obtain, launch, clone data, place, stop.
//!
//! Nothing of the user's is touched: packages are unpacked under a cache folder, data directories are private,
//! sockets live in a folder of mode 0700, TCP is on loopback behind a random password (on another address of this
//! host only for a [`Reach`] that somebody asked for), and no server outlives its owner. The walk is: [`Catalog`] → [`get`] → [`Install`] → [`ImageStore::ensure`] → [`Image::clone_to`] →
//! [`launch`] → [`RunningServer`].

mod account;
pub mod archive;
mod bootstrap;
pub mod build;
mod cache;
mod catalog;
mod copy;
mod debug_symbols;
mod elf;
mod engine;
mod environment;
mod family;
mod file_digest;
mod helper;
mod image;
mod install;
mod launch;
mod left_behind;
mod log;
pub mod machine;
mod owner;
mod page_cache;
mod patch;
mod peer;
mod process;
mod reach;
mod registry;
mod run_delay;
mod running;
mod runtime;
mod share;
mod suite;
mod usage;
mod verify;

pub use cache::{Cache, WorkFolder};
pub use catalog::{
    Archive, BuildDescription, Catalog, Distribution, EnginePackages, MallocPackage,
    ServerDescription, SuitePackages,
};
pub use copy::{CloneWay, clone_tree};
pub use debug_symbols::{DebugSymbols, debug_symbols};
pub use engine::with_engine;
pub use environment::environment;
pub use family::{Family, Version};
pub use file_digest::file_digest;
pub use helper::Helper;
pub use image::{Image, ImageRecord, ImageStore};
pub use install::{Install, Removed, get, installed, remove};
pub use launch::{LaunchSpec, StartingServer, command_line, launch, spawn, spawn_within_reach};
pub use left_behind::{EndServersNaming, processes_naming};
pub use page_cache::drop_cached;
pub use peer::{server_behind_address, server_behind_socket};
pub use reach::Reach;
pub use registry::{Swept, sweep_stale};
pub use running::RunningServer;
pub use runtime::{Config, Runtime, Scheduling, TransportKind, normalise_variable};
pub use share::share_folder;
pub use suite::{Suite, get_suite};
pub use usage::{IoUsage, Usage, UsageMeter, UsageSample};
