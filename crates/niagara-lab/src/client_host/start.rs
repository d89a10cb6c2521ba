//! The agent is started on the client host; where its binary is not there yet, it is copied first.

use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use niagara_error::{Problem, anyhow, bail, problem};
use niagara_load::LoadError;
use niagara_load::remote::RemoteAgent;

use super::ClientHostOptions;
use super::complaints::Complaints;
use super::host_name::check_host;
use super::own_binary::{open_own, own_hash};
use super::remote_shell::line;
use niagara_server::{Cancel, Cancelled};

/// Where agents are kept, below the user's home there.
const FOLDER: &str = "$HOME/.cache/niagara/agent";
/// Said before the agent's own words: a login shell may have said something before.
const STARTS: &str = "niagara-agent-starts";
/// Said, with the kind of system, where there is no agent yet.
const MISSING: &str = "niagara-agent-missing";
/// Words of a login shell that are read over.
const MAX_WORDS: u64 = 64 << 10;
/// How long a login may take until the first word.
const FIRST_WORD: Duration = Duration::from_secs(60);
/// How often it is looked whether to stop meanwhile.
const LOOK: Duration = Duration::from_millis(50);
/// How long the remote shell may take to end once the agent was dismissed.
const END_TIMEOUT: Duration = Duration::from_secs(5);
/// Days after which an agent of another version that nobody used goes.
const KEPT_DAYS: u32 = 30;

/// What the remote shell said first.
#[derive(Debug, PartialEq, Eq)]
enum FirstWord {
    Starts,
    /// There is none; the system is of this kind.
    Missing(String),
}

/// An agent, and the remote shell that runs it. Dropped, both end.
#[derive(Debug)]
pub(super) struct AgentProcess {
    pub agent: RemoteAgent,
    shell: Child,
}

impl Drop for AgentProcess {
    fn drop(&mut self) {
        self.agent.dismiss();
        let deadline = Instant::now() + END_TIMEOUT;
        while matches!(self.shell.try_wait(), Ok(None)) && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(10));
        }
        end(&mut self.shell);
    }
}

/// A remote shell that runs the agent, what it reads, what it writes, what it complains of.
struct Started {
    shell: Child,
    input: ChildStdin,
    output: ChildStdout,
    complaints: Complaints,
}

/// An agent that greeted and is this very binary.
pub(super) fn start(
    options: &ClientHostOptions,
    cancel: &Cancel,
    observer: &mut dyn FnMut(&str),
) -> Result<AgentProcess> {
    let host = options.host.as_str();
    check_host(host).map_err(|error| anyhow!("{error}"; remedy: "{}", error.remedy()))?;
    let hash = own_hash()?;
    let mut delivered = false;
    let started = loop {
        let (word, mut started) = first_word(options, &hash, cancel)?;
        match word {
            FirstWord::Starts => break started,
            FirstWord::Missing(_) if delivered => {
                end(&mut started.shell);
                bail!(
                    "{host} does not keep what is copied to {FOLDER}";
                    remedy: "make sure that the folder can be written and programs there can be run (no noexec)"
                );
            }
            FirstWord::Missing(kind) => {
                end(&mut started.shell);
                check_kind(host, &kind)?;
                cancel.check()?;
                let copied = deliver(options, &hash, observer);
                // Ctrl-C ends the copy, too: that is no failure.
                cancel.check()?;
                copied?;
                delivered = true;
            }
        }
        cancel.check()?;
    };
    let Started {
        mut shell,
        input,
        output,
        complaints,
    } = started;
    let explain = move || complaints.text();
    let greeted = RemoteAgent::greeted(host, output, input, explain, &cancel.flag());
    let agent = match greeted {
        Ok(agent) => agent,
        Err(error) => {
            end(&mut shell);
            return Err(match error {
                LoadError::Cancelled => Cancelled.into(),
                error => anyhow!(
                    "{error}";
                    remedy: "see whether `{FOLDER}/niagara-{hash} --version` runs on {host} (its C library must not be \
                     older than this host's)"
                ),
            });
        }
    };
    let process = AgentProcess { agent, shell };
    let greeting = process.agent.greeting();
    if greeting.binary != hash {
        bail!(
            "the agent on {host} is not this binary (it is Niagara {}, SHA-256 {})",
            greeting.version,
            greeting.binary;
            remedy: "remove {FOLDER}/niagara-{hash} there; the same command copies it again"
        );
    }
    Ok(process)
}

