//! What a final variant changes of the user's own configuration: which lines it overrides, what it must not lower, and where
//! its option file is read last.

use std::path::{Path, PathBuf};

use niagara_load::sql_text;
use niagara_model::{DeployStart, HeldBack, LostSetting, Overridden, StrongerSetting};
use niagara_origin::configuration::{
    COMMAND_LINE, Place, SET_GLOBAL, SET_PERSIST, StartConfiguration, number, same_value,
};
use niagara_server::{Config, both_names, normalise_variable};

/// Names of the option file in a folder that is included, without their end: behind the distribution's own, else behind everything.
const NAMES: [&str; 2] = ["60-niagara", "zz-niagara"];
/// The name where the main file has to include it.
const BESIDE: &str = "niagara";
/// Files of that name which earlier rounds may have left, each sorted behind the one before.
const ROUNDS: usize = 9;

/// What installing a configuration takes where a start is there already.
pub(crate) struct Difference {
    /// Variables for the option file.
    pub config: Config,
    /// What they do to the start.
    pub start: DeployStart,
}

/// The variables of `config` that differ from the start, and what they do to it.
pub(crate) fn difference(start: &StartConfiguration, config: &Config) -> Difference {
    let mut changed = Config::new();
    let mut deploy = DeployStart {
        from: start.from.clone(),
        ..DeployStart::default()
    };
    for (name, value) in config {
        if start
            .config
            .get(name)
            .is_some_and(|there| there == value || same_value(there, value))
        {
            // It was measured, and the restart that installs the rest would take it away.
            if start
                .origins
                .get(name)
                .is_some_and(|from| from == SET_GLOBAL)
            {
                changed.insert(name.clone(), value.clone());
                deploy.restated.push(name.clone());
            }
            continue;
        }
        let place = start.place_of(name);
        if let Some(dedicated) = sized_by_the_server(start, name) {
            deploy.held_back.push(HeldBack::SizedByServer {
                variable: name.clone(),
                value: value.clone(),
                place: dedicated.to_owned(),
            });
            continue;
        }
        if let Some(lowered) = start.lowered.get(name)
            && number(value) < number(&lowered.yours)
        {
            deploy.held_back.push(HeldBack::NotLowered {
                variable: name.clone(),
                value: value.clone(),
                yours: lowered.yours.clone(),
                place: place.unwrap_or(&start.from).to_owned(),
            });
            continue;
        }
        if let Some(place) = place {
            let [bare, _] = both_names(name);
            let value = start.config.get(name).or(start.config.get(&bare));
            let overridden = Overridden {
                value: value.cloned().unwrap_or_default(),
                place: place.to_owned(),
            };
            deploy.overrides.insert(name.clone(), overridden);
        }
        deploy.stronger.extend(stronger_than_files(start, name));
        changed.insert(name.clone(), value.clone());
    }
    (deploy.file, deploy.included_by) = read_last(start, changed.keys());
    Difference {
        config: changed,
        start: deploy,
    }
}

/// Where it stands that the server sizes this variable by the machine's memory, as `innodb_dedicated_server` has it do.
fn sized_by_the_server<'s>(start: &'s StartConfiguration, name: &str) -> Option<&'s str> {
    const SIZED: [&str; 5] = [
        "innodb_buffer_pool_size",
        "innodb_flush_method",
        "innodb_log_file_size",
        "innodb_log_files_in_group",
        "innodb_redo_log_capacity",
    ];
    let is_on = |left: &&LostSetting| {
        let (name, value) = left
            .setting
            .split_once('=')
            .unwrap_or((&left.setting, "ON"));
        normalise_variable(name) == "innodb_dedicated_server" && same_value(value, "ON")
    };
    let dedicated = start.left_out.iter().find(is_on)?;
    (SIZED.contains(&name) && !start.config.contains_key(name)).then_some(dedicated.place.as_str())
}

/// What has to be taken away by hand where option files do not have the last word over `name`.
fn stronger_than_files(start: &StartConfiguration, name: &str) -> Option<StrongerSetting> {
    let mut names = both_names(name).into_iter();
    names.find_map(|name| stronger(start, &name))
}

