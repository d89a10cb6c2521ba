//! Tables of a running server whose rows are elsewhere, and views that read what a pack lacks: its dump leaves them out. No copy may
//! reach such rows, and a view is not made where what it reads is missing.

use anyhow::Result;
use niagara_load::{Admin, counted};
use serde::{Deserialize, Serialize};

use super::sizes::{is_in, too_long, within_limit};
use crate::data::elsewhere::engines;

/// Tables of a database whose rows are on other servers or in files outside of the data, and views that read what the pack lacks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TablesElsewhere {
    /// The database.
    pub database: String,
    /// The names of the tables.
    pub tables: Vec<String>,
    /// The names of the views on such tables.
    pub views: Vec<String>,
    /// The names of the other views that read databases which are not packed.
    pub views_on_unpacked: Vec<String>,
}

/// A table or view: its database and its name.
type Name = [String; 2];

/// A view: its database, its name, its definition.
type View = [String; 3];

impl TablesElsewhere {
    fn of(database: &str, tables: &[Name], views: &[Name], views_on_unpacked: &[Name]) -> Self {
        let own = |all: &[Name]| -> Vec<String> {
            let own = all.iter().filter(|[other, _]| other == database);
            own.map(|[_, name]| name.clone()).collect()
        };
        Self {
            database: database.to_owned(),
            tables: own(tables),
            views: own(views),
            views_on_unpacked: own(views_on_unpacked),
        }
    }

    /// All names as `DATABASE.NAME`.
    pub fn names(&self) -> impl Iterator<Item = String> {
        let views = self.views.iter().chain(&self.views_on_unpacked);
        let names = self.tables.iter().chain(views);
        names.map(move |name| format!("{}.{name}", self.database))
    }

