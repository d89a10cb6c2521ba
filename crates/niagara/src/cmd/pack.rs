//! `niagara pack`: a live server's traffic, data and configuration in one file, for another machine.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use clap::Args;
use niagara_capture::dropped::Cause;
use niagara_capture::file::{CaptureReader, Summary};
use niagara_capture::{CaptureError, Filter};
use niagara_error::{Remedy as _, anyhow, bail};
use niagara_lab::quantity::bytes;
use niagara_load::{Admin, counted};
use niagara_origin::configuration::{RunningConfig, running_config};
use niagara_origin::data::{DataKind, DataSource};
use niagara_origin::pack::{
    CAPTURE, CONFIG, DATA_FILE, DATA_FOLDER, DUMP, DatabaseSize, Dump, DumpLimits, DumpState,
    LeftOut, MANIFEST_FORMAT, MachineFacts, Manifest, PackWriter, PackedDatabase, ServerFacts,
    TablesElsewhere, checked_manifest, database_sizes, databases, dump_program, table_count,
    tables_elsewhere,
};
use niagara_origin::statistics::{ENDING, OptimizerStatistics, statistics_of};
use niagara_report::number::duration as in_words;
use niagara_server::Catalog;
use niagara_server::machine::Fingerprint;
use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};

use crate::agreement::agreed;
use crate::clock::clock;
use crate::cmd::bench::args::ConnectArgs;
use crate::cmd::bench::target::Target;
use crate::cmd::capture::{
    LimitArgs, NewFile, ReadingArgs, StartArgs, capture_on, interrupted, stop_flag, to_agree,
};
use crate::cmd::checkup::the_server;
use crate::command_line::VERSION;
use crate::ordinary_user::hand_to_caller;
use crate::progress::living_line;
use crate::shared_args::{EXIT_CODES, duration};

/// How often the dump is looked at.
const STEP: Duration = Duration::from_millis(50);
/// More tables than this are told: some servers open each to say its size.
const MANY_TABLES: u64 = 10_000;
/// Share of the data that a compressed dump takes, for the estimate.
const COMPRESSED: f64 = 0.5;

/// A live server's traffic, data and configuration in one file, for `niagara advise` and `tune` elsewhere
///
/// On the server's machine, as root or as the server's user: it reads the settings and the optimizer's statistics, dumps the
/// databases in one transaction at a bounded speed, captures all statements for a time, and packs all that into one file that only
/// you may read. It tells sizes and times and asks before it begins. The data are read only; the slow log's settings are changed
/// for the capture and set back (`niagara capture start --help`). Accounts, passwords and keys stay on the server. The file holds your customers' data.
#[derive(Debug, Args)]
#[command(after_help = EXIT_CODES)]
#[command(mut_arg("database", |arg| arg.hide(true)), mut_arg("replace", |arg| arg.hide(true)), mut_arg("yes", |arg| arg.help("Begin without asking; agrees to what `capture start --yes` does, too").long_help(None)))]
#[command(before_help = "Examples:
  sudo niagara pack                                  the server of this machine, 10 minutes
  sudo niagara pack /run/mysqld/mysqld.sock --schema shop --for 30m -o shop.niagara
  niagara pack --data /backup/shop --capture shop.capture    (made by hand before)
  niagara pack --show shop.niagara
  niagara advise shop.niagara                        (on the other machine; then tune)")]
