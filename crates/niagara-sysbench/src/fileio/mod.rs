//! The test of files: how fast they are written and read. Files, options and report are those of sysbench's `fileio`.

mod block;
mod mapping;
pub mod options;
mod requests;
mod ring;
mod storage;
mod threads;

use crate::command_line::CommandLine;
use crate::failure::Failure;
use crate::help;
use crate::job::OnInterrupt;
use crate::load::{Guest, fresh_seed};
use crate::log::{Log, print};
use crate::machine_load;
use crate::report::{self, Cumulative, Interval};
use crate::settings::Settings;
use crate::without_server::WithoutServer;
use niagara_load::{ScriptThreads, counted};
use options::{FileOptions, Mode, NAME, OPTIONS};
use rand::SeedableRng;
use rand::rngs::SmallRng;
use requests::Requests;
use std::fmt::Write;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use storage::{Files, in_words};
use threads::{Done, FileThreads, Shared};

const MEBIBYTE: f64 = 1_048_576.0;

/// Does what the command line says with the test.
pub fn dispatch(
    mut line: CommandLine,
    settings: Settings,
    log: Log,
    on_interrupt: OnInterrupt<'_>,
) -> Result<ExitCode, Failure> {
    let Some(command) = line.command.clone() else {
        return Err(machine_load::no_command(NAME));
    };
    line.read_test_options(&[OPTIONS])?;
    let options = || FileOptions::read(&line.values, command == "run");
    match command.as_str() {
        "help" => {
            print(&format!("{NAME} options:\n{}\n", help::table(OPTIONS, '-')));
            Ok(ExitCode::SUCCESS)
        }
        "prepare" => {
            let mut rng = SmallRng::seed_from_u64(settings.seed.unwrap_or_else(fresh_seed));
            storage::create(&options()?, log, settings.validate.then_some(&mut rng as _))?;
            Ok(ExitCode::SUCCESS)
        }
        "cleanup" => {
            storage::remove(&options()?, log);
            Ok(ExitCode::SUCCESS)
        }
        "run" => {
            let options = options()?;
            // It was refused without one.
            let mode = options.mode.unwrap_or(Mode::Read);
            let mut guest = FileGuest {
                options,
                mode,
                threads: settings.threads,
                events: settings.events.unwrap_or(0),
                checks: settings.validate,
                seed: settings.seed.unwrap_or_else(fresh_seed),
                files: None,
                done: Arc::default(),
                told: Told::default(),
            };
            machine_load::run(&mut guest, NAME, line, settings, log, on_interrupt)
        }
        _ => Err(Failure::usage(format!("Unknown command: {command}"))),
    }
}

/// The part of the test in a run.
struct FileGuest {
    options: FileOptions,
    mode: Mode,
    threads: u32,
    events: u64,
    checks: bool,
    seed: u64,
    /// Once they are open.
    files: Option<Files>,
    done: Arc<Done>,
    told: Told,
}

/// What intermediate lines have told of already.
#[derive(Default)]
struct Told {
    bytes_read: u64,
    bytes_written: u64,
    syncs: u64,
}

impl FileGuest {
    /// What the test will do, in words.
    fn in_words(&self) -> String {
        let options = &self.options;
        let mut text = options.flags.line();
        // Writing to a string does not fail, here and below.
        let _ = write!(
            text,
            "\n{} files, {}B each\n{}B total file size\nBlock size {}B\n",
            options.files,
            in_words(options.file_size),
            in_words(options.file_size * options.files as u64),
            in_words(options.block_size)
        );
        if options.merged > 0 {
            let _ = writeln!(
                text,
                "Merging requests up to {}B for sequential IO.",
                in_words(options.request_size)
            );
        }
        if self.mode.is_random() {
            let _ = writeln!(
                text,
                "Number of IO requests: {}\nRead/Write ratio for combined random IO test: {:.2}",
                self.events, options.ratio
            );
        }
        if options.sync_every > 0 {
            let _ = writeln!(
                text,
                "Periodic FSYNC enabled, calling fsync() each {} requests.",
                options.sync_every
            );
        }
        if options.sync_at_end {
            text += "Calling fsync() at the end of test, Enabled.\n";
        }
        if options.sync_all {
            text += "Calling fsync() after each write operation.\n";
        }
        let _ = writeln!(text, "Using {} I/O mode", options.access.title());
        if self.checks {
            text += "Using checksums validation.\n";
        }
        let _ = write!(text, "Doing {} test", self.mode.title());
        text
    }
}

