//! What moving captured traffic to another release would break, statement by statement and setting by setting.

use niagara_model::{
    ChangedPlan, DifferingDigest, PlanOutline, TableRead, Upgrade, UpgradeObstacle,
};

use crate::document::{Section, Table};
use crate::number;

/// Rows of a table that one screen has.
const ON_SCREEN: usize = 5;
/// What stands for a variable that a release does not have.
const UNKNOWN: &str = "no such variable";

/// The tables, as far as there is anything to say.
pub(super) fn sections(upgrade: &Upgrade) -> Vec<Section> {
    let tables = [
        failing(upgrade),
        other_answers(upgrade),
        plans(upgrade),
        settings(upgrade),
        defaults(upgrade),
    ];
    tables.into_iter().flatten().map(Section::from).collect()
}

/// A table with these rows; none without rows. One screen leaves the digest out where room is short.
fn filled(mut table: Table, rows: Vec<Vec<String>>) -> Option<Table> {
    table.spare = vec![0];
    table.rows = rows;
    (!table.rows.is_empty()).then_some(table)
}

fn digests<'a>(
    upgrade: &'a Upgrade,
    of: impl Fn(&'a UpgradeObstacle) -> Option<&'a Vec<DifferingDigest>>,
) -> impl Iterator<Item = &'a DifferingDigest> {
    upgrade.obstacles.iter().filter_map(of).flatten()
}

fn failing(upgrade: &Upgrade) -> Option<Table> {
    let table = Table::new(
        format!("Statements that fail on {}", upgrade.to),
        &[
            ("Digest", false),
            ("Statement", false),
            ("Executions", true),
            ("Error", false),
        ],
    );
    let failing = digests(upgrade, |obstacle| match obstacle {
        UpgradeObstacle::Failing { digests } => Some(digests),
        _ => None,
    });
    let rows = failing.map(|digest| {
        let error = digest.error.as_ref();
        vec![
            digest.digest.clone(),
            digest.text.clone(),
            executions(digest),
            error.map_or_else(String::new, |error| {
                format!("{}: {}", error.code, error.message)
            }),
        ]
    });
    filled(table, rows.collect())
}

fn executions(digest: &DifferingDigest) -> String {
    format!("{} of {}", digest.differing, digest.executions)
}

fn other_answers(upgrade: &Upgrade) -> Option<Table> {
    let table = Table::new(
        format!("Statements that {} answers otherwise", upgrade.to),
        &[
            ("Digest", false),
            ("Statement", false),
            ("Executions", true),
        ],
    );
    let other = digests(upgrade, |obstacle| match obstacle {
        UpgradeObstacle::OtherAnswers { digests } => Some(digests),
        _ => None,
    });
    let rows = other.map(|digest| {
        vec![
            digest.digest.clone(),
            digest.text.clone(),
            executions(digest),
        ]
    });
    filled(table, rows.collect())
}

fn plans(upgrade: &Upgrade) -> Option<Table> {
    let mut table = Table::new(
        "Plans that changed",
        &[
            ("Digest", false),
            ("Of time", true),
            ("Statement", false),
            (upgrade.from.as_str(), false),
            (upgrade.to.as_str(), false),
        ],
    );
    table.notes = vec![
        "By EXPLAIN of one sample of each digest that matters. A changed plan alone is no reason to stay: the duels say whether it is slower."
            .to_owned(),
    ];
    table.short_notes = 1;
    let changed = |plan: &ChangedPlan| {
        vec![
            plan.digest.clone(),
            number::percent(plan.share),
            plan.text.clone(),
            outline(&plan.from),
            outline(&plan.to),
        ]
    };
    let all = &upgrade.changed_plans;
    if all.len() > ON_SCREEN {
        table.long = true;
    }
    filled(table, all.iter().map(changed).collect())
}

/// A plan in a line: `item scan, line by item; sorted`.
fn outline(plan: &PlanOutline) -> String {
    let read = |table: &TableRead| match (&table.key, table.access.as_str()) {
        (Some(key), "index_scan") => format!("{} whole index {key}", table.table),
        (Some(key), _) => format!("{} by {key}", table.table),
        (None, access) => format!("{} {}", table.table, access.replace('_', " ")),
    };
    let reads: Vec<String> = plan.tables.iter().map(read).collect();
    let mut text = reads.join(", ");
    if plan.is_sorted {
        text += "; sorted";
    }
    if plan.is_buffered {
        text += "; temporary table";
    }
    text
}

fn settings(upgrade: &Upgrade) -> Option<Table> {
    let table = Table::new(
        format!("Settings that {} does not take", upgrade.to),
        &[("Setting", false), ("Where", false), ("Why", false)],
    );
    let lost = upgrade.lost_settings.iter();
    let rows = lost.map(|lost| {
        vec![
            lost.setting.clone(),
            lost.place.clone(),
            lost.reason.to_string(),
        ]
    });
    filled(table, rows.collect()).map(|table| Table {
        spare: Vec::new(),
        ..table
    })
}

fn defaults(upgrade: &Upgrade) -> Option<Table> {
    let table = Table::new(
        "Defaults that decide what statements mean, and differ",
        &[
            ("Variable", false),
            (upgrade.from.as_str(), false),
            (upgrade.to.as_str(), false),
        ],
    );
    let value = |value: &Option<String>| match value.as_deref() {
        None => UNKNOWN.to_owned(),
        Some("") => "empty".to_owned(),
        // A list of modes or bits breaks where it has commas.
        Some(value) => value.replace(',', ", "),
    };
    let changed = upgrade.changed_defaults.iter();
    let rows = changed.map(|one| vec![one.name.clone(), value(&one.from), value(&one.to)]);
    filled(table, rows.collect()).map(|table| Table {
        spare: Vec::new(),
        ..table
    })
}
