//! A slice or run of a script under way on one loop: its threads run until each waits for an answer, a rest or an event.

use crate::counted;
use crate::engine::counted_time::CountedTime;
use crate::engine::link::Lost;
use crate::engine::options::MAX_RUN;
use crate::engine::order::{Order, Policy, Report, Served, client};
use crate::engine::reconnect::Reconnector;
use crate::engine::recorder::{Kinds, Window};
use crate::engine::script_inline::{Heard, Inline, hear};
use crate::engine::script_thread::{ScriptThread, State};
use crate::engine::script_watch::Watch;
use crate::error::LoadError;
use crate::net::event::{Coalescing, Event};
use crate::net::io::Io;
use crate::protocol::answer::Answer;
use crate::protocol::response::Progress;
use crate::script::program::{CommandKind, Reply, Want};
use crate::script::wires::{Wires, awaited, refusal};
use crate::workload::script::{OTHER, READ, WRITE};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// A thread that is still in the same piece of Lua this long after the end of time is interrupted.
const STUCK_AFTER: Duration = Duration::from_secs(10);
/// Events without a wait for anything that a thread does before the others have their turn.
const EVENTS_IN_A_ROW: u32 = 16;
/// How long a thread that has a loop to itself does such events before the loop looks around: its events may take less than
/// the call of the system for that.
const TURN: Duration = Duration::from_millis(1);

pub(crate) struct ScriptRunning<'a> {
    policy: &'a Policy,
    order: &'a Order,
    io: &'a mut Io,
    wires: &'a mut Wires,
    reconnector: &'a mut Reconnector,
    watch: &'a Watch,
    time: CountedTime<'a, 'a>,
    /// Threads within an event.
    in_flight: usize,
    /// By link: the thread that waits for its answer.
    waiting: Vec<Option<usize>>,
    /// Of an open loop: threads that wait for an arrival, the longest waiting first.
    free: VecDeque<usize>,
    /// Threads whose turn it is, and what they are answered.
    ready: VecDeque<(usize, Reply)>,
    /// Links with a command that is written and not sent.
    unsent: Vec<(usize, usize)>,
    /// Threads that rest, and until when.
    resting: BinaryHeap<Reverse<(Instant, usize)>>,
    /// What came for other threads while one waited where it stood.
    heard: Vec<Heard>,
    /// Links that an answer is expected on.
    expected: usize,
    /// The longest delay of a wake-up.
    max_delay: Duration,
}

impl<'a> ScriptRunning<'a> {
    pub(crate) fn new(
        kinds: &'a Kinds,
        policy: &'a Policy,
        order: &'a Order,
        io: &'a mut Io,
        wires: &'a mut Wires,
        reconnector: &'a mut Reconnector,
        watch: &'a Watch,
    ) -> Result<Self, LoadError> {
        watch.give_up_at(order.stop_at + order.drain_timeout.min(STUCK_AFTER));
        Ok(ScriptRunning {
            policy,
            order,
            io,
            wires,
            reconnector,
            watch,
            time: CountedTime::new(kinds, order)?,
            in_flight: 0,
            waiting: Vec::new(),
            free: VecDeque::new(),
            ready: VecDeque::new(),
            unsent: Vec::new(),
            resting: BinaryHeap::new(),
            heard: Vec::new(),
            expected: 0,
            max_delay: Duration::ZERO,
        })
    }

    /// Wake-ups for answers are coalesced for as long as this.
    pub(crate) fn coalesced_for(self, max_delay: Duration) -> Self {
        ScriptRunning { max_delay, ..self }
    }

