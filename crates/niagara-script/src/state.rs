//! An interpreter whose memory is bounded, and the coroutine in which a script runs.

use crate::interrupt::Runs;
use crate::log::log;
use crate::lua::{
    LUA_YIELD, lua_CFunction, lua_Integer, lua_State, lua_close, lua_cpcall, lua_newstate,
    lua_newthread, lua_pushcclosure, lua_pushinteger, lua_pushlightuserdata, lua_resume,
    lua_settop, lua_tolstring, lua_touserdata, luaL_loadbuffer, luaL_openlibs, luaL_traceback,
};
use std::ffi::{c_int, c_void};
use std::ptr::{null, null_mut};

/// The log's level for those who look for a mistake.
const DEBUG: i32 = 5;

/// What a resumption came to.
#[derive(Debug, PartialEq, Eq)]
pub enum Resumed {
    Yielded,
    Returned,
    Failed(String),
}

/// An interpreter. It stays on its thread.
pub struct State {
    main: *mut lua_State,
    coroutine: *mut lua_State,
    /// What the allocator counts; freed after the interpreter.
    memory: *mut Memory,
}

struct Memory {
    used: usize,
    limit: usize,
}

impl State {
    /// An interpreter that runs `chunk` with two pointers as arguments, and `functions` after them, each of which has the first
    /// pointer as its value.
    ///
    /// # Errors
    /// The chunk cannot be read.
    pub fn new(
        limit: usize,
        chunk: &str,
        arguments: [*mut c_void; 2],
        functions: &[lua_CFunction],
    ) -> Result<Self, String> {
        let memory = Box::into_raw(Box::new(Memory { used: 0, limit }));
        // SAFETY: `memory` outlives the interpreter, which is closed first in `drop`.
        let main = unsafe { lua_newstate(allocate, memory.cast()) };
        if main.is_null() {
            // SAFETY: it came from `into_raw`, and nothing has it.
            drop(unsafe { Box::from_raw(memory) });
            return Err("there is no memory for another interpreter".into());
        }
        let mut state = State {
            main,
            coroutine: null_mut(),
            memory,
        };
        // SAFETY: the interpreter is fresh. What may fail for want of memory is called protected, but for the coroutine,
        // which is made while nothing else has been.
        unsafe {
            state.coroutine = lua_newthread(main);
            if lua_cpcall(main, open_libraries, null_mut()) != 0 {
                return Err("there is no memory for another interpreter".into());
            }
            let loaded = luaL_loadbuffer(
                state.coroutine,
                chunk.as_ptr().cast(),
                chunk.len(),
                c"=niagara".as_ptr(),
            );
            if loaded != 0 {
                return Err(state.message());
            }
            for pointer in arguments {
                lua_pushlightuserdata(state.coroutine, pointer);
            }
            for &function in functions {
                lua_pushlightuserdata(state.coroutine, arguments[0]);
                lua_pushcclosure(state.coroutine, function, 1);
            }
        }
        Ok(state)
    }

    /// Runs on after a yield, which returns these numbers.
    pub fn resume_with(&mut self, numbers: [i64; 3]) -> Resumed {
        for number in numbers {
            // SAFETY: a coroutine that has yielded has room for what it is resumed with: LUA_MINSTACK values.
            unsafe { lua_pushinteger(self.coroutine, number as lua_Integer) };
        }
        self.resume(numbers.len() as c_int)
    }

    /// Runs on; `arguments` are on the stack.
    pub fn resume(&mut self, arguments: c_int) -> Resumed {
        let _runs = Runs::now(self.coroutine);
        // SAFETY: the coroutine is fresh with its function and arguments on the stack, or has yielded.
        match unsafe { lua_resume(self.coroutine, arguments) } {
            0 => Resumed::Returned,
            LUA_YIELD => {
                // SAFETY: what was yielded is of no interest.
                unsafe { lua_settop(self.coroutine, 0) };
                Resumed::Yielded
            }
            _ => {
                let message = self.message();
                self.trace();
                Resumed::Failed(message)
            }
        }
    }

    /// Says in the log where the coroutine stood that has failed.
    fn trace(&mut self) {
        // SAFETY: the coroutine stays as it failed; the call is protected.
        unsafe { lua_cpcall(self.main, say_trace, self.coroutine.cast()) };
    }

