//! What a script says of itself when it is loaded.

use niagara_load::{ScriptInfo, ScriptOption, ScriptOptionKind};

/// Reads what `cmdline.lua` has said, field by field: the script's own words, and its hooks.
pub fn read(said: &[String]) -> (ScriptInfo, Vec<String>) {
    let mut info = ScriptInfo::default();
    let mut hooks = Vec::new();
    let mut fields = said.iter().map(String::as_str);
    while let Some(field) = fields.next() {
        let mut next = || fields.next().unwrap_or_default().to_owned();
        match field {
            "options" => {
                next();
                info.options = Some(Vec::new());
            }
            "option" => {
                let (name, help, kind) = (next(), next(), next());
                let (has_default, default) = (next() == "+", next());
                info.options.get_or_insert_default().push(ScriptOption {
                    name: name.clone(),
                    help,
                    kind: option_kind(&kind),
                    default: has_default.then_some(default),
                });
            }
            "function" => info.functions.push(next()),
            "command" => {
                let (name, shared) = (next(), next() == "+");
                info.commands.insert(name, shared);
            }
            "hook" => hooks.push(next()),
            _ => {}
        }
    }
    (info, hooks)
}

/// sysbench's numbers of its kinds of options.
fn option_kind(number: &str) -> ScriptOptionKind {
    match number {
        "1" => ScriptOptionKind::Flag,
        "2" => ScriptOptionKind::Integer,
        "3" => ScriptOptionKind::Size,
        "4" => ScriptOptionKind::Number,
        "6" => ScriptOptionKind::List,
        "7" => ScriptOptionKind::File,
        _ => ScriptOptionKind::Text,
    }
}

/// Calls that take the thread of the system away from the others.
const BLOCKING: [&str; 8] = [
    "os.execute",
    "io.popen",
    "io.read",
    "io.lines()",
    "ffi.load",
    "require(\"socket",
    "require('socket",
    "require \"socket",
];

/// Among them, what the script's library does without the system.
const RESTING: [&str; 2] = ["os.execute(\"sleep \"", "os.execute('sleep '"];

/// Functions of C that the script's library has in place of the system's, or that do not wait.
const HARMLESS: [&str; 8] = [
    "usleep",
    "sleep",
    "rand",
    "time",
    "getpid",
    "strlen",
    "memcpy",
    "gettimeofday",
];

/// Calls that do something beside the server.
const REACHING_OUT: [&str; 8] = [
    "io.open",
    "io.output",
    "io.popen",
    "os.execute",
    "os.exit",
    "os.remove",
    "os.rename",
    "os.tmpname",
];

/// The code on each line of a text, without its comment.
fn code(text: &str) -> impl Iterator<Item = &str> {
    text.lines()
        .map(|line| line.split("--").next().unwrap_or_default())
}

/// Whether a text calls what is not to be done just to try it.
pub fn reaches_out(text: &str) -> bool {
    code(text).any(|line| REACHING_OUT.iter().any(|call| line.contains(call)))
}

/// Whether a text calls what the load generator cannot wait for on its behalf.
pub fn blocks(text: &str) -> bool {
    code(text).any(|line| {
        let rests = RESTING.iter().any(|call| line.contains(call));
        (!rests && BLOCKING.iter().any(|call| line.contains(call)))
            || line.match_indices("ffi.C.").any(|(place, found)| {
                let name = &line[place + found.len()..];
                let end = name.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
                let name = &name[..end.unwrap_or(name.len())];
                let exported = ["sb_", "SB_"].iter().any(|start| name.starts_with(start));
                !exported && !HARMLESS.contains(&name)
            })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_read() {
        let said: Vec<String> = [
            "options",
            "2",
            "option",
            "rows",
            "how many",
            "4",
            "+",
            "10",
            "option",
            "name",
            "who",
            "5",
            "-",
            "",
            "function",
            "event",
            "command",
            "prepare",
            "+",
            "hook",
            "report_cumulative",
        ]
        .iter()
        .map(|field| (*field).to_owned())
        .collect();
        let (info, hooks) = read(&said);
        let options = info.options.clone().unwrap();
        assert_eq!(options[0].default.as_deref(), Some("10"));
        assert_eq!(options[1].default, None);
        assert!(info.has("event") && info.has("prepare") && !info.has("cleanup"));
        assert!(info.commands["prepare"]);
        assert_eq!(hooks, ["report_cumulative"]);
        assert_eq!(read(&[]).0.options, None);
    }

    #[test]
    fn what_is_not_done_just_to_try_it_is_seen() {
        assert!(reaches_out("local f = io.open('rates.csv', 'a')"));
        assert!(!reaches_out("print(os.time()) -- io.open is not called"));
    }

    #[test]
    fn what_cannot_be_waited_for_is_seen() {
        for text in [
            "os.execute('ls')",
            "x = 1 ffi.C.poll(nil, 0, 5)",
            "local lib = ffi.load('mysqlclient')",
        ] {
            assert!(blocks(text), "{text}");
        }
        for text in [
            "ffi.C.usleep(5)",
            "os.execute(\"sleep \" .. tonumber(n))",
            "ffi.C.sb_counter_inc(0, ffi.C.SB_CNT_ERROR)",
            "-- os.execute is not called",
            "con:query('SELECT 1')",
        ] {
            assert!(!blocks(text), "{text}");
        }
    }
}
