//! Variants as people write them: `base`, `malloc=jemalloc,transport=unix`, `mysql-9.7+cfg.innodb_io_capacity=2000`.

use std::collections::BTreeSet;
use std::path::Path;

use niagara_capture::rewrite::Rewrite;
use niagara_error::Explanation;
use niagara_origin::data::{ChangeStatement, change_statements};
use niagara_server::{normalise_variable, of_same_version};
use serde::Serialize;

use super::definition::Lever;
use super::rewrite_file::read_rewrites;
use niagara_build::check_build_setting;
use niagara_server::did_you_mean;

type Result<T> = std::result::Result<T, VariantError>;

/// A part of a variant that means nothing, and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct VariantError {
    /// The whole expression.
    pub text: String,
    /// First byte of the part.
    pub start: usize,
    /// The byte behind it.
    pub end: usize,
    /// What is wrong.
    pub cause: String,
    /// What to do.
    pub remedy: String,
}

impl std::fmt::Display for VariantError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let before = self.text[..self.start].chars().count();
        let length = self.text[self.start..self.end].chars().count().max(1);
        write!(
            f,
            "in the variant\n  {}\n  {}{} {}",
            self.text,
            " ".repeat(before),
            "^".repeat(length),
            self.cause
        )
    }
}

impl std::error::Error for VariantError {}

niagara_error::remedied!(VariantError, |error| Explanation::new(error.to_string())
    .remedy(&error.remedy));

/// Storage engines whose tables the workloads can be in, as servers write them.
pub(crate) const ENGINES: [&str; 4] = ["InnoDB", "Aria", "MyISAM", "ROCKSDB"];

/// An engine's name as servers write it, whatever its case here.
pub(crate) fn known_engine(name: &str) -> Option<&'static str> {
    ENGINES
        .into_iter()
        .find(|engine| engine.eq_ignore_ascii_case(name))
}

/// `did you mean myisam? ` in front of a remedy, or nothing.
pub(crate) fn meant_engine(name: &str) -> String {
    let lower = ENGINES.map(str::to_lowercase);
    did_you_mean(&name.to_lowercase(), lower.iter().map(String::as_str))
}

/// What was written, understood: a server, if named, and what is applied to it, in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct VariantExpr {
    /// A name of the catalogue or the path of a server's binary; `None` is the study's own.
    pub server: Option<String>,
    /// Levers and variables.
    pub items: Vec<Item>,
}

/// One part of a variant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub enum Item {
    /// A lever, by id.
    Lever(String),
    /// A server variable: `cfg.NAME=VALUE`.
    Variable {
        /// Name, with underscores.
        name: String,
        /// Value; empty for a flag.
        value: String,
    },
    /// The tables' storage engine: `engine=aria`.
    Engine(String),
    /// Statements that change the data: `sql=./add-index.sql`.
    Sql {
        /// What it is called: as it was written.
        #[serde(skip)]
        name: String,
        /// In order.
        statements: Vec<ChangeStatement>,
    },
    /// Statements that are sent in place of captured ones: `rewrite=./search.toml`.
    Rewrite {
        /// What it is called: as it was written.
        #[serde(skip)]
        name: String,
        /// By digest.
        rewrites: Vec<Rewrite>,
    },
    /// A part of the build: `build.KEY=VALUE`.
    Build {
        /// As in [`Recipe::set`](niagara_build::Recipe::set).
        key: String,
        /// As in [`Recipe::set`](niagara_build::Recipe::set).
        value: String,
    },
}

