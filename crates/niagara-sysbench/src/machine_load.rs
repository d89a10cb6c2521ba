//! The tests of the machine rather than of a server: processor, memory, scheduler, mutexes. They are programs of the load
//! generator, which counts and reports their events as it does those of scripts.

use std::hint::black_box;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use niagara_load::{
    Endpoint, LoadError, Reply, ScriptInfo, ScriptSource, ScriptThreads, ScriptWorkload,
    TlsOptions, Transport, Want, WorkloadSpec,
};

use crate::command_line::CommandLine;
use crate::failure::Failure;
use crate::job::{Job, OnInterrupt};
use crate::load::{self, Guest};
use crate::log::{Log, print};
use crate::machine_test::MachineTest;
use crate::report::{Cumulative, Interval};
use crate::settings::Settings;
use crate::values::Values;
use crate::without_server::{Thread, Threads, WithoutServer};
use crate::{help, servers};

/// Does what the command line says with a test.
pub fn dispatch(
    test: MachineTest,
    mut line: CommandLine,
    mut settings: Settings,
    log: Log,
    on_interrupt: OnInterrupt<'_>,
) -> Result<ExitCode, Failure> {
    let name = test.name();
    let Some(command) = line.command.clone() else {
        return Err(no_command(name));
    };
    line.read_test_options(&[test.options()])?;
    match command.as_str() {
        "help" => {
            let table = help::table(test.options(), '-');
            print(&format!("{name} options:\n{table}\n"));
            Ok(ExitCode::SUCCESS)
        }
        "run" => {
            let machine = Machine::new(test, &line.values, settings.threads)?;
            settings.events = machine.events(settings.events);
            if test == MachineTest::Mutex || test == MachineTest::Memory && settings.time.is_none()
            {
                settings.time = None;
            }
            let mut guest = MachineGuest(Arc::new(machine));
            run(&mut guest, name, line, settings, log, on_interrupt)
        }
        "prepare" | "cleanup" => Err(Failure::usage(format!(
            "'{name}' test does not implement the '{command}' command."
        ))),
        _ => Err(Failure::usage(format!("Unknown command: {command}"))),
    }
}

/// What is said of a test without a command.
pub fn no_command(name: &str) -> Failure {
    Failure::usage(format!(
        "The '{name}' test requires a command argument. See 'sysbench {name} help'"
    ))
}

/// Runs a test that asks no server.
pub fn run(
    guest: &mut dyn Guest,
    name: &str,
    line: CommandLine,
    settings: Settings,
    log: Log,
    on_interrupt: OnInterrupt<'_>,
) -> Result<ExitCode, Failure> {
    // It has a thread of the system for each of its own, and asks no server.
    let source = ScriptSource {
        path: name.into(),
        text: String::new(),
        modules: std::collections::BTreeMap::new(),
    };
    let info = ScriptInfo {
        blocks: true,
        ..ScriptInfo::default()
    };
    let job = Job {
        spec: WorkloadSpec::of(ScriptWorkload::new(source, info)),
        endpoints: vec![Endpoint {
            transport: Transport::Unix("/nonexistent".into()),
            user: String::new(),
            password: String::new(),
            database: String::new(),
            tls: TlsOptions::default(),
        }],
        ignored_errors: servers::ignored_errors(&line.values)?,
        settings,
        log,
    };
    load::run(&job, on_interrupt, Some(guest))
}

/// A test with its options, shared by its threads.
struct Machine {
    test: MachineTest,
    threads: u32,
    first: u64,
    second: u64,
    third: u64,
    reads: bool,
    writes: bool,
    in_order: bool,
    scope: String,
    operation: String,
    /// The block of all threads.
    block: Vec<AtomicU64>,
    /// Of the test of threads: side by side, as sysbench has them there.
    mutexes: Vec<Mutex<u64>>,
    /// Events of the test of threads so far.
    performed: AtomicU64,
    /// Of the test of mutexes.
    apart: Vec<Apart>,
}

/// A mutex that shares no line of a cache with another one. sysbench has 256 bytes between them.
#[repr(align(256))]
struct Apart(Mutex<u64>);

