//! A script: its options, its commands, its part in a run.

use std::process::ExitCode;
use std::sync::Arc;

use niagara_load::{
    Endpoint, LoadError, ScriptInfo, ScriptOption, ScriptOptionKind, ScriptOutput, ScriptRun,
    ScriptThreads, ScriptValue, ScriptWorkload, TlsOptions, Transport, WorkloadSpec, run_command,
};
use niagara_script::{Global, Threads, has_driver, set_log, source};

use crate::command_line::CommandLine;
use crate::failure::Failure;
use crate::job::{Job, OnInterrupt};
use crate::load::Guest;
use crate::log::{Level, Log, print};
use crate::option::{Definition, Kind};
use crate::report::{Counts, Cumulative, Interval};
use crate::settings::Settings;
use crate::values::Values;
use crate::{help, load, servers};

/// The script of a run.
pub struct Script {
    run: ScriptRun,
    /// Where `init`, `done` and the report at the end are.
    global: Global,
    /// Where the reports before the end are, once there is one.
    reporter: Option<Global>,
    /// Threads under way.
    threads: u32,
    /// All of them are there, or were.
    has_started: bool,
    log: Log,
}

/// Reads the script at `path` and does what the command line says.
pub fn dispatch(
    path: &str,
    words: &[String],
    mut line: CommandLine,
    settings: Settings,
    log: Log,
    on_interrupt: OnInterrupt<'_>,
) -> Result<ExitCode, Failure> {
    set_log(Box::new(move |level, text| log.say(level_of(level), text)));
    servers::refuse_options(&line.values)?;
    let command = line.command.clone().unwrap_or_default();
    let mut run = begin(path, words, &line, &settings, &command)?;
    let mut global = Global::new(&run, Some(path)).map_err(fatal)?;
    run.source = global.source(&run.source);
    // Of a script from standard input, sysbench runs the body only.
    if command.is_empty() || path == "-" {
        return Ok(ExitCode::SUCCESS);
    }
    let definitions = definitions(global.info());
    if global.info().options.is_none() {
        line.take_any_options();
    }
    line.read_test_options(&[&definitions])?;
    run.options = options(&line.values)?;
    run.global_options = global.info().options.is_none();
    let help = help::script(&definitions);
    if command == "help" && !global.info().has("help") {
        return say_help(&run, global.info(), &help);
    }
    global.set_options(&run, &help).map_err(fatal)?;
    if command == "run" && !global.info().commands.contains_key("run") {
        let job = job(&line, &global, &run, settings, log)?;
        let mut script = Script {
            threads: run.threads,
            has_started: false,
            run,
            global,
            reporter: None,
            log,
        };
        return script.load(&job, on_interrupt);
    }
    do_command(&run, &mut global, &line, log)
}

fn fatal(error: LoadError) -> Failure {
    Failure::of_load(&error)
}

fn level_of(number: i32) -> Level {
    match number {
        0 => Level::Fatal,
        1 => Level::Alert,
        2 => Level::Warning,
        3 => Level::Notice,
        4 => Level::Info,
        _ => Level::Debug,
    }
}

/// What the script is run for, before its own options are known.
fn begin(
    path: &str,
    words: &[String],
    line: &CommandLine,
    settings: &Settings,
    command: &str,
) -> Result<ScriptRun, Failure> {
    let mut all = vec!["sysbench".to_owned()];
    all.extend_from_slice(words);
    let endpoint = match servers::endpoints(&line.values)?.into_iter().next() {
        Some(endpoint) => endpoint,
        None => Endpoint {
            transport: Transport::Unix("/nonexistent".into()),
            user: String::new(),
            password: String::new(),
            database: String::new(),
            tls: TlsOptions::default(),
        },
    };
    Ok(ScriptRun {
        source: source(path).map_err(fatal)?,
        options: options(&line.values)?,
        global_options: false,
        words: all,
        ignored: servers::ignored_errors(&line.values)?,
        output: ScriptOutput::Standard,
        dry_run: line.values.flag("mysql-dry-run"),
        command: command.to_owned(),
        threads: settings.threads,
        seed: settings.seed.unwrap_or_else(load::fresh_seed),
        unique_seed: load::fresh_seed(),
        endpoint,
    })
}

