//! Layers, limits and names are part of the program, and so is the library that counts allocations: it is built here, by the
//! same compiler, and carried as bytes.

use std::env;
use std::path::PathBuf;
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=shim/alloc.rs");
    println!("cargo:rerun-if-changed=data/layers");
    println!("cargo:rerun-if-changed=data/limits");
    println!("cargo:rerun-if-changed=data/function-names");
    let variable = |name: &str| env::var(name).unwrap_or_else(|_| panic!("cargo sets {name}"));
    let library = PathBuf::from(variable("OUT_DIR")).join("libniagara_alloc.so");
    let mut command = Command::new(variable("RUSTC"));
    command
        .args([
            "--edition",
            "2024",
            "--crate-type",
            "cdylib",
            "--crate-name",
            "niagara_alloc",
        ])
        .args(["--target", &variable("TARGET")])
        .args([
            "-C",
            "opt-level=3",
            "-C",
            "panic=abort",
            "-C",
            "lto=fat",
            "-C",
            "codegen-units=1",
        ])
        // Its frames are at the top of every stack that it copies.
        .args(["-C", "force-unwind-tables=yes", "-C", "strip=symbols"]);
    if let Ok(linker) = env::var("RUSTC_LINKER") {
        command.args(["-C", &format!("linker={linker}")]);
    }
    command.arg("-o").arg(&library).arg("shim/alloc.rs");
    let status = command.status().expect("rustc runs: cargo does too");
    assert!(
        status.success(),
        "shim/alloc.rs does not compile: {command:?}"
    );
}
