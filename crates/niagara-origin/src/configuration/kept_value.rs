//! The values of settings as results keep them.

use super::dropped_settings::dropped_settings;
use super::secret::{HIDDEN, is_private};

/// The value of a setting as results keep it: none of a secret that no copy takes.
pub(super) fn hidden(name: &str, value: String) -> String {
    match is_private(name) && dropped_settings(name, "").is_some() {
        true => HIDDEN.to_owned(),
        false => value,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_keep_no_secret_that_no_copy_takes() {
        let kept = |name: &str| hidden(name, "x".to_owned());
        assert_eq!(kept("report_password"), HIDDEN);
        assert_eq!(kept("report_host"), HIDDEN);
        assert_eq!(kept("authentication_ldap_simple_bind_root_pwd"), HIDDEN);
        // A copy takes it.
        assert_eq!(kept("default_password_lifetime"), "x");
        assert_eq!(kept("innodb_ft_min_token_size"), "x");
    }
}
