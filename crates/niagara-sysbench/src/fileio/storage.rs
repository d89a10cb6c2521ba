//! The files: created, opened, read and written, removed. They are `test_file.0` and on, in the current folder.

use super::block;
use super::mapping::Mapping;
use super::options::{Access, FileOptions, Mode, OpenFlags};
use crate::failure::Failure;
use crate::log::{Level, Log};
use rand::Rng;
use std::fs::{File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::time::Instant;

/// Who may read and write new files.
const PERMISSIONS: u32 = 0o600;

pub fn name(number: usize) -> String {
    format!("test_file.{number}")
}

/// The cause of an error, as sysbench ends a line with it.
pub fn cause(error: &io::Error) -> String {
    let words = error.to_string();
    let words = words.split(" (os error").next().unwrap_or_default();
    format!("errno = {} ({words})", error.raw_os_error().unwrap_or(0))
}

/// Says an error in the log; all has been said then.
fn say(log: Log, what: &str, error: &io::Error) -> Failure {
    log.say(Level::Fatal, &format!("{what} {}", cause(error)));
    Failure::said()
}

/// A size as people read it: `8Mi`, to five digits.
pub fn in_words(bytes: u64) -> String {
    let mut value = bytes as f64;
    let mut unit = "";
    for next in ["Ki", "Mi", "Gi", "Ti"] {
        if value < 1024.0 {
            break;
        }
        value /= 1024.0;
        unit = next;
    }
    let whole = (value.log10().floor() as i32).clamp(0, 4);
    let text = format!("{value:.*}", (4 - whole) as usize);
    let text = match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.'),
        false => &text,
    };
    format!("{text}{unit}")
}

fn opening(flags: OpenFlags) -> OpenOptions {
    let mut bits = 0;
    for (is_set, bit) in [
        (flags.sync, libc::O_SYNC),
        (flags.dsync, libc::O_DSYNC),
        (flags.direct, libc::O_DIRECT),
    ] {
        if is_set {
            bits |= bit;
        }
    }
    let mut options = OpenOptions::new();
    options.mode(PERMISSIONS).custom_flags(bits);
    options
}

/// Makes the files as long as they are to be; what is there of them stays. `rng` fills them where contents are checked.
pub fn create(
    options: &FileOptions,
    log: Log,
    mut rng: Option<&mut dyn Rng>,
) -> Result<(), Failure> {
    let total = options.file_size * options.files as u64;
    log.notice(&format!(
        "{} files, {}Kb each, {}Mb total",
        options.files,
        options.file_size >> 10,
        total >> 20
    ));
    log.notice("Creating files for the test...");
    log.notice(&options.flags.line());
    let mut buffer = Buffer::new(options.block_size as usize)
        .map_err(|error| say(log, "mmap() failed", &error))?;
    let began = Instant::now();
    let mut written = 0;
    for number in 0..options.files {
        let file = opening(options.flags)
            .write(true)
            .create(true)
            .truncate(false)
            .open(name(number));
        let mut file = file.map_err(|error| say(log, "Can't open file", &error))?;
        let failed = |error: io::Error| say(log, "Failed to write file!", &error);
        let mut offset = file.seek(SeekFrom::End(0)).map_err(failed)?;
        log.notice(&format!(
            "{} file {}",
            match offset {
                there if there >= options.file_size => "Reusing existing",
                0 => "Creating",
                _ => "Extending existing",
            },
            name(number)
        ));
        while offset < options.file_size {
            if let Some(rng) = &mut rng {
                block::fill(buffer.all(), offset, rng);
            }
            file.write_all(buffer.all()).map_err(failed)?;
            offset += options.block_size;
            written += options.block_size;
        }
        // What the system still has to write would be in the way of the test.
        file.sync_all().map_err(failed)?;
    }
    let seconds = began.elapsed().as_secs_f64();
    log.notice(&match written {
        0 => "No bytes written.".to_owned(),
        _ => format!(
            "{written} bytes written in {seconds:.2} seconds ({:.2} MiB/sec).",
            written as f64 / f64::from(1 << 20) / seconds
        ),
    });
    Ok(())
}

/// Removes the files, as far as they are there.
pub fn remove(options: &FileOptions, log: Log) {
    log.notice("Removing test files...");
    for number in 0..options.files {
        // One that is not there is what was asked for.
        let _ = std::fs::remove_file(name(number));
    }
}

/// Memory whose beginning is that of a page, which files that are opened with `direct` ask for.
pub struct Buffer(memmap2::MmapMut);

