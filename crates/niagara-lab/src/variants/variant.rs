//! A variant: a server with its build, its runtime and its configuration.

use niagara_build::Recipe;
use niagara_capture::rewrite::Rewrite;
use niagara_origin::data::ChangeStatement;
use niagara_server::{Config, ProcessSettings};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::lever::Change;

/// What one side of a duel runs: server + build + runtime + config, and the levers that made it so.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Variant {
    /// Name in the catalogue (`mariadb-10.11`) or the path of a server's binary.
    pub server: String,
    /// How its binary is made; none is the packaged one (or the one at the path).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub build: Option<Recipe>,
    /// Storage engine of its tables; none is the load's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub engine: Option<String>,
    /// Statements that are executed once on a copy of the dataset image, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sql: Vec<ChangeStatement>,
    /// Statements that are sent in place of captured ones.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rewrite: Vec<Rewrite>,
    /// What surrounds the process.
    pub runtime: ProcessSettings,
    /// The server's variables; what is not named keeps its compiled-in default.
    pub config: Config,
    /// Identifiers of the levers applied, in order: for people, they change nothing here.
    pub levers: Vec<String>,
}

impl Variant {
    /// The packaged server with its compiled-in defaults over TCP loopback.
    pub(crate) fn base(server: &str) -> Self {
        Self {
            server: server.to_owned(),
            build: None,
            engine: None,
            sql: Vec::new(),
            rewrite: Vec::new(),
            runtime: ProcessSettings::default(),
            config: Config::new(),
            levers: Vec::new(),
        }
    }

    /// This variant with one more lever; where both say something, the lever has the last word.
    pub(crate) fn with(&self, lever: &str, change: &Change) -> Self {
        let mut variant = self.clone();
        change.apply(
            &mut variant.build,
            &mut variant.runtime,
            &mut variant.config,
        );
        variant.sql.extend(change.sql.iter().cloned());
        variant.rewrite.extend(change.rewrite.iter().cloned());
        variant.levers.push(lever.to_owned());
        variant
    }

    /// A short stable name for exactly this content: the same variant has the same one in every study.
    pub fn id(&self) -> String {
        let content = match &self.build {
            None => serde_json::to_vec(&(&self.server, &self.runtime, &self.config)),
            Some(recipe) => {
                serde_json::to_vec(&(&self.server, recipe.normal(), &self.runtime, &self.config))
            }
        }
        .unwrap_or_else(|_| self.label().into_bytes());
        let engine = self.engine.iter().flat_map(|engine| engine.bytes());
        let sql = self.sql.iter().flat_map(|statement| {
            // Nothing of a statement is a zero.
            std::iter::once(0).chain(statement.text.bytes())
        });
        let rewrites = self.rewrite.iter().flat_map(|rewrite| {
            let texts = [&rewrite.digest, &rewrite.statement];
            texts.map(|text| [&[1], text.as_bytes()].concat()).concat()
        });
        let content = content.into_iter().chain(engine).chain(sql);
        let content: Vec<u8> = content.chain(rewrites).collect();
        hex::encode(&Sha256::digest(content)[..6])
    }

    /// The server and its build, in words: variants that differ in their settings alone share them.
    pub(crate) fn server_and_build(&self) -> String {
        match &self.build {
            Some(recipe) => format!("{} ({})", self.server, recipe.one_line()),
            None => self.server.clone(),
        }
    }

    /// How a person would call it: `mariadb-10.11`, `mariadb-10.11 + jemalloc + unix`,
    /// `mariadb-10.11 (gcc -O3, LTO thin) + unix`.
    pub fn label(&self) -> String {
        let mut label = self.server.clone();
        // A lever that builds is named below, in fewer words.
        let told = self.levers.iter().any(|lever| lever.starts_with("build"));
        if let (Some(recipe), false) = (&self.build, told) {
            label.push_str(&format!(" ({})", recipe.one_line()));
        }
        for lever in &self.levers {
            label.push_str(" + ");
            label.push_str(lever);
        }
        label
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_build_makes_another_variant_and_says_so() {
        let base = Variant::base("mariadb-10.11");
        let mut built = base.clone();
        built.build = Some(Recipe::default());
        assert_ne!(base.id(), built.id());
        assert_eq!(built.label(), "mariadb-10.11 (gcc)");
        let mut thin = built.clone();
        if let Some(recipe) = &mut thin.build {
            recipe.set("lto", "thin").expect("valid");
        }
        assert_ne!(thin.id(), built.id());
        thin.levers.push("build.lto=thin".to_owned());
        assert_eq!(thin.label(), "mariadb-10.11 + build.lto=thin");
        // A packaged server's has no build.
        let text = r#"{"server":"s","runtime":{},"config":{},"levers":[]}"#;
        let packaged: Variant = serde_json::from_str(text).expect("valid");
        assert_eq!(
            (packaged.build.clone(), packaged.id()),
            (None, Variant::base("s").id())
        );
    }
}
