//! Of which release a built server is, beside the one that it was compared with.

use std::cmp::Ordering;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The release of a built server, and of the server that it was compared with and takes the place of, each as the server
/// prints it: `10.11.18-MariaDB`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Releases {
    /// Of the built server.
    pub built: String,
    /// Of the other one; none where it was compared with none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beside: Option<String>,
}

impl Releases {
    /// How the built server's release stands to the other one, by their numbers; `None` where there is no other one, or one
    /// of another series (10.11 and 11.8), which is no earlier or later form of the same server.
    pub fn order(&self) -> Option<Ordering> {
        let built = numbers(&self.built)?;
        let beside = numbers(self.beside.as_deref()?)?;
        let is_same_series = built.len() >= 2 && beside.len() >= 2 && built[..2] == beside[..2];
        is_same_series.then(|| built.cmp(&beside))
    }

    /// The other release, where the built server is older than that.
    pub fn newer_beside(&self) -> Option<&str> {
        match self.order()? {
            Ordering::Less => self.beside.as_deref(),
            Ordering::Equal | Ordering::Greater => None,
        }
    }
}

/// The numbers that a version begins with: 10, 11 and 19 of `10.11.19-MariaDB-0+deb12u1`.
fn numbers(version: &str) -> Option<Vec<u64>> {
    let end = version.find(|letter: char| !letter.is_ascii_digit() && letter != '.');
    let digits = version[..end.unwrap_or(version.len())].trim_end_matches('.');
    digits.split('.').map(|part| part.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(built: &str, beside: &str) -> Option<Ordering> {
        let releases = Releases {
            built: built.to_owned(),
            beside: Some(beside.to_owned()),
        };
        releases.order()
    }

    #[test]
    fn releases_are_compared_by_their_numbers() {
        let package = "10.11.19-MariaDB-0+deb12u1";
        assert_eq!(order("10.11.18-MariaDB", package), Some(Ordering::Less));
        assert_eq!(order("10.11.19-MariaDB", package), Some(Ordering::Equal));
        // As text, 9 would stand behind 19, and 100 before 19.
        assert_eq!(order("10.11.9-MariaDB", package), Some(Ordering::Less));
        assert_eq!(order("10.11.100", package), Some(Ordering::Greater));
        assert_eq!(order("8.0.36-28", "8.0.37"), Some(Ordering::Less));
        // A series is another server; what is no version says nothing.
        assert_eq!(order("10.11.18-MariaDB", "11.8.3-MariaDB"), None);
        assert_eq!(order("", package), None);
        assert_eq!(order("mine", package), None);
        assert_eq!(order("10", package), None);
        assert_eq!(Releases::default().order(), None);
    }

    #[test]
    fn only_an_older_build_names_what_is_newer() {
        let of = |built: &str| Releases {
            built: built.to_owned(),
            beside: Some("9.7.4".to_owned()),
        };
        assert_eq!(of("9.7.3").newer_beside(), Some("9.7.4"));
        assert_eq!(of("9.7.4").newer_beside(), None);
        assert_eq!(of("9.7.10").newer_beside(), None);
    }
}
