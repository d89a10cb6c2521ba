//! What it costs to apply what was found, and what it risks: for whoever decides, in a few lines.

use niagara_model::{
    BuildNote, Comparison, DeployBuild, Deployment, Finding, Follows, Rung, SameAnswers, Summary,
};
use niagara_settings::{Scheduling, TransportKind};
use niagara_stats::Verdict;

use crate::directives::directives;
use crate::handover::{is_unchecked, may_deploy};
use crate::host::transparent_pages;
use crate::number;
use crate::number::capital;
use crate::wording::{CheckInWords, Standing, checks_told};

/// The heading above these lines, in every form of the report.
pub const HEADING: &str = "What it costs to apply, and what it risks";

/// Name and words, in the order in which they are asked; `None` of a study that ends with nothing to apply.
pub fn applying(summary: &Summary) -> Option<Vec<(&'static str, String)>> {
    let found = Found::of(summary)?;
    Some(match found.deployment {
        Some(deployment) => found.lines(deployment),
        None => vec![("To apply", found.why_nothing().to_owned())],
    })
}

/// The same for one screen, which names deploy/ beside it: nothing of a study that ends with nothing to apply.
pub(crate) fn applying_in_short(summary: &Summary) -> Option<Vec<(&'static str, String)>> {
    let found = Found::of(summary)?;
    let deployment = found.deployment?;
    let mut lines = vec![("To apply", found.to_apply_in_short(deployment))];
    let socket = "must use the Unix socket, where it does not today.";
    lines.extend(of_application(deployment, socket).map(|words| ("Application", words)));
    lines.push(("Risk", found.risk(deployment, true)));
    lines.extend(found.kernel(deployment).map(|words| ("Kernel", words)));
    lines.extend(found.checked_in_short().map(|words| ("Checked", words)));
    Some(lines)
}

/// What the levers of what is handed over risk, for whoever installs it; below it a line for each thing to know.
pub(crate) fn risk_of(summary: &Summary) -> Option<String> {
    let found = Found::of(summary)?;
    Some(found.risk(found.deployment?, false))
}

/// Where the load of what is handed over came from, and what the start was, for whoever installs it.
pub(crate) fn conditions_of(summary: &Summary) -> Option<String> {
    let found = Found::of(summary)?;
    Some(found.conditions(found.deployment?))
}

/// What was checked of what is handed over: a built server itself, the answers to the user's capture, and the variant that it is
/// part of.
pub(crate) fn checks_of(summary: &Summary) -> Vec<CheckInWords> {
    let checks = &summary.header().checks;
    let replay = summary.comparison().and_then(|found| found.replay.as_ref());
    let answers = replay.and_then(|replay| replay.same_answers.as_ref());
    let of_capture = answers.filter(|_| !checks.is_empty());
    let note = BuildNote::of_what_is_handed_over(&summary.header().builds);
    let note = note.filter(|_| !checks.is_empty());
    let of_build = note.map(|note| CheckInWords::from(&note.check));
    let checks = checks.iter().map(CheckInWords::from);
    let of_capture = of_capture.map(CheckInWords::from);
    of_build
        .into_iter()
        .chain(of_capture)
        .chain(checks)
        .collect()
}

/// What a study came to, as far as it can be applied.
struct Found<'a> {
    deployment: Option<&'a Deployment>,
    /// The comparison that it rests on.
    proof: Option<&'a Comparison>,
    checks: Vec<CheckInWords>,
    /// Levers of a tuning.
    rungs: &'a [Rung],
    /// Where it holds, in words: the workload.
    workload: String,
    /// The host that the load came from, where it was not the servers' own.
    client_host: Option<&'a str>,
    /// Whether the load was a benchmark, not the user's traffic.
    is_on_test_tables: bool,
    /// Whether the start was the server as it comes, but for a configuration that the deployment names.
    starts_as_it_comes: bool,
    /// Whether its files are in deploy/.
    hands_over: bool,
    /// Whether the study was stopped before what was proven was checked.
    is_unchecked: bool,
}

impl<'a> Found<'a> {
    fn of(summary: &'a Summary) -> Option<Self> {
        let header = summary.header();
        let found = Self {
            deployment: header.deployment.as_ref(),
            proof: summary.comparison(),
            checks: checks_of(summary),
            rungs: &[],
            workload: header.workload.clone(),
            client_host: client_host(summary),
            is_on_test_tables: false,
            starts_as_it_comes: false,
            hands_over: true,
            is_unchecked: is_unchecked(summary),
        };
        Some(match summary {
            Summary::Tune(tune) => Self {
                rungs: &tune.rungs,
                is_on_test_tables: tune.is_on_test_tables(),
                starts_as_it_comes: true,
                ..found
            },
            Summary::Ladder(_) => found,
            Summary::Matrix(matrix) => Self {
                workload: matrix.confirmed.as_ref().map_or(String::new(), |best| {
                    let threads = number::count(best.threads as usize, "thread");
                    format!("{}, {threads}", matrix.workloads[best.workload].one_line)
                }),
                ..found
            },
            Summary::Compare(_) => Self {
                hands_over: may_deploy(summary),
                ..found
            },
            Summary::Sweep(_) => return None,
        })
    }