/// Reads a variant. Parts are separated by `,` or `+`; a part with either in it goes in quotes.
/// A part is `base` (nothing), a server, a lever (`factor=level` or its id), a variable (`cfg.NAME=VALUE`), a part of
/// the build (`build.KEY=VALUE`), statements that change the data (`sql=FILE`,
/// by its path from `folder`), or statements in place of captured ones (`rewrite=FILE`).
///
/// # Errors
/// The first part that is none of these, with its position, the cause, and the nearest known name.
pub(crate) fn parse_variant<S: AsRef<str>>(
    text: &str,
    levers: &[Lever],
    servers: &[S],
    folder: &Path,
) -> Result<VariantExpr> {
    let reader = Reader {
        text,
        levers,
        servers: servers.iter().map(AsRef::as_ref).collect(),
        folder,
    };
    let mut variant = VariantExpr::default();
    let mut chosen: Vec<&Lever> = Vec::new();
    for part in reader.parts()? {
        match reader.meaning(&part)? {
            Meaning::Nothing => {}
            Meaning::Server if variant.server.is_some() => {
                return Err(reader.error(
                    &part,
                    "a second server",
                    "a variant has one server; write two variants",
                ));
            }
            Meaning::Server => variant.server = Some(part.text),
            Meaning::Lever(lever) => {
                if chosen.iter().any(|other| other.factor() == lever.factor()) {
                    let cause = format!("{} is chosen twice", lever.factor());
                    return Err(reader.error(&part, &cause, "keep one of them"));
                }
                if let Some(other) = chosen.iter().find(|other| other.is_apart_from(lever)) {
                    let cause = format!(
                        "{} cannot be together with {}",
                        lever.spelling(),
                        other.spelling()
                    );
                    return Err(reader.error(&part, &cause, "keep one of them"));
                }
                chosen.push(lever);
                variant.items.push(Item::Lever(lever.id().to_owned()));
            }
            Meaning::Variable { name, value } => variant.items.push(Item::Variable { name, value }),
            Meaning::Build { key, value } => variant.items.push(Item::Build { key, value }),
            Meaning::Sql(statements) => variant.items.push(Item::Sql {
                name: part.text,
                statements,
            }),
            Meaning::Rewrite(rewrites) => variant.items.push(Item::Rewrite {
                name: part.text,
                rewrites,
            }),
            Meaning::Engine(name) => variant.items.push(Item::Engine(name.to_owned())),
        }
    }
    Ok(variant)
}

/// A part without its quotes, and where it stands.
#[derive(Debug)]
struct Part {
    text: String,
    start: usize,
    end: usize,
}

enum Meaning<'a> {
    Nothing,
    Server,
    Lever(&'a Lever),
    Variable { name: String, value: String },
    Build { key: String, value: String },
    Engine(&'static str),
    Sql(Vec<ChangeStatement>),
    Rewrite(Vec<Rewrite>),
}

struct Reader<'a> {
    text: &'a str,
    levers: &'a [Lever],
    servers: Vec<&'a str>,
    folder: &'a Path,
}

impl<'a> Reader<'a> {
    fn parts(&self) -> Result<Vec<Part>> {
        let mut parts = Vec::new();
        let mut part = Part {
            text: String::new(),
            start: 0,
            end: 0,
        };
        let mut quote: Option<(char, usize)> = None;
        for (at, c) in self.text.char_indices().chain([(self.text.len(), ',')]) {
            let over = at == self.text.len();
            match quote {
                Some((_, opened)) if over => {
                    part.start = opened;
                    part.end = at;
                    return Err(self.error(&part, "a quote is not closed", "close it"));
                }
                Some((mark, _)) if c == mark => quote = None,
                None if c == '\'' || c == '"' => quote = Some((c, at)),
                None if c == ',' || c == '+' => {
                    part.end = at;
                    let spaces = part.text.len() - part.text.trim_start().len();
                    part.start += spaces;
                    part.text = part.text.trim().to_owned();
                    if part.text.is_empty() {
                        return Err(self.error(
                            &part,
                            "nothing is written here",
                            "write `base` for the server as it comes",
                        ));
                    }
                    parts.push(part);
                    part = Part {
                        text: String::new(),
                        start: at + 1,
                        end: at + 1,
                    };
                }
                _ => part.text.push(c),
            }
        }
        Ok(parts)
    }

