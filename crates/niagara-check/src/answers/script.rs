//! The statements that servers are compared by: a file of SQL with directives in comments (`data/checks/README.md`).

use anyhow::Result;
use niagara_error::bail;

/// A file of statements.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Script {
    /// In the order of the file.
    pub sections: Vec<Section>,
}

/// A group of statements that is done in one way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    /// For people.
    pub name: String,
    pub kind: Kind,
    pub scope: Scope,
    pub statements: Vec<Statement>,
}

/// What is done with a section's statements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Each once, at the beginning.
    Tables,
    /// Each this often, rows in bulk.
    Fill(usize),
    /// Each once before the changes and once after them.
    Queries,
    /// This many drawn at random, one after the other.
    Changes(usize),
}

/// Where a section applies.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Scope {
    /// Its answers are equal on all servers of the family, not only on those of one series.
    pub everywhere: bool,
    /// Only with tables of this engine.
    pub engine: Option<String>,
    /// Only on MariaDB (true), only on MySQL and Percona Server (false).
    pub mariadb: Option<bool>,
}

/// A statement, placeholders and all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement {
    /// Where it begins in its file, from 1.
    pub line: usize,
    pub text: String,
}

impl Script {
    /// Reads a file; errors name it and the line.
    pub fn parse(file: &str, text: &str) -> Result<Script> {
        let mut sections: Vec<Section> = Vec::new();
        let mut open: Option<Statement> = None;
        for (index, line) in text.lines().enumerate() {
            let number = index + 1;
            if let Some(directive) = line.strip_prefix("--@") {
                if let Some(statement) = open {
                    bail!(
                        "{file}:{}: this statement has no `;` at the end of a line", statement.line;
                        remedy: "add it"
                    );
                }
                match section(directive) {
                    Ok(section) => sections.push(section),
                    Err(cause) => bail!(
                        "{file}:{number}: {cause}";
                        remedy: "see data/checks/README.md for what a directive looks like"
                    ),
                }
                continue;
            }
            if open.is_none() && (line.trim().is_empty() || line.trim_start().starts_with("--")) {
                continue;
            }
            let statement = open.get_or_insert_with(|| Statement {
                line: number,
                text: String::new(),
            });
            if !statement.text.is_empty() {
                statement.text.push('\n');
            }
            statement.text.push_str(line.trim_end());
            if statement.text.ends_with(';') {
                statement.text.pop();
                let Some(section) = sections.last_mut() else {
                    bail!(
                        "{file}:{number}: a statement before the first section";
                        remedy: "begin with a line such as `--@ queries NAME`"
                    );
                };
                section.statements.extend(open.take());
            }
        }
        if let Some(statement) = open {
            bail!(
                "{file}:{}: this statement has no `;` at the end of a line", statement.line;
                remedy: "add it"
            );
        }
        Ok(Script { sections })
    }
}

fn section(directive: &str) -> Result<Section, String> {
    let mut words = directive.split_whitespace();
    let kind = words.next().unwrap_or_default();
    let mut count = |what: &str| {
        words
            .next()
            .and_then(|word| word.parse::<usize>().ok())
            .filter(|count| *count > 0)
            .ok_or_else(|| format!("`{what}` wants a number of times"))
    };
    let kind = match kind {
        "tables" => Kind::Tables,
        "fill" => Kind::Fill(count("fill")?),
        "queries" => Kind::Queries,
        "changes" => Kind::Changes(count("changes")?),
        other => {
            return Err(format!(
                "`{other}` is not one of tables, fill, queries, changes"
            ));
        }
    };
    let mut scope = Scope::default();
    let mut name: Vec<&str> = Vec::new();
    for word in words {
        match word.split_once('=') {
            Some(("engine", engine)) => scope.engine = Some(engine.to_owned()),
            Some(("only", "mariadb")) => scope.mariadb = Some(true),
            Some(("only", "mysql")) => scope.mariadb = Some(false),
            Some(_) => return Err(format!("`{word}` is not a scope")),
            None if word == "everywhere" => scope.everywhere = true,
            None => name.push(word),
        }
    }
    if name.is_empty() {
        return Err("a section has a name".to_owned());
    }
    Ok(Section {
        name: name.join(" "),
        kind,
        scope,
        statements: Vec::new(),
    })
}

