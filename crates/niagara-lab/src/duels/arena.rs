//! Where servers meet: fresh clones, fresh starts, connections, warm-up, and slices of load.
//! The protocols (duel, pair, trimmed) differ only in what they do with an arena.

use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::Result;
use niagara_capture::file::ServerCounts;
use niagara_load::{
    CoalescingChoice, Conditions, Driver, DriverOptions, Endpoint, LoadError, LoadGenerator,
    Pacing, RunOptions, Schedule, SliceOptions, SliceStats, check_tpcc,
};
use niagara_model::{ReplayRecord, ResourceCounters, SliceRecord};
use niagara_server::TlsSession;
use niagara_server::machine::{DisturbanceMeter, Interval, Thresholds, disturbed};

use crate::duels::histogram;
use crate::duels::replayed::{self, counts};
use crate::duels::resource_counters::CounterReader;
use crate::duels::seat::{Seat, Trouble, load_trouble, side_trouble, trouble_of};
use crate::duels::taken_by_others::{judge_again, taken, thresholds};
use crate::duels::workbench::Workbench;
use crate::plans::observer::{Event, Observer};
use crate::plans::spec::{DuelSettings, DuelSpec, Load};
use crate::variants::variant::Variant;

/// Longest wait for the transactions in flight at the end of a slice.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(30);
/// Resolution of the throughput curve recorded during the warm-up.
const WARM_UP_INTERVAL: Duration = Duration::from_millis(100);

/// Servers under one load generator, all but the one under load frozen.
pub(crate) struct Arena<'a> {
    bench: &'a Workbench,
    spec: &'a DuelSpec,
    seats: Vec<Seat>,
    generator: Option<Box<dyn LoadGenerator>>,
    meter: DisturbanceMeter,
    thresholds: Thresholds,
    /// What the machine did in each slice so far, with the slice's side.
    metered: Vec<(usize, Interval)>,
    load_time: Duration,
    counter_readers: BTreeMap<usize, CounterReader>,
    /// Of a capture: by seat, what the server had counted before the load.
    counted_before: Vec<Option<ServerCounts>>,
}

impl<'a> Arena<'a> {
    /// Clones the image for each of `sides` (0 = A, 1 = B), starts all of them together, connects; in this order.
    pub(crate) fn open(
        bench: &'a Workbench,
        spec: &'a DuelSpec,
        sides: &[usize],
    ) -> Result<Self, Trouble> {
        let variants: Vec<&Variant> = sides.iter().map(|&side| &spec.variants[side]).collect();
        bench.read_programs_anew(&variants)?;
        let mut clones = Vec::new();
        for &side in sides {
            clones.push(bench.clone_for(&spec.variants[side])?);
            bench.cancel().check()?;
        }
        // Started together: the second boots while the first recovers its buffer pool.
        let mut starting = Vec::new();
        for (&side, clone) in sides.iter().zip(&clones) {
            let started = bench
                .spawn(&spec.variants[side], clone)
                .map_err(|error| side_trouble(bench, side, &error))?;
            starting.push(started);
        }
        let mut seats = Vec::new();
        for ((&side, clone), starting) in sides.iter().zip(clones).zip(starting) {
            let server = starting
                .wait_ready()
                .map_err(|error| side_trouble(bench, side, &error))?;
            seats.push(Seat {
                side,
                server,
                _clone: clone,
            });
        }
        bench.cancel().check()?;
        read_tables(bench, spec, &seats)?;
        let endpoints: Vec<_> = seats
            .iter()
            .map(|seat| bench.endpoint(&seat.server, &spec.variants[seat.side]))
            .collect();
        let on_cpus = |variant: &Variant| variant.runtime.client_cpus.clone();
        let coalescing = match on_cpus(&spec.variants[0]) == on_cpus(&spec.variants[1]) {
            true => CoalescingChoice::Auto,
            // It goes by the CPUs of the load: what it spares a server's threads would be taken for the placement's doing.
            false => CoalescingChoice::For(Duration::ZERO),
        };
        let counted_before = match spec.load.workload.capture() {
            Some(_) => seats.iter().map(|seat| counts(&seat.server)).collect(),
            None => Vec::new(),
        };
        let segments = segments(&spec.duel_settings);
        let sides: Vec<&Variant> = seats.iter().map(|seat| &spec.variants[seat.side]).collect();
        let generator = connect_load(
            bench,
            (&endpoints, &sides),
            &spec.load,
            spec.seed,
            segments,
            coalescing,
        )
        .map_err(|error| load_trouble(bench, error, &seats))?;
        let pids = seats
            .iter()
            .map(|seat| seat.server.pid().unsigned_abs())
            .collect();
        let arena = Self {
            bench,
            spec,
            meter: DisturbanceMeter::new(pids).map_err(|error| trouble_of(error, &seats))?,
            thresholds: thresholds(spec.duel_settings.disturbance, seats.len() > 1),
            metered: Vec::new(),
            seats,
            generator: Some(generator),
            load_time: Duration::ZERO,
            counter_readers: BTreeMap::new(),
            counted_before,
        };
        if arena.seats.len() > 1 {
            for seat in &arena.seats {
                seat.freeze()?;
            }
        }
        Ok(arena)
    }