    /// Why there is nothing to apply.
    fn why_nothing(&self) -> &'static str {
        match self.proof.and_then(|proof| proof.judged().verdict_by_all()) {
            Some(Verdict::Faster) if self.is_unchecked => {
                "Nothing yet: what was proven is checked before it is recommended. The same command continues from here."
            }
            Some(Verdict::Faster) => {
                "Nothing is recommended although it was proven: a warning above says why."
            }
            Some(Verdict::Slower) => "Nothing: it was proven to be worse.",
            _ if self.proof.is_some_and(|proof| proof.judged().withdrawn) => {
                "Nothing: it is faster in its median slice, but not over all time: a warning above says more."
            }
            _ if self
                .rungs
                .iter()
                .any(|rung| Standing::of(rung) == Standing::Proven) =>
            {
                "Nothing: the final variant was not proven to be better, though levers of it were, so nothing is recommended."
            }
            _ => "Nothing: no gain was proven, so nothing is recommended.",
        }
    }

    fn lines(&self, deployment: &Deployment) -> Vec<(&'static str, String)> {
        let mut lines = vec![("To apply", self.to_apply(deployment))];
        let mut socket = "has to run on the server's machine and connect through the Unix socket: what the socket brings is lost \
             if it continues to connect over TCP, and is there already if it uses the socket today."
            .to_owned();
        if !is_socket_alone(deployment) {
            socket += " Over TCP the other changes were not proven by themselves: `niagara tune --app remote` measures them.";
        }
        let application = of_application(deployment, &socket);
        lines.extend(application.map(|words| ("The application", words)));
        lines.push(("Risk", self.risk(deployment, false)));
        lines.extend(self.kernel(deployment).map(|words| ("Kernel", words)));
        lines.extend(self.checked().map(|words| ("Checked", words)));
        lines.push(("To undo", self.to_undo(deployment)));
        lines.push((
            "Holds for",
            format!(
                "{}; {}; this workload ({}). {}{}",
                self.machine(deployment),
                self.conditions(deployment),
                self.workload,
                match self.rungs.is_empty() {
                    true => "",
                    false => "Of a page's time only the database's share gets shorter. ",
                },
                match self.is_on_test_tables {
                    true => OWN_TRAFFIC,
                    false => "Measure again where you deploy, and with your own workload.",
                }
            ),
        ));
        lines
    }

    fn to_apply(&self, deployment: &Deployment) -> String {
        let parts = steps(deployment, !self.hands_over);
        let restart = then(deployment);
        match (parts.is_empty(), self.hands_over) {
            (true, true) => {
                "No file: only how the application connects, one line. deploy/README.md has it."
                    .to_owned()
            }
            (true, false) if deployment.new_transport().is_some() => {
                "No file: only how the application connects.".to_owned()
            }
            (true, false) => "Nothing to install: B is the server as it comes.".to_owned(),
            (false, true) => format!(
                "{}; {restart}. The files and every step are in deploy/.",
                capital(&parts.join("; "))
            ),
            (false, false) => format!(
                "{}; {restart}. A comparison hands over no files: a tuning or a ladder does.",
                capital(&parts.join("; "))
            ),
        }
    }

    fn to_apply_in_short(&self, deployment: &Deployment) -> String {
        let parts = steps(deployment, !self.hands_over);
        match parts.is_empty() {
            true => self.to_apply(deployment),
            false => {
                let then = then(deployment).trim_end_matches(" of the server");
                format!("{}; {then}.", capital(&parts.join("; ")))
            }
        }
    }

    /// Parts that passed by name alone; of the others, what was found.
    fn checked_in_short(&self) -> Option<String> {
        let passed = |check: &CheckInWords| check.passed == Some(true);
        if self.checks.is_empty() || !self.checks.iter().all(passed) {
            return self.checked();
        }
        let parts = self.checks.iter().map(|check| check.part.as_str());
        let parts = parts.collect::<Vec<_>>().join(", ");
        Some(format!("{}: passed.", capital(&parts)))
    }

    fn to_undo(&self, deployment: &Deployment) -> String {
        if deployment.instead_of.is_some() {
            return "Keep the server that you have until the other has proven itself: there is no way back but its own data."
                .to_owned();
        }
        if is_socket_alone(deployment) {
            return "Put the old host and port back into the application; the server needs no restart."
                .to_owned();
        }
        if !self.hands_over {
            return "Take the same changes back and restart.".to_owned();
        }
        let files = match is_live(deployment) {
            true => "deploy/README.md has the statements that take it back.",
            false => "Remove the same files and restart; deploy/README.md has the commands.",
        };
        match &deployment.built {
            None => files.to_owned(),
            Some(built) => format!(
                "{files} The packaged server takes the data back where it is no older than the built one{}: else only a backup undoes it.",
                match &built.releases {
                    Some(releases) => format!(", {}", releases.built),
                    None => String::new(),
                }
            ),
        }
    }

    /// Where the load came from and what the start was: the figures hold for that, too.
    fn conditions(&self, deployment: &Deployment) -> String {
        let place = match (self.client_host, &deployment.runtime.server_cpus) {
            (Some(host), _) => format!("on a host of its own ({host})"),
            (None, Some(_)) => "on the same machine".to_owned(),
            (None, None) => "on the same CPUs".to_owned(),
        };
        let took_the_socket = |rung: &Rung| rung.screened.lever == SOCKET_LEVER;
        let way = match (deployment.runtime.transport, self.client_host) {
            (Some(TransportKind::Tcp), None) => ", over loopback TCP",
            (Some(TransportKind::Tcp), Some(_)) => ", over TCP",
            (Some(TransportKind::Tls), None) => ", over loopback TCP with TLS",
            (Some(TransportKind::Tls), Some(_)) => ", over TCP with TLS",
            (Some(TransportKind::Unix), _) if !deployment.brings_socket() => {
                ", over the Unix socket"
            }
            (Some(TransportKind::Unix), _) if self.rungs.iter().any(took_the_socket) => {
                ", over loopback TCP at the start"
            }
            (Some(TransportKind::Unix) | None, _) => "",
        };
        let start = match &deployment.start {
            Some(start) => format!("; the start had the settings of {}", start.from),
            None if self.starts_as_it_comes => {
                "; the start had compiled-in defaults (a buffer pool of 128 MB)".to_owned()
            }
            None => String::new(),
        };
        let is_closed = self.proof.is_some_and(|proof| proof.rate.is_none());
        let pace = match self.is_on_test_tables && is_closed {
            true => "; each connection asks again once it was answered, without a pause",
            false => "",
        };
        format!("the load generator {place}{way}{pace}{start}")
    }

    /// Where it was measured.
    fn machine(&self, deployment: &Deployment) -> String {
        let nodes = self.proof.and_then(|proof| proof.nodes.as_ref());
        match (nodes, deployment.machine.as_str()) {
            (Some(nodes), _) => format!("the nodes {}", nodes.names.join(", ")),
            (None, "") => "the machine below".to_owned(),
            (None, machine) => machine.to_owned(),
        }
    }

    /// The kernels that it does not hold for; a tuning says so in its first lines.
    fn kernel(&self, deployment: &Deployment) -> Option<String> {
        scheduler_in_short(deployment).filter(|_| self.rungs.is_empty())
    }

    /// What is known of its correctness.
    fn checked(&self) -> Option<String> {
        if self.checks.is_empty() {
            let replay = self.proof.and_then(|proof| proof.replay.as_ref());
            return match (self.hands_over, replay) {
                (true, _) => None,
                (false, Some(replay)) => Some(answered(replay.same_answers.as_ref())),
                (false, None) => Some(
                    "No: a comparison looks at speed alone. A tuning checks that what it hands over answers as the start does."
                        .to_owned(),
                ),
            };
        }
        checks_told(&self.checks)
    }

    /// What the levers risk, those with a risk by name, and below it a line for each thing to know; `in_short`: the first words of these,
    /// and of a built server only what holds for every one.
    fn risk(&self, deployment: &Deployment, in_short: bool) -> String {
        let mut risks = deployment.risks.clone();
        if deployment.gives_up_encryption() {
            let security = risks.entry("security".to_owned()).or_default();
            security.push("connections in clear".to_owned());
        }
        let mut told: Vec<String> = MEANINGS
            .iter()
            .filter_map(|(word, meaning)| {
                Some(format!("{meaning} ({})", risks.get(*word)?.join(", ")))
            })
            .collect();
        let built = deployment.built.as_ref();
        told.extend(built.map(|built| risk_of_build(deployment, built, in_short)));
        let own = &deployment.own_changes;
        if !own.is_empty() {
            told.push(format!("the risk of {} is yours to judge", own.join(", ")));
        }
        let durability_kept = !risks.contains_key("durability") && own.is_empty();
        let risk = match (told.is_empty(), durability_kept) {
            (true, _) if touches_host(deployment) => {
                "No change touches durability; settings of the host are among the steps.".to_owned()
            }
            (true, _) if in_short => "No change touches durability or settings of the whole system.".to_owned(),
            (true, _) => "No change touches durability (what is committed survives a crash as before) or settings of the whole system.".to_owned(),
            (false, true) => format!("{}. Durability is untouched.", capital(&told.join("; "))),
            (false, false) => format!("{}.", capital(&told.join("; "))),
        };
        let notes = deployment.cautions.iter();
        let notes: Vec<String> = notes.map(|note| format!("{}.", capital(note))).collect();
        match in_short && !notes.is_empty() {
            true => {
                let first: Vec<String> = notes.iter().map(|note| first_words(note)).collect();
                format!("{risk} {} More: deploy/README.md.", first.join(" "))
            }
            false => {
                let all = std::iter::once(risk).chain(notes);
                all.collect::<Vec<_>>().join("\n")
            }
        }
    }
}