/// The same of the one name.
fn stronger(start: &StartConfiguration, name: &str) -> Option<StrongerSetting> {
    let there = start.config.get(name).map_or("", String::as_str);
    let variable = name.to_owned();
    match start.origins.get(name)?.as_str() {
        SET_PERSIST => Some(StrongerSetting::Persisted {
            variable,
            value: sql_value(there),
        }),
        COMMAND_LINE => Some(StrongerSetting::CommandLine {
            variable,
            value: there.to_owned(),
        }),
        _ => None,
    }
}

/// A value as SQL takes it.
fn sql_value(value: &str) -> String {
    match value.parse::<f64>() {
        Ok(_) => value.to_owned(),
        Err(_) => sql_text(value),
    }
}

/// Where an option file is read after all lines that say what `names` are, and the file that has to include it.
fn read_last<'n>(
    start: &StartConfiguration,
    names: impl Iterator<Item = &'n String>,
) -> (Option<PathBuf>, Option<PathBuf>) {
    let Some(main) = start.files.first() else {
        return (None, None);
    };
    let names = names.flat_map(|name| both_names(name));
    let lines: Vec<&Place> = names.filter_map(|name| start.lines.get(&name)).collect();
    let last_folder = start.folders.iter().rfind(|(_, place)| place.file == *main);
    if let Some((folder, included_at)) = last_folder {
        let mut free = NAMES
            .iter()
            .flat_map(|name| numbered(name).map(|name| folder.join(name)))
            .filter(|file| !start.files.contains(file));
        let found = free.find(|file| {
            lines
                .iter()
                .all(|line| is_before(line, file, folder, included_at, start))
        });
        if let Some(file) = found {
            return (Some(file), None);
        }
    }
    // What an earlier round put there is a part of the start, and stays.
    let mut beside = numbered(BESIDE).map(|name| main.with_file_name(name));
    let file = beside.find(|file| !start.files.contains(file));
    let last = || main.with_file_name(format!("{BESIDE}-last.cnf"));
    (Some(file.unwrap_or_else(last)), Some(main.clone()))
}

/// `NAME.cnf`, `NAME2.cnf`, …: in the order in which a server reads them.
fn numbered(name: &str) -> impl Iterator<Item = String> {
    (1..=ROUNDS).map(move |round| match round {
        1 => format!("{name}.cnf"),
        round => format!("{name}{round}.cnf"),
    })
}

