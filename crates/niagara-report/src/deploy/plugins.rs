//! Plugins that the packaged server loads from files, and that a built server comes without.

use niagara_model::DeployBuild;

use super::unit::{self, FOLDER};
use super::{DeployInput, PLACE, RECIPE};

/// What the packaged server had, in the folder that the files are installed from.
pub const BEFORE: &str = "plugins-before";
/// How the administrator logs in to a built MySQL: an option file of the client's, readable by root alone.
pub const ACCOUNT: &str = "/root/niagara-admin.cnf";
/// That administrator.
const USER: &str = "niagara_admin@localhost";

/// What to know and to ask before the built server takes the packaged one's place.
pub fn before(input: &DeployInput) -> (String, Vec<String>) {
    let (examples, variable, protocol) = if input.is_mariadb() {
        (
            "audit, PAM and ed25519 logins, the compression of mariadb-plugin-provider-*, which Debian installs along with the \
             server, storage engines in packages of their own",
            "provider_lz4",
            "",
        )
    } else {
        (
            "`auth_socket`, by which root logs in on Debian and Ubuntu, audit, keyrings, components (`validate_password`), clone, Group \
             Replication, semisynchronous replication",
            "rpl_semi_sync_source_enabled",
            " X Protocol is not built in either: port 33060 goes away, and a line `mysqlx…` of an option file (Ubuntu's mysqld.cnf \
             has `mysqlx-bind-address`) keeps the server from starting until it is written `loose-mysqlx…`, which the packaged \
             server takes, too; `grep` names such lines.",
        )
    };
    let text = format!(
        "Plugins. The built server comes without: only what is compiled into it is there, and {FOLDER}, the one folder where it \
         looks for others, is empty. What the packaged server loads from files is gone ({examples}). Loaded by `INSTALL` or \
         `plugin_load_add`, it is missing and only the server's log says so; where an option file sets a variable of it \
         (`{variable}`), the server does not start.{protocol} Ask the packaged server while it runs:"
    );
    let compiled_in = match input.is_mariadb() {
        true => "",
        false => " OR PLUGIN_NAME = 'mysqlx'",
    };
    let mut commands = vec![
        format!("{} > {BEFORE}", active(&packaged(input))),
        format!(
            "{} -N -B -e \"SELECT PLUGIN_NAME, PLUGIN_LIBRARY FROM information_schema.PLUGINS WHERE PLUGIN_LIBRARY IS NOT NULL{compiled_in}\"",
            packaged(input)
        ),
    ];
    if !input.is_mariadb() {
        commands.push(format!(
            "{} -N -B -e \"SELECT component_urn FROM mysql.component\"",
            packaged(input)
        ));
        // A manifest beside the packaged binary loads it, and neither of the tables above names it.
        commands.push(format!(
            "{} -N -B -e \"SELECT * FROM performance_schema.keyring_component_status\"",
            packaged(input)
        ));
        commands.push("sudo grep -rnE '^[[:space:]]*mysqlx' /etc/mysql".to_owned());
    }
    (text, commands)
}

/// What to do about the plugins that the packaged server names.
pub fn remedy(input: &DeployInput) -> String {
    let (users, keyring) = if input.is_mariadb() {
        (
            " (tables written with its `innodb_compression_algorithm` use a provider)",
            "",
        )
    } else {
        (
            "",
            " Where the query of `keyring_component_status` prints a line, keep the packaged server: a keyring is loaded, and without it \
             encrypted tables cannot be opened. Error 1146 of that query means that there is none.",
        )
    };
    format!(
        "What is printed is what will be missing; where nothing is, continue. If one of them is needed, keep the packaged server, or \
         build the plugin from the source that {RECIPE} names, put its file into that folder and try it. If nothing uses \
         it{users}, uninstall it or purge its package, so that no option file names it.{keyring}"
    )
}