/// A note up to its first break, as one screen has it.
fn first_words(note: &str) -> String {
    let first = note.split([',', ';', ':', '(']).next().unwrap_or(note);
    format!("{}.", first.trim().trim_end_matches('.'))
}

/// How far a capture's answers were compared, where B is handed over.
fn answered(answers: Option<&SameAnswers>) -> String {
    match answers.filter(|answers| answers.failure.is_none()) {
        Some(all) if all.transactions >= all.of_transactions => {
            "The answers to the captured statements are the same on both sides.".to_owned()
        }
        Some(some) => format!(
            "The answers to {} of {} captured transactions are the same on both sides; the others were not compared by content.",
            number::grouped(some.transactions as f64),
            number::grouped(some.of_transactions as f64)
        ),
        None => "Not by content: errors and numbers of rows under load alone were compared, and did not differ.".to_owned(),
    }
}

/// The lever that has clients connect through the Unix socket.
pub(crate) const SOCKET_LEVER: &str = "transport-unix";

/// The release whose scheduler, EEVDF, took the place of CFS: batch scheduling was measured with one of them.
const NEW_SCHEDULER: (u64, u64) = (6, 6);

/// On which kernels batch scheduling was not measured, by the one that it was measured on.
pub(crate) fn scheduler_of(deployment: &Deployment) -> String {
    let Some(release) = kernel_of(deployment) else {
        return "batch scheduling holds on that side of Linux 6.6 alone on which it was measured: there the scheduler changed".to_owned();
    };
    let elsewhere = match release >= NEW_SCHEDULER {
        true => "older than 6.6, as Debian 12's own 6.1 is",
        false => "6.6 or newer",
    };
    format!(
        "batch scheduling was measured on Linux {}.{}: leave it out where Linux is {elsewhere}: those kernels have another scheduler \
         (`tune --without scheduling-batch` on such a kernel measures the rest)",
        release.0, release.1
    )
}

