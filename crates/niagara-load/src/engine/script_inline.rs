//! A command of a script that is waited for where the thread stands, within a call of C: the loop keeps listening, and
//! keeps what comes for others.

use crate::engine::link::Lost;
use crate::engine::order::Order;
use crate::net::event::{Coalescing, Event};
use crate::net::io::Io;
use crate::protocol::answer::Answer;
use crate::protocol::response::Progress;
use crate::script::program::{Reply, Server, Want};
use crate::script::wires::{Wires, awaited};
use std::io;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Something that came for another thread.
pub(crate) enum Heard {
    Event(Event),
    /// Bytes on a link.
    Bytes(usize, Vec<u8>),
}

impl Heard {
    /// The link that it is about.
    pub(crate) fn link(&self) -> Option<usize> {
        match self {
            Heard::Event(event) => event.token().map(|token| token as usize),
            Heard::Bytes(number, _) => Some(*number),
        }
    }
}

/// The loop, lent to a thread that waits.
pub(crate) struct Inline<'a> {
    pub io: &'a mut Io,
    pub wires: &'a mut Wires,
    pub heard: &'a mut Vec<Heard>,
    /// What the loop carries out: once that is over, nothing is waited for any more.
    pub order: &'a Order,
    pub patience: Duration,
}

/// The longest wait for an event.
const MAX_WAIT: Duration = Duration::from_millis(100);

impl Server for Inline<'_> {
    fn ask(&mut self, want: Want, command: &[u8], answer: &mut Answer) -> Reply {
        match want {
            Want::Connect => {
                if !self.wires.has_room() {
                    return Reply::Lost("too many connections are open".into());
                }
                let reply = self.wires.connect();
                if let Reply::Linked(number) = reply
                    && let Some(link) = self.wires.get(number)
                    && let Err(error) = link.watch(self.io, number as u32)
                {
                    return Reply::Lost(error.to_string());
                }
                reply
            }
            Want::Answer { link, kind } => {
                let progress = match self.wires.get(link) {
                    Some(wire) => {
                        wire.write_command(command, awaited(kind));
                        wire.send(self.io, link as u32)
                            .and_then(|()| self.listen(link))
                    }
                    None => Err(Lost("there is no such connection any more".into())),
                };
                self.wires.reply(link, progress, answer)
            }
            other => self.wires.ask(other, command, answer),
        }
    }
}

impl Inline<'_> {
    /// Waits for the answer on one link.
    fn listen(&mut self, link: usize) -> Result<Progress, Lost> {
        let mut events = Vec::with_capacity(16);
        let mut buffer = vec![0; 16 * 1024];
        let mut result = None;
        let deadline = Instant::now() + self.patience;
        while result.is_none() {
            let now = Instant::now();
            let is_over = now >= self.order.stop_at + self.order.drain_timeout
                || self.order.cancel.load(Ordering::Relaxed)
                || self.order.abort.load(Ordering::Relaxed);
            if is_over || now >= deadline {
                return Err(io::Error::from(io::ErrorKind::TimedOut).into());
            }
            self.io.wait(&mut events, Coalescing::NONE, MAX_WAIT)?;
            for &event in &events {
                if result.is_some() || event.token() != Some(link as u32) {
                    self.keep(event);
                    continue;
                }
                match hear(event, self.io, self.wires, &mut buffer, |_| false) {
                    None | Some((_, Ok(Progress::More))) => {}
                    Some((_, progress)) => result = Some(progress),
                }
            }
        }
        result.unwrap_or(Ok(Progress::More))
    }

    /// Keeps what is for others; a buffer of the system's is given back at once.
    fn keep(&mut self, event: Event) {
        match event {
            Event::Received {
                token,
                buffer,
                length,
            } => {
                let bytes = self.io.bytes(buffer, length).to_vec();
                self.io.give(buffer);
                // Last come, first taken: bytes of one link stay in order.
                self.heard.insert(0, Heard::Bytes(token as usize, bytes));
            }
            other => self.heard.insert(0, Heard::Event(other)),
        }
    }
}

/// Lets a link hear what happened to it; `None`: nobody's. `idle` says whether nothing was asked on a link.
pub(crate) fn hear(
    event: Event,
    io: &mut Io,
    wires: &mut Wires,
    buffer: &mut [u8],
    idle: impl Fn(usize) -> bool,
) -> Option<(usize, Result<Progress, Lost>)> {
    let number = event.token()? as usize;
    let Some(link) = wires.get(number) else {
        if let Event::Received { buffer, .. } = event {
            io.give(buffer);
        }
        return None;
    };
    let name = number as u32;
    let progress = match event {
        Event::Ready(_) => link.receive(buffer, io, name, idle(number)),
        Event::Received { buffer, length, .. } => {
            let progress = link.feed(io.bytes(buffer, length));
            io.give(buffer);
            progress
        }
        Event::Ended { error, .. } => Err(match error {
            0 => io::Error::from(io::ErrorKind::UnexpectedEof),
            error => io::Error::from_raw_os_error(error),
        }
        .into()),
        Event::Short { sent, .. } => link
            .resume_sending(sent as usize, io, name)
            .map(|()| Progress::More),
        Event::Writable(_) | Event::Wake => link.flush(io, name).map(|()| Progress::More),
    };
    Some((number, progress))
}