impl Machine {
    fn new(test: MachineTest, values: &Values, threads: u32) -> Result<Self, Failure> {
        let mut machine = Machine {
            test,
            threads,
            first: 0,
            second: 0,
            third: 0,
            reads: false,
            writes: false,
            in_order: true,
            scope: String::new(),
            operation: String::new(),
            block: Vec::new(),
            mutexes: Vec::new(),
            performed: AtomicU64::new(0),
            apart: Vec::new(),
        };
        let at_least = |name: &str, least: i32| -> Result<u64, Failure> {
            let number = values.integer(name)?;
            if number < least {
                return Err(Failure::fatal(format!(
                    "Invalid value for {name}: {number}."
                )));
            }
            Ok(u64::from(number.unsigned_abs()))
        };
        match test {
            MachineTest::Cpu => machine.first = at_least("cpu-max-prime", 1)?,
            MachineTest::Memory => machine.read_memory(values)?,
            MachineTest::Threads => {
                machine.first = at_least("thread-yields", 0)?;
                machine.second = at_least("thread-locks", 1)?;
                machine.mutexes = (0..machine.second).map(|_| Mutex::new(0)).collect();
            }
            MachineTest::Mutex => {
                machine.first = at_least("mutex-num", 1)?;
                machine.second = at_least("mutex-locks", 1)?;
                machine.third = at_least("mutex-loops", 0)?;
                machine.apart = (0..machine.first).map(|_| Apart(Mutex::new(0))).collect();
            }
        }
        Ok(machine)
    }

    fn read_memory(&mut self, values: &Values) -> Result<(), Failure> {
        let text = |name: &str| values.text(name).unwrap_or_default().to_owned();
        let invalid =
            |name: &str| Failure::fatal(format!("Invalid value for {name}: {}", text(name)));
        if values.flag("memory-hugetlb") {
            return Err(Failure::refused(
                "--memory-hugetlb",
                "the block comes from the usual allocator; transparent huge pages are the system's to give",
            ));
        }
        let size = values.size("memory-block-size").ok();
        let size = size.filter(|size| size.is_power_of_two() && *size >= 8);
        self.first = size.ok_or_else(|| invalid("memory-block-size"))?;
        self.second = values.size("memory-total-size")?;
        (self.scope, self.operation) = (text("memory-scope"), text("memory-oper"));
        (self.reads, self.writes) = match self.operation.as_str() {
            "read" => (true, false),
            "write" => (false, true),
            "none" => (false, false),
            _ => return Err(invalid("memory-oper")),
        };
        self.in_order = match text("memory-access-mode").as_str() {
            "seq" => true,
            "rnd" => false,
            _ => return Err(invalid("memory-access-mode")),
        };
        if !["global", "local"].contains(&self.scope.as_str()) {
            return Err(invalid("memory-scope"));
        }
        self.block = block(self.first);
        Ok(())
    }

    /// How many events there are for all threads together: as many as were asked for, unless each thread has a number of its
    /// own.
    fn events(&self, asked: Option<u64>) -> Option<u64> {
        match self.test {
            MachineTest::Memory | MachineTest::Mutex => None,
            MachineTest::Cpu | MachineTest::Threads => asked,
        }
    }

    /// How many events each thread does, if it has a number of its own. Threads that count for themselves do not wait for
    /// each other's cache line, which would be much of the time of an event that touches a block of memory.
    fn events_of_each(&self) -> Option<u64> {
        match self.test {
            MachineTest::Memory if self.second == 0 => None,
            MachineTest::Memory => Some(self.second / self.first / u64::from(self.threads.max(1))),
            MachineTest::Mutex => Some(1),
            MachineTest::Cpu | MachineTest::Threads => None,
        }
    }

    /// What is said before the threads are there.
    fn before(&self) -> Option<String> {
        match self.test {
            MachineTest::Cpu => Some(format!("Prime numbers limit: {}\n", self.first)),
            MachineTest::Memory => Some(format!(
                "Running memory speed test with the following options:\n  block size: {}KiB\n  total size: {}MiB\n  \
                 operation: {}\n  scope: {}\n",
                self.first / 1024,
                self.second >> 20,
                self.operation,
                self.scope
            )),
            MachineTest::Threads | MachineTest::Mutex => None,
        }
    }

    /// What is said before the general report.
    fn after(&self, report: &Cumulative) -> String {
        let rate = |amount: f64| match report.seconds > 0.0 {
            true => amount / report.seconds,
            false => 0.0,
        };
        let events = report.counts.events;
        match self.test {
            MachineTest::Cpu => format!(
                "CPU speed:\n    events per second: {:8.2}",
                rate(events as f64)
            ),
            MachineTest::Memory => {
                let operations = format!(
                    "Total operations: {events} ({:8.2} per second)\n",
                    rate(events as f64)
                );
                let mebibytes = (events * self.first) as f64 / f64::from(1 << 20);
                match self.operation.as_str() {
                    "none" => operations,
                    _ => format!(
                        "{operations}\n{mebibytes:4.2} MiB transferred ({:4.2} MiB/sec)\n",
                        rate(mebibytes)
                    ),
                }
            }
            MachineTest::Threads | MachineTest::Mutex => String::new(),
        }
    }

