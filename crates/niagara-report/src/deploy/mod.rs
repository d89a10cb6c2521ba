//! What a user installs: option file, systemd drop-in, and how to go about it.

mod elsewhere;
mod host;
mod option_file;
mod plugins;
mod readme;
mod socket;
mod statements;
mod unit;

use std::path::Path;

use niagara_model::{
    Deployment, LadderSummary, OverSocket, Recommendation, Rung, RungOutcome, Summary, TuneSummary,
    Weight,
};
use niagara_settings::TransportKind;
use niagara_stats::Estimate;

use crate::applying::{
    SOCKET_LEVER, checks_of, conditions_of, is_socket_alone, risk_of, touches_host,
};
use crate::headline::evidence;
use crate::ladder::{FoundBySearch, is_within_search, lengths_of_slices, only_lever, own_rungs};
use crate::number;
use crate::render::wrapped;
use crate::replay::idleness;
use crate::wording::{CheckInWords, Standing, claim_effect, rung_effect, rung_estimate, warnings};

/// Where packages of distributions put servers.
const SYSTEM: [&str; 3] = ["/usr/sbin", "/usr/bin", "/usr/libexec"];

/// Columns of the lines of prose in a file's comments.
const COMMENT_COLUMNS: usize = 98;

/// A lever of the final variant, as far as the files speak of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeployRung {
    /// Title for people.
    pub title: String,
    /// Why a person may want it or not.
    pub why: String,
    /// Its measured effect: `× 1.093 [1.081, 1.104], proven, n = 12`; see [`crate::rung_effect`].
    pub effect: String,
    /// Server variables and environment variables that it sets.
    pub sets: Vec<String>,
    /// Whether its interval contains 1: by itself it may do nothing.
    pub may_do_nothing: bool,
}

impl DeployRung {
    /// What stands above its lines in a file: `Thread pool: × 1.031 [1.021, 1.042], screened, n = 24`.
    fn told(&self) -> String {
        let open = match self.may_do_nothing {
            true => "; not shown by itself: may be left out",
            false => "",
        };
        format!("{}: {}{open}", self.title, self.effect)
    }
}

/// The final variant, as far as it can be deployed, with the words that go with it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DeployInput {
    /// Server name, `mariadb-10.11`.
    pub server: String,
    /// What to install.
    pub variant: Deployment,
    /// Levers of the final variant, best first.
    pub rungs: Vec<DeployRung>,
    /// One sentence: what was measured, on what, how sure.
    pub evidence: String,
    /// What its levers risk, and what whoever installs them has to know.
    pub risk: Option<String>,
    /// What it was checked for.
    pub checks: Vec<CheckInWords>,
    /// Where the load came from and what the start was, in a few words: `the load generator on the same CPUs`.
    pub conditions: Option<String>,
    /// What the Unix socket brought that was tried before all else: `× 1.23 [1.21, 1.28], proven, n = 8`.
    pub socket_alone: Option<String>,
    /// CPU time per transaction with that socket, after over before: `× 0.81 [0.80, 0.83]`.
    pub socket_alone_cpu: Option<String>,
    /// Slices of the totals, and of the duels of single levers, where those are shorter.
    pub slices: Option<[String; 2]>,
    /// What the files bring where the application uses the Unix socket already: `× 1.03 [1.01, 1.06]`.
    pub over_socket: Option<String>,
    /// The CPU time per transaction without the socket's part, after over before, where that was measured.
    pub cpu_over_socket: Option<String>,
    /// The server's CPU time per transaction, after over before: `× 0.896 [0.880, 0.913]`.
    pub cpu: Option<String>,
}

