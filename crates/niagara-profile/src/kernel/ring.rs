//! Perf events of some threads or CPUs, and a thread that empties their buffers.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use niagara_error::{Remedy as _, problem};
use perf_event::data::Record;
use perf_event::events::{Software, Tracepoint};
use perf_event::{Builder, Clock, SampleFlag, Sampler};

use crate::stop::Stop;

/// Bytes of a thread's stack that are copied with a sample: enough for a statement's, and well below the 64 KB that a
/// record can hold.
pub(crate) const STACK_BYTES: u32 = 16 << 10;
/// The largest buffer of any event, in bytes.
const MAX_BUFFER: usize = 4 << 20;
/// The smallest: a record with its stack has to fit.
const MIN_BUFFER: usize = 32 << 10;
/// The most bytes that are kept of samples while events are open, all of them together: thirty thousand stacks. Of more every
/// other one is given up. The records of context switches are not counted: they are small.
const MOST_KEPT: usize = 512 << 20;
/// The golden ratio's fraction of 2^64: its multiples lie in 0..2^64 as evenly as can be, and so do those of every second,
/// third, … number. A choice by them is of no period that the load, the CPUs or the drains could have as well.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
/// How often the buffers are emptied.
const DRAIN: Duration = Duration::from_millis(20);

#[cfg(target_arch = "x86_64")]
mod registers {
    /// `PERF_REG_X86_BP`, `SP`, `IP`, in the order in which a record holds them.
    pub(crate) const MASK: u64 = 1 << 6 | 1 << 7 | 1 << 8;
    /// Where the stack pointer is among them.
    pub(crate) const STACK_POINTER: usize = 1;
}
#[cfg(target_arch = "aarch64")]
mod registers {
    /// `PERF_REG_ARM64_X29`, `LR`, `SP`, `PC`, in the order in which a record holds them.
    pub(crate) const MASK: u64 = 1 << 29 | 1 << 30 | 1 << 31 | 1 << 32;
    /// Where the stack pointer is among them.
    pub(crate) const STACK_POINTER: usize = 2;
}
pub(crate) use registers::STACK_POINTER;

/// What is to be recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Event {
    /// So many samples a second of whatever runs on a CPU, idle time too.
    Machine(usize, u64),
    /// So many samples a second of a thread while it runs; without the kernel's share where the flag says so.
    Clock(i32, u64, bool),
    /// A thread's context switches, one in this many with the stack it left.
    Switches(i32, u64),
    /// Each passing of a thread through a tracepoint, with its fields.
    Trace(i32, u64),
}

impl Event {
    fn builder(self) -> Builder<'static> {
        let base = SampleFlag::TID | SampleFlag::TIME;
        let stack = SampleFlag::CALLCHAIN | SampleFlag::REGS_USER | SampleFlag::STACK_USER;
        let mut builder = match self {
            Event::Machine(..) | Event::Clock(..) => Builder::new(Software::CPU_CLOCK),
            Event::Switches(..) => Builder::new(Software::CONTEXT_SWITCHES),
            Event::Trace(_, id) => Builder::new(Tracepoint::with_id(id)),
        };
        builder
            .sample(base)
            .sample_id_all(true)
            .clockid(Clock::MONOTONIC)
            .include_kernel()
            .enabled(false);
        if !matches!(self, Event::Trace(..)) {
            builder
                .sample(stack)
                // User frames come from the copy of the stack: packaged servers keep no frame pointers.
                .exclude_callchain_user(true)
                .sample_regs_user(registers::MASK)
                .sample_stack_user(STACK_BYTES);
        }
        match self {
            Event::Machine(cpu, frequency) => {
                builder.any_pid().one_cpu(cpu).sample_frequency(frequency);
            }
            Event::Clock(thread, frequency, user_only) => {
                builder
                    .observe_pid(thread)
                    .any_cpu()
                    .sample_frequency(frequency)
                    .exclude_kernel(user_only);
            }
            Event::Switches(thread, period) => {
                builder
                    .observe_pid(thread)
                    .any_cpu()
                    .sample_period(period)
                    .context_switch(true);
            }
            Event::Trace(thread, _) => {
                builder
                    .observe_pid(thread)
                    .any_cpu()
                    .sample_period(1)
                    .sample(SampleFlag::RAW);
            }
        }
        builder
    }

    /// The most samples a second that the kernel takes, where that is fewer than these.
    fn too_often(self, most: Option<u64>) -> Option<u64> {
        match self {
            Event::Machine(_, frequency) | Event::Clock(_, frequency, _) => {
                most.filter(|&most| most < frequency)
            }
            Event::Switches(..) | Event::Trace(..) => None,
        }
    }

    /// Bytes of the buffer: a few drains' worth of records.
    fn buffer(self) -> usize {
        match self {
            Event::Machine(..) => MAX_BUFFER,
            Event::Clock(..) | Event::Trace(..) => 512 << 10,
            Event::Switches(..) => 2 << 20,
        }
    }
}

