//! The functions that scripts' own library calls, through LuaJIT's foreign function interface.
//!
//! All are called by Lua that runs within `Thread::resume`, on its thread, with the mailbox of its context; no reference into
//! the context is held there meanwhile. Texts are the interpreter's own and stay during the call. None of these functions
//! calls back into the interpreter or unwinds into it.

use crate::command::{self, Bind};
use crate::context::Context;
use crate::histogram::LogHistogram;
use crate::log::log as say_log;
use crate::lua_text::lua_text;
use crate::shipped;
use niagara_load::{Answer, CommandKind, Reply, Want};
use std::ffi::{c_char, c_int};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// As `boot.lua` declares it: keep them alike.
#[repr(C)]
pub struct Functions {
    connect: unsafe extern "C" fn(*mut Context),
    prepare: unsafe extern "C" fn(*mut Context, u32, *const c_char, usize),
    execute_text:
        unsafe extern "C" fn(*mut Context, u32, *const c_char, usize, *const Bind, u32) -> bool,
    sleep: unsafe extern "C" fn(*mut Context, f64),
    event: unsafe extern "C" fn(*mut Context, bool),
    ask: unsafe extern "C" fn(*mut Context),
    fetch: unsafe extern "C" fn(*mut Context, u32) -> bool,
    close_link: unsafe extern "C" fn(*mut Context, u32),
    close_statement: unsafe extern "C" fn(*mut Context, u32, u32),
    count: unsafe extern "C" fn(*mut Context, c_int, c_int),
    log: unsafe extern "C" fn(*mut Context, c_int, *const c_char, usize),
    say: unsafe extern "C" fn(*mut Context, *const c_char, usize),
    task: unsafe extern "C" fn(*mut Context),
    fail: unsafe extern "C" fn(*mut Context, *const c_char, usize),
    read_file: unsafe extern "C" fn(*mut Context, *const c_char, usize) -> bool,
    rand_bits: unsafe extern "C" fn(*mut Context) -> u64,
    rand_fraction: unsafe extern "C" fn(*mut Context) -> f64,
    rand_default: unsafe extern "C" fn(*mut Context, u32, u32) -> u32,
    rand_uniform: unsafe extern "C" fn(*mut Context, u32, u32) -> u32,
    rand_gaussian: unsafe extern "C" fn(*mut Context, u32, u32) -> u32,
    rand_special: unsafe extern "C" fn(*mut Context, u32, u32) -> u32,
    rand_pareto: unsafe extern "C" fn(*mut Context, u32, u32) -> u32,
    rand_unique: unsafe extern "C" fn(*mut Context) -> u32,
    rand_fill: unsafe extern "C" fn(*mut Context, *mut c_char, usize),
    histogram_new: unsafe extern "C" fn(usize, f64, f64) -> *mut LogHistogram,
    histogram_update: unsafe extern "C" fn(*mut LogHistogram, f64),
    histogram_print: unsafe extern "C" fn(*mut Context, *mut LogHistogram),
    histogram_delete: unsafe extern "C" fn(*mut LogHistogram),
    driver: unsafe extern "C" fn(*mut Context),
}

/// All of them.
pub static FUNCTIONS: Functions = Functions {
    connect,
    prepare,
    execute_text,
    sleep,
    event,
    ask,
    fetch,
    close_link,
    close_statement,
    count,
    log,
    say,
    task,
    fail,
    read_file,
    rand_bits,
    rand_fraction,
    rand_default,
    rand_uniform,
    rand_gaussian,
    rand_special,
    rand_pareto,
    rand_unique,
    rand_fill,
    histogram_new,
    histogram_update,
    histogram_print,
    histogram_delete,
    driver,
};

/// A script has asked for the driver of a database.
static HAS_DRIVER: AtomicBool = AtomicBool::new(false);

/// Whether a script of this process has ever asked for the driver of a database. sysbench's reports are about statements from then on.
pub fn has_driver() -> bool {
    HAS_DRIVER.load(Ordering::Relaxed)
}

/// The context of a call.
///
/// # Safety
/// The pointer is the mailbox's, as the module's documentation says.
pub unsafe fn context<'a>(context: *mut Context) -> &'a mut Context {
    // SAFETY: the caller's.
    unsafe { &mut *context }
}

/// A text of the interpreter's.
///
/// # Safety
/// It is `length` bytes long and stays during the call.
unsafe fn bytes<'a>(text: *const c_char, length: usize) -> &'a [u8] {
    // SAFETY: the caller's.
    unsafe { std::slice::from_raw_parts(text.cast(), length) }
}

/// The binds of a statement.
///
/// # Safety
/// There are `count` of them, or none and any pointer.
pub unsafe fn all<'a>(binds: *const Bind, count: u32) -> &'a [Bind] {
    match count {
        0 => &[],
        // SAFETY: the caller's.
        _ => unsafe { std::slice::from_raw_parts(binds, count as usize) },
    }
}

