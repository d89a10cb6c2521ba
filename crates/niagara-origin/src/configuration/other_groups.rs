//! Groups of option files that this server does not read although they are about servers: of other instances, of other
//! versions, of the script that starts them. A start without them may not be the user's server, which has to be told.

use niagara_model::OriginNote;
use niagara_server::normalise_variable;

use super::known_options::KnownOptions;
use super::option_file::FileOption;

/// Scripts that start servers have groups that end so; the settings of theirs that a server is faster, slower or answers otherwise by.
const SCRIPTS: [&str; 4] = ["_safe", "-safe", "_multi", "-multi"];
const OF_SCRIPTS: [&str; 7] = [
    "malloc_lib",
    "nice",
    "open_files_limit",
    "flush_caches",
    "numa_interleave",
    "thp_setting",
    "timezone",
];

/// What the start of `server` is without: one for each group.
pub(crate) fn unread(
    options: &[FileOption],
    known: &KnownOptions,
    server: &str,
) -> Vec<OriginNote> {
    let mut groups: Vec<(&str, Vec<&FileOption>)> = Vec::new();
    for option in options.iter().filter(|option| !known.reads(&option.group)) {
        match groups.iter_mut().find(|(name, _)| *name == option.group) {
            Some((_, of_it)) => of_it.push(option),
            None => groups.push((&option.group, vec![option])),
        }
    }
    let told = groups.into_iter().filter_map(|(name, of_it)| {
        let rest = behind_a_server(&name.to_ascii_lowercase(), known)?;
        if !SCRIPTS.contains(&rest.as_str()) {
            // As an instance or a version is named behind a server's own group.
            let mut rest = rest.chars();
            let is_ours = match rest.next()? {
                '.' | '@' | '_' => true,
                '-' => rest.next().is_some_and(|c| c.is_ascii_digit()),
                first => first.is_ascii_digit(),
            };
            return is_ours.then(|| OriginNote::OtherInstance {
                group: name.to_owned(),
                place: of_it[0].place.to_string(),
                settings: of_it.len(),
                server: server.to_owned(),
            });
        }
        let named: Vec<String> = of_it
            .iter()
            .map(|option| normalise_variable(&option.name))
            .filter(|name| OF_SCRIPTS.contains(&name.as_str()))
            .collect();
        (!named.is_empty()).then(|| OriginNote::StartScript {
            group: name.to_owned(),
            place: of_it[0].place.to_string(),
            settings: named,
        })
    });
    told.collect()
}

/// What follows the name of one of a server's own groups, the longest that `name` begins with.
fn behind_a_server(name: &str, known: &KnownOptions) -> Option<String> {
    let own = known
        .groups
        .iter()
        .filter(|group| !group.contains(|c: char| c.is_ascii_digit()));
    let begun = own.filter_map(|group| Some((group.len(), name.strip_prefix(group.as_str())?)));
    begun
        .max_by_key(|(length, _)| *length)
        .map(|(_, rest)| rest.to_owned())
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::super::place::Place;
    use super::*;

    #[test]
    fn groups_of_other_instances_versions_and_scripts_are_told() {
        let mut known = KnownOptions::default();
        known.groups =
            "mysqld server mysqld-10.11 mariadb mariadb-10.11 mariadbd client-server galera"
                .split(' ')
                .map(str::to_owned)
                .collect();
        let told = |group: &str, name: &str| {
            let option = FileOption {
                group: group.to_owned(),
                name: name.to_owned(),
                value: Some("1".to_owned()),
                place: Place {
                    file: PathBuf::from("/etc/my.cnf"),
                    line: 7,
                },
            };
            let told = unread(&[option.clone(), option], &known, "mariadb-10.11");
            let told: Vec<_> = told.iter().map(ToString::to_string).collect();
            told.join("; ")
        };
        for group in [
            "mysqld1",
            "mysqld.shop",
            "mysqld@replica01",
            "mysqld_shop",
            "mariadb-10.6",
            "mariadb.2",
            "MYSQLD-8.0",
        ] {
            let told = told(group, "max_connections");
            for words in [group, "/etc/my.cnf line 7", "2 settings", "[mysqld]"] {
                assert!(told.contains(words), "{group}: {told}");
            }
        }
        for group in ["mysqld_safe", "mariadbd-safe", "mysqld_multi"] {
            assert!(told(group, "malloc-lib").contains("malloc_lib"), "{group}");
            assert_eq!(told(group, "log-error"), "", "{group}");
        }
        for group in [
            "mysqld",
            "Server",
            "client",
            "mysqldump",
            "mariadb-dump",
            "mariadb-backup",
            "mysql",
            "xtrabackup",
        ] {
            assert_eq!(told(group, "max_connections"), "", "{group}");
        }
    }
}
