//! Does the server take each lever at all, and does it change anything? Asked by starting it,
//! with all levers at once where that works: k levers cost about as many starts as misfits.

use anyhow::{Context, Result};
use niagara_error::Explain as _;
use niagara_model::{NotTried, Reason, Setting};
use niagara_origin::configuration::{StartConfiguration, number, shown};

use crate::duels::workbench::Workbench;
use crate::lever::{Change, Role, in_effect};
use crate::plans::observer::{Event, Observer};
use crate::variants::candidate::{Candidate, with_all};
use crate::variants::server_settings::Settings;
use crate::variants::variant::Variant;

/// Starts that the search for levers that fail only together may take: enough for three of them among 64.
const MAX_STARTS: u32 = 24;

/// What the starts showed.
#[derive(Debug)]
pub(crate) struct Probed {
    /// Levers that are not worth a duel, each with the reason.
    pub misfits: Vec<NotTried>,
    /// The main settings of `base`, with their values for people.
    pub start: Vec<(String, String)>,
}

/// Starts `base`, then the levers in groups; returns those that the server refuses, that change nothing, that set only
/// what the server itself calls without effect, or that need another setting than `base` has, each with the reason.
///
/// # Errors
/// `base` itself does not start, or the study was stopped.
pub(crate) fn probe(
    bench: &Workbench,
    base: &Variant,
    candidates: &[Candidate],
    observer: &mut dyn Observer,
) -> Result<Probed> {
    observer.see(Event::SettingUp(
        "checking that the server starts with each lever",
    ));
    let defaults = settings(bench, base)?.with_context(|| {
        bench
            .start(&base.server)
            .map_or("the start".to_owned(), |start| start.from.clone())
    })?;
    let none = StartConfiguration::default();
    let start = bench.start(&base.server).unwrap_or(&none);
    let mut misfits: Vec<NotTried> = candidates
        .iter()
        .filter_map(|candidate| {
            Some(candidate.not_tried(nothing_to_act_on(candidate, &defaults, start)?))
        })
        .collect();
    for mut group in compatible_groups(candidates) {
        group.retain(|&index| {
            let id = candidates[index].lever.id();
            !misfits.iter().any(|misfit| misfit.lever == id)
        });
        try_group(
            bench,
            base,
            candidates,
            &group,
            &Compared {
                before: &defaults,
                start,
                may_go_on: &|| true,
            },
            &mut misfits,
        )?;
    }
    Ok(Probed {
        misfits,
        start: defaults.main_ones(),
    })
}

/// Which of `levers` keep the server from starting on top of `base`, each with the reason: those with which alone it
/// does not start; where there is none, one of a few that it does not start with together. Nothing when it starts with
/// all of them, when the search takes too many starts, or once `may_go_on` says no: a start that hangs takes a minute.
///
/// # Errors
/// The study was stopped, or cannot continue here.
pub(crate) fn failing_levers(
    bench: &Workbench,
    base: &Variant,
    candidates: &[Candidate],
    levers: &[usize],
    may_go_on: &dyn Fn() -> bool,
) -> Result<Vec<NotTried>> {
    let mut misfits = Vec::new();
    let all_start = try_group(
        bench,
        base,
        candidates,
        levers,
        &Compared {
            before: &Settings::default(),
            start: &StartConfiguration::default(),
            may_go_on,
        },
        &mut misfits,
    )?;
    if all_start || !misfits.is_empty() {
        return Ok(misfits);
    }
    let mut cause_of_last = String::new();
    let mut fails = |group: &[usize]| -> Result<Option<bool>> {
        bench.cancel().check()?;
        if !may_go_on() {
            return Ok(None);
        }
        match settings(bench, &with_all(base, candidates, group))? {
            Ok(_) => Ok(Some(false)),
            Err(error) => {
                cause_of_last = cause(&error);
                Ok(Some(true))
            }
        }
    };
    let mut sorted = levers.to_vec();
    sorted.sort_unstable();
    let Some(together) = smallest_failing(&sorted, &mut fails, MAX_STARTS)? else {
        return Ok(Vec::new());
    };
    // The one that comes later in the list goes; the controls stay as long as a lever can go.
    let goes = together
        .iter()
        .rev()
        .find(|&&index| candidates[index].lever.role() == Role::Lever)
        .or(together.last());
    let Some(&goes) = goes else {
        return Ok(Vec::new());
    };
    let title = |index: usize| candidates[index].lever.title().to_owned();
    let others = together.iter().copied().filter(|&index| index != goes);
    Ok(vec![candidates[goes].not_tried(
        Reason::DoesNotStartTogether {
            title: title(goes),
            others: others.map(title).collect(),
            cause: cause_of_last,
        },
    )])
}

