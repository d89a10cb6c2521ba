//! Sockets by io_uring: answers come into buffers that the kernel was given before, and all commands of a batch go out
//! with the one system call that also waits for what comes next.
//!
//! # Why this is sound
//! The kernel reads and writes memory that requests point to, at times of its own. Here all of it is one allocation
//! ([`Memory`]) that belongs to the ring, and that nobody else can write to:
//! - A buffer for answers belongs to the kernel from [`Ring::give`] until a completion names it, and to us from then
//!   until it is given back. `owned` keeps account: [`Ring::bytes`] shows nothing of a buffer that is not ours, and what
//!   it shows is borrowed from the ring, which [`Ring::give`] needs alone.
//! - Commands are copied into the allocation before they are sent. The kernel only reads them there: were it to do so
//!   later than it does, wrong bytes would be sent, and no more.
//! - On drop the requests under way are cancelled before the allocation is freed; where that fails it is leaked.
//!
//! No socket is closed while a request on it waits to be submitted: [`Ring::watch`] and [`Ring::forget`] submit before
//! they return, and a connection's commands are dropped with it by [`Ring::forget`]. The kernel holds the socket itself after that.

use crate::net::event::Event;
use io_uring::types::{BufRingEntry, CancelBuilder, Fd, SubmitArgs, Timespec};
use io_uring::{IoUring, cqueue, opcode, squeue};
use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::io;
use std::os::fd::{AsFd, AsRawFd, RawFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Duration;

/// Buffers for answers, a bit of `owned` for each.
const BUFFERS: u16 = 64;
/// Bytes of one: an answer to a range of 100 rows has 13 kB.
const BUFFER: usize = 16 * 1024;
/// Bytes of all commands that go out together; longer ones go without the ring.
const COMMANDS: usize = 16 * 1024;
/// Requests that can be queued before they are submitted.
const QUEUE: u32 = 256;
/// The kernel wants the entries of the ring of buffers aligned to one.
const PAGE: usize = 4096;
/// The name of our buffers within the ring.
const GROUP: u16 = 0;

/// What a request was for, in the upper bits of its `user_data`. Below stand the generation and the token.
const RECEIVE: u64 = 0;
const SEND: u64 = 1;
const WRITABLE: u64 = 2;
const WAKE: u64 = 3;
const KIND_SHIFT: u32 = 62;
const GENERATION_SHIFT: u32 = 32;
const GENERATIONS: u32 = 1 << 30;

/// The memory that the kernel reads and writes: entries of the ring of buffers, buffers, commands.
struct Memory(NonNull<u8>);

impl Memory {
    const ENTRIES: usize = 0;
    const BUFFERS: usize = PAGE;
    const COMMANDS: usize = Self::BUFFERS + BUFFERS as usize * BUFFER;
    const LAYOUT: Layout = match Layout::from_size_align(Self::COMMANDS + COMMANDS, PAGE) {
        Ok(layout) => layout,
        Err(_) => panic!("a page is a power of two"),
    };

    fn new() -> Self {
        // SAFETY: the layout has a size.
        match NonNull::new(unsafe { alloc_zeroed(Self::LAYOUT) }) {
            Some(start) => Memory(start),
            None => handle_alloc_error(Self::LAYOUT),
        }
    }

    fn at(&self, offset: usize) -> *mut u8 {
        assert!(offset < Self::LAYOUT.size());
        // SAFETY: within the allocation, as was just checked.
        unsafe { self.0.as_ptr().add(offset) }
    }

    fn entries(&self) -> *mut BufRingEntry {
        self.at(Self::ENTRIES).cast()
    }

    /// Where a buffer begins; there is one of that number.
    fn buffer(&self, number: u16) -> *mut u8 {
        self.at(Self::BUFFERS + usize::from(number % BUFFERS) * BUFFER)
    }

    fn free(self) {
        // SAFETY: it was allocated with this layout, and is gone with this call.
        unsafe { dealloc(self.0.as_ptr(), Self::LAYOUT) }
    }
}

/// An io_uring with its memory. It belongs to the thread that made it.
pub(crate) struct Ring {
    ring: IoUring,
    /// Some until drop.
    memory: Option<Memory>,
    /// How many buffers were ever given to the kernel, modulo 2^16.
    given: u16,
    /// A bit for each buffer: it is ours.
    owned: u64,
    /// Bytes of commands that wait to be submitted.
    commands: usize,
    /// By token: the socket, and what tells it from the ones that had the token before.
    watched: Vec<(RawFd, u32)>,
    /// What [`wake_by`](Self::wake_by) was given; -1 before.
    counter: RawFd,
    /// The kernel can be asked to wait for several answers, and for one only after some time.
    can_coalesce: bool,
}

impl Ring {
    /// A ring for tokens below `tokens`.
    ///
    /// # Errors
    /// The kernel is older than 6.1, or does not let this process use io_uring.
    pub(crate) fn new(tokens: usize) -> io::Result<Self> {
        let completions = (4 * tokens).clamp(2 * QUEUE as usize, 1 << 15) as u32;
        let ring = IoUring::builder()
            .setup_single_issuer()
            .setup_defer_taskrun()
            .setup_submit_all()
            .setup_cqsize(completions.next_power_of_two())
            .build(QUEUE)?;
        let memory = Memory::new();
        // SAFETY: the entries are page-aligned, a page long, and there until the ring has gone.
        let registered = unsafe {
            let entries = memory.entries() as u64;
            ring.submitter()
                .register_buf_ring_with_flags(entries, BUFFERS, GROUP, 0)
        };
        if let Err(error) = registered {
            memory.free();
            return Err(error);
        }
        let mut ring = Ring {
            can_coalesce: ring.params().is_feature_min_timeout(),
            ring,
            memory: Some(memory),
            given: 0,
            owned: !0,
            commands: 0,
            watched: vec![(-1, 0); tokens],
            counter: -1,
        };
        (0..BUFFERS).for_each(|buffer| ring.give(buffer));
        Ok(ring)
    }

    fn memory(&self) -> &Memory {
        match &self.memory {
            Some(memory) => memory,
            None => unreachable!("it is taken by drop only"),
        }
    }

    /// Gives a buffer (back) to the kernel.
    pub(crate) fn give(&mut self, buffer: u16) {
        if !self.owns(buffer) {
            return;
        }
        self.owned &= !(1 << buffer);
        let entries = self.memory().entries();
        let start = self.memory().buffer(buffer);
        // SAFETY: the place is within the page of entries, and the kernel reads it after the tail has moved on. The tail
        // is in the first entry, in a field that the other three do not touch, aligned to 2 bytes; only we write it.
        unsafe {
            let entry = &mut *entries.add(usize::from(self.given % BUFFERS));
            entry.set_addr(start as u64);
            entry.set_len(BUFFER as u32);
            entry.set_bid(buffer);
            self.given = self.given.wrapping_add(1);
            AtomicU16::from_ptr(BufRingEntry::tail(entries).cast_mut())
                .store(self.given, Ordering::Release);
        }
    }

    fn owns(&self, buffer: u16) -> bool {
        buffer < BUFFERS && self.owned & (1 << buffer) != 0
    }

    /// What came in an [`Event::Received`]; nothing once its buffer was given back.
    pub(crate) fn bytes(&self, buffer: u16, length: u32) -> &[u8] {
        if !self.owns(buffer) || length as usize > BUFFER {
            return &[];
        }
        let start = self.memory().buffer(buffer);
        // SAFETY: within the allocation, which was zeroed when it was made; the kernel does not write to it before it is
        // given back, for which this borrow has to end.
        unsafe { std::slice::from_raw_parts(start, length as usize) }
    }

    fn user_data(&self, kind: u64, token: u32) -> u64 {
        let generation = u64::from(self.watched[token as usize].1);
        kind << KIND_SHIFT | generation << GENERATION_SHIFT | u64::from(token)
    }

    fn push(&mut self, entry: &squeue::Entry) -> io::Result<()> {
        // SAFETY: all entries are made in this module, and point into `memory` or nowhere.
        while unsafe { self.ring.submission().push(entry) }.is_err() {
            self.submit()?;
        }
        Ok(())
    }

    fn submit(&mut self) -> io::Result<()> {
        let submitted = self.ring.submit();
        self.submitted(submitted)
    }

    fn submitted(&mut self, result: io::Result<usize>) -> io::Result<()> {
        // Sends do not wait for room (MSG_DONTWAIT), so they are over when they have left the queue.
        if self.ring.submission().is_empty() {
            self.commands = 0;
        }
        match result {
            Ok(_) => Ok(()),
            Err(error) => match error.raw_os_error() {
                // Time is over; a signal came; completions have to be taken first.
                Some(libc::ETIME | libc::EINTR | libc::EBUSY) => Ok(()),
                _ => Err(error),
            },
        }
    }

    /// Receives what comes on `socket`, until [`forget`](Self::forget).
    pub(crate) fn watch(&mut self, socket: impl AsFd, token: u32) -> io::Result<()> {
        self.watched[token as usize].0 = socket.as_fd().as_raw_fd();
        self.receive(token)?;
        self.submit()
    }

    fn receive(&mut self, token: u32) -> io::Result<()> {
        let socket = Fd(self.watched[token as usize].0);
        let receive = opcode::RecvMulti::new(socket, GROUP).build();
        let data = self.user_data(RECEIVE, token);
        self.push(&receive.user_data(data))
    }

    /// Reports nothing more of this token's socket and lets go of it.
    pub(crate) fn forget(&mut self, token: u32) -> io::Result<()> {
        // Of the generation that ends here: its completion is passed over too.
        let data = self.user_data(SEND, token);
        let (socket, generation) = &mut self.watched[token as usize];
        let all = CancelBuilder::fd(Fd(*socket)).all();
        let cancel = opcode::AsyncCancel2::new(all).build();
        *socket = -1;
        *generation = (*generation + 1) % GENERATIONS;
        self.push(&cancel.user_data(data))?;
        self.submit()
    }

    /// Reports [`Event::Wake`] whenever `counter` (an eventfd) is added to.
    pub(crate) fn wake_by(&mut self, counter: impl AsFd) -> io::Result<()> {
        self.counter = counter.as_fd().as_raw_fd();
        self.watch_counter()?;
        self.submit()
    }

    fn watch_counter(&mut self) -> io::Result<()> {
        let poll = opcode::PollAdd::new(Fd(self.counter), libc::POLLIN as u32)
            .multi(true)
            .build();
        self.push(&poll.user_data(WAKE << KIND_SHIFT))
    }

    /// Reports [`Event::Writable`] once the token's socket has room.
    pub(crate) fn want_writable(&mut self, token: u32) -> io::Result<()> {
        let socket = Fd(self.watched[token as usize].0);
        let poll = opcode::PollAdd::new(socket, libc::POLLOUT as u32).build();
        let data = self.user_data(WRITABLE, token);
        self.push(&poll.user_data(data))
    }

    /// Whether a command can be queued as things are.
    fn has_room(&mut self, command: &[u8]) -> bool {
        self.commands + command.len() <= COMMANDS && !self.ring.submission().is_full()
    }

    /// Sends a command with the next [`wait`](Self::wait); an [`Event::Short`] follows if not all of it could be. False:
    /// it is too long for that, or nothing more can be queued.
    pub(crate) fn send(&mut self, token: u32, command: &[u8]) -> io::Result<bool> {
        // Room for both first: where the queue had to be submitted after the copy, the copy's place would be given to others.
        if !self.has_room(command) {
            self.submit()?;
        }
        if !self.has_room(command) {
            return Ok(false);
        }
        let (socket, _) = self.watched[token as usize];
        let start = self.memory().at(Memory::COMMANDS + self.commands);
        // SAFETY: there is room. What is borrowed from elsewhere does not overlap with what nobody can borrow.
        unsafe { std::ptr::copy_nonoverlapping(command.as_ptr(), start, command.len()) };
        self.commands += command.len();
        let send = opcode::Send::new(Fd(socket), start, command.len() as u32)
            // With MSG_WAITALL less than all is a failure, and so is reported.
            .flags(libc::MSG_DONTWAIT | libc::MSG_WAITALL | libc::MSG_NOSIGNAL)
            .build()
            .flags(squeue::Flags::SKIP_SUCCESS);
        let data = self.user_data(SEND, token);
        self.push(&send.user_data(data))?;
        Ok(true)
    }

    /// Sends what is queued, then waits for at most `timeout`: for `want` answers, or for one once `max_delay` is over.
    /// `events` then holds what happened; what was received is there until its buffer is given back.
    pub(crate) fn wait(
        &mut self,
        events: &mut Vec<Event>,
        want: usize,
        max_delay: Duration,
        timeout: Duration,
    ) -> io::Result<()> {
        events.clear();
        let timeout = Timespec::from(timeout);
        let mut arguments = SubmitArgs::new().timespec(&timeout);
        let mut least = 1;
        if self.can_coalesce && want > 1 && !max_delay.is_zero() {
            least = want;
            arguments = arguments.min_wait_usec(max_delay.as_micros().min(1_000_000) as u32);
        }
        let submitted = self.ring.submitter().submit_with_args(least, &arguments);
        self.submitted(submitted)?;
        // What is there now, and no more: a receive for which there is no buffer is asked for again at once and may fail again
        // at once, and buffers are given back only after this.
        let there = self.ring.completion().len();
        for _ in 0..there {
            // A statement of its own: the queue is borrowed no longer.
            let completion = self.ring.completion().next();
            let Some(completion) = completion else {
                break;
            };
            self.completed(&completion, events)?;
        }
        Ok(())
    }

    fn completed(&mut self, completion: &cqueue::Entry, events: &mut Vec<Event>) -> io::Result<()> {
        let (result, data) = (completion.result(), completion.user_data());
        let buffer = cqueue::buffer_select(completion.flags());
        if let Some(buffer) = buffer {
            self.owned |= 1 << (buffer % BUFFERS);
        }
        let (kind, token) = (data >> KIND_SHIFT, data as u32);
        if kind == WAKE {
            events.push(Event::Wake);
            // The kernel ends a lasting poll when its queue is too short.
            if !cqueue::more(completion.flags()) {
                self.watch_counter()?;
            }
            return Ok(());
        }
        if data != self.user_data(kind, token) {
            // Of a connection that is gone.
            buffer.into_iter().for_each(|buffer| self.give(buffer));
            return Ok(());
        }
        match (kind, buffer) {
            (RECEIVE, Some(buffer)) if result > 0 => events.push(Event::Received {
                token,
                buffer,
                length: result as u32,
            }),
            // More answers than buffers: received again when some were given back.
            (RECEIVE, _) if result == -libc::ENOBUFS => {}
            (RECEIVE, _) => {
                buffer.into_iter().for_each(|buffer| self.give(buffer));
                events.push(Event::Ended {
                    token,
                    error: -result,
                });
                return Ok(());
            }
            (SEND, _) => events.push(match -result {
                error if error <= 0 => Event::Short {
                    token,
                    sent: result as u32,
                },
                libc::EAGAIN | libc::EINTR => Event::Short { token, sent: 0 },
                error => Event::Ended { token, error },
            }),
            _ => events.push(Event::Writable(token)),
        }
        if kind == RECEIVE && !cqueue::more(completion.flags()) {
            self.receive(token)?;
        }
        Ok(())
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        let submitter = self.ring.submitter();
        let timeout = Timespec::from(Duration::from_secs(1));
        let quiet = match submitter.register_sync_cancel(Some(timeout), CancelBuilder::any()) {
            Ok(()) => true,
            Err(error) => error.kind() == io::ErrorKind::NotFound,
        };
        let quiet = quiet && submitter.unregister_buf_ring(GROUP).is_ok();
        if let (true, Some(memory)) = (quiet, self.memory.take()) {
            memory.free();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::os::unix::net::UnixStream;

    const LONG: Duration = Duration::from_secs(10);
    const SHORT: Duration = Duration::from_millis(50);

    /// `None` where the system does not let us: the driver falls back there.
    fn ring(tokens: usize) -> Option<Ring> {
        Ring::new(tokens).ok()
    }

    fn wait(ring: &mut Ring, timeout: Duration) -> Vec<Event> {
        let mut events = Vec::new();
        ring.wait(&mut events, 1, Duration::ZERO, timeout).unwrap();
        events
    }

    /// All that comes of `tokens` until each has `bytes`.
    fn take(ring: &mut Ring, tokens: usize, bytes: usize) -> Vec<Vec<u8>> {
        let mut taken = vec![Vec::new(); tokens];
        while taken.iter().any(|one| one.len() < bytes) {
            let events = wait(ring, LONG);
            assert!(!events.is_empty(), "{taken:?}");
            for event in events {
                let Event::Received {
                    token,
                    buffer,
                    length,
                } = event
                else {
                    panic!("{event:?}");
                };
                taken[token as usize].extend_from_slice(ring.bytes(buffer, length));
                ring.give(buffer);
                assert!(ring.bytes(buffer, length).is_empty(), "it was given back");
            }
        }
        taken
    }

    #[test]
    fn more_sockets_than_buffers_and_answers_longer_than_one() {
        let tokens = 8 * usize::from(BUFFERS);
        let Some(mut ring) = ring(tokens) else { return };
        let pairs: Vec<_> = (0..tokens).map(|_| UnixStream::pair().unwrap()).collect();
        for (token, (ours, _)) in (0..).zip(&pairs) {
            ours.set_nonblocking(true).unwrap();
            ring.watch(ours, token).unwrap();
        }
        for round in 0..3u8 {
            for token in 0..tokens as u32 {
                assert!(ring.send(token, &[round, token as u8]).unwrap());
            }
            // The commands leave with the wait.
            assert!(wait(&mut ring, SHORT).is_empty());
            let mut answer = vec![0; BUFFER + 100];
            for (_, theirs) in &pairs {
                let (mut theirs, mut command) = (theirs, [0; 2]);
                theirs.read_exact(&mut command).unwrap();
                answer[0] = command[1];
                theirs.write_all(&answer).unwrap();
            }
            for (token, taken) in take(&mut ring, tokens, answer.len()).iter().enumerate() {
                assert_eq!((taken.len(), taken[0]), (answer.len(), token as u8));
            }
        }
    }

    #[test]
    fn commands_that_do_not_fit() {
        let Some(mut ring) = ring(1) else { return };
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        ring.watch(&ours, 0).unwrap();
        assert!(!ring.send(0, &vec![0; COMMANDS + 1]).unwrap());
        // until the socket is full
        let mut accepted = 0;
        let sent = loop {
            assert!(ring.send(0, &[7; COMMANDS]).unwrap());
            match wait(&mut ring, Duration::from_millis(1))[..] {
                [] => accepted += COMMANDS,
                [Event::Short { token: 0, sent }] => break sent as usize,
                ref other => panic!("{other:?}"),
            }
            assert!(accepted < 1 << 30);
        };
        assert!(sent < COMMANDS);
        ring.want_writable(0).unwrap();
        assert!(wait(&mut ring, SHORT).is_empty());
        let mut all = vec![0; accepted + sent];
        theirs.read_exact(&mut all).unwrap();
        assert!(all.iter().all(|&byte| byte == 7));
        assert!(matches!(wait(&mut ring, LONG)[..], [Event::Writable(0)]));
    }

    #[test]
    fn a_command_that_the_queue_was_too_full_for_is_sent_as_it_is() {
        let Some(mut ring) = ring(5) else { return };
        let pairs: Vec<_> = (0..5).map(|_| UnixStream::pair().unwrap()).collect();
        for (token, (ours, _)) in (0..).zip(&pairs) {
            ours.set_nonblocking(true).unwrap();
            ring.watch(ours, token).unwrap();
        }
        for number in 0..QUEUE {
            assert!(ring.send(number % 4, &[1; 10]).unwrap());
        }
        assert!(ring.send(4, &[2; 10]).unwrap());
        // These would come to where the one before was copied to, had the queue been submitted only then.
        for number in 0..60 {
            assert!(ring.send(number % 4, &[3; 60]).unwrap());
        }
        assert!(wait(&mut ring, SHORT).is_empty());
        let mut sent = [0; 10];
        let mut theirs = &pairs[4].1;
        theirs.read_exact(&mut sent).unwrap();
        assert_eq!(sent, [2; 10]);
    }

    #[test]
    fn a_forgotten_socket_is_closed_and_raises_no_events() {
        let Some(mut ring) = ring(2) else { return };
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        ring.watch(&ours, 1).unwrap();
        theirs.write_all(b"late").unwrap();
        ring.forget(1).unwrap();
        drop(ours);
        let (ours, mut others) = UnixStream::pair().unwrap();
        ring.watch(&ours, 1).unwrap();
        others.write_all(b"new").unwrap();
        let mut heard = Vec::new();
        for event in wait(&mut ring, LONG) {
            if let Event::Received { buffer, length, .. } = event {
                heard.extend_from_slice(ring.bytes(buffer, length));
            }
        }
        assert_eq!(heard, b"new");
        let _ = wait(&mut ring, SHORT);
        assert!(theirs.write_all(b"nobody").is_err());
        drop(others);
        assert!(matches!(
            wait(&mut ring, LONG)[..],
            [Event::Ended { token: 1, error: 0 }]
        ));
    }

    #[test]
    fn coalescing_ends_after_the_longest_delay() {
        let Some(mut ring) = ring(1) else { return };
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        ring.watch(&ours, 0).unwrap();
        theirs.write_all(b"one").unwrap();
        let mut events = Vec::new();
        ring.wait(&mut events, 32, SHORT, LONG).unwrap();
        assert!(matches!(events[..], [Event::Received { length: 3, .. }]));
    }
}