/// The script's options among sysbench's.
fn definitions(info: &ScriptInfo) -> Vec<Definition> {
    let definition = |option: &ScriptOption| Definition {
        // A handful of words for the rest of the process, beside those that are constants.
        name: option.name.clone().leak(),
        kind: match option.kind {
            ScriptOptionKind::Flag => Kind::Flag,
            ScriptOptionKind::Integer => Kind::Integer,
            ScriptOptionKind::Size => Kind::Size,
            ScriptOptionKind::Number => Kind::Number,
            ScriptOptionKind::Text => Kind::Text,
            ScriptOptionKind::List => Kind::List,
            ScriptOptionKind::File => Kind::File,
        },
        default: match &option.default {
            Some(default) => Some(default.clone().leak()),
            // An option without a value is on, sysbench has it.
            None => None,
        },
        help: option.help.clone().leak(),
    };
    info.options.iter().flatten().map(definition).collect()
}

/// All options, with their values as scripts see them.
fn options(values: &Values) -> Result<std::collections::BTreeMap<String, ScriptValue>, Failure> {
    let mut options = std::collections::BTreeMap::new();
    for (name, kind) in values.names() {
        let value = match kind {
            Kind::Flag => ScriptValue::Flag(values.flag(name)),
            Kind::Integer => ScriptValue::Number(f64::from(values.integer(name)?)),
            Kind::Size => ScriptValue::Number(values.size(name)? as f64),
            Kind::Number => ScriptValue::Number(values.number(name)?),
            Kind::Mode => ScriptValue::Flag(!matches!(
                values.text(name),
                None | Some("off" | "false" | "0")
            )),
            Kind::Text => ScriptValue::Text(values.text(name).unwrap_or_default().to_owned()),
            Kind::List => ScriptValue::List(values.list(name).to_vec()),
            Kind::File => continue,
        };
        options.insert(name.to_owned(), value);
    }
    Ok(options)
}

/// The name of a script in messages: that of its file.
fn short_name(run: &ScriptRun) -> &str {
    match run.source.path.as_str() {
        "-" => "<stdin>",
        path => path.rsplit('/').next().unwrap_or(path),
    }
}

fn say_help(run: &ScriptRun, info: &ScriptInfo, help: &str) -> Result<ExitCode, Failure> {
    if info.options.is_none() {
        return Err(not_implemented(run));
    }
    print(&format!("{} options:\n{help}\n", short_name(run)));
    Ok(ExitCode::SUCCESS)
}

fn not_implemented(run: &ScriptRun) -> Failure {
    Failure::usage(format!(
        "'{}' test does not implement the '{}' command.",
        short_name(run),
        run.command
    ))
}

