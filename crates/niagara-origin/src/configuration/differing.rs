//! The settings of a server that does not say which of its variables somebody set, as MySQL before 8.0: those that differ from what is
//! compiled into a server of the same release. Whether a file, the command line or SET GLOBAL set one is not known.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use anyhow::{Context, Result};
use niagara_error::bail;
use niagara_load::{Admin, Transport};
use niagara_model::OriginNote;
use niagara_server::{Cache, Install, plugin_folder_of, server_behind};

use super::dropped_settings::dropped_settings;
use super::known_options::KnownOptions;
use super::option_name::{PLUGINS, option_of};
use super::release::series;
use super::size::same_value;
use super::source::{DIFFERS, RunningConfig, RunningSetting};

/// Variables that name the server and its history; no option sets them.
const NAMES_OF_ITS_OWN: [&str; 6] = [
    "gtid_executed",
    "gtid_owned",
    "gtid_purged",
    "hostname",
    "log_bin",
    "server_uuid",
];
/// What servers work out of the limits of their process, which the copy has of its own.
const OF_THE_PROCESS: &str = "open_files_limit";
/// Variables of the performance schema whose default is [`WORKED_OUT`] follow from others.
const PERFORMANCE_SCHEMA: &str = "performance_schema_";
/// The value of a variable that the server works out by itself.
const WORKED_OUT: &str = "-1";
/// Values that stand for what a server has by itself: nothing, what is compiled in, its data directory.
const BY_ITSELF: [&str; 5] = ["", "NULL", "(built-in)", ".", "./"];
/// The variable of the time zone, which an option of another name sets, and its value where none does.
const TIME_ZONE: (&str, &str) = ("time_zone", "default_time_zone");
const SYSTEM: &str = "SYSTEM";

/// The variables of a server that can be settings of a copy. What a copy goes without is not among them: nobody needs to know whether
/// somebody set it.
pub(super) fn all_variables(admin: &mut Admin) -> Result<BTreeMap<String, String>> {
    let rows = admin
        .rows("SHOW GLOBAL VARIABLES")
        .context("its variables cannot be asked for")?;
    let variables = rows.into_iter().filter_map(|row| {
        let mut cells = row.into_iter();
        let name = option_of(cells.next()??.to_lowercase());
        Some((name, cells.next()??))
    });
    Ok(variables
        .filter(|(name, _)| !NAMES_OF_ITS_OWN.contains(&name.as_str()))
        .filter(|(name, value)| dropped_settings(name, value).is_none())
        .collect())
}

/// Those of `variables` that a server does not have by itself that knows `known`.
fn differing(variables: &BTreeMap<String, String>, known: &KnownOptions) -> Vec<RunningSetting> {
    let settings = variables.iter().filter_map(|(variable, value)| {
        let (name, default) = match variable.as_str() {
            OF_THE_PROCESS => return None,
            name if name == TIME_ZONE.0 => (TIME_ZONE.1, Some(SYSTEM)),
            name => (name, known.defaults.get(name).map(String::as_str)),
        };
        let is_own = match default {
            Some(WORKED_OUT) if name.starts_with(PERFORMANCE_SCHEMA) => true,
            Some(default) => {
                let is_nothing = |value: &str| BY_ITSELF.contains(&value);
                same_value(default, value) || (is_nothing(value) && is_nothing(default))
            }
            // Without a value of its own: one that is there was given.
            None if known.undefined.contains(name) => BY_ITSELF.contains(&value.as_str()),
            // No option sets it.
            None => true,
        };
        (!is_own).then(|| RunningSetting {
            name: name.to_owned(),
            value: value.clone(),
            place: None,
            origin: DIFFERS.to_owned(),
        })
    });
    settings.collect()
}

/// The binary of the server behind `transport`, where it runs on this machine from a file of this machine.
fn own_binary(transport: &Transport) -> Option<Install> {
    let pid = server_behind(transport).ok()?;
    let program = format!("/proc/{pid}/exe");
    let path = fs::read_link(&program).ok()?;
    // In a container the same path may be another file.
    let [there, here] = [Path::new(&program), path.as_path()].map(|path| {
        let found = fs::metadata(path).ok()?;
        Some((found.dev(), found.ino()))
    });
    if here.is_none() || there != here {
        return None;
    }
    Install::from_path(&path).ok()
}

