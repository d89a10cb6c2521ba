//! This program's own file, which the agent must be too.

use std::fs::File;
use std::io::{self, Read};

use anyhow::{Context, Result};
use sha2::{Digest, Sha256};

/// The kernel's name for it, which holds also when the file was replaced since.
const OWN: &str = "/proc/self/exe";

/// This program's file.
///
/// # Errors
/// `/proc` is not there.
pub(crate) fn open_own() -> Result<File> {
    File::open(OWN).with_context(|| format!("cannot read {OWN}"))
}

/// SHA-256 of this program's file, in hexadecimal digits.
///
/// # Errors
/// It cannot be read.
pub fn own_hash() -> Result<String> {
    let mut file = open_own()?;
    let mut digest = Sha256::new();
    let mut buffer = vec![0; 1 << 20];
    loop {
        match file.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => digest.update(&buffer[..count]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error).with_context(|| format!("cannot read {OWN}")),
        }
    }
    Ok(digest
        .finalize()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect())
}
