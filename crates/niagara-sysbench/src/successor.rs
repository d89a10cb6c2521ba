//! The command of today that asks what one of sysbench 0.4 asked, whose one test of a database was `oltp`.

use niagara_load::{OptionGroup, SysbenchTest};

use crate::option::{DATABASE, GENERAL, LOG, MYSQL, SEED, of_test, workload_options};

/// The name of that test.
pub(crate) const OLD_TEST: &str = "oltp";

/// Options of sysbench 0.4 whose successors mean the same.
const RENAMED: &[(&str, &str)] = &[
    ("num-threads", "threads"),
    ("max-requests", "events"),
    ("max-time", "time"),
    ("mysql-table-engine", "mysql-storage-engine"),
    ("mysql-create-options", "create-table-options"),
    ("oltp-table-size", "table-size"),
    ("oltp-tables-count", "tables"),
    ("oltp-range-size", "range-size"),
    ("oltp-point-selects", "point-selects"),
    ("oltp-simple-ranges", "simple-ranges"),
    ("oltp-sum-ranges", "sum-ranges"),
    ("oltp-order-ranges", "order-ranges"),
    ("oltp-distinct-ranges", "distinct-ranges"),
    ("oltp-index-updates", "index-updates"),
    ("oltp-non-index-updates", "non-index-updates"),
    ("oltp-skip-trx", "skip-trx"),
    ("oltp-auto-inc", "auto-inc"),
    ("oltp-dist-type", "rand-type"),
    ("oltp-dist-iter", "rand-spec-iter"),
    ("oltp-dist-pct", "rand-spec-pct"),
    ("oltp-dist-res", "rand-spec-res"),
];

/// What ended a run of sysbench 0.4 that said nothing of it. Those of sysbench 1.0 are no events and 10 seconds.
const OLD_LIMITS: [(&str, &str); 2] = [("events", "10000"), ("time", "0")];

/// What takes the place of a command of sysbench 0.4.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Successor {
    /// The test of today.
    pub test: &'static str,
    /// The whole command.
    pub command: String,
    /// Words of the old command that nothing of today means.
    pub without: Vec<String>,
}

/// The successor of the command whose words behind the program's name these are; `None` of a mode that sysbench gave up.
pub(crate) fn successor(words: &[String]) -> Option<Successor> {
    let kind = test_of(words)?;
    let mut options: Vec<(&str, Option<&str>)> = Vec::new();
    let mut without = Vec::new();
    let mut commands = Vec::new();
    for word in words {
        let Some((name, value)) = option(word) else {
            // The test may stand by itself, as those of today do.
            if word != OLD_TEST {
                commands.push(word.as_str());
            }
            continue;
        };
        if CHOOSING.contains(&name) {
            continue;
        }
        let renamed = RENAMED.iter().find(|(old, _)| *old == name);
        let name = renamed.map_or(name, |(_, new)| *new);
        match is_option(kind, name) {
            true => options.push((name, value)),
            false => without.push(word.clone()),
        }
    }
    if commands.contains(&"run") {
        for (name, value) in OLD_LIMITS {
            if !options.iter().any(|(given, _)| *given == name) {
                options.push((name, Some(value)));
            }
        }
    }
    let test = kind.name();
    let mut line = vec!["niagara".to_owned(), "sysbench".to_owned(), test.to_owned()];
    line.extend(options.iter().map(|(name, value)| match value {
        // Messages are kept where passwords are not.
        Some(_) if *name == "mysql-password" => format!("--{name}=PASSWORD"),
        Some(value) => quoted(&format!("--{name}={value}")),
        None => format!("--{name}"),
    }));
    line.extend(commands.into_iter().map(quoted));
    Some(Successor {
        test,
        command: line.join(" "),
        without,
    })
}

/// Options that chose what `oltp` did, for which there are tests today.
const CHOOSING: [&str; 4] = [
    "test",
    "oltp-test-mode",
    "oltp-nontrx-mode",
    "oltp-read-only",
];

/// The test that does what these words chose.
fn test_of(words: &[String]) -> Option<SysbenchTest> {
    let given = |wanted: &str| {
        let mut options = words.iter().filter_map(|word| option(word));
        // As everywhere, the last one counts.
        let last = options.rfind(|(name, _)| *name == wanted);
        last.map(|(_, value)| value.unwrap_or("on"))
    };
    let is_read_only = given("oltp-read-only").is_some_and(|value| value != "off");
    let of_one_statement = given("oltp-nontrx-mode").unwrap_or("select");
    let name = match (given("oltp-test-mode").unwrap_or("complex"), is_read_only) {
        ("complex", true) => "oltp_read_only",
        ("complex", false) => "oltp_read_write",
        ("simple", _) => "oltp_point_select",
        ("nontrx", _) => match of_one_statement {
            "select" => "oltp_point_select",
            "update_key" => "oltp_update_index",
            "update_nokey" => "oltp_update_non_index",
            "insert" => "oltp_insert",
            "delete" => "oltp_delete",
            _ => return None,
        },
        _ => return None,
    };
    name.parse().ok()
}

