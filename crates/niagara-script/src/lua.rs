//! LuaJIT's interface in C, as far as it is used.

#![allow(non_camel_case_types)]

use std::ffi::{c_char, c_int, c_void};

/// An interpreter, or a coroutine of it; it is only pointed to.
#[repr(C)]
pub struct lua_State {
    _private: [u8; 0],
}

/// What a hook is told; it is not used.
#[repr(C)]
pub struct lua_Debug {
    _private: [u8; 0],
}

pub type lua_Alloc = unsafe extern "C" fn(*mut c_void, *mut c_void, usize, usize) -> *mut c_void;
pub type lua_CFunction = unsafe extern "C-unwind" fn(*mut lua_State) -> c_int;
pub type lua_Hook = unsafe extern "C-unwind" fn(*mut lua_State, *mut lua_Debug);

/// The number type of the interpreter.
pub type lua_Integer = isize;

/// The place of the first value that a function in C was made with.
pub const FIRST_UPVALUE: c_int = LUA_GLOBALSINDEX - 1;
/// The place of the table of global variables.
pub const LUA_GLOBALSINDEX: c_int = -10002;
/// A coroutine has yielded.
pub const LUA_YIELD: c_int = 1;
/// A hook after a number of instructions.
pub const LUA_MASKCOUNT: c_int = 1 << 3;

unsafe extern "C-unwind" {
    pub fn lua_newstate(alloc: lua_Alloc, data: *mut c_void) -> *mut lua_State;
    pub fn lua_close(state: *mut lua_State);
    pub fn lua_newthread(state: *mut lua_State) -> *mut lua_State;
    pub fn lua_yield(state: *mut lua_State, results: c_int) -> c_int;
    pub fn lua_isyieldable(state: *mut lua_State) -> c_int;
    pub fn lua_pushinteger(state: *mut lua_State, number: lua_Integer);
    pub fn lua_tointeger(state: *mut lua_State, index: c_int) -> lua_Integer;
    pub fn lua_toboolean(state: *mut lua_State, index: c_int) -> c_int;
    pub fn lua_topointer(state: *mut lua_State, index: c_int) -> *const c_void;
    pub fn lua_pushcclosure(state: *mut lua_State, function: lua_CFunction, values: c_int);
    pub fn lua_resume(state: *mut lua_State, arguments: c_int) -> c_int;
    pub fn lua_cpcall(state: *mut lua_State, function: lua_CFunction, data: *mut c_void) -> c_int;
    pub fn lua_settop(state: *mut lua_State, index: c_int);
    pub fn lua_pushlightuserdata(state: *mut lua_State, pointer: *mut c_void);
    pub fn lua_touserdata(state: *mut lua_State, index: c_int) -> *mut c_void;
    pub fn lua_tolstring(state: *mut lua_State, index: c_int, length: *mut usize) -> *const c_char;
    pub fn lua_sethook(
        state: *mut lua_State,
        hook: Option<lua_Hook>,
        mask: c_int,
        count: c_int,
    ) -> c_int;
    pub fn luaL_openlibs(state: *mut lua_State);
    pub fn luaL_loadbuffer(
        state: *mut lua_State,
        text: *const c_char,
        length: usize,
        name: *const c_char,
    ) -> c_int;
    pub fn luaL_traceback(
        state: *mut lua_State,
        of: *mut lua_State,
        message: *const c_char,
        level: c_int,
    );
    pub fn luaL_error(state: *mut lua_State, format: *const c_char, ...) -> c_int;
}
