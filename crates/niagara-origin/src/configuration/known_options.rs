//! The options that a server has, with their compiled-in defaults, as it prints them itself.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use niagara_server::{Install, is_switches, normalise_variable};

use super::size::number;

/// What servers take before the name of an option, as they look for it: each in turn, again from the first after each that was
/// found, until what is left is an option.
const PREFIXES: [(&str, Prefix); 6] = [
    ("skip_", Prefix::Skip),
    ("disable_", Prefix::Skip),
    ("enable_", Prefix::Enable),
    ("maximum_", Prefix::Maximum),
    ("loose_", Prefix::None),
    ("autoset_", Prefix::Autoset),
];
/// Makes an unknown option a warning.
const LOOSE: &str = "loose_";
/// The first column in which an option's description can begin, right of its name. A longer name moves it.
const DESCRIPTION: usize = 22;
/// What stands before the values that an option takes, in the words of MariaDB's servers.
const ONE_OF: &str = "One of: ";
/// Variables that further key caches have too, as `hot.key_buffer_size`.
const OF_KEY_CACHES: [&str; 6] = [
    "key_buffer_size",
    "key_cache_block_size",
    "key_cache_division_limit",
    "key_cache_age_threshold",
    "key_cache_segments",
    "key_cache_file_hash_size",
];
/// Names that a server has for another of its options: the same variable, whichever of them is given last. Levers know the second.
const ALIASES: [(&str, &str); 11] = [
    ("log_slow_query", "slow_query_log"),
    ("log_slow_query_file", "slow_query_log_file"),
    ("log_slow_query_time", "long_query_time"),
    ("log_slow_min_examined_row_limit", "min_examined_row_limit"),
    ("tmp_memory_table_size", "tmp_table_size"),
    ("alter_algorithm", "old_alter_table"),
    ("log_slave_updates", "log_replica_updates"),
    ("tx_isolation", "transaction_isolation"),
    ("tx_read_only", "transaction_read_only"),
    ("storage_engine", "default_storage_engine"),
    ("table_cache", "table_open_cache"),
];

/// What stood before an option's name, of what changes its meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Prefix {
    /// Nothing, or `loose_`.
    None,
    /// `skip_` or `disable_`.
    Skip,
    /// `enable_`.
    Enable,
    /// `maximum_`: the value is the most that a session may set.
    Maximum,
    /// `autoset_`, of MariaDB's alone: the server works the value out.
    Autoset,
}

/// What an option takes behind its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Takes {
    /// A switch: nothing is ON.
    Switch,
    /// A number, which may be left away where the second says so.
    Number(bool),
    /// A text, which may be left away where the second says so.
    Text(bool),
}

/// What a server knows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct KnownOptions {
    /// Groups of option files that it reads.
    pub groups: BTreeSet<String>,
    /// Option files that it reads where none is named, in their order; those of a home folder aside.
    pub files: Vec<PathBuf>,
    /// By name with underscores.
    options: BTreeMap<String, Takes>,
    /// Compiled-in values of variables, as it prints them.
    pub defaults: BTreeMap<String, String>,
    /// Variables that it prints without a value.
    pub undefined: BTreeSet<String>,
    /// What it says of each option, on one line.
    pub descriptions: BTreeMap<String, String>,
    /// Whether an unambiguous beginning of a name stands for it.
    by_beginning: bool,
}

/// What an option of a file is to the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Known {
    /// The option of this name, written out, behind this prefix.
    Option(Prefix, String),
    /// Passed over by the server itself: `loose_`, and it does not know the rest.
    Loose,
    /// The server would not start.
    Unknown,
}

impl KnownOptions {
    /// From the text that `install` says by `--verbose --help`.
    pub(crate) fn of(install: &Install, help: &str) -> Self {
        Self {
            // MySQL takes whole names from 8.0 on.
            by_beginning: install.family.is_mariadb() || install.version.major < 8,
            ..Self::read(help)
        }
    }

    pub(super) fn read(help: &str) -> Self {
        let mut known = Self::default();
        let (mut in_table, mut is_files) = (false, false);
        let mut described = None;
        for line in help.lines() {
            if std::mem::take(&mut is_files) {
                let named = line.split_whitespace().map(PathBuf::from);
                known.files = named.filter(|path| path.is_absolute()).collect();
            }
            is_files = line.starts_with("Default options are read from the following files");
            if let Some(groups) = line.strip_prefix("The following groups are read: ") {
                known.groups = groups.split_whitespace().map(str::to_owned).collect();
            } else if line.starts_with("Variables (--variable-name=value)") {
                in_table = true;
            } else if in_table {
                known.add_default(line);
            } else if let Some((name, takes)) = option_line(line) {
                known.options.insert(name.clone(), takes);
                known.describe(&name, description(line));
                described = Some(name);
            } else if let Some(name) = &described {
                known.describe(name, line);
            }
        }
        known
    }

