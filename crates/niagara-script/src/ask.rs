//! The functions by which scripts send statements. They are called through the interpreter's own interface rather than the foreign
//! one, because they yield: one call sends a statement and returns how it went, its rows and its columns.
//!
//! They run within `Thread::resume`, as those of [`api`](crate::api) do. None of them drops anything where it yields or returns.

use crate::api;
use crate::command::{self, Bind};
use crate::context::Context;
use crate::lua::{
    FIRST_UPVALUE, lua_CFunction, lua_Integer, lua_State, lua_isyieldable, lua_pushinteger,
    lua_pushlightuserdata, lua_toboolean, lua_tointeger, lua_tolstring, lua_topointer,
    lua_touserdata, lua_yield,
};
use niagara_load::CommandKind;
use std::ffi::c_int;

/// All of them, as `boot.lua` takes them.
pub const ASKING: [lua_CFunction; 2] = [query, execute];

/// The thread's context, with which the functions were made.
///
/// # Safety
/// The state is that of a call of one of them.
unsafe fn pointer(state: *mut lua_State) -> *mut Context {
    // SAFETY: the caller's.
    unsafe { lua_touserdata(state, FIRST_UPVALUE).cast() }
}

/// The command is written: waits for its answer.
///
/// # Safety
/// As [`pointer`].
unsafe fn wait(state: *mut lua_State, context: *mut Context) -> c_int {
    // SAFETY: the caller's; a call has room for twenty values.
    unsafe {
        if lua_isyieldable(state) != 0 {
            // As `THROUGH` in `boot.lua`: a coroutine of the script has all yield that it is within.
            lua_pushlightuserdata(state, context.cast());
            return lua_yield(state, 1);
        }
        api::ask(context);
        let answer = api::context(context).mailbox.answer();
        for number in answer {
            lua_pushinteger(state, number as lua_Integer);
        }
        answer.len() as c_int
    }
}

/// A statement in text: the link, the text.
unsafe extern "C-unwind" fn query(state: *mut lua_State) -> c_int {
    // SAFETY: the interpreter calls it; the text is an argument, and stays while it is copied.
    unsafe {
        let mut length = 0;
        let link = lua_tointeger(state, 1) as u32;
        let text = lua_tolstring(state, 2, &raw mut length);
        let sql = match text.is_null() {
            true => &[],
            false => std::slice::from_raw_parts(text.cast::<u8>(), length),
        };
        let context = pointer(state);
        command::query(
            api::begin(api::context(context), link, CommandKind::Text),
            sql,
        );
        wait(state, context)
    }
}

/// A statement that was prepared: the link, its number, its binds as an array of the foreign interface, how many, whether their
/// types are sent.
unsafe extern "C-unwind" fn execute(state: *mut lua_State) -> c_int {
    // SAFETY: the interpreter calls it; the script's statement holds the binds and their parameters, and says how many they are.
    unsafe {
        let link = lua_tointeger(state, 1) as u32;
        let statement = lua_tointeger(state, 2) as u32;
        let binds = lua_topointer(state, 3).cast::<Bind>();
        let count = lua_tointeger(state, 4) as u32;
        let sends_types = lua_toboolean(state, 5) != 0;
        let context = pointer(state);
        let out = api::begin(api::context(context), link, CommandKind::Execute);
        command::execute(out, statement, api::all(binds, count), sends_types);
        wait(state, context)
    }
}
