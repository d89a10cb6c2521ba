//! Scripts read, and run for a load or a command.

use crate::describe;
use crate::lua_text::lua_text;
use crate::module_path::{lua_cpath, lua_path, shipped_path};
use crate::place::place;
use crate::random::{Choice, Feedback, Kind, Random, Unique};
use crate::thread::{Task, Then, Thread, preamble, quoted};
use niagara_error::problem;
use niagara_load::{
    DryRun, Endpoint, IgnoredErrors, LoadError, Program, Reply, ScriptHost, ScriptInfo,
    ScriptOutput, ScriptRun, ScriptRuntime, ScriptSource, ScriptThreads, ScriptValue,
};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::io::Read;
use std::sync::Arc;

/// The sysbench whose interface scripts find.
pub const VERSION: &str = "1.0.20";

/// Runs scripts by LuaJIT.
#[derive(Debug)]
pub struct LuaRuntime;

impl ScriptRuntime for LuaRuntime {
    fn read(&self, path: &str) -> Result<(ScriptSource, ScriptInfo), LoadError> {
        if let Err(error) = std::fs::metadata(path) {
            return Err(LoadError::invalid(problem!(
                "cannot read the script {path}: {error}";
                remedy: "name a Lua script for sysbench by its path (docs/scripts.md)"
            )));
        }
        let source = source(path)?;
        let run = ScriptRun {
            source: source.clone(),
            options: BTreeMap::new(),
            global_options: false,
            words: Vec::new(),
            ignored: IgnoredErrors::default(),
            output: ScriptOutput::Error,
            dry_run: false,
            // Scripts that want one refuse to be loaded without it.
            command: "help".into(),
            threads: 1,
            seed: 1,
            unique_seed: 1,
            endpoint: nowhere(),
        };
        let mut global = Global::new(&run, Some(path))?;
        if !global.info().has("event") {
            return Err(LoadError::invalid(problem!(
                "{path} has no function event()";
                remedy: "write one: each call of it is a transaction (docs/scripts.md)"
            )));
        }
        Ok((global.source(&source), global.info().clone()))
    }

    fn run(&self, run: &ScriptRun) -> Result<Arc<dyn ScriptThreads>, LoadError> {
        Ok(Arc::new(Threads::new(run)?))
    }
}

/// The script that a path names: a file, `-` for standard input, or else a module.
///
/// # Errors
/// It cannot be read.
pub fn source(path: &str) -> Result<ScriptSource, LoadError> {
    let failed = |error: std::io::Error| LoadError::Script(format!("cannot read {path}: {error}"));
    let text = if path == "-" {
        let mut bytes = Vec::new();
        std::io::stdin().read_to_end(&mut bytes).map_err(failed)?;
        lua_text(&bytes)
    } else {
        match std::fs::read(path) {
            Ok(bytes) => lua_text(&bytes),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                format!("require({})", quoted(path))
            }
            Err(error) => return Err(failed(error)),
        }
    };
    Ok(ScriptSource {
        path: path.to_owned(),
        text,
        modules: BTreeMap::new(),
    })
}

/// Of a script that is only inspected.
fn nowhere() -> Endpoint {
    Endpoint {
        transport: niagara_load::Transport::Unix("/nonexistent".into()),
        user: String::new(),
        password: String::new(),
        database: String::new(),
        tls: niagara_load::TlsOptions::default(),
    }
}

/// What all threads of a script have in common.
#[derive(Debug)]
pub struct Threads {
    run: ScriptRun,
    choice: Choice,
    unique: Arc<Unique>,
    /// The generator whose numbers seed those of the threads.
    feedback: Feedback,
    options: String,
}

/// Numbers that seed one generator.
const SEEDS: u32 = 4;

impl Threads {
    /// # Errors
    /// An option has a value that it does not take.
    pub fn new(run: &ScriptRun) -> Result<Self, LoadError> {
        // sysbench seeds these by the clock, whatever its seed is: no two runs insert the same ones.
        let unique = Arc::new(Unique::new(&mut Feedback::new(run.unique_seed as u32)));
        let feedback = Feedback::new(run.seed as u32);
        Ok(Threads {
            choice: choice(&run.options)?,
            unique,
            feedback,
            options: options_chunk(run, None),
            run: run.clone(),
        })
    }

    /// The generator of thread `number`.
    fn random(&self, number: u32) -> Random {
        let mut feedback = self.feedback.clone();
        for _ in 0..number.saturating_mul(SEEDS) {
            feedback.draw();
        }
        Random::new(&mut feedback, self.choice)
    }

    fn options_task(&self) -> Task {
        Task {
            name: "options",
            argument: self.options.clone(),
        }
    }

    fn make(
        &self,
        number: u32,
        tasks: Vec<Task>,
        then: Then,
    ) -> Result<Box<dyn Program>, LoadError> {
        let mut all = vec![Task::new("load"), self.options_task()];
        all.extend(tasks);
        let thread = Thread::new(
            &chunk(&self.run, number),
            self.random(number),
            Arc::clone(&self.unique),
            self.run.source.modules.clone(),
            all,
            then,
        );
        let mut thread = Box::new(thread.map_err(LoadError::Script)?);
        if self.run.output == ScriptOutput::Error {
            thread.tell_of_leave();
        }
        Ok(match self.run.dry_run {
            true => Box::new(DryRun::new(thread)),
            false => thread,
        })
    }
}

