//! Failures of servers, as warnings have them.

/// The first line of a failure and its cause; the command and the server's log stay with the duel in the results.
pub(crate) fn in_short(reason: &str) -> String {
    let mut lines = reason.lines();
    let first = lines.next().unwrap_or_default();
    match lines.find_map(|line| line.strip_prefix("cause: ")) {
        Some(cause) => format!("{first}: {cause}"),
        None => first.to_owned(),
    }
}
