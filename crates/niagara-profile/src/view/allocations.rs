//! Calls of the allocator, counted by a library that is preloaded into the server: no root, no tracing.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow};

use crate::folded::{Frame, Place};
use crate::kernel::Sampled;
use crate::layer::Layers;
use crate::process::Unwinder;
use crate::result::{AllocationSite, Allocations};
use crate::stop::Stop;
use crate::symbols::Symbolizer;

/// The library, built from `shim/alloc.rs`.
const LIBRARY: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/libniagara_alloc.so"));
/// Calls per stack that is observed, on average, until it is known how many calls there are.
const FIRST_PERIOD: u64 = 101;
/// Stacks per second that are observed.
const STACKS_PER_SECOND: f64 = 500.0;
/// How often the records are taken.
const DRAIN: Duration = Duration::from_millis(10);
/// Functions that name a place.
const SITE_DEPTH: usize = 4;
/// What a record is, as `shim/alloc.rs` says it: an allocation otherwise.
const FREED_IN_TIME: u64 = 1;
const LOST_SIGHT_OF: u64 = 2;
/// Frames of this layer are the allocator's and its wrappers', not who called them.
const ALLOCATOR_LAYER: &str = "memory";

/// The shared file, as `shim/alloc.rs` lays it out.
mod layout {
    pub(crate) const ENABLED: u64 = 0;
    pub(crate) const PERIOD: u64 = 4;
    pub const HEAD: u64 = 16;
    pub const TAIL: u64 = 24;
    pub(crate) const LOST: u64 = 32;
    pub const SLOTS: u64 = 64;
    pub(crate) const SLOT: u64 = 64;
    pub(crate) const SLOT_COUNT: u64 = 4096;
    pub const RECORDS: u64 = SLOTS + SLOT * SLOT_COUNT;
    pub(crate) const RECORD_COUNT: u64 = 512;
    pub const STACK: u64 = 16 << 10;
    pub const RECORD: u64 = 80 + STACK;
    pub const BYTES: u64 = (RECORDS + RECORD * RECORD_COUNT).next_multiple_of(64);
}

/// The library and the file that it writes to, in a folder.
#[derive(Debug)]
pub struct AllocationProbe {
    library: PathBuf,
    shared: PathBuf,
    file: Arc<File>,
}

impl AllocationProbe {
    /// Puts both into `folder`, which has to stay while the server runs.
    ///
    /// # Errors
    /// The folder cannot be written to.
    pub fn new(folder: &Path) -> Result<AllocationProbe> {
        let library = folder.join("libniagara_alloc.so");
        let shared = folder.join("allocations");
        fs::write(&library, LIBRARY)
            .with_context(|| format!("cannot write {}", library.display()))?;
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&shared)
            .and_then(|file| file.set_len(layout::BYTES).map(|()| file))
            .with_context(|| format!("cannot write {}", shared.display()))?;
        Ok(AllocationProbe {
            library,
            shared,
            file: Arc::new(file),
        })
    }

    /// The variables that a server is started with to be counted; `preload` is what it would preload anyway.
    pub fn environment(&self, preload: Option<&str>) -> [(String, String); 2] {
        let mut libraries = self.library.display().to_string();
        if let Some(more) = preload.filter(|more| !more.is_empty()) {
            libraries = format!("{libraries}:{more}");
        }
        [
            ("LD_PRELOAD".to_owned(), libraries),
            (
                "NIAGARA_ALLOCATIONS".to_owned(),
                self.shared.display().to_string(),
            ),
        ]
    }
}

#[derive(Debug, Clone, Copy, Default)]
struct Counts {
    calls: u64,
    frees: u64,
    bytes: u64,
}

/// A sampled allocation.
struct Sample {
    number: u64,
    size: u64,
    stack: Sampled,
}

/// A sampled allocation of a call site, with the calls it stands for.
struct Weighed {
    number: u64,
    size: u64,
    calls: f64,
}

struct Open {
    stop: Stop,
    reader: JoinHandle<Result<Taken>>,
    before: Counts,
    since: Instant,
}

#[derive(Default)]
struct Taken {
    samples: Vec<Sample>,
    paired: Vec<u64>,
    /// Of which nobody knows whether they were freed in time.
    unknown: Vec<u64>,
}

/// Allocations of a server while it is switched on.
pub struct AllocationView<'a> {
    file: Arc<File>,
    unwinder: &'a mut Unwinder,
    symbolizer: &'a Symbolizer,
    layers: Layers,
    open: Option<Open>,
    period: u64,
    counts: Counts,
    sites: BTreeMap<Vec<String>, Vec<Weighed>>,
    paired: BTreeSet<u64>,
    unknown: BTreeSet<u64>,
    sampled: u64,
    /// Those of them whose stack could not be copied.
    stackless: u64,
}

