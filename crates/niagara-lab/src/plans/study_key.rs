//! What a study is known by.

use anyhow::Result;
use serde::Serialize;
use sha2::{Digest, Sha256};

/// The hash that stands for everything that decides what is measured.
///
/// # Errors
/// Something that is no JSON.
pub fn study_key(content: &impl Serialize) -> Result<String> {
    let digest = Sha256::digest(serde_json::to_vec(content)?);
    Ok(digest
        .iter()
        .take(16)
        .map(|byte| format!("{byte:02x}"))
        .collect())
}