/// Name and value of an option.
fn option(word: &str) -> Option<(&str, Option<&str>)> {
    let option = word.strip_prefix("--")?;
    Some(match option.split_once('=') {
        Some((name, value)) => (name, Some(value)),
        None => (option, None),
    })
}

/// Whether that test has an option of this name.
fn is_option(kind: SysbenchTest, name: &str) -> bool {
    let workloads = workload_options(&[OptionGroup::Random, OptionGroup::Database]);
    let of_test = of_test(kind);
    [GENERAL, SEED, LOG, DATABASE, MYSQL, &workloads, &of_test]
        .into_iter()
        .flatten()
        .any(|option| option.name.replace('_', "-") == name)
}

/// A word as a shell reads it.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_=/.,:+%@".contains(c);
    match word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command_line;
    use crate::settings::Settings;

    fn of(line: &str) -> Successor {
        successor(&words(line)).expect("a successor")
    }

    fn words(line: &str) -> Vec<String> {
        line.split_whitespace().map(str::to_owned).collect()
    }

    /// What the study of 2008 and that of 2009 printed.
    #[test]
    fn printed_commands_of_the_studies_have_exact_successors() {
        let read_write = "--test=oltp --oltp-table-size=1000000 --mysql-table-engine=innodb --mysql-user=root \
                          --mysql-socket=/tmp/mysql.sock --num-threads=8 --max-requests=100000 run";
        let new = of(read_write);
        assert_eq!(
            new.command,
            "niagara sysbench oltp_read_write --table-size=1000000 --mysql-storage-engine=innodb --mysql-user=root \
             --mysql-socket=/tmp/mysql.sock --threads=8 --events=100000 --time=0 run"
        );
        assert_eq!(new.without, Vec::<String>::new());
        let read_only =
            "--test=oltp --num-threads=32 --max-time=60 --max-requests=0 --oltp-read-only=on run";
        assert_eq!(
            of(read_only).command,
            "niagara sysbench oltp_read_only --threads=32 --time=60 --events=0 run"
        );
    }

    #[test]
    fn modes_choose_among_the_tests_of_today() {
        for (options, test) in [
            ("", "oltp_read_write"),
            ("--oltp-read-only", "oltp_read_only"),
            ("--oltp-read-only=off", "oltp_read_write"),
            ("--oltp-test-mode=simple", "oltp_point_select"),
            ("--oltp-test-mode=nontrx", "oltp_point_select"),
            (
                "--oltp-test-mode=nontrx --oltp-nontrx-mode=update_nokey",
                "oltp_update_non_index",
            ),
            (
                "--oltp-test-mode=nontrx --oltp-nontrx-mode=update_key",
                "oltp_update_index",
            ),
        ] {
            assert_eq!(of(&format!("--test=oltp {options} run")).test, test);
        }
        let procedure = words("--test=oltp --oltp-test-mode=sp --oltp-sp-name=p run");
        assert_eq!(successor(&procedure), None);
    }

    #[test]
    fn what_has_no_successor_is_named_and_left_out() {
        let new =
            of("oltp --oltp-table-name=t --mysql-engine-trx=yes --mysql-password=s3cret prepare");
        assert_eq!(
            new.without,
            ["--oltp-table-name=t", "--mysql-engine-trx=yes"]
        );
        assert_eq!(
            new.command,
            "niagara sysbench oltp_read_write --mysql-password=PASSWORD prepare"
        );
    }

    /// Every successor is a command line of today, with all of the old options that there are.
    #[test]
    fn successors_are_valid_command_lines() {
        let old: Vec<String> = RENAMED
            .iter()
            .map(|(old, _)| match *old {
                "oltp-dist-type" => "--oltp-dist-type=uniform".to_owned(),
                old => format!("--{old}=1"),
            })
            .collect();
        let command = of(&format!("--test=oltp {} run", old.join(" "))).command;
        let new = words(&command).split_off(2);
        let mut line = command_line::parse(&new, &|_| unreachable!("no file")).expect("valid");
        let kind: SysbenchTest = line.test.as_deref().unwrap().parse().unwrap();
        line.read_test_options(&[&of_test(kind)]).expect("known");
        let settings = Settings::read(&line.values).expect("valid");
        assert_eq!((settings.threads, settings.events), (1, Some(1)));
        assert!(settings.remarks.is_empty(), "{:?}", settings.remarks);
        assert_eq!(command.matches("=1").count(), RENAMED.len() - 1);
    }
}
