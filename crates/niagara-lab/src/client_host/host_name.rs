//! What may name a host.

/// A text that names none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoHost(String);

impl std::fmt::Display for NoHost {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "`{}` is not a host", self.0)
    }
}

impl std::error::Error for NoHost {}

impl NoHost {
    /// What to write.
    pub fn remedy(&self) -> &'static str {
        "name one as ssh knows it: db-client, me@db-client, 192.0.2.7"
    }
}

/// Whether `text` can be given to a remote shell as a host.
///
/// # Errors
/// It is empty, would be taken for an option (it begins with a dash), or is several words.
pub(crate) fn check_host(text: &str) -> Result<(), NoHost> {
    if text.is_empty() || text.starts_with('-') || text.contains(char::is_whitespace) {
        return Err(NoHost(text.to_owned()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_of_ssh_are_no_hosts() {
        for host in ["db-client", "me@db-client", "192.0.2.7", "2001:db8::7"] {
            assert_eq!(check_host(host), Ok(()), "{host}");
        }
        for text in ["", "-oProxyCommand=x", "a host"] {
            assert!(check_host(text).is_err(), "{text}");
        }
    }
}
