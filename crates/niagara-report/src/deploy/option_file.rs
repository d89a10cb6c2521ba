//! The server's variables as an option file.

use niagara_model::{Follows, Overridden, TargetSize};

use super::{DeployInput, comment, head, quoted};
use crate::number;

/// What it is called in `deploy/`.
pub const NAME: &str = "60-niagara.cnf";
/// What it is called where it is installed: sorted behind all files that begin with a digit or another letter.
pub const LAST_NAME: &str = "zz-niagara.cnf";

/// `None` when no variable is set.
pub(crate) fn option_file(input: &DeployInput) -> Option<String> {
    let options = options(input)?;
    Some(format!("{}\n{options}", head(input, &input.option_path())))
}

/// The group and its lines; `None` when no variable is set.
pub(crate) fn options(input: &DeployInput) -> Option<String> {
    if input.variant.config.is_empty() {
        return None;
    }
    let group = if input.is_mariadb() {
        "mariadb"
    } else {
        "mysqld"
    };
    let mut out = format!("[{group}]\n");
    let mut before = None;
    for (name, value) in &input.variant.config {
        let rung = input.rung_of(name);
        match rung {
            // One lever may set several, which then stand together.
            Some(rung) if before == Some(rung) => out.truncate(out.trim_end().len() + 1),
            Some(rung) => out.push_str(&comment(&rung.told())),
            None => out.push_str("# as in the measured server; not measured on its own\n"),
        }
        before = rung;
        let start = input.variant.start.as_ref();
        if let Some(there) = start.and_then(|start| start.overrides.get(name)) {
            out.push_str(&comment(&overrides(there)));
        }
        let mut sizes = input.variant.sizes.iter();
        if let Some(size) = sizes.find(|size| size.variable == *name) {
            out.push_str(&comment(&elsewhere(size)));
        }
        // Names come from lever files and command lines: whatever else they hold, they end no line.
        let name: String = name.chars().filter(|c| !c.is_control()).collect();
        out.push_str(&match input.variant.flags.contains(&name) {
            true => format!("{name}\n\n"),
            false => format!("{name} = {}\n\n", value_text(value)),
        });
    }
    out.truncate(out.trim_end().len());
    out.push('\n');
    Some(out)
}

/// Sizes of other machines that are told beside a value.
const TOLD_SIZES: usize = 5;

/// What a value that follows the machine is on others, in words.
fn elsewhere(size: &TargetSize) -> String {
    let of = |at: u64| match size.follows {
        Follows::Cpus => number::count(at as usize, "CPU"),
        Follows::Memory => format!("{} for the server", number::sized(at)),
    };
    let value = |text: &str| {
        let bytes = text
            .parse()
            .ok()
            .filter(|_| size.follows == Follows::Memory);
        bytes.map_or(text.to_owned(), number::sized)
    };
    let measured = format!(
        "measured with {} on {}",
        value(&size.measured),
        of(size.here)
    );
    if let Some(target) = &size.target {
        return format!(
            "{measured}; this is the value for {}, which was not measured",
            of(target.size)
        );
    }
    // Those around what was measured.
    let first = size
        .at
        .iter()
        .position(|at| at.size >= size.here)
        .unwrap_or(0);
    let first = first
        .saturating_sub(1)
        .min(size.at.len().saturating_sub(TOLD_SIZES));
    let others = size.at[first..].iter().take(TOLD_SIZES);
    let others: Vec<String> = others
        .map(|at| format!("{} on {}", value(&at.value), of(at.size)))
        .collect();
    let option = match size.follows {
        Follows::Cpus => "--cpus N",
        Follows::Memory => "--memory SIZE",
    };
    format!(
        "{measured}; elsewhere by its rule, not measured: {}. `niagara report DIR --format files {option}` writes this file for another one",
        others.join(", ")
    )
}

/// What a variable overrides, in words.
pub fn overrides(there: &Overridden) -> String {
    match there.value.is_empty() {
        true => format!("overrides {}", there.place),
        false => format!("overrides {}: {}", there.place, there.value),
    }
}

/// A value as the server's option parser reads it back: quotes and escapes where `#`, spaces at the
/// ends, quotes or backslashes would be taken for something else.
fn value_text(value: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-+./:,=@%*".contains(c);
    if !value.is_empty() && value.chars().all(plain) {
        return value.to_owned();
    }
    quoted(value)
}

#[cfg(test)]
mod tests {
    use super::value_text;

    #[test]
    fn values_are_quoted_where_they_must_be() {
        assert_eq!(value_text("1G"), "1G");
        assert_eq!(value_text("pool-of-threads"), "pool-of-threads");
        assert_eq!(value_text(""), "\"\"");
        assert_eq!(value_text("a #b"), "\"a #b\"");
        assert_eq!(value_text(r#"C:\new "x""#), r#""C:\\new \"x\"""#);
        assert_eq!(value_text("a\n[client]"), r#""a\n[client]""#);
    }
}
