//! The user's data as a dataset image: brought in once, started once, put to sleep, shut down cleanly; clones are made of
//! it as of every image.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::Path;

use anyhow::{Context, Result};
use niagara_error::{Explain as _, Remedy as _, bail};
use niagara_server::{
    Cache, Cancel, Config, Copying, Image, ImageContent, ImageStore, Install, Making,
    RunningServer, StartFailed, copy_tree, keep_options, settle,
};

use super::asleep::{databases, options, put_to_sleep};
use super::backup::{is_partial, is_tools};
use super::digest::files_below;
use super::elsewhere::refuse_files_outside;
use super::load::load;
use super::progress::Progress;
use super::source::DataSource;
use super::system_tables;
use super::unreadable::unreadable;
use crate::configuration::same_value;
use crate::statistics::{OptimizerStatistics, bring as bring_statistics};

/// Bytes of a dump up to which the usual redo log is large enough; compressed ones are some ten times as large when they are loaded.
const SMALL_DUMP: u64 = 16 << 20;
/// Files at the top of a data directory that are the original's alone.
const ITS_OWN: [&str; 12] = [
    "auto.cnf",
    "mysqld-auto.cnf",
    "master.info",
    "relay-log.info",
    "multi-master.info",
    "ibtmp1",
    "#innodb_temp",
    "lost+found",
    "niagara-account.json",
    "galera.cache",
    "grastate.dat",
    "gvwstate.dat",
];
/// Endings of such files.
const ITS_OWN_ENDINGS: [&str; 7] = [
    // Keys and certificates: a server makes its own.
    ".pem",
    ".pid",
    ".sock",
    ".sock.lock",
    ".err",
    "-slow.log",
    "slow.log",
];
/// What a server says that would not decide on its own about transactions that a crash left prepared.
const UNDECIDED: &str = "tc-heuristic-recover";
/// What MySQL says of data that it was told another `lower_case_table_names` for than they were made with; theirs follows.
const OTHER_NAMES: &str = "and data dictionary ('";
/// The variable of InnoDB's page size, and what it is where nobody says it.
const PAGE_SIZE: &str = "innodb_page_size";
const USUAL_PAGE_SIZE: &str = "16384";
/// The option that plugins are loaded by.
const PLUGINS: &str = "plugin_load_add";
/// The engine of tables that name none.
const ENGINE: &str = "InnoDB";
/// Bytes of free disk beyond the data themselves: redo log, temporary tables.
const SPARE: u64 = 1 << 30;

/// The image of `source` for `install`, made where it is not there yet; `layout` are the start's variables that decide how
/// data are laid out, and the plugins that its tables may need.
///
/// # Errors
/// The data do not fit the server; the disk is full; a server that does not start on them; a stop that was asked for.
pub fn image_of(
    cache: &Cache,
    install: &Install,
    source: &DataSource,
    layout: &Config,
    cancel: &Cancel,
    tell: &mut dyn FnMut(&str),
) -> Result<Image> {
    source.check_fits(install)?;
    let mut layout = layout.clone();
    let plugins = layout.remove_entry(PLUGINS);
    check_page_size(source, &layout)?;
    // What the files are is no matter of opinion.
    layout.extend(source.layout.clone());
    ImageStore::new(cache).laid_out(&layout).ensure_made(
        install,
        &format!("data {}", source.digest),
        ENGINE,
        tell,
        &mut |making, tell| {
            source.check_unchanged()?;
            let mut without = Vec::new();
            let server = if source.is_physical() {
                bring(
                    making,
                    source,
                    (&layout, &plugins),
                    cancel,
                    tell,
                    &mut without,
                )?
            } else {
                fill(making, source, cancel, tell, &mut without)?
            };
            // What was written to meanwhile may be half of the one and half of the other.
            source.check_unchanged()?;
            refuse_files_outside(&server, install)?;
            if source.is_physical() {
                tell("private copy: opening every table");
                without.extend(unreadable(&server, cancel)?);
            }
            if is_partial(&source.path) {
                without.push(
                    "the backup is a partial one, of some of the original's tables".to_owned(),
                );
            }
            tell("private copy: accounts, events and replication disabled");
            without.extend(put_to_sleep(&server, install)?);
            let databases = databases(&server)?;
            if databases.is_empty() {
                bail!("{} has no database of its own", source.title());
            }
            server.keep_account()?;
            tell("private copy: purge, clean shutdown");
            server.stop()?;
            Ok(ImageContent { databases, without })
        },
    )
}

