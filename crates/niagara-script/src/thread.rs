//! A thread of a script: an interpreter of its own that does task after task.

use crate::api::FUNCTIONS;
use crate::ask::ASKING;
use crate::context::Context;
use crate::interrupt::interrupter;
use crate::log::log;
use crate::random::{Random, Unique};
use crate::state::{Resumed, State};
use niagara_load::{Answer, Counts, Interrupter, Program, Reply, Server, Want};
use std::collections::{BTreeMap, VecDeque};
use std::ffi::{c_int, c_void};
use std::sync::Arc;

/// Bytes that the interpreter of one thread may take: as much as sysbench's, whose LuaJIT has addresses of 31 bits.
const MEMORY: usize = 2 << 30;

/// What every interpreter runs, in this order, each with the table that the first one makes.
const PARTS: [(&str, &str); 6] = [
    ("rand", include_str!("lua/rand.lua")),
    ("histogram", include_str!("lua/histogram.lua")),
    ("report", include_str!("lua/report.lua")),
    ("cmdline", include_str!("lua/cmdline.lua")),
    ("sql", include_str!("lua/sql.lua")),
    ("legacy", include_str!("lua/legacy.lua")),
];
const BOOT: &str = include_str!("lua/boot.lua");
const MAIN: &str = include_str!("lua/main.lua");

/// Something that a thread does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    /// As `main.lua` calls it.
    pub name: &'static str,
    /// Its argument, in Lua.
    pub argument: String,
}

impl Task {
    /// One without an argument.
    pub fn new(name: &'static str) -> Self {
        Task {
            name,
            argument: "nil".into(),
        }
    }

    /// The words for its failure.
    fn failed(&self, problem: &str) -> String {
        match self.name {
            "load" | "options" => problem.to_owned(),
            // What a script puts there is called by its name.
            name => format!("`{name}' function failed: {problem}"),
        }
    }
}

/// A text as Lua writes it.
pub fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for byte in text.bytes() {
        match byte {
            b'"' => quoted.push_str("\\\""),
            b'\\' => quoted.push_str("\\\\"),
            b' '..=b'~' => quoted.push(char::from(byte)),
            // Three digits: what follows may be another one.
            _ => quoted.push_str(&format!("\\{byte:03}")),
        }
    }
    quoted.push('"');
    quoted
}

/// A level of a long bracket that a text does not close.
fn bracket(text: &str) -> String {
    let mut level = "=".to_owned();
    while text.contains(&format!("]{level}]")) {
        level.push('=');
    }
    level
}

/// What all interpreters of a script begin with; `settings` is a table in Lua, `own` what sets `sysbench` up.
pub fn preamble(own: &str, settings: &str) -> String {
    let mut chunk =
        String::from("local mailbox, functions, query, execute = ...\nlocal N = (function(...)\n");
    chunk.push_str(BOOT);
    chunk.push_str("\nend)(mailbox, functions, query, execute)\n");
    chunk.push_str(own);
    for (name, text) in PARTS {
        let level = bracket(text);
        // Errors within are told with the part's name, as sysbench names its own.
        chunk.push_str(&format!(
            "\nassert(loadstring([{level}[\n{text}]{level}], '=[string \"sysbench.{name}.lua\"]'))(N)"
        ));
    }
    let level = bracket(MAIN);
    chunk.push_str(&format!(
        "\nlocal main = assert(loadstring([{level}[\n{MAIN}]{level}], '=main'))\nmain(N, {settings})\n"
    ));
    chunk
}

/// What a thread does after its tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Then {
    /// It is over.
    End,
    /// It waits for the end of the load, and does this.
    TakeLeave(&'static str),
    /// It waits for more tasks.
    Wait,
}

/// A thread.
pub struct Thread {
    state: State,
    /// From `Box::into_raw`: the interpreter has it too.
    context: *mut Context,
    started: bool,
    tasks: VecDeque<Task>,
    current: Option<Task>,
    then: Then,
    leaving: bool,
    link: usize,
    over: bool,
    /// What fails when it takes leave is said in the log: nobody asks for it.
    tells: bool,
}

/// The log's level for what ends a script.
const FATAL: i32 = 0;

impl Thread {
    /// A thread whose interpreter begins with `preamble` and then does `tasks`.
    ///
    /// # Errors
    /// There is no memory for it.
    pub fn new(
        preamble: &str,
        random: Random,
        unique: Arc<Unique>,
        files: BTreeMap<String, String>,
        tasks: Vec<Task>,
        then: Then,
    ) -> Result<Self, String> {
        let context = Box::into_raw(Box::new(Context::new(random, unique, files)));
        let functions = (&raw const FUNCTIONS).cast_mut().cast::<c_void>();
        let state = State::new(MEMORY, preamble, [context.cast(), functions], &ASKING);
        let state = state.inspect_err(|_| {
            // SAFETY: it came from `into_raw`, and the interpreter that had it is gone.
            drop(unsafe { Box::from_raw(context) });
        })?;
        Ok(Thread {
            state,
            context,
            started: false,
            tasks: tasks.into(),
            current: None,
            then,
            leaving: false,
            link: 0,
            over: false,
            tells: false,
        })
    }

