//! Levers and patches are part of the program: a new file among them means building it again.

fn main() {
    println!("cargo:rerun-if-changed=../../data/levers");
    println!("cargo:rerun-if-changed=../../data/patches");
}
