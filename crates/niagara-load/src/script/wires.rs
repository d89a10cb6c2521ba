//! The links of the threads of a script, by number, and commands on them that are waited for.

use super::program::{CommandKind, Counts, Program, Refusal, Reply, Server, Want};
use crate::engine::link::{Awaited, Link, Lost};
use crate::engine::options::IgnoredErrors;
use crate::error::{LoadError, Obstacle};
use crate::net::endpoint::{Endpoint, Transport};
use crate::protocol::answer::{Answer, Format};
use crate::protocol::response::Progress;
use crate::workload::plan::Plan;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The client library's numbers: no server there, and a connection that was lost.
pub(crate) const UNREACHABLE: u16 = 2002;
pub(crate) const UNKNOWN_HOST: u16 = 2005;

/// How often a script that sleeps is asked whether it is cancelled.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Links to the servers of one side.
pub(crate) struct Wires {
    links: Vec<Option<Link>>,
    servers: Vec<Endpoint>,
    plan: Arc<Plan>,
    connect_timeout: Duration,
    /// How long a single command may take where it is waited for.
    patience: Duration,
    ignored: IgnoredErrors,
    /// Connections made so far: they go to the servers in turn.
    made: usize,
    /// No more links than these.
    limit: usize,
    /// Once it is set, nothing more is asked where the caller waits.
    cancel: Arc<AtomicBool>,
    /// What was asked where the caller waited.
    counts: Counts,
}

impl Wires {
    pub(crate) fn new(
        servers: Vec<Endpoint>,
        plan: Arc<Plan>,
        connect_timeout: Duration,
        patience: Duration,
        ignored: IgnoredErrors,
    ) -> Self {
        Wires {
            links: Vec::new(),
            servers,
            plan,
            connect_timeout,
            patience,
            ignored,
            made: 0,
            limit: usize::MAX,
            cancel: Arc::default(),
            counts: Counts::default(),
        }
    }

    /// Nothing more is asked where the caller waits once this is set.
    pub(crate) fn end_by(&mut self, cancel: &Arc<AtomicBool>) {
        self.cancel = Arc::clone(cancel);
    }

    /// What was asked where the caller waited, since this was last called.
    pub(crate) fn take_counts(&mut self) -> Counts {
        std::mem::take(&mut self.counts)
    }

    /// Connections from here on begin with this server.
    pub(crate) fn start_with(&mut self, number: usize) {
        self.made = number;
    }

    /// The server that the next connection goes to, as [`start_with`](Self::start_with) takes it.
    pub(crate) fn next_server(&self) -> usize {
        self.made
    }

    /// Counts a statement by its answer.
    pub(crate) fn count(&mut self, reply: &Reply) {
        self.counts.answered(reply);
    }

    /// Takes over what a program has counted, and gives up the links that it has closed, whose numbers are returned.
    pub(crate) fn take_over(&mut self, program: &mut dyn Program) -> Vec<usize> {
        self.counts.add(program.take_counts());
        let closed = program.take_closed();
        for &number in &closed {
            if let Some(mut link) = self.take(number) {
                link.quit();
            }
        }
        closed
    }

    /// There may be no more links than these from here on.
    pub(crate) fn limit_to(&mut self, links: usize) {
        self.limit = links;
    }

    /// Whether there is room for another link.
    pub(crate) fn has_room(&self) -> bool {
        self.links.len() < self.limit || self.links.iter().any(Option::is_none)
    }

    pub(crate) fn get(&mut self, number: usize) -> Option<&mut Link> {
        self.links.get_mut(number).and_then(Option::as_mut)
    }

    /// Takes a link, which is called by the number that is returned.
    pub(crate) fn put(&mut self, link: Link) -> usize {
        let free = self.links.iter().position(Option::is_none);
        let number = free.unwrap_or_else(|| {
            self.links.push(None);
            self.links.len() - 1
        });
        self.links[number] = Some(link);
        number
    }

    /// Gives a link up.
    pub(crate) fn take(&mut self, number: usize) -> Option<Link> {
        self.links.get_mut(number).and_then(Option::take)
    }