/// The same for the first lines of a report, of what is recommended with batch scheduling.
pub(crate) fn scheduler_in_short(deployment: &Deployment) -> Option<String> {
    let is_batch = deployment.runtime.scheduling == Some(Scheduling::Batch);
    let elsewhere = match kernel_of(deployment) {
        _ if !is_batch => return None,
        Some(release) if release >= NEW_SCHEDULER => {
            "On Linux older than 6.6 (Debian 12's own is 6.1)"
        }
        Some(_) => "On Linux 6.6 and newer",
        None => "On the other side of Linux 6.6 from the one that it was measured on",
    };
    Some(format!(
        "{elsewhere} leave batch scheduling out: it is part of these figures, and only a tuning on such a kernel tells what is left."
    ))
}

/// The first two numbers of the kernel's release.
fn kernel_of(deployment: &Deployment) -> Option<(u64, u64)> {
    let mut numbers = deployment
        .kernel
        .as_deref()?
        .split(|c: char| !c.is_ascii_digit());
    let mut number = || numbers.next()?.parse::<u64>().ok();
    number().zip(number())
}

/// Whether settings of the host are among the steps.
pub(crate) fn touches_host(deployment: &Deployment) -> bool {
    deployment.huge_pages
        || transparent_pages(deployment).is_some()
        || !deployment.host_steps.is_empty()
}

/// Risks of levers, the gravest first, and what each means.
const MEANINGS: [(&str, &str); 5] = [
    (
        "durability",
        "a crash may lose or damage data, or recovery has less to go by",
    ),
    ("security", "something is protected less"),
    ("schema", "tables or their indexes are changed"),
    ("system", "settings of the host change for everything on it"),
    ("memory", "the server takes more memory"),
];

