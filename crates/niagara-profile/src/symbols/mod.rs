//! From addresses to names.

mod bounds;
mod debug_file;
mod demangle;
mod elf;
mod kernel;

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

use anyhow::Result;

pub use debug_file::{DebugFolders, build_id};
pub use elf::SymbolSource;

use crate::folded::{Frame, Place};
use crate::process::Mapping;
use elf::ElfSymbols;
use kernel::KernelSymbols;

/// Where the names of one file's functions came from.
#[derive(
    Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
pub struct ModuleSymbols {
    /// The file.
    pub path: PathBuf,
    /// Its build-id; empty when it has none.
    pub build_id: String,
    /// Where its symbols came from.
    pub source: SymbolSource,
    /// How many functions have a name.
    pub functions: usize,
}

struct Loaded {
    addresses: Range<u64>,
    base: u64,
    place: Place,
    name: String,
    symbols: ElfSymbols,
}

/// Names the frames of one process.
pub struct Symbolizer {
    modules: Vec<Loaded>,
    kernel: KernelSymbols,
    sources: Vec<ModuleSymbols>,
}

impl Symbolizer {
    /// Reads the symbols of everything mapped into a process, of which `server` is the program itself. Where a file has no
    /// full symbol table of its own, the folders are looked through by its build-id.
    ///
    /// # Errors
    /// Never for a file that cannot be read: its frames stay without names.
    pub fn new(mappings: &[Mapping], server: &Path, folders: &DebugFolders) -> Result<Symbolizer> {
        let mut modules: Vec<Loaded> = Vec::new();
        let mut sources: BTreeMap<PathBuf, ModuleSymbols> = BTreeMap::new();
        // That of a container has no path here, or another file's.
        let direct = server.canonicalize().unwrap_or_else(|_| server.to_owned());
        for mapping in mappings {
            let Some((base, symbols)) = ElfSymbols::read(mapping, folders) else {
                continue;
            };
            let place = if mapping.path == direct || mapping.path == server {
                Place::Server
            } else {
                Place::Library
            };
            sources
                .entry(mapping.path.clone())
                .or_insert_with(|| ModuleSymbols {
                    path: mapping.path.clone(),
                    build_id: symbols.build_id.clone(),
                    source: symbols.source.clone(),
                    functions: symbols.len(),
                });
            modules.push(Loaded {
                addresses: mapping.addresses.clone(),
                base,
                place,
                name: short_name(&mapping.path),
                symbols,
            });
        }
        modules.sort_by_key(|module| module.addresses.start);
        Ok(Symbolizer {
            modules,
            kernel: KernelSymbols::read(),
            sources: sources.into_values().collect(),
        })
    }

    /// Where the names come from, file by file.
    pub fn sources(&self) -> &[ModuleSymbols] {
        &self.sources
    }

    /// Whether the kernel lets its functions be named.
    pub fn names_kernel(&self) -> bool {
        !self.kernel.is_empty()
    }

    /// The frame of a user address.
    pub(crate) fn user(&self, address: u64) -> Frame {
        let index = self
            .modules
            .partition_point(|module| module.addresses.start <= address);
        let module = index
            .checked_sub(1)
            .and_then(|index| self.modules.get(index))
            .filter(|module| module.addresses.contains(&address));
        let Some(module) = module else {
            return Frame {
                name: "[unknown]".to_owned(),
                place: Place::Unknown,
                named: false,
                inferred: false,
            };
        };
        let inside = address.wrapping_sub(module.base);
        match module.symbols.find(inside) {
            Some(name) => Frame {
                name: name.to_owned(),
                place: module.place,
                named: true,
                inferred: false,
            },
            // Told apart by where they begin, so that what calls them and what they call can say who they are.
            None => Frame {
                name: match module.symbols.start(inside) {
                    Some(start) => format!("[{}+{start:#x}]", module.name),
                    None => format!("[{}]", module.name),
                },
                place: module.place,
                named: false,
                inferred: false,
            },
        }
    }

    /// The kernel's function at an address, where the kernel lets it be named.
    pub(crate) fn kernel_name(&self, address: u64) -> Option<&str> {
        self.kernel.find(address)
    }

    /// The frame of a kernel address.
    pub fn kernel(&self, address: u64) -> Frame {
        match self.kernel_name(address) {
            Some(name) => Frame {
                name: name.to_owned(),
                place: Place::Kernel,
                named: true,
                inferred: false,
            },
            None => Frame {
                name: "[kernel]".to_owned(),
                place: Place::Kernel,
                named: false,
                inferred: false,
            },
        }
    }
}

fn short_name(path: &Path) -> String {
    path.file_name()
        .unwrap_or(path.as_os_str())
        .to_string_lossy()
        .into_owned()
}
