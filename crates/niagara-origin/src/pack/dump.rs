//! A dump of a running server in one transaction, at a bounded speed, by its vendor's own program.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use memchr::memmem;
use niagara_error::{Remedy as _, anyhow, bail};
use niagara_load::{Endpoint, Transport};
use niagara_server::Helper;
use nix::sys::signal::{Signal, kill};
use nix::sys::statvfs::statvfs;
use nix::unistd::Pid;

use super::{DUMP, PackWriter};

/// What a dump has written before the first table, once its transaction has begun.
const BEGUN: &[u8] = b"-- Current Database:";
/// How much is read at once.
const PIECE: usize = 64 << 10;
/// How often the free space is looked at, in bytes.
const LOOK: u64 = 16 << 20;
/// How much lost time is made up for: that of sleeping longer than asked, not that of a lock.
const MADE_UP: Duration = Duration::from_millis(100);
/// How much of what the program says of itself is kept.
const MAX_MESSAGE: u64 = 64 << 10;

/// What a dump may take.
#[derive(Debug, Clone, Copy)]
pub struct DumpLimits {
    /// Bytes of text a second.
    pub rate: u64,
    /// Bytes of text in all.
    pub bytes: u64,
    /// Time in all.
    pub time: Duration,
    /// Bytes that stay free on the disk of the pack.
    pub free: u64,
}

/// How far a dump is, for another thread.
#[derive(Debug, Default)]
pub struct DumpState {
    bytes: AtomicU64,
    has_begun: AtomicBool,
    is_stopped: AtomicBool,
    process: AtomicI32,
}

impl DumpState {
    /// Bytes of text that are written.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Whether its transaction has begun: what changes from now on is not in the dump.
    pub fn has_begun(&self) -> bool {
        self.has_begun.load(Ordering::Relaxed)
    }

    /// Ends it: its program is told to end, and no pack is made.
    pub fn stop(&self) {
        self.is_stopped.store(true, Ordering::SeqCst);
        self.end_process();
    }

    fn end_process(&self) {
        let process = self.process.load(Ordering::SeqCst);
        if process > 0 {
            // One that has ended by itself needs no signal.
            let _ = kill(Pid::from_raw(process), Signal::SIGTERM);
        }
    }
}

/// A dump to be made.
#[derive(Debug, Clone)]
pub struct Dump {
    /// The program.
    pub program: PathBuf,
    /// The server and the account.
    pub endpoint: Endpoint,
    /// Its databases.
    pub databases: Vec<String>,
    /// Tables and views that it is without, as `DATABASE.NAME`.
    pub without: Vec<String>,
    /// What it may take.
    pub limits: DumpLimits,
    /// A folder of this user's alone, for the program's option file.
    pub folder: PathBuf,
}

/// The program that dumps servers of this family, from the folders of `path`.
///
/// # Errors
/// There is none.
pub fn dump_program(is_mariadb: bool, path: &std::ffi::OsStr) -> Result<PathBuf> {
    let names = match is_mariadb {
        true => ["mariadb-dump", "mysqldump"],
        false => ["mysqldump", "mariadb-dump"],
    };
    let folders: Vec<PathBuf> = std::env::split_paths(path).collect();
    let mut places = names
        .iter()
        .flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
    places.find(|place| place.is_file()).with_context(|| format!("{} is not here, which dumps the data", names[0])).remedy("install the server's client programs, name it by --dump-program, or name a backup by --data")
}

