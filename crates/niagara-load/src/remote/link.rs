//! The end that says when.

use super::frame::{self, FrameError};
use super::message::{Answer, Greeting, Request};
use crate::engine::options::{DriverOptions, MAX_RUN, RunOptions};
use crate::engine::replay::tally::Tally;
use crate::engine::stats::SliceStats;
use crate::error::LoadError;
use crate::generator::LoadGenerator;
use crate::job::JobTimes;
use crate::net::endpoint::Endpoint;
use crate::workload::WorkloadSpec;
use std::fmt;
use std::io::{Read, Write};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

/// Bound on the first words: the agent hashes its own binary first, on a host that may be busy.
const HELLO_TIMEOUT: Duration = Duration::from_secs(300);
/// Bound on what takes no load: connections are bounded one by one over there.
const SET_UP_TIMEOUT: Duration = Duration::from_secs(900);
/// How much longer than its own bounds a run may take over there.
const RUN_MARGIN: Duration = Duration::from_secs(90);
/// How long an agent may take to stop: transactions in flight are finished first.
const STOP_TIMEOUT: Duration = Duration::from_secs(45);
/// How often the cancel flag is checked. Timeouts are counted in these, not by the clock: a process that was stopped for a
/// while (SIGSTOP, a frozen control group) has not waited, and nor has the other end where both were.
const POLL: Duration = Duration::from_millis(50);

/// Says why an agent that went away may have: the last words of what started it.
type Explain = Box<dyn Fn() -> String + Send>;

/// An agent that greeted. Clones speak to the same one, one at a time.
#[derive(Clone)]
pub struct RemoteAgent {
    link: Arc<Mutex<Link>>,
    greeting: Greeting,
}

impl fmt::Debug for RemoteAgent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RemoteAgent({:?})", self.greeting)
    }
}

struct Link {
    host: String,
    output: Option<Box<dyn Write + Send>>,
    answers: Receiver<Result<Answer, FrameError>>,
    explain: Explain,
    /// Why nothing can be asked any more.
    lost: Option<LoadError>,
}

impl RemoteAgent {
    /// Waits for the greeting of the agent on `host` that reads `output` and writes `input`; `explain` is asked for the
    /// reason when it goes away.
    ///
    /// # Errors
    /// It does not greet; `cancel` was set.
    pub fn greeted(
        host: &str,
        mut input: impl Read + Send + 'static,
        output: impl Write + Send + 'static,
        explain: impl Fn() -> String + Send + 'static,
        cancel: &AtomicBool,
    ) -> Result<RemoteAgent, LoadError> {
        let (sender, answers) = mpsc::channel();
        std::thread::Builder::new()
            .name("answers".into())
            .spawn(move || {
                loop {
                    let said = match frame::read(&mut input) {
                        Ok(Some(answer)) => Ok(answer),
                        // Whoever waits finds the channel closed.
                        Ok(None) => return,
                        Err(error) => Err(error),
                    };
                    let last = said.is_err();
                    if sender.send(said).is_err() || last {
                        return;
                    }
                }
            })
            .map_err(|error| LoadError::Client(format!("starting a thread: {error}")))?;
        let mut link = Link {
            host: host.to_owned(),
            output: Some(Box::new(output)),
            answers,
            explain: Box::new(explain),
            lost: None,
        };
        let mut left = HELLO_TIMEOUT;
        let hello = loop {
            // Nothing runs over there yet that would have to stop.
            if cancel.load(Ordering::Relaxed) {
                return Err(LoadError::Cancelled);
            }
            match link.answers.recv_timeout(POLL) {
                Err(RecvTimeoutError::Timeout) if !left.is_zero() => {
                    left = left.saturating_sub(POLL);
                }
                said => break said,
            }
        };
        match link.heard(hello, HELLO_TIMEOUT)? {
            Answer::Hello(greeting) => Ok(RemoteAgent {
                link: Arc::new(Mutex::new(link)),
                greeting,
            }),
            other => Err(link.out_of_turn(&other)),
        }
    }

    /// What it said first.
    pub fn greeting(&self) -> &Greeting {
        &self.greeting
    }

