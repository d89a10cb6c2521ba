//! The options that a server has, with their compiled-in defaults, as it prints them itself.

use std::collections::{BTreeMap, BTreeSet};

use niagara_server::normalise_variable;

/// Beginnings that change what an option says: the first makes an unknown option a warning.
const LOOSE: &str = "loose_";
/// Others that servers take before the name of an option.
const MODIFIERS: [&str; 4] = ["skip_", "disable_", "enable_", "maximum_"];

/// What a server knows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct KnownOptions {
    /// Groups of option files that it reads.
    pub groups: BTreeSet<String>,
    /// Names with underscores.
    names: BTreeSet<String>,
    /// Compiled-in values of variables, as it prints them.
    pub defaults: BTreeMap<String, String>,
}

/// What an option of a file is to the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Known {
    /// The option of this name, written out.
    Option(String),
    /// Passed over by the server itself: `loose_`, and it does not know the rest.
    Loose,
    /// The server would not start.
    Unknown,
}

impl KnownOptions {
    /// From the text of `--verbose --help`.
    pub(crate) fn read(help: &str) -> Self {
        let mut known = Self::default();
        let mut in_table = false;
        for line in help.lines() {
            if let Some(groups) = line.strip_prefix("The following groups are read: ") {
                known.groups = groups.split_whitespace().map(str::to_owned).collect();
            } else if line.starts_with("Variables (--variable-name=value)") {
                in_table = true;
            } else if in_table {
                known.add_default(line);
            } else if let Some(name) = option_name(line) {
                known.names.insert(name);
            }
        }
        known
    }

    fn add_default(&mut self, line: &str) {
        let Some((name, value)) = line.split_once(' ') else {
            return;
        };
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        let value = value.trim();
        if !name.is_empty() && name.chars().all(is_name) && value != "(No default value)" {
            self.names.insert(normalise_variable(name));
            self.defaults
                .insert(normalise_variable(name), value.to_owned());
        }
    }

    /// What `name`, as a file has it, is to the server. Beginnings of names are understood where they are unambiguous.
    pub(crate) fn find(&self, name: &str) -> Known {
        let name = normalise_variable(name);
        let (loose, bare) = match name.strip_prefix(LOOSE) {
            Some(rest) => (true, rest),
            None => (false, name.as_str()),
        };
        let found = self.whole(bare).or_else(|| {
            MODIFIERS.iter().find_map(|modifier| {
                let whole = self.whole(bare.strip_prefix(modifier)?)?;
                Some(format!("{modifier}{whole}"))
            })
        });
        match found {
            Some(name) => Known::Option(name),
            None if loose => Known::Loose,
            None => Known::Unknown,
        }
    }

    /// The name that begins like this.
    fn whole(&self, beginning: &str) -> Option<String> {
        if self.names.contains(beginning) {
            return Some(beginning.to_owned());
        }
        let mut like = self
            .names
            .range(beginning.to_owned()..)
            .take_while(|name| name.starts_with(beginning));
        match (beginning.is_empty(), like.next(), like.next()) {
            (false, Some(only), None) => Some(only.clone()),
            _ => None,
        }
    }

    /// Whether there is an option of exactly this name.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.names.contains(name)
    }
}

/// The name in a line such as `  -a, --ansi          Use …` or `  --sort-buffer-size=# `.
fn option_name(line: &str) -> Option<String> {
    let line = line.strip_prefix("  ")?;
    let line = match line.as_bytes() {
        [b'-', letter, b',', b' ', ..] if letter.is_ascii() => &line[4..],
        _ => line,
    };
    let name = line.strip_prefix("--")?;
    let end = name
        .find(|c: char| !c.is_ascii_alphanumeric() && c != '-' && c != '_')
        .unwrap_or(name.len());
    (end > 0).then(|| normalise_variable(&name[..end]))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HELP: &str = "mariadbd  Ver 10.11\n\
        The following groups are read: mysqld server mariadb-10.11\n\n\
        \x20 -a, --ansi          Use ANSI SQL syntax instead of MySQL syntax. This mode\n\
        \x20                     --no-option is spoken of here\n\
        \x20 --key-buffer-size=# The size\n\
        \x20 --key-cache-segments=# \n\
        \x20 --log-bin[=name]    Log\n\
        \x20 --skip-name-resolve Don't\n\n\
        Variables (--variable-name=value)\n\
        and boolean options {FALSE|TRUE}                             Value (after reading options)\n\
        ------------------------------------------------------------ -------------\n\
        key-buffer-size                                              134217728\n\
        log-bin                                                      (No default value)\n\n\
        To see what variables a running server is using, type\n";

    #[test]
    fn names_are_found_as_servers_find_them() {
        let known = KnownOptions::read(HELP);
        assert!(known.groups.contains("mariadb-10.11") && known.groups.len() == 3);
        let option = |name: &str| Known::Option(name.to_owned());
        for (name, found) in [
            ("key-buffer", option("key_buffer_size")),
            ("Key_Buffer_Size", option("key_buffer_size")),
            ("key", Known::Unknown),
            ("loose-key_buffer_size", option("key_buffer_size")),
            ("loose-group_replication", Known::Loose),
            ("query_cache_size", Known::Unknown),
            ("skip-log-bin", option("skip_log_bin")),
            ("skip_name_resolve", option("skip_name_resolve")),
            ("ansi", option("ansi")),
            ("no_option", Known::Unknown),
        ] {
            assert_eq!(known.find(name), found, "{name}");
        }
        assert_eq!(
            known.defaults.get("key_buffer_size").map(String::as_str),
            Some("134217728")
        );
    }
}
