//! Patches, profiles and trainings are part of the program: a new file among them means building it again.

fn main() {
    for folder in ["patches", "profiles", "trainings"] {
        println!("cargo:rerun-if-changed=../../{folder}");
    }
    println!("cargo:rerun-if-changed=../../checks/answers.sql");
}