    /// Lets the agent connect to `address` and send `token`.
    ///
    /// # Errors
    /// It cannot, for the reason given.
    pub fn knock(
        &self,
        address: SocketAddr,
        token: &str,
        cancel: &AtomicBool,
    ) -> Result<(), LoadError> {
        let token = token.to_owned();
        self.link().done(&Request::Knock { address, token }, cancel)
    }

    /// As [`Driver::connect`](crate::Driver::connect), over there. The agent holds the connections of one driver.
    ///
    /// # Errors
    /// As there; the agent was lost.
    pub fn connect(
        &self,
        endpoints: &[Endpoint],
        spec: &WorkloadSpec,
        options: &DriverOptions,
    ) -> Result<RemoteDriver, LoadError> {
        let request = Request::Connect {
            endpoints: endpoints.to_vec(),
            spec: Box::new(spec.clone()),
            options: options.clone(),
        };
        self.link().done(&request, &options.cancel)?;
        Ok(RemoteDriver {
            link: Arc::clone(&self.link),
            cancel: Arc::clone(&options.cancel),
            stall_timeout: options.stall_timeout,
        })
    }

    /// As [`run_job`](crate::run_job), over there.
    ///
    /// # Errors
    /// As there; the agent was lost.
    pub fn run_job(
        &self,
        endpoint: &Endpoint,
        spec: &WorkloadSpec,
        cancel: &AtomicBool,
        on_step: &mut dyn FnMut(&str, usize, usize),
    ) -> Result<JobTimes, LoadError> {
        let request = Request::Job {
            endpoint: endpoint.clone(),
            spec: Box::new(spec.clone()),
        };
        let mut link = self.link();
        link.send(&request)?;
        let answer = link.wait(MAX_RUN, cancel, &mut |answer| match answer {
            Answer::Step { name, number, of } => {
                on_step(name, *number, *of);
                false
            }
            _ => true,
        })?;
        match answer {
            Answer::Worked(done) => Ok(done),
            other => Err(link.out_of_turn(&other)),
        }
    }

    /// Ends the agent: it does nothing more once its input has ended.
    pub fn dismiss(&self) {
        let mut link = self.link();
        link.output = None;
        if link.lost.is_none() {
            link.lost = Some(LoadError::AgentLost {
                host: link.host.clone(),
                cause: "it was dismissed".into(),
            });
        }
    }

    fn link(&self) -> MutexGuard<'_, Link> {
        // Nothing panics with the link in a state that the next request could not continue from.
        self.link.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Connections that an agent holds. Dropping it ends them.
pub struct RemoteDriver {
    link: Arc<Mutex<Link>>,
    cancel: Arc<AtomicBool>,
    stall_timeout: Duration,
}

impl fmt::Debug for RemoteDriver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RemoteDriver")
    }
}

impl LoadGenerator for RemoteDriver {
    fn run(
        &mut self,
        side: usize,
        options: &RunOptions,
        on_interval: &mut dyn FnMut(&SliceStats),
    ) -> Result<SliceStats, LoadError> {
        let timeout = options.warm_up
            + options.duration.unwrap_or(MAX_RUN)
            + options.drain_timeout
            + self.stall_timeout
            + RUN_MARGIN;
        let mut link = self.link.lock().unwrap_or_else(PoisonError::into_inner);
        // Of this host's clock, as everything else that is kept.
        let started = SystemTime::now();
        link.send(&Request::Run {
            side,
            options: options.clone(),
        })?;
        let answer = link.wait(timeout, &self.cancel, &mut |answer| match answer {
            Answer::Interval(stats) => {
                stats.started = SystemTime::now() - Duration::from_secs_f64(stats.seconds.max(0.0));
                on_interval(stats);
                false
            }
            _ => true,
        })?;
        match answer {
            Answer::Ran(mut stats) => {
                stats.started = started;
                Ok(*stats)
            }
            other => Err(link.out_of_turn(&other)),
        }
    }

    /// None: captures are replayed from the machine that they lie on.
    fn segments_left(&self, _side: usize) -> Option<usize> {
        None
    }

