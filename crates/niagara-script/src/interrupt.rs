//! Interrupts a script that does not come back.
//!
//! LuaJIT lets a hook be set from a signal's handler on the thread that runs the interpreter, and nowhere else while it runs. So
//! the watch sends that thread a signal, whose handler finds the interpreter in a variable of the thread.

use crate::lua::{LUA_MASKCOUNT, lua_Debug, lua_State, lua_sethook, luaL_error};
use niagara_load::Interrupter;
use std::cell::Cell;
use std::ffi::c_int;
use std::ptr::null_mut;
use std::sync::{Arc, Once};

/// A signal that nobody else uses: by itself it does nothing.
const SIGNAL: c_int = libc::SIGURG;

thread_local! {
    /// What this thread runs.
    static CURRENT: Cell<*mut lua_State> = const { Cell::new(null_mut()) };
}

/// Says that `state` runs on this thread until the value is dropped.
pub struct Runs(());

impl Runs {
    pub fn now(state: *mut lua_State) -> Self {
        CURRENT.set(state);
        Runs(())
    }
}

impl Drop for Runs {
    fn drop(&mut self) {
        CURRENT.set(null_mut());
    }
}

/// What ends whatever script runs on the calling thread, from another thread.
pub fn interrupter() -> Interrupter {
    static HANDLER: Once = Once::new();
    HANDLER.call_once(|| {
        // SAFETY: the handler only reads a variable of its thread and sets a hook, both of which may be done in a handler.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = handle as extern "C" fn(c_int) as usize;
            action.sa_flags = libc::SA_RESTART;
            libc::sigaction(SIGNAL, &raw const action, null_mut());
        }
    });
    // SAFETY: it has no conditions.
    let thread = unsafe { libc::pthread_self() };
    Arc::new(move || {
        // SAFETY: the watch that calls this is joined before its loop, on whose thread this was made, ends.
        unsafe { libc::pthread_kill(thread, SIGNAL) };
    })
}

extern "C" fn handle(_signal: c_int) {
    let state = CURRENT.get();
    if !state.is_null() {
        // SAFETY: the interpreter runs on this very thread, at the place where the signal has come; its manual allows a
        // hook to be set there.
        unsafe { lua_sethook(state, Some(raise), LUA_MASKCOUNT, 1) };
    }
}

unsafe extern "C-unwind" fn raise(state: *mut lua_State, _: *mut lua_Debug) {
    // SAFETY: the interpreter calls its hook with itself; there is nothing in this frame to be dropped.
    unsafe {
        lua_sethook(state, None, 0, 0);
        luaL_error(
            state,
            c"interrupted: time is over, and the script has not come back".as_ptr(),
        );
    }
}