    /// Seconds in which a server was under load so far.
    pub(crate) fn load_seconds(&self) -> f64 {
        self.load_time.as_secs_f64()
    }

    /// How the load of each side is encrypted, where it is.
    pub(crate) fn encryption(&self) -> [Option<TlsSession>; 2] {
        let mut of_sides = [None, None];
        for seat in &self.seats {
            of_sides[seat.side] = seat.server.tls().cloned();
        }
        of_sides
    }

    fn seat(&self, side: usize) -> usize {
        self.seats
            .iter()
            .position(|seat| seat.side == side)
            .unwrap_or(0)
    }

    /// Whether both sides can have another slice: a capture that writes is over when it is.
    pub(crate) fn has_more(&self) -> bool {
        let Some(generator) = &self.generator else {
            return false;
        };
        let is_over = |seat: usize| generator.segments_left(seat) == Some(0);
        !self.spec.load.workload.writes() || !(0..self.seats.len()).any(is_over)
    }

    /// Of a capture: what was replayed on each side; the warm-up is part of it.
    pub(crate) fn replays(&self) -> Result<Vec<(u8, ReplayRecord)>, Trouble> {
        let capture = self.spec.load.workload.capture();
        let (Some(capture), Some(generator)) = (capture, &self.generator) else {
            return Ok(Vec::new());
        };
        let trace = capture.trace().map_err(anyhow::Error::from)?;
        let seats = self.seats.iter().enumerate();
        let replays = seats.filter_map(|(place, seat)| {
            let tally = generator.replayed(place)?;
            let counted = self.counted(place);
            Some((
                seat.side as u8,
                replayed::record(&trace, &tally, counted.as_ref()),
            ))
        });
        Ok(replays.collect())
    }

    /// What a server has counted under the load; none where that is not known.
    fn counted(&self, place: usize) -> Option<ServerCounts> {
        let before = self.counted_before.get(place)?.as_ref()?;
        // A frozen server answers nobody. What it cannot say is told as not known.
        self.thaw(place).ok()?;
        let now = counts(&self.seats[place].server);
        self.freeze(place).ok()?;
        now?.since(before)
    }

    /// The warm-up by a capture: as many of its first segments on every side.
    fn warm_up_by_segments(&mut self, seat: usize, segments: usize) -> Result<(), Trouble> {
        let began = Instant::now();
        self.thaw(seat)?;
        let Some(generator) = self.generator.as_mut() else {
            return Ok(());
        };
        for _ in 0..segments {
            self.bench.cancel().check()?;
            let options = SliceOptions {
                cpus: self.spec.variants[self.seats[seat].side]
                    .runtime
                    .client_cpus
                    .clone(),
                drain_timeout: DRAIN_TIMEOUT,
                ..SliceOptions::default()
            };
            generator
                .slice(seat, &options)
                .map_err(|error| load_trouble(self.bench, error, &self.seats))?;
        }
        self.load_time += began.elapsed();
        self.freeze(seat)
    }

