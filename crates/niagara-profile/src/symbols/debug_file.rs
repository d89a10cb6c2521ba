//! Symbols that live in a file of their own, found by build-id or by the name that the binary gives.

use std::fs;
use std::path::{Path, PathBuf};

use object::Object;

/// Folders laid out as `/usr/lib/debug`: `.build-id/ab/cdef….debug`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DebugFolders(pub Vec<PathBuf>);

impl Default for DebugFolders {
    /// Where distributions put them.
    fn default() -> Self {
        DebugFolders(vec!["/usr/lib/debug".into()])
    }
}

impl DebugFolders {
    /// The debug file of this build-id.
    pub fn find(&self, build_id: &str) -> Option<PathBuf> {
        if build_id.len() < 3 || !build_id.is_ascii() {
            return None;
        }
        let (first, rest) = build_id.split_at(2);
        self.0
            .iter()
            .map(|folder| folder.join(format!(".build-id/{first}/{rest}.debug")))
            .find(|path| path.is_file())
    }
}

/// The build-id of a binary, in hexadecimal; `None` when it has none or is no binary.
pub fn build_id(path: &Path) -> Option<String> {
    let bytes = fs::read(path).ok()?;
    build_id_of(&object::File::parse(&*bytes).ok()?)
}

pub(super) fn build_id_of<'f>(file: &impl Object<'f>) -> Option<String> {
    let id = file.build_id().ok()??;
    Some(hex::encode(id))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_found_by_build_id() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(".build-id/ab/cd.debug");
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, "").unwrap();
        let folders = DebugFolders(vec!["/nowhere".into(), folder.path().to_owned()]);
        assert_eq!(folders.find("abcd"), Some(file));
        assert_eq!(folders.find("abce"), None);
        assert_eq!(folders.find(""), None);
    }
}