impl Dump {
    /// Writes the dump into `pack`, compressed.
    ///
    /// # Errors
    /// The program fails, a limit is reached, or it was stopped.
    pub fn write(&self, pack: &mut PackWriter, state: &DumpState) -> Result<()> {
        let options = self.folder.join("client.cnf");
        niagara_server::write_private(&options, option_file(&self.endpoint).as_bytes())?;
        let mut program = Helper::spawn(self.command(&options))
            .with_context(|| format!("cannot start {}", self.program.display()))
            .remedy("name the program by --dump-program")?;
        let process = i32::try_from(program.child().id()).unwrap_or(0);
        state.process.store(process, Ordering::SeqCst);
        let is_late = AtomicBool::new(false);
        let written = std::thread::scope(|scope| {
            // A program that waits for a lock writes nothing, so that nobody would look at the time.
            let (writing, is_written) = mpsc::channel::<()>();
            scope.spawn(|| {
                let is_written = is_written;
                if is_written.recv_timeout(self.limits.time) == Err(RecvTimeoutError::Timeout) {
                    is_late.store(true, Ordering::SeqCst);
                    state.end_process();
                }
            });
            let written = pack.member(DUMP, |out| self.copy(program.child(), out, state, &options));
            drop(writing);
            written
        });
        state.process.store(0, Ordering::SeqCst);
        if written.is_err() {
            // It has nobody to write to.
            let _ = program.child().kill();
        }
        let ended = program.wait();
        // Gone already where the dump has begun.
        let _ = std::fs::remove_file(&options);
        // Whatever it says then is because of the signal.
        if state.is_stopped.load(Ordering::SeqCst) {
            bail!("the dump was stopped");
        }
        if is_late.load(Ordering::SeqCst) {
            return Err(self.too_late());
        }
        let said = written?;
        let ended = ended.context("the dump's program is lost")?;
        if !ended.success() {
            bail!(
                "{} failed ({ended}): {}", self.program.display(), said.trim();
                remedy: "the account needs SELECT, SHOW VIEW, TRIGGER and EVENT on what is dumped; or name a backup by --data"
            );
        }
        Ok(())
    }

    fn command(&self, options: &Path) -> Command {
        // The server's own threads come first.
        let mut command = Command::new("nice");
        command.args(["-n", "19"]).arg(&self.program);
        let mut file = std::ffi::OsString::from("--defaults-file=");
        file.push(options);
        command.arg(file).args([
            "--single-transaction",
            "--quick",
            "--routines",
            "--events",
            "--triggers",
            "--hex-blob",
            "--no-tablespaces",
            "--default-character-set=utf8mb4",
        ]);
        if !is_mariadb_program(&self.program) {
            command.args(["--set-gtid-purged=OFF"]);
        }
        let without = self.without.iter();
        command
            .args(without.map(|name| format!("--ignore-table={name}")))
            .arg("--databases")
            .args(&self.databases)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Copies what the program writes, no faster than it may be; removes its option file as soon as it is logged in. What the program said.
    fn copy(
        &self,
        child: &mut Child,
        out: &mut dyn Write,
        state: &DumpState,
        options: &Path,
    ) -> Result<String> {
        let mut text = child.stdout.take().context("no pipe from the dump")?;
        let messages = child.stderr.take().context("no pipe from the dump")?;
        let said = std::thread::spawn(move || {
            let mut said = String::new();
            let mut first = messages.take(MAX_MESSAGE);
            let _ = first.read_to_string(&mut said);
            // It is not to wait for a reader.
            let _ = std::io::copy(&mut first.into_inner(), &mut std::io::sink());
            said
        });
        let mut packed = zstd::Encoder::new(out, 0)?;
        let began = Instant::now();
        let mut throttle = Throttle::new(self.limits.rate, began);
        let mut piece = vec![0; PIECE];
        let mut head = Vec::new();
        let (mut bytes, mut next_look) = (0, 0);
        loop {
            let read = text
                .read(&mut piece)
                .context("cannot read from the dump's program")?;
            if read == 0 || state.is_stopped.load(Ordering::Relaxed) {
                break;
            }
            packed
                .write_all(&piece[..read])
                .context("cannot write the dump")?;
            bytes += read as u64;
            state.bytes.store(bytes, Ordering::Relaxed);
            if !state.has_begun() {
                head.extend_from_slice(&piece[..read]);
                if memmem::find(&head, BEGUN).is_some() {
                    // Whoever is killed from now on leaves no password behind.
                    let _ = std::fs::remove_file(options);
                    state.has_begun.store(true, Ordering::Relaxed);
                    head = Vec::new();
                }
            }
            if bytes >= next_look {
                self.check(bytes, began.elapsed())?;
                next_look = bytes + LOOK;
            }
            std::thread::sleep(throttle.pause(read as u64, Instant::now()));
        }
        packed.finish().context("cannot write the dump")?;
        said.join()
            .map_err(|_| anyhow!("the messages of the dump's program are lost"))
    }

    fn too_late(&self) -> anyhow::Error {
        anyhow!(
            "the dump takes longer than {} s, and its transaction keeps old rows from being purged",
            self.limits.time.as_secs();
            remedy: "see in SHOW PROCESSLIST whether it waits for a lock; --max-time for more, --rate for a faster dump, or --data for \
             a backup"
        )
    }

    /// Whether the limits hold.
    fn check(&self, bytes: u64, time: Duration) -> Result<()> {
        if bytes > self.limits.bytes {
            bail!(
                "the dump is longer than {} MB", self.limits.bytes >> 20;
                remedy: "--max-data for more, --schema for fewer databases, or --data for a backup"
            );
        }
        if time > self.limits.time {
            return Err(self.too_late());
        }
        let disk = statvfs(&self.folder).context("the disk of the pack cannot be looked at")?;
        let free = disk.blocks_available() * disk.fragment_size();
        if free < self.limits.free {
            bail!(
                "the disk of the pack has {} MB left", free >> 20;
                remedy: "name a file on another disk by --output, or --min-free for less"
            );
        }
        Ok(())
    }
}

/// Keeps a speed: what a long wait has cost is not read faster afterwards.
struct Throttle {
    rate: u64,
    /// When the next piece may be read.
    next: Instant,
}

impl Throttle {
    fn new(rate: u64, now: Instant) -> Self {
        Self {
            rate: rate.max(1),
            next: now,
        }
    }

