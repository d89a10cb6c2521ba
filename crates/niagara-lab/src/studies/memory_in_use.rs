//! A word on memory that others have, before servers are started beside them.

use anyhow::Result;
use niagara_server::machine::memory_available_bytes;

use crate::studies::session::Session;
use crate::studies::set_up::SetUp;

/// What whoever measures beside other programs must know: sizes are worked out from all of the memory, and a machine that has none left
/// ends the largest program.
///
/// # Errors
/// The machine cannot be looked at.
pub(crate) fn memory_in_use(session: &Session<'_>, set_up: &SetUp<'_>) -> Result<Option<String>> {
    let Some(available) = memory_available_bytes() else {
        return Ok(None);
    };
    let machine = session.inventory.fingerprint()?;
    let usable = machine.usable_memory();
    // Huge pages that are reserved and free are there for the servers.
    let available = available + machine.memory.huge_pool_free_bytes();
    let stated = set_up.study.origin.machine.memory;
    Ok(memory_note(usable, available.min(usable), stated))
}

/// The same for so many `usable` bytes of which so many are `available`; `stated`: the memory that is asked to be reckoned with.
fn memory_note(usable: u64, available: u64, stated: Option<u64>) -> Option<String> {
    // Of two servers with three tenths of all for each there is room, and of what was asked for whoever asked knows it.
    if stated.is_some() || available as f64 >= 0.6 * usable as f64 {
        return None;
    }
    let gigabytes = |bytes: u64| bytes as f64 / f64::from(1 << 30);
    Some(format!(
        "other programs use memory: {:.1} of {:.1} GB can be had. Two servers are alive at once, and levers size what they reserve by all of it; \
         --memory {}M has them smaller",
        gigabytes(available),
        gigabytes(usable),
        (available / 2) >> 20
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_measures_beside_a_large_program_is_told_and_how_it_fits() {
        let gigabytes = |count: u64| count << 30;
        assert_eq!(memory_note(gigabytes(64), gigabytes(40), None), None);
        let text = memory_note(gigabytes(64), gigabytes(20), None).expect("little is left");
        assert!(text.contains("20.0 of 64.0 GB"), "{text}");
        assert!(text.contains("--memory 10240M"), "{text}");
        let stated = Some(gigabytes(10));
        assert_eq!(memory_note(gigabytes(64), gigabytes(20), stated), None);
    }
}