    /// Gives all of them up.
    pub(crate) fn quit(&mut self) {
        for mut link in self.links.iter_mut().filter_map(Option::take) {
            link.quit();
        }
    }

    /// All that are there.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (usize, &Link)> {
        let numbered = self.links.iter().enumerate();
        numbered.filter_map(|(number, link)| Some((number, link.as_ref()?)))
    }

    /// How many numbers there are.
    pub(crate) fn len(&self) -> usize {
        self.links.len()
    }

    /// A connection, made while the caller waits.
    pub(crate) fn connect(&mut self) -> Reply {
        let server = &self.servers[self.made % self.servers.len()];
        self.made += 1;
        match Link::open(server, &self.plan, self.connect_timeout) {
            Ok(link) => Reply::Linked(self.put(link)),
            Err(error) => Reply::Refused(refusal(&error, &server.transport)),
        }
    }

    /// Where the first server is.
    pub(crate) fn place(&self) -> Option<&Transport> {
        self.servers.first().map(|server| &server.transport)
    }

    /// What a complete answer on a link says.
    pub(crate) fn reply(
        &mut self,
        number: usize,
        progress: Result<Progress, Lost>,
        answer: &mut Answer,
    ) -> Reply {
        let Some(link) = self.links.get_mut(number).and_then(Option::as_mut) else {
            return Reply::Lost("there is no such connection any more".into());
        };
        let failed = match progress {
            Ok(progress) => progress == Progress::Failed,
            Err(Lost(cause)) => return Reply::Lost(cause),
        };
        if failed {
            return match link.error() {
                Ok(error) => Reply::Failed(Refusal {
                    code: error.code,
                    state: String::from_utf8_lossy(&error.state).into_owned(),
                    message: error.message,
                    ignorable: self.ignored.contain(error.code),
                }),
                Err(Lost(cause)) => Reply::Lost(cause),
            };
        }
        if let Some(prepared) = link.prepared() {
            return Reply::Prepared {
                statement: prepared.statement,
                parameters: prepared.parameters,
                columns: prepared.columns,
            };
        }
        match link.changed() {
            Some(rows) => Reply::Done(rows),
            None => {
                link.swap_answer(answer);
                Reply::Rows
            }
        }
    }
}

/// How the answer to a command is read.
pub(crate) fn awaited(kind: CommandKind) -> Awaited {
    match kind {
        CommandKind::Text => Awaited::Rows(Format::Text),
        CommandKind::Execute => Awaited::Rows(Format::Binary),
        CommandKind::Prepare => Awaited::Statement,
    }
}

/// Why there is no connection, with the number that the client library has for it, and in its words where it has some.
pub fn refusal(error: &LoadError, place: &Transport) -> Refusal {
    let LoadError::Connect {
        cause, obstacle, ..
    } = error
    else {
        return general(UNREACHABLE, &error.to_string());
    };
    let number = match (obstacle, place) {
        (Obstacle::Login { code, message }, _) => return general(*code, message),
        // The number is that of getaddrinfo's EAI_NONAME.
        (Obstacle::UnknownHost, Transport::Host { name, .. }) => {
            return general(UNKNOWN_HOST, &format!("Unknown server host '{name}' (-2)"));
        }
        (Obstacle::System(number), _) => number,
        _ => return general(UNREACHABLE, &cause.cause),
    };
    let words = match place {
        Transport::Unix(path) => {
            format!(
                "Can't connect to local server through socket '{}'",
                path.display()
            )
        }
        Transport::Tcp(address) => format!("Can't connect to server on '{}'", address.ip()),
        Transport::Host { name, .. } => format!("Can't connect to server on '{name}'"),
    };
    general(UNREACHABLE, &format!("{words} ({number})"))
}

fn general(code: u16, message: &str) -> Refusal {
    Refusal {
        code,
        state: "HY000".into(),
        message: message.to_owned(),
        ignorable: false,
    }
}