impl<'a> AllocationView<'a> {
    /// A view of the server that was started with `probe`, switched off.
    ///
    /// # Errors
    /// The layers cannot be read.
    pub fn new(
        probe: &AllocationProbe,
        unwinder: &'a mut Unwinder,
        symbolizer: &'a Symbolizer,
    ) -> Result<AllocationView<'a>> {
        Ok(AllocationView {
            file: Arc::clone(&probe.file),
            unwinder,
            symbolizer,
            layers: Layers::built_in()?,
            open: None,
            period: FIRST_PERIOD,
            counts: Counts::default(),
            sites: BTreeMap::new(),
            paired: BTreeSet::new(),
            unknown: BTreeSet::new(),
            sampled: 0,
            stackless: 0,
        })
    }

    /// Begins to count.
    ///
    /// # Errors
    /// The file cannot be read or written.
    pub fn on(&mut self) -> Result<()> {
        let before = counts(&self.file)?;
        let period = u32::try_from(self.period).unwrap_or(u32::MAX);
        self.file
            .write_all_at(&period.to_ne_bytes(), layout::PERIOD)?;
        self.file
            .write_all_at(&1_u32.to_ne_bytes(), layout::ENABLED)?;
        let stop = Stop::default();
        let (told, file) = (stop.flag(), Arc::clone(&self.file));
        let reader = std::thread::Builder::new()
            .name("allocations".to_owned())
            .spawn(move || take_until(&file, &told))?;
        self.open = Some(Open {
            stop,
            reader,
            before,
            since: Instant::now(),
        });
        Ok(())
    }

    /// Stops counting and adds up.
    ///
    /// # Errors
    /// The file cannot be read or written.
    pub fn off(&mut self) -> Result<()> {
        let Some(Open {
            stop,
            reader,
            before,
            since,
        }) = self.open.take()
        else {
            return Ok(());
        };
        let seconds = since.elapsed().as_secs_f64();
        self.file
            .write_all_at(&0_u32.to_ne_bytes(), layout::ENABLED)?;
        drop(stop);
        let taken = reader
            .join()
            .map_err(|_| anyhow!("the thread that reads allocations has ended with a panic"))??;
        let now = counts(&self.file)?;
        let calls = now.calls.saturating_sub(before.calls) as f64;
        // Every sample of a slice stands for as many calls, those that were lost too.
        let weight = calls / taken.samples.len().max(1) as f64;
        self.period = ((calls / seconds / STACKS_PER_SECOND) as u64).max(1);
        self.counts.calls += now.calls.saturating_sub(before.calls);
        self.counts.frees += now.frees.saturating_sub(before.frees);
        self.counts.bytes += now.bytes.saturating_sub(before.bytes);
        self.paired.extend(taken.paired);
        self.unknown.extend(taken.unknown);
        for sample in taken.samples {
            self.stackless += u64::from(sample.stack.stack.is_empty());
            let site = self.site(&sample.stack);
            self.sites.entry(site).or_default().push(Weighed {
                number: sample.number,
                size: sample.size,
                calls: weight,
            });
            self.sampled += 1;
        }
        Ok(())
    }

    /// Who asked: the innermost functions that are not the allocator's or its wrappers'.
    fn site(&mut self, stack: &Sampled) -> Vec<String> {
        let frames: Vec<Frame> = self
            .unwinder
            .unwind(stack)
            .addresses
            .iter()
            .map(|address| self.symbolizer.user(*address))
            .collect();
        let asks = |frame: &Frame| {
            frame.place == Place::Server && self.layers.of(&[frame]).id != ALLOCATOR_LAYER
        };
        // A library that allocates for the server is named with who called it.
        let named: Vec<String> = frames
            .iter()
            .skip_while(|frame| !asks(frame))
            .filter(|frame| frame.named || frame.place == Place::Server)
            .take(SITE_DEPTH)
            .map(|frame| frame.name.clone())
            .collect();
        match named.is_empty() {
            true => vec!["[unknown]".to_owned()],
            false => named,
        }
    }

    /// What was seen, for this many queries.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn finish(self, queries: u64) -> Result<(Allocations, u64)> {
        let lost = word(&self.file, layout::LOST)?;
        let per_query = |count: f64| {
            if queries > 0 {
                count / queries as f64
            } else {
                0.0
            }
        };
        let all: f64 = self
            .sites
            .values()
            .flatten()
            .map(|sample| sample.calls)
            .sum();
        let share = |calls: f64| if all > 0.0 { calls / all } else { 0.0 };
        let (mut pairs, mut unknown) = (0.0, 0.0);
        let mut sites: Vec<AllocationSite> = self
            .sites
            .into_iter()
            .map(|(functions, samples)| {
                let sum = |of: &dyn Fn(&Weighed) -> f64| samples.iter().map(of).sum::<f64>();
                let calls = sum(&|sample| sample.calls);
                let of = |numbers: &BTreeSet<u64>| {
                    sum(&|sample| match numbers.contains(&sample.number) {
                        true => sample.calls,
                        false => 0.0,
                    })
                };
                let (paired, not_known) = (of(&self.paired), of(&self.unknown));
                pairs += paired;
                unknown += not_known;
                // The calls that were lost sight of are taken to end as the others of the place do.
                let known = calls - not_known;
                let paired = match known > 0.0 {
                    true => paired * calls / known,
                    false => 0.0,
                };
                AllocationSite {
                    functions,
                    calls_per_query: per_query(calls),
                    bytes_per_query: per_query(sum(&|sample| sample.calls * sample.size as f64)),
                    pairs_per_query: per_query(paired),
                    share: share(calls),
                }
            })
            .collect();
        sites.sort_by(|a, b| {
            b.pairs_per_query
                .total_cmp(&a.pairs_per_query)
                .then(b.calls_per_query.total_cmp(&a.calls_per_query))
        });
        let found = Allocations {
            calls_per_query: per_query(self.counts.calls as f64),
            frees_per_query: per_query(self.counts.frees as f64),
            bytes_per_query: per_query(self.counts.bytes as f64),
            sampled: self.sampled,
            paired_share: match all > unknown {
                true => pairs / (all - unknown),
                false => 0.0,
            },
            unknown_share: share(unknown),
            stackless_share: self.stackless as f64 / self.sampled.max(1) as f64,
            sites,
        };
        Ok((found, lost))
    }
}