    /// Loads the side until the time is over or the events are done, and all of them are finished.
    pub(crate) fn run(
        mut self,
        threads: &mut [ScriptThread],
        events: &mut Vec<Event>,
        buffer: &mut [u8],
        report: &dyn Fn(Window, Vec<Served>),
    ) -> Result<Report, LoadError> {
        let mut boundary = self.time.first_boundary();
        for place in 0..threads.len() {
            threads[place].served = Served::default();
            if threads[place].state == State::Parked {
                let now = Instant::now();
                threads[place].free_since = now;
                self.offer(threads, place, now);
            }
        }
        let mut now = Instant::now();
        let mut heard = now;
        self.begin_due(threads, now)?;
        self.take_turns(threads)?;
        self.send(threads)?;
        while self.in_flight > 0 || self.has_more(now) {
            let wait = self.wait(threads, boundary, now)?;
            let coalescing = self.coalescing();
            self.io
                .wait(events, coalescing, wait)
                .map_err(client("waiting for answers"))?;
            now = Instant::now();
            if !events.is_empty() || self.in_flight == 0 {
                heard = now;
            }
            if now >= boundary {
                let of_each = self.order.connections_by_interval;
                boundary = self.time.report_intervals(now, boundary, |window, end| {
                    let per_connection = if of_each {
                        shares_until(threads, end)
                    } else {
                        Vec::new()
                    };
                    report(window, per_connection);
                })?;
            }
            let mut wake = false;
            for &event in events.iter() {
                wake |= matches!(event, Event::Wake);
                self.take(event, threads, buffer, now)?;
            }
            if wake {
                self.deliver(threads)?;
            }
            self.begin_due(threads, now)?;
            // Whoever has its turn was not waiting for the server: what it asks for is only now.
            if !self.ready.is_empty() {
                heard = now;
            }
            self.take_turns(threads)?;
            self.send(threads)?;
            if self.order.abort.load(Ordering::Relaxed) {
                return Ok(Report::Failed(LoadError::Cancelled));
            }
            self.time.obey(now);
            self.check_bounds(now, heard)?;
        }
        self.time.finish(now, shares(threads))
    }

    /// Gives up what takes too long.
    fn check_bounds(&self, now: Instant, heard: Instant) -> Result<(), LoadError> {
        self.time.check_drain(now, self.in_flight, "events")?;
        let rests = !self.resting.is_empty();
        if !rests && now.saturating_duration_since(heard) >= self.order.stall_timeout {
            return Err(self.time.server_lost(format!(
                "no answer to {} for {:.1} s",
                counted(self.in_flight as u64, "thread"),
                self.order.stall_timeout.as_secs_f64()
            )));
        }
        Ok(())
    }

    /// Whether there may be more to do although no thread is in an event.
    fn has_more(&mut self, now: Instant) -> bool {
        !self.free.is_empty() && self.time.may_begin_more(now)
    }

    /// How long to wait for answers. Threads become free by their turns, and what has arrived meanwhile is begun: nobody would know
    /// otherwise when the next arrival is due to them.
    fn wait(
        &mut self,
        threads: &mut [ScriptThread],
        boundary: Instant,
        now: Instant,
    ) -> Result<Duration, LoadError> {
        self.begin_due(threads, now)?;
        if !self.ready.is_empty() {
            return Ok(Duration::ZERO);
        }
        let longest = self.time.longest_wait(boundary, now);
        let until = match self.resting.peek() {
            Some(Reverse((due, _))) => longest.min(due.saturating_duration_since(now)),
            None => longest,
        };
        Ok(match self.free.is_empty() {
            true => until,
            false => self.time.before_arrival(until, now),
        })
    }

    /// The longest delay of a wake-up. A thread that rests, or whose turn it is, does not wait for the answers of others.
    fn coalescing(&self) -> Coalescing {
        let some_wait_for_nobody = !self.resting.is_empty() || !self.ready.is_empty();
        if self.max_delay.is_zero() || self.order.arrivals.is_some() || some_wait_for_nobody {
            return Coalescing::NONE;
        }
        Coalescing::half_of(self.expected, self.max_delay)
    }

    /// A thread is between events: in a closed loop its next one begins with its next turn. True: it does.
    fn offer(&mut self, threads: &mut [ScriptThread], place: usize, now: Instant) -> bool {
        if self.order.arrivals.is_some() {
            self.free.push_back(place);
            return false;
        }
        if !self.time.may_begin(now) {
            return false;
        }
        self.begin(threads, place, now, now);
        self.ready.push_back((place, Reply::Event(true)));
        true
    }

