//! A slice or run under way on one loop: transactions begin, statements are answered and sent, errors are dealt with.

use crate::counted;
use crate::engine::connection::{Connection, State, Stopped};
use crate::engine::counted_time::CountedTime;
use crate::engine::link::{Link, Lost};
use crate::engine::order::{ENDING_ERRORS, Order, Policy, Report, Served, client};
use crate::engine::reconnect::Reconnector;
use crate::engine::recorder::{Kinds, Window};
use crate::error::LoadError;
use crate::net::event::{Coalescing, Event};
use crate::net::io::Io;
use crate::protocol::response::Progress;
use crate::workload::plan::Plan;
use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::io;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// A row with this key is there already.
const DUPLICATE_KEY: u16 = 1062;

pub(crate) struct Running<'a> {
    plan: &'a Plan,
    policy: &'a Policy,
    order: &'a Order,
    io: &'a mut Io,
    reconnector: &'a mut Reconnector,
    time: CountedTime<'a, 'a>,
    /// Connections that an answer is expected on.
    in_flight: usize,
    /// Connections without a link.
    lost: usize,
    /// Of an open loop: connections that wait for an arrival, the longest waiting first.
    free: VecDeque<usize>,
    /// Connections with a statement that is written and not sent. Sends come after all answers of a batch have been
    /// taken: the server's threads that they wake then do not come in between.
    unsent: Vec<usize>,
    /// Of a workload with think times: connections that rest, and until when.
    resting: BinaryHeap<Reverse<(Instant, usize)>>,
    /// The longest delay of a wake-up.
    max_delay: Duration,
}

impl<'a> Running<'a> {
    pub(crate) fn new(
        plan: &'a Plan,
        kinds: &'a Kinds,
        policy: &'a Policy,
        order: &'a Order,
        io: &'a mut Io,
        reconnector: &'a mut Reconnector,
        max_delay: Duration,
    ) -> Result<Self, LoadError> {
        Ok(Running {
            plan,
            policy,
            order,
            io,
            reconnector,
            time: CountedTime::new(kinds, order)?,
            in_flight: 0,
            lost: 0,
            free: VecDeque::new(),
            unsent: Vec::new(),
            resting: BinaryHeap::new(),
            max_delay,
        })
    }