pub struct PackArgs {
    /// Its socket or HOST:PORT [default: the server that runs on this machine]
    #[arg(value_name = "ADDRESS", conflicts_with_all = ["socket", "host"])]
    pub address: Option<String>,
    /// The pack to make
    #[arg(
        short,
        long,
        visible_alias = "out",
        value_name = "FILE",
        default_value = "shop.niagara"
    )]
    pub output: PathBuf,
    /// Say what is in a pack, and do nothing else
    #[arg(long, value_name = "PACK")]
    pub show: Option<PathBuf>,
    /// How long the traffic is captured
    #[arg(long = "for", value_name = "TIME", default_value = "10m", value_parser = duration)]
    pub length: Duration,
    /// Only these databases, comma-separated; the load is that of the first
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub schema: Vec<String>,
    /// Pack this backup or dump instead of making a dump; it has to be from just before the capture
    #[arg(long, value_name = "PATH")]
    pub data: Option<PathBuf>,
    /// Pack this capture instead of making one
    #[arg(long, value_name = "CAPTURE", requires = "data")]
    pub capture: Option<PathBuf>,
    /// Read the data no faster than this many bytes of dump a second
    #[arg(long, value_name = "BYTES", default_value = "32M", value_parser = bytes)]
    pub rate: u64,
    /// Longest dump, before compression
    #[arg(long, value_name = "BYTES", default_value = "50G", value_parser = bytes)]
    pub max_data: u64,
    /// The program that dumps [default: mariadb-dump or mysqldump of the PATH]
    #[arg(long, value_name = "PROGRAM")]
    pub dump_program: Option<PathBuf>,
    #[command(flatten)]
    pub limits: LimitArgs,
    #[command(flatten)]
    pub reading: ReadingArgs,
    #[command(flatten)]
    pub connect: ConnectArgs,
}

/// The statistics that go with the data.
enum Statistics {
    /// Of a dump that was made for the pack, or of one file that was there.
    Beside(&'static str, OptimizerStatistics),
    /// The account may not read them.
    Refused,
    /// Files of a data directory have them inside.
    Inside,
}

/// What is to be packed of a server, known before anything is begun.
struct Plan {
    server: ServerFacts,
    /// Whether another machine can fetch a server of this release.
    is_fetched: bool,
    config: RunningConfig,
    /// The databases that are packed.
    taken: Vec<DatabaseSize>,
    /// The names of those that stay.
    left: Vec<String>,
    /// Tables that stay, for a dump that could not be loaded with them.
    elsewhere: Vec<TablesElsewhere>,
    /// What its optimizer knows of them.
    statistics: Statistics,
}

pub fn run(mut args: PackArgs) -> Result<ExitCode> {
    if let Some(pack) = &args.show {
        return show(pack);
    }
    if args.output.exists() {
        bail!(
            "{} is there already", args.output.display();
            remedy: "name another file with --output"
        );
    }
    // Before anything is captured for it.
    let data = args.data.as_deref().map(DataSource::open).transpose()?;
    let (connect, naming) = the_server(args.address.as_deref(), args.connect)?;
    args.connect = connect;
    let mut target = Target::running(&args.connect, naming)?;
    let plan = plan(&args, data.map(|data| data.kind), &mut target)?;
    tell_plan(&args, &plan);
    check_room(&args, &plan)?;
    if args.capture.is_none() {
        let (told, admin) = to_agree(args.limits.log_file.as_deref(), target.admin)?;
        target.admin = admin;
        for reason in told {
            tell!("note: {reason}");
        }
    }
    agreed(args.connect.yes)?;
    // That was about the notes, too.
    args.connect.yes = true;
    let place = PartFolder::beside(&args.output)?;
    pack(args, plan, target, &place)
}

/// What the server has, and what of it is wanted.
fn plan(args: &PackArgs, data: Option<DataKind>, target: &mut Target) -> Result<Plan> {
    let address = target.endpoint.transport.to_string();
    let config = running_config(
        &mut target.admin,
        &address,
        Some(&target.endpoint.transport),
    )?;
    let text = |admin: &mut Admin, sql: &str| -> Result<String> {
        Ok(admin.value(sql)?.unwrap_or_default())
    };
    let server = ServerFacts {
        version: text(&mut target.admin, "SELECT VERSION()")?,
        comment: text(&mut target.admin, "SELECT @@version_comment")?,
    };
    let catalog = Catalog::load(&[])?;
    let is_fetched = server
        .name_in_catalog()
        .is_ok_and(|name| catalog.get(&name).is_ok());
    let all = databases(&mut target.admin)?;
    if let Some(missing) = args.schema.iter().find(|name| !all.contains(name)) {
        bail!(
            "the server has no database {missing} that this account sees";
            remedy: "--schema with one of: {}", all.join(", ")
        );
    }
    let is_wanted = |name: &String| args.schema.is_empty() || args.schema.contains(name);
    let (names, left): (Vec<_>, Vec<_>) = all.into_iter().partition(is_wanted);
    if names.is_empty() {
        bail!(
            "the server has no database that this account sees";
            remedy: "an account with SELECT on the data, by --user; or wait until there are data"
        );
    }
    let taken: Vec<DatabaseSize> = match args.data {
        // Whatever these data have, the server is not asked about it.
        Some(_) => names.iter().map(|name| unasked(name)).collect(),
        None => sizes(&mut target.admin, &names)?,
    };
    let bytes: u64 = taken.iter().map(|one| one.bytes).sum();
    if args.data.is_none() && bytes > args.max_data {
        bail!(
            "the databases have {} MB, more than --max-data allows ({} MB)", bytes >> 20, args.max_data >> 20;
            remedy: "--schema for fewer, --max-data for more, or --data for a backup"
        );
    }
    let elsewhere = match args.data {
        // What these data have was decided before.
        Some(_) => Vec::new(),
        None => tables_elsewhere(&mut target.admin, &names, &left)?,
    };
    let statistics = statistics(data, &mut target.admin, &server.version, &names)?;
    Ok(Plan {
        server,
        is_fetched,
        config,
        taken,
        left,
        elsewhere,
        statistics,
    })
}

/// The statistics of these databases, where the data are a dump.
fn statistics(
    data: Option<DataKind>,
    admin: &mut Admin,
    version: &str,
    names: &[String],
) -> Result<Statistics> {
    let member = match data {
        None => DUMP,
        Some(DataKind::Dump) => DATA_FILE,
        Some(_) => return Ok(Statistics::Inside),
    };
    Ok(match statistics_of(admin, version, names) {
        Ok(found) => Statistics::Beside(member, found),
        Err(error) if error.server_code().is_some() => Statistics::Refused,
        Err(error) => return Err(error.into()),
    })
}

/// A database whose size nobody needs.
fn unasked(name: &str) -> DatabaseSize {
    DatabaseSize {
        name: name.to_owned(),
        ..DatabaseSize::default()
    }
}

/// How large these databases are; tells beforehand where that is much to ask.
fn sizes(admin: &mut Admin, names: &[String]) -> Result<Vec<DatabaseSize>> {
    let tables = table_count(admin, names)?;
    if tables > MANY_TABLES {
        tell!(
            "asking for the sizes of {tables} tables, which some servers open for that: --schema for fewer"
        );
    }
    database_sizes(admin, names)
}

impl Plan {
    fn bytes(&self) -> u64 {
        self.taken.iter().map(|one| one.bytes).sum()
    }