    /// One event.
    fn event(&self, own: &[AtomicU64], draws: &mut u64) {
        match self.test {
            MachineTest::Cpu => {
                black_box(primes(self.first));
            }
            // A thread has a block of its own only where the scope is local.
            MachineTest::Memory if own.is_empty() => self.touch(&self.block, draws),
            MachineTest::Memory => self.touch(own, draws),
            MachineTest::Threads => {
                // One for each event: events of the same mutex wait for each other through all of their rounds.
                let number = self.performed.fetch_add(1, Ordering::Relaxed);
                let mutex = &self.mutexes[(number % self.second) as usize];
                for _ in 0..self.first {
                    let held = locked(mutex);
                    std::thread::yield_now();
                    drop(held);
                }
            }
            MachineTest::Mutex => {
                for _ in 0..self.second {
                    let mutex = &self.apart[anywhere(draws, self.apart.len())];
                    for round in 0..self.third {
                        black_box(round);
                    }
                    *locked(&mutex.0) += 1;
                }
            }
        }
    }

    /// Goes over a block once, or does as much at random places of it.
    fn touch(&self, block: &[AtomicU64], draws: &mut u64) {
        let places = block.len();
        match (self.in_order, self.writes, self.reads) {
            (true, true, _) => {
                for (place, word) in block.iter().enumerate() {
                    word.store(place as u64, Ordering::Relaxed);
                }
            }
            (true, false, true) => {
                for word in block {
                    black_box(word.load(Ordering::Relaxed));
                }
            }
            (true, false, false) => {
                for word in block {
                    black_box(word);
                }
            }
            (false, true, _) => {
                for place in 0..places {
                    block[anywhere(draws, places)].store(place as u64, Ordering::Relaxed);
                }
            }
            (false, false, true) => {
                for _ in 0..places {
                    black_box(block[anywhere(draws, places)].load(Ordering::Relaxed));
                }
            }
            (false, false, false) => {
                for _ in 0..places {
                    black_box(anywhere(draws, places));
                }
            }
        }
    }
}

fn locked(mutex: &Mutex<u64>) -> MutexGuard<'_, u64> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn block(bytes: u64) -> Vec<AtomicU64> {
    (0..bytes / 8).map(|_| AtomicU64::new(0)).collect()
}

/// Primes from 3 to `most`, by division.
fn primes(most: u64) -> u64 {
    let mut found = 0;
    for number in 3..most {
        let root = (number as f64).sqrt();
        let mut divisor = 2;
        while divisor as f64 <= root && !number.is_multiple_of(divisor) {
            divisor += 1;
        }
        found += u64::from(divisor as f64 > root);
    }
    found
}