/// A set of `levers`, ascending, that fails together while the set without any one of its later-found members does not:
/// for each member the shortest failing beginning of the list is sought by halving, with the members found before it
/// always in force (delta debugging after Zeller & Hildebrandt, IEEE TSE 28(2), 2002, by prefixes). A pair among n
/// levers takes about 2 log₂ n tests. All of `levers` are known to fail, none of them is known not to. `None` when
/// `most` tests are not enough, or one of them comes to nothing.
fn smallest_failing(
    levers: &[usize],
    fails: &mut dyn FnMut(&[usize]) -> Result<Option<bool>>,
    most: u32,
) -> Result<Option<Vec<usize>>> {
    let mut tests = 0;
    let mut test = |group: &[usize]| {
        tests += 1;
        match tests <= most {
            true => fails(group),
            false => Ok(None),
        }
    };
    let mut found: Vec<usize> = Vec::new();
    let mut pool = levers.to_vec();
    loop {
        // With `found` alone it starts, with all of the pool beside it does not: so it is at each end of this stretch.
        let (mut starts, mut failing) = (0, pool.len());
        while failing - starts > 1 {
            let middle = starts.midpoint(failing);
            let group: Vec<usize> = pool[..middle].iter().chain(&found).copied().collect();
            match test(&group)? {
                Some(true) => failing = middle,
                Some(false) => starts = middle,
                None => return Ok(None),
            }
        }
        let Some(&member) = failing.checked_sub(1).and_then(|last| pool.get(last)) else {
            return Ok(None);
        };
        found.insert(0, member);
        pool.truncate(failing - 1);
        match test(&found)? {
            Some(true) => return Ok(Some(found)),
            Some(false) => {}
            None => return Ok(None),
        }
    }
}

/// Groups of levers that can be together, as few as come of taking each into the first that has room for it.
fn compatible_groups(candidates: &[Candidate]) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for (index, Candidate { lever, .. }) in candidates.iter().enumerate() {
        let goes_with = |other: &usize| {
            let other = &candidates[*other].lever;
            other.factor() != lever.factor() && !other.is_apart_from(lever)
        };
        match groups.iter_mut().find(|group| group.iter().all(goes_with)) {
            Some(group) => group.push(index),
            None => groups.push(vec![index]),
        }
    }
    groups
}

/// What a start with levers is compared with.
struct Compared<'a> {
    /// The variables without them.
    before: &'a Settings,
    /// Where the start's own are from.
    start: &'a StartConfiguration,
    /// Whether there is time for another start.
    may_go_on: &'a dyn Fn() -> bool,
}

/// Whether the server is seen to start with the whole group; where it does not, the halves are tried, and so on.
fn try_group(
    bench: &Workbench,
    base: &Variant,
    candidates: &[Candidate],
    group: &[usize],
    compared: &Compared<'_>,
    misfits: &mut Vec<NotTried>,
) -> Result<bool> {
    if group.is_empty() {
        return Ok(true);
    }
    bench.cancel().check()?;
    if !(compared.may_go_on)() {
        return Ok(false);
    }
    match settings(bench, &with_all(base, candidates, group))? {
        Ok(found) => {
            misfits.extend(group.iter().filter_map(|&index| {
                unchanged(&candidates[index], compared.before, &found, compared.start)
                    .map(|reason| candidates[index].not_tried(reason))
            }));
            return Ok(true);
        }
        Err(error) => match group {
            [index] => misfits.push(candidates[*index].not_tried(Reason::DoesNotStart {
                cause: cause(&error),
            })),
            _ => {
                let (left, right) = group.split_at(group.len() / 2);
                try_group(bench, base, candidates, left, compared, misfits)?;
                try_group(bench, base, candidates, right, compared, misfits)?;
            }
        },
    }
    Ok(false)
}