/// How a command of a script is done: by a function of its own, or as one of its commands.
pub(crate) fn command_task(command: &str, info: &ScriptInfo) -> Task {
    if info.commands.contains_key(command) {
        return Task {
            name: "sysbench.cmdline.call_command",
            argument: quoted(command),
        };
    }
    Task::new(match command {
        "prepare" => "prepare",
        "cleanup" => "cleanup",
        _ => "help",
    })
}

impl ScriptThreads for Threads {
    fn thread(&self, number: u32) -> Result<Box<dyn Program>, LoadError> {
        let tasks = vec![Task::new("thread_init"), Task::new("thread_run")];
        self.make(number, tasks, Then::TakeLeave("thread_done"))
    }

    fn command(&self, number: u32, info: &ScriptInfo) -> Result<Box<dyn Program>, LoadError> {
        let tasks = vec![command_task(&self.run.command, info)];
        self.make(number, tasks, Then::End)
    }

    fn workers(&self, info: &ScriptInfo) -> u32 {
        match info.commands.get(&self.run.command) {
            Some(true) => self.run.threads,
            _ => 1,
        }
    }

    fn beginning(&self) -> Result<Box<dyn Program>, LoadError> {
        self.make(0, vec![Task::new("init")], Then::TakeLeave("done"))
    }
}

/// How numbers are drawn where the script leaves it to `--rand-type`.
fn choice(options: &BTreeMap<String, ScriptValue>) -> Result<Choice, LoadError> {
    let mut choice = Choice::default();
    let number = |name: &str, default: f64| match options.get(name) {
        Some(ScriptValue::Number(number)) => *number,
        _ => default,
    };
    choice.iterations = number("rand_spec_iter", 12.0) as u32;
    choice.special = number("rand_spec_pct", 1.0);
    choice.share = number("rand_spec_res", 75.0);
    choice.pareto = number("rand_pareto_h", 0.2);
    if let Some(ScriptValue::Text(name)) = options.get("rand_type") {
        choice.kind = match name.as_str() {
            "uniform" => Kind::Uniform,
            "gaussian" => Kind::Gaussian,
            "special" => Kind::Special,
            "pareto" => Kind::Pareto,
            _ => {
                return Err(LoadError::Script(format!(
                    "Invalid random numbers distribution: {name}."
                )));
            }
        };
    }
    Ok(choice)
}

/// What an interpreter of thread `number` begins with.
fn chunk(run: &ScriptRun, number: u32) -> String {
    let mut own = String::from("sysbench = {");
    // Writing to a string does not fail, here and below.
    let _ = write!(
        own,
        "tid = {number}, version = {}, version_string = {}, error = {{NONE = 0, RESTART_EVENT = 1}}, cmdline = {{argv = {{",
        quoted(VERSION),
        quoted(&format!("sysbench {VERSION}")),
    );
    for (place, word) in run.words.iter().enumerate() {
        let _ = write!(own, "[{place}] = {}, ", quoted(word));
    }
    let _ = write!(own, "}}, script_path = {}", quoted(&run.source.path));
    if !run.command.is_empty() {
        let _ = write!(own, ", command = {}", quoted(&run.command));
    }
    own.push_str("}}\n");
    let text = |name: &str| match run.options.get(name) {
        Some(ScriptValue::Text(text)) => text.clone(),
        _ => String::new(),
    };
    let driver = Some(text("db_driver")).filter(|name| !name.is_empty());
    let ignored = match &run.ignored {
        IgnoredErrors::All => "true".to_owned(),
        IgnoredErrors::These(codes) => {
            let codes = codes.iter().map(|code| format!("[{code}] = true, "));
            format!("{{{}}}", codes.collect::<String>())
        }
    };
    let name = match run.source.path.as_str() {
        "-" => "=stdin".to_owned(),
        path => format!("@{path}"),
    };
    let folder = run.source.path.rfind('/').map_or(0, |slash| slash + 1);
    let beside = (run.output != ScriptOutput::Standard).then(|| &run.source.path[..folder]);
    let settings = format!(
        "{{driver = {}, place = {}, as_text = {}, ignored = {ignored}, quiet = {}, mute = {}, text = {}, chunk_name = {}, \
         script_path = {}, path = {}, shipped = {}, cpath = {}, luajit = {}}}",
        quoted(driver.as_deref().unwrap_or("mysql")),
        quoted(&place(&run.endpoint.transport)),
        text("db_ps_mode") == "disable",
        run.output != ScriptOutput::Standard,
        run.output == ScriptOutput::Nowhere,
        quoted(&run.source.text),
        quoted(&name),
        quoted(&run.source.path),
        quoted(&lua_path(beside)),
        quoted(&beside.map(|_| shipped_path()).unwrap_or_default()),
        quoted(&lua_cpath()),
        quoted(&text("luajit_cmd")),
    );
    preamble(&own, &settings)
}

