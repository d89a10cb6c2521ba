//! The threads of a script on one loop outside their events: until they are ready for the first one, and when they take leave after
//! the last. In sysbench each has a thread of the system, so that all run their `thread_init` at once, and their `thread_done`; here
//! one that waits for an answer, or rests, lets the others go on.

use crate::engine::link::Lost;
use crate::engine::options::MAX_RUN;
use crate::engine::order::client;
use crate::engine::script_inline::hear;
use crate::engine::script_thread::{ScriptThread, State};
use crate::engine::script_watch::Watch;
use crate::error::LoadError;
use crate::net::event::{Coalescing, Event};
use crate::net::io::Io;
use crate::net::io_choice::IoChoice;
use crate::protocol::response::Progress;
use crate::script::program::{CommandKind, Program, Reply, Want};
use crate::script::wires::{Wires, awaited};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How often is looked whether the load was cancelled, and whether a server has been silent for too long.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// Bytes read at once.
const READ_BUFFER: usize = 16 * 1024;
/// Room for what happens at once.
const MAX_EVENTS: usize = 64;

/// Threads of one side that come to their first event, or take leave.
pub(crate) struct Outside<'a> {
    wires: &'a mut Wires,
    watch: &'a Watch,
    cancel: &'a AtomicBool,
    /// How long a single command may take.
    patience: Duration,
    /// For this time alone: how many links the loop's own has to have room for is known at the end.
    io: Io,
    threads: Vec<ScriptThread>,
    /// By thread: the server that its next connection goes to. Each counts for itself, whoever connects in between.
    next_server: Vec<usize>,
    /// Threads that are not at their first event yet, or have not left.
    busy: usize,
    /// They take leave: one that fails keeps no other from it.
    leaving: bool,
    /// What the first one of those failed by.
    failure: Option<LoadError>,
    /// By link: the thread that waits for its answer, and until when.
    waiting: Vec<Option<(usize, Instant)>>,
    /// By link: what happens on it is reported.
    watched: Vec<bool>,
    /// Threads that rest, and until when.
    resting: BinaryHeap<Reverse<(Instant, usize)>>,
    /// Threads whose turn it is, and what they are answered.
    ready: VecDeque<(usize, Reply)>,
    events: Vec<Event>,
    buffer: Vec<u8>,
    /// When it was last looked who waits for too long.
    looked: Instant,
}

impl<'a> Outside<'a> {
    pub(crate) fn new(
        wires: &'a mut Wires,
        watch: &'a Watch,
        cancel: &'a AtomicBool,
        patience: Duration,
    ) -> Result<Self, LoadError> {
        Ok(Outside {
            wires,
            watch,
            cancel,
            patience,
            io: Io::new(IoChoice::Epoll, &[], MAX_EVENTS)?,
            threads: Vec::new(),
            next_server: Vec::new(),
            busy: 0,
            leaving: false,
            failure: None,
            waiting: Vec::new(),
            watched: Vec::new(),
            resting: BinaryHeap::new(),
            ready: VecDeque::new(),
            events: Vec::with_capacity(MAX_EVENTS),
            buffer: vec![0; READ_BUFFER],
            looked: Instant::now(),
        })
    }

    /// One more thread, whose connections begin with server `number`: it runs until it waits, and then whoever has been answered
    /// meanwhile, for an interpreter takes its time to make.
    ///
    /// # Errors
    /// The script fails, or is cancelled.
    pub(crate) fn add(
        &mut self,
        program: Box<dyn Program>,
        number: usize,
    ) -> Result<(), LoadError> {
        let watched = self.watch.add(program.interrupter());
        let place = self.threads.len();
        self.threads
            .push(ScriptThread::new(program, watched, State::Busy));
        self.next_server.push(number);
        self.busy += 1;
        self.run(place, Reply::Go)?;
        self.go_on(Duration::ZERO)
    }

    /// All of them, ready for their first event or over.
    ///
    /// # Errors
    /// The script fails, or is cancelled.
    pub(crate) fn finish(mut self) -> Result<Vec<ScriptThread>, LoadError> {
        while self.busy > 0 {
            self.go_on(POLL_INTERVAL)?;
        }
        Ok(self.threads)
    }

    /// Has those of the threads that are in no event take leave, all at once.
    ///
    /// # Errors
    /// What the first one that fails has failed by, when all have left.
    pub(crate) fn leave(mut self, threads: Vec<ScriptThread>) -> Result<(), LoadError> {
        self.leaving = true;
        let first = self.wires.next_server();
        self.next_server = (first..).take(threads.len()).collect();
        self.threads = threads;
        let in_event = |thread: &ScriptThread| matches!(thread.state, State::Busy | State::Resting);
        let leavers: Vec<usize> = (0..self.threads.len())
            .filter(|&place| !in_event(&self.threads[place]))
            .collect();
        self.busy = leavers.len();
        for place in leavers {
            self.threads[place].state = State::Busy;
            self.run(place, Reply::Goodbye)?;
        }
        while self.busy > 0 {
            self.go_on(POLL_INTERVAL)?;
        }
        self.failure.map_or(Ok(()), Err)
    }