    /// Load on `side` alone for the study's warm-up; its throughput curve, transactions per second.
    pub(crate) fn warm_up(&mut self, side: usize) -> Result<Vec<f64>, Trouble> {
        let seconds = self.spec.duel_settings.warm_up_seconds;
        let generator = self.generator.as_ref();
        if let Some(all) = generator.and_then(|generator| generator.segments_left(self.seat(side)))
        {
            let wanted = warm_up_segments(&self.spec.duel_settings).min(all / WARM_UP_SHARE);
            self.warm_up_by_segments(self.seat(side), wanted)?;
            // Segments differ: how fast each was says nothing about when it was.
            return Ok(Vec::new());
        }
        if seconds <= 0.0 {
            return Ok(Vec::new());
        }
        let seat = self.seat(side);
        let mut curve = Vec::new();
        let began = Instant::now();
        self.thaw(seat)?;
        let outcome = match self.generator.as_mut() {
            Some(generator) => generator.run(
                seat,
                &RunOptions {
                    duration: Some(Duration::from_secs_f64(seconds)),
                    interval: Some(WARM_UP_INTERVAL),
                    cpus: self.spec.variants[side].runtime.client_cpus.clone(),
                    ..RunOptions::default()
                },
                &mut |interval: &SliceStats| {
                    if interval.seconds > 0.0 {
                        curve.push(interval.transactions as f64 / interval.seconds);
                    }
                },
            ),
            None => return Ok(curve),
        };
        self.load_time += began.elapsed();
        outcome.map_err(|error| load_trouble(self.bench, error, &self.seats))?;
        self.freeze(seat)?;
        Ok(curve)
    }

    /// One counted slice of load on `side`.
    pub(crate) fn slice(
        &mut self,
        side: usize,
        couple: u32,
        first: bool,
        observer: &mut dyn Observer,
    ) -> Result<SliceRecord, Trouble> {
        let seat = self.seat(side);
        self.thaw(seat)?;
        let (cpu_before, switches_before) = self.seats[seat].usage()?;
        let before = self.meter.sample()?;
        let options = SliceOptions {
            duration: Duration::from_secs_f64(self.spec.duel_settings.slice_seconds),
            ramp: Duration::from_secs_f64(self.spec.duel_settings.ramp_seconds),
            cpus: self.spec.variants[side].runtime.client_cpus.clone(),
            drain_timeout: DRAIN_TIMEOUT,
            // A duel's slices are short: a slice is a few transactions of each connection, all begun at once, and how many of them
            // end inside of a window depends on where it is cut. Whole ones and their time do not.
            count_drain: self.seats.len() > 1,
        };
        let Some(generator) = self.generator.as_mut() else {
            return Err(anyhow::anyhow!("the load generator is gone").into());
        };
        let outcome = match self.spec.rate {
            None => generator.slice(seat, &options),
            Some(rate) => generator.run(
                seat,
                &RunOptions {
                    pacing: Pacing::Open(Schedule::constant(rate)),
                    ..RunOptions::from(&options)
                },
                &mut |_| {},
            ),
        };
        let stats = outcome.map_err(|error| load_trouble(self.bench, error, &self.seats))?;
        let cpu_here = generator.cpu_seconds_here(&stats);
        let after = self.meter.sample()?;
        let interval = after.since(&before);
        let (cpu_after, switches_after) = self.seats[seat].usage()?;
        let cpu = cpu_after.saturating_sub(cpu_before);
        let switches = switches_after.saturating_sub(switches_before);
        self.freeze(seat)?;
        self.load_time += Duration::from_secs_f64(stats.load_seconds);
        if let Some(counter_reader) = self.counter_readers.get_mut(&side) {
            counter_reader.add(&before, &after, &stats, [cpu.as_secs_f64(), cpu_here]);
        }
        let microseconds = |nanoseconds: u64| nanoseconds / 1000;
        let latency = |quantile| microseconds(stats.latency.value_at_quantile(quantile));
        let record = SliceRecord {
            duel: self.spec.seq,
            couple,
            side: side as u8,
            first,
            started_unix_ms: unix_ms(stats.started),
            seconds: stats.seconds,
            transactions: stats.transactions,
            queries: stats.queries,
            errors: stats.errors.clone(),
            latency_us: [
                latency(0.5),
                latency(0.95),
                latency(0.99),
                latency(0.999),
                microseconds(stats.latency.max()),
            ],
            server_cpu_seconds: cpu.as_secs_f64(),
            client_cpu_seconds: stats.client_cpu_seconds,
            transactions_whole: stats.transactions_whole,
            client_context_switches: stats.client_context_switches,
            server_context_switches: switches,
            steal: interval.steal,
            taken: taken(&interval),
            generator_busy: stats.busiest_loop(),
            disturbed: disturbed(&interval, &self.thresholds),
            histogram: histogram::encode(&stats.latency)?,
        };
        self.metered.push((side, interval));
        observer.see(Event::Slice(&record));
        Ok(record)
    }

