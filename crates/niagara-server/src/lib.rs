//! Private MySQL-family servers: obtain, launch, clone data, place, stop.
//!
//! Nothing of the user's is touched: packages are unpacked under a cache folder, data directories are private,
//! sockets live in a folder of mode 0700, TCP is on loopback behind a random password (on another address of this
//! host only for a [`RemoteAccess`] that somebody asked for), and no server outlives its owner. The walk is: [`Catalog`] → [`get`] → [`Install`] → [`ImageStore::ensure`] → [`Image::clone_to`] →
//! [`launch`] → [`RunningServer`].

mod cache;
mod cancel;
mod config;
mod disk_full;
mod disk_use;
mod family;
mod file_digest;
mod file_name;
mod hide_clause;
mod host_share;
mod image;
mod install;
mod launch;
pub mod machine;
mod named;
mod obtain;
mod owner_lock;
mod process;
mod removal;
mod repeated;
mod sweep;
mod switches;

pub use cache::{Cache, WorkFolder, create_private, write_private};
pub use cancel::{Cancel, Cancelled};
pub use config::{Config, both_names, normalise_variable};
pub use disk_full::{DiskFull, FULL_BELOW};
pub use family::{Family, Version};
pub use file_digest::file_digest;
pub use file_name::file_name;
pub use hide_clause::HideClause;
pub use host_share::{HostBounds, HostShare, lower_priority};
pub use image::clone::{Copying, copy_tree};
pub use image::layout::layout_of;
pub use image::making::{Making, settle};
pub use image::page_cache::{drop_cached, read_anew};
pub use image::store::{Image, ImageContent, ImageRecord, ImageStore};
pub use image::unused::{ImageBounds, RemovedImages};
pub use install::Install;
pub use install::elf::{SearchPath, linked_libraries, search_path};
pub use install::share::{PRIVATE_LIB, plugin_folder_of, share_folder, sql_file};
pub use install::version::NO_PROFILE;
pub use launch::arguments::is_flag;
pub use launch::environment::{environment, malloc_name};
pub use launch::huge_text::{TEXT_LIBRARY, TEXT_LIBRARY_NAME};
pub use launch::kept_options::keep_options;
pub use launch::remote_access::RemoteAccess;
pub use launch::running::{LOAD_DATABASE, RunningServer};
pub use launch::shell_words::{command_line, quoted as shell_quoted};
pub use launch::spec::LaunchSpec;
pub use launch::start::{StartFailed, StartingServer, launch, spawn, spawn_for_remote};
pub use launch::start_obstacle::Around;
pub use named::{running_server, server_named};
pub use niagara_settings::{ProcessSettings, Scheduling, TlsSession, TransportKind};
pub use niagara_toml::did_you_mean;
pub use obtain::archive;
pub use obtain::catalog::{
    BuildDescription, Catalog, CpuSeconds, Distribution, EarlierSource, ServerDescription,
    of_same_version,
};
pub use obtain::debug_symbols::debug_symbols;
pub use obtain::engine::with_engine;
pub use obtain::fetch::{get, installed};
pub use obtain::mallocs::mallocs_of_this_release;
pub use obtain::test_suite::{Suite, get_suite};
pub use process::by_folder::{EndServersNaming, processes_naming};
pub use process::helper::Helper;
pub use process::listener::{listening_servers, server_behind};
pub use process::live::LiveProcess;
pub use process::spawn::MOST_OPEN_FILES;
pub use process::usage::{Usage, UsageMeter, UsageSample};
pub use removal::{Removed, ServerInUse, hold_server, remove};
pub use repeated::{is_repeated, repeated};
pub use sweep::{Swept, sweep_stale};
pub use switches::{is_switches, switched};
