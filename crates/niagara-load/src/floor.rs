//! The least that a client can do: a bare loop that sends prepared packets and drains the replies.
//!
//! It waits and sends by the means that the driver has ([`IoChoice`]), epoll or io_uring. It draws no parameters, reads no reply (their lengths are known from one rehearsal), counts no latency, and deals
//! with nothing that goes wrong. What a load generator uses beyond it is the generator's own work; `make bench`
//! measures [`Driver`](crate::Driver) against it.

use crate::error::LoadError;
use crate::net::endpoint::Endpoint;
use crate::net::event::{Coalescing, Event};
use crate::net::io::Io;
use crate::net::io_choice::IoChoice;
use crate::net::session::{CANNOT_BE_PREPARED, Session, SessionError};
use crate::net::stream::Stream;
use crate::protocol::answer::Answer;
use crate::protocol::command::Execute;
use crate::protocol::response::{Progress, ResponseReader};
use crate::workload::WorkloadSpec;
use crate::workload::plan::Plan;
use crate::workload::template::Next;
use nix::sched::{CpuSet, sched_setaffinity};
use nix::time::{ClockId, clock_gettime};
use nix::unistd::Pid;
use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::time::{Duration, Instant};

const READ_BUFFER: usize = 64 * 1024;

/// Connections that replay one and the same transaction.
#[derive(Debug)]
pub struct Floor {
    choice: IoChoice,
    max_delay: Duration,
    endpoint: Endpoint,
    connections: Vec<Replay>,
}

/// What was sent and received in one slice.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FloorStats {
    /// Replies drained.
    pub queries: u64,
    /// From the first packet to the last reply, in seconds.
    pub seconds: f64,
    /// CPU time of the loop, in seconds.
    pub cpu_seconds: f64,
}

/// A packet, and the length of its reply.
#[derive(Debug)]
struct Exchange {
    packet: Vec<u8>,
    reply: usize,
}

#[derive(Debug)]
struct Replay {
    stream: Stream,
    /// Its own: servers do not number prepared statements alike on all connections.
    script: Vec<Exchange>,
    position: usize,
    received: usize,
}

impl Floor {
    /// Connects, prepares the statements of a workload that only reads, and rehearses one transaction on every
    /// connection. With io_uring wake-ups are coalesced for at most `max_delay`.
    ///
    /// # Errors
    /// The workload writes, or the server cannot be reached.
    pub fn connect(
        endpoint: &Endpoint,
        spec: &WorkloadSpec,
        connections: u32,
        timeout: Duration,
        io: IoChoice,
        max_delay: Duration,
    ) -> Result<Self, LoadError> {
        spec.validate()?;
        if spec.writes() || spec.capture().is_some() {
            return Err(LoadError::invalid(format!(
                "{} changes data or is a capture, so its replies cannot be foreseen: take a workload that only reads",
                spec.name()
            )));
        }
        let plan = Plan::new(spec, connections, 1);
        let mut floor = Floor {
            choice: io,
            max_delay,
            endpoint: endpoint.clone(),
            connections: Vec::with_capacity(connections as usize),
        };
        for _ in 0..connections {
            let (stream, script) =
                rehearse(endpoint, &plan, timeout).map_err(|error| error.at(endpoint))?;
            floor.connections.push(Replay {
                stream,
                script,
                position: 0,
                received: 0,
            });
        }
        Ok(floor)
    }

    /// Replays for `duration` on the CPUs given; what is in flight is drained.
    ///
    /// # Errors
    /// The server goes away, or a reply is longer than in the rehearsal.
    pub fn slice(
        &mut self,
        duration: Duration,
        cpus: Option<&[usize]>,
    ) -> Result<FloorStats, LoadError> {
        // A thread of its own: where it may run is not to outlast it.
        std::thread::scope(|scope| {
            scope
                .spawn(|| self.replay(duration, cpus))
                .join()
                .unwrap_or_else(|_| Err(LoadError::Client("the bare loop died".into())))
        })
    }

    fn replay(
        &mut self,
        duration: Duration,
        cpus: Option<&[usize]>,
    ) -> Result<FloorStats, LoadError> {
        if let Some(cpus) = cpus {
            let mut set = CpuSet::new();
            for &cpu in cpus {
                set.set(cpu)
                    .map_err(|_| LoadError::invalid(format!("there is no CPU {cpu}")))?;
            }
            sched_setaffinity(Pid::from_raw(0), &set).map_err(|error| client(error.into()))?;
        }
        let lost = |error: io::Error| LoadError::ServerLost {
            side: 0,
            cause: error.to_string(),
        };
        // Made here: a ring belongs to a thread.
        let mut io = Io::new(
            self.choice,
            std::slice::from_ref(&self.endpoint),
            self.connections.len(),
        )?;
        for (token, replay) in (0..).zip(&self.connections) {
            io.watch(&replay.stream, token).map_err(client)?;
        }
        let mut events: Vec<Event> = Vec::with_capacity(256);
        let mut buffer = vec![0; READ_BUFFER];
        let begin = Instant::now();
        let stop_at = begin + duration;
        let cpu_before = thread_cpu()?;
        let mut queries = 0;
        for (token, replay) in (0..).zip(&mut self.connections) {
            replay.send(token, &mut io).map_err(lost)?;
        }
        let mut in_flight = self.connections.len();
        while in_flight > 0 {
            let coalescing = Coalescing::half_of(in_flight, self.max_delay);
            io.wait(&mut events, coalescing, Duration::from_secs(10))
                .map_err(client)?;
            if events.is_empty() {
                return Err(lost(io::ErrorKind::TimedOut.into()));
            }
            let stopping = Instant::now() >= stop_at;
            for &event in &events {
                let (token, received) = match event {
                    Event::Ready(token) => (token, None),
                    Event::Received {
                        token,
                        buffer,
                        length,
                    } => {
                        io.give(buffer);
                        (token, Some(length as usize))
                    }
                    other => return Err(lost(io::Error::other(format!("{other:?}")))),
                };
                let Some(replay) = self.connections.get_mut(token as usize) else {
                    continue;
                };
                if !replay.drain(received, &mut buffer).map_err(lost)? {
                    continue;
                }
                queries += 1;
                replay.position = (replay.position + 1) % replay.script.len();
                if stopping && replay.position == 0 {
                    in_flight -= 1;
                } else {
                    replay.send(token, &mut io).map_err(lost)?;
                }
            }
        }
        Ok(FloorStats {
            queries,
            seconds: begin.elapsed().as_secs_f64(),
            cpu_seconds: (thread_cpu()? - cpu_before).as_secs_f64(),
        })
    }
}

