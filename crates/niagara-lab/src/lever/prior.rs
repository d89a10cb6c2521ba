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
    /// What measurements make one expect of it with a server of this branch and this workload: its own, else what was measured on top
    /// of the lever among `levers` that it adds to, with what is expected of that one. `None` where it was never measured.
    pub(crate) fn prior(&self, levers: &[Lever], family: Family, workload: &str) -> Option<Prior> {
        if !self.is_known_whole(family, workload)
            && let Some(base) = self.base(levers)
            && let Some(below) = base.prior(levers, family, workload)
            && let Some(on_top) = expected(self.added(), family, workload)
        {
            return Some(Prior {
                log_effect: below.log_effect + on_top.log_effect,
                std_err: below.std_err.hypot(on_top.std_err),
                helped: below.helped || on_top.helped,
            });
        }
        expected(self.whole(), family, workload)
    }

    /// The log gain by which it stands in the order of levers: from its measurements, else what was measured on top of the lever
    /// among `levers` that it adds to, or its promise, beside what is expected of that one. What such a lever brought another branch
    /// or workload in all holds what the other one brought there, and says little here.
    pub(crate) fn expected_gain(&self, levers: &[Lever], family: Family, workload: &str) -> f64 {
        let base = self.base(levers);
        if (base.is_none() || self.is_known_whole(family, workload))
            && let Some(prior) = expected(self.whole(), family, workload)
        {
            return prior.log_effect;
        }
        let promised = || {
            let guess = GUESSES
                .iter()
                .find(|(promise, _)| *promise == self.promise());
            guess.map_or(0.0, |(_, guess)| *guess)
        };
        let on_top = expected(self.added(), family, workload);
        base.map_or(0.0, |base| base.expected_gain(levers, family, workload))
            + on_top.map_or_else(promised, |prior| prior.log_effect)
    }

    /// The lever that it adds to.
    fn base<'l>(&self, levers: &'l [Lever]) -> Option<&'l Lever> {
        levers.iter().find(|base| self.extends() == Some(base.id()))
    }

    /// Its figures over servers that have nothing of it.
    fn whole(&self) -> impl Iterator<Item = &Measured> {
        let figures = self.measured().iter();
        figures.filter(|figure| figure.added_to.is_none())
    }

    /// Its figures over the lever that it adds to.
    fn added(&self) -> impl Iterator<Item = &Measured> {
        let figures = self.measured().iter();
        figures.filter(|figure| figure.added_to.is_some())
    }

    /// Whether all that it brings was measured with this branch and this workload.
    fn is_known_whole(&self, family: Family, workload: &str) -> bool {
        self.whole().any(|figure| figure.is_of(family, workload))
    }
}

/// What these figures make one expect: the mean of those with this branch and this workload, or half the log effect of those of this branch,
/// else of the others; of those over the package, where there are any. `None` where there are none.
fn expected<'m>(
    figures: impl Iterator<Item = &'m Measured>,
    family: Family,
    workload: &str,
) -> Option<Prior> {
    let all: Vec<&Measured> = figures.collect();
    let those = |are: &dyn Fn(&&Measured) -> bool| -> Vec<&Measured> {
        all.iter().copied().filter(are).collect()
    };
    let alike = those(&|figure| figure.is_of(family, workload));
    let of_branch = those(&|figure| figure.is_of_branch(family));
    let (figures, kept, differing) = if !alike.is_empty() {
        (alike, 1.0, BETWEEN_MACHINES)
    } else if !of_branch.is_empty() {
        (of_branch, CARRIED_OVER, BETWEEN_LOADS)
    } else {
        (all, CARRIED_OVER, BETWEEN_LOADS)
    };
    let over_package = || figures.iter().filter(|figure| !figure.over_rebuild);
    let figures: Vec<&Measured> = match over_package().next() {
        Some(_) => over_package().copied().collect(),
        None => figures,
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
            .prior(&[], Family::Mariadb, "oltp_read_only")
            .expect("measured");
        assert!((alike.log_effect - (1.2_f64.ln() + 1.1_f64.ln()) / 2.0).abs() < 1e-12);
        assert!(alike.std_err > 0.05 && alike.std_err < 0.07, "{alike:?}");
        let other = known
            .prior(&[], Family::Mysql, "oltp_point_select")
            .expect("measured");
        assert!((other.log_effect - 1.5_f64.ln() / 2.0).abs() < 1e-12);
        assert!(
            other.std_err > other.log_effect,
            "it may as well be nothing"
        );
        // Of a branch that nobody measured it on, all that is known.
        let nowhere = known
            .prior(&[], Family::Percona, "oltp_point_select")
            .expect("measured");
        let mean = (1.2_f64.ln() + 1.1_f64.ln() + 1.5_f64.ln()) / 3.0;
        assert!((nowhere.log_effect - mean / 2.0).abs() < 1e-12);
    }

    #[test]
    fn levers_that_nobody_measured_stand_by_their_promise() {
        let unknown = lever(&[]);
        assert_eq!(unknown.prior(&[], Family::Mariadb, "oltp_read_only"), None);
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
        // Over the package, on two machines; not over a build like the package's.
        let measured = (1.15_f64.ln() + 1.381_f64.ln()) / 2.0;
        assert!((base - measured).abs() < 1e-12);
        assert!(gain("build-clang-pgo-lto-patched") > base);
        assert!(gain("build-clang-pgo-lto-patched-bolt") > gain("build-clang-pgo-lto-patched"));
        assert!(gain("build-clang-pgo") < base);
        assert!(gain("build-pgo-lto") < base, "gcc, over the package too");
    }

    #[test]
    fn what_was_measured_on_top_of_another_build_is_added_to_what_that_one_brings() {
        let levers = crate::lever::load(&[]).expect("the shipped levers");
        let family = Family::Mariadb;
        let lever = |id: &str| {
            let lever = levers.iter().find(|lever| lever.id() == id);
            lever.unwrap_or_else(|| panic!("{id} is shipped"))
        };
        let gain = |id: &str| lever(id).expected_gain(&levers, family, "oltp_read_only");
        let prior = |id: &str| {
            let prior = lever(id).prior(&levers, family, "oltp_read_only");
            prior.expect("measured")
        };
        let base = gain("build-clang-pgo-lto");
        for (id, added) in [
            ("build-clang-pgo-lto-bolt", 1.011_f64),
            ("build-clang-pgo-lto-o3", 0.994),
        ] {
            assert!((gain(id) - base - added.ln()).abs() < 1e-12, "{id}");
            assert!((prior(id).log_effect - gain(id)).abs() < 1e-12, "{id}");
            assert!(
                prior(id).std_err > prior("build-clang-pgo-lto").std_err,
                "{id}"
            );
        }
        // Half of what other workloads' figures say, where there is none of this one.
        let writing = |id: &str| lever(id).expected_gain(&levers, family, "oltp_write_only");
        let patched = writing("build-clang-pgo-lto-patched") - writing("build-clang-pgo-lto");
        let elsewhere = [1.031_f64, 1.026, 1.0, 1.012].map(f64::ln);
        let elsewhere = elsewhere.iter().sum::<f64>() / elsewhere.len() as f64;
        assert!((patched - elsewhere / 2.0).abs() < 1e-12);
    }

    /// BOLT's figure over the package is MySQL's alone, with all that its base brought there.
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