/// The line of a failed start that says why; the log's end belongs elsewhere.
fn cause(error: &anyhow::Error) -> String {
    let logged = error
        .find::<niagara_server::StartFailed>()
        .and_then(|failed| failed.cause.clone());
    let root = error.root_cause().to_string();
    let line = logged.or_else(|| root.lines().next().map(str::to_owned));
    line.unwrap_or_else(|| "no reason given".to_owned())
}

/// The reason why a lever has nothing to act on: the server runs with another setting than its `[when]` asks for.
fn nothing_to_act_on(
    candidate: &Candidate,
    defaults: &Settings,
    start: &StartConfiguration,
) -> Option<Reason> {
    let (name, wanted) = candidate
        .lever
        .when()
        .variables
        .iter()
        .find(|(name, wanted)| {
            defaults
                .value(name)
                .is_some_and(|value| !wanted.holds(value))
        })?;
    Some(Reason::NothingToActOn {
        setting: setting(start, name, name, defaults.value(name)?),
        wanted: wanted.to_string(),
    })
}

/// The reason why a lever is not worth a duel: what it sets was so before, was put back by the server, or is called
/// without effect by the server itself.
fn unchanged(
    candidate: &Candidate,
    defaults: &Settings,
    found: &Settings,
    start: &StartConfiguration,
) -> Option<Reason> {
    if let Some(reason) = lowers(candidate, defaults, found, start) {
        return Some(reason);
    }
    let only_config = Change {
        config: candidate.change.config.clone(),
        ..Change::default()
    };
    if candidate.change != only_config {
        return None;
    }
    let (mut same, mut ignored) = (Vec::new(), Vec::new());
    for name in candidate.change.config.keys() {
        if let Some(words) = defaults.without_effect.get(name) {
            ignored.push(Setting {
                variable: name.clone(),
                value: words.clone(),
                place: None,
            });
            continue;
        }
        let (before, after) = (defaults.value(name)?, found.value(name)?);
        if in_effect(name, before) != in_effect(name, after) {
            return None;
        }
        let shown = name.strip_prefix("skip_").unwrap_or(name);
        same.push(setting(start, name, shown, after));
    }
    let is_idle = !ignored.is_empty() || !same.is_empty();
    is_idle.then_some(Reason::Unchanged { ignored, same })
}

/// `name`, as people know it, with its value and the place in the start that says so.
fn setting(start: &StartConfiguration, name: &str, shown: &str, value: &str) -> Setting {
    Setting {
        variable: shown.to_owned(),
        value: value.to_owned(),
        place: start.place_of(name).map(|place| place.to_string()),
    }
}

/// The reason why a lever that makes something larger than it is by default would make it smaller than the start has it.
/// A lever that lowers what is there by default is one that is to be measured.
fn lowers(
    candidate: &Candidate,
    defaults: &Settings,
    found: &Settings,
    start: &StartConfiguration,
) -> Option<Reason> {
    candidate.change.config.keys().find_map(|name| {
        start.place_of(name)?;
        let of = |value: Option<&str>| number(value?);
        let (before, after) = (of(defaults.value(name))?, of(found.value(name))?);
        let default = of(start.defaults.get(name).map(String::as_str))?;
        let written = |number: f64| shown(number as u64);
        (after < before && after >= default).then(|| Reason::WouldLower {
            setting: setting(start, name, name, &written(before)),
            to: written(after),
        })
    })
}

/// What a started `variant` says of its variables, or why it did not start. An error is no fault of the variant's.
pub(crate) fn settings(bench: &Workbench, variant: &Variant) -> Result<Result<Settings>> {
    let clone = bench.clone_for(variant)?;
    let started = bench
        .spawn(variant, &clone)
        .and_then(|starting| starting.wait_ready());
    let server = match started {
        Ok(server) => server,
        Err(error) => {
            bench.cancel().check()?;
            bench.check_disk()?;
            bench.check_cache_disk()?;
            return Ok(Err(error));
        }
    };
    let settings = Settings::of(&server);
    server.kill();
    Ok(Ok(settings?))
}