/// The next of a sequence of numbers that is fast to draw (G. Marsaglia, Xorshift RNGs, 2003).
fn draw(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

/// One of so many places, by a multiplication: a division would take longer than what is done there.
fn anywhere(state: &mut u64, places: usize) -> usize {
    ((u128::from(draw(state)) * places as u128) >> 64) as usize
}

/// The part of a test in a run.
struct MachineGuest(Arc<Machine>);

impl Guest for MachineGuest {
    fn threads(&mut self) -> Result<Arc<dyn ScriptThreads>, Failure> {
        Ok(Arc::new(WithoutServer(MachineThreads(Arc::clone(&self.0)))))
    }

    fn before(&mut self, log: Log) -> Result<(), Failure> {
        if let Some(words) = self.0.before() {
            log.notice(&words);
        }
        Ok(())
    }

    fn interval(&mut self, _interval: &Interval, _log: Log) -> bool {
        false
    }

    fn cumulative(&mut self, report: &Cumulative, _so_far: bool, log: Log) -> bool {
        let words = self.0.after(report);
        if !words.is_empty() {
            log.notice(&words);
        }
        false
    }
}

struct MachineThreads(Arc<Machine>);

impl Threads for MachineThreads {
    type Thread = MachineThread;

    fn thread(&self, number: u32) -> Result<MachineThread, LoadError> {
        let own = match self.0.scope.as_str() {
            "local" => block(self.0.first),
            _ => Vec::new(),
        };
        Ok(MachineThread {
            machine: Arc::clone(&self.0),
            own,
            // Never 0, and with bits in all places: the highest ones are used.
            draws: (u64::from(number) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15),
            left: self.0.events_of_each(),
        })
    }
}

struct MachineThread {
    machine: Arc<Machine>,
    own: Vec<AtomicU64>,
    draws: u64,
    /// Events that it has still to do, where it has a number of its own.
    left: Option<u64>,
}

impl Thread for MachineThread {
    fn resume(&mut self, reply: Reply) -> Result<Want, String> {
        match reply {
            Reply::Event(true) => {}
            Reply::Goodbye => return Ok(Want::End),
            _ => return Ok(Want::Event { completed: false }),
        }
        if self.left == Some(0) {
            return Ok(Want::Rest { completed: false });
        }
        self.machine.event(&self.own, &mut self.draws);
        self.left = self.left.map(|left| left - 1);
        Ok(match self.left {
            Some(0) => Want::Rest { completed: true },
            _ => Want::Event { completed: true },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;
    use std::time::Duration;

    fn machine(test: MachineTest, words: &[(&str, &str)], threads: u32) -> Machine {
        let mut values = Values::default();
        values.define(test.options());
        for (name, value) in words {
            values.set(name, Some(value)).unwrap();
        }
        Machine::new(test, &values, threads).unwrap()
    }

    #[test]
    fn primes_by_division() {
        // 3, 5, 7, 11, 13, 17, 19
        assert_eq!(primes(20), 7);
    }

    #[test]
    fn an_event_of_the_test_of_threads_has_one_mutex_and_the_next_event_the_next() {
        let words = [("thread-locks", "3"), ("thread-yields", "7")];
        let machine = Arc::new(machine(MachineTest::Threads, &words, 1));
        for own in [0, 1, 2, 0] {
            // Whatever event needs one of the others does not come to its end.
            let others = machine.mutexes.iter().enumerate();
            let others = others.filter(|(place, _)| *place != own);
            let held: Vec<_> = others.map(|(_, mutex)| locked(mutex)).collect();
            let (done, is_done) = mpsc::channel();
            let theirs = Arc::clone(&machine);
            std::thread::spawn(move || {
                theirs.event(&[], &mut 1);
                done.send(())
            });
            assert!(
                is_done.recv_timeout(Duration::from_secs(60)).is_ok(),
                "{own}"
            );
            drop(held);
        }
    }

    #[test]
    fn each_thread_of_the_test_of_memory_has_its_part() {
        for (total, asked, part) in [("1M", None, 341), ("1K", None, 0), ("1M", Some(5), 341)] {
            let machine = machine(MachineTest::Memory, &[("memory-total-size", total)], 3);
            assert_eq!(machine.events(asked), None, "sysbench passes --events over");
            let mut thread = MachineThreads(Arc::new(machine)).thread(0).unwrap();
            let mut events = 0;
            loop {
                match thread.resume(Reply::Event(true)).unwrap() {
                    Want::Event { completed: true } => events += 1,
                    Want::Rest { completed } => {
                        events += u64::from(completed);
                        break;
                    }
                    other => panic!("{other:?}"),
                }
            }
            assert_eq!(events, part, "{total}");
        }
        let endless = machine(MachineTest::Memory, &[("memory-total-size", "0")], 3);
        assert_eq!(endless.events_of_each(), None);
    }

    #[test]
    fn every_way_to_touch_a_block_comes_to_its_end() {
        for operation in ["read", "write", "none"] {
            for mode in ["seq", "rnd"] {
                for scope in ["global", "local"] {
                    let words = [
                        ("memory-oper", operation),
                        ("memory-access-mode", mode),
                        ("memory-scope", scope),
                    ];
                    let machine = machine(MachineTest::Memory, &words, 1);
                    let own = block(if scope == "local" { 64 } else { 0 });
                    machine.event(&own, &mut 1);
                    let touched = if scope == "local" {
                        &own
                    } else {
                        &machine.block
                    };
                    let is_written = touched.iter().any(|word| word.load(Ordering::Relaxed) > 0);
                    assert_eq!(is_written, operation == "write", "{words:?}");
                }
            }
        }
    }

    #[test]
    fn places_are_drawn_from_all_there_are() {
        let mut state = 0x9e37_79b9_7f4a_7c15;
        let mut seen = [0; 7];
        for _ in 0..7000 {
            seen[anywhere(&mut state, 7)] += 1;
        }
        // 1000 each, and six standard deviations of that.
        assert!(
            seen.iter().all(|count| (820..1180).contains(count)),
            "{seen:?}"
        );
        assert_eq!(anywhere(&mut state, 1), 0);
    }

    #[test]
    fn mutexes_of_their_test_are_apart() {
        assert_eq!(size_of::<Apart>(), 256);
    }
}