    /// The database of the load: the first that was named, the only one, or the largest.
    fn schema(&self, named: &[String]) -> Option<String> {
        let largest = self.taken.iter().max_by_key(|one| one.bytes);
        named
            .first()
            .cloned()
            .or_else(|| largest.map(|one| one.name.clone()))
    }

    fn left_out(&self) -> Vec<LeftOut> {
        let databases = self
            .left
            .iter()
            .map(|name| LeftOut::Database { name: name.clone() });
        let unstable = self.taken.iter().filter(|one| one.unstable > 0);
        let unstable = unstable.map(|one| LeftOut::UnstableTables {
            database: one.name.clone(),
            tables: one.unstable,
        });
        let elsewhere = self.elsewhere.iter().cloned();
        databases
            .chain(elsewhere.map(LeftOut::TablesElsewhere))
            .chain(unstable)
            .chain([LeftOut::Accounts])
            .chain(matches!(self.statistics, Statistics::Refused).then_some(LeftOut::Statistics))
            .chain(LeftOut::secrets(&self.config))
            .collect()
    }
}

fn tell_plan(args: &PackArgs, plan: &Plan) {
    let ServerFacts { version, comment } = &plan.server;
    tell!("{version} ({comment})");
    if let Some(data) = &args.data {
        tell!("data: {}, read only", data.display());
        tell!("a backup of files has the accounts with their password hashes");
    } else {
        let seconds = plan.bytes() as f64 / args.rate as f64;
        let names: Vec<String> = plan
            .taken
            .iter()
            .map(|one| format!("{} ({:.1} MB)", one.name, one.bytes as f64 / 1e6))
            .collect();
        tell!("data: a dump of {}", names.join(", "));
        tell!(
            "      about {} at {} MB a second, in one transaction, {} at most",
            in_words(seconds.max(1.0)),
            args.rate >> 20,
            clock(args.limits.max_time)
        );
        tell!(
            "      meanwhile the server keeps old versions of changed rows; keep ALTER TABLE for later"
        );
        for waits in plan.taken.iter().filter_map(|one| waits(one, args.rate)) {
            tell!("      {waits}");
        }
    }
    match &args.capture {
        Some(capture) => tell!("traffic: {}", capture.display()),
        None => tell!(
            "traffic: every statement for {}, {} MB of log at most; settings of the slow log are set back",
            clock(args.length),
            args.limits.max_size >> 20
        ),
    }
    for left in plan.left_out() {
        tell!("not in it: {left}");
    }
    if !plan.is_fetched {
        let [advise, tune] = commands_there(plan.is_fetched, &file_name(&args.output));
        tell!(
            "other machine: Niagara cannot fetch this release there; install it at PATH, then: {advise}, {tune}"
        );
    }
    if args.capture.is_none() && args.limits.log_file.is_none() {
        tell!(
            "disk: up to {} MB for the log, in the server's data directory until the end",
            args.limits.max_size >> 20
        );
    }
    if args.data.is_none() {
        tell!(
            "disk: about {:.0} MB for {}",
            (plan.bytes() as f64 * COMPRESSED / 1e6).max(1.0),
            args.output.display()
        );
    }
}

/// Refuses a disk that is too full for the dump: said after the capture, that would be lost.
fn check_room(args: &PackArgs, plan: &Plan) -> Result<()> {
    let output = std::path::absolute(&args.output)?;
    let folder = output.parent().unwrap_or(Path::new("/"));
    let disk = nix::sys::statvfs::statvfs(folder)
        .with_context(|| format!("cannot tell the free space of {}", folder.display()))
        .remedy("name a file in another folder by --output")?;
    let free = disk.blocks_available() * disk.fragment_size();
    let needed = match args.data {
        Some(_) => 0,
        None => (plan.bytes() as f64 * COMPRESSED) as u64,
    };
    if free < needed + args.limits.min_free {
        bail!(
            "{} has {} MB free; the pack takes about {} MB, and {} MB are to stay free",
            folder.display(), free >> 20, needed >> 20, args.limits.min_free >> 20;
            remedy: "name a file on another disk by --output, or --min-free for less"
        );
    }
    Ok(())
}

/// Whose writers a dump of this database keeps waiting: only a transaction reads a table without a lock.
fn waits(database: &DatabaseSize, rate: u64) -> Option<String> {
    let seconds = database.largest_unstable as f64 / rate.max(1) as f64;
    (database.unstable > 0).then(|| {
        format!(
            "writes to {} of {} ({}) wait while each is read, up to about {}, and what reads it then waits behind them; \
             a backup (--data) keeps nobody waiting",
            counted(database.unstable, "table"),
            database.name,
            database.unstable_engines,
            in_words(seconds.max(1.0))
        )
    })
}

/// A folder of work beside the pack, of this user alone; it goes in the end.
struct PartFolder {
    folder: PathBuf,
    /// Held while somebody works there: the number of a process would not tell that to another container.
    _lock: Option<Flock<File>>,
}

/// The file in the folder that is locked.
const LOCK: &str = "lock";

impl PartFolder {
    fn beside(output: &Path) -> Result<Self> {
        let output = std::path::absolute(output)?;
        let beginning = format!(".{}.part-", file_name(&output));
        remove_left(output.parent().unwrap_or(Path::new("/")), &beginning);
        let folder = output.with_file_name(format!("{beginning}{}", std::process::id()));
        niagara_server::create_private(&folder)
            .context("the pack is made there")
            .remedy("name a file in another folder by --output")?;
        let lock = OpenOptions::new()
            .append(true)
            .create(true)
            .open(folder.join(LOCK))
            .context("the pack is made there")?;
        let lock = match Flock::lock(lock, FlockArg::LockExclusiveNonblock) {
            Ok(lock) => Some(lock),
            // Two containers may count their processes alike.
            Err((_, Errno::EWOULDBLOCK)) => bail!(
                "another pack is being made in {}", folder.display();
                remedy: "name another file by --output"
            ),
            // Without locks in the file system nobody ever takes it for left behind.
            Err(_) => None,
        };
        Ok(Self {
            folder,
            _lock: lock,
        })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }
}

impl Drop for PartFolder {
    fn drop(&mut self) {
        // What is left of it is told by its name.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Removes what packs of this name have left that were killed: it has customers' data, and the password until a dump has begun.
fn remove_left(beside: &Path, beginning: &str) {
    let user = nix::unistd::geteuid().as_raw();
    // One that is not there yet is made.
    for entry in fs::read_dir(beside).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let is_one = name.to_string_lossy().starts_with(beginning)
            && entry
                .metadata()
                .is_ok_and(|found| found.is_dir() && found.uid() == user);
        let folder = entry.path();
        if is_one
            && let Ok(lock) = OpenOptions::new().append(true).open(folder.join(LOCK))
            && let Ok(_held) = Flock::lock(lock, FlockArg::LockExclusiveNonblock)
            && fs::remove_dir_all(&folder).is_ok()
        {
            tell!(
                "removed {}, left by a pack that was killed",
                folder.display()
            );
        }
    }
}

fn pack(args: PackArgs, plan: Plan, target: Target, place: &PartFolder) -> Result<ExitCode> {
    let began = jiff::Timestamp::now().as_second();
    let stop = stop_flag("stopping: nothing is packed")?;
    let part = place.path("pack");
    let writer = PackWriter::create(&part)?;
    let output = args.output.clone();
    let manifest = Manifest {
        format: MANIFEST_FORMAT,
        niagara: VERSION.to_owned(),
        began,
        server: plan.server.clone(),
        machine: machine(&place.folder),
        schema: match args.data.is_some() && args.schema.is_empty() && plan.taken.len() > 1 {
            // Which of them the data have is not known here.
            true => None,
            false => plan.schema(&args.schema),
        },
        databases: plan
            .taken
            .iter()
            .filter(|_| args.data.is_none())
            .map(|one| PackedDatabase {
                name: one.name.clone(),
                bytes: one.bytes,
            })
            .collect(),
        left_out: plan.left_out(),
        members: Vec::new(),
    };
    let config = serde_json::to_vec_pretty(&plan.config)?;
    let Some((mut writer, code)) =
        with_data_and_traffic(args, &plan, target, place, writer, &stop)?
    else {
        return Ok(interrupted());
    };
    writer.member(CONFIG, |out| Ok(out.write_all(&config)?))?;
    if let Statistics::Beside(member, statistics) = &plan.statistics {
        let text = serde_json::to_vec(statistics)?;
        writer.member(
            &format!("{member}{ENDING}"),
            |out| Ok(out.write_all(&text)?),
        )?;
    }
    let bytes = writer.finish(manifest)?;
    hand_to_caller(&part)?;
    fs::rename(&part, &output).with_context(|| format!("cannot write {}", output.display()))?;
    say!(
        "{}: {:.1} MB, readable by you only",
        output.display(),
        bytes as f64 / 1e6
    );
    let [advise, tune] = commands_there(plan.is_fetched, &file_name(&output));
    say!("Copy it to another machine; there: {advise}, and, if it is like this one, {tune}");
    Ok(code)
}

fn file_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

/// The commands for the other machine. They name a server's path where none can be fetched.
fn commands_there(is_fetched: bool, pack: &str) -> [String; 2] {
    match is_fetched {
        true => [
            format!("niagara advise {pack}"),
            format!("niagara tune {pack}"),
        ],
        false => [
            format!("niagara advise {pack} --server PATH"),
            format!("niagara tune PATH --pack {pack}"),
        ],
    }
}

/// The writer with capture and data; none where it was stopped.
fn with_data_and_traffic(
    args: PackArgs,
    plan: &Plan,
    target: Target,
    place: &PartFolder,
    mut writer: PackWriter,
    stop: &AtomicBool,
) -> Result<Option<(PackWriter, ExitCode)>> {
    let traffic = place.path(CAPTURE);
    let schemas = args.schema.clone();
    let Some(data) = args.data.clone() else {
        let dump = dump(&args, plan, &target, place)?;
        let state = DumpState::default();
        return std::thread::scope(|scope| {
            let job = scope.spawn(|| dump.write(&mut writer, &state).map(|()| writer));
            let _stopped = StopOnDrop(&state);
            wait_for_beginning(&job, &state, stop);
            if job.is_finished() && !state.has_begun() {
                ended(job)?;
                bail!(
                    "the dump has no database";
                    remedy: "look at what the program writes: {}", dump.program.display()
                );
            }
            let code = match stop.load(Ordering::Relaxed) {
                true => interrupted(),
                false => capture_traffic(args, target, &traffic)?,
            };
            if code != interrupted() {
                wait_for_end(&job, &state, plan.bytes(), stop);
            }
            if stop.load(Ordering::Relaxed) || code == interrupted() {
                state.stop();
                // It says that it was stopped.
                let _ = ended(job);
                return Ok(None);
            }
            let mut writer = ended(job)?;
            writer.file(CAPTURE, &packed_traffic(&traffic, &schemas, place)?)?;
            Ok(Some((writer, code)))
        });
    };
    let (captured, code) = match &args.capture {
        Some(capture) => {
            CaptureReader::open(capture)?;
            (capture.clone(), ExitCode::SUCCESS)
        }
        None => {
            let code = capture_traffic(args, target, &traffic)?;
            (traffic, code)
        }
    };
    if code == interrupted() {
        return Ok(None);
    }
    let data = DataSource::open(&data)?.path;
    match data.is_dir() {
        true => writer.folder(DATA_FOLDER, &data)?,
        false => writer.file(DATA_FILE, &data)?,
    }
    writer.file(CAPTURE, &packed_traffic(&captured, &schemas, place)?)?;
    Ok(Some((writer, code)))
}

/// A dump whose thread is waited for is told to end, however the waiting ends.
struct StopOnDrop<'a>(&'a DumpState);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.stop();
    }
}