    /// Loads the side until the time is over or the transactions are done, and all of them are finished.
    pub(crate) fn run(
        mut self,
        connections: &mut [Connection],
        events: &mut Vec<Event>,
        buffer: &mut [u8],
        report: &dyn Fn(Window, Vec<Served>),
    ) -> Result<Report, LoadError> {
        let mut boundary = self.time.first_boundary();
        self.start(connections)?;
        let mut now = Instant::now();
        let mut heard = now;
        self.begin_due(connections, now)?;
        self.send(connections, None)?;

        while self.in_flight > 0 || self.renewing() > 0 || self.has_more(now) {
            let wait = self.wait(boundary, now);
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
                        shares_until(connections, end)
                    } else {
                        Vec::new()
                    };
                    report(window, per_connection);
                })?;
            }
            // All of these answers were there when the wait ended: one reading of the clock is right for them.
            let mut wake = false;
            for &event in events.iter() {
                wake |= matches!(event, Event::Wake);
                self.hear(event, connections, buffer, now)?;
            }
            // Last: what was heard before is of the links that were there.
            if wake {
                self.deliver(connections)?;
            }
            self.begin_due(connections, now)?;
            // Taking a single answer needs no time worth another reading.
            self.send(connections, (events.len() == 1).then_some(now))?;

            if self.order.abort.load(Ordering::Relaxed) {
                return Ok(Report::Failed(LoadError::Cancelled));
            }
            self.time.obey(now);
            self.check_bounds(now, heard)?;
        }
        self.time.finish(now, shares(connections))
    }

    /// Begins a transaction on every connection that has a link.
    fn start(&mut self, connections: &mut [Connection]) -> Result<(), LoadError> {
        self.free.reserve(connections.len());
        self.unsent.reserve(connections.len());
        for connection in connections.iter_mut() {
            connection.served = Served::default();
            if connection.state != State::Idle {
                connection.state = State::Lost { resume: false };
                self.lost += 1;
                continue;
            }
            let now = Instant::now();
            connection.free_since = now;
            self.next(connection, now)?;
        }
        self.deliver(connections)
    }

    /// Gives up a server that takes too long with what is in flight, or was last `heard` of too long ago.
    fn check_bounds(&self, now: Instant, heard: Instant) -> Result<(), LoadError> {
        self.time
            .check_drain(now, self.in_flight + self.renewing(), "transactions")?;
        if now.saturating_duration_since(heard) >= self.order.stall_timeout {
            return Err(self.time.server_lost(format!(
                "no answer on {} for {:.1} s",
                counted(self.in_flight as u64, "connection"),
                self.order.stall_timeout.as_secs_f64()
            )));
        }
        Ok(())
    }

    /// Connections that have served their time and whose successors are not there yet. They are waited for: a server that is stopped
    /// between two slices would answer none of them, and nobody else's behind them.
    fn renewing(&self) -> usize {
        match self.policy.retry {
            None => self.lost,
            Some(_) => 0,
        }
    }

    /// Whether there may be more to do although no answer is expected.
    fn has_more(&mut self, now: Instant) -> bool {
        let more_to_come =
            self.order.arrivals.is_some() || self.lost > 0 || !self.resting.is_empty();
        more_to_come && self.time.may_begin_more(now)
    }

    fn wait(&self, boundary: Instant, now: Instant) -> Duration {
        let longest = self.time.longest_wait(boundary, now);
        if self.time.is_over(now) {
            return longest;
        }
        let until = match self.resting.peek() {
            Some(Reverse((due, _))) => longest.min(due.saturating_duration_since(now)),
            None => longest,
        };
        match self.free.is_empty() {
            true => until,
            false => self.time.before_arrival(until, now),
        }
    }

    /// The longest delay of a wake-up.
    fn coalescing(&self) -> Coalescing {
        if self.max_delay.is_zero() || self.order.arrivals.is_some() {
            return Coalescing::NONE;
        }
        Coalescing::half_of(self.in_flight, self.max_delay)
    }

    /// A connection is free: in a closed loop its next transaction begins.
    fn next(&mut self, connection: &mut Connection, now: Instant) -> Result<(), LoadError> {
        if self.order.arrivals.is_some() {
            connection.state = State::Idle;
            self.free.push_back(connection.token() as usize);
            return Ok(());
        }
        if !self.time.may_begin(now) {
            connection.state = State::Idle;
            return Ok(());
        }
        // It begins when the last one ended: what the loop itself takes until the sending counts as latency, or
        // connections times time would be more than what all transactions took together.
        connection.intended = now;
        self.begin(connection, now)
    }

    fn begin(&mut self, connection: &mut Connection, now: Instant) -> Result<(), LoadError> {
        self.in_flight += 1;
        let begun = connection.begin(self.plan, now);
        self.unsent.push(connection.token() as usize);
        self.put_up_with(connection, begun.map_err(Failure::from))
    }

    /// Sends what was written, in the order in which it was. `time` is that of the first sending, if known.
    fn send(
        &mut self,
        connections: &mut [Connection],
        mut time: Option<Instant>,
    ) -> Result<(), LoadError> {
        for place in 0..self.unsent.len() {
            let connection = &mut connections[self.unsent[place]];
            let now = time.take().unwrap_or_else(Instant::now);
            match connection.send(self.io, now) {
                Ok(false) => {}
                Ok(true) => {
                    let late = self.order.arrivals.is_some().then(|| {
                        let ready = connection.intended.max(connection.free_since);
                        now.saturating_duration_since(ready)
                    });
                    self.time.recorder.began(now, late);
                }
                Err(lost) => self.put_up_with(connection, Err(lost.into()))?,
            }
        }
        self.unsent.clear();
        Ok(())
    }

    /// Begins what connections have rested long enough for and, in an open loop, what has arrived, as long as connections
    /// are free.
    fn begin_due(
        &mut self,
        connections: &mut [Connection],
        mut now: Instant,
    ) -> Result<(), LoadError> {
        while let Some(&Reverse((due, token))) = self.resting.peek()
            && due <= now
        {
            self.resting.pop();
            let connection = &mut connections[token];
            if connection.state == State::Idle && self.time.may_begin(now) {
                connection.intended = due;
                self.begin(connection, now)?;
            }
        }
        while let Some(&token) = self.free.front()
            && let Some(due) = self.time.arrived(&mut now)
        {
            self.free.pop_front();
            let connection = &mut connections[token];
            connection.intended = due;
            self.begin(connection, now)?;
        }
        Ok(())
    }

    /// Deals with one event.
    #[inline]
    fn hear(
        &mut self,
        event: Event,
        connections: &mut [Connection],
        buffer: &mut [u8],
        now: Instant,
    ) -> Result<(), LoadError> {
        let Some(token) = event.token() else {
            return Ok(());
        };
        let Some(connection) = connections.get_mut(token as usize) else {
            return Ok(());
        };
        let progress = match event {
            Event::Ready(_) => connection.receive(buffer, self.io),
            Event::Received { buffer, length, .. } => {
                let progress = connection.take(self.io.bytes(buffer, length));
                self.io.give(buffer);
                progress
            }
            Event::Ended { error, .. } => Err(match error {
                0 => io::Error::from(io::ErrorKind::UnexpectedEof),
                error => io::Error::from_raw_os_error(error),
            }
            .into()),
            Event::Short { sent, .. } => {
                let resumed = connection.resume_sending(sent as usize, self.io);
                resumed.map(|()| Progress::More)
            }
            Event::Writable(_) | Event::Wake => {
                connection.go_on_sending(self.io).map(|()| Progress::More)
            }
        };
        if matches!(event, Event::Ended { .. }) && !connection.is_linked() {
            return Ok(());
        }
        self.answer(connection, progress, now)
    }

    /// An answer continues or is complete: counts it and writes what comes next.
    fn answer(
        &mut self,
        connection: &mut Connection,
        progress: Result<Progress, Lost>,
        now: Instant,
    ) -> Result<(), LoadError> {
        match self.try_answer(connection, progress, now) {
            Ok(Answered::Underway) => Ok(()),
            Ok(Answered::Completed) => {
                self.in_flight -= 1;
                let served = connection.complete(now);
                let latency = now.saturating_duration_since(connection.intended);
                let kind = connection.kind(self.plan);
                self.time.recorder.transaction(now, kind, latency);
                if self
                    .policy
                    .reconnect_after
                    .is_some_and(|most| served >= most)
                {
                    connection.state = State::Idle;
                    connection.quit();
                    return self.lose(connection, false, None);
                }
                let pause = connection.pause(self.plan);
                if self.order.arrivals.is_none() && !pause.is_zero() {
                    connection.state = State::Idle;
                    let token = connection.token() as usize;
                    self.resting.push(Reverse((now + pause, token)));
                    return Ok(());
                }
                self.next(connection, now)
            }
            Ok(Answered::Stopped) => {
                self.in_flight -= 1;
                connection.state = State::Idle;
                Ok(())
            }
            Err(failure) => self.put_up_with(connection, Err(failure)),
        }
    }

    fn try_answer(
        &mut self,
        connection: &mut Connection,
        progress: Result<Progress, Lost>,
        now: Instant,
    ) -> Result<Answered, Failure> {
        let failed = match progress? {
            Progress::More => return Ok(Answered::Underway),
            Progress::Done => false,
            Progress::Failed => true,
        };
        let latency = now.saturating_duration_since(connection.sent);
        let statement = connection.statement(self.plan);
        let touched = !failed && connection.touched();
        self.time.recorder.query(now, statement, latency, touched);
        match (connection.state, failed) {
            (State::Running, false) => {
                if !connection.advance(self.plan)? {
                    return Ok(Answered::Completed);
                }
                self.unsent.push(connection.token() as usize);
            }
            (State::Running, true) => {
                let error = connection.error()?;
                if ENDING_ERRORS.contains(&error.code) {
                    return Err(Lost(error.to_string()).into());
                }
                if !self.policy.ignored_errors.contain(error.code) {
                    return Err(Failure::Statement {
                        code: error.code,
                        message: error.message,
                    });
                }
                self.time.recorder.error(error.code);
                if error.code == DUPLICATE_KEY {
                    connection.met_key();
                }
                if connection.is_open(self.plan) {
                    connection.roll_back()?;
                    self.unsent.push(connection.token() as usize);
                } else {
                    return self.restart(connection, now);
                }
            }
            (State::RollingBack, false) => return self.restart(connection, now),
            (State::RollingBack, true) => {
                let error = connection.error()?;
                if ENDING_ERRORS.contains(&error.code) {
                    return Err(Lost(error.to_string()).into());
                }
                return Err(Failure::Statement {
                    code: error.code,
                    message: error.message,
                });
            }
            (State::Idle | State::Lost { .. }, _) => {}
        }
        Ok(Answered::Underway)
    }

    fn restart(&mut self, connection: &mut Connection, now: Instant) -> Result<Answered, Failure> {
        if self.time.is_over(now) {
            return Ok(Answered::Stopped);
        }
        connection.restart(self.plan)?;
        self.unsent.push(connection.token() as usize);
        Ok(Answered::Underway)
    }

    /// A lost connection is re-established if the options say so; everything else ends the run.
    fn put_up_with(
        &mut self,
        connection: &mut Connection,
        result: Result<(), Failure>,
    ) -> Result<(), LoadError> {
        match result {
            Ok(()) => Ok(()),
            Err(Failure::Lost(Lost(cause))) => match self.policy.retry {
                None => Err(self.time.server_lost(cause)),
                Some(retry) => {
                    let resume = connection.state != State::Idle;
                    if resume {
                        self.in_flight -= 1;
                    } else {
                        let token = connection.token() as usize;
                        self.free.retain(|&free| free != token);
                        // It continues when it is there again: the end of this rest is not that of a later one.
                        self.resting
                            .retain(|&Reverse((_, resting))| resting != token);
                    }
                    self.lose(connection, resume, Some(retry.first))
                }
            },
            Err(Failure::Statement { code, message }) => Err(LoadError::Statement {
                side: self.order.side,
                code,
                message,
                statement: connection.statement_sql(self.plan),
            }),
            Err(Failure::Data(cause)) => Err(LoadError::Data {
                side: self.order.side,
                cause: cause.into_owned(),
                statement: connection.statement_sql(self.plan),
            }),
        }
    }

    /// Has the link re-established, after a delay if it was lost, at once if it has served its time.
    fn lose(
        &mut self,
        connection: &mut Connection,
        resume: bool,
        delay: Option<Duration>,
    ) -> Result<(), LoadError> {
        self.lost += 1;
        connection
            .lose(resume, self.io)
            .map_err(client("giving up a connection"))?;
        self.reconnector.request(
            self.order.side,
            connection.token(),
            delay.unwrap_or_default(),
            delay.is_none(),
        )
    }

    /// Links that were asked for have come.
    fn deliver(&mut self, connections: &mut [Connection]) -> Result<(), LoadError> {
        while let Some(delivery) = self.reconnector.take(self.order.side) {
            self.time.recorder.connecting(delivery.cpu);
            let connection = &mut connections[delivery.token as usize];
            let link: Link = match delivery.link {
                Ok(link) => link,
                Err(error) => {
                    return Err(self
                        .time
                        .server_lost(format!("it could not be reached again: {error}")));
                }
            };
            let resume = connection.state == State::Lost { resume: true };
            connection
                .relink(link, self.io)
                .map_err(client("watching a connection"))?;
            self.lost -= 1;
            self.time.recorder.reconnected(delivery.renewed);
            let now = Instant::now();
            if !resume {
                connection.free_since = now;
                self.next(connection, now)?;
            } else if !self.time.is_over(now) {
                self.in_flight += 1;
                let begun = connection.restart(self.plan);
                self.unsent.push(connection.token() as usize);
                self.put_up_with(connection, begun.map_err(Failure::from))?;
            }
        }
        Ok(())
    }
}

