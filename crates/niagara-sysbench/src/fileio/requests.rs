//! Which request comes next: pure.

use super::options::{FileOptions, Mode};
use std::collections::HashSet;

/// What a request does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    Read,
    Write,
    /// Of the whole file.
    Sync,
}

/// One request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    pub operation: Operation,
    /// From 0.
    pub file: usize,
    pub offset: u64,
    pub size: u64,
}

/// The sequence of requests that all threads share.
#[derive(Debug)]
pub struct Requests {
    mode: Mode,
    files: usize,
    file_size: u64,
    total_size: u64,
    block_size: u64,
    request_size: u64,
    sync_every: u64,
    ratio: f64,
    /// Of the sequential modes: where the next request begins.
    current: (usize, u64),
    /// Reads and writes so far.
    performed: u64,
    /// Something was written since all files were synced.
    dirty: bool,
    /// The file that is synced next.
    to_sync: usize,
    /// Blocks, by file and offset, that are being read or written, of the random modes while contents are checked: whoever
    /// reads a block while it is written may find half of each, and so may whoever reads it after two have written it at once.
    under_way: HashSet<(usize, u64)>,
    checks: bool,
}

impl Requests {
    /// `checks`: contents are checked, so that no two requests may have the same block at once. There have to be more blocks
    /// than requests under way then.
    pub fn new(options: &FileOptions, mode: Mode, checks: bool) -> Self {
        Requests {
            mode,
            files: options.files,
            file_size: options.file_size,
            total_size: options.file_size * options.files as u64,
            block_size: options.block_size,
            request_size: options.request_size,
            sync_every: options.sync_every,
            ratio: options.ratio,
            current: (0, 0),
            performed: 0,
            dirty: false,
            to_sync: 0,
            under_way: HashSet::new(),
            checks,
        }
    }

    /// The next request, which is [finished](Self::finished) some time. `reads` and `writes` are those that have been done;
    /// `draw` gives numbers from 0 to less than 1.
    pub fn next(&mut self, (reads, writes): (u64, u64), draw: &mut dyn FnMut() -> f64) -> Request {
        let operation = match self.mode {
            Mode::Write | Mode::Rewrite | Mode::RandomWrite => Operation::Write,
            Mode::Read | Mode::RandomRead => Operation::Read,
            Mode::RandomBoth => match ((reads + 1) as f64) / ((writes + 1) as f64) < self.ratio {
                true => Operation::Read,
                false => Operation::Write,
            },
        };
        // One file with each request, until all of them are synced.
        if self.sync_every != 0 && self.dirty && self.performed.is_multiple_of(self.sync_every) {
            let file = self.to_sync;
            self.to_sync = (file + 1) % self.files;
            self.dirty = self.to_sync != 0;
            return Request {
                operation: Operation::Sync,
                file,
                offset: 0,
                size: 0,
            };
        }
        self.performed += 1;
        self.dirty |= operation == Operation::Write;
        let (file, offset, size) = match self.mode.is_random() {
            true => self.somewhere(draw),
            false => self.onwards(),
        };
        Request {
            operation,
            file,
            offset,
            size,
        }
    }

    /// The next piece, from the first file to the last and over again.
    fn onwards(&mut self) -> (usize, u64, u64) {
        let (file, offset) = self.current;
        let size = self.request_size.min(self.file_size - offset);
        self.current = match offset + size == self.file_size {
            true => ((file + 1) % self.files, 0),
            false => (file, offset + size),
        };
        (file, offset, size)
    }

    /// Any block that is not under way.
    fn somewhere(&mut self, draw: &mut dyn FnMut() -> f64) -> (usize, u64, u64) {
        loop {
            let place = (draw() * self.total_size as f64) as u64;
            let place = place - place % self.block_size;
            let (file, offset) = ((place / self.file_size) as usize, place % self.file_size);
            if self.checks && !self.under_way.insert((file, offset)) {
                continue;
            }
            return (file, offset, self.block_size.min(self.file_size - offset));
        }
    }

