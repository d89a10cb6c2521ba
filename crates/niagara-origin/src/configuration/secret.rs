//! Settings that hold passwords, keys, accounts and addresses of other hosts: they are named, and their values shown nowhere.

use niagara_server::normalise_variable;

/// Parts of names of options whose values are secrets, whatever they are of.
const SECRETS: [&str; 8] = [
    "passphrase",
    "_pwd",
    "secret",
    "credential",
    "filekey",
    "access_key",
    "bind_root_dn",
    "otel_exporter",
];
/// Parts of names of which some are secrets, and others rules about them.
const MAYBE: [&str; 2] = ["password", "passwd"];
/// Options that say which hosts and accounts the original deals with.
const ADDRESSES: [&str; 16] = [
    "bind_address",
    "admin_address",
    "mysqlx_bind_address",
    "proxy_protocol_networks",
    "report_host",
    "report_user",
    "master_host",
    "master_user",
    "wsrep_cluster_address",
    "wsrep_node_address",
    "wsrep_node_name",
    "wsrep_node_incoming_address",
    "wsrep_sst_receive_address",
    "wsrep_sst_donor",
    "wsrep_provider_options",
    "clone_valid_donor_list",
];
/// Endings of names of such options.
const ADDRESS_ENDINGS: [&str; 6] = [
    "_server_host",
    "_local_address",
    "_group_seeds",
    "_ip_allowlist",
    "_ip_whitelist",
    "_url",
];
/// What stands in place of a secret.
pub(super) const HIDDEN: &str = "*****";

/// Whether the value of this option (name with underscores) is a secret, and goes neither into a copy nor into results.
pub(super) fn is_secret(name: &str) -> bool {
    SECRETS.iter().any(|part| name.contains(part)) || name.ends_with("_token")
}

/// Whether it may be one.
fn may_be_secret(name: &str) -> bool {
    is_secret(name)
        || MAYBE.iter().any(|part| name.contains(part))
        || name.ends_with("_auth")
        || name.starts_with("keyring_")
}

/// Whether its value is nobody else's business.
pub(super) fn is_private(name: &str) -> bool {
    may_be_secret(name) || is_address(name)
}

fn is_address(name: &str) -> bool {
    let name = name.strip_prefix("loose_").unwrap_or(name);
    ADDRESSES.contains(&name) || ADDRESS_ENDINGS.iter().any(|ending| name.ends_with(ending))
}

/// A setting as people see it: as it was `written`, unless its value is nobody else's business.
pub(super) fn shown_setting(name: &str, written: &str) -> String {
    let name = normalise_variable(name);
    match is_private(&name) {
        true => format!("{name}={HIDDEN}"),
        false => written.to_owned(),
    }
}

/// Whether a value stands for a secret that is not kept.
pub(crate) fn is_hidden(value: &str) -> bool {
    value == HIDDEN
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_named_and_not_shown() {
        for (name, written) in [
            ("wsrep-sst-auth", "wsrep-sst-auth=sst:S3cret"),
            ("report_password", "report_password=S3cret"),
            (
                "loose_file_key_management_filekey",
                "loose_file_key_management_filekey=S3cret",
            ),
            ("keyring_vault_config", "keyring_vault_config=S3cret"),
            ("s3_access_key", "s3_access_key=S3cret"),
            ("ssl_passphrase", "ssl_passphrase=S3cret"),
            (
                "authentication_ldap_simple_bind_root_pwd",
                "authentication_ldap_simple_bind_root_pwd=S3cret",
            ),
            (
                "loose-wsrep_cluster_address",
                "loose-wsrep_cluster_address=gcomm://S3cret",
            ),
            ("wsrep_node_name", "wsrep_node_name=S3cret"),
            ("report-host", "report-host=S3cret"),
            (
                "group_replication_group_seeds",
                "group_replication_group_seeds=S3cret:33061",
            ),
        ] {
            let shown = shown_setting(name, written);
            assert!(
                shown.ends_with("=*****") && !shown.contains("S3cret"),
                "{shown}"
            );
        }
        let plain = "default_authentication_plugin=caching_sha2_password";
        assert_eq!(shown_setting("default_authentication_plugin", plain), plain);
        for name in ["key_buffer_size", "host_cache_size", "skip_host_cache"] {
            let written = format!("{name} = 8M");
            assert_eq!(shown_setting(name, &written), written);
        }
    }
}