impl Guest for FileGuest {
    fn before(&mut self, log: Log) -> Result<(), Failure> {
        log.notice(&self.in_words());
        self.files = Some(Files::open(&self.options, self.mode, log)?);
        Ok(())
    }

    fn threads(&mut self) -> Result<Arc<dyn ScriptThreads>, Failure> {
        let files = self.files.take();
        let files = files.ok_or_else(|| Failure::fatal("the files are not open"))?;
        let keep_apart = self.checks && self.mode.is_random();
        let blocks = self.options.blocks();
        if keep_apart && blocks < u64::from(self.threads) {
            return Err(Failure::fatal(format!(
                "contents cannot be checked by {} on {}: no two threads may have the same block at once (remedy: larger \
                 files, a smaller --file-block-size, or no more threads than blocks)",
                counted(self.threads.into(), "thread"),
                counted(blocks, "block")
            )));
        }
        let requests = Requests::new(&self.options, self.mode, self.checks);
        Ok(Arc::new(WithoutServer(FileThreads(Arc::new(Shared {
            options: self.options.clone(),
            mode: self.mode,
            files,
            requests: Mutex::new(requests),
            backlog: match keep_apart {
                true => self.options.backlog_apart(self.threads),
                false => self.options.backlog,
            },
            done: Arc::clone(&self.done),
            checks: self.checks,
            seed: self.seed,
        })))))
    }

    fn after_warm_up(&self) -> Option<Box<dyn FnOnce() + Send>> {
        let done = Arc::clone(&self.done);
        Some(Box::new(move || done.forget()))
    }

    fn interval(&mut self, interval: &Interval, log: Log) -> bool {
        let more = |now: &AtomicU64, told: &mut u64| {
            let now = now.load(Ordering::Relaxed);
            let more = now.saturating_sub(*told);
            *told = now;
            more as f64 / interval.seconds
        };
        let (percentile, latency) = interval.percentile;
        log.moment(&format!(
            "{}reads: {:.2} MiB/s writes: {:.2} MiB/s fsyncs: {:.2}/s latency (ms,{percentile}%): {latency:.3}",
            report::timestamp(interval.elapsed),
            more(&self.done.bytes_read, &mut self.told.bytes_read) / MEBIBYTE,
            more(&self.done.bytes_written, &mut self.told.bytes_written) / MEBIBYTE,
            more(&self.done.syncs, &mut self.told.syncs),
        ));
        true
    }

    fn cumulative(&mut self, report: &Cumulative, _so_far: bool, log: Log) -> bool {
        // Each report is of what came after the one before.
        let take = |count: &AtomicU64| {
            let count = count.swap(0, Ordering::Relaxed) as f64;
            if report.seconds > 0.0 {
                count / report.seconds
            } else {
                0.0
            }
        };
        self.told = Told::default();
        let done = &self.done;
        log.notice(&format!(
            "\nFile operations:\n    reads/s:                      {:.2}\n    writes/s:                     {:.2}\n    \
             fsyncs/s:                     {:.2}\n\nThroughput:\n    read, MiB/s:                  {:.2}\n    \
             written, MiB/s:               {:.2}",
            take(&done.reads),
            take(&done.writes),
            take(&done.syncs),
            take(&done.bytes_read) / MEBIBYTE,
            take(&done.bytes_written) / MEBIBYTE,
        ));
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::Values;

    fn guest(words: &[(&str, &str)], threads: u32) -> FileGuest {
        let mut values = Values::default();
        values.define(OPTIONS);
        for (name, value) in words {
            values.set(name, Some(value)).unwrap();
        }
        let options = FileOptions::read(&values, true).unwrap();
        FileGuest {
            mode: options.mode.unwrap(),
            options,
            threads,
            events: 0,
            checks: true,
            seed: 1,
            files: None,
            done: Arc::default(),
            told: Told::default(),
        }
    }

    #[test]
    fn what_the_warm_up_has_done_is_forgotten() {
        let guest = guest(&[("file-test-mode", "rndrw")], 1);
        let done = &guest.done;
        let all = [
            &done.reads,
            &done.writes,
            &done.syncs,
            &done.bytes_read,
            &done.bytes_written,
        ];
        for count in all {
            count.store(7, Ordering::Relaxed);
        }
        guest.after_warm_up().unwrap()();
        assert!(all.iter().all(|count| count.load(Ordering::Relaxed) == 0));
    }
}
