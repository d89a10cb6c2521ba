//! The threads of a process.

use std::fs;

use anyhow::{Context, Result};

/// A thread.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Thread {
    /// Its number.
    pub id: i32,
    /// The name that the kernel knows it by.
    pub name: String,
}

/// The threads that a process has now.
///
/// # Errors
/// The process has ended.
pub fn threads(pid: i32) -> Result<Vec<Thread>> {
    let folder = format!("/proc/{pid}/task");
    let entries = fs::read_dir(&folder).with_context(|| format!("cannot read {folder}"))?;
    let mut found: Vec<Thread> = entries
        .flatten()
        .filter_map(|entry| {
            Some(Thread {
                id: entry.file_name().to_str()?.parse().ok()?,
                name: fs::read_to_string(entry.path().join("comm"))
                    .ok()?
                    .trim()
                    .to_owned(),
            })
        })
        .collect();
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_of_this_process_are_found() {
        let found = threads(std::process::id() as i32).unwrap();
        assert!(
            found
                .iter()
                .any(|thread| thread.id == std::process::id() as i32)
        );
    }
}
