//! Re-establishes connections while others are under load: connecting blocks, so threads of their own do it.

use crate::engine::link::Link;
use crate::engine::options::Retry;
use crate::error::LoadError;
use crate::net::endpoint::Endpoint;
use crate::net::poll::Waker;
use crate::workload::plan::Plan;
use nix::time::{ClockId, clock_gettime};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

/// Threads of a loop that connect, at most. A loop is there for eight CPUs, and a login is the server's work for the most part: one
/// thread would have it serve one login at a time, where connections come and go.
const CONNECTING: usize = 8;

/// What a loop needs to have its connections re-established.
pub(crate) struct Reconnector {
    sides: Vec<Vec<Endpoint>>,
    first: u32,
    plan: Arc<Plan>,
    connect_timeout: Duration,
    retry: Retry,
    /// Ends the loop's wait when something was delivered.
    pub waker: Arc<Waker>,
    delivered: Sender<Delivery>,
    deliveries: Receiver<Delivery>,
    arrived: Vec<Delivery>,
    /// Of the threads that connect; each starts with its first request and ends with its sender.
    requests: [Option<Sender<Request>>; CONNECTING],
}

struct Request {
    side: usize,
    token: u32,
    lost: Instant,
    due: Instant,
    wait: Duration,
    renewed: bool,
    /// CPU time of the attempts so far.
    cpu: Duration,
}

/// A link that was asked for.
pub(crate) struct Delivery {
    pub side: usize,
    pub token: u32,
    pub link: Result<Link, LoadError>,
    /// The link before was not lost: it had served its number of transactions.
    pub renewed: bool,
    /// CPU time that connecting has taken.
    pub cpu: Duration,
}

impl Reconnector {
    pub(crate) fn new(
        sides: &[Vec<Endpoint>],
        first: u32,
        plan: &Arc<Plan>,
        connect_timeout: Duration,
        retry: Retry,
    ) -> Result<Self, LoadError> {
        let (delivered, deliveries) = mpsc::channel();
        let waker = Waker::new()
            .map_err(|error| LoadError::Client(format!("making an eventfd: {error}")))?;
        Ok(Reconnector {
            sides: sides.to_vec(),
            first,
            plan: Arc::clone(plan),
            connect_timeout,
            retry,
            waker: Arc::new(waker),
            delivered,
            deliveries,
            arrived: Vec::new(),
            requests: Default::default(),
        })
    }

    /// Asks for a link, tried first after `delay`. It arrives with [`take`](Self::take).
    pub(crate) fn request(
        &mut self,
        side: usize,
        token: u32,
        delay: Duration,
        renewed: bool,
    ) -> Result<(), LoadError> {
        let lost = Instant::now();
        let request = Request {
            side,
            token,
            lost,
            due: lost + delay,
            wait: self.retry.first,
            renewed,
            cpu: Duration::ZERO,
        };
        let place = token as usize % CONNECTING;
        let requests = match &self.requests[place] {
            Some(requests) => requests,
            None => {
                let requests = self.start()?;
                self.requests[place].insert(requests)
            }
        };
        requests
            .send(request)
            .map_err(|_| LoadError::Client("a thread that reconnects died".into()))
    }

    /// What has been delivered for `side`, if anything. What is for others stays until they are under load.
    pub(crate) fn take(&mut self, side: usize) -> Option<Delivery> {
        self.arrived.extend(self.deliveries.try_iter());
        let place = self.arrived.iter().position(|one| one.side == side)?;
        Some(self.arrived.swap_remove(place))
    }

    fn start(&self) -> Result<Sender<Request>, LoadError> {
        let (requests, inbox) = mpsc::channel();
        let connecting = Connecting {
            sides: self.sides.clone(),
            first: self.first,
            plan: Arc::clone(&self.plan),
            timeout: self.connect_timeout,
            retry: self.retry,
            delivered: self.delivered.clone(),
            waker: Arc::clone(&self.waker),
        };
        std::thread::Builder::new()
            .name("reconnect".into())
            .spawn(move || connecting.serve(&inbox))
            .map_err(|error| LoadError::Client(format!("starting a thread: {error}")))?;
        Ok(requests)
    }
}

struct Connecting {
    sides: Vec<Vec<Endpoint>>,
    /// The number of the loop's first connection.
    first: u32,
    plan: Arc<Plan>,
    timeout: Duration,
    retry: Retry,
    delivered: Sender<Delivery>,
    waker: Arc<Waker>,
}

impl Connecting {
    /// Connects whatever is due until nobody can ask any more. Not joined: it may be within a connect that times out.
    fn serve(&self, inbox: &Receiver<Request>) {
        let mut waiting: Vec<Request> = Vec::new();
        loop {
            let now = Instant::now();
            let first = waiting.iter().map(|request| request.due).min();
            let received = match first {
                None => inbox.recv().map_err(|_| RecvTimeoutError::Disconnected),
                Some(due) => inbox.recv_timeout(due.saturating_duration_since(now)),
            };
            match received {
                Ok(request) => waiting.push(request),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            let now = Instant::now();
            while let Some(place) = waiting.iter().position(|request| request.due <= now) {
                let request = waiting.swap_remove(place);
                match self.connect(request) {
                    Ok(Some(later)) => waiting.push(later),
                    Ok(None) => {}
                    Err(Gone) => return,
                }
            }
        }
    }

    fn connect(&self, mut request: Request) -> Result<Option<Request>, Gone> {
        let servers = &self.sides[request.side];
        let number = (self.first + request.token) as usize;
        let before = thread_cpu();
        let link = Link::open(&servers[number % servers.len()], &self.plan, self.timeout);
        request.cpu += thread_cpu().saturating_sub(before);
        let now = Instant::now();
        if link.is_err() && now.duration_since(request.lost) < self.retry.give_up_after {
            request.due = now + request.wait;
            request.wait = (request.wait * 2).min(self.retry.longest);
            return Ok(Some(request));
        }
        let delivery = Delivery {
            side: request.side,
            token: request.token,
            link,
            renewed: request.renewed,
            cpu: request.cpu,
        };
        self.delivered.send(delivery).map_err(|_| Gone)?;
        self.waker.wake();
        Ok(None)
    }
}

/// CPU time of the calling thread; nothing in a sandbox that does not tell it.
fn thread_cpu() -> Duration {
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).map_or(Duration::ZERO, Duration::from)
}

/// The loop has ended.
struct Gone;