/// The host that a study's load came from, which is kept among what a reader has to know.
fn client_host(summary: &Summary) -> Option<&str> {
    let mut warnings = summary.header().warnings.iter();
    warnings.find_map(|warning| match &warning.finding {
        Finding::RemoteLoad { host } => Some(host.as_str()),
        _ => None,
    })
}

/// What a built server risks whatever levers it is made of; `in_short`: without what it lacks of the package's.
fn risk_of_build(deployment: &Deployment, built: &DeployBuild, in_short: bool) -> String {
    let mut told = vec![
        "a server that was built gets no security updates from the distribution: build it again with each of them".to_owned(),
    ];
    let releases = built.releases.as_ref();
    if let Some((built, newer)) =
        releases.and_then(|releases| Some((&releases.built, releases.newer_beside()?)))
    {
        told.push(format!(
            "this one, {built}, misses what {newer} has fixed already"
        ));
        if !in_short {
            told.push(
                "where it must not take the place of the newer one, the rest can be installed alone, and the total is then not \
                 what was measured"
                    .to_owned(),
            );
        }
    }
    if in_short {
        return told.join("; ");
    }
    let is_mariadb = deployment.family.eq_ignore_ascii_case("mariadb");
    told.push(match is_mariadb {
        true => "it comes without the plugins that the package has in files (audit, PAM, compression, storage engines in packages \
                 of their own)"
            .to_owned(),
        false => "it comes without the plugins that the package has in files (auth_socket, by which root logs in on Debian and \
                  Ubuntu, semisynchronous replication, clone, Group Replication, validate_password, keyrings) and without X Protocol: \
                  port 33060 goes away, and lines of option files that begin with mysqlx have to be written loose-mysqlx"
            .to_owned(),
    });
    if deployment.malloc.is_none() && is_without_tcmalloc(built) {
        told.push(
            "its malloc is the C library's, where Debian's package has tcmalloc linked in"
                .to_owned(),
        );
    }
    told.join("; ")
}

/// Whether MySQL's own switch for tcmalloc is off in what the server was built from.
fn is_without_tcmalloc(built: &DeployBuild) -> bool {
    let Ok(recipe) = serde_json::from_str::<serde_json::Value>(&built.recipe) else {
        return false; // written by hand or by another version: nothing is known of it
    };
    recipe["cmake"]["WITH_TCMALLOC"].as_str() == Some("OFF")
}

/// What the application has to do where its connections are to be encrypted.
const TLS: &str = "has to insist on TLS when it connects, and the server needs a certificate (ssl_cert, ssl_key).";

/// What the application has to do or to have, `socket` where it is to use the Unix socket.
fn of_application(deployment: &Deployment, socket: &str) -> Option<String> {
    let transport = match deployment.new_transport() {
        Some(TransportKind::Unix) => Some(socket),
        Some(TransportKind::Tls) => Some(TLS),
        Some(TransportKind::Tcp) | None => None,
    };
    let notes = deployment.application.iter().map(String::as_str);
    let told: Vec<&str> = transport.into_iter().chain(notes).collect();
    (!told.is_empty()).then(|| told.join(" "))
}

/// What comes before anything is applied, where the load was a benchmark.
const OWN_TRAFFIC: &str = "Before you apply it, measure your own traffic: `niagara pack` on your server, then `niagara advise` and `niagara \
                           tune` with its file.";

/// What comes after the files.
fn then(deployment: &Deployment) -> &'static str {
    match deployment.instead_of {
        Some(_) => "then its data, dumped and loaded, and a test of every application",
        None if is_live(deployment) => "the server continues to run",
        None => "then one restart of the server",
    }
}

/// Whether it is applied to a running server: statements alone.
fn is_live(deployment: &Deployment) -> bool {
    let has_statements = !deployment.schema.is_empty() || !deployment.rewrites.is_empty();
    let Deployment {
        config,
        runtime,
        malloc,
        built,
        engine,
        ..
    } = deployment;
    let is_plain = config.is_empty() && runtime.environment.is_empty() && malloc.is_none();
    let is_as_started = directives(deployment).is_empty() && !runtime.has_huge_text();
    has_statements
        && is_plain
        && is_as_started
        && built.is_none()
        && engine.is_none()
        && !touches_host(deployment)
}

/// Whether all that changes is how the application connects: nothing is installed, and nothing restarts.
pub(crate) fn is_socket_alone(deployment: &Deployment) -> bool {
    deployment.brings_socket() && steps(deployment, true).is_empty()
}

/// So many variables are named where a file has them, more are counted.
const FEW: usize = 2;