impl Server for Wires {
    fn ask(&mut self, want: Want, command: &[u8], answer: &mut Answer) -> Reply {
        match want {
            Want::Connect => self.connect(),
            Want::Sleep(time) => {
                self.rest(time);
                Reply::Go
            }
            Want::Answer { link, kind } => {
                let deadline = Instant::now() + self.patience;
                let progress = match self.get(link) {
                    Some(link) => {
                        link.write_command(command, awaited(kind));
                        link.exchange(deadline)
                    }
                    None => Err(Lost("there is no such connection any more".into())),
                };
                self.reply(link, progress, answer)
            }
            Want::Event { .. } => Reply::Event(false),
            Want::Rest { .. } | Want::End => Reply::Goodbye,
        }
    }
}

impl Wires {
    /// Sleeps, unless it is cancelled.
    fn rest(&self, time: Duration) {
        let begun = Instant::now();
        while !self.cancel.load(Ordering::Relaxed) {
            let left = time.saturating_sub(begun.elapsed());
            if left.is_zero() {
                return;
            }
            std::thread::sleep(left.min(POLL_INTERVAL));
        }
    }
}

/// Runs a program until it wants an event, a rest or nothing, waiting for everything else.
///
/// # Errors
/// The script fails, or is cancelled.
pub(crate) fn run_on(
    program: &mut dyn Program,
    mut reply: Reply,
    wires: &mut Wires,
) -> Result<Want, LoadError> {
    // Of wishes that have no rows.
    let mut nowhere = Answer::of_script();
    loop {
        let want = match program.resume(reply, wires) {
            Err(_) if wires.cancel.load(Ordering::Relaxed) => return Err(LoadError::Cancelled),
            want => want.map_err(LoadError::Script)?,
        };
        wires.take_over(program);
        reply = match want {
            Want::Event { .. } | Want::Rest { .. } | Want::End => return Ok(want),
            _ if wires.cancel.load(Ordering::Relaxed) => return Err(LoadError::Cancelled),
            Want::Connect | Want::Sleep(_) => wires.ask(want, &[], &mut nowhere),
            Want::Answer { link, .. } => {
                let command = program.command().to_vec();
                let answer = std::mem::take(program.answer(link));
                let mut answer = answer;
                let reply = wires.ask(want, &command, &mut answer);
                *program.answer(link) = answer;
                wires.count(&reply);
                reply
            }
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn why_there_is_no_connection_is_said_in_the_client_librarys_words() {
        let host = |name: &str| Transport::Host {
            name: name.into(),
            port: 3306,
        };
        for (place, cause, obstacle, number, message) in [
            (
                Transport::Unix("/run/s".into()),
                "No such file or directory (os error 2)",
                Obstacle::System(2),
                2002,
                "Can't connect to local server through socket '/run/s' (2)",
            ),
            (
                Transport::Tcp(([127, 0, 0, 1], 3306).into()),
                "127.0.0.1:3306: Connection refused (os error 111)",
                Obstacle::System(111),
                2002,
                "Can't connect to server on '127.0.0.1' (111)",
            ),
            (
                host("db"),
                "db:3306: No route to host (os error 113)",
                Obstacle::System(113),
                2002,
                "Can't connect to server on 'db' (113)",
            ),
            (
                host("no.such"),
                "cannot resolve 'no.such': failed to lookup address information",
                Obstacle::UnknownHost,
                2005,
                "Unknown server host 'no.such' (-2)",
            ),
            (
                host("db"),
                "server error 1045: Access denied",
                Obstacle::Login {
                    code: 1045,
                    message: "Access denied".into(),
                },
                1045,
                "Access denied",
            ),
            (
                host("db"),
                "no answer for 30.0 s",
                Obstacle::NoAnswer,
                2002,
                "no answer for 30.0 s",
            ),
        ] {
            let error = LoadError::Connect {
                endpoint: String::new(),
                cause: Box::new(cause.into()),
                obstacle,
            };
            let refusal = refusal(&error, &place);
            assert_eq!(
                (refusal.code, refusal.message.as_str()),
                (number, message),
                "{cause}"
            );
        }
    }
}