    /// How long to wait once these bytes were read.
    fn pause(&mut self, bytes: u64, now: Instant) -> Duration {
        let worth = Duration::from_secs_f64(bytes as f64 / self.rate as f64);
        let earliest = now.checked_sub(MADE_UP).unwrap_or(now);
        self.next = self.next.max(earliest) + worth;
        self.next.saturating_duration_since(now)
    }
}

/// Whether the program is MariaDB's, whatever its name is.
fn is_mariadb_program(program: &Path) -> bool {
    let asked = Command::new(program).arg("--version").output();
    asked.is_ok_and(|said| memmem::find(&said.stdout, b"MariaDB").is_some())
}

/// The account and the address, in a file: a command line can be seen by everybody.
fn option_file(endpoint: &Endpoint) -> String {
    let quoted = |text: &str| {
        let text = text.replace('\\', "\\\\").replace('\n', "\\n");
        format!("\"{text}\"")
    };
    let mut lines = vec!["[client]".to_owned()];
    match &endpoint.transport {
        Transport::Unix(path) => {
            lines.push("protocol=socket".to_owned());
            lines.push(format!("socket={}", quoted(&path.display().to_string())));
        }
        Transport::Tcp(address) => {
            lines.push("protocol=tcp".to_owned());
            lines.push(format!("host={}", address.ip()));
            lines.push(format!("port={}", address.port()));
        }
        Transport::Host { name, port } => {
            lines.push("protocol=tcp".to_owned());
            lines.push(format!("host={}", quoted(name)));
            lines.push(format!("port={port}"));
        }
    }
    lines.push(format!("user={}", quoted(&endpoint.user)));
    if !endpoint.password.is_empty() {
        lines.push(format!("password={}", quoted(&endpoint.password)));
    }
    lines.push(String::new());
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use niagara_error::Explain as _;

    use super::*;

    #[test]
    fn option_file_quotes_the_password() {
        let endpoint = Endpoint {
            transport: Transport::Unix(PathBuf::from("/run/mysqld/mysqld.sock")),
            user: "root".to_owned(),
            password: r#"a#b\c"d"#.to_owned(),
            database: String::new(),
            tls: Default::default(),
        };
        let text = option_file(&endpoint);
        assert!(text.contains("password=\"a#b\\\\c\"d\"\n"), "{text}");
    }

    #[test]
    fn tables_elsewhere_are_left_to_their_server() {
        let dump = Dump {
            program: PathBuf::from("/nonexistent/mysqldump"),
            endpoint: Endpoint {
                transport: Transport::Unix(PathBuf::from("/run/mysqld/mysqld.sock")),
                user: "root".to_owned(),
                password: String::new(),
                database: String::new(),
                tls: Default::default(),
            },
            databases: vec!["shop".to_owned()],
            without: vec!["shop.away".to_owned()],
            limits: DumpLimits {
                rate: 1,
                bytes: 1,
                time: Duration::ZERO,
                free: 0,
            },
            folder: PathBuf::from("/nonexistent"),
        };
        let command = dump.command(Path::new("client.cnf"));
        let words: Vec<_> = command.get_args().collect();
        let last = &words[words.len() - 3..];
        assert_eq!(last, ["--ignore-table=shop.away", "--databases", "shop"]);
    }

    #[test]
    fn password_is_on_disk_until_the_dump_begins() {
        let folder = tempfile::tempdir().expect("a folder");
        let program = folder.path().join("mysqldump");
        // As a dump does: it reads its options, logs in, and takes its time.
        let script = "#!/bin/sh\n\
            case \"$1\" in --version) exit;; esac\n\
            file=\"${1#--defaults-file=}\"\n\
            grep -q secret \"$file\" || exit 3\n\
            echo '-- Current Database: `shop`'\n\
            while [ -e \"$file\" ]; do sleep 0.05; done\n";
        std::fs::write(&program, script).expect("written");
        let executable = std::fs::Permissions::from_mode(0o700);
        std::fs::set_permissions(&program, executable).expect("ours");
        let dump = Dump {
            program,
            endpoint: Endpoint {
                transport: Transport::Unix(PathBuf::from("/run/mysqld/mysqld.sock")),
                user: "root".to_owned(),
                password: "secret".to_owned(),
                database: String::new(),
                tls: Default::default(),
            },
            databases: vec!["shop".to_owned()],
            without: Vec::new(),
            limits: DumpLimits {
                rate: 1 << 30,
                bytes: 1 << 30,
                // A bound for a file that stays, no expectation.
                time: Duration::from_secs(60),
                free: 0,
            },
            folder: folder.path().to_owned(),
        };
        let mut pack = PackWriter::create(&folder.path().join("pack")).expect("a pack");
        let state = DumpState::default();
        let written = dump.write(&mut pack, &state);
        assert!(written.is_ok(), "{written:?}");
        assert!(state.has_begun());
    }

    #[test]
    fn speed_is_kept_after_a_pause_too() {
        let second = Duration::from_secs(1);
        let began = Instant::now();
        let mut throttle = Throttle::new(1000, began);
        assert_eq!(throttle.pause(1000, began), second);
        // Slept too long: the next pause is as much shorter.
        let late = began + second + MADE_UP / 2;
        assert_eq!(throttle.pause(1000, late), second - MADE_UP / 2);
        // The program waited for a lock.
        let unlocked = late + 60 * second;
        assert_eq!(throttle.pause(1000, unlocked), second - MADE_UP);
        let next = unlocked + second - MADE_UP;
        assert_eq!(throttle.pause(1000, next), second);
        assert_eq!(Throttle::new(0, began).pause(1, began), second);
    }

    #[test]
    fn missing_program_has_a_remedy() {
        let none = dump_program(true, std::ffi::OsStr::new("/nonexistent"));
        let told = none.expect_err("none").explain().to_string();
        assert!(
            told.contains("mariadb-dump") && told.contains("remedy:"),
            "{told}"
        );
    }
}
