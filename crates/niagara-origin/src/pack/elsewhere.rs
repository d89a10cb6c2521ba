//! Tables of a running server whose rows are elsewhere: a dump for a pack leaves them out, for no copy may reach them.

use anyhow::Result;
use niagara_load::{Admin, counted};
use serde::{Deserialize, Serialize};

use super::sizes::{is_in, too_long, within_limit};
use crate::data::elsewhere::engines;

/// Tables of a database whose rows are on other servers or in files outside of the data, and views that read such tables.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TablesElsewhere {
    /// The database.
    pub database: String,
    /// The names of the tables.
    pub tables: Vec<String>,
    /// The names of the views.
    pub views: Vec<String>,
}

/// A table or view: its database and its name.
type Name = [String; 2];

impl TablesElsewhere {
    fn of(database: &str, tables: &[Name], views: &[Name]) -> Self {
        let own = |all: &[Name]| -> Vec<String> {
            let own = all.iter().filter(|[other, _]| other == database);
            own.map(|[_, name]| name.clone()).collect()
        };
        Self {
            database: database.to_owned(),
            tables: own(tables),
            views: own(views),
        }
    }

    /// All names as `DATABASE.NAME`.
    pub fn names(&self) -> impl Iterator<Item = String> {
        let names = self.tables.iter().chain(&self.views);
        names.map(move |name| format!("{}.{name}", self.database))
    }

    /// For people.
    pub(super) fn words(&self) -> String {
        let Self {
            database,
            tables,
            views,
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
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        format!(
            "{}; statements on them fail on the other machine",
            parts.join(", and ")
        )
    }
}

/// What a dump of `databases` has to leave out, by database. Servers read the definitions of all views for that: they get a limited time,
/// where they have such a limit.
///
/// # Errors
/// The server refuses a statement, or takes too long.
pub fn tables_elsewhere(admin: &mut Admin, databases: &[String]) -> Result<Vec<TablesElsewhere>> {
    within_limit(admin, |admin| {
        let mut tables: Vec<Name> = Vec::new();
        for database in databases {
            let what = format!("which tables of the database {database} have their rows elsewhere");
            tables.extend(asked::<2>(admin, &tables_statement(database), &what)?);
        }
        if tables.is_empty() {
            return Ok(Vec::new());
        }
        let mut views: Vec<[String; 3]> = Vec::new();
        for database in databases {
            let what = format!("what the views of the database {database} read");
            views.extend(asked::<3>(admin, &views_statement(database), &what)?);
        }
        let views = views_on(&tables, views);
        let found = databases
            .iter()
            .map(|database| TablesElsewhere::of(database, &tables, &views));
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

/// The views that read `tables`, or read views that do; each comes with its definition, in which servers write names with their
/// databases.
fn views_on(tables: &[Name], mut views: Vec<[String; 3]>) -> Vec<Name> {
    let mut found = Vec::new();
    let mut new = tables.to_vec();
    while !new.is_empty() {
        let (on_new, others): (Vec<_>, Vec<_>) = views
            .into_iter()
            .partition(|[_, _, definition]| new.iter().any(|name| reads(definition, name)));
        views = others;
        new = on_new
            .into_iter()
            .map(|[database, name, _]| [database, name])
            .collect();
        found.extend_from_slice(&new);
    }
    found.sort();
    found
}

/// Whether the definition of a view names a table.
fn reads(definition: &str, [database, table]: &Name) -> bool {
    let quoted = |name: &str| format!("`{}`", name.replace('`', "``"));
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
        let found = views_on(&[name("shop", "away")], views);
        assert_eq!(found, [name("report", "farther"), name("shop", "far")]);
        assert_eq!(
            views_on(&[], vec![view("a", "b", "select 1")]),
            [[""; 2]; 0]
        );
    }

    #[test]
    fn tables_and_views_are_named_once() {
        let found = TablesElsewhere {
            database: "shop".to_owned(),
            tables: vec!["away".to_owned(), "old".to_owned()],
            views: vec!["far".to_owned()],
        };
        let names: Vec<String> = found.names().collect();
        assert_eq!(names, ["shop.away", "shop.old", "shop.far"]);
        assert_eq!(
            found.words(),
            "2 tables of shop with rows on other servers or in files outside of the data (away, old), and 1 view of shop on such \
             tables (far); statements on them fail on the other machine"
        );
    }
}