type DumpJob<'scope> = std::thread::ScopedJoinHandle<'scope, Result<PackWriter>>;

fn ended(job: DumpJob<'_>) -> Result<PackWriter> {
    job.join()
        .map_err(|_| anyhow!("the thread of the dump is lost"))?
}

fn wait_for_beginning(job: &DumpJob<'_>, state: &DumpState, stop: &AtomicBool) {
    while !state.has_begun() && !job.is_finished() && !stop.load(Ordering::Relaxed) {
        std::thread::sleep(STEP);
    }
}

fn wait_for_end(job: &DumpJob<'_>, state: &DumpState, expected: u64, stop: &AtomicBool) {
    let (bar, live) = living_line();
    if !live && !job.is_finished() {
        tell!("the dump is not at its end yet");
    }
    let began = Instant::now();
    while !job.is_finished() && !stop.load(Ordering::Relaxed) {
        bar.set_message(format!(
            "dumping · {} · {:.1} of about {:.1} MB",
            clock(began.elapsed()),
            state.bytes() as f64 / 1e6,
            expected as f64 / 1e6
        ));
        std::thread::sleep(STEP);
    }
    bar.finish_and_clear();
}

fn dump(args: &PackArgs, plan: &Plan, target: &Target, place: &PartFolder) -> Result<Dump> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    Ok(Dump {
        program: match &args.dump_program {
            Some(program) => program.clone(),
            None => dump_program(plan.server.version.contains("MariaDB"), &path)?,
        },
        endpoint: target.endpoint.clone(),
        databases: plan.taken.iter().map(|one| one.name.clone()).collect(),
        without: plan
            .elsewhere
            .iter()
            .flat_map(TablesElsewhere::names)
            .collect(),
        limits: DumpLimits {
            rate: args.rate,
            bytes: args.max_data,
            time: args.limits.max_time,
            free: args.limits.min_free,
        },
        folder: place.folder.clone(),
    })
}

