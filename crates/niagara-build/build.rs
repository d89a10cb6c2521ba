//! Patches, profiles and trainings are part of the program: a new file among them means building it again.

fn main() {
    for folder in ["patches", "pgo-profiles", "trainings"] {
        println!("cargo:rerun-if-changed=../../data/{folder}");
    }
    println!("cargo:rerun-if-changed=../../data/checks/answers.sql");
}