    /// Adds words to what is said of an option.
    fn describe(&mut self, name: &str, words: &str) {
        let words = words.trim();
        if words.is_empty() {
            return;
        }
        let text = self.descriptions.entry(name.to_owned()).or_default();
        if !text.is_empty() {
            text.push(' ');
        }
        text.push_str(words);
    }

    fn add_default(&mut self, line: &str) {
        let Some((name, value)) = line.split_once(' ') else {
            return;
        };
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        let value = value.trim();
        if name.is_empty() || !name.chars().all(is_name) {
            return;
        }
        let name = normalise_variable(name);
        if value == "(No default value)" {
            self.undefined.insert(name);
        } else {
            self.options
                .entry(name.clone())
                .or_insert(Takes::Text(true));
            self.defaults.insert(name, value.to_owned());
        }
    }

    /// Whether the server reads the group `name` of an option file; its case does not matter.
    pub(crate) fn reads(&self, name: &str) -> bool {
        self.groups
            .iter()
            .any(|group| group.eq_ignore_ascii_case(name))
    }

    /// What `name`, as a file has it, is to the server.
    pub(crate) fn find(&self, name: &str) -> Known {
        let name = normalise_variable(name);
        let (mut rest, mut prefix, mut is_loose) = (name.as_str(), Prefix::None, false);
        loop {
            if let Some(option) = self.whole(rest) {
                return Known::Option(prefix, self.usual(option));
            }
            let found = PREFIXES
                .iter()
                .find_map(|(word, prefix)| Some((*word, *prefix, rest.strip_prefix(word)?)));
            let Some((word, before, after)) = found else {
                return match is_loose {
                    true => Known::Loose,
                    false => Known::Unknown,
                };
            };
            is_loose |= word == LOOSE;
            (prefix, rest) = (before, after);
        }
    }

    /// The name that `written` stands for.
    fn whole(&self, written: &str) -> Option<String> {
        if self.has(written) {
            return Some(written.to_owned());
        }
        if let Some((_, variable)) = written.split_once('.') {
            let is_one = OF_KEY_CACHES.contains(&variable) && self.has(variable);
            return is_one.then(|| written.to_owned());
        }
        if !self.by_beginning || written.is_empty() {
            return None;
        }
        let mut like = self
            .options
            .range(written.to_owned()..)
            .map(|(name, _)| name)
            .take_while(|name| name.starts_with(written));
        match (like.next(), like.next()) {
            (Some(only), None) => Some(only.clone()),
            _ => None,
        }
    }

    /// The name by which levers know an option that has two.
    fn usual(&self, name: String) -> String {
        let other = ALIASES.iter().find(|(alias, _)| *alias == name);
        match other {
            Some((_, usual)) if self.has(usual) => (*usual).to_owned(),
            _ => name,
        }
    }

    /// Whether there is an option of exactly this name.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.options.contains_key(name)
    }

    /// Whether the option of this name takes `value`, as far as the server tells: MariaDB lists the words that an option takes, and
    /// every server the switches of a variable that has some.
    pub(crate) fn takes_value(&self, name: &str, value: &str) -> bool {
        if is_switches(name)
            && let Some(known) = self.defaults.get(name)
        {
            let name_of =
                |switch: &str| switch.split('=').next().map(|name| name.trim().to_owned());
            let known: Vec<_> = known.split(',').map(name_of).collect();
            return value
                .split(',')
                .all(|switch| known.contains(&name_of(switch)));
        }
        let is_word = number(value).is_none() && !value.is_empty();
        if !is_word {
            return true;
        }
        let is = |word: &&str| word.eq_ignore_ascii_case(value);
        match (self.options.get(name), self.words_of(name)) {
            (Some(Takes::Switch), _) => ["ON", "OFF", "TRUE", "FALSE"].iter().any(is),
            (_, Some(words)) => words.iter().any(is),
            _ => true,
        }
    }

    /// The words that an option takes; none where the server does not list them.
    fn words_of(&self, name: &str) -> Option<Vec<&str>> {
        let (_, words) = self.descriptions.get(name)?.rsplit_once(ONE_OF)?;
        // Words that are explained are no list.
        if words.contains('(') {
            return None;
        }
        Some(
            words
                .split(',')
                .map(|word| word.trim().trim_end_matches('.'))
                .collect(),
        )
    }

    /// What the option of this name takes.
    pub(crate) fn takes(&self, name: &str) -> Takes {
        let variable = name.rsplit('.').next().unwrap_or(name);
        self.options
            .get(variable)
            .copied()
            .unwrap_or(Takes::Text(true))
    }
}

/// What a line says of its option: right of the column, or of a name that is longer; then mostly on the next lines.
fn description(line: &str) -> &str {
    let name = line.find("--").unwrap_or(0);
    let end = line[name..]
        .find(' ')
        .map_or(line.len(), |length| name + length);
    line.get(DESCRIPTION.max(end)..).unwrap_or_default()
}

