//! A file known by its content.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use anyhow::{Context, Result};
use sha2::{Digest, Sha256};

/// Bytes that are read at a time: binaries have hundreds of megabytes.
const PART: usize = 1 << 20;

/// SHA-256 of a file's content, in hexadecimal digits.
///
/// # Errors
/// It cannot be read.
pub fn file_digest(path: &Path) -> Result<String> {
    let mut digest = Sha256::new();
    let mut read = || -> io::Result<()> {
        let mut file = File::open(path)?;
        let mut part = vec![0; PART];
        loop {
            match file.read(&mut part) {
                Ok(0) => return Ok(()),
                Ok(count) => digest.update(&part[..count]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    };
    read().with_context(|| format!("cannot read {}", path.display()))?;
    Ok(hex::encode(digest.finalize()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_known_by_its_content() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("server");
        let of = |content: &str| {
            std::fs::write(&path, content).expect("written");
            file_digest(&path).expect("readable")
        };
        assert_eq!(of("one"), of("one"));
        assert_ne!(of("one"), of("two"));
        // The SHA-256 of nothing, as everybody has it.
        assert!(of("").starts_with("e3b0c44298fc1c14"));
    }
}