    fn begin(
        &mut self,
        threads: &mut [ScriptThread],
        place: usize,
        intended: Instant,
        now: Instant,
    ) {
        let thread = &mut threads[place];
        thread.state = State::Busy;
        thread.intended = intended;
        thread.begun = now;
        self.in_flight += 1;
        let late = self
            .order
            .arrivals
            .is_some()
            .then(|| now.saturating_duration_since(thread.intended.max(thread.free_since)));
        self.time.recorder.began(now, late);
    }

    /// Rests that are over, and what has arrived as long as threads are free.
    fn begin_due(
        &mut self,
        threads: &mut [ScriptThread],
        mut now: Instant,
    ) -> Result<(), LoadError> {
        while let Some(&Reverse((due, place))) = self.resting.peek()
            && due <= now
        {
            self.resting.pop();
            threads[place].state = State::Busy;
            self.ready.push_back((place, Reply::Go));
        }
        while let Some(&place) = self.free.front()
            && let Some(due) = self.time.arrived(&mut now)
        {
            self.free.pop_front();
            self.begin(threads, place, due, now);
            self.ready.push_back((place, Reply::Event(true)));
        }
        Ok(())
    }

    /// Lets every thread run whose turn it is.
    fn take_turns(&mut self, threads: &mut [ScriptThread]) -> Result<(), LoadError> {
        for _ in 0..self.ready.len() {
            let Some((place, reply)) = self.ready.pop_front() else {
                break;
            };
            self.run_thread(threads, place, reply)?;
            while let Some(heard) = self.heard.pop() {
                self.take_heard(heard, threads)?;
            }
        }
        Ok(())
    }

    /// Runs a thread until it waits.
    fn run_thread(
        &mut self,
        threads: &mut [ScriptThread],
        place: usize,
        mut reply: Reply,
    ) -> Result<(), LoadError> {
        let mut turn = Turn::new(threads.len() == 1);
        loop {
            let thread = &mut threads[place];
            let mut inline = Inline {
                io: &mut *self.io,
                wires: &mut *self.wires,
                heard: &mut self.heard,
                order: self.order,
                patience: self.policy.stall_timeout,
            };
            self.watch.enter(thread.place);
            let want = thread.program.resume(reply, &mut inline);
            self.watch.leave();
            let want = want.map_err(LoadError::Script)?;
            self.after_turn(thread)?;
            match want {
                Want::Answer { link, kind } => return self.ask(threads, place, link, kind),
                Want::Connect => {
                    self.reconnector.request(
                        self.order.side,
                        place as u32,
                        Duration::ZERO,
                        false,
                    )?;
                    return Ok(());
                }
                Want::Sleep(time) => {
                    thread.state = State::Resting;
                    let due = Instant::now() + time.min(MAX_RUN);
                    self.resting.push(Reverse((due, place)));
                    return Ok(());
                }
                Want::Event { completed } => {
                    let now = Instant::now();
                    self.ended(thread, completed, now);
                    thread.state = State::Parked;
                    if !self.offer(threads, place, now) || turn.is_over(now) {
                        return Ok(());
                    }
                    // It continues at once.
                    match self.ready.pop_back() {
                        Some((_, next)) => reply = next,
                        None => return Ok(()),
                    }
                }
                Want::Rest { completed } => {
                    self.ended(thread, completed, Instant::now());
                    thread.state = State::Over;
                    return Ok(());
                }
                Want::End => {
                    self.ended(thread, false, Instant::now());
                    thread.state = State::Over;
                    return Ok(());
                }
            }
        }
    }

    /// An event is over: complete, or left.
    fn ended(&mut self, thread: &mut ScriptThread, completed: bool, now: Instant) {
        if matches!(thread.state, State::Busy | State::Resting) {
            self.in_flight -= 1;
        }
        if completed {
            thread.complete(now);
            let latency = now.saturating_duration_since(thread.intended);
            self.time.recorder.transaction(now, 0, latency);
        }
    }