/// What has to be put where; `named`: each variable with its value, for there is no file that has them.
fn steps(deployment: &Deployment, named: bool) -> Vec<String> {
    let mut parts = Vec::new();
    parts.extend(
        deployment
            .instead_of
            .as_ref()
            .map(|old| format!("another server than {old}")),
    );
    if !deployment.config.is_empty() {
        parts.push(match (named, deployment.config.len() <= FEW) {
            (true, _) => format!("in the option file: {}", settings(deployment)),
            (false, true) => format!("in one option file: {}", settings(deployment)),
            (false, false) => {
                let variables = number::count(deployment.config.len(), "server variable");
                match levers_of_variables(deployment) {
                    levers if levers == 0 || levers == deployment.config.len() => {
                        format!("{variables} in one option file")
                    }
                    levers => format!(
                        "{} in one option file ({variables})",
                        number::count(levers, "change")
                    ),
                }
            }
        });
    }
    let mut unit = Vec::new();
    if let Some(malloc) = &deployment.malloc {
        let package = match &malloc.package {
            Some(package) => format!("package {package}"),
            None => format!("the package that has {}", malloc.soname),
        };
        unit.push(format!("{} ({package})", malloc.name));
    }
    if deployment.runtime.has_huge_text() {
        unit.push("a library that puts its code in 2 MB pages".to_owned());
    }
    let directives = directives(deployment).into_iter();
    unit.extend(directives.filter_map(|directive| Some(directive.part?.to_owned())));
    if !deployment.runtime.environment.is_empty() {
        unit.push("environment".to_owned());
    }
    if !unit.is_empty() {
        parts.push(format!("a systemd drop-in ({})", unit.join(", ")));
    }
    if touches_host(deployment) {
        parts.push("settings of the host".to_owned());
    }
    let by_hand = deployment.steps_by_hand().len();
    if by_hand > 0 {
        parts.push(format!("{} by hand", number::count(by_hand, "step")));
    }
    if !deployment.schema.is_empty() {
        parts.push(format!(
            "{} that change tables (schema.sql)",
            number::count(deployment.schema.len(), "statement")
        ));
    }
    if !deployment.rewrites.is_empty() {
        parts.push(format!(
            "{} of the application in other words (statements.sql)",
            number::count(deployment.rewrites.len(), "statement")
        ));
    }
    if let Some(built) = &deployment.built {
        parts.push(format!("another binary of the server ({})", built.one_line));
    }
    if let Some(engine) = &deployment.engine {
        parts.push(format!("the tables in {engine} (ALTER TABLE … ENGINE)"));
    }
    parts
}

/// Levers that set server variables: one may set several.
fn levers_of_variables(deployment: &Deployment) -> usize {
    let is_variable = |name: &String| deployment.config.contains_key(name);
    let levers = deployment.sets.values();
    levers.filter(|names| names.iter().any(is_variable)).count()
}

