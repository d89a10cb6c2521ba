//! Settings that hold passwords and keys: they are named, and their values shown nowhere.

/// Parts of names of options whose values are secrets.
const PARTS: [&str; 6] = [
    "password",
    "passwd",
    "secret",
    "token",
    "credential",
    "filekey",
];
/// What stands in place of a secret.
pub(super) const HIDDEN: &str = "*****";

/// Whether the value of this option (name with underscores) must not be shown.
pub(super) fn is_secret(name: &str) -> bool {
    PARTS.iter().any(|part| name.contains(part))
        || name.ends_with("_auth")
        || name.starts_with("keyring_")
}

/// A setting as people see it: as it was `written`, unless its value is a secret.
pub(super) fn shown_setting(name: &str, written: &str) -> String {
    let name = niagara_server::normalise_variable(name);
    match is_secret(&name) {
        true => format!("{name}={HIDDEN}"),
        false => written.to_owned(),
    }
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
        ] {
            let shown = shown_setting(name, written);
            assert!(
                shown.ends_with("=*****") && !shown.contains("S3cret"),
                "{shown}"
            );
        }
        let plain = "default_authentication_plugin=caching_sha2_password";
        assert_eq!(shown_setting("default_authentication_plugin", plain), plain);
        assert_eq!(
            shown_setting("key_buffer_size", "key_buffer_size = 8M"),
            "key_buffer_size = 8M"
        );
    }
}