impl DeployInput {
    /// From what a study came to; `None` when there is nothing proven to deploy.
    pub fn of(summary: &Summary) -> Option<Self> {
        let server = &summary.header().server;
        let variant = summary.header().deployment.as_ref()?;
        let rungs = match summary {
            Summary::Tune(tune) => levers(tune),
            Summary::Ladder(ladder) => kept(ladder),
            Summary::Matrix(matrix) => {
                let confirmed = matrix.confirmed.as_ref()?;
                let rung = DeployRung {
                    title: confirmed.title.clone(),
                    effect: claim_effect(&confirmed.comparison),
                    ..DeployRung::default()
                };
                vec![(confirmed.title.clone(), rung)]
            }
            Summary::Compare(compare) if !variant.rewrites.is_empty() => {
                let found = &compare.comparison;
                let rung = DeployRung {
                    title: found.b.clone(),
                    effect: claim_effect(found),
                    ..DeployRung::default()
                };
                vec![(found.b.clone(), rung)]
            }
            Summary::Compare(_) | Summary::Sweep(_) => return None,
        };
        let search = match summary {
            Summary::Tune(tune) => FoundBySearch::of(tune),
            _ => None,
        };
        let mut searched: Vec<&str> = search.iter().flat_map(FoundBySearch::variables).collect();
        // A lever that the search alone brought in is told of there, with all that it sets.
        if let (Summary::Tune(tune), Some(_)) = (summary, &search) {
            let within = tune
                .rungs
                .iter()
                .filter(|rung| is_within_search(tune, rung));
            let sets = within.filter_map(|rung| variant.sets.get(&rung.screened.lever));
            searched.extend(sets.flatten().map(String::as_str));
            searched.sort_unstable();
            searched.dedup();
        }
        let rungs = rungs.into_iter().map(|(name, rung)| {
            let sets = variant.sets.get(&name).into_iter().flatten();
            DeployRung {
                sets: sets
                    .filter(|name| !searched.contains(&name.as_str()))
                    .cloned()
                    .collect(),
                ..rung
            }
        });
        let found = search.as_ref().map(|search| DeployRung {
            title: search.title(),
            why: "A search chose the number after the screening; the total was measured with it."
                .to_owned(),
            effect: search.told(),
            sets: searched.iter().map(|&name| name.to_owned()).collect(),
            may_do_nothing: false,
        });
        let slices = slices(summary);
        let of_slices = slices
            .as_ref()
            .map_or(String::new(), |[_, levers]| format!(", slices of {levers}"));
        let rungs = rungs.map(|rung| DeployRung {
            effect: format!("{}{of_slices}", rung.effect),
            ..rung
        });
        let rungs = rungs.chain(found).collect();
        let replay = summary.comparison().and_then(|found| found.replay.as_ref());
        let caution = match summary {
            Summary::Tune(tune) if tune.is_on_test_tables() => {
                format!(
                    " The load was a benchmark ({}), not your traffic: before you change a live server, measure that (`niagara pack` on it, \
                     then `niagara advise` and `niagara tune` with its file), and apply what they hand over.",
                    tune.header.workload
                )
            }
            _ => replay
                .and_then(idleness)
                .map_or(String::new(), |idle| format!(" {idle}")),
        };
        Some(Self {
            server: server.clone(),
            evidence: format!(
                "{}. Measured with {} on: {}.{caution}",
                evidence(summary),
                summary.header().server_version,
                variant.machine
            ),
            rungs,
            variant: variant.clone(),
            risk: risk_of(summary).map(|risk| with_costs(risk, summary)),
            checks: checks_of(summary),
            conditions: conditions_of(summary),
            slices,
            socket_alone: proven_socket(summary).map(rung_effect),
            socket_alone_cpu: socket_alone_cpu(summary),
            over_socket: over_socket(summary),
            cpu_over_socket: cpu_over_socket(summary),
            cpu: summary
                .comparison()
                .and_then(|found| found.cpu_per_transaction)
                .map(|cpu| number::estimate(&cpu)),
        })
    }

    /// Whether all that changes is how the application connects.
    fn is_socket_alone(&self) -> bool {
        is_socket_alone(&self.variant)
    }

    /// Whether connections share the threads of MariaDB's pool.
    fn brings_pool(&self) -> bool {
        let handling = self.variant.config.get("thread_handling");
        self.is_mariadb() && handling.is_some_and(|value| value == "pool-of-threads")
    }

    fn is_mariadb(&self) -> bool {
        self.variant.family.eq_ignore_ascii_case("mariadb")
    }

