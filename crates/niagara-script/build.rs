//! Compiles LuaJIT, which takes make and a C compiler.

use std::env;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=CC");
    // A loop that was compiled to machine code looks for an interruption too: without this, one that never ends could not be
    // stopped. The compiler's command is the only way in that the crate leaves for a flag.
    if env::var_os("STATIC_CC").is_none() {
        let compiler = env::var("CC").unwrap_or_else(|_| "cc".into());
        let command = format!("{compiler} -DLUAJIT_ENABLE_CHECKHOOK");
        // SAFETY: nothing else runs in a build script that has just begun.
        unsafe { env::set_var("STATIC_CC", command) };
    }
    luajit_src::Build::new()
        .debug(false)
        .build()
        .print_cargo_metadata();
}