fn word(file: &File, at: u64) -> Result<u64> {
    let mut bytes = [0; 8];
    file.read_exact_at(&mut bytes, at)?;
    Ok(u64::from_ne_bytes(bytes))
}

/// The sum of all threads' counters.
fn counts(file: &File) -> Result<Counts> {
    let mut bytes = vec![0; (layout::SLOT * layout::SLOT_COUNT) as usize];
    file.read_exact_at(&mut bytes, layout::SLOTS)?;
    let mut sum = Counts::default();
    for slot in bytes.chunks_exact(layout::SLOT as usize) {
        let value = |index: usize| -> u64 {
            let bytes = slot
                .get(8 * index..8 * index + 8)
                .and_then(|bytes| bytes.try_into().ok());
            bytes.map_or(0, u64::from_ne_bytes)
        };
        sum.calls += value(0);
        sum.frees += value(1);
        sum.bytes += value(2);
    }
    Ok(sum)
}

fn take_until(file: &File, stop: &AtomicBool) -> Result<Taken> {
    let mut taken = Taken::default();
    loop {
        let last = stop.load(Ordering::Relaxed);
        take(file, &mut taken)?;
        if last {
            return Ok(taken);
        }
        std::thread::sleep(DRAIN);
    }
}

/// Takes the records that are ready, in order.
fn take(file: &File, taken: &mut Taken) -> Result<()> {
    let (head, mut tail) = (word(file, layout::HEAD)?, word(file, layout::TAIL)?);
    let mut record = vec![0; layout::RECORD as usize];
    while tail < head {
        let at = layout::RECORDS + layout::RECORD * (tail % layout::RECORD_COUNT);
        if word(file, at)? != tail + 1 {
            // Somebody is still writing it.
            break;
        }
        file.read_exact_at(&mut record, at)?;
        read(&record, taken);
        tail += 1;
        file.write_all_at(&tail.to_ne_bytes(), layout::TAIL)?;
    }
    Ok(())
}

fn read(record: &[u8], taken: &mut Taken) {
    let value = |index: usize| -> u64 {
        let bytes = record
            .get(8 * index..8 * index + 8)
            .and_then(|bytes| bytes.try_into().ok());
        bytes.map_or(0, u64::from_ne_bytes)
    };
    let (kind, number, size) = (value(1), value(2), value(3));
    match kind {
        FREED_IN_TIME => {
            taken.paired.push(number);
            return;
        }
        LOST_SIGHT_OF => {
            taken.unknown.push(number);
            return;
        }
        _ => {}
    }
    let [ip, sp, bp] = [value(5), value(6), value(7)];
    let bytes = (value(9).min(layout::STACK)) as usize;
    taken.samples.push(Sample {
        number,
        size,
        stack: Sampled {
            thread: value(4) as i32,
            registers: registers(ip, sp, bp),
            stack: record.get(80..80 + bytes).unwrap_or_default().to_vec(),
            ..Sampled::default()
        },
    });
}