    /// Takes over what a thread has counted, and the links that it has given up.
    fn after_turn(&mut self, thread: &mut ScriptThread) -> Result<(), LoadError> {
        for number in thread.program.take_closed() {
            // Another link may have its number before what was heard meanwhile is dealt with.
            self.heard.retain(|heard| heard.link() != Some(number));
            if let Some(mut link) = self.wires.take(number) {
                link.quit();
                self.io
                    .forget(number as u32)
                    .map_err(client("giving up a connection"))?;
            }
        }
        let counts = thread.program.take_counts();
        if counts.is_empty() {
            return Ok(());
        }
        let now = Instant::now();
        for (kind, count) in [
            (READ, counts.reads),
            (WRITE, counts.writes),
            (OTHER, counts.other),
        ] {
            for _ in 0..count {
                self.time
                    .recorder
                    .query(now, Some(kind), Duration::ZERO, true);
            }
        }
        for _ in 0..counts.errors {
            self.time.recorder.error(counts.error);
        }
        for _ in 0..counts.reconnects {
            self.time.recorder.reconnected(false);
        }
        Ok(())
    }

    /// Writes a thread's command; it is sent after all turns.
    fn ask(
        &mut self,
        threads: &mut [ScriptThread],
        place: usize,
        number: usize,
        kind: CommandKind,
    ) -> Result<(), LoadError> {
        let thread = &mut threads[place];
        match self.wires.get(number) {
            Some(link) => link.write_command(thread.program.command(), awaited(kind)),
            None => {
                let cause = "there is no such connection any more".to_owned();
                self.ready.push_back((place, Reply::Lost(cause)));
                return Ok(());
            }
        }
        thread.link = Some(number);
        if self.waiting.len() <= number {
            self.waiting.resize(number + 1, None);
        }
        self.waiting[number] = Some(place);
        self.expected += 1;
        self.unsent.push((place, number));
        Ok(())
    }

    /// Sends what was written.
    fn send(&mut self, threads: &mut [ScriptThread]) -> Result<(), LoadError> {
        for next in 0..self.unsent.len() {
            let (place, number) = self.unsent[next];
            threads[place].sent = Instant::now();
            if let Some(link) = self.wires.get(number)
                && let Err(lost) = link.send(self.io, number as u32)
            {
                self.answered(threads, number, Err(lost), Instant::now())?;
            }
        }
        self.unsent.clear();
        Ok(())
    }

    /// Deals with one event.
    fn take(
        &mut self,
        event: Event,
        threads: &mut [ScriptThread],
        buffer: &mut [u8],
        now: Instant,
    ) -> Result<(), LoadError> {
        let Some((number, progress)) = hear(event, self.io, self.wires, buffer, |number| {
            self.waiting.get(number).is_none_or(Option::is_none)
        }) else {
            return Ok(());
        };
        self.answered(threads, number, progress, now)
    }

    /// The same for what came while a thread waited where it stood.
    fn take_heard(&mut self, heard: Heard, threads: &mut [ScriptThread]) -> Result<(), LoadError> {
        let mut buffer = [0; 16 * 1024];
        match heard {
            Heard::Event(event) => {
                if matches!(event, Event::Wake) {
                    return self.deliver(threads);
                }
                self.take(event, threads, &mut buffer, Instant::now())
            }
            Heard::Bytes(number, bytes) => {
                let Some(link) = self.wires.get(number) else {
                    return Ok(());
                };
                let progress = link.feed(&bytes);
                self.answered(threads, number, progress, Instant::now())
            }
        }
    }

    /// An answer continues or is complete: the thread that waits for it has the next turn.
    fn answered(
        &mut self,
        threads: &mut [ScriptThread],
        number: usize,
        progress: Result<Progress, Lost>,
        now: Instant,
    ) -> Result<(), LoadError> {
        if matches!(progress, Ok(Progress::More)) {
            return Ok(());
        }
        let Some(place) = self.waiting.get_mut(number).and_then(Option::take) else {
            // Nobody waits: a server that closes an idle connection is noticed with the next command.
            if let (Err(lost), Some(link)) = (progress, self.wires.get(number)) {
                link.lost_idle(lost);
            }
            return Ok(());
        };
        self.expected -= 1;
        let thread = &mut threads[place];
        thread.link = None;
        let mut answer: Answer = std::mem::take(thread.program.answer(number));
        let reply = self.wires.reply(number, progress, &mut answer);
        *thread.program.answer(number) = answer;
        let kind = match &reply {
            Reply::Rows => Some(READ),
            Reply::Done(0) => Some(OTHER),
            Reply::Done(_) => Some(WRITE),
            _ => None,
        };
        if kind.is_some() {
            let latency = now.saturating_duration_since(thread.sent);
            self.time.recorder.query(now, kind, latency, true);
        }
        self.ready.push_back((place, reply));
        Ok(())
    }

