//! Plugins that the packaged server loads from files, and that a built server comes without.

use niagara_store::DeployBuild;

use super::{DeployInput, RECIPE, unit};

/// Where the built server looks for plugins.
pub const FOLDER: &str = "/opt/niagara/usr/lib/mysql/plugin";
/// What the packaged server had, in the folder that the files are installed from.
pub const BEFORE: &str = "plugins-before";

/// What to know and to ask before the built server takes the packaged one's place.
pub fn before(input: &DeployInput) -> (String, Vec<String>) {
    let (examples, variable) = if input.is_mariadb() {
        (
            "audit, PAM and ed25519 logins, the compression of mariadb-plugin-provider-*, which Debian installs along with the \
             server, storage engines in packages of their own",
            "provider_lz4",
        )
    } else {
        (
            "`auth_socket`, by which root logs in on Debian and Ubuntu, audit, keyrings, components, semisynchronous replication",
            "rpl_semi_sync_source_enabled",
        )
    };
    let text = format!(
        "Plugins. The built server comes without: only what is compiled into it is there, and {FOLDER}, the one folder where it \
         looks for others, is empty. What the packaged server loads from files is gone ({examples}). Loaded by `INSTALL` or \
         `plugin_load_add`, it is missing and only the server's log says so; where an option file sets a variable of it \
         (`{variable}`), the server does not start. Ask the packaged server while it runs:"
    );
    let mut commands = vec![
        format!("{} > {BEFORE}", active(input)),
        format!(
            "{} \"SELECT PLUGIN_NAME, PLUGIN_LIBRARY FROM information_schema.PLUGINS WHERE PLUGIN_LIBRARY IS NOT NULL\"",
            client(input)
        ),
    ];
    if !input.is_mariadb() {
        commands.push(format!(
            "{} \"SELECT component_urn FROM mysql.component\"",
            client(input)
        ));
    }
    (text, commands)
}

/// What to do about the plugins that the packaged server names.
pub fn remedy(input: &DeployInput) -> String {
    let users = if input.is_mariadb() {
        " (tables written with its `innodb_compression_algorithm` use a provider)"
    } else {
        ""
    };
    format!(
        "What is printed is what will be missing; where nothing is, continue. If one of them is needed, keep the packaged server, or \
         build the plugin from the source that {RECIPE} names, put its file into that folder and try it. If nothing uses \
         it{users}, uninstall it or purge its package, so that no option file names it."
    )
}

/// Asks the built server whether it would start with the option files that are here, and where it would look for its data
/// and its socket; nothing is started.
pub(crate) fn would_start(input: &DeployInput, built: &DeployBuild) -> Vec<String> {
    let paths = "| grep -E \"^(datadir|socket) \"";
    if input.is_mariadb() {
        vec![unit::asked(built, &format!("--verbose --help {paths}"))]
    } else {
        vec![
            unit::asked(built, "--user=mysql --validate-config"),
            unit::asked(built, &format!("--user=mysql --verbose --help {paths}")),
        ]
    }
}

/// Compares what is loaded now with what was.
pub fn after(input: &DeployInput) -> String {
    format!("{} | diff {BEFORE} - | grep '^<'", active(input))
}

/// What the lines of [`after`] mean.
pub(crate) const MEANING: &str = "A line with `<` is a plugin that the packaged server had and this one has not: undo, unless nothing uses it.";

fn active(input: &DeployInput) -> String {
    format!(
        "{} \"SELECT PLUGIN_NAME FROM information_schema.PLUGINS WHERE PLUGIN_STATUS = 'ACTIVE' ORDER BY PLUGIN_NAME\"",
        client(input)
    )
}

fn client(input: &DeployInput) -> String {
    format!("sudo {} -N -B -e", input.client())
}