/// Starts the agent where there is one, and hears whether there is.
fn first_word(
    options: &ClientHostOptions,
    hash: &str,
    cancel: &Cancel,
) -> Result<(FirstWord, Started)> {
    let host = &options.host;
    let script = format!(
        "f=\"{FOLDER}/niagara-{hash}\"; if [ -x \"$f\" ]; then touch \"$f\"; echo {STARTS}; exec \"$f\" load-agent; fi; \
         echo \"{MISSING} $(uname -sm)\""
    );
    let mut shell = options
        .shell
        .command(host, &line(&script))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        // Ctrl-C is told to this process, which tells the agent.
        .process_group(0)
        .spawn()
        .with_context(|| cannot_run(options))?;
    let (Some(input), Some(output), Some(stderr)) =
        (shell.stdin.take(), shell.stdout.take(), shell.stderr.take())
    else {
        unreachable!("all three were asked for");
    };
    let complaints = Complaints::of(stderr);
    match in_time(output, cancel) {
        Ok((word, output)) => Ok((
            word,
            Started {
                shell,
                input,
                output,
                complaints,
            },
        )),
        Err(error) => {
            drop(input);
            if cancel.is_cancelled() {
                end(&mut shell);
                return Err(Cancelled.into());
            }
            let said = complaints.text();
            end(&mut shell);
            let cause = match (error, said.as_str()) {
                (_, said) if !said.is_empty() => said.to_owned(),
                (Some(error), _) => error.to_string(),
                (None, _) => "it ended without a word".to_owned(),
            };
            bail!(
                "no command can be run on {host} by `{}`:{}", options.shell, indented(&cause);
                remedy: "`{} {host} true` must work without asking for anything (a key, the host's own key known)",
                options.shell
            );
        }
    }
}

fn cannot_run(options: &ClientHostOptions) -> Problem {
    problem!(
        "cannot run `{}`", options.shell;
        remedy: "install ssh, or name another command with --ssh or in {}", super::SSH_VARIABLE
    )
}

