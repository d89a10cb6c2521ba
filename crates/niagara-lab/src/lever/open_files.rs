//! Open files that a server's table cache takes: with fewer, the server makes the cache smaller without a word to who set it.

use std::collections::BTreeMap;

use niagara_server::Family;

const CACHE: &str = "table_open_cache";
const INSTANCES: &str = "table_open_cache_instances";
const CONNECTIONS: &str = "max_connections";

/// How many open files a server asks for at its start: for tables, for connections, and some for itself. `None` where the variables do
/// not set the table cache.
///
/// Source: mysqld.cc of MariaDB 10.11 (`init_common_variables`: 2 × cache × instances, and it takes fewer instances where files are
/// few) and of MySQL 9.7 (`adjust_open_files_limit`: 2 × cache). Defaults by their reference manuals.
pub(crate) fn open_files(family: Family, variables: &BTreeMap<String, String>) -> Option<u64> {
    let of = |name: &str| variables.get(name)?.parse::<u64>().ok();
    let (cache, instances) = (of(CACHE), of(INSTANCES));
    if cache.is_none() && (instances.is_none() || !family.is_mariadb()) {
        return None;
    }
    let handles = match family.is_mariadb() {
        true => cache
            .unwrap_or(2_000)
            .saturating_mul(instances.unwrap_or(8)),
        false => cache.unwrap_or(4_000),
    };
    let beside = of(CONNECTIONS).unwrap_or(151).saturating_add(50);
    Some(handles.saturating_mul(2).saturating_add(beside))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(family: Family, variables: &[(&str, &str)]) -> Option<u64> {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        open_files(family, &variables.iter().map(owned).collect())
    }

    #[test]
    fn mariadb_needs_two_files_for_each_table_of_each_instance() {
        let of = |variables| asked(Family::Mariadb, variables);
        assert_eq!(of(&[("max_connections", "500")]), None);
        assert_eq!(of(&[(CACHE, "8000")]), Some(128_201));
        assert_eq!(of(&[(INSTANCES, "64")]), Some(256_201));
        assert_eq!(
            of(&[(CACHE, "400"), (INSTANCES, "1"), (CONNECTIONS, "900")]),
            Some(1_750)
        );
    }

    #[test]
    fn mysql_needs_two_files_for_each_table() {
        let of = |variables| asked(Family::Mysql, variables);
        assert_eq!(of(&[(CACHE, "8000"), (INSTANCES, "64")]), Some(16_201));
        assert_eq!(of(&[(INSTANCES, "64")]), None);
    }
}
