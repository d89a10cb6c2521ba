//! Files that are written whole or not at all.

use std::path::Path;

use anyhow::{Context, Result};

/// Writes `content` to `path`, whole or not at all.
pub fn write(path: &Path, content: &str) -> Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder)
        .with_context(|| format!("cannot make the folder {}", folder.display()))?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let part = folder.join(format!(".{name}.part"));
    let written = std::fs::write(&part, content).and_then(|()| std::fs::rename(&part, path));
    if written.is_err() {
        // What is there of it is of no use, and may be what fills the disk.
        let _ = std::fs::remove_file(&part);
    }
    written.with_context(|| format!("cannot write {}", path.display()))
}
