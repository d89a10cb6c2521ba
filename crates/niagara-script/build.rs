//! Compiles LuaJIT, which takes make and a C compiler.

use std::env;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    // A loop that was compiled to machine code looks for an interruption too: without this, one that never ends could not be
    // stopped. The compiler's command is the only way in that the crate leaves for a flag.
    if env::var_os("STATIC_CC").is_none() {
        // The target's, which need not be the machine's own.
        let compiler = cc::Build::new().warnings(false).get_compiler();
        let command = format!(
            "{} {} -DLUAJIT_ENABLE_CHECKHOOK",
            compiler.path().display(),
            compiler.cflags_env().display()
        );
        // SAFETY: nothing else runs in a build script that has just begun.
        unsafe { env::set_var("STATIC_CC", command) };
    }
    luajit_src::Build::new()
        .debug(false)
        .build()
        .print_cargo_metadata();
}