/// One record of a sampled event.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sampled {
    /// Process and thread; 0 is a CPU that idles.
    pub process: i32,
    /// The thread.
    pub thread: i32,
    /// Nanoseconds of `CLOCK_MONOTONIC`.
    pub time: u64,
    /// The kernel's frames, innermost first; empty when the thread was in user space.
    pub kernel: Vec<u64>,
    /// The user registers that unwinding needs; empty for a kernel thread.
    pub registers: Vec<u64>,
    /// The stack, from the stack pointer upwards.
    pub stack: Vec<u8>,
    /// A tracepoint's fields.
    pub fields: Vec<u8>,
    /// Its lot, by which it is kept or not where there is no room for all: those with the greatest go first.
    pub lot: u64,
}

/// One record.
#[derive(Debug, Clone)]
pub(crate) enum Raw {
    /// A sample.
    Sample(Sampled),
    /// A thread leaves its CPU at `time`; `preempted` when it could have continued.
    Leaves {
        /// Nanoseconds of `CLOCK_MONOTONIC`.
        time: u64,
        /// It did not wait for anything.
        preempted: bool,
    },
    /// A thread is on a CPU again.
    Returns {
        /// Nanoseconds of `CLOCK_MONOTONIC`.
        time: u64,
    },
    /// So many records did not fit into the buffer, or were more than is kept.
    Lost(u64),
}

impl Sampled {
    /// Bytes that it takes.
    fn bytes(&self) -> usize {
        let words = self.kernel.len() + self.registers.len();
        size_of::<Raw>() + words * size_of::<u64>() + self.stack.len() + self.fields.len()
    }
}

/// What was recorded.
#[derive(Debug)]
pub(crate) struct Recorded {
    /// Of each event that was asked for, in the order in which they happened.
    pub records: Vec<Vec<Raw>>,
    /// How many samples each of these stands for: more than one where there was no room for all.
    pub weight: u64,
}

/// Open events, recording since they were opened.
#[derive(Debug)]
pub(crate) struct Rings {
    stop: Stop,
    /// How many events were asked for, and the places among them of those that are open.
    events: usize,
    open: Vec<usize>,
    drainer: JoinHandle<Recorded>,
}

/// The kernel's number for `PERF_RECORD_SWITCH`, which the parser does not know.
const SWITCH: u32 = 14;
/// The bits of a record's header that the kernel names `PERF_RECORD_MISC_SWITCH_OUT` and `…_PREEMPT`.
const SWITCH_OUT: u16 = 1 << 13;
const SWITCH_OUT_PREEMPT: u16 = 1 << 14;
/// The markers that a kernel's call chain begins with.
const CONTEXT_MARKERS: u64 = -4095_i64 as u64;

impl Rings {
    /// Opens the events and begins to record. A thread that has ended meanwhile is left out. Stacks are kept of one process
    /// alone, where one is named: of the others it is known that they ran, and where in the kernel.
    ///
    /// # Errors
    /// The kernel refuses an event.
    pub fn open(events: &[Event], stacks_of: Option<i32>) -> Result<Rings> {
        let mut size = MAX_BUFFER;
        let mut samplers = loop {
            match samplers(events, size)? {
                Some(samplers) => break samplers,
                // What a user may lock is shared by all buffers: smaller ones hold less between two drains, no more.
                None => size /= 2,
            }
        };
        for (_, sampler) in &mut samplers {
            sampler.as_counter_mut().enable()?;
        }
        let (open, samplers) = samplers.into_iter().unzip();
        let stop = Stop::default();
        let told = stop.flag();
        let kept = Kept {
            thins: !events.iter().any(|one| matches!(one, Event::Trace(..))),
            ..Kept::new(stacks_of, MOST_KEPT)
        };
        let drainer = std::thread::Builder::new()
            .name("perf".to_owned())
            .spawn(move || drain_until(samplers, kept, &told))?;
        Ok(Rings {
            stop,
            events: events.len(),
            open,
            drainer,
        })
    }