    fn replayed(&self, _side: usize) -> Option<Tally> {
        None
    }

    fn cpu_seconds_here(&self, _stats: &SliceStats) -> f64 {
        0.0
    }
}

impl Drop for RemoteDriver {
    fn drop(&mut self) {
        let mut link = self.link.lock().unwrap_or_else(PoisonError::into_inner);
        // An agent that cannot be told has no connections any more.
        let _ = link.done(&Request::Disconnect, &AtomicBool::new(false));
    }
}

impl Link {
    fn send(&mut self, request: &Request) -> Result<(), LoadError> {
        if let Some(lost) = &self.lost {
            return Err(lost.clone());
        }
        let sent = match &mut self.output {
            Some(output) => frame::write(output, request),
            None => Err(std::io::ErrorKind::BrokenPipe.into()),
        };
        sent.map_err(|error| self.lose(&error.to_string()))
    }

    /// A request that is done or not.
    fn done(&mut self, request: &Request, cancel: &AtomicBool) -> Result<(), LoadError> {
        self.send(request)?;
        match self.wait(SET_UP_TIMEOUT, cancel, &mut |_| true)? {
            Answer::Done => Ok(()),
            other => Err(self.out_of_turn(&other)),
        }
    }

    /// The answer that `is_last` says is the last one; a failure over there is one here. When `cancel` is set the agent is
    /// told, and what it then says is waited for.
    fn wait(
        &mut self,
        timeout: Duration,
        cancel: &AtomicBool,
        is_last: &mut dyn FnMut(&mut Answer) -> bool,
    ) -> Result<Answer, LoadError> {
        let mut left = timeout;
        let mut cancelled = false;
        loop {
            if !cancelled && cancel.load(Ordering::Relaxed) {
                cancelled = true;
                left = left.min(STOP_TIMEOUT);
                // Whether it is heard shows in what comes.
                let _ = self.send(&Request::Cancel);
            }
            match self.answers.recv_timeout(POLL) {
                Err(RecvTimeoutError::Timeout) if !left.is_zero() => {
                    left = left.saturating_sub(POLL);
                }
                said => match self.heard(said, timeout) {
                    Ok(Answer::Failed(error)) => return Err(self.named(error)),
                    Ok(mut answer) => {
                        if is_last(&mut answer) {
                            return Ok(answer);
                        }
                    }
                    // Who cancels does not ask what else went wrong.
                    Err(_) if cancelled => return Err(LoadError::Cancelled),
                    Err(error) => return Err(error),
                },
            }
        }
    }

    /// A failure of the load generator's own is its host's: limits are raised there.
    fn named(&self, error: LoadError) -> LoadError {
        match error {
            LoadError::Client(cause) => LoadError::Client(format!("on {}: {cause}", self.host)),
            error => error,
        }
    }

    /// What came, or why nothing comes any more.
    fn heard(
        &mut self,
        said: Result<Result<Answer, FrameError>, RecvTimeoutError>,
        timeout: Duration,
    ) -> Result<Answer, LoadError> {
        match said {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(error)) => Err(self.lose(&error.to_string())),
            Err(RecvTimeoutError::Disconnected) => Err(self.lose("it ended")),
            Err(RecvTimeoutError::Timeout) => {
                let seconds = timeout.as_secs();
                Err(self.lose(&format!("it did not answer within {seconds} s")))
            }
        }
    }

    fn lose(&mut self, cause: &str) -> LoadError {
        if let Some(lost) = &self.lost {
            return lost.clone();
        }
        // An agent that is given up must not continue.
        self.output = None;
        let why = (self.explain)();
        let cause = match why.trim() {
            "" => cause.to_owned(),
            why => format!("{cause}\n{why}"),
        };
        let lost = LoadError::AgentLost {
            host: self.host.clone(),
            cause,
        };
        self.lost = Some(lost.clone());
        lost
    }

    fn out_of_turn(&mut self, answer: &Answer) -> LoadError {
        let said: String = format!("{answer:?}").chars().take(80).collect();
        self.lose(&format!("it answered what was not asked: {said}"))
    }
}

