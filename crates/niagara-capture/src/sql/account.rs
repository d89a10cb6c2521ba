//! Statements about accounts: they may hold passwords, and say who may do what. No capture has them.

use super::byte::is_word;
use super::class::words;
use super::secret;

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
        let statements = || digest.split(|&byte| byte == b';');
        Concern {
            always: statements().any(is_about_accounts)
                || reveals(digest)
                || touches_tables(digest),
            in_mysql: words(digest).any(|word| TABLES.contains(&word)),
            may_carry: statements().any(may_carry),
        }
    }

    /// Whether a statement of this digest concerns accounts or credentials, with this database in use.
    pub fn holds(self, statement: &[u8], database: &[u8]) -> bool {
        self.always
            || (self.in_mysql && database.eq_ignore_ascii_case(b"mysql"))
            || secret::reveals(statement, self.may_carry)
    }
}

/// Whether a string in it may be executed, or become part of what is.
fn may_carry(digest: &[u8]) -> bool {
    let mut start = words(digest);
    match start.next().unwrap_or_default() {
        b"set" | b"prepare" | b"execute" | b"call" | b"do" | b"begin" => true,
        // Bodies, unlike the comments of tables.
        b"create" | b"alter" => start.take(8).any(|word| {
            matches!(
                word,
                b"procedure" | b"function" | b"event" | b"trigger" | b"package"
            )
        }),
        b"select" | b"with" => memchr::memchr(b'@', digest).is_some(),
        _ => false,
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
                // A table of another server's (FEDERATED, CONNECT): its address may hold a password.
                || memchr::memmem::find(digest, b" connection = ?").is_some()
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
        || has(b"wsrep_sst_auth")
        || calls_password(digest)
        || has(b"<secret>")
        || has(b"< secret >")
}

/// Whether it calls a function that makes a hash of a password: an index or a table may have that name too.
fn calls_password(digest: &[u8]) -> bool {
    memchr::memmem::find_iter(digest, b"password(").any(|at| {
        let before = &digest[..at];
        let before = before.strip_suffix(b"old_").unwrap_or(before);
        let word = words(before).last().unwrap_or_default();
        let names = matches!(
            word,
            b"key" | b"index" | b"into" | b"table" | b"exists" | b"references" | b"on"
        );
        let is_name = names && before.ends_with(b" ");
        let is_longer = before.last().is_some_and(|&byte| is_word(byte));
        !is_name && !is_longer
    })
}

/// Whether it names a table of the database `mysql` that holds accounts.
fn touches_tables(digest: &[u8]) -> bool {
    let mut before: &[u8] = b"";
    words(digest).any(|word| {
        let touches = before == b"mysql" && TABLES.contains(&word);
        before = word;
        touches
    })
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
            "select 1; grant all on *.* to joe",
            "select 1; set password = 'x'",
            "create procedure p() set password = 'x'",
            "create table t (a int) engine=federated connection='mysql://u:secret@h/d/t'",
            "set global wsrep_sst_auth = 'u:secret'",
            "select old_password ('secret')",
            "select 1 /* alter user joe identified by 'x' */",
            "prepare s from 'alter  user joe identified\\tby ''x'''",
            "execute immediate 'set   password = ''x'''",
            "drop role r",
            "start slave user='u' password='p'",
        ] {
            assert!(concerns(text, "shop"), "{text}");
        }
        assert!(concerns("update user set x=1", "mysql"));
        assert!(concerns("insert ignore user values (1)", "mysql"));
        // Far behind its beginning, where no digest reaches.
        let columns = "a,".repeat(50_000);
        let far = format!("select {columns} 1; alter user joe identified by 'x'");
        assert!(concerns(&far, "shop"));
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
            "create table users (id int, password char(9), key password (password))",
            "create table t (a int) comment 'rows are identified by a'",
            "set @a = 'rows are identified, by a'",
        ] {
            assert!(!concerns(text, "shop"), "{text}");
        }
    }
}
