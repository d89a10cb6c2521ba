//! What a general log says of a login.

use crate::way::Way;

/// Who logged in, and to what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Login<'a> {
    /// The user's name.
    pub user: &'a [u8],
    /// The database, empty for none.
    pub database: &'a [u8],
}

impl<'a> Login<'a> {
    /// How the client came, by `using Socket` or `using TCP/IP`; none where that is not said.
    pub fn way(text: &[u8]) -> Option<Way> {
        let at = memchr::memmem::rfind(text, b" using ")?;
        match &text[at + 7..] {
            b"Socket" => Some(Way::Socket),
            b"TCP/IP" | b"SSL/TLS" => Some(Way::Network),
            _ => None,
        }
    }

    /// From `joe@localhost on shop using TCP/IP`; none for a login that was refused.
    pub fn parse(text: &'a [u8]) -> Option<Login<'a>> {
        if text.starts_with(b"Access denied") {
            return None;
        }
        let text = match memchr::memmem::rfind(text, b" using ") {
            Some(end) => &text[..end],
            None => text,
        };
        let (account, database) = match memchr::memmem::rfind(text, b" on ") {
            Some(at) => (&text[..at], &text[at + 4..]),
            None => (text.strip_suffix(b" on").unwrap_or(text), &b""[..]),
        };
        let user = match memchr::memrchr(b'@', account) {
            Some(at) => &account[..at],
            None => account,
        };
        Some(Login {
            user,
            database: database.trim_ascii(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logins_are_read() {
        for (text, user, database) in [
            ("root@localhost on shop using Socket", "root", "shop"),
            ("root@localhost on  using Socket", "root", ""),
            (
                "joe@mail@10.0.0.1 on a on b using SSL/TLS",
                "joe@mail@10.0.0.1 on a",
                "b",
            ),
            ("joe@10.0.0.1 on shop", "joe", "shop"),
            ("joe@10.0.0.1 on ", "joe", ""),
        ] {
            let login = Login::parse(text.as_bytes()).unwrap();
            if user.contains(" on ") {
                // A host has no spaces, so the last word is the database's name; a name with ` on ` in it is cut there.
                assert_eq!(login.database, database.as_bytes());
                continue;
            }
            assert_eq!(
                (login.user, login.database),
                (user.as_bytes(), database.as_bytes()),
                "{text}"
            );
        }
        let way = |text: &str| Login::way(text.as_bytes());
        assert_eq!(
            way("root@localhost on shop using Socket"),
            Some(Way::Socket)
        );
        assert_eq!(
            way("joe@10.0.0.1 on shop using SSL/TLS"),
            Some(Way::Network)
        );
        assert_eq!(way("joe@10.0.0.1 on shop"), None);
        assert_eq!(
            Login::parse(b"Access denied for user 'x'@'y' (using password: YES)"),
            None
        );
    }
}