/// What each connection has done since the kick.
fn shares(connections: &[Connection]) -> Vec<Served> {
    connections
        .iter()
        .map(|connection| connection.served)
        .collect()
}

/// The same until `moment`, when some are within a transaction.
fn shares_until(connections: &[Connection], moment: Instant) -> Vec<Served> {
    connections
        .iter()
        .map(|connection| connection.served_until(moment))
        .collect()
}

/// What came of an event on a connection.
enum Answered {
    /// The transaction continues.
    Underway,
    /// It has been answered to its end.
    Completed,
    /// It was rolled back and time is over.
    Stopped,
}

enum Failure {
    Lost(Lost),
    Statement {
        code: u16,
        message: String,
    },
    /// The data are not the workload's.
    Data(Cow<'static, str>),
}

impl From<Stopped> for Failure {
    fn from(stopped: Stopped) -> Self {
        match stopped {
            Stopped::Lost(lost) => Failure::Lost(lost),
            Stopped::Data(cause) => Failure::Data(cause),
        }
    }
}

impl From<Lost> for Failure {
    fn from(lost: Lost) -> Self {
        Failure::Lost(lost)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::options::Retry;
    use crate::engine::order::fixture::{LONG, kinds, order, policy};
    use crate::net::endpoint::Transport;
    use crate::net::io_choice::IoChoice;
    use crate::net::stream::Stream;
    use std::os::unix::net::UnixListener;
    use std::sync::Arc;

    #[test]
    fn a_rest_ends_with_its_link() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        let _listener = UnixListener::bind(&path).unwrap();
        let now = Instant::now();
        let stream = Stream::connect(&Transport::Unix(path), now + LONG).unwrap();
        let link = Link::without_statements(stream.into_nonblocking().unwrap(), 0, Vec::new());
        let retry = Retry {
            first: LONG,
            ..Retry::default()
        };
        let plan = Arc::new(Plan::empty());
        let (kinds, policy, order) = (kinds(), policy(LONG, Some(retry)), order(now, LONG));
        let mut io = Io::new(IoChoice::Epoll, &[], 16).unwrap();
        let mut reconnector = Reconnector::new(&[Vec::new()], 0, &plan, LONG, retry).unwrap();
        let mut running = Running::new(
            &plan,
            &kinds,
            &policy,
            &order,
            &mut io,
            &mut reconnector,
            Duration::ZERO,
        )
        .unwrap();
        let mut connection = Connection::new(link, 0, plan.transaction(0));
        running.resting.push(Reverse((now + LONG, 0)));
        running.resting.push(Reverse((now + LONG, 1)));
        let lost = Failure::Lost(Lost("gone".into()));
        running.put_up_with(&mut connection, Err(lost)).unwrap();
        let left: Vec<_> = running.resting.iter().map(|one| one.0.1).collect();
        assert_eq!(left, [1]);
    }
}
