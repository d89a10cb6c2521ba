//! What a statement does to the transaction that is open, beside what its class says.

use super::class::{Class, words};

/// What a statement does to the transaction that is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Boundary {
    /// It commits before it begins.
    pub commits: bool,
    /// Its end is the beginning of the next one (COMMIT AND CHAIN).
    pub chains: bool,
}

impl Boundary {
    /// Of a statement of this class, from its digest's text.
    pub fn of(class: Class, digest: &[u8]) -> Boundary {
        let mut start = words(digest);
        let first = start.next().unwrap_or_default();
        let second = start.next().unwrap_or_default();
        // Source: MySQL's and MariaDB's manuals, "Statements That Cause an Implicit Commit".
        let commits = match class {
            // Tables of the session's own are nobody else's.
            Class::Ddl => {
                let is_temporary = second == b"temporary"
                    || (second == b"or" && start.nth(1).unwrap_or_default() == b"temporary");
                !is_temporary && first != b"checksum"
            }
            Class::Lock => true,
            Class::Server => matches!(
                first,
                b"flush"
                    | b"reset"
                    | b"start"
                    | b"stop"
                    | b"change"
                    | b"install"
                    | b"uninstall"
                    | b"cache"
            ),
            Class::Set => second == b"password",
            Class::Other => matches!(first, b"grant" | b"revoke"),
            _ => false,
        };
        Boundary {
            commits,
            chains: matches!(class, Class::Commit | Class::Rollback)
                && memchr::memmem::find(digest, b" and chain").is_some(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::classify;
    use super::*;

    #[test]
    fn what_commits_and_what_does_not() {
        for (digest, commits) in [
            ("create table t(a int)", true),
            ("create temporary table t(a int)", false),
            ("create or replace temporary table t(a int)", false),
            ("create or replace table t(a int)", true),
            ("drop temporary table t", false),
            ("drop table t", true),
            ("alter table t add b int", true),
            ("checksum table t", false),
            ("analyze table t", true),
            ("analyze local table t", true),
            ("analyze select ? from t", false),
            ("analyze format = json update t set a = ?", false),
            ("lock tables t write", true),
            ("flush tables", true),
            ("set global x = ?", false),
            ("kill ?", false),
            ("set password = ?", true),
            ("set @a = ?", false),
            ("grant select on a.* to b", true),
            ("insert into t values(...)", false),
            ("savepoint a", false),
        ] {
            let boundary = Boundary::of(classify(digest.as_bytes()).class, digest.as_bytes());
            assert_eq!(boundary.commits, commits, "{digest}");
        }
    }

    #[test]
    fn what_begins_the_next_one() {
        for (digest, chains) in [
            ("commit", false),
            ("commit and chain", true),
            ("rollback work and chain no release", true),
            ("commit and no chain", false),
            ("select ? and chain", false),
        ] {
            let boundary = Boundary::of(classify(digest.as_bytes()).class, digest.as_bytes());
            assert_eq!(boundary.chains, chains, "{digest}");
        }
    }
}
