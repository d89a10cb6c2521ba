//! Readable names of C++ functions.

use cpp_demangle::{DemangleOptions, Symbol};

/// `_ZN4JOIN4execEv` → `JOIN::exec`: without parameters and return type, which would fill a flame graph. Versions
/// (`malloc@@GLIBC_2.2.5`) and the compiler's marks (`.part.0`, `.cold`) go too: to a reader it is the same function.
pub(super) fn demangle(name: &str) -> String {
    let plain = name.split('@').next().unwrap_or(name);
    let (plain, _) = split_clone(plain);
    if !plain.starts_with("_Z") {
        return plain.to_owned();
    }
    let options = DemangleOptions::new().no_params().no_return_type();
    Symbol::new(plain)
        .ok()
        .and_then(|symbol| symbol.demangle_with_options(&options).ok())
        .unwrap_or_else(|| plain.to_owned())
}

/// `f.constprop.0` → `f`, `.constprop.0`.
fn split_clone(name: &str) -> (&str, &str) {
    const MARKS: [&str; 8] = [
        ".part.",
        ".constprop.",
        ".isra.",
        ".cold",
        ".lto_priv.",
        ".llvm.",
        ".warm",
        ".__uniq.",
    ];
    let cut = MARKS.iter().filter_map(|mark| name.find(mark)).min();
    name.split_at(cut.unwrap_or(name.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_what_the_source_calls_them() {
        assert_eq!(demangle("_ZN4JOIN4execEv"), "JOIN::exec");
        assert_eq!(
            demangle("_Z16dispatch_command19enum_server_commandP3THDPcjb"),
            "dispatch_command"
        );
        assert_eq!(demangle("_ZN4JOIN4execEv.part.0"), "JOIN::exec");
        assert_eq!(demangle("malloc@@GLIBC_2.2.5"), "malloc");
        assert_eq!(demangle("my_net_read.constprop.0"), "my_net_read");
        assert_eq!(demangle("_Znonsense"), "_Znonsense");
    }
}