/// In the order in which perf events hold them.
#[cfg(target_arch = "x86_64")]
fn registers(ip: u64, sp: u64, bp: u64) -> Vec<u64> {
    vec![bp, sp, ip]
}
#[cfg(target_arch = "aarch64")]
fn registers(ip: u64, sp: u64, fp: u64) -> Vec<u64> {
    vec![fp, 0, sp, ip]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::symbols::DebugFolders;
    use std::process::{Command, Stdio};

    /// What is seen of perl's allocations while it does this again and again, for a thousand queries.
    fn seen_of(perl: &str) -> Allocations {
        let folder = tempfile::tempdir().unwrap();
        let probe = AllocationProbe::new(folder.path()).unwrap();
        let mut child = Command::new("perl")
            .args([
                "-e",
                &format!("$| = 1; print \"ready\\n\"; while (1) {{ {perl} }}"),
            ])
            .envs(probe.environment(None))
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let pid = child.id() as i32;
        let mut first = [0; 5];
        std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut first).unwrap();
        let mut unwinder = Unwinder::of(pid).unwrap();
        let program = unwinder.mappings()[0].path.clone();
        let symbolizer =
            Symbolizer::new(unwinder.mappings(), &program, &DebugFolders::default()).unwrap();
        let mut view = AllocationView::new(&probe, &mut unwinder, &symbolizer).unwrap();
        view.on().unwrap();
        // Until there is enough: however slow the machine is.
        let enough = |probe: &AllocationProbe| counts(&probe.file).unwrap().calls > 50_000;
        while !enough(&probe) {
            std::thread::sleep(Duration::from_millis(5));
        }
        view.off().unwrap();
        let after = counts(&probe.file).unwrap();
        std::thread::sleep(Duration::from_millis(20));
        assert_eq!(
            counts(&probe.file).unwrap().calls,
            after.calls,
            "off is off"
        );
        let (found, _) = view.finish(1000).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        found
    }

    #[test]
    fn events_of_a_program_are_counted() {
        // A loop that makes strings and forgets them.
        let found = seen_of("my @a = map { \"x\" x 5000 } 1 .. 10;");
        assert!(
            found.sampled > 0 && found.calls_per_query >= 50.0,
            "{found:?}"
        );
        assert!(found.bytes_per_query > found.calls_per_query, "{found:?}");
        assert!(found.paired_share > 0.0, "{found:?}");
        let share: f64 = found.sites.iter().map(|site| site.share).sum();
        assert!((share - 1.0).abs() < 1e-9);
    }

    #[test]
    fn what_a_statement_keeps_in_great_number_is_not_called_unpaired() {
        // Thousands of strings at a time: more of those that are sampled than the library follows.
        let found = seen_of("my @a = map { \"x\" x (100 + $_ % 50) } 1 .. 10_000;");
        assert!(found.unknown_share > 0.0, "{found:?}");
        assert!(found.unknown_share <= 1.0 && found.paired_share <= 1.0);
        assert!(found.stackless_share <= 1.0, "{found:?}");
    }

    #[test]
    fn a_view_that_is_dropped_leaves_no_thread_behind() {
        let folder = tempfile::tempdir().unwrap();
        let probe = AllocationProbe::new(folder.path()).unwrap();
        let mut unwinder = Unwinder::of(std::process::id() as i32).unwrap();
        let program = unwinder.mappings()[0].path.clone();
        let symbolizer =
            Symbolizer::new(unwinder.mappings(), &program, &DebugFolders::default()).unwrap();
        let mut view = AllocationView::new(&probe, &mut unwinder, &symbolizer).unwrap();
        view.on().unwrap();
        drop(view);
        // The file is the probe's alone when the reading thread has ended, whenever that is.
        for _ in 0..3000 {
            if Arc::strong_count(&probe.file) == 1 {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("the thread reads on");
    }

    #[test]
    fn what_is_preloaded_anyway_comes_after() {
        let folder = tempfile::tempdir().unwrap();
        let probe = AllocationProbe::new(folder.path()).unwrap();
        let [(_, preload), _] = probe.environment(Some("/lib/libjemalloc.so.2"));
        assert!(preload.ends_with("libniagara_alloc.so:/lib/libjemalloc.so.2"));
    }
}
