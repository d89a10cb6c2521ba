//! The options that a server's binary is started with.

use std::ffi::OsString;
use std::path::Path;

use anyhow::{Result, bail};
use niagara_settings::ProcessSettings;

use super::certificate::Certificate;
use super::kept_options::kept_options;
use super::remote_access::{RemoteAccess, listen_address};
use super::run_files::Files;
use super::spec::LaunchSpec;
use crate::config::Config;
use crate::family::{Family, Version};
use crate::install::Install;
use crate::install::share::{charsets_folder, plugin_folder, share_folder};
use crate::repeated::{each_of, is_repeated};

/// Variables that are texts, for which nothing is a value too: of all others an empty value means a flag.
const MAY_BE_EMPTY: [&str; 21] = [
    "sql_mode",
    "old_mode",
    "init_connect",
    "init_slave",
    "init_replica",
    "tls_version",
    "ft_stopword_file",
    "innodb_ft_server_stopword_table",
    "innodb_monitor_enable",
    "innodb_monitor_disable",
    "innodb_monitor_reset",
    "log_disabled_statements",
    "log_slow_disabled_statements",
    "log_slow_filter",
    "log_slow_verbosity",
    "optimizer_switch",
    "disabled_storage_engines",
    "log_error_suppression_list",
    "mandatory_roles",
    "session_track_system_variables",
    "tls_ciphersuites",
];

/// The number of a server in replication, of which a copy takes no part: that of other servers by themselves.
const NUMBER: u32 = 1;

/// The option of that number, where the server needs it and `config` does not say it.
pub(super) fn number_argument(install: &Install, config: &Config) -> Option<String> {
    let is_wanted =
        wants_number(install.family, install.version) && !config.contains_key("server_id");
    is_wanted.then(|| format!("--server-id={NUMBER}"))
}

/// Whether a server writes a binary log only where it was given a number: MySQL before 8.0.
fn wants_number(family: Family, version: Version) -> bool {
    !family.is_mariadb() && version.major < 8
}

/// Whether a variable with this value is given by its name alone.
pub fn is_flag(name: &str, value: &str) -> bool {
    value.is_empty() && !MAY_BE_EMPTY.contains(&name)
}

/// The command line but for the port.
pub(super) fn arguments(
    spec: &LaunchSpec,
    files: &Files,
    remote: Option<&RemoteAccess>,
) -> Result<Vec<OsString>> {
    let mut arguments: Vec<OsString> = base_arguments(spec.install, &files.datadir);
    let mut option = |name: &str, value: &Path| {
        let mut argument = OsString::from(format!("--{name}="));
        argument.push(value);
        arguments.push(argument);
    };
    let run = files.run.path();
    option("socket", &files.socket());
    option("pid-file", &run.join("server.pid"));
    option("log-error", &files.log());
    let given = |name: &str| spec.config.contains_key(name);
    if !given("tmpdir") {
        option("tmpdir", &run.join("tmp"));
    }
    // What a statement writes into files (INTO OUTFILE, in a routine of the user's too) goes nowhere else.
    if !given("secure_file_priv") {
        option("secure-file-priv", &run.join("tmp"));
    }
    let init = run.join("init.sql");
    if init.exists() {
        if given("init_file") {
            bail!(
                "`init_file` cannot be set for a data directory that Niagara did not make: it is how the account is made"
            );
        }
        option("init-file", &init);
    }
    let made = Certificate::within(run);
    if made.certificate.exists() {
        option("ssl-cert", &made.certificate);
        option("ssl-key", &made.key);
    }
    arguments.push(format!("--bind-address={}", listen_address(remote)).into());
    // A host that has no name is looked for in vain with every connection, seconds each.
    if remote.is_some() && !given("skip_name_resolve") {
        arguments.push("--skip-name-resolve".into());
    }
    if !spec.install.family.is_mariadb() {
        arguments.push("--loose-mysqlx=OFF".into());
    }
    arguments.extend(number_argument(spec.install, spec.config).map(OsString::from));
    arguments.extend(plugin_arguments(spec.install).map(OsString::from));
    // Before the configuration's own, which have the last word.
    let kept = kept_options(&files.datadir)?;
    arguments.extend(
        variable_arguments(&ProcessSettings::default(), &kept)
            .into_iter()
            .map(OsString::from),
    );
    arguments.extend(
        variable_arguments(spec.runtime, spec.config)
            .into_iter()
            .map(OsString::from),
    );
    Ok(arguments)
}

/// What every invocation of a server's binary begins with.
pub(crate) fn base_arguments(install: &Install, datadir: &Path) -> Vec<OsString> {
    let path = |name: &str, value: &Path| {
        let mut argument = OsString::from(format!("--{name}="));
        argument.push(value);
        argument
    };
    // `--no-defaults` is only understood as the first.
    let mut arguments = vec![
        OsString::from("--no-defaults"),
        path("basedir", &install.basedir),
        path("datadir", datadir),
    ];
    if let Some(share) = share_folder(&install.basedir) {
        arguments.push(path("lc-messages-dir", &share));
    }
    if let Some(charsets) = charsets_folder(&install.basedir) {
        arguments.push(path("character-sets-dir", &charsets));
    }
    // Where the packages hold no plugins, the compiled-in folder would be the host's.
    let packaged = (!install.packages.is_empty()).then(|| install.basedir.join("lib/mysql/plugin"));
    if let Some(plugins) = plugin_folder(&install.basedir).or(packaged) {
        arguments.push(path("plugin-dir", &plugins));
    }
    if nix::unistd::geteuid().is_root() {
        arguments.push("--user=root".into());
    }
    arguments
}

pub(super) fn plugin_arguments(install: &Install) -> impl Iterator<Item = String> {
    let plugins = install.plugins.iter();
    plugins.map(|plugin| format!("--plugin-load-add={plugin}"))
}

/// Variables as options of the command line.
pub(crate) fn variable_arguments(runtime: &ProcessSettings, config: &Config) -> Vec<String> {
    let mut arguments: Vec<String> = config
        .iter()
        .flat_map(|(name, value)| {
            if is_flag(name, value) {
                vec![format!("--{name}")]
            } else if is_repeated(name) {
                let each = each_of(value);
                each.map(|value| format!("--{name}={value}")).collect()
            } else {
                vec![format!("--{name}={value}")]
            }
        })
        .collect();
    if runtime.locks_memory() {
        arguments.push("--memlock".to_owned());
    }
    arguments
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_mysql_gets_a_number_for_its_binary_log() -> Result<()> {
        for (family, version, wants) in [
            (Family::Mysql, "5.7.22", true),
            (Family::Percona, "5.6.51", true),
            (Family::Mysql, "8.0.12", false),
            (Family::Mariadb, "10.1.23", false),
        ] {
            assert_eq!(wants_number(family, version.parse()?), wants, "{version}");
        }
        Ok(())
    }

    #[test]
    fn what_servers_take_every_occurrence_of_is_given_as_often() {
        let set = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let config = Config::from([
            set(
                "performance_schema_instrument",
                "wait/io/%=OFF; statement/%=COUNTED",
            ),
            set("skip_log_bin", ""),
            set("sql_mode", ""),
        ]);
        assert_eq!(
            variable_arguments(&ProcessSettings::default(), &config),
            [
                "--performance_schema_instrument=wait/io/%=OFF",
                "--performance_schema_instrument=statement/%=COUNTED",
                "--skip_log_bin",
                "--sql_mode=",
            ]
        );
    }
}