    /// Waits for answers and the ends of rests, for no longer than this, and lets those run that have them.
    fn go_on(&mut self, longest: Duration) -> Result<(), LoadError> {
        if self.cancel.load(Ordering::Relaxed) {
            return Err(LoadError::Cancelled);
        }
        let wait = match self.resting.peek() {
            Some(Reverse((due, _))) => longest.min(due.saturating_duration_since(Instant::now())),
            None => longest,
        };
        let mut events = std::mem::take(&mut self.events);
        self.io
            .wait(&mut events, Coalescing::NONE, wait)
            .map_err(client("waiting for answers"))?;
        for &event in &events {
            let waiting = &self.waiting;
            let idle = |number: usize| waiting.get(number).is_none_or(Option::is_none);
            let heard = hear(event, &mut self.io, self.wires, &mut self.buffer, idle);
            if let Some((number, progress)) = heard {
                self.answered(number, progress);
            }
        }
        // Where there was no room for more, the answers of those that seem late may be among what is still to come.
        let are_all = events.len() < MAX_EVENTS;
        self.events = events;
        let now = Instant::now();
        if are_all && now.saturating_duration_since(self.looked) >= POLL_INTERVAL {
            self.looked = now;
            for number in 0..self.waiting.len() {
                if self.waiting[number].is_some_and(|(_, until)| until <= now) {
                    let late = io::Error::from(io::ErrorKind::TimedOut);
                    self.answered(number, Err(late.into()));
                }
            }
        }
        while let Some(&Reverse((due, place))) = self.resting.peek()
            && due <= now
        {
            self.resting.pop();
            self.ready.push_back((place, Reply::Go));
        }
        while let Some((place, reply)) = self.ready.pop_front() {
            self.run(place, reply)?;
        }
        Ok(())
    }

    /// Runs a thread until it waits, or is ready for its first event, or has left.
    fn run(&mut self, place: usize, reply: Reply) -> Result<(), LoadError> {
        match self.go_on_with(place, reply) {
            Err(error @ LoadError::Script(_)) if self.leaving => {
                self.failure.get_or_insert(error);
                self.threads[place].state = State::Over;
                self.busy -= 1;
                Ok(())
            }
            result => result,
        }
    }

    fn go_on_with(&mut self, place: usize, mut reply: Reply) -> Result<(), LoadError> {
        loop {
            let thread = &mut self.threads[place];
            self.wires.start_with(self.next_server[place]);
            self.watch.enter(thread.place);
            // What it asks from within a call of C keeps the others waiting too.
            let want = thread.program.resume(reply, &mut *self.wires);
            self.watch.leave();
            let is_cancelled = self.cancel.load(Ordering::Relaxed);
            let want = match want {
                Err(_) if is_cancelled => return Err(LoadError::Cancelled),
                want => want.map_err(LoadError::Script)?,
            };
            for number in self.wires.take_over(thread.program.as_mut()) {
                if let Some(watched) = self.watched.get_mut(number) {
                    *watched = false;
                }
            }
            self.next_server[place] = self.wires.next_server();
            reply = match want {
                Want::Event { .. } | Want::Rest { .. } | Want::End => {
                    thread.state = match want {
                        Want::Event { .. } => State::Parked,
                        _ => State::Over,
                    };
                    self.busy -= 1;
                    return Ok(());
                }
                _ if is_cancelled => return Err(LoadError::Cancelled),
                Want::Connect => {
                    let linked = self.wires.connect();
                    self.next_server[place] = self.wires.next_server();
                    linked
                }
                Want::Sleep(time) => {
                    let due = Instant::now() + time.min(MAX_RUN);
                    self.resting.push(Reverse((due, place)));
                    return Ok(());
                }
                Want::Answer { link, kind } => match self.ask(place, link, kind)? {
                    Ok(()) => return Ok(()),
                    Err(Lost(cause)) => Reply::Lost(cause),
                },
            };
        }
    }