/// The option of a line such as `  -a, --ansi          Use …`, `  --sort-buffer-size=# ` or `  --log-bin[=name]`.
fn option_line(line: &str) -> Option<(String, Takes)> {
    let line = line.strip_prefix("  ")?;
    let line = match line.as_bytes() {
        [b'-', letter, b',', b' ', ..] if letter.is_ascii() => &line[4..],
        _ => line,
    };
    let name = line.strip_prefix("--")?;
    let end = name
        .find(|c: char| !c.is_ascii_alphanumeric() && c != '-' && c != '_')
        .unwrap_or(name.len());
    let (name, rest) = name.split_at(end);
    let takes = if rest.starts_with("[=#") {
        Takes::Number(true)
    } else if rest.starts_with("[=") {
        Takes::Text(true)
    } else if rest.starts_with("=#") {
        Takes::Number(false)
    } else if rest.starts_with('=') {
        Takes::Text(false)
    } else {
        Takes::Switch
    };
    (end > 0).then(|| (normalise_variable(name), takes))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    const HELP: &str = "mariadbd  Ver 10.11\n\
        Default options are read from the following files in the given order:\n\
        /etc/my.cnf /etc/mysql/my.cnf ~/.my.cnf \n\
        The following groups are read: mysqld server mariadb-10.11\n\n\
        \x20 -a, --ansi          Use ANSI SQL syntax instead of MySQL syntax. This mode\n\
        \x20                     --no-option is spoken of here\n\
        \x20 --back-log=#        The number\n\
        \x20 --key-buffer-size=# The size\n\
        \x20 --key-cache-segments=# \n\
        \x20 --log-bin[=name]    Log\n\
        \x20 --log-slow-query    Log\n\
        \x20 --slow-query-log    Log\n\
        \x20 --sql-mode=name     Mode\n\
        \x20 --skip-name-resolve Don't\n\n\
        Variables (--variable-name=value)\n\
        and boolean options {FALSE|TRUE}                             Value (after reading options)\n\
        ------------------------------------------------------------ -------------\n\
        key-buffer-size                                              134217728\n\
        log-bin                                                      (No default value)\n\n\
        To see what variables a running server is using, type\n";

    fn known(by_beginning: bool) -> KnownOptions {
        KnownOptions {
            by_beginning,
            ..KnownOptions::read(HELP)
        }
    }

    #[test]
    fn names_are_found_as_servers_find_them() {
        let known = known(true);
        assert!(known.groups.contains("mariadb-10.11") && known.groups.len() == 3);
        assert!(known.reads("MYSQLD") && !known.reads("mysqld1"));
        assert_eq!(
            known.files,
            [Path::new("/etc/my.cnf"), Path::new("/etc/mysql/my.cnf")]
        );
        let option = |name: &str| Known::Option(Prefix::None, name.to_owned());
        let after = |prefix, name: &str| Known::Option(prefix, name.to_owned());
        for (name, found) in [
            ("key-buffer", option("key_buffer_size")),
            ("key-buffer_size", option("key_buffer_size")),
            ("key", Known::Unknown),
            ("loose-key_buffer_size", option("key_buffer_size")),
            ("loose-group_replication", Known::Loose),
            ("query_cache_size", Known::Unknown),
            ("skip-log-bin", after(Prefix::Skip, "log_bin")),
            ("disable_log_bin", after(Prefix::Skip, "log_bin")),
            ("loose-skip-log-bin", after(Prefix::Skip, "log_bin")),
            ("enable-log-bin", after(Prefix::Enable, "log_bin")),
            (
                "maximum-key_buffer_size",
                after(Prefix::Maximum, "key_buffer_size"),
            ),
            ("autoset_back_log", after(Prefix::Autoset, "back_log")),
            ("loose-skip-federated", Known::Loose),
            ("skip_name_resolve", option("skip_name_resolve")),
            ("hot.key_buffer_size", option("hot.key_buffer_size")),
            ("hot.back_log", Known::Unknown),
            ("log_slow_query", option("slow_query_log")),
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

    #[test]
    fn mysql_takes_whole_names_only() {
        let known = known(false);
        assert_eq!(known.find("key-buffer"), Known::Unknown);
        assert_eq!(known.find("loose-key-buffer"), Known::Loose);
        assert!(matches!(known.find("key-buffer-size"), Known::Option(..)));
    }

    #[test]
    fn what_an_option_takes_is_in_its_line() {
        let known = known(true);
        for (name, takes) in [
            ("ansi", Takes::Switch),
            ("key_buffer_size", Takes::Number(false)),
            ("hot.key_buffer_size", Takes::Number(false)),
            ("log_bin", Takes::Text(true)),
            ("sql_mode", Takes::Text(false)),
            ("skip_name_resolve", Takes::Switch),
        ] {
            assert_eq!(known.takes(name), takes, "{name}");
        }
    }
}