/// The first word, unless it is long in coming or `cancel` says to stop: a login may ask for something, or wait for a home folder.
fn in_time<R: Read + Send + 'static>(
    output: R,
    cancel: &Cancel,
) -> Result<(FirstWord, R), Option<io::Error>> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        // Nobody waits for it any more once it is late.
        let _ = sender.send(read_word(output));
    });
    let began = Instant::now();
    loop {
        match receiver.recv_timeout(LOOK) {
            Ok(word) => return word,
            Err(RecvTimeoutError::Disconnected) => return Err(None),
            Err(RecvTimeoutError::Timeout) if cancel.is_cancelled() => return Err(None),
            Err(RecvTimeoutError::Timeout) if began.elapsed() > FIRST_WORD => {
                let seconds = FIRST_WORD.as_secs();
                return Err(Some(io::Error::other(format!(
                    "nothing was heard of it for {seconds} s"
                ))));
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
}

/// Reads up to the line that says what comes; what the login shell says before is passed over.
fn read_word<R: Read>(output: R) -> Result<(FirstWord, R), Option<io::Error>> {
    // Without a buffer of its own: a line is short, and is read once.
    let mut reader = BufReader::with_capacity(1, output);
    let mut left = MAX_WORDS;
    loop {
        let mut line = Vec::new();
        let count = (&mut reader).take(left).read_until(b'\n', &mut line)?;
        left -= count as u64;
        if line.pop() != Some(b'\n') {
            return Err(None);
        }
        let text = String::from_utf8_lossy(&line);
        let text = text.trim();
        if text == STARTS {
            return Ok((FirstWord::Starts, reader.into_inner()));
        }
        if let Some(kind) = text.strip_prefix(MISSING) {
            return Ok((
                FirstWord::Missing(kind.trim().to_owned()),
                reader.into_inner(),
            ));
        }
    }
}

/// An error where this binary cannot run on a system that `uname -sm` calls `kind`.
fn check_kind(host: &str, kind: &str) -> Result<()> {
    let own = format!("Linux {}", std::env::consts::ARCH);
    // The one that the kernel and the compiler call differently.
    let kind = kind.replace("ppc64le", "powerpc64");
    if kind != own {
        bail!(
            "{host} is a {kind}, this host a {own}: one binary does not run on both";
            remedy: "take a client host of the same architecture"
        );
    }
    Ok(())
}

/// Copies this binary to the host.
fn deliver(options: &ClientHostOptions, hash: &str, observer: &mut dyn FnMut(&str)) -> Result<()> {
    let host = &options.host;
    let file = open_own()?;
    let size = file.metadata()?.len();
    observer(&format!("copying niagara to {host} ({} MB)", size >> 20));
    // Whole or not at all: a copy that was cut short has another size.
    let script = format!(
        "set -e; umask 077; d=\"{FOLDER}\"; mkdir -p \"$d\"; t=\"$d/niagara-{hash}.$$.tmp\"; trap \"rm -f \\\"$t\\\"\" EXIT; \
         cat > \"$t\"; [ \"$(wc -c < \"$t\")\" -eq {size} ] || {{ echo \"the copy is not whole\" >&2; exit 1; }}; \
         chmod 700 \"$t\"; mv \"$t\" \"$d/niagara-{hash}\"; \
         find \"$d\" -name \"niagara-*\" -mtime +{KEPT_DAYS} -exec rm -f {{}} +"
    );
    let output = options
        .shell
        .command(host, &line(&script))
        .stdin(file)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .output()
        .with_context(|| cannot_run(options))?;
    if !output.status.success() {
        bail!(
            "niagara cannot be copied to {host} ({}){}",
            output.status,
            indented(&String::from_utf8_lossy(&output.stderr));
            remedy: "{FOLDER} there must be a folder that you may write, on a disk with {} MB free", (size >> 20) + 1
        );
    }
    Ok(())
}

fn indented(text: &str) -> String {
    text.trim()
        .lines()
        .map(|line| format!("\n  {line}"))
        .collect()
}

/// At once; one that has ended already is only waited for.
fn end(child: &mut Child) {
    let _ = child.kill();
    let _ = child.wait();
}

#[cfg(test)]
mod tests {
    use niagara_error::Explain as _;

    use super::*;

    #[test]
    fn a_talkative_login_shell_is_read_over_and_the_agent_is_not() {
        let said = format!("Welcome!\nno mail\n{STARTS}\n\0\0\0\x02{{}}");
        let (word, mut rest) = read_word(said.as_bytes()).expect("it starts");
        assert_eq!(word, FirstWord::Starts);
        let mut left = Vec::new();
        rest.read_to_end(&mut left).expect("bytes");
        assert_eq!(left, b"\0\0\0\x02{}");
    }

    #[test]
    fn a_shell_that_says_neither_is_an_error() {
        let said = format!("{MISSING} Linux x86_64\n");
        let (word, _) = read_word(said.as_bytes()).expect("it is missing");
        assert_eq!(word, FirstWord::Missing("Linux x86_64".to_owned()));
        assert!(read_word(&b"This account is not available\n"[..]).is_err());
        let endless = vec![b'x'; 2 * MAX_WORDS as usize];
        assert!(read_word(endless.as_slice()).is_err());
    }

    #[test]
    fn another_architecture_is_refused_before_anything_is_copied() {
        let own = format!("Linux {}", std::env::consts::ARCH);
        check_kind("db-client", &own).expect("the same");
        let error = check_kind("db-client", "Linux riscv128").expect_err("another");
        assert!(error.explain().to_string().contains("remedy"), "{error}");
    }
}