    /// Ends the recording.
    ///
    /// # Errors
    /// The thread that empties the buffers has ended.
    pub fn close(self) -> Result<Recorded> {
        drop(self.stop);
        let recorded = self
            .drainer
            .join()
            .map_err(|_| anyhow!("the thread that reads perf events has ended with a panic"))?;
        let mut all = vec![Vec::new(); self.events];
        for (place, records) in self.open.into_iter().zip(recorded.records) {
            all[place] = records;
        }
        Ok(Recorded {
            records: all,
            ..recorded
        })
    }
}

/// How many samples a second the kernel takes at most, where it tells.
fn max_sample_rate() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/sys/kernel/perf_event_max_sample_rate").ok()?;
    text.trim().parse().ok()
}

/// The events with buffers of at most `size` bytes, each with its place; `None` when that is more than this user may lock, and less is
/// possible.
fn samplers(events: &[Event], size: usize) -> Result<Option<Vec<(usize, Sampler)>>> {
    let mut samplers = Vec::with_capacity(events.len());
    for (place, &event) in events.iter().enumerate() {
        let counter = match event.builder().build() {
            Ok(counter) => counter,
            Err(error) if error.raw_os_error() == Some(libc::ESRCH) => continue,
            Err(error) => {
                let is_invalid = error.raw_os_error() == Some(libc::EINVAL);
                let most = max_sample_rate().filter(|_| is_invalid);
                let remedy = match event.too_often(most) {
                    Some(most) => format!(
                        "kernel.perf_event_max_sample_rate is {most}, which the kernel lowers by itself where samples \
                         took it too long: set it to 1000 or more (`sysctl`)"
                    ),
                    None => {
                        "see kernel.perf_event_paranoid and the limit of open files (ulimit -n)"
                            .to_owned()
                    }
                };
                let told = problem!("the kernel refuses a perf event ({event:?})");
                return Err(told.because(error).remedy(remedy).into());
            }
        };
        match counter.sampled(event.buffer().min(size)) {
            Ok(sampler) => samplers.push((place, sampler)),
            Err(error) if error.raw_os_error() == Some(libc::EPERM) && size > MIN_BUFFER => {
                return Ok(None);
            }
            Err(error) => {
                return Err(anyhow!(error))
                    .with_context(|| {
                        format!(
                            "the kernel refuses buffers for {} perf events",
                            events.len()
                        )
                    })
                    .remedy(
                        "see kernel.perf_event_mlock_kb and the limit of locked memory (ulimit -l)",
                    );
            }
        }
    }
    Ok(Some(samplers))
}

/// What is kept of the samples.
struct Kept {
    /// The process whose stacks are; of all, where none is named.
    stacks_of: Option<i32>,
    /// Bytes that there is room for.
    room: usize,
    /// Bytes of those that are kept.
    taken: usize,
    /// Where there is no room for all, they are [thinned](Self::thin). Not those of tracepoints, whose records are halves of a
    /// call: then what comes later is lost.
    thins: bool,
    /// How often they were.
    thinned: u32,
    /// Samples so far.
    met: u64,
}

impl Kept {
    fn new(stacks_of: Option<i32>, room: usize) -> Kept {
        Kept {
            stacks_of,
            room,
            taken: 0,
            thins: true,
            thinned: 0,
            met: 0,
        }
    }

    /// Whether the stacks of a process are kept.
    fn has_stacks_of(&self, process: i32) -> bool {
        self.stacks_of.is_none_or(|one| one == process)
    }

    /// How many samples each of those kept stands for.
    fn weight(&self) -> u64 {
        1 << self.thinned
    }

    /// The greatest lot that is kept.
    fn greatest(&self) -> u64 {
        u64::MAX >> self.thinned
    }

    /// Keeps a sample, if it is one of those that are; where later ones are lost, as long as there is room.
    fn keep(&mut self, mut sample: Sampled, records: &mut Vec<Raw>) {
        self.met += 1;
        sample.lot = self.met.wrapping_mul(GOLDEN);
        if sample.lot > self.greatest() {
            return;
        }
        let taken = self.taken.saturating_add(sample.bytes());
        if self.thins || taken <= self.room {
            self.taken = taken;
            records.push(Raw::Sample(sample));
            return;
        }
        self.taken = self.room;
        match records.last_mut() {
            Some(Raw::Lost(lost)) => *lost += 1,
            _ => records.push(Raw::Lost(1)),
        }
    }

