//! The catalogue is part of the program: a new file in it means building it again. So is the library that puts a server's
//! text on huge pages: it is built here, by the same compiler, and carried as bytes.

use std::env;
use std::path::PathBuf;
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=../../data/servers");
    println!("cargo:rerun-if-changed=preload/huge_text.rs");
    let variable = |name: &str| env::var(name).unwrap_or_else(|_| panic!("cargo sets {name}"));
    let library = PathBuf::from(variable("OUT_DIR")).join("libniagara_text.so");
    let mut command = Command::new(variable("RUSTC"));
    command
        .args(["--edition", "2024", "--crate-type", "cdylib"])
        .args(["--crate-name", "niagara_text"])
        .args(["--target", &variable("TARGET")])
        .args(["-C", "opt-level=s", "-C", "panic=abort", "-C", "lto=fat"])
        .args(["-C", "codegen-units=1", "-C", "strip=symbols"]);
    if let Ok(linker) = env::var("RUSTC_LINKER") {
        command.args(["-C", &format!("linker={linker}")]);
    }
    command.arg("-o").arg(&library).arg("preload/huge_text.rs");
    let status = command.status().expect("rustc runs: cargo does too");
    assert!(
        status.success(),
        "preload/huge_text.rs does not compile: {command:?}"
    );
}
