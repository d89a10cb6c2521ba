//! What cmake asks of compiler and libraries by compiling small programs: hundreds, a minute for MariaDB, since each is optimised
//! by the profile and linked by ThinLTO as the server is. A build of the same source with the same options begins with the answers
//! that another got: one with a source change, above all.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use niagara_server::{create_private, file_digest, write_private};

use crate::order::{Order, cpu_features};
use crate::patch::changed_files;
use crate::store::{self, BuildStore};

/// Debian's list of what is installed: with another one the answers may be others.
const INSTALLED: &str = "/var/lib/dpkg/status";
/// Where libraries, headers and tools lie that no package brought: putting one there changes the folder's time.
const LOCAL: [&str; 3] = ["/usr/local/bin", "/usr/local/include", "/usr/local/lib"];
/// How the files end that say what is asked.
const ASKING: [&str; 3] = ["CMakeLists.txt", ".cmake", ".cmake.in"];

/// The file of the answers for builds of `order` with these options of cmake; none where a patch changes what is asked, or nobody
/// knows whether the system is still the same.
pub(crate) fn place(
    store: &BuildStore,
    order: &Order,
    options: &BTreeMap<String, String>,
) -> Option<PathBuf> {
    if order.patches.iter().any(|patch| asks(&patch.text)) {
        return None;
    }
    let installed = file_digest(Path::new(INSTALLED)).ok()?;
    let changed = LOCAL.map(|folder| fs::metadata(folder).map_or(0, |it| it.mtime()));
    let cpu = order.recipe.is_native().then(cpu_features);
    let tools = (&order.tools.compiler, std::env::var_os("PATH"), cpu);
    let known_by = (&order.source.digest, options, tools, installed, changed);
    let key = store::digest(&known_by).ok()?;
    Some(store.answers().join(format!("{key}.cmake")))
}

/// Whether a patch changes what cmake asks.
fn asks(patch: &str) -> bool {
    changed_files(patch).any(|path| ASKING.iter().any(|end| path.ends_with(end)))
}

/// Keeps at `place` what the cache of cmake in the folder `configured` says.
///
/// # Errors
/// The cache cannot be read, or the answers cannot be written.
pub(crate) fn keep(place: &Path, configured: &Path) -> Result<()> {
    let cache = configured.join("CMakeCache.txt");
    let text =
        fs::read_to_string(&cache).with_context(|| format!("cannot read {}", cache.display()))?;
    if let Some(folder) = place.parent() {
        create_private(folder)?;
    }
    write_private(place, script(&text).as_bytes())
}

/// The answers in a cache of cmake, as what `cmake -C` reads: of each thing tried whether it works. Those alone: what was found where,
/// versions, sizes of types and lists that a project keeps there hang together with what is made anew, and take no time.
fn script(cache: &str) -> String {
    let entries: BTreeMap<&str, &str> = cache
        .lines()
        .filter_map(|line| line.split_once(":INTERNAL="))
        .collect();
    let is_answer = |name: &str, value: &str| {
        let is_cmakes_own = name.starts_with("CMAKE_") || name.starts_with('_');
        let is_other = name.ends_with("-ADVANCED") || name.ends_with("_FOUND");
        // A size has its answer in `HAVE_NAME`, and more of it in a file.
        let is_size = entries.contains_key(format!("HAVE_{name}").as_str());
        ["", "1"].contains(&value) && !is_cmakes_own && !is_other && !is_size
    };
    entries
        .iter()
        .filter(|(name, value)| is_answer(name, value))
        .map(|(name, value)| format!("set([==[{name}]==] [==[{value}]==] CACHE INTERNAL \"\")\n"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patch_may_change_what_is_asked() {
        let patch = |file: &str| format!("--- a/{file}\n+++ b/{file}\n@@ -1 +1 @@\n-a\n+b\n");
        for file in [
            "CMakeLists.txt",
            "sql/CMakeLists.txt",
            "cmake/os/Linux.cmake",
        ] {
            assert!(asks(&patch(file)), "{file}");
        }
        assert!(!asks(&patch("sql/sql_parse.cc")));
        assert!(asks(
            &(patch("sql/sql_parse.cc") + &patch("configure.cmake"))
        ));
    }

    #[test]
    fn of_a_cache_the_answers_alone_are_taken() {
        let cache = "\
# comment
CMAKE_C_FLAGS:STRING=-O2
HAVE_MALLINFO2:INTERNAL=1
HAVE_KQUEUE:INTERNAL=
HAS_-Wlogical-op_FLAG:INTERNAL=1
HAVE_SIZEOF_CHAR:INTERNAL=TRUE
SIZEOF_CHAR:INTERNAL=1
LIBSYSTEMD_FOUND:INTERNAL=1
LIBSYSTEMD_VERSION:INTERNAL=252
__pkg_config_checked_LIBSYSTEMD:INTERNAL=1
CMAKE_HAVE_LIBC_PTHREAD:INTERNAL=1
BZIP2_LIBRARY_DEBUG-ADVANCED:INTERNAL=1
PLUGIN_LIBS:INTERNAL=csv;heap
";
        assert_eq!(
            script(cache),
            "set([==[HAS_-Wlogical-op_FLAG]==] [==[1]==] CACHE INTERNAL \"\")\n\
             set([==[HAVE_KQUEUE]==] [==[]==] CACHE INTERNAL \"\")\n\
             set([==[HAVE_MALLINFO2]==] [==[1]==] CACHE INTERNAL \"\")\n"
        );
    }
}