    /// The systemd unit of Debian's packages.
    fn service(&self) -> &'static str {
        if self.is_mariadb() {
            "mariadb"
        } else {
            "mysql"
        }
    }

    /// The process.
    fn daemon(&self) -> &'static str {
        if self.is_mariadb() {
            "mariadbd"
        } else {
            "mysqld"
        }
    }

    /// The client, as root calls it: by the system's own server without a password, by another with one that is asked for.
    fn client(&self) -> String {
        let program = self.program();
        match self.own_place() {
            Some(_) => format!("{program} -u root -p"),
            None => program,
        }
    }

    /// The client without options.
    fn program(&self) -> String {
        let name = if self.is_mariadb() {
            "mariadb"
        } else {
            "mysql"
        };
        match self.own_place() {
            Some(place) => format!("{}/bin/{name}", place.display()),
            None => name.to_owned(),
        }
    }

    /// The folder that a server was installed in that no package of a distribution put in its place: `/opt/mysql` of
    /// `/opt/mysql/bin/mysqld`.
    fn own_place(&self) -> Option<&Path> {
        let server = Path::new(&self.server);
        let is_system = SYSTEM.iter().any(|folder| server.starts_with(folder));
        if !server.is_absolute() || is_system {
            return None;
        }
        let folder = server.parent()?;
        let is_inner = ["bin", "sbin", "libexec"]
            .iter()
            .any(|name| folder.ends_with(name));
        match is_inner {
            true => folder.parent(),
            false => Some(folder),
        }
    }

    /// The server's binary where the steps call it.
    fn binary(&self) -> String {
        match Path::new(&self.server).is_absolute() {
            true => self.server.clone(),
            false => format!("/usr/sbin/{}", self.daemon()),
        }
    }

    /// What makes a server say whether it takes its option files, and start nothing. MySQL has an option for that since 8.0.16; older
    /// ones and MariaDB end with an error of `--help`.
    fn trial_options(&self) -> &'static [&'static str] {
        let series = match Path::new(&self.server).is_absolute() {
            // Folders have any names.
            true => None,
            false => self.server.split_once('-').map(|(_, series)| series),
        };
        match self.is_mariadb() || series.is_some_and(|series| series.starts_with("5.")) {
            true => &["--verbose", "--help"],
            false => &["--validate-config"],
        }
    }

    /// Whether that option may be missing: of a path the release is not known.
    fn may_be_too_old_to_validate(&self) -> bool {
        Path::new(&self.server).is_absolute() && !self.is_mariadb()
    }

    /// Where Debian's packages read option files from.
    fn option_folder(&self) -> &'static str {
        if self.is_mariadb() {
            "/etc/mysql/mariadb.conf.d"
        } else {
            "/etc/mysql/mysql.conf.d"
        }
    }

    /// Where the option file goes.
    fn option_path(&self) -> String {
        let start = self.variant.start.as_ref();
        if let Some(file) = start.and_then(|start| start.file.as_ref()) {
            return file.display().to_string();
        }
        if let Some(place) = self.own_place() {
            return place.join(option_file::LAST_NAME).display().to_string();
        }
        // MySQL's packages call their own file mysqld.cnf, people call theirs 99-something, and of the lines of a running server
        // nobody knows in which file they stand.
        format!("{}/{}", self.option_folder(), option_file::LAST_NAME)
    }

    /// The rung that sets a variable; `-` and `_` are the same to the server.
    fn rung_of(&self, variable: &str) -> Option<&DeployRung> {
        let same = |name: &String| {
            name.replace('-', "_")
                .eq_ignore_ascii_case(&variable.replace('-', "_"))
        };
        self.rungs.iter().find(|rung| rung.sets.iter().any(same))
    }

    /// The option file that has to include ours at its end, and the line that does; nothing where a folder that is read has it.
    fn including(&self) -> Option<(String, String)> {
        let start = self.variant.start.as_ref();
        let main = match start.filter(|start| start.file.is_some()) {
            Some(start) => start.included_by.as_ref()?.display().to_string(),
            // It reads no folder of the distribution's.
            None => self.own_place().map(|_| MAIN.to_owned())?,
        };
        Some((main, format!("!include {}", self.option_path())))
    }
}

/// The risk with what the measurement shows at the other end, a line each: the tail of latency, and what makes figures doubtful.
fn with_costs(risk: String, summary: &Summary) -> String {
    let p99 = summary.comparison().and_then(|found| found.latency_p99);
    let meaning = |p99: &Estimate| match (p99.low > 1.0, p99.high < 1.0) {
        (true, _) => "worse",
        (_, true) => "better",
        _ => "undecided",
    };
    let left = figures_over_socket(summary);
    let setting = recommendation(summary)
        .and_then(Recommendation::benefit)
        .map(|benefit| &benefit.setting);
    let short_slices = setting
        .filter(|setting| setting.has_short_slices())
        .and_then(|setting| setting.slice_seconds);
    let tail = p99.map(|p99| {
        if let Some(seconds) = short_slices {
            return format!(
                "Percentiles of latency were measured within slices of {}; steady load may have others (`niagara compare --goal p99`).",
                number::seconds(seconds)
            );
        }
        let with_socket = match left.map(|left| left.p99) {
            Some(Some(p99)) => format!(
                ", the socket's part included; without it {}, {}",
                number::estimate(&p99),
                meaning(&p99)
            ),
            Some(None) => ", the socket's part included".to_owned(),
            None => String::new(),
        };
        let meaning = meaning(&p99);
        format!(
            "99th percentile of latency, after over before: {} ({meaning}{with_socket}).",
            number::estimate(&p99)
        )
    });
    let doubts = warnings(summary).into_iter().filter_map(|warning| {
        (warning.finding.weight() <= Weight::Doubt)
            .then(|| format!("{}.", number::capital(&warning.to_string())))
    });
    let parts: Vec<String> = std::iter::once(risk).chain(tail).chain(doubts).collect();
    parts.join("\n")
}

