//! What an ordinary user goes without.

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
