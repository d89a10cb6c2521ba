//! Variables whose values are lists of switches that add up: what a value does not name stays as it is.

/// Their names. The servers read them as sets of flags, each line of an option file on top of those before it.
const SWITCHES: [&str; 3] = [
    "optimizer_switch",
    "optimizer_trace",
    "optimizer_trace_features",
];
/// The word among switches that puts all of them back to what the server is compiled with.
const ALL_BY_DEFAULT: &str = "default";

/// Whether the variable `name` (with underscores) is a list of switches.
pub fn is_switches(name: &str) -> bool {
    SWITCHES.contains(&name)
}

/// The switches of both, `changed` in place of those that it names too, as if one were set after the other.
///
/// Servers of both families take `default` once in a list, wherever it stands: all switches that the list does not name go back to
/// their defaults. So nothing is left of what was there. The word itself stays: an option file that is made of this is read
/// after others, which may have set switches as well. `mrr=default` is a value like others: it takes the place of `mrr=off`.
pub fn switched(there: &str, changed: &str) -> String {
    // A list that names a switch twice is refused, and names are the same in capitals.
    let name = |switch: &str| {
        let (name, _) = switch.split_once('=').unwrap_or((switch, ""));
        name.trim().to_ascii_lowercase()
    };
    let changed = switches(changed);
    let resets_all = changed.iter().any(|switch| name(switch) == ALL_BY_DEFAULT);
    let mut all = match resets_all {
        true => Vec::new(),
        false => switches(there),
    };
    all.retain(|switch| changed.iter().all(|other| name(other) != name(switch)));
    all.extend(changed);
    all.join(",")
}

/// What a list of switches names, one by one.
fn switches(list: &str) -> Vec<&str> {
    let all = list.split(',');
    all.filter(|switch| !switch.trim().is_empty()).collect()
}