impl Replay {
    fn send(&mut self, token: u32, io: &mut Io) -> io::Result<()> {
        let packet = &self.script[self.position].packet;
        self.received = 0;
        if let Some(ring) = io.ring()
            && ring.send(token, packet)?
        {
            return Ok(());
        }
        // Commands are far smaller than a socket's buffer.
        match self.stream.write(packet)? {
            count if count == packet.len() => Ok(()),
            _ => Err(io::ErrorKind::WriteZero.into()),
        }
    }

    /// Takes what was received, or reads it; whether the reply is complete.
    fn drain(&mut self, received: Option<usize>, buffer: &mut [u8]) -> io::Result<bool> {
        let expected = self.script[self.position].reply;
        self.received += received.unwrap_or(0);
        while self.received < expected {
            if received.is_some() {
                return Ok(false);
            }
            match self.stream.read(buffer) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(count) => self.received += count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        if self.received > expected {
            return Err(io::Error::other(format!(
                "a reply of {} bytes where the rehearsal saw {expected}",
                self.received
            )));
        }
        Ok(true)
    }
}

/// Runs one transaction twice, blocking; the packets of the second time and the lengths of their replies. The first
/// time tells the server the types of the parameters.
fn rehearse(
    endpoint: &Endpoint,
    plan: &Plan,
    timeout: Duration,
) -> Result<(Stream, Vec<Exchange>), SessionError> {
    let mut session = Session::connect(endpoint, Some(&endpoint.database), timeout)?;
    let mut prepared = HashMap::new();
    let rehearsals = [
        packets(&mut session, plan, &mut prepared, true)?,
        packets(&mut session, plan, &mut prepared, false)?,
    ];
    let (mut stream, capabilities, _) = session.into_parts();
    let mut buffer = vec![0; READ_BUFFER];
    let mut script = Vec::new();
    for packets in rehearsals {
        script.clear();
        for packet in packets {
            let deadline = Instant::now() + timeout;
            stream.write_before(deadline, &packet)?;
            let mut reader = ResponseReader::new(capabilities);
            let mut reply = 0;
            loop {
                let count = stream.read_before(deadline, &mut buffer)?;
                reply += count;
                match reader.feed(&buffer[..count])? {
                    Progress::More => {}
                    Progress::Done => break,
                    Progress::Failed => return Err(SessionError::Server(reader.error()?)),
                }
            }
            script.push(Exchange { packet, reply });
        }
    }
    Ok((stream.into_nonblocking()?, script))
}

/// The commands of one transaction, drawn the same at every call. `prepared` keeps the statements by their text;
/// one that cannot be prepared goes as text.
fn packets(
    session: &mut Session,
    plan: &Plan,
    prepared: &mut HashMap<String, Option<u32>>,
    send_types: bool,
) -> Result<Vec<Vec<u8>>, SessionError> {
    let mut transaction = plan.transaction(0);
    let mut packets = Vec::new();
    loop {
        let template = transaction.current(plan);
        let mut packet = Vec::new();
        let sql = transaction.sql(plan);
        let id = match prepared.get(&sql) {
            Some(id) => *id,
            None if plan.templates[template].as_text => None,
            None => {
                let id = match session.prepare(&sql) {
                    Ok(statement) => Some(statement.statement),
                    Err(SessionError::Server(error)) if error.code == CANNOT_BE_PREPARED => None,
                    Err(error) => return Err(error),
                };
                prepared.insert(sql.clone(), id);
                id
            }
        };
        match id {
            Some(id) => {
                let parameters = &plan.templates[template].parameters;
                let execute = Execute::new(&mut packet, id, parameters, send_types);
                transaction.encode(plan, template, execute);
            }
            None => transaction.encode_text(plan, template, &mut packet),
        }
        packets.push(packet);
        // A workload that only reads continues whatever the answer.
        if !matches!(
            transaction.advance(plan, &Answer::default()),
            Ok(Next::Statement)
        ) {
            return Ok(packets);
        }
    }
}

fn client(error: io::Error) -> LoadError {
    LoadError::Client(error.to_string())
}

fn thread_cpu() -> Result<Duration, LoadError> {
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID)
        .map(Duration::from)
        .map_err(|error| client(error.into()))
}
