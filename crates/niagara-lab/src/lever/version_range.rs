//! Which versions of a server: `>=10.5, <11`.

use std::fmt;

use niagara_server::Version;

/// A conjunction of bounds; `*` is every version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VersionRange {
    text: String,
    bounds: Vec<(Bound, Vec<u32>)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Bound {
    AtLeast,
    Above,
    AtMost,
    Below,
    Series,
}

impl VersionRange {
    /// Reads `>=10.5, <11`, `10.11` (that series), `*`; the cause when it is none of these.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut bounds = Vec::new();
        for part in text.split(',').map(str::trim).filter(|part| *part != "*") {
            let split = part
                .find(|c: char| c.is_ascii_digit())
                .unwrap_or(part.len());
            let bound = match part[..split].trim() {
                ">=" => Bound::AtLeast,
                ">" => Bound::Above,
                "<=" => Bound::AtMost,
                "<" => Bound::Below,
                "" | "=" => Bound::Series,
                other => return Err(format!("`{other}` is not a comparison")),
            };
            let numbers: Result<Vec<u32>, _> = part[split..].split('.').map(str::parse).collect();
            match numbers {
                Ok(numbers) if numbers.len() <= 3 => bounds.push((bound, numbers)),
                _ => return Err(format!("`{part}` is not a bound on a version")),
            }
        }
        Ok(Self {
            text: text.trim().to_owned(),
            bounds,
        })
    }

    /// Whether a version is in the range. A bound is compared as far as it is written: `<=10.6` holds for 10.6.21.
    pub fn holds(&self, version: &Version) -> bool {
        let version = [version.major, version.minor, version.patch];
        self.bounds.iter().all(|(bound, limit)| {
            let order = version[..limit.len()].cmp(limit);
            match bound {
                Bound::AtLeast => order.is_ge(),
                Bound::Above => order.is_gt(),
                Bound::AtMost => order.is_le(),
                Bound::Below => order.is_lt(),
                Bound::Series => order.is_eq(),
            }
        })
    }
}

impl fmt::Display for VersionRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_compared_as_far_as_they_are_written() {
        let holds = |range: &str, version: &str| {
            VersionRange::parse(range)
                .expect("a range")
                .holds(&version.parse().expect("a version"))
        };
        assert!(holds("*", "5.7.1"));
        assert!(holds(">=10.5, <11", "10.11.19"));
        assert!(!holds(">=10.5, <11", "11.0.1"));
        assert!(holds("10.11", "10.11.19"));
        assert!(!holds("10.11", "10.6.1"));
        assert!(holds("<=10.6", "10.6.21"));
        assert!(!holds(">10.6", "10.6.21"));
        assert!(holds(">=8.0.30", "8.0.30"));
        assert!(!holds(">=8.0.30", "8.0.29"));
    }

    #[test]
    fn what_is_no_range_is_refused() {
        assert_eq!(
            VersionRange::parse("~10.5").expect_err("no comparison"),
            "`~` is not a comparison"
        );
        assert!(VersionRange::parse(">=ten").is_err());
        assert!(VersionRange::parse(">=10.x").is_err());
    }
}