    fn meaning(&self, part: &Part) -> Result<Meaning<'a>> {
        let text = part.text.as_str();
        if text == "base" {
            return Ok(Meaning::Nothing);
        }
        if let Some(variable) = text.strip_prefix("cfg.") {
            return self.variable(part, variable);
        }
        if let Some(engine) = text.strip_prefix("engine=") {
            return match known_engine(engine.trim()) {
                Some(engine) => Ok(Meaning::Engine(engine)),
                None => Err(self.error(
                    part,
                    &format!("no storage engine is called `{}`", engine.trim()),
                    &format!(
                        "{}known: {}",
                        meant_engine(engine.trim()),
                        ENGINES.join(", ")
                    ),
                )),
            };
        }
        if let Some(change) = text.strip_prefix("sql=") {
            return change_statements(change, self.folder, text)
                .map(Meaning::Sql)
                .map_err(|mistake| self.error(part, &mistake.cause(), mistake.remedy()));
        }
        if let Some(file) = text.strip_prefix("rewrite=") {
            return read_rewrites(file, self.folder)
                .map(Meaning::Rewrite)
                .map_err(|error| self.error(part, &error.cause(), &error.remedy()));
        }
        if let Some(setting) = text.strip_prefix("build.") {
            return self.build(part, setting);
        }
        if let Some(lever) = self.levers.iter().find(|lever| lever.id() == text) {
            return Ok(Meaning::Lever(lever));
        }
        if self.servers.contains(&text) || (text.contains('/') && !text.contains('=')) {
            return Ok(Meaning::Server);
        }
        match text.split_once('=') {
            Some((factor, level)) => self.level(part, factor.trim(), level.trim()),
            None => Err(self.unknown_name(part)),
        }
    }

    fn variable(&self, part: &Part, text: &str) -> Result<Meaning<'a>> {
        let (name, value) = text.split_once('=').unwrap_or((text, ""));
        let name = normalise_variable(name);
        if name.is_empty()
            || !name
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '.')
        {
            return Err(self.error(
                part,
                &format!("`{name}` is not a variable's name"),
                "write as in cfg.innodb_io_capacity=2000",
            ));
        }
        Ok(Meaning::Variable {
            name,
            value: value.trim().to_owned(),
        })
    }

    fn build(&self, part: &Part, text: &str) -> Result<Meaning<'a>> {
        let Some((key, value)) = text.split_once('=') else {
            let remedy = "write as in build.lto=thin; docs/builds.md shows every key";
            return Err(self.error(part, &format!("build.{text} has no value"), remedy));
        };
        let (key, value) = (key.trim().to_owned(), value.trim().to_owned());
        match check_build_setting(&key, &value, Path::new("")) {
            Ok(()) => Ok(Meaning::Build { key, value }),
            Err(mistake) => Err(self.error(part, &mistake.cause, &mistake.remedy)),
        }
    }

    fn level(&self, part: &Part, factor: &str, level: &str) -> Result<Meaning<'a>> {
        let members: Vec<&Lever> = self
            .levers
            .iter()
            .filter(|lever| lever.factor() == factor && lever.level().is_some())
            .collect();
        if members.is_empty() {
            let factors: BTreeSet<&str> = self
                .levers
                .iter()
                .filter(|lever| lever.level().is_some())
                .map(Lever::factor)
                .collect();
            let meant = did_you_mean(factor, factors.iter().copied());
            let known: Vec<&str> = factors.into_iter().collect();
            return Err(self.error(
                part,
                &format!("nothing is called `{factor}`"),
                &format!(
                    "{meant}known: {}; a server variable is written cfg.{factor}={level}, a value with , or + in quotes",
                    known.join(", ")
                ),
            ));
        }
        if let Some(lever) = members.iter().find(|lever| lever.level() == Some(level)) {
            return Ok(Meaning::Lever(lever));
        }
        if level == "default"
            || members
                .iter()
                .any(|lever| lever.default_level() == Some(level))
        {
            return Ok(Meaning::Nothing);
        }
        let known: Vec<&str> = members.iter().filter_map(|lever| lever.level()).collect();
        let value = Part {
            start: part.end - level.len().min(part.end),
            ..Part {
                text: String::new(),
                ..*part
            }
        };
        Err(self.error(
            &value,
            &format!("{factor} has no level `{level}`"),
            &format!(
                "{}levels: {}, default",
                did_you_mean(level, known.iter().copied()),
                known.join(", ")
            ),
        ))
    }

    fn unknown_name(&self, part: &Part) -> VariantError {
        let text = part.text.as_str();
        let ids: Vec<&str> = self.levers.iter().map(Lever::id).collect();
        let servers = of_same_version(text, self.servers.iter().copied());
        let known = ids.iter().copied().chain(servers);
        let meant = did_you_mean(text, known);
        let factor = self
            .levers
            .iter()
            .find(|lever| lever.factor() == text && lever.level().is_some());
        let hint = match factor {
            Some(lever) => format!("choose a level, as in {}", lever.spelling()),
            None => format!(
                "{meant}write a server ({}), a lever by its id or as factor=level (`niagara levers` lists them), \
                 cfg.NAME=VALUE, build.KEY=VALUE, or the path of a server's binary",
                self.servers.join(", ")
            ),
        };
        self.error(
            part,
            &format!("no server and no lever is called `{text}`"),
            &hint,
        )
    }

    fn error(&self, part: &Part, cause: &str, remedy: &str) -> VariantError {
        let start = part.start.min(self.text.len());
        VariantError {
            text: self.text.to_owned(),
            start,
            end: part.end.clamp(start, self.text.len()),
            cause: cause.to_owned(),
            remedy: remedy.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {

    use super::*;
    use crate::lever::load;

    const SERVERS: [&str; 3] = ["mariadb-10.11", "mariadb-11.8", "mysql-9.7"];

    fn read(text: &str) -> Result<VariantExpr> {
        parse_variant(
            text,
            &load(&[]).expect("valid levers"),
            &SERVERS,
            Path::new(""),
        )
    }

    fn items(text: &str) -> Vec<Item> {
        read(text).expect("a valid variant").items
    }

    fn lever(id: &str) -> Item {
        Item::Lever(id.to_owned())
    }

    #[test]
    fn servers_levers_and_variables() {
        assert_eq!(read("base").expect("valid"), VariantExpr::default());
        assert_eq!(
            items("malloc=jemalloc,transport=unix"),
            [lever("malloc-jemalloc"), lever("transport-unix")]
        );
        assert_eq!(items("malloc-jemalloc"), items("malloc=jemalloc"));
        let both = read("mariadb-10.11+malloc=jemalloc").expect("valid");
        assert_eq!(both.server.as_deref(), Some("mariadb-10.11"));
        assert_eq!(both.items, [lever("malloc-jemalloc")]);
        assert_eq!(
            read("/opt/my/mariadbd").expect("valid").server.as_deref(),
            Some("/opt/my/mariadbd")
        );
        let variable = |name: &str, value: &str| Item::Variable {
            name: name.into(),
            value: value.into(),
        };
        assert_eq!(
            items("cfg.Innodb-Buffer-Pool-Size=1G"),
            [variable("innodb_buffer_pool_size", "1G")]
        );
        assert_eq!(items("cfg.skip_log_bin"), [variable("skip_log_bin", "")]);
        assert_eq!(
            items("cfg.optimizer_switch='mrr=on,mrr_sort_keys=on' , malloc=default"),
            [variable("optimizer_switch", "mrr=on,mrr_sort_keys=on")]
        );
        assert_eq!(items("transport=tcp"), []);
        assert_eq!(items("engine=aria"), [Item::Engine("Aria".into())]);
        let build = |key: &str, value: &str| Item::Build {
            key: key.into(),
            value: value.into(),
        };
        assert_eq!(
            items("build.compiler=clang,build.lto=thin,build.pgo='oltp_read_only+oltp_insert:2'"),
            [
                build("compiler", "clang"),
                build("lto", "thin"),
                build("pgo", "oltp_read_only+oltp_insert:2")
            ]
        );
    }

    #[test]
    fn mistakes_are_pointed_at() {
        let mistake = |text: &str| Explanation::of(&read(text).expect_err("a mistake")).to_string();
        assert_eq!(
            mistake("base+malloc=jemaloc")
                .lines()
                .take(3)
                .collect::<Vec<_>>(),
            [
                "in the variant",
                "  base+malloc=jemaloc",
                "              ^^^^^^^ malloc has no level `jemaloc`"
            ],
        );
        assert!(mistake("base+malloc=jemaloc").contains("did you mean `jemalloc`?"));
        assert!(mistake("maria-10.11").contains("did you mean `mariadb-10.11`?"));
        assert!(mistake("malloc").contains("choose a level, as in malloc="));
        assert!(mistake("maloc=jemalloc").contains("did you mean `malloc`?"));
        assert!(mistake("innodb_io_capacity=2000").contains("cfg.innodb_io_capacity=2000"));
        assert!(mistake("malloc=jemalloc,malloc=tcmalloc").contains("malloc is chosen twice"));
        assert!(
            mistake("build=clang-pgo-lto-jemalloc,malloc=tcmalloc")
                .contains("malloc=tcmalloc cannot be together with build=clang-pgo-lto-jemalloc")
        );
        assert!(mistake("mysql-9.7,mariadb-10.11").contains("a second server"));
        assert!(mistake("base,,transport=unix").contains("nothing is written here"));
        assert!(mistake("cfg.a='b").contains("a quote is not closed"));
        assert!(mistake("build.lto=fat").contains("there are: none, thin, full"));
        assert!(mistake("build.lto").contains("has no value"));
        assert!(mistake("engine=myisma").contains("did you mean `myisam`?"));
        assert!(mistake("").contains("write `base`"));
    }
}
