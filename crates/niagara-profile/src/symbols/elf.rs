//! The functions of one binary.

use std::fs;
use std::path::{Path, PathBuf};

use object::{Object, ObjectSymbol, SymbolKind};

use super::bounds::Bounds;
use super::debug_file::{DebugFolders, build_id_of};
use super::demangle::demangle;
use crate::process::Mapping;

/// Where a binary's names came from.
#[derive(
    Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case", tag = "kind", content = "path")]
pub enum SymbolSource {
    /// Its full symbol table.
    Own,
    /// A debug file of the same build-id.
    DebugFile(PathBuf),
    /// Only the names it exports: functions of one source file alone have none.
    Exports,
    /// It cannot be read.
    Nothing,
}

struct Function {
    start: u64,
    end: u64,
    name: String,
}

/// Functions by address, as the binary states it.
pub(super) struct ElfSymbols {
    functions: Vec<Function>,
    /// Where functions begin and end, named or not.
    bounds: Bounds,
    pub source: SymbolSource,
    pub build_id: String,
}

impl ElfSymbols {
    /// The functions of a mapped file, with what is to be added to their addresses; `None` when it is no binary.
    pub(super) fn read(mapping: &Mapping, folders: &DebugFolders) -> Option<(u64, ElfSymbols)> {
        let bytes = fs::read(&mapping.file).ok()?;
        let file = object::File::parse(&*bytes).ok()?;
        let base = crate::process::base_address(mapping, &file)?;
        let build_id = build_id_of(&file).unwrap_or_default();
        let exported = functions(file.dynamic_symbols());
        let mut symbols = functions(file.symbols());
        let source = if !symbols.is_empty() {
            SymbolSource::Own
        } else {
            match folders
                .find(&build_id)
                .and_then(|path| Some((debug_functions(&path)?, path)))
            {
                Some((found, path)) => {
                    symbols = found;
                    SymbolSource::DebugFile(path)
                }
                None if exported.is_empty() => SymbolSource::Nothing,
                None => SymbolSource::Exports,
            }
        };
        // Exported names are added after the others: where both name an address, the first stays.
        symbols.extend(exported);
        Some((
            base,
            ElfSymbols {
                functions: ordered(symbols),
                bounds: Bounds::of(&file),
                source,
                build_id,
            },
        ))
    }

    /// How many functions have a name.
    pub(super) fn len(&self) -> usize {
        self.functions.len()
    }

    /// Where the function begins that holds an address of the file, named or not.
    pub(super) fn start(&self, address: u64) -> Option<u64> {
        self.bounds.start(address)
    }

    /// The function at an address of the file.
    pub(super) fn find(&self, address: u64) -> Option<&str> {
        let index = self
            .functions
            .partition_point(|function| function.start <= address);
        let function = self.functions.get(index.checked_sub(1)?)?;
        (address < function.end).then_some(&*function.name)
    }
}

fn debug_functions(path: &Path) -> Option<Vec<Function>> {
    let bytes = fs::read(path).ok()?;
    let found = functions(object::File::parse(&*bytes).ok()?.symbols());
    (!found.is_empty()).then_some(found)
}

fn functions<'f>(symbols: impl Iterator<Item = impl ObjectSymbol<'f>>) -> Vec<Function> {
    symbols
        .filter(|symbol| symbol.kind() == SymbolKind::Text && symbol.is_definition())
        .filter_map(|symbol| {
            Some(Function {
                start: symbol.address(),
                end: symbol.address() + symbol.size(),
                name: symbol
                    .name()
                    .ok()
                    .filter(|name| !name.is_empty())?
                    .to_owned(),
            })
        })
        .collect()
}

/// By address, one name for each. Functions written in assembler have no size: they end where the next begins.
fn ordered(mut functions: Vec<Function>) -> Vec<Function> {
    functions.sort_by_key(|function| function.start);
    functions.dedup_by(|later, first| later.start == first.start);
    let starts: Vec<u64> = functions.iter().map(|function| function.start).collect();
    for (index, function) in functions.iter_mut().enumerate() {
        if function.end == function.start {
            function.end = starts
                .get(index + 1)
                .copied()
                .unwrap_or(function.start + 16);
        }
        function.name = demangle(&function.name);
    }
    functions
}

#[cfg(test)]
mod tests {
    use super::*;

    fn function(start: u64, end: u64, name: &str) -> Function {
        Function {
            start,
            end,
            name: name.to_owned(),
        }
    }

    #[test]
    fn gaps_between_functions_have_no_name() {
        let symbols = ElfSymbols {
            functions: ordered(vec![
                function(30, 40, "third"),
                function(10, 20, "first"),
                function(10, 15, "alias"),
                function(20, 20, "assembler"),
            ]),
            bounds: Bounds::default(),
            source: SymbolSource::Own,
            build_id: String::new(),
        };
        assert_eq!(symbols.len(), 3);
        assert_eq!(symbols.find(5), None);
        assert_eq!(symbols.find(19), Some("first"));
        assert_eq!(symbols.find(29), Some("assembler"));
        assert_eq!(symbols.find(39), Some("third"));
        assert_eq!(symbols.find(40), None);
    }
}
