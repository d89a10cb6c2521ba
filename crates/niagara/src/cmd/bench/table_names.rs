//! Tables by name: as SQL has them, as people list them, and what a query says of one.

use anyhow::Result;

use super::target::Target;

/// The number that a query answers with; 0 for NULL.
pub(super) fn number(target: &mut Target, sql: &str) -> Result<u64> {
    let value = target.admin.value(sql);
    Ok(value
        .map_err(|error| target.explain(error))?
        .and_then(|text| text.parse().ok())
        .unwrap_or(0))
}

/// As SQL names it.
pub(super) fn table(database: &str, name: &str) -> String {
    let quoted = |name: &str| name.replace('`', "``");
    format!("`{}`.`{}`", quoted(database), quoted(name))
}

/// `table sbtest3`, `tables sbtest1 to sbtest8`, `tables sbtest1, sbtest4 and 3 more`.
pub(super) fn listed(names: &[String]) -> String {
    let numbers: Vec<u32> = names
        .iter()
        .filter_map(|name| name.strip_prefix("sbtest")?.parse().ok())
        .collect();
    match (names, numbers.as_slice()) {
        ([], _) => "no tables".to_owned(),
        ([one], _) => format!("table {one}"),
        (_, [first, .., last])
            if numbers.len() == names.len() && (last - first) as usize + 1 == names.len() =>
        {
            format!("tables sbtest{first} to sbtest{last}")
        }
        ([first, second], _) => format!("tables {first} and {second}"),
        ([first, second, rest @ ..], _) => {
            format!("tables {first}, {second} and {} more", rest.len())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_listed_as_people_say_it() {
        let listed = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            super::listed(&names)
        };
        assert_eq!(listed(&["sbtest3"]), "table sbtest3");
        assert_eq!(
            listed(&["sbtest1", "sbtest2", "sbtest3"]),
            "tables sbtest1 to sbtest3"
        );
        assert_eq!(
            listed(&["sbtest1", "sbtest3"]),
            "tables sbtest1 and sbtest3"
        );
        assert_eq!(
            listed(&["sbtest1", "sbtest3", "sbtest4", "sbtest9"]),
            "tables sbtest1, sbtest3 and 2 more"
        );
        assert_eq!(
            listed(&["warehouse", "district", "customer"]),
            "tables warehouse, district and 1 more"
        );
        assert_eq!(table("a`b", "sbtest2"), "`a``b`.`sbtest2`");
    }
}
