//! What the account may see.

use super::reader::{Reader, Refusal, text};
use crate::gap::{Gap, GapCause, MissingPart};

/// The account and its global privileges.
pub(super) struct Privileges {
    account: String,
    global: Vec<String>,
}

impl Privileges {
    /// Those of the account, and of its roles that are active.
    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Privileges, Refusal> {
        let account = reader.value("SELECT CURRENT_USER()")?.unwrap_or_default();
        let grants = match reader.rows("SHOW GRANTS") {
            Ok(rows) => rows,
            Err(refusal @ Refusal::Lost(_)) => return Err(refusal),
            Err(_) => Vec::new(),
        };
        Ok(Privileges {
            account: in_quotes(&account),
            global: grants.iter().flat_map(|row| global(text(row, 0))).collect(),
        })
    }

    /// Whether the account has it for everything.
    pub(super) fn may(&self, privilege: &str) -> bool {
        let has = |one: &String| one == privilege || one == "ALL PRIVILEGES" || one == "ALL";
        self.global.iter().any(has)
    }

    /// A gap that this privilege closes.
    pub(super) fn gap(&self, part: MissingPart, privilege: &str) -> Gap {
        Gap {
            part,
            cause: GapCause::Privilege {
                grant: format!("GRANT {privilege} TO {}", self.account),
            },
        }
    }
}

/// `app@%` as `'app'@'%'`.
fn in_quotes(account: &str) -> String {
    let (user, host) = account.rsplit_once('@').unwrap_or((account, "%"));
    format!("'{user}'@'{host}'")
}

/// The global privileges of a line of SHOW GRANTS.
fn global(line: &str) -> Vec<String> {
    let words = line
        .strip_prefix("GRANT ")
        .and_then(|rest| Some(rest.split_once(" ON *.* TO ")?.0));
    let words = words.into_iter().flat_map(|words| words.split(", "));
    words.map(|word| word.trim().to_ascii_uppercase()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_global_grants_count() {
        assert_eq!(
            global("GRANT SELECT, PROCESS ON *.* TO `a`@`%` IDENTIFIED BY PASSWORD '*00'"),
            ["SELECT", "PROCESS"]
        );
        assert!(global("GRANT SELECT ON `shop`.* TO `a`@`%`").is_empty());
        assert!(global("GRANT `reader` TO `a`@`%`").is_empty());
        assert_eq!(in_quotes("a@b@%"), "'a@b'@'%'");
    }
}