    /// Links that were asked for have come, or cannot be had.
    fn deliver(&mut self, threads: &mut [ScriptThread]) -> Result<(), LoadError> {
        while let Some(delivery) = self.reconnector.take(self.order.side) {
            self.time.recorder.connecting(delivery.cpu);
            let place = delivery.token as usize;
            if place >= threads.len() {
                continue;
            }
            let reply = match delivery.link {
                Ok(link) if self.wires.has_room() => {
                    let number = self.wires.put(link);
                    if let Some(link) = self.wires.get(number) {
                        link.watch(self.io, number as u32)
                            .map_err(client("watching a connection"))?;
                    }
                    Reply::Linked(number)
                }
                Ok(_) => {
                    return Err(LoadError::invalid(format!(
                        "the script has opened {} connections under load and closed none of them: let it close those \
                         that it does not need, or open them in thread_init()",
                        self.wires.len()
                    )));
                }
                Err(error) => match self.wires.place() {
                    Some(place) => Reply::Refused(refusal(&error, place)),
                    None => return Err(error),
                },
            };
            self.ready.push_back((place, reply));
        }
        Ok(())
    }
}

/// The turn of a thread that does one event after the other and waits for nothing.
struct Turn {
    /// No other thread waits for its turn.
    is_alone: bool,
    events: u32,
    /// When the first event was over.
    since: Option<Instant>,
}

impl Turn {
    fn new(is_alone: bool) -> Self {
        Turn {
            is_alone,
            events: 0,
            since: None,
        }
    }

    /// Another event has ended: whether the turn is over.
    fn is_over(&mut self, now: Instant) -> bool {
        if self.is_alone {
            let since = *self.since.get_or_insert(now);
            return now.saturating_duration_since(since) >= TURN;
        }
        self.events += 1;
        self.events >= EVENTS_IN_A_ROW
    }
}

/// What each thread has done since the kick.
fn shares(threads: &[ScriptThread]) -> Vec<Served> {
    threads.iter().map(|thread| thread.served).collect()
}

