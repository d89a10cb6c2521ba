//! What was captured and what was dropped, as text.

use std::path::Path;

use niagara_capture::client::{ClientsOfUser, Knowledge};
use niagara_capture::file::{Order, Source, Summary};
use niagara_capture::log::LogKind;
use niagara_error::remedy_line;
use niagara_load::counted;
use niagara_report::number::duration;

/// What an import or a filter made.
pub fn say_summary(path: &Path, summary: &Summary) {
    say!(
        "{}: {} of {} in {}",
        path.display(),
        counted(summary.statements, "statement"),
        counted(summary.sessions, "session"),
        span(summary)
    );
    say_dropped(summary);
    if let Some(remedy) = summary.remedy_for_nothing() {
        say!("{}", remedy_line(remedy));
        return;
    }
    say!(
        "`niagara capture info {}` shows what is in it",
        path.display()
    );
}

/// What a capture has that goes into a pack.
pub fn say_traffic(summary: &Summary) {
    say!(
        "traffic: {} of {} in {}",
        counted(summary.statements, "statement"),
        counted(summary.sessions, "session"),
        span(summary)
    );
    say_dropped(summary);
}

/// How long the capture is.
pub fn span(summary: &Summary) -> String {
    match (summary.first_us, summary.last_us) {
        (Some(first), Some(last)) => duration(last.saturating_sub(first).max(0) as f64 / 1e6),
        _ => "no time at all".to_owned(),
    }
}

/// What is not in it, and what its sources do not say.
pub fn say_dropped(summary: &Summary) {
    if summary.dropped.is_empty() {
        say!("Dropped: nothing");
    } else {
        say!("Dropped");
    }
    for (cause, drops) in summary.dropped.by_cause() {
        let first = drops
            .first
            .as_ref()
            .map_or(String::new(), |place| format!(", first at {place}"));
        say!("  {:>9}  {}{first}", drops.count, cause.text());
    }
    for note in notes(summary) {
        say!("Note: {note}");
    }
}

/// What is known of a user's clients that their logins do not say.
fn client(clients: &ClientsOfUser) -> String {
    let whose = match &clients.user {
        Some(user) => format!("of user '{user}'"),
        None => "of all users".to_owned(),
    };
    let how = match clients.known {
        Knowledge::Given => "as was said".to_owned(),
        Knowledge::Asked => "as the server said of their sessions".to_owned(),
        Knowledge::Inferred => format!(
            "inferred from {}; --client-flags and --charset say otherwise",
            counted(clients.statements, "statement")
        ),
    };
    format!("clients {whose} negotiate {} ({how})", clients.settings)
}

/// What the sources do not say.
fn notes(summary: &Summary) -> Vec<String> {
    let mut notes = Vec::new();
    if summary.sampled > 1 {
        notes.push(format!(
            "the server logged one in {} statements (log_slow_rate_limit): the capture is a sample, its sessions have gaps",
            summary.sampled
        ));
    }
    if summary.sampled_sessions > 1 {
        notes.push(format!(
            "the server logged one in {} sessions, each of them whole (log_slow_rate_type = session): what they did may be replayed and \
             decided by; the server had that many times the load",
            summary.sampled_sessions
        ));
    }
    for source in summary.sources.iter().filter(|source| !source.has_times) {
        notes.push(format!(
            "{} says no time at all: all of it is taken for the second in which the file was changed last",
            source.file
        ));
    }
    notes.extend(summary.clients.iter().map(client));
    for user in &summary.unknown_charsets {
        notes.push(format!(
            "statements of user '{user}' are in character sets that the source does not say: name theirs, as in --charset {user}=gbk, \
             or a replay of them fails"
        ));
    }
    if !summary.has_durations && summary.events > 0 {
        notes.push("a general log has no durations, rows or errors: shares are of the number of statements".to_owned());
    }
    if summary.suspects > 0 {
        notes.push(format!(
            "{} may be those of triggers or stored functions, which a general log does not say: a replay executes these twice; a dump \
             with them tells (--routines DUMP of `capture import`, made by mariadb-dump --no-data --routines --triggers)",
            counted(summary.suspects, "statement")
        ));
    }
    if !summary.has_connects && summary.events > 0 {
        let is_traffic = |source: &Source| source.kind == LogKind::Traffic;
        let why = match summary.sources.iter().any(is_traffic) {
            true => "no login was recorded",
            false => "a slow log has no logins",
        };
        notes.push(format!(
            "{why}: a session begins with its first statement here"
        ));
    }
    if !summary.exact_times && summary.events > 0 {
        let by = match summary.order {
            Order::Completion => "the order of completion and of each session",
            Order::Arrival => "the order of arrival",
        };
        notes.push(format!(
            "times are known to the second: starts within it follow {by}"
        ));
    }
    if summary.without_session > 0 {
        notes.push(format!(
            "{} without a session's number: taken for one session",
            counted(summary.without_session, "statement")
        ));
    }
    notes
}