/// Any command but `run`.
fn do_command(
    run: &ScriptRun,
    global: &mut Global,
    line: &CommandLine,
    log: Log,
) -> Result<ExitCode, Failure> {
    let command = run.command.as_str();
    if !global.info().has(command) {
        return Err(match command {
            "prepare" | "cleanup" | "help" => not_implemented(run),
            _ => Failure::usage(format!("Unknown command: {command}")),
        });
    }
    let shared = global.info().commands.get(command) == Some(&true);
    if shared && run.threads > 1 {
        log.notice("Initializing worker threads...\n");
        let endpoints = servers::endpoints(&line.values)?;
        // Until the load begins, Ctrl-C ends the process.
        run_command(run, global.info(), &endpoints, &Arc::default()).map_err(fatal)?;
    } else {
        global.call(command).map_err(fatal)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn job(
    line: &CommandLine,
    global: &Global,
    run: &ScriptRun,
    settings: Settings,
    log: Log,
) -> Result<Job, Failure> {
    let workload = ScriptWorkload::new(run.source.clone(), global.info().clone());
    // Without a server all CPUs are there for the script.
    let all = || std::thread::available_parallelism().ok().map(usize::from);
    let loops = settings.loops.or(run.dry_run.then(all).flatten());
    let settings = Settings { loops, ..settings };
    Ok(Job {
        spec: WorkloadSpec::of(workload),
        endpoints: servers::endpoints(&line.values)?,
        ignored_errors: run.ignored.clone(),
        settings,
        log,
    })
}

impl Script {
    /// `init`, the load, `done`.
    fn load(&mut self, job: &Job, on_interrupt: OnInterrupt<'_>) -> Result<ExitCode, Failure> {
        self.global.call("init").map_err(fatal)?;
        if !self
            .global
            .info()
            .functions
            .iter()
            .any(|name| name == "event")
        {
            return Err(Failure::fatal(format!(
                "cannot find the event() function in {}",
                short_name(&self.run)
            )));
        }
        let result = load::run(job, on_interrupt, Some(self));
        // A run that has failed has an end too, once it has begun.
        if let Err(failure) = &result
            && self.has_started
        {
            failure.say(self.log);
        }
        if self.has_started {
            self.global.call("done").map_err(fatal)?;
        }
        match result {
            Err(_) if self.has_started => Err(Failure::said()),
            result => result,
        }
    }

    /// The interpreter of the reports before the end, whose variables are its own.
    fn reporter(&mut self) -> Result<&mut Global, LoadError> {
        if self.reporter.is_none() {
            let mut reporter = Global::new(&self.run, None)?;
            reporter.set_options(&self.run, "")?;
            self.reporter = Some(reporter);
        }
        match &mut self.reporter {
            Some(reporter) => Ok(reporter),
            None => Err(LoadError::Script("no interpreter for reports".into())),
        }
    }

    /// A report before the end, by the script's hook.
    fn report(&mut self, hook: &str, numbers: &[(&'static str, f64)]) {
        let reporter = self.reporter();
        let result = reporter.and_then(|reporter| reporter.report(hook, numbers));
        said(result, self.log, hook);
    }
}

impl Guest for Script {
    fn threads(&mut self) -> Result<Arc<dyn ScriptThreads>, Failure> {
        let threads = Threads::new(&self.run).map_err(fatal)?;
        Ok(Arc::new(threads))
    }

    fn asks_a_server(&self) -> bool {
        has_driver()
    }

    fn started(&mut self) {
        self.has_started = true;
    }

    fn interval(&mut self, interval: &Interval, _log: Log) -> bool {
        const HOOK: &str = "report_intermediate";
        if !self.global.has_hook(HOOK) {
            return false;
        }
        let (queue, concurrency) = interval.queue.unwrap_or_default();
        let latency = interval.percentile.1;
        let mut numbers = numbers(
            (interval.seconds, interval.elapsed),
            &interval.counts,
            self.threads,
            latency,
        );
        numbers.push(("queue_length", queue as f64));
        numbers.push(("concurrency", concurrency as f64));
        self.report(HOOK, &numbers);
        true
    }

    fn cumulative(&mut self, report: &Cumulative, so_far: bool, _log: Log) -> bool {
        const HOOK: &str = "report_cumulative";
        if !self.global.has_hook(HOOK) {
            return false;
        }
        let latency = report.percentile.map_or(0.0, |(_, value)| value);
        let threads = if so_far { self.threads } else { 0 };
        let mut numbers = numbers(
            (report.seconds, report.elapsed),
            &report.counts,
            threads,
            latency,
        );
        for (name, milliseconds) in [
            ("latency_min", report.latency.min),
            ("latency_max", report.latency.max),
            ("latency_avg", report.latency.avg),
            ("latency_sum", report.latency.sum),
        ] {
            numbers.push((name, milliseconds / 1e3));
        }
        if !so_far {
            // What has reported until now is closed first.
            self.reporter = None;
            niagara_script::flush();
            said(self.global.report(HOOK, &numbers), self.log, HOOK);
            return true;
        }
        self.report(HOOK, &numbers);
        true
    }
}

/// A report that fails is reported, and the run continues.
fn said(result: Result<(), LoadError>, log: Log, hook: &str) {
    if let Err(error) = result {
        let text = error.to_string();
        // The hook is known by its own name.
        log.say(
            Level::Fatal,
            &text.replacen("`hook'", &format!("`{hook}'"), 1),
        );
    }
}

/// What all reports say; latency in seconds.
fn numbers(
    (seconds, elapsed): (f64, f64),
    counts: &Counts,
    threads: u32,
    latency: f64,
) -> Vec<(&'static str, f64)> {
    vec![
        ("threads_running", f64::from(threads)),
        ("time_interval", seconds),
        ("time_total", elapsed),
        ("latency_pct", latency / 1e3),
        ("events", counts.events as f64),
        ("reads", counts.reads as f64),
        ("writes", counts.writes as f64),
        ("other", counts.other as f64),
        ("errors", counts.errors as f64),
        ("reconnects", counts.reconnects as f64),
    ]
}