/// Whether `line` is read before a new `file` of `folder`, which `included_at` includes.
fn is_before(
    line: &Place,
    file: &Path,
    folder: &Path,
    included_at: &Place,
    start: &StartConfiguration,
) -> bool {
    if line.file == included_at.file {
        return line.line < included_at.line;
    }
    if line.file.parent() == Some(folder) {
        return line.file.as_path() < file;
    }
    // Of another include: read before the first file of this folder.
    let place = |wanted: &dyn Fn(&PathBuf) -> bool| start.files.iter().position(wanted);
    let first_here = place(&|one| one.parent() == Some(folder));
    match (place(&|one| *one == line.file), first_here) {
        (Some(line), Some(first)) => line < first,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use niagara_model::SettingReason;
    use niagara_origin::configuration::Lowered;

    use super::*;

    fn start(lines: &[(&str, &str, &str, usize)]) -> StartConfiguration {
        let mut start = StartConfiguration {
            from: "/etc/mysql/my.cnf".into(),
            files: vec!["/etc/mysql/my.cnf".into(), "/etc/mysql/d/50-a.cnf".into()],
            folders: vec![(
                "/etc/mysql/d".into(),
                Place {
                    file: "/etc/mysql/my.cnf".into(),
                    line: 20,
                },
            )],
            ..StartConfiguration::default()
        };
        for (name, value, file, line) in lines {
            let place = Place {
                file: file.into(),
                line: *line,
            };
            start.config.insert((*name).into(), (*value).into());
            start.places.insert((*name).into(), place.to_string());
            start.lines.insert((*name).into(), place);
        }
        start
    }

    fn config(pairs: &[(&str, &str)]) -> Config {
        let pairs = pairs.iter();
        pairs
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect::<BTreeMap<_, _>>()
    }

    #[test]
    fn what_is_so_already_is_not_installed_and_what_was_not_measured_not_lowered() {
        let mut start = start(&[
            ("innodb_buffer_pool_size", "9G", "/etc/mysql/my.cnf", 5),
            ("innodb_io_capacity", "200", "/etc/mysql/my.cnf", 6),
            ("log_bin", "binlog", "/etc/mysql/my.cnf", 7),
            ("max_connections", "500", "/etc/mysql/my.cnf", 8),
        ]);
        start.lowered.insert(
            "innodb_buffer_pool_size".into(),
            Lowered {
                yours: "64G".into(),
                here: "9G".into(),
            },
        );
        let Difference {
            config: changed,
            start: deploy,
        } = difference(
            &start,
            &config(&[
                ("innodb_buffer_pool_size", "8589934592"),
                ("innodb_io_capacity", "2000"),
                ("innodb_log_file_size", "1G"),
                ("log_bin", "binlog"),
                ("max_connections", "500"),
                ("skip_log_bin", ""),
            ]),
        );
        let names: Vec<&str> = changed.keys().map(String::as_str).collect();
        assert_eq!(
            names,
            ["innodb_io_capacity", "innodb_log_file_size", "skip_log_bin"]
        );
        let overridden = &deploy.overrides["innodb_io_capacity"];
        assert_eq!(
            (overridden.value.as_str(), overridden.place.as_str()),
            ("200", "/etc/mysql/my.cnf line 6")
        );
        assert_eq!(deploy.overrides["skip_log_bin"].value, "binlog");
        let told = deploy.held_back[0].to_string();
        assert!(
            told.contains("stays 64G (/etc/mysql/my.cnf line 5)"),
            "{told}"
        );
        assert_eq!(deploy.file, Some("/etc/mysql/d/60-niagara.cnf".into()));
        assert_eq!(deploy.included_by, None);
    }

    #[test]
    fn a_variable_is_switched_off_behind_the_line_that_switches_it_on() {
        let mut start = start(&[("log_bin", "binlog", "/etc/mysql/d/70-logs.cnf", 3)]);
        let found = difference(&start, &config(&[("skip_log_bin", "")]));
        let file = Some("/etc/mysql/d/zz-niagara.cnf".into());
        assert_eq!((found.start.file, found.start.stronger), (file, Vec::new()));
        start.origins.insert("log_bin".into(), COMMAND_LINE.into());
        let found = difference(&start, &config(&[("skip_log_bin", "")]));
        let told = found.start.stronger[0].to_string();
        assert!(
            told.starts_with("`--log-bin=binlog` is on the server's command line"),
            "{told}"
        );
    }

    #[test]
    fn what_the_server_sizes_by_the_machine_is_not_made_smaller() {
        let with = |setting: &str| {
            let mut start = start(&[("innodb_io_capacity", "200", "/etc/mysql/my.cnf", 6)]);
            start.left_out.push(LostSetting {
                setting: setting.into(),
                place: "/etc/mysql/my.cnf line 4".into(),
                reason: SettingReason::Memory,
            });
            start
        };
        let sizes = [
            ("innodb_buffer_pool_size", "2G"),
            ("innodb_redo_log_capacity", "1G"),
            ("innodb_io_capacity", "2000"),
        ];
        // As people write it.
        for on in [
            "innodb_dedicated_server = ON",
            "innodb-dedicated-server=1",
            "innodb_dedicated_server",
        ] {
            let found = difference(&with(on), &config(&sizes));
            let names: Vec<&str> = found.config.keys().map(String::as_str).collect();
            assert_eq!(names, ["innodb_io_capacity"], "{on}");
            assert_eq!(found.start.held_back.len(), 2);
            let told = found.start.held_back[0].to_string();
            assert!(told.contains("my.cnf line 4"), "{told}");
        }
        for off in ["innodb_dedicated_server=OFF", "innodb-dedicated-server=0"] {
            let found = difference(&with(off), &config(&sizes));
            assert_eq!(found.config.len(), 3, "{off}");
            assert!(found.start.held_back.is_empty(), "{off}");
        }
    }

    #[test]
    fn the_option_file_is_where_it_has_the_last_word() {
        let placed = |file: &str, line: usize| {
            let start = start(&[("a", "1", file, line)]);
            let Difference { start: deploy, .. } = difference(&start, &config(&[("a", "2")]));
            let shown = |path: Option<PathBuf>| path.map(|path| path.display().to_string());
            (shown(deploy.file), shown(deploy.included_by))
        };
        let in_folder = |name: &str| (Some(format!("/etc/mysql/d/{name}")), None);
        assert_eq!(placed("/etc/mysql/my.cnf", 3), in_folder("60-niagara.cnf"));
        assert_eq!(
            placed("/etc/mysql/d/50-a.cnf", 3),
            in_folder("60-niagara.cnf")
        );
        assert_eq!(
            placed("/etc/mysql/d/99-z.cnf", 3),
            in_folder("zz-niagara.cnf")
        );
        let included = (
            Some("/etc/mysql/niagara.cnf".to_owned()),
            Some("/etc/mysql/my.cnf".to_owned()),
        );
        assert_eq!(placed("/etc/mysql/my.cnf", 30), included);
    }

    #[test]
    fn what_an_earlier_round_installed_is_not_replaced() {
        let file = |line: usize, there: &[&str]| {
            let mut start = start(&[("a", "1", "/etc/mysql/my.cnf", line)]);
            start.files.extend(there.iter().map(PathBuf::from));
            let Difference { start: deploy, .. } =
                difference(&start, &config(&[("b", "2"), ("a", "2")]));
            deploy.file.expect("a file").display().to_string()
        };
        let first = "/etc/mysql/d/60-niagara.cnf";
        let second = file(3, &[first]);
        assert_eq!(second, "/etc/mysql/d/60-niagara2.cnf");
        assert!(second.as_str() > first, "read behind it");
        let third = file(3, &[first, &second]);
        assert_eq!(third, "/etc/mysql/d/60-niagara3.cnf");
        assert_eq!(
            file(30, &["/etc/mysql/niagara.cnf"]),
            "/etc/mysql/niagara2.cnf"
        );
    }

    #[test]
    fn what_no_option_file_set_is_restated_or_taken_away_by_hand() {
        let mut start = start(&[
            ("innodb_io_capacity", "2000", "/etc/mysql/my.cnf", 6),
            ("table_open_cache", "400", "/etc/mysql/my.cnf", 7),
            ("sql_mode", "ANSI", "/etc/mysql/my.cnf", 8),
            ("thread_cache_size", "9", "/etc/mysql/my.cnf", 9),
            ("max_connections", "500", "/etc/mysql/my.cnf", 10),
        ]);
        for (name, origin) in [
            ("innodb_io_capacity", SET_GLOBAL),
            ("table_open_cache", SET_GLOBAL),
            ("sql_mode", SET_PERSIST),
            ("thread_cache_size", COMMAND_LINE),
            ("max_connections", SET_PERSIST),
        ] {
            start.origins.insert(name.into(), origin.into());
        }
        let found = difference(
            &start,
            &config(&[
                ("innodb_io_capacity", "2000"),
                ("table_open_cache", "8000"),
                ("sql_mode", "TRADITIONAL"),
                ("thread_cache_size", "100"),
                ("max_connections", "500"),
            ]),
        );
        let names: Vec<&str> = found.config.keys().map(String::as_str).collect();
        let all = [
            "innodb_io_capacity",
            "sql_mode",
            "table_open_cache",
            "thread_cache_size",
        ];
        assert_eq!(names, all, "max_connections outlasts the restart by itself");
        assert_eq!(found.start.restated, ["innodb_io_capacity"]);
        let told: Vec<String> = found
            .start
            .stronger
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(told.len(), 2, "{told:?}");
        assert!(told[0].contains("RESET PERSIST sql_mode;"));
        let undone = &found.start.stronger[0];
        assert!(
            matches!(undone, StrongerSetting::Persisted { variable, value } if variable == "sql_mode" && value == "'ANSI'"),
            "{undone:?}"
        );
        assert!(told[1].contains("`--thread-cache-size=9`"));
    }
}
