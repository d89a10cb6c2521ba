//! The rate of arrivals at which latencies are compared, as it is asked for.

/// A rate as it is asked for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum RateChoice {
    /// Transactions per second, over all connections.
    PerSecond(f64),
    /// A share, 0 to 1, of the start's throughput under closed load.
    Share(f64),
}

impl RateChoice {
    /// What is taken where none is given: enough load for queues to form, not so much that they only grow.
    pub const USUAL: Self = Self::Share(0.7);
}

impl std::str::FromStr for RateChoice {
    type Err = String;

    /// `2000` or `70%`.
    fn from_str(text: &str) -> Result<Self, String> {
        let number = |text: &str| {
            text.trim()
                .parse::<f64>()
                .ok()
                .filter(|number| number.is_finite() && *number > 0.0)
                .ok_or_else(|| {
                    format!("{text:?} is not a rate: transactions per second as 2000, or a share of what the start does as 70%")
                })
        };
        match text.strip_suffix('%') {
            Some(share) => match number(share)? {
                percent if percent < 100.0 => Ok(Self::Share(percent / 100.0)),
                _ => Err(format!(
                    "{text}: at 100 % of what the start does or more its queue grows without end; 70% is usual"
                )),
            },
            None => Ok(Self::PerSecond(number(text)?)),
        }
    }
}

impl std::fmt::Display for RateChoice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::PerSecond(rate) => write!(f, "{rate}"),
            Self::Share(share) => write!(f, "{} %", share * 100.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_a_number_or_a_share() {
        assert_eq!("2000".parse(), Ok(RateChoice::PerSecond(2000.0)));
        assert_eq!("70%".parse(), Ok(RateChoice::Share(0.7)));
        for wrong in ["", "-5", "0", "many", "100%", "120%", "%"] {
            assert!(wrong.parse::<RateChoice>().is_err(), "{wrong}");
        }
    }
}