    /// Where more is kept than there is room for, every other sample is given up, of the whole time alike: cut off at its end
    /// a long look would show nothing but its beginning.
    fn thin(&mut self, records: &mut [Vec<Raw>]) {
        // Lots have 64 bits.
        if !self.thins || self.taken <= self.room || self.thinned == u64::BITS - 1 {
            return;
        }
        self.thinned += 1;
        let greatest = self.greatest();
        let mut taken = 0;
        for records in records {
            records.retain(|record| match record {
                Raw::Sample(sample) if sample.lot > greatest => false,
                Raw::Sample(sample) => {
                    taken += sample.bytes();
                    true
                }
                _ => true,
            });
        }
        self.taken = taken;
    }
}

fn drain_until(mut samplers: Vec<Sampler>, mut kept: Kept, stop: &AtomicBool) -> Recorded {
    let mut records: Vec<Vec<Raw>> = vec![Vec::new(); samplers.len()];
    loop {
        let last = stop.load(Ordering::Relaxed);
        for (place, sampler) in samplers.iter_mut().enumerate() {
            if last {
                let _ = sampler.as_counter_mut().disable();
            }
            drain(sampler, &mut kept, &mut records[place]);
            // After each: a drain is no more than a buffer's worth, but there may be hundreds of buffers.
            kept.thin(&mut records);
        }
        if last {
            return Recorded {
                records,
                weight: kept.weight(),
            };
        }
        std::thread::sleep(DRAIN);
    }
}

/// A context switch: the record holds nothing but what every record ends with: process, thread and time.
fn switch(misc: u16, data: &[u8]) -> Option<Raw> {
    let time = u64::from_ne_bytes(data.get(8..16)?.try_into().ok()?);
    Some(if misc & SWITCH_OUT != 0 {
        Raw::Leaves {
            time,
            preempted: misc & SWITCH_OUT_PREEMPT != 0,
        }
    } else {
        Raw::Returns { time }
    })
}