/// A text of the interpreter's as one of ours.
///
/// # Safety
/// As [`bytes`].
unsafe fn text(text: *const c_char, length: usize) -> String {
    // SAFETY: the caller's.
    String::from_utf8_lossy(unsafe { bytes(text, length) }).into_owned()
}

/// Empties the command on a link, but for the statements that the server may forget before it.
pub fn begin(context: &mut Context, link: u32, kind: CommandKind) -> &mut Vec<u8> {
    let own = &mut context.own;
    own.want = Some(Want::Answer {
        link: link as usize,
        kind,
    });
    own.command.clear();
    let command = &mut own.command;
    if !own.forgotten.is_empty() {
        own.forgotten.retain(|&(of, statement)| {
            if of == link {
                command::forget(command, statement);
            }
            of != link
        });
    }
    command
}

unsafe extern "C" fn connect(pointer: *mut Context) {
    // SAFETY: the module's.
    unsafe { context(pointer) }.own.want = Some(Want::Connect);
}

unsafe extern "C" fn prepare(pointer: *mut Context, link: u32, sql: *const c_char, length: usize) {
    // SAFETY: the module's.
    let (context, sql) = unsafe { (context(pointer), bytes(sql, length)) };
    command::prepare(begin(context, link, CommandKind::Prepare), sql);
}

unsafe extern "C" fn execute_text(
    pointer: *mut Context,
    link: u32,
    sql: *const c_char,
    length: usize,
    binds: *const Bind,
    count: u32,
) -> bool {
    // SAFETY: the module's; the script's statement holds its parameters as long as the binds.
    unsafe {
        let command = begin(context(pointer), link, CommandKind::Text);
        command::query_with(command, bytes(sql, length), all(binds, count))
    }
}

unsafe extern "C" fn sleep(pointer: *mut Context, seconds: f64) {
    let time = Duration::try_from_secs_f64(seconds.max(0.0)).unwrap_or(Duration::MAX);
    // SAFETY: the module's.
    unsafe { context(pointer) }.own.want = Some(Want::Sleep(time));
}

unsafe extern "C" fn event(pointer: *mut Context, completed: bool) {
    // SAFETY: the module's.
    unsafe { context(pointer) }.own.want = Some(Want::Event { completed });
}

/// Waits where the script stands.
///
/// # Safety
/// The pointer is the mailbox's, as the module's documentation says.
pub unsafe extern "C" fn ask(pointer: *mut Context) {
    // SAFETY: the module's.
    let context = unsafe { context(pointer) };
    let (Some(want), Some(server)) = (context.own.want.take(), context.own.server) else {
        return;
    };
    let link = match want {
        Want::Answer { link, .. } => link,
        _ => 0,
    };
    let mut answer: Answer = std::mem::take(&mut context.own.cursor(link).answer);
    // SAFETY: the server is lent to `Thread::resume`, within which this is called.
    let reply = unsafe { (*server).ask(want, &context.own.command, &mut answer) };
    context.own.cursor(link).answer = answer;
    let counts = &mut context.own.counts;
    match (&reply, want) {
        (Reply::Rows, _) => counts.reads += 1,
        (Reply::Done(0), Want::Answer { .. }) => counts.other += 1,
        (Reply::Done(_), Want::Answer { .. }) => counts.writes += 1,
        _ => {}
    }
    context.put(&reply, link);
}

unsafe extern "C" fn fetch(pointer: *mut Context, link: u32) -> bool {
    // SAFETY: the module's.
    unsafe { context(pointer) }.fetch(link as usize)
}

unsafe extern "C" fn close_link(pointer: *mut Context, link: u32) {
    // SAFETY: the module's.
    let own = unsafe { &mut context(pointer).own };
    own.forgotten.retain(|&(of, _)| of != link);
    own.closed.push(link as usize);
}

unsafe extern "C" fn close_statement(pointer: *mut Context, link: u32, statement: u32) {
    // SAFETY: the module's.
    let own = unsafe { &mut context(pointer).own };
    if !own.closed.contains(&(link as usize)) {
        own.forgotten.push((link, statement));
    }
}

unsafe extern "C" fn count(pointer: *mut Context, counter: c_int, error: c_int) {
    // SAFETY: the module's.
    let counts = unsafe { &mut context(pointer).own.counts };
    match counter {
        0 => counts.other += 1,
        1 => counts.reads += 1,
        2 => counts.writes += 1,
        4 => {
            counts.errors += 1;
            counts.error = u16::try_from(error).unwrap_or(0);
        }
        5 => counts.reconnects += 1,
        // Events are counted by themselves.
        _ => {}
    }
}