impl RunningConfig {
    /// The same with the settings among its variables, found by `install` where it does not say them itself.
    ///
    /// # Errors
    /// `install` is of another release, whose defaults are others.
    pub(super) fn compared(&self, install: &Install, scratch: &Path) -> Result<Cow<'_, Self>> {
        if self.variables.is_empty() {
            return Ok(Cow::Borrowed(self));
        }
        let release = (install.version.major, install.version.minor);
        let of_its_release = series(&self.version);
        if install.family.is_mariadb() || release != of_its_release {
            bail!(
                "the server at {}, {}, does not say which of its settings somebody gave it, and {} has other defaults than its release",
                self.address,
                self.version,
                install.name;
                remedy: "name its option file, --config my.cnf; on another machine, a copy of that file and of all that it includes; \
                 or give a MySQL {}.{} by its binary's path as the server: its defaults show what differs",
                of_its_release.0,
                of_its_release.1
            );
        }
        let mut compared = self.clone();
        compared.compare_with(install, scratch)?;
        Ok(Cow::Owned(compared))
    }

    /// Takes those of its variables for settings that differ from the defaults of `install`, a server of its release.
    ///
    /// # Errors
    /// `install` does not say its defaults.
    fn compare_with(&mut self, install: &Install, scratch: &Path) -> Result<()> {
        let help = install.verbose_help(&self.plugins_here(install), scratch)?;
        let known = KnownOptions::of(install, &help);
        if known.defaults.is_empty() {
            bail!(
                "{} lists no options when asked for them (--verbose --help)", install.server.display();
                remedy: "name the server's option file, --config my.cnf"
            );
        }
        let there: BTreeSet<&str> = self
            .settings
            .iter()
            .map(|setting| setting.name.as_str())
            .collect();
        let more: Vec<RunningSetting> = differing(&self.variables, &known)
            .into_iter()
            .filter(|setting| !there.contains(setting.name.as_str()))
            .collect();
        self.settings.extend(more);
        self.variables.clear();
        self.compared_with = Some(format!(
            "{} {} ({})",
            install.family, install.version, install.name
        ));
        Ok(())
    }

    /// The same by its own binary, where that can be run here; as it was, where it cannot.
    pub(super) fn compared_with_own(mut self, transport: Option<&Transport>) -> Self {
        if !self.variables.is_empty()
            && let Some(install) = transport.and_then(own_binary)
            && let Ok(scratch) = Cache::open().and_then(|cache| cache.work_folder("config"))
        {
            // A binary that does not say its defaults is no loss: one that is named may.
            let _ = self.compare_with(&install, scratch.path());
        }
        self
    }

    /// What of the options that load plugins `install` can load: their variables are known to nobody else.
    fn plugins_here(&self, install: &Install) -> Vec<String> {
        let Some(folder) = plugin_folder_of(install) else {
            return Vec::new();
        };
        let loads = self
            .settings
            .iter()
            .filter(|setting| setting.name == PLUGINS);
        let libraries = loads.flat_map(|setting| setting.value.split(';'));
        libraries
            .filter(|library| folder.join(library).is_file())
            .map(str::to_owned)
            .collect()
    }

    /// What is to be known of settings that were found so; none of a server that says them itself.
    pub(super) fn comparison_remark(&self) -> Option<OriginNote> {
        let with = self.compared_with.as_ref()?;
        Some(OriginNote::Compared {
            address: self.address.clone(),
            with: with.clone(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As MySQL 5.7 prints it.
    const HELP: &str = "  --sort-buffer-size=# \n  --innodb-flush-method=name \n  -V, --version       Output version\n\n\
        Variables (--variable-name=value)\n\
        and boolean options {FALSE|TRUE}  Value (after reading options)\n\
        --------------------------------- -----------------------------\n\
        default-time-zone                 (No default value)\n\
        ft-stopword-file                  (No default value)\n\
        innodb-flush-method               (No default value)\n\
        innodb-undo-directory             ./\n\
        init-connect                      \n\
        local-infile                      TRUE\n\
        long-query-time                   10\n\
        open-files-limit                  1024\n\
        performance-schema-max-mutex-instances -1\n\
        slow-query-log                    FALSE\n\
        sort-buffer-size                  262144\n\
        table-open-cache                  431\n\
        transaction-isolation             REPEATABLE-READ\n";

    fn found(variables: &[(&str, &str)]) -> Vec<String> {
        let variables = variables
            .iter()
            .map(|(name, value)| (option_of((*name).to_owned()), (*value).to_owned()));
        let settings = differing(&variables.collect(), &KnownOptions::read(HELP));
        assert!(settings.iter().all(|setting| setting.origin == DIFFERS));
        settings
            .into_iter()
            .map(|setting| format!("{}={}", setting.name, setting.value))
            .collect()
    }

    #[test]
    fn variables_that_differ_from_the_release_are_settings() {
        let as_it_comes = [
            ("ft_stopword_file", "(built-in)"),
            ("hostname", "db1"),
            ("init_connect", ""),
            ("innodb_flush_method", ""),
            ("innodb_undo_directory", "."),
            ("innodb_version", "5.7.22"),
            ("local_infile", "ON"),
            ("long_query_time", "10.000000"),
            ("open_files_limit", "65536"),
            ("performance_schema_max_mutex_instances", "15906"),
            ("slow_query_log", "OFF"),
            ("sort_buffer_size", "262144"),
            ("time_zone", "SYSTEM"),
            ("tx_isolation", "REPEATABLE-READ"),
            ("version", "5.7.22-log"),
        ];
        assert_eq!(found(&as_it_comes), Vec::<String>::new());
        assert_eq!(
            found(&[
                ("init_connect", "SET @a = 1"),
                ("innodb_flush_method", "O_DIRECT"),
                ("local_infile", "OFF"),
                ("long_query_time", "0.500000"),
                ("slow_query_log", "ON"),
                ("sort_buffer_size", "524288"),
                ("table_open_cache", "2000"),
                ("time_zone", "+01:00"),
                ("tx_isolation", "READ-COMMITTED"),
            ]),
            [
                "init_connect=SET @a = 1",
                "innodb_flush_method=O_DIRECT",
                "local_infile=OFF",
                "long_query_time=0.500000",
                "slow_query_log=ON",
                "sort_buffer_size=524288",
                "table_open_cache=2000",
                "default_time_zone=+01:00",
                "transaction_isolation=READ-COMMITTED",
            ]
        );
    }
}