/// Refuses a configuration that wants pages of another size than the files have.
fn check_page_size(source: &DataSource, config: &Config) -> Result<()> {
    let Some(said) = config.get(PAGE_SIZE).filter(|_| source.is_physical()) else {
        return Ok(());
    };
    let there = source.layout.get(PAGE_SIZE);
    let there = there.map_or(USUAL_PAGE_SIZE, String::as_str);
    if !same_value(said, there) {
        bail!(
            "the {} has pages of {there} bytes, and the configuration says {PAGE_SIZE} = {said}: they are not of the same server",
            source.title();
            remedy: "the option file of the server that the data are of; a dump is loaded into pages of any size"
        );
    }
    Ok(())
}

/// Copies the files and starts a server on them, with its system tables as it has them; what was done is added in words.
fn bring(
    making: &Making<'_>,
    source: &DataSource,
    (layout, plugins): (&Config, &Option<(String, String)>),
    cancel: &Cancel,
    tell: &mut dyn FnMut(&str),
    told: &mut Vec<String>,
) -> Result<RunningServer> {
    let files = files_below(&source.path)?;
    let total: u64 = files.iter().map(|(_, metadata)| metadata.len()).sum();
    check_room(making.work, total)?;
    let mut bringing = Bringing {
        logs: binary_logs(&source.path)?,
        progress: Progress::of("copying the data:", total, tell),
        done: 0,
        cancel,
    };
    copy_tree(&source.path, &making.datadir(), &mut bringing)?;
    cancel.check()?;
    make_writable(&making.datadir())?;
    let mut kept = layout.clone();
    kept.extend(options(making.install));
    keep_options(&making.datadir(), &kept)?;
    tell("starting a server on the copy");
    let mut further = Config::from([("skip_log_bin".to_owned(), String::new())]);
    further.extend(plugins.clone());
    let started = making.launch(&further).or_else(|error| {
        let Some(failed) = error.find::<StartFailed>() else {
            return Err(error);
        };
        // It is in MySQL's data dictionary, which only a server reads.
        if let Some(number) = lower_case_table_names(&failed.log) {
            kept.insert("lower_case_table_names".to_owned(), number.to_owned());
            keep_options(&making.datadir(), &kept)?;
            return making.launch(&further);
        }
        if !failed.log.contains(UNDECIDED) {
            return Err(error);
        }
        // A snapshot of a running server: what was prepared and not yet in the binary log is rolled back. The server ends
        // when that is done.
        let mut decide = further.clone();
        decide.insert("tc_heuristic_recover".to_owned(), "ROLLBACK".to_owned());
        let _ = making.launch(&decide);
        making.launch(&further)
    });
    // What fails after a stop is no damage of the data.
    cancel.check()?;
    let server = started
        .with_context(|| format!("no server started on a copy of the {}", source.title()))
        .remedy(
            "where its log speaks of another version, take that version; \
             where it speaks of damage, take a backup or a dump",
        )?;
    if !source.is_older_mariadb(making.install) {
        return Ok(server);
    }
    tell("upgrading the system tables");
    let changed = system_tables::upgrade(&server, making.install)?;
    if changed.is_empty() {
        return Ok(server);
    }
    told.extend(changed);
    // It has found events and accounts in tables that it did not understand.
    server.stop()?;
    making.launch(&further)
}

/// The `lower_case_table_names` of the data, where the server says that its own is another one.
fn lower_case_table_names(log: &str) -> Option<&str> {
    let (_, rest) = log.split_once(OTHER_NAMES)?;
    let (number, _) = rest.split_once('\'')?;
    Some(number)
}

/// Loads the statements into an empty server; what it goes `without` is added in words.
fn fill(
    making: &Making<'_>,
    source: &DataSource,
    cancel: &Cancel,
    tell: &mut dyn FnMut(&str),
    without: &mut Vec<String>,
) -> Result<RunningServer> {
    tell("making an empty data directory");
    making.initialise()?;
    keep_options(&making.datadir(), &options(making.install))?;
    let set = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let mut fast = Config::from([
        // It would gather statistics behind those that are brought.
        set("loose_innodb_stats_auto_recalc", "OFF"),
        set("skip_log_bin", ""),
        set("max_allowed_packet", "1G"),
        set("loose_innodb_doublewrite", "OFF"),
        set("event_scheduler", "OFF"),
        // What triggers and routines of a dump are made by is not asked for.
        set("log_bin_trust_function_creators", "ON"),
    ]);
    // A redo log is as large in every image and clone as it was once: a small dump has no use for it.
    if bytes_of(&source.path)? > SMALL_DUMP {
        let redo_log = match making.install.family.is_mariadb() {
            true => "loose_innodb_log_file_size",
            false => "loose_innodb_redo_log_capacity",
        };
        fast.extend([set(redo_log, "1G")]);
    }
    let server = making.launch(&fast)?;
    without.extend(load(&server, making.install, source, cancel, tell)?);
    tell("statistics of the tables");
    settle(&server)?;
    if let Some(statistics) = OptimizerStatistics::beside(&source.path)? {
        tell("statistics of the tables, as the server had them");
        without.extend(bring_statistics(&server, making.install, &statistics)?);
    }
    Ok(server)
}