/// What an administrator logs in to the built server with, which may not have the plugin that root logs in by: text and commands;
/// nothing where that plugin is compiled in.
pub fn account(input: &DeployInput) -> Option<(String, Vec<String>)> {
    if !needs_account(input) {
        return None;
    }
    let packaged = packaged(input);
    let text = format!(
        "An administrator's account with a password, made and tried before the restart: accounts that log in by `auth_socket`, root's \
         on Debian and Ubuntu, cannot log in to the built server; the first command names them. The new one's password is made at \
         random and is in {ACCOUNT}, which root alone reads; what is to be asked after the restart is asked by it. On a replica \
         make it on the source, with the same password, and let it come from there; what takes it away is for the source, too. The last command has to print `{USER}`; where it does not, do not restart:"
    );
    let commands = vec![
        format!(
            "{packaged} -N -B -e \"SELECT user, host FROM mysql.user WHERE plugin = 'auth_socket'\""
        ),
        format!(
            "sudo test -e {ACCOUNT} || sudo sh -c 'umask 077; socket=$({} -N -B -r -e \"SELECT @@socket\") && \
             printf \"[client]\\nuser=niagara_admin\\npassword=%saA1-\\nsocket=%s\\n\" \
             \"$(od -An -N16 -tx1 /dev/urandom | tr -d \" \\n\")\" \"$socket\" > {ACCOUNT}'",
            input.client()
        ),
        format!(
            "sudo sed -n \"s/^password=\\(.*\\)/CREATE USER IF NOT EXISTS {USER} IDENTIFIED BY '\\1'; GRANT ALL ON *.* TO {USER} \
             WITH GRANT OPTION;/p\" {ACCOUNT} | {packaged}"
        ),
        format!("{} -N -B -e 'SELECT CURRENT_USER()'", administrator(input)),
    ];
    Some((text, commands))
}

/// Takes that account away again, once the packaged server runs.
pub fn without_account(input: &DeployInput) -> Vec<String> {
    match needs_account(input) {
        // Where it cannot be dropped, its password is still needed.
        true => vec![
            format!("{} -e 'DROP USER IF EXISTS {USER}'", packaged(input)),
            format!("sudo rm -f {ACCOUNT}"),
        ],
        false => Vec::new(),
    }
}

/// Whether root may be unable to log in to the built server: MariaDB's is compiled with `unix_socket`.
fn needs_account(input: &DeployInput) -> bool {
    input.variant.built.is_some() && !input.is_mariadb()
}

/// The client as whoever may log in to what is handed over, on the command line.
pub fn administrator(input: &DeployInput) -> String {
    match needs_account(input) {
        // The client takes this option in the first place alone.
        true => format!("sudo {} --defaults-file={ACCOUNT}", input.program()),
        false => packaged(input),
    }
}

/// The client as root, who may log in to the packaged server.
pub fn packaged(input: &DeployInput) -> String {
    format!("sudo {}", input.client())
}

/// Asks the built server whether it would start with the option files that are here, and where it would look for its data
/// and its socket; nothing is started. These paths it is told: whether it reads the option files that the packaged server reads, what
/// both print of them shows.
pub(crate) fn would_start(input: &DeployInput, built: &DeployBuild) -> Vec<String> {
    let mut options: Vec<&str> = unit::paths(input).iter().map(|path| path.option).collect();
    options.sort_unstable();
    let paths = format!("| grep -E \"^({}) \"", options.join("|"));
    let mut commands = if input.is_mariadb() {
        vec![unit::asked(
            input,
            built,
            &format!("--verbose --help {paths}"),
        )]
    } else {
        vec![
            unit::asked(input, built, "--user=mysql --validate-config"),
            unit::asked(
                input,
                built,
                &format!("--user=mysql --verbose --help {paths}"),
            ),
        ]
    };
    commands.push(format!(
        "for server in {} {PLACE}/{}; do sudo $server --print-defaults | tail -n 1; done",
        input.binary(),
        built.binary.display()
    ));
    commands
}

/// Compares what is loaded now with what was.
pub fn after(input: &DeployInput) -> String {
    format!(
        "{} | diff {BEFORE} - | grep '^<'",
        active(&administrator(input))
    )
}

/// What the lines of [`after`] mean.
pub(crate) const MEANING: &str = "A line with `<` is a plugin that the packaged server had and this one has not: undo, unless nothing uses it.";

/// Names what is loaded, asked with this client.
fn active(client: &str) -> String {
    format!(
        "{client} -N -B -e \"SELECT PLUGIN_NAME FROM information_schema.PLUGINS WHERE PLUGIN_STATUS = 'ACTIVE' ORDER BY PLUGIN_NAME\""
    )
}