/// `innodb_flush_neighbors = 0, skip_log_bin, thread_pool_size = 4 (for 2 CPUs)`.
fn settings(deployment: &Deployment) -> String {
    let cpus_of = |name: &String| {
        let mut sizes = deployment.sizes.iter();
        let size = sizes.find(|size| size.variable == *name && size.follows == Follows::Cpus)?;
        Some(size.target.as_ref().map_or(size.here, |target| target.size))
    };
    let told = deployment
        .config
        .iter()
        .map(|(name, value)| match value.is_empty() {
            true => name.clone(),
            false => {
                let cpus = cpus_of(name)
                    .map(|cpus| format!(" (for {})", number::count(cpus as usize, "CPU")));
                format!("{name} = {value}{}", cpus.unwrap_or_default())
            }
        });
    told.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use niagara_model::{DeployMalloc, Releases};
    use niagara_settings::{ProcessSettings, Scheduling};

    use super::*;

    fn over(transport: TransportKind) -> ProcessSettings {
        ProcessSettings {
            transport: Some(transport),
            ..ProcessSettings::default()
        }
    }

    fn found(hands_over: bool) -> Found<'static> {
        Found {
            deployment: None,
            proof: None,
            checks: Vec::new(),
            rungs: &[],
            workload: "oltp_read_only, 8 threads".to_owned(),
            client_host: None,
            is_on_test_tables: false,
            starts_as_it_comes: false,
            hands_over,
            is_unchecked: false,
        }
    }

    #[test]
    fn what_has_to_be_put_where() {
        let mut deployment = Deployment {
            config: BTreeMap::from([("a".into(), "1".into()), ("skip_b".into(), String::new())]),
            malloc: Some(DeployMalloc {
                name: "jemalloc".into(),
                package: Some("libjemalloc2".into()),
                soname: "libjemalloc.so.2".into(),
            }),
            runtime: ProcessSettings {
                scheduling: Some(Scheduling::Batch),
                ..ProcessSettings::default()
            },
            ..Deployment::default()
        };
        assert_eq!(
            found(true).to_apply(&deployment),
            "In one option file: a = 1, skip_b; a systemd drop-in (jemalloc (package libjemalloc2), \
             scheduling policy); then one restart of the server. The files and every step are in deploy/."
        );
        // Where no file has them, they are spelled out.
        assert!(
            found(false)
                .to_apply(&deployment)
                .starts_with("In the option file: a = 1, skip_b; a systemd drop-in")
        );
        deployment
            .host_steps
            .push("sysctl vm.nr_hugepages=64".into());
        assert_eq!(
            steps(&deployment, true).last().map(String::as_str),
            Some("settings of the host")
        );
        // A patch has to be built again, an application needs CPUs: neither is a setting of the host.
        let mut noted = Deployment {
            remarks: vec!["A server built with a patch.".into()],
            application: vec!["The application needs CPUs of its own.".into()],
            ..Deployment::default()
        };
        assert_eq!(steps(&noted, true), [] as [String; 0]);
        let lines = found(true).lines(&noted);
        assert!(lines.contains(&(
            "The application",
            "The application needs CPUs of its own.".to_owned()
        )));
        noted.steps = vec!["The server needs 20,000 open files.".into()];
        assert_eq!(steps(&noted, true), ["1 step by hand"]);
        let nothing = Deployment::default();
        assert!(found(true).to_apply(&nothing).starts_with("No file"));
        assert!(found(false).to_apply(&nothing).contains("as it comes"));
    }

    #[test]
    fn where_only_the_socket_is_new_the_server_is_left_alone() {
        let mut deployment = Deployment {
            runtime: over(TransportKind::Unix),
            ..Deployment::default()
        };
        for hands_over in [true, false] {
            let undo = found(hands_over).to_undo(&deployment);
            assert!(undo.contains("old host and port"), "{undo}");
            assert!(undo.contains("no restart"), "{undo}");
        }
        deployment.config.insert("a".into(), "1".into());
        let undo = found(true).to_undo(&deployment);
        assert!(undo.contains("files and restart"), "{undo}");
    }

    #[test]
    fn what_is_not_known_to_be_safe_is_not_called_safe() {
        let mut deployment = Deployment::default();
        let told = |deployment: &Deployment| found(true).risk(deployment, false);
        assert_eq!(
            told(&deployment),
            "No change touches durability (what is committed survives a crash as before) or settings of the whole system."
        );
        deployment.own_changes = vec!["sync_binlog=0".into()];
        assert_eq!(
            told(&deployment),
            "The risk of sync_binlog=0 is yours to judge."
        );
        deployment.own_changes.clear();
        deployment.built = Some(DeployBuild::default());
        let built = told(&deployment);
        assert!(
            built.contains("no security updates") && built.ends_with("Durability is untouched."),
            "{built}"
        );
        deployment.built = Some(DeployBuild {
            releases: Some(Releases {
                built: "10.11.18-MariaDB".into(),
                beside: Some("10.11.19-MariaDB-0+deb12u1".into()),
            }),
            ..DeployBuild::default()
        });
        let older = told(&deployment);
        assert!(
            older.contains("this one, 10.11.18-MariaDB, misses what 10.11.19-MariaDB-0+deb12u1 has fixed already"),
            "{older}"
        );
        deployment.risks = BTreeMap::from([("durability".into(), vec!["no doublewrite".into()])]);
        let risky = told(&deployment);
        assert!(
            risky.starts_with(
                "A crash may lose or damage data, or recovery has less to go by (no doublewrite)"
            ) && !risky.contains("untouched"),
            "{risky}"
        );
    }

    #[test]
    fn what_a_built_server_lacks_of_the_packages_is_told() {
        let mut deployment = Deployment {
            family: "mysql".into(),
            built: Some(DeployBuild {
                recipe: r#"{"cmake":{"WITH_TCMALLOC":"OFF"}}"#.into(),
                releases: Some(Releases {
                    built: "9.7.2".into(),
                    beside: Some("9.7.4-2".into()),
                }),
                ..DeployBuild::default()
            }),
            ..Deployment::default()
        };
        let told = found(true).risk(&deployment, false);
        for words in [
            "auth_socket",
            "validate_password",
            "X Protocol",
            "loose-mysqlx",
            "tcmalloc",
            "the total is then not what was measured",
        ] {
            assert!(told.contains(words), "{words}\n{told}");
        }
        // One screen has the gist.
        let short = found(true).risk(&deployment, true);
        assert!(
            short.contains("misses what 9.7.4-2") && !short.contains("auth_socket"),
            "{short}"
        );
        let undo = found(true).to_undo(&deployment);
        assert!(
            undo.contains("no older than the built one, 9.7.2: else only a backup"),
            "{undo}"
        );
        assert!(
            !found(true)
                .to_undo(&Deployment::default())
                .contains("backup")
        );
        // Another malloc is preloaded, or there was no such switch.
        deployment.malloc = Some(DeployMalloc {
            name: "jemalloc".into(),
            package: Some("libjemalloc2".into()),
            soname: "libjemalloc.so.2".into(),
        });
        assert!(!found(true).risk(&deployment, false).contains("tcmalloc"));
        deployment.malloc = None;
        deployment.family = "mariadb".into();
        deployment.built = Some(DeployBuild::default());
        let told = found(true).risk(&deployment, false);
        assert!(
            told.contains("PAM") && !told.contains("X Protocol") && !told.contains("tcmalloc"),
            "{told}"
        );
    }

    #[test]
    fn encryption_is_a_line_for_the_application_and_its_end_a_risk() {
        let of = |before: TransportKind, now: TransportKind| Deployment {
            transport_before: before,
            runtime: over(now),
            ..Deployment::default()
        };
        let (tcp, unix, tls) = (TransportKind::Tcp, TransportKind::Unix, TransportKind::Tls);
        let encrypted = of(tcp, tls);
        let lines = found(true).lines(&encrypted);
        assert!(lines.contains(&("The application", TLS.to_owned())));
        assert_eq!(
            found(true).conditions(&encrypted),
            "the load generator on the same CPUs, over loopback TCP with TLS"
        );
        assert_eq!(of_application(&of(tls, tls), "the socket"), None);
        assert_eq!(
            of_application(&of(tls, unix), "the socket").as_deref(),
            Some("the socket")
        );
        let risk = |before, now| found(true).risk(&of(before, now), false);
        assert!(risk(tls, tcp).contains("less (connections in clear)"));
        for other in [
            risk(tcp, tls),
            risk(tls, tls),
            risk(tls, unix),
            risk(unix, tcp),
        ] {
            assert!(!other.contains("in clear"), "{other}");
        }
    }

    #[test]
    fn studies_without_first_lines_for_it_tell_the_kernel_beside_the_risk() {
        let deployment = Deployment {
            runtime: ProcessSettings {
                scheduling: Some(Scheduling::Batch),
                ..ProcessSettings::default()
            },
            kernel: Some("6.1.0-13-amd64".into()),
            ..Deployment::default()
        };
        let lines = found(true).lines(&deployment);
        let kernel = lines.iter().find(|(name, _)| *name == "Kernel");
        let (_, words) = kernel.expect("told");
        assert!(
            words.starts_with("On Linux 6.6 and newer leave batch scheduling out"),
            "{words}"
        );
        let other = found(true).lines(&Deployment::default());
        assert!(other.iter().all(|(name, _)| *name != "Kernel"));
    }

    #[test]
    fn what_the_figures_hold_for_has_the_load_and_the_start() {
        let deployment = Deployment {
            runtime: over(TransportKind::Tcp),
            machine: "a machine".into(),
            ..Deployment::default()
        };
        let tuned = Found {
            starts_as_it_comes: true,
            ..found(true)
        };
        let holds = tuned.lines(&deployment).pop().expect("the last line").1;
        assert!(
            holds.starts_with(
                "a machine; the load generator on the same CPUs, over loopback TCP; the start had compiled-in defaults \
                 (a buffer pool of 128 MB); this workload (oltp_read_only, 8 threads)."
            ),
            "{holds}"
        );
        let away = Found {
            client_host: Some("db-client"),
            ..found(true)
        };
        assert_eq!(
            away.conditions(&deployment),
            "the load generator on a host of its own (db-client), over TCP"
        );
        let yours = Deployment {
            start: Some(niagara_model::DeployStart {
                from: "/etc/mysql/my.cnf".into(),
                ..niagara_model::DeployStart::default()
            }),
            ..deployment
        };
        assert!(
            tuned
                .conditions(&yours)
                .ends_with("; the start had the settings of /etc/mysql/my.cnf")
        );
    }

    #[test]
    fn another_server_is_more_than_a_restart() {
        let deployment = Deployment {
            instead_of: Some("mariadb-10.11".into()),
            ..Deployment::default()
        };
        let lines = found(false).lines(&deployment);
        let told = |name: &str| {
            let line = lines.iter().find(|line| line.0 == name);
            line.map(|line| line.1.as_str()).expect(name)
        };
        assert!(told("To apply").contains("Another server than mariadb-10.11"));
        assert!(told("To undo").contains("no way back"));
        assert!(told("Checked").starts_with("No: a comparison"));
    }
}