unsafe extern "C" fn log(_: *mut Context, level: c_int, words: *const c_char, length: usize) {
    // SAFETY: the module's.
    say_log(level, &unsafe { text(words, length) });
}

unsafe extern "C" fn say(pointer: *mut Context, words: *const c_char, length: usize) {
    // SAFETY: the module's.
    unsafe {
        let words = text(words, length);
        context(pointer).own.said.push(words);
    }
}

unsafe extern "C" fn task(pointer: *mut Context) {
    // SAFETY: the module's.
    unsafe { context(pointer) }.own.task_over = true;
}

unsafe extern "C" fn fail(pointer: *mut Context, words: *const c_char, length: usize) {
    // SAFETY: the module's.
    unsafe {
        let words = text(words, length);
        context(pointer).own.failure = Some(words);
    }
}

/// A file's text: one that came with the script, one of Niagara's own, or one that is there, which is remembered.
unsafe extern "C" fn read_file(pointer: *mut Context, path: *const c_char, length: usize) -> bool {
    // SAFETY: the module's.
    let (context, path) = unsafe { (context(pointer), text(path, length)) };
    if let Some(own) = path.strip_prefix("niagara:") {
        return match shipped::module(own) {
            Some(text) => {
                context.set_message(text.as_bytes());
                true
            }
            None => false,
        };
    }
    let known = context.own.files.get(&path).cloned();
    let text = known.or_else(|| {
        let bytes = std::fs::read(&path).ok()?;
        Some(lua_text(&bytes))
    });
    match text {
        Some(text) => {
            context.set_message(text.as_bytes());
            context.own.files.insert(path, text);
            true
        }
        None => false,
    }
}

unsafe extern "C" fn rand_bits(pointer: *mut Context) -> u64 {
    // SAFETY: the module's, here and below.
    unsafe { context(pointer) }.own.random.bits()
}

unsafe extern "C" fn rand_fraction(pointer: *mut Context) -> f64 {
    // SAFETY: the module's.
    unsafe { context(pointer) }.own.random.fraction()
}

unsafe extern "C" fn rand_default(pointer: *mut Context, from: u32, to: u32) -> u32 {
    // SAFETY: the module's.
    unsafe { context(pointer) }.own.random.draw(from, to)
}

unsafe extern "C" fn rand_uniform(pointer: *mut Context, from: u32, to: u32) -> u32 {
    // SAFETY: the module's.
    unsafe { context(pointer) }.own.random.uniform(from, to)
}

unsafe extern "C" fn rand_gaussian(pointer: *mut Context, from: u32, to: u32) -> u32 {
    // SAFETY: the module's.
    unsafe { context(pointer) }.own.random.gaussian(from, to)
}

unsafe extern "C" fn rand_special(pointer: *mut Context, from: u32, to: u32) -> u32 {
    // SAFETY: the module's.
    unsafe { context(pointer) }.own.random.special(from, to)
}

unsafe extern "C" fn rand_pareto(pointer: *mut Context, from: u32, to: u32) -> u32 {
    // SAFETY: the module's.
    unsafe { context(pointer) }.own.random.pareto(from, to)
}

unsafe extern "C" fn rand_unique(pointer: *mut Context) -> u32 {
    // SAFETY: the module's.
    unsafe { context(pointer) }.own.unique.draw()
}

unsafe extern "C" fn rand_fill(pointer: *mut Context, buffer: *mut c_char, length: usize) {
    // SAFETY: the module's; the buffer is the script's, of that length.
    unsafe {
        let text = std::slice::from_raw_parts_mut(buffer.cast::<u8>(), length);
        context(pointer).own.random.fill(text);
    }
}

unsafe extern "C" fn histogram_new(size: usize, least: f64, most: f64) -> *mut LogHistogram {
    match LogHistogram::new(size, least, most) {
        Some(histogram) => Box::into_raw(Box::new(histogram)),
        None => null_mut(),
    }
}

unsafe extern "C" fn histogram_update(histogram: *mut LogHistogram, value: f64) {
    // SAFETY: it came from `histogram_new`; the script's table holds it.
    unsafe { (*histogram).add(value, 1) };
}

unsafe extern "C" fn histogram_print(_: *mut Context, histogram: *mut LogHistogram) {
    // SAFETY: as above.
    let lines = unsafe { (*histogram).lines() };
    crate::log::print(&lines);
}

unsafe extern "C" fn histogram_delete(histogram: *mut LogHistogram) {
    // SAFETY: it came from `into_raw`, and the script's table that held it is gone.
    drop(unsafe { Box::from_raw(histogram) });
}

unsafe extern "C" fn driver(_: *mut Context) {
    HAS_DRIVER.store(true, Ordering::Relaxed);
}
