//! A setting as a start has it: one form for the many that option files know.

use niagara_model::SettingReason;
use niagara_server::{is_flag, is_repeated, is_switches, repeated, switched};

use super::known_options::{Prefix, Takes};

/// A setting of a start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Setting {
    /// The option that it is about: of one option the last setting counts.
    pub option: String,
    /// The name that a server is given.
    pub name: String,
    /// Its value; nothing is a flag.
    pub value: String,
}

impl Setting {
    /// Adds what an earlier line said, where lines of this option add up.
    pub(super) fn follow(&mut self, earlier: &Setting) {
        if self.name != earlier.name {
            return;
        }
        if is_switches(&self.name) {
            self.value = switched(&earlier.value, &self.value);
        } else if is_repeated(&self.name) {
            self.value = repeated(&earlier.value, &self.value);
        }
    }
}

/// What `prefix` and `value` make of an option, as servers read them.
///
/// # Errors
/// Why the line says nothing.
pub(super) fn setting(
    prefix: Prefix,
    option: &str,
    value: Option<&str>,
    takes: Takes,
) -> Result<Setting, SettingReason> {
    let of = |name: String, value: &str| Setting {
        option: option.to_owned(),
        name,
        value: value.to_owned(),
    };
    let on = || {
        let value = match takes {
            Takes::Number(_) => "1",
            Takes::Switch | Takes::Text(_) => "",
        };
        of(option.to_owned(), value)
    };
    let off = || of(format!("skip_{option}"), "");
    // `skip_x=0` is `x`, and any other value is passed over.
    let is_undone = value == Some("0");
    Ok(match (prefix, value, takes) {
        (Prefix::Skip, ..) => match is_undone {
            true => on(),
            false => off(),
        },
        (Prefix::Enable, ..) => match is_undone {
            true => off(),
            false => on(),
        },
        // The most that a session may set is another matter than what is set.
        (Prefix::Maximum, value, _) => {
            let name = format!("maximum_{option}");
            Setting {
                option: name.clone(),
                name,
                value: value.unwrap_or_default().to_owned(),
            }
        }
        (Prefix::Autoset, ..) => of(format!("autoset_{option}"), ""),
        (Prefix::None, None, Takes::Number(false) | Takes::Text(false)) => {
            return Err(SettingReason::NoValue);
        }
        (Prefix::None, None, _) => of(option.to_owned(), ""),
        // `x =` is none of the words for ON, and 0 where a number is wanted.
        (Prefix::None, Some(""), Takes::Switch) => of(option.to_owned(), "OFF"),
        (Prefix::None, Some(""), Takes::Number(_)) => of(option.to_owned(), "0"),
        (Prefix::None, Some(""), Takes::Text(false)) if is_flag(option, "") => {
            return Err(SettingReason::EmptyValue);
        }
        (Prefix::None, Some(value), _) => of(option.to_owned(), value),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_what_servers_make_of_it() {
        let of = |prefix, option: &str, value: Option<&str>, takes| {
            setting(prefix, option, value, takes).map(|it| format!("{}={}", it.name, it.value))
        };
        let (number, text, log_bin) = (Takes::Number(false), Takes::Text(false), Takes::Text(true));
        let said = |text: &str| Ok(text.to_owned());
        use Prefix::{Autoset, Enable, Maximum, None as Bare, Skip};
        for (prefix, option, value, takes, expected) in [
            (
                Bare,
                "slow_query_log",
                None,
                Takes::Switch,
                said("slow_query_log="),
            ),
            // Not a flag, which would be ON.
            (
                Bare,
                "slow_query_log",
                Some(""),
                Takes::Switch,
                said("slow_query_log=OFF"),
            ),
            (
                Bare,
                "slow_query_log",
                Some("yes"),
                Takes::Switch,
                said("slow_query_log=yes"),
            ),
            (
                Bare,
                "max_connections",
                Some(""),
                number,
                said("max_connections=0"),
            ),
            (Bare, "sql_mode", Some(""), text, said("sql_mode=")),
            (Bare, "log_bin", None, log_bin, said("log_bin=")),
            (Skip, "log_bin", None, log_bin, said("skip_log_bin=")),
            (Skip, "log_bin", Some("1"), log_bin, said("skip_log_bin=")),
            (Skip, "log_bin", Some("0"), log_bin, said("log_bin=")),
            (
                Enable,
                "event_scheduler",
                None,
                Takes::Text(true),
                said("event_scheduler="),
            ),
            (
                Enable,
                "slow_query_log",
                Some("0"),
                Takes::Switch,
                said("skip_slow_query_log="),
            ),
            (Enable, "back_log", None, number, said("back_log=1")),
            (
                Maximum,
                "sort_buffer_size",
                Some("8M"),
                number,
                said("maximum_sort_buffer_size=8M"),
            ),
            (Autoset, "back_log", None, number, said("autoset_back_log=")),
        ] {
            assert_eq!(of(prefix, option, value, takes), expected, "{option}");
        }
        let told = of(Bare, "max_connections", None, number)
            .expect_err("no value")
            .to_string();
        assert!(told.contains("no server starts"), "{told}");
        // As a flag it would take the next option of the command line for its value.
        let told = of(Bare, "character_set_filesystem", Some(""), text).expect_err("empty");
        assert!(told.to_string().contains("empty"), "{told}");
    }

    #[test]
    fn switches_and_instruments_add_up_and_nothing_else() {
        let after = |name: &str, first: &str, then: &str| {
            let of = |value: &str| Setting {
                option: name.to_owned(),
                name: name.to_owned(),
                value: value.to_owned(),
            };
            let mut new = of(then);
            new.follow(&of(first));
            new.value
        };
        assert_eq!(
            after("optimizer_switch", "mrr=on,rowid_filter=off", "mrr=off"),
            "rowid_filter=off,mrr=off"
        );
        assert_eq!(
            after(
                "performance_schema_instrument",
                "wait/%=OFF",
                "statement/%=ON"
            ),
            "wait/%=OFF;statement/%=ON"
        );
        assert_eq!(after("sql_mode", "ANSI", "TRADITIONAL"), "TRADITIONAL");
    }
}
