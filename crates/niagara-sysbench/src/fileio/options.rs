//! The options of the test of files, and what they mean together.

use crate::failure::Failure;
use crate::option::{Definition, Kind};
use crate::values::Values;

/// The test's name on the command line.
pub const NAME: &str = "fileio";
/// What it is in a few words.
pub const TITLE: &str = "File I/O test";

const fn option(
    name: &'static str,
    kind: Kind,
    default: Option<&'static str>,
    help: &'static str,
) -> Definition {
    Definition {
        name,
        kind,
        default,
        help,
    }
}

/// Names, kinds, defaults and labels are sysbench's interface.
pub const OPTIONS: &[Definition] = &[
    option(
        "file-num",
        Kind::Integer,
        Some("128"),
        "number of files to create",
    ),
    option(
        "file-block-size",
        Kind::Integer,
        Some("16384"),
        "block size to use in all IO operations",
    ),
    option(
        "file-total-size",
        Kind::Size,
        Some("2G"),
        "total size of files to create",
    ),
    option(
        "file-test-mode",
        Kind::Text,
        None,
        "test mode {seqwr, seqrewr, seqrd, rndrd, rndwr, rndrw}",
    ),
    option(
        "file-io-mode",
        Kind::Text,
        Some("sync"),
        "file operations mode {sync,async,mmap}",
    ),
    option(
        "file-async-backlog",
        Kind::Integer,
        Some("128"),
        "number of asynchronous operations to queue per thread",
    ),
    option(
        "file-extra-flags",
        Kind::List,
        Some(""),
        "list of additional flags to use to open files {sync,dsync,direct}",
    ),
    option(
        "file-fsync-freq",
        Kind::Integer,
        Some("100"),
        "do fsync() after this number of requests (0 - don't use fsync())",
    ),
    option(
        "file-fsync-all",
        Kind::Flag,
        Some("off"),
        "do fsync() after each write operation",
    ),
    option(
        "file-fsync-end",
        Kind::Flag,
        Some("on"),
        "do fsync() at the end of test",
    ),
    option(
        "file-fsync-mode",
        Kind::Text,
        Some("fsync"),
        "which method to use for synchronization {fsync, fdatasync}",
    ),
    option(
        "file-merged-requests",
        Kind::Integer,
        Some("0"),
        "merge at most this number of IO requests if possible (0 - don't merge)",
    ),
    option(
        "file-rw-ratio",
        Kind::Number,
        Some("1.5"),
        "reads/writes ratio for combined test",
    ),
];

/// What is read or written, and in which order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// New files, from their beginnings.
    Write,
    /// Files that are there, from their beginnings.
    Rewrite,
    /// From their beginnings.
    Read,
    RandomRead,
    RandomWrite,
    /// Reads and writes in the ratio that is asked for.
    RandomBoth,
}

impl Mode {
    fn named(name: &str) -> Option<Mode> {
        Some(match name {
            "seqwr" => Mode::Write,
            "seqrewr" => Mode::Rewrite,
            "seqrd" => Mode::Read,
            "rndrd" => Mode::RandomRead,
            "rndwr" => Mode::RandomWrite,
            "rndrw" => Mode::RandomBoth,
            _ => return None,
        })
    }

    pub fn is_random(self) -> bool {
        matches!(
            self,
            Mode::RandomRead | Mode::RandomWrite | Mode::RandomBoth
        )
    }

    /// Nothing is written.
    pub fn only_reads(self) -> bool {
        matches!(self, Mode::Read | Mode::RandomRead)
    }

    /// As the report calls it.
    pub fn title(self) -> &'static str {
        match self {
            Mode::Write => "sequential write (creation)",
            Mode::Rewrite => "sequential rewrite",
            Mode::Read => "sequential read",
            Mode::RandomRead => "random read",
            Mode::RandomWrite => "random write",
            Mode::RandomBoth => "random r/w",
        }
    }
}

/// How files are read and written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// By system calls that wait.
    Calls,
    /// By io_uring, several requests of a thread at once.
    Ring,
    /// Through memory that the files are mapped to.
    Mapped,
}

impl Access {
    /// As the report calls it.
    pub fn title(self) -> &'static str {
        match self {
            Access::Calls => "synchronous",
            Access::Ring => "asynchronous",
            Access::Mapped => "fast mmaped",
        }
    }
}

