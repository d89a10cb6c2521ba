//! Options of which servers take every occurrence, where of others the last one counts. A [`Config`](crate::Config) has each once:
//! their values stand in one, apart by semicolons.

const REPEATED: [&str; 2] = ["performance_schema_instrument", "ignore_db_dir"];
const BETWEEN: char = ';';

/// Whether servers take every occurrence of this option (with underscores).
pub fn is_repeated(name: &str) -> bool {
    REPEATED.contains(&name)
}

/// The value that has both.
pub fn repeated(one: &str, other: &str) -> String {
    format!("{one}{BETWEEN}{other}")
}

/// The single values of what [`repeated`] made.
pub(crate) fn each_of(value: &str) -> impl Iterator<Item = &str> {
    let all = value.split(BETWEEN).map(str::trim);
    all.filter(|value| !value.is_empty())
}