#[cfg(test)]
mod tests {
    use niagara_origin::configuration::ConfigSource;
    use niagara_server::{Cache, Catalog};

    use super::*;
    use crate::lever::{Context, Lever, load};
    use crate::plans::observer::Silent;
    use crate::plans::spec::Load;
    use niagara_server::Cancel;

    /// The distribution's server, which `scripts/setup test` installs.
    const SERVER: &str = "/usr/sbin/mariadbd";

    /// Of a table with ten rows.
    fn bench() -> Workbench {
        let cache = Cache::open().expect("the shared cache");
        let catalog = Catalog::load(&[]).expect("the built-in catalogue");
        let load = Load::of_ten_rows();
        Workbench::new(cache, catalog, load, Cancel::default())
    }

    /// Levers of a folder, their changes worked out for a machine without limits.
    fn written(files: &[(&str, &str)]) -> Vec<Candidate> {
        let folder = tempfile::tempdir().expect("a folder");
        for (id, text) in files {
            let head =
                "title = \"T\"\ntheme = \"test\"\nrisk = \"none\"\nwhy = \"w\"\nsource = \"s\"\n";
            std::fs::write(
                folder.path().join(format!("{id}.toml")),
                format!("{head}{text}"),
            )
            .expect("written");
        }
        let levers: Vec<Lever> = load(&[folder.path().to_owned()]).expect("valid");
        let context = Context::new(
            niagara_server::Family::Mariadb,
            "10.11.19".parse().expect("a version"),
            niagara_server::machine::Fingerprint::default(),
        );
        files
            .iter()
            .map(|(id, _)| {
                let lever = levers.iter().find(|lever| lever.id() == *id).expect("read");
                Candidate {
                    lever: lever.clone(),
                    change: lever.applicability(&context).expect("applies"),
                    span: lever.span(&context),
                    prior: None,
                }
            })
            .collect()
    }

    #[test]
    fn a_real_server_says_which_levers_can_do_nothing() {
        let mut bench = bench();
        bench.set_up(SERVER, &mut Silent).expect("set up");
        let candidates = written(&[
            ("idle", "[change.config]\nmax_tmp_tables = 64\n"),
            (
                "same",
                "[change.config]\nskip_log_bin = \"\"\nsync_binlog = 0\n",
            ),
            (
                "idle-and-same",
                "[change.config]\nmax_tmp_tables = 65\nsync_binlog = 0\n",
            ),
            (
                "needs-binlog",
                "[when.variables]\nlog_bin = \"ON\"\n[change.config]\nbinlog_row_image = \"MINIMAL\"\n",
            ),
            (
                "has-what-it-needs",
                "[when.variables]\nlog_bin = \"off\"\n[change.config]\nbinlog_row_image = \"MINIMAL\"\n",
            ),
            (
                "idle-and-unknown",
                "[change.config]\nmax_tmp_tables = 66\nspider_unknown = 1\n",
            ),
            ("works", "[change.config]\ninnodb_io_capacity = 777\n"),
            ("refused", "[change.config]\nno_such_variable = 1\n"),
        ]);
        let probed =
            probe(&bench, &Variant::base(SERVER), &candidates, &mut Silent).expect("probed");
        let settings = [
            ("innodb_buffer_pool_size", "128M"),
            ("innodb_flush_log_at_trx_commit", "1"),
            ("log_bin", "OFF"),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert!(probed.start.starts_with(&settings), "{:?}", probed.start);
        let misfits = probed.misfits;
        let reason = |id: &str| {
            misfits
                .iter()
                .find(|misfit| misfit.lever == id)
                .map(|misfit| misfit.reason.to_string())
        };
        assert_eq!(
            reason("idle").as_deref(),
            Some("this server ignores what it sets: max_tmp_tables (\"Unused, will be removed.\")")
        );
        assert_eq!(
            reason("same").as_deref(),
            Some("already so without it: log_bin = OFF, sync_binlog = 0")
        );
        assert_eq!(
            reason("idle-and-same").as_deref(),
            Some(
                "this server ignores what it sets: max_tmp_tables (\"Unused, will be removed.\"); \
                 already so without it: sync_binlog = 0"
            )
        );
        assert_eq!(
            reason("needs-binlog").as_deref(),
            Some(
                "nothing to gain with log_bin = OFF, as this server starts: it matters with log_bin = ON"
            )
        );
        assert_eq!(reason("has-what-it-needs"), None);
        assert_eq!(reason("works"), None);
        for id in ["refused", "idle-and-unknown"] {
            let refused = reason(id).expect("refused");
            assert!(
                refused.starts_with("the server does not start with it: "),
                "{refused}"
            );
        }
    }

    #[test]
    fn what_the_users_file_says_already_is_told_with_its_line() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("my.cnf");
        std::fs::write(
            &path,
            "[mysqld]\ninnodb_io_capacity = 777\ntable_open_cache = 4000\nsort_buffer_size = 1M\n\
             tmp_table_size = 32M\n",
        )
        .expect("written");
        let origin = crate::Origin {
            config: Some(ConfigSource::file(&path).expect("readable")),
            ..crate::Origin::default()
        };
        let mut bench = bench().starting_from(&origin);
        let base = bench.base(SERVER, &mut Silent).expect("read");
        bench.set_up_variant(&base, &mut Silent).expect("set up");
        let candidates = written(&[
            ("same", "[change.config]\ninnodb_io_capacity = 777\n"),
            ("less", "[change.config]\ntable_open_cache = 3000\n"),
            ("lowers", "[change.config]\nsort_buffer_size = 262144\n"),
            ("more", "[change.config]\ntmp_table_size = 67108864\n"),
        ]);
        let misfits = probe(&bench, &base, &candidates, &mut Silent)
            .expect("probed")
            .misfits;
        let reason = |id: &str| {
            let found = misfits.iter().find(|misfit| misfit.lever == id);
            found.map(|misfit| {
                let words = misfit.reason.to_string();
                words.replace(&path.display().to_string(), "my.cnf")
            })
        };
        assert_eq!(
            reason("same").as_deref(),
            Some("already so without it: innodb_io_capacity = 777 (your my.cnf line 2)")
        );
        assert_eq!(
            reason("less").as_deref(),
            Some(
                "your my.cnf line 3 has more already: table_open_cache = 4000, this lever would lower it to 3000"
            )
        );
        // Below what servers come with: this one is for lowering it, and is measured.
        assert_eq!(reason("lowers"), None);
        assert_eq!(reason("more"), None);
    }