/// The options as a table in Lua, with the help on them.
fn options_chunk(run: &ScriptRun, help: Option<&str>) -> String {
    let mut chunk = String::from("{options = {");
    for (name, value) in &run.options {
        let _ = write!(chunk, "[{}] = ", quoted(name));
        let _ = match value {
            ScriptValue::Flag(on) => write!(chunk, "{on}"),
            ScriptValue::Number(number) => write!(chunk, "{number:?}"),
            ScriptValue::Text(text) => write!(chunk, "{}", quoted(text)),
            ScriptValue::List(texts) => {
                let texts: Vec<String> = texts.iter().map(|text| quoted(text)).collect();
                write!(chunk, "{{{}}}", texts.join(", "))
            }
        };
        chunk.push_str(", ");
    }
    let _ = write!(
        chunk,
        "}}, text = {}, global = {}}}",
        quoted(help.unwrap_or_default()),
        run.global_options
    );
    chunk
}

/// The interpreter in which a script is inspected, and which does what is done once: sysbench's own, whose variables `init`,
/// `done` and the reports share.
pub struct Global {
    thread: Thread,
    host: ScriptHost,
    info: ScriptInfo,
    hooks: Vec<String>,
}

impl Global {
    /// Loads a script. `name`: how messages call it where it is no file.
    ///
    /// # Errors
    /// A mistake in it.
    pub fn new(run: &ScriptRun, name: Option<&str>) -> Result<Self, LoadError> {
        let random = Random::new(&mut Feedback::new(run.seed as u32), choice(&run.options)?);
        let unique = Arc::new(Unique::new(&mut Feedback::new(run.unique_seed as u32)));
        let thread = Thread::new(
            &chunk(run, 0),
            random,
            unique,
            run.source.modules.clone(),
            vec![
                Task::new("load"),
                Task::new("sysbench.cmdline.read_cmdline_options"),
            ],
            Then::Wait,
        );
        let mut global = Global {
            thread: thread.map_err(LoadError::Script)?,
            host: ScriptHost::new(run, std::slice::from_ref(&run.endpoint), 0),
            info: ScriptInfo::default(),
            hooks: Vec::new(),
        };
        global.go_on().map_err(|error| match (error, name) {
            (LoadError::Script(problem), Some(name)) if is_missing(&problem, name) => {
                LoadError::Script(format!(
                    "Cannot find benchmark '{name}': no such built-in test, file or module"
                ))
            }
            (error, _) => error,
        })?;
        let said = global.thread.take_said();
        let files = global.thread.files();
        let mut texts = files.values().chain([&run.source.text]);
        (global.info, global.hooks) = describe::read(&said);
        global.info.blocks = texts.clone().any(|text| describe::blocks(text));
        global.info.reaches_out = texts.any(|text| describe::reaches_out(text));
        Ok(global)
    }

    /// What is known of the script.
    pub fn info(&self) -> &ScriptInfo {
        &self.info
    }

    /// Whether it has a report of its own in place of this one.
    pub fn has_hook(&self, name: &str) -> bool {
        self.hooks.iter().any(|hook| hook == name)
    }

    /// The script with what it has read.
    pub fn source(&mut self, source: &ScriptSource) -> ScriptSource {
        ScriptSource {
            modules: self.thread.files(),
            ..source.clone()
        }
    }

    /// Sets the options, and the text that `print_test_options` prints.
    ///
    /// # Errors
    /// The script fails.
    pub fn set_options(&mut self, run: &ScriptRun, help: &str) -> Result<(), LoadError> {
        self.do_task(Task {
            name: "options",
            argument: options_chunk(run, Some(help)),
        })
    }

    /// Calls `init`, `done`, `help`, `prepare`, `cleanup`, or a command of the script's own.
    ///
    /// # Errors
    /// The script fails.
    pub fn call(&mut self, name: &str) -> Result<(), LoadError> {
        let task = match name {
            "init" => Task::new("init"),
            "done" => Task::new("done"),
            command => command_task(command, &self.info),
        };
        self.do_task(task)
    }

    /// Calls the script's report with these numbers.
    ///
    /// # Errors
    /// The script fails.
    pub fn report(&mut self, name: &str, numbers: &[(&str, f64)]) -> Result<(), LoadError> {
        let mut argument = format!("{{name = {}, stat = {{", quoted(name));
        for (name, number) in numbers {
            let _ = write!(argument, "{name} = {number:?}, ");
        }
        argument.push_str("}}");
        self.do_task(Task {
            name: "hook",
            argument,
        })
    }

    fn do_task(&mut self, task: Task) -> Result<(), LoadError> {
        self.thread.push(task);
        self.go_on()
    }

    fn go_on(&mut self) -> Result<(), LoadError> {
        let result = self.host.run(&mut self.thread, Reply::Go);
        crate::log::flush();
        result
    }
}

/// Whether a script failed because there is none of this name.
fn is_missing(problem: &str, name: &str) -> bool {
    problem.contains(&format!("module '{name}' not found"))
}
