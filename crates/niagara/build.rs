//! The version that `niagara --version` and results name: with the commit where `make` says it (`NIAGARA_COMMIT`).

use std::env;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=NIAGARA_COMMIT");
    let version = env::var("CARGO_PKG_VERSION").expect("cargo sets it");
    let commit = env::var("NIAGARA_COMMIT").unwrap_or_default();
    let told = match commit.is_empty() {
        true => version,
        false => format!("{version} ({commit})"),
    };
    println!("cargo:rustc-env=NIAGARA_VERSION={told}");
}
