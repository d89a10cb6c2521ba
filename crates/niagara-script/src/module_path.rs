//! Where modules are looked for: sysbench's `package.path` and `package.cpath`.

use std::path::{Path, PathBuf};

/// Where packages and `make install` put sysbench's own scripts.
pub const SHIPPED_FOLDERS: [&str; 2] = ["/usr/share/sysbench", "/usr/local/share/sysbench"];

/// `package.path`: what `LUA_PATH` says, two semicolons in it standing for sysbench's own. Of sysbench's own scripts the files are part of
/// it where the script is run by sysbench's command line. As a workload a script is named from anywhere: what it requires may lie in
/// the folder `beside`, and what is not found otherwise may be one of [sysbench's](shipped_path).
pub fn lua_path(beside: Option<&str>) -> String {
    let own = |home: Option<&str>| {
        let mut all = vec![
            "./?.lua".to_owned(),
            "./?/init.lua".into(),
            "./src/lua/?.lua".into(),
        ];
        if let Some(home) = home {
            for place in ["5.1/?.lua", "5.1/?/init.lua", "?.lua", "?/init.lua"] {
                all.push(format!("{home}/.luarocks/share/lua/{place}"));
            }
        }
        all.push("/usr/local/share/lua/5.1/?.lua".into());
        all.push("/usr/share/lua/5.1/?.lua".into());
        if beside.is_none() {
            all.push(shipped_path());
        }
        all
    };
    let path = of_process("LUA_PATH", own);
    match beside {
        Some(folder) => format!("{};{folder}?.lua;", path.trim_end_matches(';')),
        None => path,
    }
}

/// Where sysbench's own scripts are.
pub fn shipped_path() -> String {
    SHIPPED_FOLDERS
        .map(|folder| format!("{folder}/?.lua"))
        .join(";")
}

/// `package.cpath`, by `LUA_CPATH` in the same way.
pub fn lua_cpath() -> String {
    let own = |home: Option<&str>| {
        let mut all = vec!["./?.so".to_owned()];
        if let Some(home) = home {
            all.push(format!("{home}/.luarocks/lib/lua/5.1/?.so"));
            all.push(format!("{home}/.luarocks/lib/lua/?.so"));
        }
        all.push("/usr/local/lib/lua/5.1/?.so".into());
        all.push("/usr/lib/lua/5.1/?.so".into());
        all
    };
    of_process("LUA_CPATH", own)
}

fn of_process(variable: &str, own: impl Fn(Option<&str>) -> Vec<String>) -> String {
    let text = |name: &str| std::env::var_os(name).map(|text| text.to_string_lossy().into_owned());
    filled(
        text(variable).as_deref(),
        &own(text("HOME").as_deref()).join(";"),
    )
}

/// What a variable says, if it is there, with `own` in the place of two semicolons.
fn filled(variable: Option<&str>, own: &str) -> String {
    match variable {
        Some(text) => text.replace(";;", &format!(";{own};")),
        None => format!("{own};"),
    }
}

/// The file that `require` would find for a module.
pub fn find_module(name: &str) -> Option<PathBuf> {
    first_of(&lua_path(None), name)
}

fn first_of(path: &str, name: &str) -> Option<PathBuf> {
    let name = name.replace('.', "/");
    path.split(';')
        .filter(|pattern| !pattern.is_empty())
        .map(|pattern| PathBuf::from(pattern.replace('?', &name)))
        .find(|file| file.is_file())
}

/// Whether a file is one of sysbench's own scripts, where its packages put them.
pub fn is_shipped(file: &Path) -> bool {
    let Ok(file) = file.canonicalize() else {
        return false;
    };
    let is_theirs = |folder: &Path| {
        let mut theirs = SHIPPED_FOLDERS
            .iter()
            .filter_map(|one| Path::new(one).canonicalize().ok());
        theirs.any(|one| one == folder)
    };
    file.parent().is_some_and(is_theirs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_semicolons_stand_for_sysbenchs_own() {
        assert_eq!(filled(None, "./?.lua"), "./?.lua;");
        assert_eq!(filled(Some("/a/?.lua"), "./?.lua"), "/a/?.lua");
        assert_eq!(filled(Some("/a/?.lua;;"), "./?.lua"), "/a/?.lua;./?.lua;");
    }

    #[test]
    fn the_first_file_of_the_path_is_the_module() {
        let folder = tempfile::tempdir().unwrap();
        let place = |name: &str| folder.path().join(name);
        std::fs::create_dir_all(place("b/deep")).unwrap();
        std::fs::write(place("b/one.lua"), "").unwrap();
        std::fs::write(place("b/deep/two.lua"), "").unwrap();
        let folder = folder.path().display();
        let path = format!("{folder}/a/?.lua;;{folder}/b/?.lua;");
        assert_eq!(first_of(&path, "one"), Some(place("b/one.lua")));
        assert_eq!(first_of(&path, "deep.two"), Some(place("b/deep/two.lua")));
        assert_eq!(first_of(&path, "three"), None);
        // A file of the user's, whatever its name.
        assert!(!is_shipped(&place("b/one.lua")));
    }

    #[test]
    fn sysbenchs_own_scripts_are_looked_for_last() {
        if std::env::var_os("LUA_PATH").is_none() {
            let path = lua_path(None);
            assert!(path.starts_with("./?.lua;./?/init.lua;"), "{path}");
            assert!(path.ends_with("/usr/local/share/sysbench/?.lua;"), "{path}");
        }
        let beside = lua_path(Some("/shop/"));
        assert!(beside.ends_with(";/shop/?.lua;"), "{beside}");
        assert!(!beside.contains("share/sysbench"), "{beside}");
    }
}