/// Whether the statement says in which order its rows come: an ORDER BY outside of all parentheses and quotes.
pub(crate) fn is_ordered(statement: &str) -> bool {
    let mut depth = 0_i32;
    let mut quote = None;
    let mut outside = String::new();
    let mut escaped = false;
    for c in statement.chars() {
        match quote {
            Some(_) if escaped => escaped = false,
            Some(_) if c == '\\' => escaped = true,
            Some(open) if c == open => quote = None,
            Some(_) => {}
            None => match c {
                '\'' | '"' | '`' => quote = Some(c),
                '(' => depth += 1,
                ')' => depth -= 1,
                _ if depth == 0 => outside.push(if c.is_whitespace() { ' ' } else { c }),
                _ => {}
            },
        }
    }
    let words: Vec<String> = outside
        .split(' ')
        .filter(|word| !word.is_empty())
        .map(str::to_ascii_uppercase)
        .collect();
    words.windows(2).any(|pair| pair == ["ORDER", "BY"])
}

#[cfg(test)]
mod tests {
    use niagara_error::Explain as _;

    use super::*;

    #[test]
    fn sections_and_statements_with_their_lines() {
        let script = Script::parse(
            "a.sql",
            "-- words\n--@ tables all of them everywhere\nCREATE TABLE t\n  (id INT);\n\n--@ fill 20 t\n\
             INSERT INTO t VALUES (1);\n--@ queries window functions only=mariadb engine=InnoDB\n\
             SELECT ';' FROM t;\n-- more\nSELECT 2;\n",
        )
        .expect("valid");
        let [tables, fill, queries] = &script.sections[..] else {
            panic!("{script:?}")
        };
        assert_eq!(
            (tables.name.as_str(), tables.scope.everywhere),
            ("all of them", true)
        );
        assert_eq!(tables.statements[0].text, "CREATE TABLE t\n  (id INT)");
        assert_eq!(fill.kind, Kind::Fill(20));
        assert_eq!(queries.name, "window functions");
        assert_eq!(queries.scope.mariadb, Some(true));
        assert_eq!(queries.scope.engine.as_deref(), Some("InnoDB"));
        let lines: Vec<usize> = queries.statements.iter().map(|s| s.line).collect();
        assert_eq!(lines, [9, 11]);
    }

    #[test]
    fn mistakes_are_told_with_file_and_line() {
        for (text, told) in [
            ("SELECT 1;\n", "a.sql:1: a statement before"),
            ("--@ nonsense x\n", "a.sql:1: `nonsense`"),
            ("--@ fill many x\n", "a.sql:1: `fill` wants"),
            ("\n--@ queries\n", "a.sql:2: a section has a name"),
            ("--@ queries x since=3\n", "`since=3` is not a scope"),
            (
                "--@ queries x\nSELECT 1\n",
                "a.sql:2: this statement has no `;`",
            ),
            (
                "--@ queries x\nSELECT 1\n--@ queries y\n",
                "a.sql:2: this statement has no `;`",
            ),
        ] {
            let error = Script::parse("a.sql", text)
                .expect_err(text)
                .explain()
                .to_string();
            assert!(error.contains(told) && error.contains("remedy"), "{error}");
        }
    }

    #[test]
    fn rows_are_ordered_only_by_an_outer_order_by() {
        assert!(is_ordered("SELECT a FROM t order\n by a"));
        assert!(!is_ordered(
            "SELECT a FROM (SELECT a FROM t ORDER BY a LIMIT 3) x"
        ));
        assert!(!is_ordered("SELECT 'x ORDER BY y' FROM t"));
        assert!(!is_ordered(r"SELECT 'it\'s ORDER BY y'"));
        assert!(!is_ordered("SELECT ROW_NUMBER() OVER (ORDER BY a) FROM t"));
        assert!(is_ordered("(SELECT 1) UNION (SELECT 2) ORDER BY 1"));
    }
}
