//! Statements about accounts: they may hold passwords, and say who may do what. No capture has them.

use super::class::words;

/// Tables of the database `mysql` that hold accounts.
const TABLES: [&[u8]; 10] = [
    b"user",
    b"global_priv",
    b"db",
    b"tables_priv",
    b"columns_priv",
    b"procs_priv",
    b"proxies_priv",
    b"roles_mapping",
    b"default_roles",
    b"servers",
];

/// What a digest says about accounts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Concern {
    /// It concerns them.
    pub always: bool,
    /// It does where the database in use is `mysql`.
    in_mysql: bool,
    /// It may carry another statement in a string.
    may_carry: bool,
}

impl Concern {
    /// Of a digest's text.
    pub fn of(digest: &[u8]) -> Concern {
        let first = words(digest).next().unwrap_or_default();
        let may_carry = match first {
            b"set" | b"prepare" | b"execute" | b"create" | b"call" => true,
            b"select" => memchr::memchr(b'@', digest).is_some(),
            _ => false,
        };
        Concern {
            always: is_about_accounts(digest) || reveals(digest) || touches_tables(digest, false),
            in_mysql: touches_tables(digest, true),
            may_carry,
        }
    }

    /// Whether a statement of this digest concerns accounts or credentials, with this database in use.
    pub fn holds(self, statement: &[u8], database: &[u8]) -> bool {
        self.always
            || (self.in_mysql && database.eq_ignore_ascii_case(b"mysql"))
            || (self.may_carry && carries(statement))
    }
}

fn is_about_accounts(digest: &[u8]) -> bool {
    let mut start = words(digest);
    let first = start.next().unwrap_or_default();
    let second = start.next().unwrap_or_default();
    let third = start.next().unwrap_or_default();
    let names_account = |word: &[u8]| matches!(word, b"user" | b"role" | b"server");
    match first {
        b"grant" | b"revoke" => true,
        b"create" | b"alter" | b"drop" | b"rename" => {
            let fourth = start.next().unwrap_or_default();
            names_account(second)
                || (second == b"or" && third == b"replace" && names_account(fourth))
        }
        b"set" => {
            matches!(second, b"password" | b"role") || (second == b"default" && third == b"role")
        }
        b"change" => matches!(second, b"master" | b"replication"),
        b"start" => matches!(second, b"slave" | b"replica" | b"group_replication"),
        _ => false,
    }
}

/// `IDENTIFIED BY`, `PASSWORD('…')` anywhere in it.
fn reveals(digest: &[u8]) -> bool {
    let has = |part: &[u8]| memchr::memmem::find(digest, part).is_some();
    has(b"identified by")
        || has(b"identified with")
        || has(b"identified via")
        || has(b"password(")
        || has(b"<secret>")
        || has(b"< secret >")
}

fn touches_tables(digest: &[u8], in_mysql: bool) -> bool {
    let mut before: &[u8] = b"";
    for word in words(digest) {
        if TABLES.contains(&word)
            && (before == b"mysql"
                || (in_mysql
                    && matches!(before, b"from" | b"into" | b"update" | b"join" | b"table")))
        {
            return true;
        }
        before = word;
    }
    false
}

/// Whether a string in the statement is a statement about accounts.
fn carries(statement: &[u8]) -> bool {
    let lower = statement.to_ascii_lowercase();
    let has = |part: &[u8]| memchr::memmem::find(&lower, part).is_some();
    has(b"identified ") || has(b"set password") || has(b"create user") || has(b"alter user")
}

#[cfg(test)]
mod tests {
    use super::super::{Cut, SqlMode, digest_text};
    use super::*;

    fn concerns(text: &str, database: &str) -> bool {
        let mut cut = Cut::default();
        cut.read(text.as_bytes(), SqlMode::default());
        Concern::of(&digest_text(cut.for_digest())).holds(text.as_bytes(), database.as_bytes())
    }

    #[test]
    fn statements_about_accounts_are_known() {
        for text in [
            "create user if not exists joe@localhost identified by 'secret1'",
            "CREATE /* x */ USER 'joe'@'%'",
            "create or replace user joe",
            "GRANT SELECT ON shop.* TO u1@localhost",
            "set password for u1@localhost = password('secret2')",
            "SET PASSWORD = 'x'",
            "alter user u1@localhost identified by 'secret3'",
            "change master to master_host='h',master_password='secret4'",
            "CHANGE REPLICATION SOURCE TO SOURCE_PASSWORD = <secret>",
            "update mysql.user set authentication_string='x'",
            "/*!50000 CREATE USER joe IDENTIFIED BY 'x' */",
            "select password('secret')",
            "set @q = 'alter user joe identified by ''x'''",
            "drop role r",
            "start slave user='u' password='p'",
        ] {
            assert!(concerns(text, "shop"), "{text}");
        }
        assert!(concerns("update user set x=1", "mysql"));
    }

    #[test]
    fn statements_of_the_application_are_not() {
        for text in [
            "select * from user where id=1",
            "update users set password='x' where id=1",
            "insert into grants values (1)",
            "select 'pw'",
            "set names utf8mb4",
            "select user()",
        ] {
            assert!(!concerns(text, "shop"), "{text}");
        }
    }
}