    /// The text on top of the stack.
    fn message(&self) -> String {
        let mut length = 0;
        // SAFETY: a failed call leaves its message on top of the stack; the text stays there while it is copied.
        unsafe {
            let text = lua_tolstring(self.coroutine, -1, &raw mut length);
            if text.is_null() {
                return "(not a string)".into();
            }
            let bytes = std::slice::from_raw_parts(text.cast::<u8>(), length);
            String::from_utf8_lossy(bytes).into_owned()
        }
    }
}

impl State {
    /// Ends the interpreter, which runs its finalisers.
    pub fn close(&mut self) {
        if self.main.is_null() {
            return;
        }
        // SAFETY: nothing of the interpreter is used afterwards; its allocator's data goes last.
        unsafe {
            lua_close(self.main);
            drop(Box::from_raw(self.memory));
        }
        self.main = null_mut();
    }
}

impl Drop for State {
    fn drop(&mut self) {
        self.close();
    }
}

/// Its argument is the coroutine.
unsafe extern "C-unwind" fn say_trace(state: *mut lua_State) -> c_int {
    // SAFETY: called by `lua_cpcall` with the coroutine; nothing is to be dropped where a call may fail.
    unsafe {
        let of = lua_touserdata(state, 1).cast::<lua_State>();
        luaL_traceback(state, of, null(), 0);
        let mut length = 0;
        let text = lua_tolstring(state, -1, &raw mut length);
        if !text.is_null() {
            let bytes = std::slice::from_raw_parts(text.cast::<u8>(), length);
            log(DEBUG, &String::from_utf8_lossy(bytes));
        }
    }
    0
}

unsafe extern "C-unwind" fn open_libraries(state: *mut lua_State) -> c_int {
    // SAFETY: called by `lua_cpcall` with the interpreter.
    unsafe { luaL_openlibs(state) };
    0
}

/// The allocator of the C library, which refuses more than the limit.
unsafe extern "C" fn allocate(
    data: *mut c_void,
    block: *mut c_void,
    old: usize,
    new: usize,
) -> *mut c_void {
    // SAFETY: `data` is the `Memory` of `State::new`; blocks come from here, with the sizes that they had.
    unsafe {
        let memory = &mut *data.cast::<Memory>();
        let old = if block.is_null() { 0 } else { old };
        if new == 0 {
            libc::free(block);
            memory.used = memory.used.saturating_sub(old);
            return null_mut();
        }
        let used = memory.used.saturating_sub(old) + new;
        if new > old && used > memory.limit {
            return null_mut();
        }
        let moved = libc::realloc(block, new);
        if !moved.is_null() {
            memory.used = used;
        }
        moved
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(limit: usize, chunk: &str) -> String {
        let mut state = State::new(limit, chunk, [null_mut(); 2], &[]).unwrap();
        match state.resume(2) {
            Resumed::Failed(problem) => problem,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn memory_is_bounded() {
        let greedy = "local t = {} for i = 1, 1e6 do t[i] = ('x'):rep(1e5) .. i end";
        assert_eq!(failure(16 << 20, greedy), "not enough memory");
    }

    #[test]
    fn a_chunk_yields_returns_or_fails() {
        let mut state = State::new(
            16 << 20,
            "local a, b, c = coroutine.yield(1) assert(a + b + c == 6)",
            [null_mut(); 2],
            &[],
        )
        .unwrap();
        assert_eq!(state.resume(2), Resumed::Yielded);
        assert_eq!(state.resume_with([1, 2, 3]), Resumed::Returned);
        assert_eq!(failure(16 << 20, "error('it fails', 0)"), "it fails");
        assert!(State::new(16 << 20, "error(", [null_mut(); 2], &[]).is_err());
    }

    #[test]
    fn a_loop_without_an_end_is_interrupted() {
        for endless in [
            "while true do end",
            "local n = 0 while true do n = n + 1 end",
        ] {
            let interrupt = crate::interrupt::interrupter();
            let over = std::sync::atomic::AtomicBool::new(false);
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    while !over.load(std::sync::atomic::Ordering::Relaxed) {
                        std::thread::sleep(std::time::Duration::from_millis(20));
                        interrupt();
                    }
                });
                let problem = failure(16 << 20, endless);
                over.store(true, std::sync::atomic::Ordering::Relaxed);
                assert!(problem.contains("interrupted"), "{problem}");
            });
        }
    }
}