/// The same until `moment`, when some are within an event.
fn shares_until(threads: &[ScriptThread], moment: Instant) -> Vec<Served> {
    threads
        .iter()
        .map(|thread| thread.served_until(moment))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::link::Link;
    use crate::engine::options::{IgnoredErrors, Retry};
    use crate::engine::order::fixture::{LONG, kinds, order, policy};
    use crate::engine::pacing::{Arrivals, Schedule};
    use crate::net::endpoint::Transport;
    use crate::net::io_choice::IoChoice;
    use crate::net::stream::Stream;
    use crate::script::program::{Counts, Interrupter, Program, Server};
    use crate::workload::plan::Plan;
    use std::io::Write;
    use std::os::unix::net::{UnixListener, UnixStream};
    use std::path::PathBuf;
    use std::sync::atomic::AtomicU64;
    use std::sync::{Arc, Mutex};

    const STALL: Duration = Duration::from_millis(600);
    const COMMAND: &[u8] = b"\x09\0\0\0\x03SELECT 1";
    const OK: &[u8] = b"\x07\0\0\x01\0\0\0\x02\0\0\0";

    /// A thread whose event rests for longer than a server may be silent, and then asks for something.
    #[derive(Default)]
    struct Resting {
        answer: Answer,
        closed: Vec<usize>,
        /// The other end of its link.
        server: Option<UnixStream>,
    }

    impl Program for Resting {
        fn resume(&mut self, reply: Reply, _: &mut dyn Server) -> Result<Want, String> {
            match reply {
                Reply::Event(true) => Ok(Want::Sleep(STALL + STALL / 2)),
                Reply::Go => {
                    // The answer is there before the loop looks for it: on a busy machine, too, the server is not silent.
                    let mut server = self.server.as_ref().ok_or("nobody answers")?;
                    server.write_all(OK).map_err(|error| error.to_string())?;
                    Ok(Want::Answer {
                        link: 0,
                        kind: CommandKind::Text,
                    })
                }
                Reply::Done(0) => Ok(Want::Event { completed: true }),
                other => Err(format!("{other:?}")),
            }
        }

        fn command(&self) -> &[u8] {
            COMMAND
        }

        fn answer(&mut self, _: usize) -> &mut Answer {
            &mut self.answer
        }

        fn take_counts(&mut self) -> Counts {
            Counts::default()
        }

        fn take_closed(&mut self) -> Vec<usize> {
            std::mem::take(&mut self.closed)
        }

        fn interrupter(&self) -> Interrupter {
            Arc::new(|| {})
        }
    }

    fn linked(path: PathBuf) -> Link {
        let stream = Stream::connect(&Transport::Unix(path), Instant::now() + LONG).unwrap();
        Link::without_statements(stream.into_nonblocking().unwrap(), 0, Vec::new())
    }

    fn wires() -> Wires {
        let plan = Arc::new(Plan::empty());
        Wires::new(Vec::new(), plan, LONG, STALL, IgnoredErrors::default())
    }

    fn reconnector() -> Reconnector {
        let plan = Arc::new(Plan::empty());
        Reconnector::new(&[Vec::new()], 0, &plan, LONG, Retry::default()).unwrap()
    }

    #[test]
    fn what_was_heard_of_a_closed_link_is_not_the_next_ones_of_its_number() {
        let mut io = Io::new(IoChoice::Epoll, &[], 16).unwrap();
        let (mut wires, mut reconnector) = (wires(), reconnector());
        let (kinds, policy) = (kinds(), policy(STALL, None));
        let order = order(Instant::now(), STALL);
        let watch = Watch::new(&order.cancel).unwrap();
        let mut running = ScriptRunning::new(
            &kinds,
            &policy,
            &order,
            &mut io,
            &mut wires,
            &mut reconnector,
            &watch,
        )
        .unwrap();
        running.heard = vec![
            Heard::Event(Event::Ended { token: 0, error: 0 }),
            Heard::Bytes(1, vec![2]),
            Heard::Event(Event::Wake),
            Heard::Bytes(0, vec![1]),
        ];
        let program = Resting {
            closed: vec![0],
            ..Resting::default()
        };
        let watched = watch.add(Arc::new(|| {}));
        let mut thread = ScriptThread::new(Box::new(program), watched, State::Busy);
        running.after_turn(&mut thread).unwrap();
        let left: Vec<_> = running.heard.iter().map(Heard::link).collect();
        assert_eq!(left, [Some(1), None]);
    }

    #[test]
    fn who_asks_on_a_link_that_was_lost_while_idle_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        let _listener = UnixListener::bind(&path).unwrap();
        let now = Instant::now();
        let mut io = Io::new(IoChoice::Epoll, &[], 16).unwrap();
        let (mut wires, mut reconnector) = (wires(), reconnector());
        assert_eq!(wires.put(linked(path)), 0);
        let (kinds, policy, order) = (kinds(), policy(STALL, None), order(now, STALL));
        let watch = Watch::new(&order.cancel).unwrap();
        let mut running = ScriptRunning::new(
            &kinds,
            &policy,
            &order,
            &mut io,
            &mut wires,
            &mut reconnector,
            &watch,
        )
        .unwrap();
        let gone = Err(Lost("gone".into()));
        running.answered(&mut [], 0, gone, now).unwrap();
        // The socket would take it.
        let link = running.wires.get(0).unwrap();
        let Err(Lost(cause)) = link.send(running.io, 0) else {
            panic!("nothing was lost");
        };
        assert_eq!(cause, "gone");
    }

    #[test]
    fn a_long_rest_is_no_silence_of_the_server() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        let listener = UnixListener::bind(&path).unwrap();
        let now = Instant::now();
        let link = linked(path);
        let program = Resting {
            server: Some(listener.accept().unwrap().0),
            ..Resting::default()
        };
        let mut io = Io::new(IoChoice::Epoll, &[], 16).unwrap();
        link.watch(&mut io, 0).unwrap();
        let (mut wires, mut reconnector) = (wires(), reconnector());
        assert_eq!(wires.put(link), 0);
        let (kinds, policy) = (kinds(), policy(STALL, None));
        let order = Order {
            events: Some((1, Arc::new(AtomicU64::new(0)))),
            ..order(now, STALL)
        };
        let watch = Watch::new(&order.cancel).unwrap();
        let mut threads = [ScriptThread::new(
            Box::new(program),
            watch.add(Arc::new(|| {})),
            State::Parked,
        )];
        let report = ScriptRunning::new(
            &kinds,
            &policy,
            &order,
            &mut io,
            &mut wires,
            &mut reconnector,
            &watch,
        )
        .unwrap()
        .run(&mut threads, &mut Vec::new(), &mut [0; 1024], &|_, _| {});
        match report.unwrap() {
            Report::Finished { window, .. } => assert_eq!(window.transactions, 1),
            other => panic!("{other:?}"),
        }
    }

    /// A thread whose events ask for nothing.
    #[derive(Default)]
    struct Quick(Answer);

    impl Program for Quick {
        fn resume(&mut self, reply: Reply, _: &mut dyn Server) -> Result<Want, String> {
            Ok(Want::Event {
                completed: reply == Reply::Event(true),
            })
        }

        fn command(&self) -> &[u8] {
            &[]
        }

        fn answer(&mut self, _: usize) -> &mut Answer {
            &mut self.0
        }

        fn take_counts(&mut self) -> Counts {
            Counts::default()
        }

        fn take_closed(&mut self) -> Vec<usize> {
            Vec::new()
        }

        fn interrupter(&self) -> Interrupter {
            Arc::new(|| {})
        }
    }

    #[test]
    fn who_is_free_after_its_turn_is_there_when_the_next_event_arrives() {
        let now = Instant::now();
        let mut io = Io::new(IoChoice::Epoll, &[], 16).unwrap();
        let (mut wires, mut reconnector) = (wires(), reconnector());
        let (kinds, policy) = (kinds(), policy(LONG, None));
        // Two a minute: the second one is not due yet, however long this test takes.
        let mut arrivals = Arrivals::new(&Schedule::constant(1.0 / 30.0), Duration::ZERO, 7);
        let order = Order {
            kick: now - arrivals.clone().take().unwrap(),
            arrivals: Some(Arc::new(Mutex::new(arrivals.clone()))),
            ..order(now, LONG)
        };
        arrivals.take();
        let second = order.kick + arrivals.take().unwrap();
        let watch = Watch::new(&order.cancel).unwrap();
        let mut threads = [ScriptThread::new(
            Box::<Quick>::default(),
            watch.add(Arc::new(|| {})),
            State::Parked,
        )];
        let mut running = ScriptRunning::new(
            &kinds,
            &policy,
            &order,
            &mut io,
            &mut wires,
            &mut reconnector,
            &watch,
        )
        .unwrap();
        running.offer(&mut threads, 0, now);
        running.begin_due(&mut threads, now).unwrap();
        running.take_turns(&mut threads).unwrap();
        assert_eq!(threads[0].served.transactions, 1);
        // Shortly before it is due; from `LONG` on nothing is waited for at all.
        let later = second - Duration::from_millis(5);
        let wait = running.wait(&mut threads, now + 2 * LONG, later).unwrap();
        assert_eq!(wait, Duration::from_millis(5));
    }

    #[test]
    fn a_turn_is_some_events_among_others_and_a_time_alone() {
        let begin = Instant::now();
        let mut turn = Turn::new(false);
        let events = (1..).find(|_| turn.is_over(begin));
        assert_eq!(events, Some(EVENTS_IN_A_ROW));
        let mut turn = Turn::new(true);
        assert!((0..100_000).all(|_| !turn.is_over(begin)));
        assert!(!turn.is_over(begin + TURN / 2));
        assert!(turn.is_over(begin + TURN));
    }
}