/// The levers of a tuning's final variant, each with the name that [`Deployment::sets`] has for it.
fn levers(tune: &TuneSummary) -> Vec<(String, DeployRung)> {
    // Of one lever the total speaks, of which nothing was decided before.
    let only = only_lever(tune).map(|(_, total)| total);
    let rung = |rung: &Rung| DeployRung {
        title: rung.screened.title.clone(),
        why: rung.why.clone(),
        effect: only.map_or_else(|| rung_effect(rung), claim_effect),
        sets: Vec::new(),
        may_do_nothing: {
            let estimate = match only {
                Some(total) => &total.judged().estimate,
                None => rung_estimate(rung),
            };
            estimate.holds(1.0)
        },
    };
    own_rungs(tune)
        .map(|of| (of.screened.lever.clone(), rung(of)))
        .collect()
}

/// Slices of the total, and of the duels of single levers, where those are shorter.
fn slices(summary: &Summary) -> Option<[String; 2]> {
    match summary {
        // Of one lever alone the total is the figure.
        Summary::Tune(tune) if only_lever(tune).is_none() => lengths_of_slices(tune),
        _ => None,
    }
}

/// What the Unix socket brought by itself; none where it is not the first lever, or unproven.
fn proven_socket(summary: &Summary) -> Option<&Rung> {
    let Summary::Tune(tune) = summary else {
        return None;
    };
    let first = own_rungs(tune).next()?;
    let is_known = first.screened.lever == SOCKET_LEVER && Standing::of(first) == Standing::Proven;
    is_known.then_some(first)
}

/// The CPU time with it, after over before.
fn socket_alone_cpu(summary: &Summary) -> Option<String> {
    let claim = proven_socket(summary)?.claim.as_ref()?;
    claim.cpu_per_transaction.as_ref().map(number::estimate)
}

/// The rungs that a ladder kept, likewise.
fn kept(ladder: &LadderSummary) -> Vec<(String, DeployRung)> {
    ladder
        .rungs
        .iter()
        .filter_map(|rung| match &rung.outcome {
            RungOutcome::Kept { claim } => Some((
                rung.title.clone(),
                DeployRung {
                    title: rung.title.clone(),
                    why: rung.why.clone().unwrap_or_default(),
                    effect: claim_effect(claim),
                    sets: Vec::new(),
                    may_do_nothing: false,
                },
            )),
            RungOutcome::NotKept { .. } | RungOutcome::NotTried { .. } => None,
        })
        .collect()
}

pub use elsewhere::{DeployPlace, deploy_elsewhere};

/// Every file that [`deploy`] and [`deploy_elsewhere`] may make, and the two that are written beside them.
pub fn deploy_files() -> impl Iterator<Item = &'static str> {
    let files = [
        README,
        option_file::NAME,
        unit::NAME,
        host::SYSCTL,
        host::TMPFILES,
        RECIPE,
        ARCHIVE,
        TEXT_LIBRARY,
        statements::SCHEMA,
        statements::UNDO,
        statements::PROXYSQL,
        statements::STATEMENTS,
    ];
    files.into_iter().chain(elsewhere::FILES)
}

/// The option file that servers outside of a distribution's packages read first.
const MAIN: &str = "/etc/my.cnf";

/// What rebuilds the server.
pub const RECIPE: &str = "recipe.json";

/// What huge pages for the buffer pool take.
const HUGE_PAGES: &str =
    "reserve huge pages for the buffer pool (vm.nr_hugepages) before the server starts";

/// Where the steps keep how many huge pages the host had reserved before.
const PAGES_BEFORE: &str = "hugepages-before";

/// The built server: `usr` and all below it. Written by whoever has the build at hand.
pub const ARCHIVE: &str = "server.tar.gz";