#[cfg(test)]
mod tests {
    use super::super::serve;
    use super::*;
    use crate::net::endpoint::{TlsOptions, Transport};
    use std::net::TcpListener;
    use std::os::unix::net::UnixStream;
    use std::thread::JoinHandle;

    fn greeting() -> Greeting {
        Greeting {
            version: "0.1.0".into(),
            binary: "00".into(),
            machine: "2 CPUs".into(),
            ssh_connection: None,
        }
    }

    /// An agent in a thread of this process; a way to cut its line.
    fn agent() -> (RemoteAgent, UnixStream, JoinHandle<std::io::Result<()>>) {
        let (here, there) = UnixStream::pair().unwrap();
        let output = there.try_clone().unwrap();
        let thread = std::thread::spawn(move || serve(there, output, &greeting(), || {}));
        let agent = RemoteAgent::greeted(
            "db-client",
            here.try_clone().unwrap(),
            here.try_clone().unwrap(),
            || "ssh: connection reset".into(),
            &AtomicBool::default(),
        )
        .unwrap();
        (agent, here, thread)
    }

    fn nobody_there() -> Endpoint {
        // A port that was free a moment ago.
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr();
        Endpoint {
            transport: Transport::Tcp(port.unwrap()),
            user: "u".into(),
            password: "secret".into(),
            database: "d".into(),
            tls: TlsOptions::default(),
        }
    }

    #[test]
    fn an_agent_greets_knocks_and_ends_with_its_input() {
        let (agent, line, thread) = agent();
        assert_eq!(agent.greeting(), &greeting());
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let cancel = AtomicBool::default();
        agent.knock(address, "token", &cancel).unwrap();
        let mut said = String::new();
        let (mut stream, _) = listener.accept().unwrap();
        stream.read_to_string(&mut said).unwrap();
        assert_eq!(said, "token");
        drop(listener);
        let error = agent.knock(address, "token", &cancel).unwrap_err();
        assert!(error.to_string().contains("refused"), "{error}");
        line.shutdown(std::net::Shutdown::Both).unwrap();
        thread.join().unwrap().unwrap();
    }

    #[test]
    fn errors_of_the_agent_are_reported_unchanged() {
        let (agent, _line, _thread) = agent();
        let endpoint = nobody_there();
        let (spec, options) = (WorkloadSpec::default(), DriverOptions::default());
        let there = agent.connect(std::slice::from_ref(&endpoint), &spec, &options);
        let here = crate::Driver::connect(&[endpoint], &spec, &options);
        assert_eq!(there.unwrap_err(), here.unwrap_err());
        // The agent is none the worse for it.
        let none = agent.connect(&[], &spec, &options).unwrap_err();
        assert!(matches!(none, LoadError::Invalid(_)), "{none}");
    }

    #[test]
    fn an_agent_that_went_away_is_told_with_its_host_and_the_last_words() {
        let (agent, line, _thread) = agent();
        line.shutdown(std::net::Shutdown::Both).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        for _ in 0..2 {
            let error = agent
                .knock(address, "token", &AtomicBool::default())
                .unwrap_err();
            let text = error.to_string();
            assert!(
                text.contains("db-client") && text.contains("reset"),
                "{text}"
            );
        }
    }

    #[test]
    fn output_of_a_login_shell_is_not_taken_for_the_agent() {
        let error = RemoteAgent::greeted(
            "db-client",
            &b"Last login: yesterday\n"[..],
            std::io::sink(),
            String::new,
            &AtomicBool::default(),
        )
        .unwrap_err();
        assert!(error.to_string().contains("not a message"), "{error}");
    }

    #[test]
    fn cancelling_interrupts_a_login() {
        let (here, _there) = UnixStream::pair().unwrap();
        let cancel = AtomicBool::new(true);
        let input = here.try_clone().unwrap();
        let error = RemoteAgent::greeted("db-client", input, here, String::new, &cancel);
        assert_eq!(error.unwrap_err(), LoadError::Cancelled);
    }
}
