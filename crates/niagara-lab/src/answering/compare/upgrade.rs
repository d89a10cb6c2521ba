//! Two releases of a server under captured traffic: what moving from A's to B's would break.

use anyhow::Result;
use niagara_model::{
    ChangedDefault, ChangedPlan, ReplaySummary, SameAnswers, Upgrade, UpgradeObstacle,
};
use niagara_origin::configuration::{ServerOptions, same_value};
use niagara_server::Install;

use crate::duels::workbench::Workbench;
use crate::variants::variant::Variant;

/// Variables that decide which statements are accepted, what they mean or who may log in; of the servers' manuals ("Changes in …",
/// "Upgrading from …"). Other defaults change speed, which duels show.
const MEANING: [&str; 20] = [
    "authentication_policy",
    "character_set_server",
    "collation_server",
    "default_authentication_plugin",
    "default_storage_engine",
    "default_password_lifetime",
    "explicit_defaults_for_timestamp",
    "group_concat_max_len",
    "innodb_default_row_format",
    "innodb_strict_mode",
    "innodb_snapshot_isolation",
    "local_infile",
    "lower_case_table_names",
    "max_allowed_packet",
    "note_verbosity",
    "old_mode",
    "query_cache_type",
    "require_secure_transport",
    "sql_mode",
    "transaction_isolation",
];

/// What `a` and `b` come to as two releases; none where both are the same server, or the load is no capture.
///
/// # Errors
/// A server that was not set up, or says nothing of its options.
pub(crate) fn upgrade(
    bench: &Workbench,
    [a, b]: [&Variant; 2],
    answers: Option<&SameAnswers>,
    replay: Option<&ReplaySummary>,
    changed_plans: &[ChangedPlan],
) -> Result<Option<Upgrade>> {
    let (Some(answers), Some([from, to])) = (answers, releases(bench, [a, b])?) else {
        return Ok(None);
    };
    let installs = [bench.install_of(a)?, bench.install_of(b)?];
    let starts = [a, b].map(|variant| bench.start(&variant.server));
    let lost_settings = match starts {
        [Some(before), Some(after)] => after
            .left_out
            .iter()
            // What both leave out is left out for the copy, not for the release.
            .filter(|left| !before.left_out.iter().any(|it| it.setting == left.setting))
            .cloned()
            .collect(),
        _ => Vec::new(),
    };
    let is_set = |name: &str| {
        [a, b]
            .iter()
            .any(|variant| variant.config.contains_key(name))
    };
    Ok(Some(Upgrade {
        from,
        to,
        obstacles: UpgradeObstacle::of(answers, replay),
        is_whole: answers.transactions == answers.of_transactions,
        changed_plans: changed_plans.to_vec(),
        lost_settings,
        changed_defaults: changed_defaults(bench, installs)?
            .into_iter()
            .filter(|changed| !is_set(&changed.name))
            .collect(),
    }))
}

/// Both releases in words; none where they are the same.
///
/// # Errors
/// A server that was not set up.
pub(crate) fn releases(bench: &Workbench, sides: [&Variant; 2]) -> Result<Option<[String; 2]>> {
    let [a, b] = sides;
    if a.server == b.server {
        return Ok(None);
    }
    let [from, to] = [bench.install_of(a)?, bench.install_of(b)?]
        .map(|install| format!("{} {}", install.family, install.version));
    Ok((from != to).then_some([from, to]))
}

/// The defaults that decide what statements mean and that differ.
fn changed_defaults(bench: &Workbench, installs: [&Install; 2]) -> Result<Vec<ChangedDefault>> {
    let [from, to] = installs.map(|install| bench.options_of(install));
    let (from, to) = (from?, to?);
    let value = |options: &ServerOptions, name: &str| options.default(name).map(str::to_owned);
    let both = MEANING.map(|name| (name, value(&from, name), value(&to, name)));
    let differ = both.into_iter().filter(|(_, from, to)| match (from, to) {
        (Some(from), Some(to)) => !same_value(from, to),
        (from, to) => from.is_some() || to.is_some(),
    });
    Ok(differ
        .map(|(name, from, to)| ChangedDefault {
            name: name.to_owned(),
            from,
            to,
        })
        .collect())
}