    /// Sends a thread's command on a link, unless that is lost.
    fn ask(
        &mut self,
        place: usize,
        number: usize,
        kind: CommandKind,
    ) -> Result<Result<(), Lost>, LoadError> {
        let Some(link) = self.wires.get(number) else {
            let cause = "there is no such connection any more".to_owned();
            return Ok(Err(Lost(cause)));
        };
        if self.waiting.len() <= number {
            self.waiting.resize(number + 1, None);
            self.watched.resize(number + 1, false);
        }
        if !std::mem::replace(&mut self.watched[number], true) {
            link.watch(&mut self.io, number as u32)
                .map_err(client("watching a connection"))?;
        }
        link.write_command(self.threads[place].program.command(), awaited(kind));
        let sent = link.send(&mut self.io, number as u32);
        if sent.is_ok() {
            self.waiting[number] = Some((place, Instant::now() + self.patience));
        }
        Ok(sent)
    }

    /// An answer continues or is complete: the thread that waits for it has its turn.
    fn answered(&mut self, number: usize, progress: Result<Progress, Lost>) {
        if matches!(progress, Ok(Progress::More)) {
            return;
        }
        let Some((place, _)) = self.waiting.get_mut(number).and_then(Option::take) else {
            // Nobody waits: a server that closes an idle connection is noticed with the next command.
            if let (Err(lost), Some(link)) = (progress, self.wires.get(number)) {
                link.lost_idle(lost);
            }
            return;
        };
        let program = &mut self.threads[place].program;
        let mut answer = std::mem::take(program.answer(number));
        let reply = self.wires.reply(number, progress, &mut answer);
        *program.answer(number) = answer;
        self.wires.count(&reply);
        self.ready.push_back((place, reply));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::link::Link;
    use crate::engine::options::IgnoredErrors;
    use crate::net::endpoint::Transport;
    use crate::net::stream::Stream;
    use crate::protocol::answer::Answer;
    use crate::script::program::{Counts, Interrupter, Server};
    use crate::workload::plan::Plan;
    use std::io::{Read, Write};
    use std::os::unix::net::UnixListener;
    use std::sync::Arc;

    const THREADS: usize = 8;
    const REST: Duration = Duration::from_millis(250);
    const COMMAND: &[u8] = b"\x09\0\0\0\x03SELECT 1";
    const OK: &[u8] = b"\x07\0\0\x01\0\0\0\x02\0\0\0";

    /// A thread that rests and asks for something in its `thread_init`, or in its `thread_done`.
    struct Asking {
        link: usize,
        step: u32,
        answer: Answer,
    }

    impl Program for Asking {
        fn resume(&mut self, reply: Reply, _: &mut dyn Server) -> Result<Want, String> {
            self.step += 1;
            match (self.step, reply) {
                (1, Reply::Go | Reply::Goodbye) => Ok(Want::Sleep(REST)),
                (2, Reply::Go) => Ok(Want::Answer {
                    link: self.link,
                    kind: CommandKind::Text,
                }),
                (3, Reply::Done(0)) => Ok(Want::Event { completed: false }),
                (step, reply) => Err(format!("step {step}: {reply:?}")),
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
            Vec::new()
        }

        fn interrupter(&self) -> Interrupter {
            Arc::new(|| {})
        }
    }

    /// Links to a server that answers nobody before all have asked; of the others it hears nothing.
    fn linked(wires: &mut Wires, threads: usize, answers: bool) -> std::thread::JoinHandle<()> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        let listener = UnixListener::bind(&path).unwrap();
        let server = std::thread::spawn(move || {
            let accepted = (0..threads).map(|_| listener.accept().unwrap().0);
            let mut streams: Vec<_> = accepted.collect();
            let mut command = [0; COMMAND.len()];
            for stream in &mut streams {
                if stream.read_exact(&mut command).is_err() {
                    return;
                }
                assert_eq!(command, COMMAND);
            }
            for stream in streams.iter_mut().filter(|_| answers) {
                stream.write_all(OK).unwrap();
            }
            for stream in &mut streams {
                // Until the other end has gone.
                let _ = stream.read(&mut command);
            }
        });
        let transport = Transport::Unix(path);
        for number in 0..threads {
            let deadline = Instant::now() + Duration::from_secs(30);
            let stream = Stream::connect(&transport, deadline).unwrap();
            let stream = stream.into_nonblocking().unwrap();
            let link = Link::without_statements(stream, 0, Vec::new());
            assert_eq!(wires.put(link), number);
        }
        server
    }

    fn wires() -> Wires {
        Wires::new(
            Vec::new(),
            Arc::new(Plan::empty()),
            Duration::from_secs(30),
            Duration::from_secs(30),
            IgnoredErrors::default(),
        )
    }

    fn asking(link: usize) -> Box<dyn Program> {
        Box::new(Asking {
            link,
            step: 0,
            answer: Answer::of_script(),
        })
    }

    #[test]
    fn threads_wait_in_thread_init_at_once() {
        let mut wires = wires();
        let server = linked(&mut wires, THREADS, true);
        let cancel = Arc::default();
        let watch = Watch::new(&cancel).unwrap();
        let patience = Duration::from_secs(30);
        let mut starting = Outside::new(&mut wires, &watch, &cancel, patience).unwrap();
        for number in 0..THREADS {
            starting.add(asking(number), number).unwrap();
        }
        let threads = starting.finish().unwrap();
        // One after the other, the first would have waited for its answer for ever.
        assert_eq!(threads.len(), THREADS);
        assert!(threads.iter().all(|thread| thread.state == State::Parked));
        assert_eq!(wires.take_counts().other, THREADS as u32);
        drop(wires);
        server.join().unwrap();
    }

    /// A thread that is between two events.
    fn between(program: Box<dyn Program>, watch: &Watch) -> ScriptThread {
        ScriptThread::new(program, watch.add(Arc::new(|| {})), State::Parked)
    }

    #[test]
    fn threads_wait_in_thread_done_at_once() {
        let mut wires = wires();
        let server = linked(&mut wires, THREADS, true);
        let cancel = Arc::default();
        let watch = Watch::new(&cancel).unwrap();
        let patience = Duration::from_secs(30);
        let outside = Outside::new(&mut wires, &watch, &cancel, patience).unwrap();
        let threads = (0..THREADS).map(|link| between(asking(link), &watch));
        // One after the other, the first would have waited for its answer for ever.
        outside.leave(threads.collect()).unwrap();
        assert_eq!(wires.take_counts().other, THREADS as u32);
        drop(wires);
        server.join().unwrap();
    }

    #[test]
    fn one_that_fails_in_thread_done_keeps_no_other_from_it() {
        let mut wires = wires();
        let server = linked(&mut wires, 1, true);
        let cancel = Arc::default();
        let watch = Watch::new(&cancel).unwrap();
        let patience = Duration::from_secs(30);
        let outside = Outside::new(&mut wires, &watch, &cancel, patience).unwrap();
        // There is no such link; and a thread within an event is left alone.
        let threads = vec![
            between(asking(7), &watch),
            between(asking(0), &watch),
            ScriptThread {
                state: State::Busy,
                ..between(asking(8), &watch)
            },
        ];
        let Err(LoadError::Script(problem)) = outside.leave(threads) else {
            panic!("nothing has failed");
        };
        assert!(problem.contains("no such connection"), "{problem}");
        assert_eq!(wires.take_counts().other, 1);
        drop(wires);
        server.join().unwrap();
    }

    #[test]
    fn who_asks_on_a_link_that_was_lost_while_idle_is_told() {
        let mut wires = wires();
        let server = linked(&mut wires, 1, false);
        let cancel = Arc::default();
        let watch = Watch::new(&cancel).unwrap();
        let patience = Duration::from_secs(30);
        let mut starting = Outside::new(&mut wires, &watch, &cancel, patience).unwrap();
        starting.answered(0, Err(Lost("gone".into())));
        starting.add(asking(0), 0).unwrap();
        match starting.finish() {
            Err(LoadError::Script(problem)) => assert!(problem.contains("gone"), "{problem}"),
            Err(error) => panic!("{error}"),
            Ok(_) => panic!("nobody has answered"),
        }
        drop(wires);
        server.join().unwrap();
    }

    #[test]
    fn a_server_that_is_silent_in_thread_init_is_lost() {
        let mut wires = wires();
        let server = linked(&mut wires, 1, false);
        let cancel = Arc::default();
        let watch = Watch::new(&cancel).unwrap();
        let patience = Duration::from_millis(300);
        let mut starting = Outside::new(&mut wires, &watch, &cancel, patience).unwrap();
        starting.add(asking(0), 0).unwrap();
        match starting.finish() {
            Err(LoadError::Script(problem)) => assert!(problem.contains("Lost"), "{problem}"),
            Err(error) => panic!("{error}"),
            Ok(_) => panic!("nobody has answered"),
        }
        drop(wires);
        server.join().unwrap();
    }

    #[test]
    fn cancelling_ends_thread_init() {
        let mut wires = wires();
        let server = linked(&mut wires, 1, false);
        let cancel = Arc::new(AtomicBool::new(false));
        let watch = Watch::new(&cancel).unwrap();
        let patience = Duration::from_secs(600);
        let mut starting = Outside::new(&mut wires, &watch, &cancel, patience).unwrap();
        starting.add(asking(0), 0).unwrap();
        let user = std::thread::spawn({
            let cancel = Arc::clone(&cancel);
            move || {
                std::thread::sleep(2 * REST);
                cancel.store(true, Ordering::Relaxed);
            }
        });
        let ended = starting.finish();
        assert!(matches!(ended, Err(LoadError::Cancelled)));
        user.join().unwrap();
        drop(wires);
        server.join().unwrap();
    }
}
