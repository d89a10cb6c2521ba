//! The tests of the machine rather than of a server: processor, memory, scheduler, mutexes. They are programs of the load
//! generator, which counts and reports their events as it does those of scripts.

use std::hint::black_box;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

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
use crate::report::{self, Cumulative, Interval};
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
    mutexes: Vec<Mutex<u64>>,
}

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
                machine.mutexes = (0..machine.first).map(|_| Mutex::new(0)).collect();
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

    /// How many events there are, where the test says it.
    fn events(&self, asked: Option<u64>) -> Option<u64> {
        match self.test {
            MachineTest::Memory => Some(self.second / self.first).filter(|&events| events > 0),
            MachineTest::Mutex => Some(u64::from(self.threads)),
            MachineTest::Cpu | MachineTest::Threads => asked,
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
            MachineTest::Memory => {
                let block = match self.scope.as_str() {
                    "local" => own,
                    _ => &self.block,
                };
                for place in 0..block.len() {
                    let word = match self.in_order {
                        true => &block[place],
                        false => &block[draw(draws) as usize % block.len()],
                    };
                    if self.writes {
                        word.store(place as u64, Ordering::Relaxed);
                    } else if self.reads {
                        black_box(word.load(Ordering::Relaxed));
                    }
                }
            }
            MachineTest::Threads => {
                for round in 0..self.first {
                    let mutex = &self.mutexes[(round % self.second) as usize];
                    let held = mutex.lock().unwrap_or_else(PoisonError::into_inner);
                    std::thread::yield_now();
                    drop(held);
                }
            }
            MachineTest::Mutex => {
                for _ in 0..self.second {
                    for round in 0..self.third {
                        black_box(round);
                    }
                    let place = draw(draws) as usize % self.mutexes.len();
                    let mut held = self.mutexes[place]
                        .lock()
                        .unwrap_or_else(PoisonError::into_inner);
                    *held += 1;
                }
            }
        }
    }
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

    fn interval(&mut self, interval: &Interval, log: Log) -> bool {
        log.notice(&report::events_interval(interval));
        true
    }

    fn cumulative(&mut self, report: &Cumulative, so_far: bool, log: Log) -> bool {
        let words = self.0.after(report);
        if !so_far && !words.is_empty() {
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
            draws: u64::from(number) + 1,
        })
    }
}

struct MachineThread {
    machine: Arc<Machine>,
    own: Vec<AtomicU64>,
    draws: u64,
}

impl Thread for MachineThread {
    fn resume(&mut self, reply: Reply) -> Result<Want, String> {
        let completed = reply == Reply::Event(true);
        if completed {
            self.machine.event(&self.own, &mut self.draws);
            // A thread of the test of mutexes is a single event long.
            if self.machine.test == MachineTest::Mutex {
                return Ok(Want::Rest { completed });
            }
        }
        Ok(match reply {
            Reply::Goodbye => Want::End,
            _ => Want::Event { completed },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn primes_by_division() {
        // 3, 5, 7, 11, 13, 17, 19
        assert_eq!(primes(20), 7);
    }
}