/// Captures as `niagara capture start --for` does.
fn capture_traffic(args: PackArgs, target: Target, to: &Path) -> Result<ExitCode> {
    let start = StartArgs {
        length: Some(args.length),
        output: NewFile {
            output: to.to_owned(),
            force: true,
            for_pack: true,
        },
        limits: args.limits,
        reading: args.reading,
        keep_log: false,
        connect: args.connect,
    };
    let code = capture_on(&start, target)?;
    if code != interrupted() && CaptureReader::open(to)?.summary().statements == 0 {
        bail!(
            "no statement was captured, and nothing is packed: connections from before a capture are not in it";
            remedy: "restart the application's pool while `niagara pack` captures, or pack at a busier time, or for longer"
        );
    }
    Ok(code)
}

/// The capture without what the dump itself has read and, where databases are named, without what is sent in others: a pack has no
/// data of these, so that a replay could not even log in there, and their statements have other people's values.
fn packed_traffic(capture: &Path, schemas: &[String], place: &PartFolder) -> Result<PathBuf> {
    let to = place.path("filtered.capture");
    let wanted = Filter {
        databases: schemas.to_vec(),
        without_database: true,
        without_dumps: true,
        ..Filter::default()
    };
    let kept = niagara_capture::filter(capture, &to, true, &wanted, &AtomicBool::new(false));
    let kept = match kept {
        Err(CaptureError::NothingKept(_)) => {
            let place = match schemas.is_empty() {
                true => "beside those of dumps".to_owned(),
                false => format!("in {}", schemas.join(", ")),
            };
            bail!(
                "no statement was captured {place}, and nothing is packed";
                remedy: "name the database that the application logs in to, by --schema; niagara checkup shows where the time goes"
            );
        }
        kept => kept?,
    };
    let filtered = |summary: &Summary| summary.dropped.count(Cause::Filtered);
    if filtered(&kept) == filtered(CaptureReader::open(capture)?.summary()) {
        return Ok(capture.to_owned());
    }
    Ok(to)
}