/// Flags that files are opened with.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OpenFlags {
    pub sync: bool,
    pub dsync: bool,
    pub direct: bool,
}

impl OpenFlags {
    /// The line that says which there are.
    pub fn line(self) -> String {
        let mut text = String::from("Extra file open flags: ");
        if self == OpenFlags::default() {
            text += "(none)";
        }
        for (is_set, word) in [
            (self.sync, "sync "),
            (self.dsync, "dsync "),
            (self.direct, "directio"),
        ] {
            if is_set {
                text += word;
            }
        }
        text
    }
}

/// The options, checked.
#[derive(Debug, Clone, PartialEq)]
pub struct FileOptions {
    pub files: usize,
    /// Bytes of one file.
    pub file_size: u64,
    /// Bytes of all files, as they were asked for.
    pub total_size: u64,
    pub block_size: u64,
    /// Bytes of a sequential request: of several blocks where they are merged.
    pub request_size: u64,
    /// Blocks of such a request; 0: one.
    pub merged: u64,
    /// Only known for `run`.
    pub mode: Option<Mode>,
    pub access: Access,
    /// Requests that a thread has under way at once, at most; of [`Access::Ring`].
    pub backlog: u32,
    pub flags: OpenFlags,
    /// After this many requests all files are synced; 0: never.
    pub sync_every: u64,
    /// Every write is synced.
    pub sync_all: bool,
    /// At the end all files are synced.
    pub sync_at_end: bool,
    /// Without metadata, by `fdatasync`.
    pub sync_data_only: bool,
    /// Reads for each write, of the combined mode.
    pub ratio: f64,
}

impl FileOptions {
    /// Blocks of all files, of which the last one may be shorter.
    pub fn blocks(&self) -> u64 {
        (self.file_size * self.files as u64).div_ceil(self.block_size)
    }

    /// Requests that each of so many threads may have under way at once, at most, where no two are of the same block. As a
    /// rule half of the blocks are free then, so that a draw soon finds one.
    pub fn backlog_apart(&self, threads: u32) -> u32 {
        let share = self.blocks() / 2 / u64::from(threads.max(1));
        let share = u32::try_from(share).unwrap_or(u32::MAX);
        self.backlog.min(share).max(1)
    }

    /// Reads and checks them; `run`: the command is `run`, which needs a mode.
    pub fn read(values: &Values, run: bool) -> Result<FileOptions, Failure> {
        let number = |name: &str, least: i32, end: &str| -> Result<u64, Failure> {
            let number = values.integer(name)?;
            if number < least {
                return Err(Failure::fatal(format!(
                    "Invalid value for {name}: {number}{end}"
                )));
            }
            Ok(u64::from(number.unsigned_abs()))
        };
        let files = number("file-num", 1, "")?;
        let total_size = values.size("file-total-size")?;
        if total_size == 0 {
            return Err(Failure::fatal("Invalid value for file-total-size: 0"));
        }
        let file_size = total_size / files;
        if file_size == 0 {
            return Err(Failure::fatal(format!(
                "Invalid value for file-total-size: {total_size}: less than a byte for each of {files} files"
            )));
        }
        let mode = match run {
            true => Some(mode(values.text("file-test-mode"))?),
            false => None,
        };
        let access = match values.text("file-io-mode") {
            None | Some("sync") => Access::Calls,
            Some("async") => Access::Ring,
            Some("mmap") => Access::Mapped,
            Some(other) => return Err(Failure::fatal(format!("unknown I/O mode: {other}"))),
        };
        let merged = number("file-merged-requests", 0, ".")?;
        let block_size = number("file-block-size", 1, ".")?;
        let backlog = number("file-async-backlog", i32::from(access == Access::Ring), "")?;
        let sync_every = number("file-fsync-freq", 0, ".")?;
        let sync_all = values.flag("file-fsync-all");
        let ratio = values.number("file-rw-ratio")?;
        if ratio < 0.0 {
            return Err(Failure::fatal(format!(
                "Invalid value for --file-rw-ratio: {ratio:.6}."
            )));
        }
        Ok(FileOptions {
            files: files as usize,
            file_size,
            total_size,
            block_size,
            request_size: block_size * merged.max(1),
            merged,
            mode,
            access,
            backlog: u32::try_from(backlog).unwrap_or(u32::MAX),
            flags: flags(values.list("file-extra-flags"))?,
            // Where every write is synced there is nothing left for the others.
            sync_every: if sync_all { 0 } else { sync_every },
            sync_all,
            sync_at_end: values.flag("file-fsync-end") && !sync_all,
            sync_data_only: match values.text("file-fsync-mode") {
                Some("fsync") => false,
                Some("fdatasync") => true,
                other => {
                    return Err(Failure::fatal(format!(
                        "Invalid fsync mode: {}.",
                        other.unwrap_or_default()
                    )));
                }
            },
            ratio,
        })
    }
}

