//! What an ordinary user goes without, and what root has made for one.

use std::path::Path;

use anyhow::{Context, Result};
use niagara_server::machine::Fingerprint;

/// What running as root would add, in a sentence; nothing for root.
pub fn what_root_would_add(machine: &Fingerprint) -> Option<String> {
    if machine.limits.root {
        return None;
    }
    let locks_little = machine
        .limits
        .locked_memory_bytes
        .is_some_and(|bytes| bytes < machine.usable_memory());
    let levers = match locks_little {
        true => "levers that raise the server's priority or lock its memory",
        false => "levers that raise the server's priority",
    };
    let look = match machine.perf.paranoid {
        Some(level) if level > 1 => {
            ", and a profile of where the time goes (or: sysctl kernel.perf_event_paranoid=1)"
        }
        _ => ", and the kernel's own functions in profiles",
    };
    Some(format!(
        "running as an ordinary user, which is enough to measure; root would add {levers}{look}"
    ))
}

/// Gives a file to the user who called sudo, who copies it elsewhere; it stays root's where nobody did.
///
/// # Errors
/// The file is gone, or its file system has no owners.
pub fn hand_to_caller(path: &Path) -> Result<()> {
    let is_root = nix::unistd::geteuid().is_root();
    let id = |name: &str| std::env::var(name).ok()?.parse::<u32>().ok();
    let (Some(user), Some(group)) = (id("SUDO_UID"), id("SUDO_GID")) else {
        return Ok(());
    };
    match is_root {
        true => std::os::unix::fs::lchown(path, Some(user), Some(group))
            .with_context(|| format!("cannot give {} to the user who called sudo", path.display())),
        false => Ok(()),
    }
}