    /// A server of `scripts/fetch-test-servers`.
    fn old_server(name: &str) -> String {
        let named = std::env::var_os("NIAGARA_TEST_SERVERS").map(std::path::PathBuf::from);
        let folder = named.unwrap_or_else(|| {
            let home = std::env::var_os("HOME").expect("a home");
            std::path::Path::new(&home).join(".cache/niagara-test-servers")
        });
        folder.join(name).display().to_string()
    }

    #[test]
    #[ignore = "it needs servers of scripts/fetch-test-servers"]
    fn each_release_says_which_flush_method_it_has() {
        // MySQL has fsync by itself until 8.0, MariaDB until 10.5; the former shows none before 8.0.
        for (name, id) in [
            ("mysql-5.6.24", "flush-method-fsync"),
            ("mysql-5.7.22", "flush-method-fsync"),
            ("mysql-8.0.12", "flush-method-fsync"),
            ("mysql-8.0.31", "flush-method-fsync"),
            ("mysql-9.7", "flush-method-direct"),
            ("mariadb-10.5", "flush-method-fsync"),
            ("mariadb-10.11", "flush-method-direct"),
        ] {
            let server = match name {
                "mysql-9.7" | "mariadb-10.11" => name.to_owned(),
                name => old_server(name),
            };
            let mut bench = bench();
            bench.set_up(&server, &mut Silent).expect("set up");
            let machine = niagara_server::machine::Fingerprint::default();
            let context = crate::lever_context(&machine, &bench, &server).expect("known");
            let candidates: Vec<Candidate> = load_shipped()
                .into_iter()
                .filter(|lever| {
                    let spelling = lever.spelling();
                    spelling == "flush-method=fsync" || spelling == "flush-method=o-direct"
                })
                .map(|lever| Candidate {
                    change: lever.applicability(&context).expect("applies"),
                    span: lever.span(&context),
                    lever,
                    prior: None,
                })
                .collect();
            assert_eq!(candidates.len(), 2, "{name}");
            let probed =
                probe(&bench, &Variant::base(&server), &candidates, &mut Silent).expect("probed");
            let misfits: Vec<String> = probed
                .misfits
                .iter()
                .map(|misfit| format!("{}: {}", misfit.lever, misfit.reason))
                .collect();
            assert_eq!(misfits.len(), 1, "{name}: {misfits:?}");
            assert!(
                misfits[0].starts_with(&format!("{id}: already so without it")),
                "{name}: {misfits:?}"
            );
        }
    }

