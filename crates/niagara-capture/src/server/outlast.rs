//! What outlasts a capture: connections that were opened during it keep what it had set, and go on filling the user's own
//! slow log once that is back.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::codes::Agreement;
use super::product::{Family, Product};
use super::wanted::Change;

/// Variables that a connection copies when it is opened: setting them back for the server does not reach it.
const COPIED: [&str; 6] = [
    "long_query_time",
    "min_examined_row_limit",
    "log_slow_min_examined_row_limit",
    "log_slow_rate_limit",
    "log_slow_filter",
    "log_slow_disabled_statements",
];

/// What connections keep that are opened during a capture.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outlasting {
    /// The settings, as `long_query_time = 0`.
    pub settings: String,
    /// Where their statements go once the capture is over; none where the slow log is off then.
    pub goes_to: Option<String>,
}

impl Outlasting {
    /// What connections keep of these changes; none where they keep nothing.
    pub fn of(product: &Product, changes: &[Change]) -> Option<Outlasting> {
        let settings: Vec<String> = changes
            .iter()
            .filter(|change| COPIED.contains(&&change.name[..]))
            .filter(|change| !follows_server(product, &change.name))
            .map(|change| match &change.to[..] {
                "" => format!("{} empty", change.name),
                to => format!("{} = {to}", change.name),
            })
            .collect();
        (!settings.is_empty()).then(|| Outlasting {
            settings: settings.join(", "),
            goes_to: goes_to(product),
        })
    }

    /// What somebody has to agree to beforehand; nothing where the slow log is off afterwards.
    pub(super) fn to_agree(&self) -> Option<Agreement> {
        Some(Agreement::ConnectionsKeep {
            settings: self.settings.clone(),
            goes_to: self.goes_to.clone()?,
        })
    }
}

/// Whether connections have the server's value whenever it is set: Percona Server can be told so.
fn follows_server(product: &Product, name: &str) -> bool {
    product.family == Family::Percona
        && product
            .variable("slow_query_log_use_global_control")
            .is_some_and(|names| {
                names
                    .split(',')
                    .any(|word| word.trim() == "all" || word.trim() == name)
            })
}

/// Where the slow log goes as the server stands; none where it goes nowhere.
pub(super) fn goes_to(product: &Product) -> Option<String> {
    if product.variable("slow_query_log") != Some("ON") {
        return None;
    }
    let has = |place: &str| product.logs_to(place);
    let folder = Path::new(product.variable("datadir").unwrap_or_default());
    let file = folder.join(
        product
            .variable("slow_query_log_file")
            .unwrap_or("its file"),
    );
    match (has("FILE"), has("TABLE")) {
        _ if has("NONE") => None,
        (true, true) => Some(format!("{} and the table mysql.slow_log", file.display())),
        (true, false) => Some(file.display().to_string()),
        (false, true) => Some("the table mysql.slow_log".to_owned()),
        (false, false) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::wanted::wanted;
    use super::*;

    fn of(family: Family, variables: &[(&str, &str)]) -> Option<Outlasting> {
        let product = Product::of(family, variables);
        Outlasting::of(&product, &wanted(&product, "/capture.log").changes)
    }

    #[test]
    fn a_slow_log_that_is_on_is_filled_after_the_capture_too() {
        let found = of(
            Family::Mariadb,
            &[
                ("slow_query_log", "ON"),
                ("slow_query_log_file", "/var/log/slow.log"),
                ("long_query_time", "1.000000"),
                ("log_slow_filter", "admin"),
                ("log_output", "FILE"),
            ],
        )
        .expect("connections keep something");
        assert_eq!(found.settings, "log_slow_filter empty, long_query_time = 0");
        assert_eq!(found.goes_to.as_deref(), Some("/var/log/slow.log"));
        let warning = found.to_agree().expect("a warning").to_string();
        assert!(warning.contains("/var/log/slow.log"), "{warning}");
        assert!(warning.contains("long_query_time = 0"), "{warning}");
    }

    #[test]
    fn nobody_is_asked_where_nothing_is_filled() {
        let on = ("slow_query_log", "ON");
        for (family, variables, keeps) in [
            (
                Family::Mysql,
                &[("slow_query_log", "OFF"), ("long_query_time", "10")][..],
                true,
            ),
            (
                Family::Mysql,
                &[on, ("long_query_time", "10"), ("log_output", "NONE")],
                true,
            ),
            // Everything is logged as it is.
            (Family::Mysql, &[on, ("long_query_time", "0.000000")], false),
            (
                Family::Percona,
                &[
                    on,
                    ("long_query_time", "10"),
                    ("slow_query_log_use_global_control", "all"),
                ],
                false,
            ),
        ] {
            let found = of(family, variables);
            assert_eq!(found.is_some(), keeps, "{variables:?}");
            let warning = found.and_then(|found| found.to_agree());
            assert_eq!(warning, None, "{variables:?}");
        }
        let table = of(
            Family::Mysql,
            &[on, ("long_query_time", "10"), ("log_output", "TABLE")],
        );
        let table = table.and_then(|found| found.goes_to);
        assert_eq!(table.as_deref(), Some("the table mysql.slow_log"));
    }
}