/// The library that puts the program's text on huge pages. Written by whoever carries it.
const TEXT_LIBRARY: &str = "libniagara_text.so";

/// Where that library goes: AppArmor's and SELinux's rules let every program load libraries below /usr/lib.
const TEXT_LIBRARY_PLACE: &str = "/usr/lib/niagara/libniagara_text.so";

/// Where the built server is unpacked.
const PLACE: &str = "/opt/niagara";

const README: &str = "README.md";

/// The files of `deploy/`: relative path and content. A file with nothing to say is left out.
pub fn deploy(input: &DeployInput) -> Vec<(String, String)> {
    let mut files = vec![(README.to_owned(), readme::readme(input))];
    files.extend(option_file::option_file(input).map(|text| (option_file::NAME.to_owned(), text)));
    files.extend(unit::unit(input).map(|text| (unit::NAME.to_owned(), text)));
    files.extend(host::files(input));
    files.extend(statements::files(input));
    let built = input.variant.built.as_ref();
    files.extend(built.map(|built| (RECIPE.to_owned(), built.recipe.clone())));
    files
}

/// What a tuning leaves to gain over the Unix socket, where that is part of what it recommends.
fn over_socket(summary: &Summary) -> Option<String> {
    recommendation(summary)?.figure_over_socket()
}

/// The CPU time that it leaves, likewise.
fn cpu_over_socket(summary: &Summary) -> Option<String> {
    let left = figures_over_socket(summary)?;
    let calculated = match left.duels {
        Some(_) => "",
        None => ", calculated",
    };
    Some(number::estimate(&left.cpu?) + calculated)
}

/// All figures of what it leaves.
fn figures_over_socket(summary: &Summary) -> Option<&OverSocket> {
    match recommendation(summary)? {
        Recommendation::Install { over_socket, .. } => over_socket.as_ref(),
        _ => None,
    }
}

fn recommendation(summary: &Summary) -> Option<&Recommendation> {
    match summary {
        Summary::Tune(tune) => tune.recommendation.as_ref(),
        _ => None,
    }
}

/// Prose as the lines of a `#` comment.
fn comment(text: &str) -> String {
    verbatim_comment(&in_columns(text))
}

/// Prose in lines of [`COMMENT_COLUMNS`] at most, each of its own lines by itself.
fn in_columns(text: &str) -> String {
    let lines = text
        .lines()
        .map(|line| wrapped("", line, COMMENT_COLUMNS) + "\n");
    lines.collect()
}

/// Text as the lines of a `#` comment, each as it is: statements and commands.
fn verbatim_comment(text: &str) -> String {
    text.lines()
        .map(|line| format!("# {}", line.trim_end()).trim_end().to_owned() + "\n")
        .collect()
}

/// What a file begins with: what it is, how sure, where it goes.
fn head(input: &DeployInput, place: &str) -> String {
    let evidence = &input.evidence;
    let found = match input.variant.new_transport() {
        Some(TransportKind::Unix) => format!(
            "{}\nNothing is proven for an application on TCP or on another host.\nWith the Unix socket as well, which the application has to use \
             (see README.md): {evidence}",
            without_socket(input)
        ),
        Some(TransportKind::Tls) => format!(
            "{evidence}\nIt was measured with TLS, of which nothing is in this file: see README.md."
        ),
        Some(TransportKind::Tcp) | None => evidence.clone(),
    };
    comment(&format!(
        "Found by Niagara for {}.\n{found}\nGoes to {place}; see README.md.",
        input.server
    ))
}

/// What the files bring without the socket's part.
fn without_socket(input: &DeployInput) -> String {
    let bring = match are_one_file(input) {
        true => "this file brings",
        false => "the files together bring",
    };
    match &input.over_socket {
        Some(left) => {
            format!("Where the application uses the Unix socket already, {bring} {left}.")
        }
        None => format!("What {bring} without the Unix socket was not measured by itself."),
    }
}

/// Whether all that is installed stands in one file.
fn are_one_file(input: &DeployInput) -> bool {
    let variant = &input.variant;
    let parts = [
        !variant.config.is_empty(),
        unit::is_there(input),
        touches_host(variant),
        !variant.schema.is_empty() || variant.engine.is_some(),
        variant.built.is_some(),
    ];
    parts.into_iter().filter(|part| *part).count() == 1
}

/// `text` in double quotes on one line, with the escapes that option files and systemd share.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '"' => out.push_str("\\\""),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            other => out.push(other),
        }
    }
    out.push('"');
    out
}