    fn load_shipped() -> Vec<Lever> {
        load(&[]).expect("every shipped lever is valid")
    }

    #[test]
    fn levers_that_exclude_each_other_are_not_started_together() {
        let candidates = written(&[
            ("one", "[change.config]\na = 1\n"),
            (
                "low",
                "factor = \"f\"\nlevel = \"low\"\n[change.config]\nb = 1\n",
            ),
            (
                "high",
                "factor = \"f\"\nlevel = \"high\"\n[change.config]\nb = 2\n",
            ),
            (
                "alone",
                "excludes = [\"one\", \"f\"]\n[change.config]\nc = 1\n",
            ),
            ("more", "[change.config]\nd = 1\n"),
        ]);
        assert_eq!(
            compatible_groups(&candidates),
            [vec![0, 1, 4], vec![2], vec![3]]
        );
    }

    /// Searches among `levers` for those that fail when all of `guilty` are there; counts the tests.
    fn searched(levers: &[usize], guilty: &[usize], most: u32) -> (Option<Vec<usize>>, u32) {
        let mut tests = 0;
        let mut fails = |group: &[usize]| {
            tests += 1;
            Ok(Some(guilty.iter().all(|index| group.contains(index))))
        };
        let found = smallest_failing(levers, &mut fails, most).expect("the tests themselves work");
        (found, tests)
    }

    #[test]
    fn every_pair_is_found_with_few_starts() {
        for n in [2_usize, 3, 5, 16, 33] {
            let levers: Vec<usize> = (0..n).map(|i| 3 * i + 1).collect();
            for (i, &one) in levers.iter().enumerate() {
                for &other in &levers[i + 1..] {
                    let (found, tests) = searched(&levers, &[one, other], MAX_STARTS);
                    assert_eq!(found, Some(vec![one, other]), "of {n}");
                    let most = 2 * n.next_power_of_two().ilog2() + 2;
                    assert!(tests <= most, "{tests} tests for a pair of {n}");
                }
            }
        }
    }

    #[test]
    fn three_that_fail_only_together_are_found() {
        let levers: Vec<usize> = (0..64).collect();
        let (found, tests) = searched(&levers, &[5, 6, 60], MAX_STARTS);
        assert_eq!(found, Some(vec![5, 6, 60]));
        assert!(tests <= MAX_STARTS);
    }

    #[test]
    fn a_search_that_takes_too_long_blames_nobody() {
        let levers: Vec<usize> = (0..64).collect();
        let (found, tests) = searched(&levers, &levers, MAX_STARTS);
        assert_eq!((found, tests), (None, MAX_STARTS));
    }

    #[test]
    fn a_search_without_time_blames_nobody() {
        let levers: Vec<usize> = (0..20).collect();
        let mut tests = 0;
        let mut fails = |group: &[usize]| {
            tests += 1;
            Ok((tests < 4).then(|| group.contains(&7)))
        };
        let found = smallest_failing(&levers, &mut fails, MAX_STARTS).expect("works");
        assert_eq!((found, tests), (None, 4));
    }

    #[test]
    fn a_server_that_starts_every_other_time_ends_the_search() {
        let mut tests = 0;
        let mut fails = |_: &[usize]| {
            tests += 1;
            Ok(Some(tests % 2 == 0))
        };
        let levers: Vec<usize> = (0..20).collect();
        let found = smallest_failing(&levers, &mut fails, MAX_STARTS).expect("works");
        assert!(found.is_none_or(|found| found.iter().all(|index| levers.contains(index))));
        assert!(tests <= MAX_STARTS);
    }
}
