//! What a server's binary says of its own options: asked once, kept for as long as the process runs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use anyhow::{Context, Result};
use niagara_server::{Install, Version};

use super::known_options::{Known, KnownOptions};
use super::without_effect::says_without_effect;

/// Variables of MySQL that it works out at its start: the value that its binary prints does not hold then. MySQL 9.7.4 printed 4, 0 and
/// 4294967295, and had 1, 1 and 20000 with two CPUs.
const WORKED_OUT: [&str; 3] = [
    "innodb_purge_threads",
    "innodb_buffer_pool_instances",
    "innodb_io_capacity_max",
];

/// From this version on MySQL writes past the page cache where the disk can do that.
const FLUSHES_DIRECTLY: Version = Version {
    major: 8,
    minor: 4,
    patch: 0,
};

/// The options that a server's binary has, with their compiled-in values.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ServerOptions {
    known: KnownOptions,
    /// The version, of MySQL and Percona Server.
    mysql: Option<Version>,
}

/// A binary as it was when it was asked: its path, and when it was written.
type Asked = (PathBuf, Option<SystemTime>);

static KNOWN: Mutex<BTreeMap<Asked, Arc<ServerOptions>>> = Mutex::new(BTreeMap::new());

impl ServerOptions {
    /// What `install` says by `--verbose --help`; `scratch` stands for its data directory, nothing is written there.
    ///
    /// # Errors
    /// It does not run, or says nothing of options.
    pub fn of(install: &Install, scratch: &Path) -> Result<Arc<Self>> {
        let written = install.server.metadata().and_then(|it| it.modified()).ok();
        let asked = (install.server.clone(), written);
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(options) = known.get(&asked) {
            return Ok(options.clone());
        }
        let help = install.verbose_help(&[], scratch)?;
        let options = Arc::new(Self::read(install, &help).with_context(|| {
            format!(
                "{} lists no options when asked for them (--verbose --help)",
                install.server.display()
            )
        })?);
        known.insert(asked, options.clone());
        Ok(options)
    }

    /// From the text; none where it lists no options.
    fn read(install: &Install, help: &str) -> Option<Self> {
        let known = KnownOptions::of(install, help);
        let mysql = (!install.family.is_mariadb()).then_some(install.version);
        (!known.defaults.is_empty()).then_some(Self { known, mysql })
    }

    /// From a text as a server of MariaDB's prints it, for tests.
    pub fn of_help(help: &str) -> Self {
        Self {
            known: KnownOptions::read(help),
            mysql: None,
        }
    }

    /// Whether the server takes an option of this name, with whatever prefix it stands. Of a plugin that it could not load when
    /// it was asked nothing is known, and then it does.
    pub fn takes(&self, name: &str) -> bool {
        let is_silent = name.starts_with("innodb_") && !self.known.has("innodb_buffer_pool_size");
        is_silent || self.known.find(name) != Known::Unknown
    }

    /// The names of its variables, with underscores.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.known.defaults.keys().map(String::as_str)
    }

    /// Whether an option takes `value`; it does where the server does not tell what it takes.
    pub fn takes_value(&self, name: &str, value: &str) -> bool {
        self.known.takes_value(name, value)
    }

    /// The server's words for an option that it takes and does nothing with.
    pub fn without_effect(&self, name: &str) -> Option<&str> {
        let text = self.known.descriptions.get(name)?;
        // What the server adds to the words of the option's author.
        let added = [" (Defaults to ", " One of: "];
        let end = added.iter().filter_map(|words| text.find(words)).min();
        let text = &text[..end.unwrap_or(text.len())];
        says_without_effect(text).then_some(text)
    }

    /// The value that is compiled in, as the server prints it; none where it prints none, or another than it starts with.
    pub fn default(&self, name: &str) -> Option<&str> {
        let printed = self.known.defaults.get(name).map(String::as_str);
        match name {
            // It prints the name of the files.
            "log_bin" if printed.is_some() => Some("ON"),
            "log_bin" => self.known.undefined.contains(name).then_some("OFF"),
            // MySQL reference manual: InnoDB Startup Options. Its binary prints fsync.
            "innodb_flush_method" if self.mysql >= Some(FLUSHES_DIRECTLY) => Some("O_DIRECT"),
            name if self.mysql.is_some() && WORKED_OUT.contains(&name) => None,
            _ => printed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_have_names_prefixes_and_defaults() {
        let options = ServerOptions::of_help(
            "  --innodb-flush-method=name \n  --innodb-buffer-pool-size=# \n  --log-bin[=name]    Log\n\n\
             Variables (--variable-name=value)\n\
             innodb-flush-method    fsync\nlog-bin    (No default value)\n",
        );
        assert!(options.takes("innodb_flush_method"));
        assert!(options.takes("skip_log_bin"));
        assert!(!options.takes("innodb_redo_log_capacity"));
        assert_eq!(options.default("innodb_flush_method"), Some("fsync"));
        assert_eq!(options.default("log_bin"), Some("OFF"));
        let table = "Variables (--variable-name=value)\ninnodb-flush-method    fsync\nlog-bin    binlog\ninnodb-purge-threads    4\n";
        let of = |version: &str| ServerOptions {
            mysql: version.parse().ok(),
            ..ServerOptions::of_help(table)
        };
        assert_eq!(of("9.7.4").default("log_bin"), Some("ON"));
        assert_eq!(of("9.7.4").default("innodb_flush_method"), Some("O_DIRECT"));
        assert_eq!(of("8.0.31").default("innodb_flush_method"), Some("fsync"));
        assert_eq!(of("9.7.4").default("innodb_purge_threads"), None);
        // A name that is longer than its column.
        let long = ServerOptions::of_help(
            "  --innodb-log-spin-wait-delay[=#] \n                      Deprecated parameter with no effect\n",
        );
        assert_eq!(
            long.without_effect("innodb_log_spin_wait_delay"),
            Some("Deprecated parameter with no effect")
        );
        // As a server answers that could not load InnoDB.
        let silent = ServerOptions::of_help("  --log-bin[=name]    Log\n");
        assert!(silent.takes("innodb_flush_method") && !silent.takes("gtid_mode"));
    }
}