    /// Judges the slices anew, when all are there: what others took of each server's time, without what nobody took.
    pub(crate) fn judge_again(&self, slices: &mut [SliceRecord]) {
        judge_again(slices, &self.metered, &self.thresholds);
    }

    /// After the last slice: whether the servers still hold what the workload says they must. A server that does not is
    /// no faster one, whatever its throughput.
    pub(crate) fn check_data(&self) -> Result<(), Trouble> {
        for (place, seat) in self.seats.iter().enumerate() {
            if !self
                .spec
                .load
                .has_conditions(&self.spec.variants[seat.side])
            {
                continue;
            }
            self.thaw(place)?;
            let endpoint = self
                .bench
                .endpoint_here(&seat.server, &self.spec.variants[seat.side]);
            let workload = &self.spec.load.workload;
            let findings = check_tpcc(&endpoint, workload, Conditions::First, &mut |_| {})
                .map_err(|error| side_trouble(self.bench, seat.side, &error.into()))?;
            if let Some(broken) = findings.iter().find(|finding| !finding.holds()) {
                return Err(Trouble::Side {
                    side: seat.side,
                    reason: format!(
                        "its data are no longer consistent: condition {} of TPC-C ({}) is broken {} times",
                        broken.condition, broken.says, broken.violations
                    )
                    .into(),
                });
            }
            self.freeze(place)?;
        }
        Ok(())
    }

    /// From here on everything is counted that says what `side` spends its time on.
    pub(crate) fn begin_accounts(&mut self, side: usize) -> Result<(), Trouble> {
        let seat = self.seat(side);
        self.thaw(seat)?;
        let counter_reader = CounterReader::begin(&self.seats[seat].server, self.spec.load.threads);
        let counter_reader = counter_reader.map_err(|error| self.seats[seat].trouble(error))?;
        self.counter_readers.insert(side, counter_reader);
        self.freeze(seat)
    }

    /// What was counted of each side since.
    pub(crate) fn end_counters(&mut self) -> Result<Vec<(u8, ResourceCounters)>, Trouble> {
        let mut records = Vec::new();
        for (side, counter_reader) in std::mem::take(&mut self.counter_readers) {
            let seat = self.seat(side);
            self.thaw(seat)?;
            let record = counter_reader.end(&self.seats[seat].server);
            records.push((
                side as u8,
                record.map_err(|error| self.seats[seat].trouble(error))?,
            ));
            self.freeze(seat)?;
        }
        Ok(records)
    }

    /// Lets a seat's server run on where it was stopped: one that is alone never is.
    fn thaw(&self, seat: usize) -> Result<(), Trouble> {
        match self.seats.len() {
            0 | 1 => Ok(()),
            _ => self.seats[seat].thaw(),
        }
    }

