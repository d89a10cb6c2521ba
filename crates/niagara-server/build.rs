//! The catalogue is part of the program: a new file in it means building it again.

fn main() {
    println!("cargo:rerun-if-changed=../../servers");
}