fn drain(sampler: &mut Sampler, kept: &mut Kept, records: &mut Vec<Raw>) {
    while let Some(record) = sampler.next_record() {
        if record.ty() == SWITCH {
            records.extend(switch(record.misc(), &record.to_contiguous()));
            continue;
        }
        match record.parse_record() {
            Ok(Record::Sample(sample)) => {
                let process = sample.pid().unwrap_or_default() as i32;
                let has_stack = kept.has_stacks_of(process);
                let slice = |values: Option<&[u64]>| values.unwrap_or_default().to_vec();
                let bytes = |values: Option<&[u8]>| values.unwrap_or_default().to_vec();
                let registers = sample.regs_user().filter(|_| has_stack);
                let found = Sampled {
                    process,
                    thread: sample.tid().unwrap_or_default() as i32,
                    time: sample.time().unwrap_or_default(),
                    // Of all processes: it tells what was an interrupt, and is short.
                    kernel: sample
                        .callchain()
                        .unwrap_or_default()
                        .iter()
                        .copied()
                        .filter(|&address| address < CONTEXT_MARKERS)
                        .collect(),
                    registers: slice(registers.map(|registers| &*registers.regs)),
                    stack: bytes(sample.stack_user().filter(|_| has_stack)),
                    fields: bytes(sample.raw()),
                    lot: 0,
                };
                kept.keep(found, records);
            }
            Ok(Record::Lost(lost)) => records.push(Raw::Lost(lost.lost)),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::{Access, Reach};

    #[test]
    fn waits_of_a_thread_are_seen_with_their_stacks() {
        let (tell, told) = std::sync::mpsc::channel();
        let sleeper = std::thread::spawn(move || {
            tell.send(nix::unistd::gettid().as_raw()).unwrap();
            for _ in 0..50 {
                std::thread::sleep(Duration::from_millis(2));
            }
        });
        let rings = Rings::open(&[Event::Switches(told.recv().unwrap(), 1)], None);
        let access = Access::probe();
        let rings = match rings {
            Ok(rings) => rings,
            Err(error) => {
                assert!(access.reach < Reach::Kernel, "{error:#}");
                return;
            }
        };
        sleeper.join().unwrap();
        let records = rings.close().unwrap().records.concat();
        let leaves = records.iter().filter(|record| {
            matches!(
                record,
                Raw::Leaves {
                    preempted: false,
                    ..
                }
            )
        });
        let returns = records
            .iter()
            .filter(|record| matches!(record, Raw::Returns { .. }));
        let stacks = records.iter().filter(
            |record| matches!(record, Raw::Sample(sample) if !sample.stack.is_empty() && !sample.kernel.is_empty()),
        );
        let seen = (leaves.count(), returns.count(), stacks.count());
        assert!(seen.0 >= 10 && seen.1 >= 10 && seen.2 >= 10, "{seen:?}");
    }

    fn sample(time: u64, stack: usize) -> Sampled {
        Sampled {
            time,
            stack: vec![0; stack],
            ..Sampled::default()
        }
    }

    #[test]
    fn what_there_is_no_room_for_is_given_up_evenly() {
        let mut kept = Kept::new(None, 100 * sample(0, 100).bytes());
        // Two rings, whose buffers hold five samples between two drains; each has a record of another kind.
        let mut records = vec![vec![Raw::Returns { time: 1 }]; 2];
        for time in 0..10_000 {
            let ring = (time / 5 % 2) as usize;
            kept.keep(sample(time, 100), &mut records[ring]);
            if time % 5 == 4 {
                kept.thin(&mut records);
            }
        }
        assert!(kept.taken <= kept.room);
        assert_eq!(kept.weight(), 128);
        let times: Vec<u64> = records
            .iter()
            .flatten()
            .filter_map(|record| match record {
                Raw::Sample(sample) => Some(sample.time),
                _ => None,
            })
            .collect();
        // Nothing counts as lost, and what is no sample stays.
        assert_eq!(records.concat().len(), times.len() + 2);
        let part = |is: &dyn Fn(u64) -> bool| {
            let count = times.iter().filter(|&&time| is(time)).count() as u64;
            (count * kept.weight()) as f64
        };
        let near = |found: f64, wanted: f64| {
            assert!((found / wanted - 1.0).abs() < 0.25, "{found}, not {wanted}");
        };
        near(part(&|_| true), 10_000.0);
        // Every quarter of the time, both rings, and each place in a transaction of four statements.
        for number in 0..4 {
            near(part(&|time| time / 2_500 == number), 2_500.0);
            near(part(&|time| time % 4 == number), 2_500.0);
        }
        near(part(&|time| time / 5 % 2 == 0), 5_000.0);
    }

    #[test]
    fn halves_of_calls_that_there_is_no_room_for_are_lost() {
        let mut kept = Kept {
            thins: false,
            ..Kept::new(None, 2 * sample(0, 1000).bytes() + 10)
        };
        let mut records = vec![Vec::new()];
        for time in 0..5 {
            kept.keep(sample(time, 1000), &mut records[0]);
            kept.thin(&mut records);
        }
        assert!(
            matches!(
                &records[0][..],
                [Raw::Sample(_), Raw::Sample(_), Raw::Lost(3)]
            ),
            "{records:?}"
        );
        // A small one that would fit behind a large one that did not: what is kept ends there.
        records[0].push(Raw::Returns { time: 1 });
        kept.keep(sample(5, 0), &mut records[0]);
        assert!(
            matches!(records[0].last(), Some(Raw::Lost(1))),
            "{records:?}"
        );
    }

    #[test]
    fn stacks_of_other_processes_are_not_kept() {
        let kept = |stacks_of| Kept::new(stacks_of, 0);
        assert!(kept(Some(7)).has_stacks_of(7) && !kept(Some(7)).has_stacks_of(8));
        assert!(kept(None).has_stacks_of(8));
    }

    #[test]
    fn a_refused_rate_is_told_as_such() {
        let clock = Event::Clock(1, 397, false);
        assert_eq!(clock.too_often(Some(250)), Some(250));
        assert_eq!(clock.too_often(Some(100_000)), None);
        assert_eq!(clock.too_often(None), None);
        assert_eq!(Event::Switches(1, 397).too_often(Some(250)), None);
    }

    #[test]
    fn a_record_of_a_switch_is_read() {
        let mut data = Vec::new();
        data.extend_from_slice(&7_u32.to_ne_bytes());
        data.extend_from_slice(&8_u32.to_ne_bytes());
        data.extend_from_slice(&9_u64.to_ne_bytes());
        let read = |misc| switch(misc, &data);
        assert!(matches!(read(0), Some(Raw::Returns { time: 9 })));
        assert!(matches!(
            read(SWITCH_OUT),
            Some(Raw::Leaves {
                preempted: false,
                ..
            })
        ));
        assert!(matches!(
            read(SWITCH_OUT | SWITCH_OUT_PREEMPT),
            Some(Raw::Leaves {
                preempted: true,
                ..
            })
        ));
        assert!(switch(0, &data[..10]).is_none());
    }
}