    /// For people.
    pub(super) fn words(&self) -> String {
        let Self {
            database,
            tables,
            views,
            views_on_unpacked,
        } = self;
        let part = |one: &str, names: &[String], what: &str| {
            let count = counted(names.len() as u64, one);
            (!names.is_empty())
                .then(|| format!("{count} of {database} {what} ({})", names.join(", ")))
        };
        let parts = [
            part(
                "table",
                tables,
                "with rows on other servers or in files outside of the data",
            ),
            part("view", views, "on such tables"),
            part(
                "view",
                views_on_unpacked,
                "on databases that are not packed",
            ),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        format!(
            "{}; statements on them fail on the other machine",
            parts.join(", and ")
        )
    }
}

/// What a dump of `databases`, without those that are `unpacked`, has to leave out, by database. Servers may read the definitions of all
/// views for that: they get a limited time, where they have such a limit.
///
/// # Errors
/// The server refuses a statement, or takes too long.
pub fn tables_elsewhere(
    admin: &mut Admin,
    databases: &[String],
    unpacked: &[String],
) -> Result<Vec<TablesElsewhere>> {
    within_limit(admin, |admin| {
        let mut tables: Vec<Name> = Vec::new();
        for database in databases {
            let what = format!("which tables of the database {database} have their rows elsewhere");
            tables.extend(asked::<2>(admin, &tables_statement(database), &what)?);
        }
        if tables.is_empty() && unpacked.is_empty() {
            return Ok(Vec::new());
        }
        let mut views: Vec<View> = Vec::new();
        for database in databases {
            let what = format!("what the views of the database {database} read");
            views.extend(asked::<3>(admin, &views_statement(database), &what)?);
        }
        let (on_tables, views) = views_on(&tables, views);
        let (beyond, views) = views
            .into_iter()
            .partition(|[_, _, definition]| reads_any(definition, unpacked));
        let mut on_unpacked = names(beyond);
        on_unpacked.extend(views_on(&on_unpacked, views).0);
        let found = databases
            .iter()
            .map(|database| TablesElsewhere::of(database, &tables, &on_tables, &on_unpacked));
        let found = found.filter(|one| one.names().next().is_some());
        Ok(found.collect())
    })
}

/// A server tells the engines without opening the tables, for which it may have to ask the other servers.
fn tables_statement(database: &str) -> String {
    format!(
        "SELECT TABLE_SCHEMA, TABLE_NAME FROM information_schema.TABLES WHERE {} AND ENGINE IN ({}) ORDER BY 1, 2",
        is_in(database),
        engines()
    )
}

fn views_statement(database: &str) -> String {
    format!(
        "SELECT TABLE_SCHEMA, TABLE_NAME, VIEW_DEFINITION FROM information_schema.VIEWS WHERE {} ORDER BY 1, 2",
        is_in(database)
    )
}

/// The rows of a statement that asks for `what`.
fn asked<const COUNT: usize>(
    admin: &mut Admin,
    sql: &str,
    what: &str,
) -> Result<Vec<[String; COUNT]>> {
    let rows = admin.rows(sql).map_err(|error| too_long(error, what))?;
    Ok(rows.into_iter().filter_map(texts).collect())
}

/// The cells of a row, where it has so many.
fn texts<const COUNT: usize>(row: Vec<Option<String>>) -> Option<[String; COUNT]> {
    let cells: Vec<String> = row.into_iter().flatten().collect();
    cells.try_into().ok()
}

/// The views that read `tables`, or read views that do, and the others; each comes with its definition, in which servers write names
/// with their databases.
fn views_on(tables: &[Name], mut views: Vec<View>) -> (Vec<Name>, Vec<View>) {
    let mut found = Vec::new();
    let mut new = tables.to_vec();
    while !new.is_empty() {
        let (on_new, others): (Vec<_>, Vec<_>) = views
            .into_iter()
            .partition(|[_, _, definition]| new.iter().any(|name| reads(definition, name)));
        views = others;
        new = names(on_new);
        found.extend_from_slice(&new);
    }
    found.sort();
    (found, views)
}

fn names(views: Vec<View>) -> Vec<Name> {
    let views = views.into_iter();
    views.map(|[database, name, _]| [database, name]).collect()
}

/// Whether the definition of a view reads a table of one of these databases. An alias may be called as a database is: a table stands
/// behind `from` or `join`, a column does not.
fn reads_any(definition: &str, databases: &[String]) -> bool {
    databases.iter().any(|database| {
        let name = format!("{}.", quoted(database));
        definition.match_indices(&name).any(|(at, _)| {
            let before = definition[..at].trim_end_matches([' ', '(']);
            before.ends_with(" from") || before.ends_with("join")
        })
    })
}

fn quoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

/// Whether the definition of a view names a table.
fn reads(definition: &str, [database, table]: &Name) -> bool {
    let name = format!("{}.{}", quoted(database), quoted(table));
    // Behind another dot these are a table and its column.
    let mut places = definition.match_indices(&name);
    places.any(|(at, _)| !definition[..at].ends_with('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_asks_for_one_database() {
        for sql in [tables_statement("it's"), views_statement("it's")] {
            assert!(sql.contains("TABLE_SCHEMA = 'it''s'"), "{sql}");
            assert!(!sql.contains("TABLE_SCHEMA IN"), "{sql}");
        }
    }

    #[test]
    fn views_follow_the_tables_they_read() {
        let view = |database: &str, name: &str, definition: &str| {
            [database, name, definition].map(str::to_owned)
        };
        let name = |database: &str, name: &str| [database, name].map(str::to_owned);
        let views = vec![
            view(
                "report",
                "farther",
                "select `far`.`id` AS `id` from `shop`.`far`",
            ),
            view(
                "shop",
                "far",
                "select `shop`.`away`.`id` AS `id` from `shop`.`away`",
            ),
            view(
                "shop",
                "near",
                "select `shop`.`orders`.`id` AS `away` from `shop`.`orders`",
            ),
            // A table that is called as the database is.
            view(
                "shop",
                "column",
                "select `shop`.`shop`.`away` AS `away` from `shop`.`shop`",
            ),
        ];
        let (found, others) = views_on(&[name("shop", "away")], views);
        assert_eq!(found, [name("report", "farther"), name("shop", "far")]);
        assert_eq!(
            names(others),
            [name("shop", "near"), name("shop", "column")]
        );
        assert_eq!(
            views_on(&[], vec![view("a", "b", "select 1")]).0,
            [[""; 2]; 0]
        );
    }

    #[test]
    fn databases_are_read_behind_from_and_join() {
        let reads = |definition: &str| reads_any(definition, &["crm".to_owned()]);
        assert!(reads(
            "select `crm`.`person`.`id` AS `id` from `crm`.`person`"
        ));
        assert!(reads(
            "select 1 AS `1` from (`shop`.`orders` join `crm`.`person` on(`shop`.`orders`.`id` = `crm`.`person`.`id`))"
        ));
        // The alias of a table of one's own.
        assert!(!reads(
            "select `crm`.`id` AS `id` from `shop`.`orders` `crm` where (`crm`.`id` > 1)"
        ));
        assert!(!reads("select `shop`.`crm`.`id` AS `id` from `shop`.`crm`"));
    }

    #[test]
    fn tables_and_views_are_named_once() {
        let found = TablesElsewhere {
            database: "shop".to_owned(),
            tables: vec!["away".to_owned(), "old".to_owned()],
            views: vec!["far".to_owned()],
            views_on_unpacked: vec!["people".to_owned()],
        };
        let names: Vec<String> = found.names().collect();
        assert_eq!(names, ["shop.away", "shop.old", "shop.far", "shop.people"]);
        assert_eq!(
            found.words(),
            "2 tables of shop with rows on other servers or in files outside of the data (away, old), and 1 view of shop on such \
             tables (far), and 1 view of shop on databases that are not packed (people); statements on them fail on the other \
             machine"
        );
    }
}