    /// Has what fails when it takes leave be said in the log.
    pub fn tell_of_leave(&mut self) {
        self.tells = true;
    }

    /// More to do.
    pub fn push(&mut self, task: Task) {
        self.tasks.push_back(task);
    }

    /// The context, between two runs of the interpreter.
    fn context(&mut self) -> &mut Context {
        // SAFETY: the interpreter, which has it too, does not run while `self` is borrowed.
        unsafe { &mut *self.context }
    }

    /// What the script has said of itself.
    pub fn take_said(&mut self) -> Vec<String> {
        std::mem::take(&mut self.context().own.said)
    }

    /// The files that were read.
    pub fn files(&mut self) -> BTreeMap<String, String> {
        self.context().own.files.clone()
    }

    /// The next task, if there is one, is put where the interpreter reads it.
    fn next_task(&mut self) -> bool {
        if let Then::TakeLeave(last) = self.then
            && self.tasks.is_empty()
            && self.leaving
        {
            self.then = Then::End;
            self.tasks.push_back(Task::new(last));
        }
        let Some(task) = self.tasks.pop_front() else {
            return false;
        };
        let text = format!("{}, {}", quoted(task.name), task.argument);
        self.context().set_message(text.as_bytes());
        self.context().own.task_over = false;
        self.current = Some(task);
        true
    }

    /// Runs on until something is wanted or a task is over.
    fn run(&mut self, server: &mut dyn Server) -> Result<Option<Want>, String> {
        // SAFETY: only the lifetime changes; the pointer is taken away again before `server` is given back.
        let lent = unsafe {
            std::mem::transmute::<*mut (dyn Server + '_), *mut (dyn Server + 'static)>(server)
        };
        self.context().own.server = Some(lent);
        let resumed = if self.started {
            let answer = self.context().mailbox.answer();
            self.state.resume_with(answer)
        } else {
            self.started = true;
            self.state.resume(2 + ASKING.len() as c_int)
        };
        self.context().own.server = None;
        match resumed {
            Resumed::Yielded => Ok(self.context().own.want.take()),
            Resumed::Failed(problem) => {
                self.over = true;
                let problem = match &self.current {
                    Some(task) => task.failed(&problem),
                    None => problem,
                };
                if self.tells && self.leaving {
                    log(FATAL, &problem);
                }
                Err(problem)
            }
            Resumed::Returned => Err("the interpreter has come to its end".into()),
        }
    }
}

impl Program for Thread {
    fn resume(&mut self, reply: Reply, server: &mut dyn Server) -> Result<Want, String> {
        if self.over {
            return Ok(Want::End);
        }
        self.leaving |= reply == Reply::Goodbye;
        let link = self.link;
        self.context().put(&reply, link);
        if !self.started {
            // Up to its first task.
            self.run(server)?;
        }
        loop {
            if self.current.is_none() && !self.next_task() {
                if self.then == Then::End {
                    self.over = true;
                    return Ok(Want::End);
                }
                return Ok(Want::Rest { completed: false });
            }
            if let Some(want) = self.run(server)? {
                if let Want::Answer { link, .. } = want {
                    self.link = link;
                }
                return Ok(want);
            }
            if !std::mem::take(&mut self.context().own.task_over) {
                return Err("attempt to yield from outside a coroutine".into());
            }
            let task = self.current.take();
            if let Some(problem) = self.context().own.failure.take() {
                return Err(task.map_or(problem.clone(), |task| task.failed(&problem)));
            }
        }
    }

    fn command(&self) -> &[u8] {
        // SAFETY: as in `context`.
        unsafe { &(*self.context).own.command }
    }

    fn answer(&mut self, link: usize) -> &mut Answer {
        &mut self.context().own.cursor(link).answer
    }

    fn take_counts(&mut self) -> Counts {
        std::mem::take(&mut self.context().own.counts)
    }

    fn take_closed(&mut self) -> Vec<usize> {
        std::mem::take(&mut self.context().own.closed)
    }

    fn interrupter(&self) -> Interrupter {
        interrupter()
    }
}

impl Drop for Thread {
    fn drop(&mut self) {
        // The interpreter goes first: its finalisers still write into the context.
        self.state.close();
        // SAFETY: it came from `into_raw`; the interpreter is gone.
        drop(unsafe { Box::from_raw(self.context) });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_quoted() {
        assert_eq!(
            quoted("a\"b\\c\n1\u{e9}"),
            "\"a\\\"b\\\\c\\0101\\195\\169\""
        );
        assert_eq!(bracket("a ]=] b"), "==");
    }
}