    fn freeze(&self, seat: usize) -> Result<(), Trouble> {
        match self.seats.len() {
            0 | 1 => Ok(()),
            _ => self.seats[seat].freeze(),
        }
    }

    /// Ends the connections and the servers; their clones are thrown away, so nothing is shut down.
    pub(crate) fn close(mut self) {
        // A script's last words are for servers that answer.
        for seat in 0..self.seats.len() {
            // One that is gone needs no thawing.
            let _ = self.thaw(seat);
        }
        drop(self.generator.take());
        for seat in self.seats.drain(..) {
            seat.server.kill();
        }
    }
}

/// How a capture is cut into slices; means nothing to other workloads.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SegmentLengths {
    /// About how long a segment takes at the captured pace.
    pub each: Duration,
    /// How many there are at least, where the capture has as many transactions.
    pub at_least: usize,
}

/// Reads the tables of every server, at once: what fits into the buffer pool is in it before any load, else reading it in would
/// be spread over the first slices.
fn read_tables(bench: &Workbench, spec: &DuelSpec, seats: &[Seat]) -> Result<(), Trouble> {
    let read = |seat: &Seat| bench.read_tables(&seat.server, &spec.variants[seat.side], &spec.load);
    let read: Vec<Result<()>> = thread::scope(|scope| {
        let reading: Vec<_> = seats
            .iter()
            .map(|seat| scope.spawn(move || read(seat)))
            .collect();
        let ended = reading.into_iter().map(|reading| {
            let panicked = |_| {
                Err(anyhow::anyhow!(
                    "the thread that reads the tables in has panicked"
                ))
            };
            reading.join().unwrap_or_else(panicked)
        });
        ended.collect()
    });
    for (seat, read) in seats.iter().zip(read) {
        read.map_err(|error| side_trouble(bench, seat.side, &error))?;
    }
    Ok(())
}

/// Connects `load` to the servers of these variants, from where the workbench's load comes from: this process, or the agent on the client host.
///
/// # Errors
/// A server that does not take its connections; a capture on the client host.
pub(crate) fn connect_load(
    bench: &Workbench,
    (endpoints, variants): (&[Endpoint], &[&Variant]),
    load: &Load,
    seed: u64,
    segments: SegmentLengths,
    coalescing: CoalescingChoice,
) -> Result<Box<dyn LoadGenerator>, LoadError> {
    let options = DriverOptions {
        connections: load.threads,
        seed,
        coalescing,
        segment: segments.each,
        segments_at_least: segments.at_least,
        rewritten: variants
            .iter()
            .map(|variant| bench.rewritten(variant))
            .collect(),
        cancel: bench.cancel().flag(),
        ..DriverOptions::default()
    };
    let Some(client) = bench.client() else {
        return Ok(Box::new(Driver::connect(
            endpoints,
            &load.workload,
            &options,
        )?));
    };
    let agent = client.agent();
    Ok(Box::new(agent.connect(
        endpoints,
        &load.workload,
        &options,
    )?))
}

/// One in this many segments of a capture is for warming up, at most.
const WARM_UP_SHARE: usize = 5;

/// Segments of a capture that make a warm-up.
fn warm_up_segments(lengths: &DuelSettings) -> usize {
    (lengths.warm_up_seconds / lengths.slice_seconds.max(1e-3)).ceil() as usize
}

/// How a capture is cut: a segment is about as long as a slice, and there are enough for a duel.
fn segments(lengths: &DuelSettings) -> SegmentLengths {
    let couples = lengths.couples as usize;
    SegmentLengths {
        each: Duration::from_secs_f64(lengths.slice_seconds),
        at_least: couples + warm_up_segments(lengths).min(couples / (WARM_UP_SHARE - 1) + 1),
    }
}

/// Milliseconds since the Unix epoch.
pub(crate) fn unix_ms(time: SystemTime) -> i64 {
    time.duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_millis() as i64)
}