    /// A request is done: its block may be had again.
    pub fn finished(&mut self, request: Request) {
        if self.checks {
            self.under_way.remove(&(request.file, request.offset));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::options::{FileOptions, OPTIONS};
    use super::*;
    use crate::values::Values;

    fn requests(mode: &str, words: &[(&str, &str)], checks: bool) -> Requests {
        let mut values = Values::default();
        values.define(OPTIONS);
        values.set("file-test-mode", Some(mode)).unwrap();
        for (name, value) in words {
            values.set(name, Some(value)).unwrap();
        }
        let options = FileOptions::read(&values, true).unwrap();
        Requests::new(&options, options.mode.unwrap(), checks)
    }

    #[test]
    fn sequential_requests_go_through_all_files_and_begin_again() {
        let words = [
            ("file-num", "2"),
            ("file-total-size", "80K"),
            ("file-block-size", "16384"),
        ];
        let mut requests = requests("seqrd", &words, true);
        let mut next = || requests.next((0, 0), &mut || 0.0);
        let taken: Vec<(usize, u64, u64)> = (0..7)
            .map(|_| next())
            .map(|request| (request.file, request.offset, request.size))
            .collect();
        let k = 1024;
        assert_eq!(
            taken,
            [
                (0, 0, 16 * k),
                (0, 16 * k, 16 * k),
                (0, 32 * k, 8 * k),
                (1, 0, 16 * k),
                (1, 16 * k, 16 * k),
                (1, 32 * k, 8 * k),
                (0, 0, 16 * k),
            ]
        );
    }

    #[test]
    fn files_are_synced_one_after_the_other() {
        let words = [
            ("file-num", "2"),
            ("file-total-size", "1M"),
            ("file-fsync-freq", "3"),
        ];
        let mut requests = requests("rndwr", &words, false);
        let operations: Vec<Operation> = (0..10)
            .map(|_| requests.next((0, 0), &mut || 0.5).operation)
            .collect();
        use Operation::{Sync, Write};
        assert_eq!(
            operations,
            [
                Write, Write, Write, Sync, Sync, Write, Write, Write, Sync, Sync
            ]
        );
    }

    #[test]
    fn the_ratio_is_kept() {
        let mut requests = requests("rndrw", &[("file-fsync-freq", "0")], false);
        let (mut reads, mut writes) = (0, 0);
        for _ in 0..1000 {
            match requests.next((reads, writes), &mut || 0.25).operation {
                Operation::Read => reads += 1,
                _ => writes += 1,
            }
        }
        assert!(
            (595..=605).contains(&reads),
            "{reads} reads, {writes} writes"
        );
    }

    #[test]
    fn no_two_requests_have_the_same_block_while_contents_are_checked() {
        let words = [
            ("file-num", "1"),
            ("file-total-size", "64K"),
            ("file-fsync-freq", "0"),
        ];
        let mut requests = requests("rndrw", &words, true);
        let first = requests.next((0, 0), &mut || 0.0);
        let mut draws = [0.0, 0.0, 0.99].into_iter();
        let second = requests.next((0, 0), &mut || draws.next().unwrap());
        assert_eq!((first.offset, second.offset), (0, 3 * 16_384));
        // A thread may have several under way: it is the request that has the block.
        let mut draws = [0.99, 0.0, 0.5].into_iter();
        let third = requests.next((0, 0), &mut || draws.next().unwrap());
        assert_eq!(third.offset, 2 * 16_384);
        requests.finished(first);
        assert_eq!(requests.next((0, 0), &mut || 0.0).offset, 0);
    }

    #[test]
    fn blocks_may_go_beyond_what_is_left_of_a_file() {
        let words = [
            ("file-num", "128"),
            ("file-total-size", "1M"),
            ("file-block-size", "4097"),
        ];
        let mut requests = requests("rndrd", &words, false);
        for step in 0..1000 {
            let request = requests.next((0, 0), &mut || f64::from(step) / 1000.0);
            assert!(
                request.file < 128 && request.offset + request.size <= 8192,
                "{request:?}"
            );
        }
    }
}