impl Buffer {
    pub fn new(bytes: usize) -> io::Result<Buffer> {
        memmap2::MmapMut::map_anon(bytes).map(Buffer)
    }

    /// Its first bytes.
    pub fn first(&mut self, bytes: u64) -> &mut [u8] {
        let bytes = (bytes as usize).min(self.0.len());
        &mut self.0[..bytes]
    }

    fn all(&mut self) -> &mut [u8] {
        &mut self.0
    }
}

/// The open files.
pub struct Files {
    files: Vec<File>,
    /// Of [`Access::Mapped`].
    mappings: Vec<Mapping>,
    data_only: bool,
}

impl Files {
    /// Opens them, and checks that they are as long as they have to be.
    pub fn open(options: &FileOptions, mode: Mode, log: Log) -> Result<Files, Failure> {
        let mut files = Vec::with_capacity(options.files);
        for number in 0..options.files {
            files.push(open(options, mode, number, log)?);
        }
        let mut mappings = Vec::new();
        if options.access == Access::Mapped {
            for (number, file) in files.iter().enumerate() {
                if mode == Mode::Write {
                    file.set_len(options.file_size).map_err(|error| {
                        say(log, &format!("ftruncate() failed on file {number}"), &error)
                    })?;
                }
                mappings.push(Mapping::new(file, options.file_size).map_err(|error| {
                    say(log, &format!("mmap() failed on file {number}"), &error)
                })?);
            }
        }
        Ok(Files {
            files,
            mappings,
            data_only: options.sync_data_only,
        })
    }

    pub fn len(&self) -> usize {
        self.files.len()
    }

    pub fn file(&self, number: usize) -> &File {
        &self.files[number]
    }

    /// Reads all of `to`.
    pub fn read(&self, number: usize, to: &mut [u8], offset: u64) -> io::Result<()> {
        match self.mappings.get(number) {
            Some(mapping) => mapping.read(to, offset),
            None => self.files[number].read_exact_at(to, offset),
        }
    }

    /// Writes all of `from`.
    pub fn write(&self, number: usize, from: &[u8], offset: u64) -> io::Result<()> {
        match self.mappings.get(number) {
            Some(mapping) => mapping.write(from, offset),
            None => self.files[number].write_all_at(from, offset),
        }
    }

    /// Waits until what was written is on the device.
    pub fn sync(&self, number: usize) -> io::Result<()> {
        match self.mappings.get(number) {
            Some(mapping) => mapping.sync(),
            None if self.data_only => self.files[number].sync_data(),
            None => self.files[number].sync_all(),
        }
    }
}

fn open(options: &FileOptions, mode: Mode, number: usize, log: Log) -> Result<File, Failure> {
    let path = name(number);
    if mode == Mode::Write {
        // One that is not there is what was asked for.
        let _ = std::fs::remove_file(&path);
        opening(OpenFlags::default())
            .write(true)
            .create_new(true)
            .open(&path)
            .map_err(|error| say(log, &format!("Cannot create file '{path}'"), &error))?;
    }
    let file = opening(options.flags)
        .read(true)
        .write(true)
        .open(&path)
        .map_err(|error| {
            let failure = say(log, &format!("Cannot open file '{path}'"), &error);
            log.say(Level::Warning, "Did you forget to run the prepare step?");
            failure
        })?;
    if mode == Mode::Write {
        return Ok(file);
    }
    let size = file
        .metadata()
        .map_err(|error| say(log, &format!("fstat() failed on file '{path}'"), &error))?
        .len();
    if size < options.file_size {
        log.say(
            Level::Fatal,
            &format!(
                "Size of file '{path}' is {}B, but at least {}B is expected.",
                in_words(size),
                in_words(options.file_size)
            ),
        );
        log.say(
            Level::Warning,
            "Did you run 'prepare' with different --file-total-size or --file-num values?",
        );
        return Err(Failure::said());
    }
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_in_words() {
        for (bytes, words) in [
            (5, "5"),
            (4097, "4.001Ki"),
            (16 << 10, "16Ki"),
            (8 << 20, "8Mi"),
            (1_500_000, "1.4305Mi"),
            (3 << 30, "3Gi"),
            (1000 << 20, "1000Mi"),
        ] {
            assert_eq!(in_words(bytes), words);
        }
    }

    #[test]
    fn causes_are_numbers_and_words() {
        let error = io::Error::from_raw_os_error(2);
        assert_eq!(cause(&error), "errno = 2 (No such file or directory)");
    }
}