fn machine(folder: &Path) -> MachineFacts {
    let machine = Fingerprint::read(folder);
    MachineFacts {
        cpu: machine.cpu.model.clone(),
        cpus: u32::try_from(machine.usable_cpus()).unwrap_or(u32::MAX),
        memory: machine.usable_memory(),
    }
}

fn show(pack: &Path) -> Result<ExitCode> {
    let manifest = checked_manifest(pack)?;
    let began = jiff::Timestamp::from_second(manifest.began).context("the time of the pack")?;
    // MySQL's packages have the parentheses in it.
    let comment = manifest.server.comment.trim_matches(['(', ')']);
    say!("{} ({comment})", manifest.server.version);
    say!(
        "{}, {}, {} MB of memory",
        manifest.machine.cpu,
        counted(u64::from(manifest.machine.cpus), "CPU"),
        manifest.machine.memory >> 20
    );
    say!("Packed at {began} by Niagara {}", manifest.niagara);
    if let Some(schema) = &manifest.schema {
        say!("Load in database {schema}");
    }
    for database in &manifest.databases {
        say!(
            "Database {}: {:.1} MB",
            database.name,
            database.bytes as f64 / 1e6
        );
    }
    for member in &manifest.members {
        say!("{:<30}{:>12.3} MB", member.name, member.bytes as f64 / 1e6);
    }
    for left in &manifest.left_out {
        say!("Not in it: {left}");
    }
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writers_that_wait_are_told_and_for_how_long() {
        let mut database = DatabaseSize {
            name: "shop".to_owned(),
            bytes: 1 << 40,
            ..DatabaseSize::default()
        };
        assert_eq!(waits(&database, 32 << 20), None);
        database.unstable = 2;
        database.largest_unstable = 40 * (32 << 20);
        database.unstable_engines = "Aria, MyISAM".to_owned();
        let told = waits(&database, 32 << 20).expect("writers wait");
        for words in [
            "2 tables of shop (Aria, MyISAM)",
            &in_words(40.0)[..],
            "--data",
        ] {
            assert!(told.contains(words), "no {words} in {told}");
        }
    }

    #[test]
    fn what_a_killed_pack_has_left_is_removed() {
        let place = tempfile::tempdir().expect("a folder");
        let output = place.path().join("shop.niagara");
        let left = |name: &str| {
            let folder = place.path().join(name);
            fs::create_dir(&folder).expect("a folder");
            fs::write(folder.join("client.cnf"), "password=secret").expect("written");
            fs::write(folder.join(LOCK), "").expect("written");
            folder
        };
        let killed = left(".shop.niagara.part-1");
        let others = left(".other.niagara.part-1");
        let at_work = left(".shop.niagara.part-2");
        let lock = File::open(at_work.join(LOCK)).expect("a file");
        let _held = Flock::lock(lock, FlockArg::LockExclusiveNonblock).expect("nobody's");
        let part = PartFolder::beside(&output).expect("a folder");
        assert!(!killed.exists());
        assert!(others.exists() && at_work.exists() && part.folder.exists());
    }
}