/// Bytes of a dump: of a file, or of the files in a folder.
fn bytes_of(path: &Path) -> Result<u64> {
    if path.is_dir() {
        let files = files_below(path)?;
        return Ok(files.iter().map(|(_, metadata)| metadata.len()).sum());
    }
    let metadata = std::fs::metadata(path);
    let metadata = metadata.with_context(|| format!("cannot read {}", path.display()))?;
    Ok(metadata.len())
}

fn check_room(work: &Path, needed: u64) -> Result<()> {
    let disk = nix::sys::statvfs::statvfs(work)
        .with_context(|| format!("cannot tell the free space of {}", work.display()))?;
    let free = disk.blocks_available() * disk.fragment_size();
    // A duel has two clones besides; where the file system shares extents they take next to nothing.
    if free < needed + SPARE {
        bail!(
            "the data are {} MB, and {} MB are free where images are kept ({})",
            needed >> 20,
            free >> 20,
            work.display();
            remedy: "make room, or name a folder on another disk in NIAGARA_CACHE"
        );
    }
    Ok(())
}

/// Copies what belongs to the data, and tells how far it is.
struct Bringing<'p> {
    /// Files of binary logs and relay logs.
    logs: BTreeSet<String>,
    progress: Progress<'p>,
    done: u64,
    cancel: &'p Cancel,
}

impl Copying for Bringing<'_> {
    fn takes(&mut self, path: &Path) -> bool {
        let name = path.to_string_lossy();
        let is_top = path.components().count() == 1;
        let its_own = ITS_OWN.contains(&&*name)
            || ITS_OWN_ENDINGS.iter().any(|ending| name.ends_with(ending))
            || (name.starts_with("relay-log") && name.ends_with(".info"))
            || (name.starts_with("master-") && name.ends_with(".info"));
        !(is_top && (its_own || is_tools(&name) || self.logs.contains(&*name)))
    }

    fn copied(&mut self, bytes: u64) -> io::Result<()> {
        self.done += bytes;
        self.progress.at(self.done);
        match self.cancel.is_cancelled() {
            true => Err(io::Error::other("stopped on request")),
            false => Ok(()),
        }
    }
}

/// The files that the indexes of binary logs and relay logs at the top of the folder name, and the indexes.
fn binary_logs(folder: &Path) -> Result<BTreeSet<String>> {
    let mut logs = BTreeSet::new();
    for entry in
        fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?
    {
        let path = entry?.path();
        if path.extension().is_none_or(|ending| ending != "index") {
            continue;
        }
        let text = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let named = String::from_utf8_lossy(&text)
            .lines()
            .filter_map(|line| Some(Path::new(line).file_name()?.to_string_lossy().into_owned()))
            .collect::<Vec<_>>();
        logs.extend(named);
        logs.extend(
            path.file_name()
                .map(|name| name.to_string_lossy().into_owned()),
        );
    }
    // Positions of MariaDB's logs.
    let states: Vec<String> = logs
        .iter()
        .filter_map(|name| Some(format!("{}.state", name.strip_suffix(".index")?)))
        .collect();
    logs.extend(states);
    Ok(logs)
}

/// A backup may be read-only; its copy is written to.
fn make_writable(folder: &Path) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    for (path, metadata) in files_below(folder)? {
        let mode = metadata.permissions().mode();
        if mode & 0o600 != 0o600 {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode | 0o600))
                .with_context(|| format!("cannot make {} writable", path.display()))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use niagara_error::Explain as _;

    use super::super::source::DataKind;
    use super::*;

    #[test]
    fn a_configuration_of_another_page_size_is_refused() {
        let source = |kind, size: Option<&str>| DataSource {
            path: "/backup/shop".into(),
            kind,
            digest: String::new(),
            made_by: None,
            written_by: None,
            layout: size
                .map(|size| (PAGE_SIZE.to_owned(), size.to_owned()))
                .into_iter()
                .collect(),
            persisted: None,
        };
        let check = |said: &str, source: DataSource| {
            check_page_size(
                &source,
                &Config::from([(PAGE_SIZE.to_owned(), said.to_owned())]),
            )
            .map_err(|error| error.explain().to_string())
        };
        let backup = |size| source(DataKind::Backup, size);
        assert_eq!(check("16k", backup(None)), Ok(()));
        assert_eq!(check("4K", backup(Some("4096"))), Ok(()));
        assert_eq!(check("4K", source(DataKind::Dump, None)), Ok(()));
        for (said, there) in [("4k", None), ("16384", Some("4096"))] {
            let told = check(said, backup(there)).expect_err("of two servers");
            assert!(
                told.contains(said)
                    && told.contains(there.unwrap_or("16384"))
                    && told.contains("remedy"),
                "{told}"
            );
        }
    }
}
