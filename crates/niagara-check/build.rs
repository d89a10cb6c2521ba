//! Lists of tests and the script of statements are part of the program: a new file among them means building it again.

fn main() {
    println!("cargo:rerun-if-changed=../../data/checks");
}