fn mode(name: Option<&str>) -> Result<Mode, Failure> {
    match name {
        None => Err(Failure::fatal(
            "Missing required argument: --file-test-mode\n",
        )),
        Some(name) => Mode::named(name)
            .ok_or_else(|| Failure::fatal(format!("Invalid IO operations mode: {name}."))),
    }
}

fn flags(words: &[String]) -> Result<OpenFlags, Failure> {
    let mut flags = OpenFlags::default();
    for word in words {
        match word.as_str() {
            "sync" => flags.sync = true,
            "dsync" => flags.dsync = true,
            "direct" => flags.direct = true,
            _ => {
                return Err(Failure::fatal(format!(
                    "Invalid value for file-extra-flags: {word}"
                )));
            }
        }
    }
    Ok(flags)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(words: &[(&str, &str)]) -> Result<FileOptions, Failure> {
        let mut values = Values::default();
        values.define(OPTIONS);
        for (name, value) in words {
            values.set(name, Some(value)).unwrap();
        }
        FileOptions::read(&values, true)
    }

    #[test]
    fn options_mean_something_together() {
        let options = read(&[
            ("file-test-mode", "rndrw"),
            ("file-num", "4"),
            ("file-total-size", "32M"),
            ("file-merged-requests", "2"),
            ("file-extra-flags", "dsync,sync"),
            ("file-fsync-all", "on"),
        ])
        .unwrap();
        assert_eq!(options.mode, Some(Mode::RandomBoth));
        assert_eq!(options.file_size, 8 << 20);
        assert_eq!(options.request_size, 32 << 10);
        assert_eq!((options.sync_every, options.sync_at_end), (0, false));
        assert_eq!(options.flags.line(), "Extra file open flags: sync dsync ");
        assert_eq!(OpenFlags::default().line(), "Extra file open flags: (none)");
    }

    #[test]
    fn requests_that_keep_apart_leave_blocks_free() {
        for (total, threads, backlog) in [
            ("64M", 1, 128),
            ("16M", 4, 128),
            ("15M", 4, 120),
            ("384K", 2, 6),
            // One for each thread, at least.
            ("64K", 4, 1),
        ] {
            let options = read(&[
                ("file-test-mode", "rndrw"),
                ("file-num", "1"),
                ("file-total-size", total),
            ])
            .unwrap();
            assert_eq!(options.backlog_apart(threads), backlog, "{total}");
        }
    }

    #[test]
    fn impossible_values_are_refused() {
        for (name, value, words) in [
            ("file-test-mode", "foo", "Invalid IO operations mode: foo."),
            (
                "file-test-mode",
                "",
                "Missing required argument: --file-test-mode\n",
            ),
            ("file-num", "0", "Invalid value for file-num: 0"),
            (
                "file-total-size",
                "0",
                "Invalid value for file-total-size: 0",
            ),
            ("file-io-mode", "wild", "unknown I/O mode: wild"),
            (
                "file-block-size",
                "-1",
                "Invalid value for file-block-size: -1.",
            ),
            (
                "file-extra-flags",
                "x",
                "Invalid value for file-extra-flags: x",
            ),
            ("file-fsync-mode", "x", "Invalid fsync mode: x."),
            (
                "file-rw-ratio",
                "-1",
                "Invalid value for --file-rw-ratio: -1.000000.",
            ),
        ] {
            let mut given = vec![("file-test-mode", "seqrd")];
            given.push((name, value));
            assert_eq!(read(&given).unwrap_err().to_string(), words);
        }
        // A file of less than a byte.
        assert!(read(&[("file-test-mode", "seqrd"), ("file-total-size", "5")]).is_err());
    }
}
