//! What is expected of a lever before anything was measured here.

use niagara_server::Family;
use niagara_stats::Prior;

use super::definition::{Lever, Promise};
use super::measured::Measured;

/// How far machines differ where server and workload are the same, as a share of the log effect.
const BETWEEN_MACHINES: f64 = 0.4;
/// The same where the workload or the branch is another one.
const BETWEEN_LOADS: f64 = 0.6;
/// What of a log effect is expected where the workload or the branch is another one.
const CARRIED_OVER: f64 = 0.5;
/// Differences between machines that no lever is too small for (log).
const AT_LEAST: f64 = 0.01;
/// Log gains that are expected of levers of which nothing was measured, by their promise; of a build that adds to another
/// one, beyond what that brings. They decide the order in which levers are tried and which servers are built, nothing else.
const GUESSES: [(Promise, f64); 3] = [
    (Promise::High, 0.01),
    (Promise::Medium, 0.003),
    (Promise::Low, 0.0),
];

impl Lever {
    /// What its measurements make one expect of it with a server of this branch and this workload: the mean of those with
    /// both, or half the log effect of the others. `None` where it was never measured.
    pub(crate) fn prior(&self, family: Family, workload: &str) -> Option<Prior> {
        let (alike, others): (Vec<&Measured>, Vec<&Measured>) = self
            .measured()
            .iter()
            .partition(|measured| measured.is_of(family, workload));
        let (figures, kept, differing) = if alike.is_empty() {
            (others, CARRIED_OVER, BETWEEN_LOADS)
        } else {
            (alike, 1.0, BETWEEN_MACHINES)
        };
        if figures.is_empty() {
            return None;
        }
        let count = figures.len() as f64;
        let mean = figures.iter().map(|figure| figure.log()).sum::<f64>() / count;
        let exact = figures.iter().map(|f| f.std_err().powi(2)).sum::<f64>() / count.powi(2);
        let spread = (differing * mean).powi(2) + AT_LEAST.powi(2);
        Some(Prior {
            log_effect: kept * mean,
            std_err: (exact + spread).sqrt(),
            helped: figures.iter().any(|figure| figure.low > 1.0),
        })
    }

    /// The log gain by which it stands in the order of levers: from its measurements, else by its promise, on top of what
    /// is expected of the lever among `levers` that it adds to. What such a lever brought another branch or workload holds
    /// what the other one brought there, and says little here.
    pub(crate) fn expected_gain(&self, levers: &[Lever], family: Family, workload: &str) -> f64 {
        let base = levers.iter().find(|base| self.extends() == Some(base.id()));
        let mut measured = self.measured().iter();
        let was_measured_here = measured.any(|measured| measured.is_of(family, workload));
        if (base.is_none() || was_measured_here)
            && let Some(prior) = self.prior(family, workload)
        {
            return prior.log_effect;
        }
        let promised = GUESSES
            .iter()
            .find(|(promise, _)| *promise == self.promise());
        base.map_or(0.0, |base| base.expected_gain(levers, family, workload))
            + promised.map_or(0.0, |(_, guess)| *guess)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lever::parse::parse;

    fn lever(measured: &[(&str, &str, f64, f64, f64)]) -> Lever {
        let mut text =
            "title = \"T\"\ntheme = \"t\"\nrisk = \"none\"\nwhy = \"w\"\nsource = \"s\"\n\
                        [change.config]\na = 1\n"
                .to_owned();
        for (server, workload, ratio, low, high) in measured {
            text += &format!(
                "[[measured]]\nserver = \"{server}\"\nworkload = \"{workload}\"\nratio = {ratio}\nlow = {low}\n\
                 high = {high}\nsource = \"docs/results/x.md\"\n"
            );
        }
        parse("x", "levers/x.toml", &text).expect("valid")
    }

    #[test]
    fn what_was_measured_alike_counts_whole_and_the_rest_half() {
        let known = lever(&[
            ("mariadb-10.11", "oltp_read_only", 1.2, 1.18, 1.22),
            ("mariadb-10.11", "oltp_read_only", 1.1, 1.08, 1.12),
            ("mysql-9.7", "oltp_read_write", 1.5, 1.4, 1.6),
        ]);
        let alike = known
            .prior(Family::Mariadb, "oltp_read_only")
            .expect("measured");
        assert!((alike.log_effect - (1.2_f64.ln() + 1.1_f64.ln()) / 2.0).abs() < 1e-12);
        assert!(alike.std_err > 0.05 && alike.std_err < 0.07, "{alike:?}");
        let other = known
            .prior(Family::Mysql, "oltp_point_select")
            .expect("measured");
        let mean = (1.2_f64.ln() + 1.1_f64.ln() + 1.5_f64.ln()) / 3.0;
        assert!((other.log_effect - mean / 2.0).abs() < 1e-12);
        assert!(
            other.std_err > other.log_effect,
            "it may as well be nothing"
        );
    }

    #[test]
    fn levers_that_nobody_measured_stand_by_their_promise() {
        let unknown = lever(&[]);
        assert_eq!(unknown.prior(Family::Mariadb, "oltp_read_only"), None);
        let useless = lever(&[("mariadb-10.11", "oltp_read_only", 0.99, 0.98, 1.0)]);
        let gain = |lever: &Lever| lever.expected_gain(&[], Family::Mariadb, "oltp_read_only");
        assert!(gain(&unknown) > gain(&useless));
    }

    #[test]
    fn of_a_build_that_adds_to_another_its_promise_is_expected_on_top() {
        let levers = crate::lever::load(&[]).expect("the shipped levers");
        let gain = |id: &str| {
            let lever = levers.iter().find(|lever| lever.id() == id);
            let lever = lever.unwrap_or_else(|| panic!("{id} is shipped"));
            lever.expected_gain(&levers, Family::Mariadb, "oltp_read_only")
        };
        let base = gain("build-clang-pgo-lto");
        let measured = (1.6_f64.ln() + 1.381_f64.ln()) / 2.0;
        assert!((base - measured).abs() < 1e-12);
        assert!(gain("build-clang-pgo-lto-patched") > base);
        assert!(gain("build-clang-pgo-lto-patched-bolt") > gain("build-clang-pgo-lto-patched"));
        assert!(gain("build-clang-pgo") < base);
    }

    /// BOLT's figure is MySQL's alone, with all that its base brought there.
    #[test]
    fn what_a_build_that_adds_to_another_brought_elsewhere_does_not_put_it_behind() {
        let levers = crate::lever::load(&[]).expect("the shipped levers");
        let gain = |id: &str, family| {
            let lever = levers.iter().find(|lever| lever.id() == id);
            let lever = lever.unwrap_or_else(|| panic!("{id} is shipped"));
            lever.expected_gain(&levers, family, "oltp_read_only")
        };
        for family in [Family::Mariadb, Family::Mysql] {
            let base = gain("build-clang-pgo-lto", family);
            assert!(gain("build-clang-pgo-lto-bolt", family) > base, "{family}");
        }
        let bolt = gain("build-clang-pgo-lto-bolt", Family::Mysql);
        assert!((bolt - 1.51_f64.ln()).abs() < 1e-12);
    }
}
