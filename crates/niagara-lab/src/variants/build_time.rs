//! The time that a study may spend on building servers.

use std::time::Duration;

use anyhow::{Result, bail};
use niagara_build::Forecast;
use niagara_model::Reason;

/// What a lever builds, and how long that takes.
#[derive(Debug, Clone, PartialEq)]
pub struct BuildAhead {
    /// The lever's id.
    pub lever: String,
    /// What building its server takes after those before it; the servers that it comes to with other levers that build
    /// counted in.
    pub forecast: Forecast,
    /// Its recipe, one line.
    pub recipe: String,
}

/// Seconds for building servers, and what is left of them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct BuildAllowance {
    budget: f64,
    used: f64,
}

impl BuildAllowance {
    /// All of `budget` is left.
    pub(crate) fn new(budget: Duration) -> Self {
        Self {
            budget: budget.as_secs_f64(),
            used: 0.0,
        }
    }

    /// A build of this forecast fits into what is left; what is there already takes no time.
    ///
    /// # Errors
    /// It does not, or nobody can tell; with the budget that it takes.
    pub(crate) fn check(&self, forecast: Forecast) -> Result<()> {
        let left = self.budget - self.used;
        match forecast.seconds() {
            Some(seconds) if seconds <= left => Ok(()),
            _ if forecast == Forecast::There => Ok(()),
            _ => bail!(over_budget(forecast, self.budget, left)),
        }
    }

    /// Building took this long.
    pub(crate) fn spend(&mut self, seconds: f64) {
        self.used += seconds;
    }
}

/// Why a build is left out.
pub(crate) fn over_budget(forecast: Forecast, budget: f64, left: f64) -> Reason {
    Reason::BuildBudget {
        takes: forecast.seconds(),
        budget,
        left,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_told_with_the_budget_that_it_takes() {
        let mut allowance = BuildAllowance::new(Duration::from_secs(3600));
        let half_an_hour = Forecast::Seconds(1800.0);
        allowance.check(half_an_hour).expect("fits");
        allowance.spend(1800.0);
        allowance.check(half_an_hour).expect("fits to the second");
        allowance.spend(600.0);
        let refused = allowance.check(half_an_hour).expect_err("20 min left");
        assert_eq!(
            refused.to_string(),
            "building it takes about 30m, and of the 60m for building 20m are left: --build-budget 70m"
        );
        // One that took longer than it was forecast leaves less than nothing.
        allowance.spend(7200.0);
        allowance.check(Forecast::There).expect("takes nothing");
        allowance.check(half_an_hour).expect_err("nothing left");
        let unknown = allowance.check(Forecast::Unknown).expect_err("may be long");
        assert!(unknown.to_string().contains("is unknown yet"), "{unknown}");
    }
}
