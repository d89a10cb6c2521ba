//! Settings that a server does not take, found by asking it. It names one of them at a time at best, and often says no more than that
//! it does not start: then halves of the settings are asked for.

use anyhow::Result;
use niagara_server::{Config, is_repeated};

use super::option_name::PLUGINS;

/// A setting, or a part of its value, that a server does not take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Refused {
    /// The variable.
    pub name: String,
    /// What is refused of its value.
    pub value: String,
    /// Whether the rest of the value is taken.
    pub is_part: bool,
    /// What the server says.
    pub said: String,
}

/// What a server takes of a configuration.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Sifted {
    /// What it takes.
    pub taken: Config,
    /// What it does not.
    pub refused: Vec<Refused>,
    /// Values that it takes by another name of the same, by variable: as they were.
    pub renamed: Vec<(String, String)>,
}

/// Asks a server whether it takes settings: none, or why not.
pub(super) type Ask<'a> = dyn FnMut(&Config) -> Result<Option<String>> + 'a;

/// The settings of `config` that a server takes, and the others. A server that does not start without any of them is not asked
/// further.
///
/// # Errors
/// Those of `ask`; the server refuses the empty configuration.
pub(super) fn sift(config: &Config, ask: &mut Ask<'_>) -> Result<Sifted> {
    if ask(config)?.is_none() {
        return Ok(Sifted {
            taken: config.clone(),
            ..Sifted::default()
        });
    }
    if let Some(said) = ask(&Config::new())? {
        anyhow::bail!("{said}");
    }
    let mut sieve = Sieve {
        ask,
        found: Sifted::default(),
    };
    let all: Vec<(String, String)> = config
        .iter()
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    sieve.add(&all)?;
    sieve.add_again()?;
    Ok(sieve.found)
}

/// Another name of the same character set or collation: releases call three bytes of UTF-8 by one of two.
fn other_name(value: &str) -> Option<String> {
    let (charset, rest) = match value.split_once('_') {
        Some((charset, rest)) => (charset, format!("_{rest}")),
        None => (value, String::new()),
    };
    let other = match charset.to_ascii_lowercase().as_str() {
        "utf8" => "utf8mb3",
        "utf8mb3" => "utf8",
        _ => return None,
    };
    Some(format!("{other}{rest}"))
}

struct Sieve<'a, 'b> {
    ask: &'a mut Ask<'b>,
    found: Sifted,
}

impl Sieve<'_, '_> {
    /// Adds those of `settings` that the server takes on top of what it has taken.
    fn add(&mut self, settings: &[(String, String)]) -> Result<()> {
        let mut more = self.found.taken.clone();
        more.extend(settings.iter().cloned());
        let Some(said) = (self.ask)(&more)? else {
            self.found.taken = more;
            return Ok(());
        };
        if let [(name, value)] = settings {
            if let Some(other) = other_name(value)
                && self.asked(name, &other)?.is_none()
            {
                self.found.taken.insert(name.clone(), other);
                self.found.renamed.push((name.clone(), value.clone()));
                return Ok(());
            }
            return self.add_parts(name, value, said);
        }
        let (first, second) = settings.split_at(settings.len() / 2);
        self.add(first)?;
        self.add(second)
    }

    /// Adds those parts of a value that the server takes, where it is a list of several.
    fn add_parts(&mut self, name: &str, value: &str, said: String) -> Result<()> {
        let between = match is_repeated(name) || name == PLUGINS {
            true => ';',
            false => ',',
        };
        let parts: Vec<&str> = value.split(between).map(str::trim).collect();
        let (mut taken, mut refused): (Vec<&str>, Vec<Refused>) = (Vec::new(), Vec::new());
        if parts.len() > 1 {
            for part in parts {
                match self.asked(name, part)? {
                    None => taken.push(part),
                    Some(said) => refused.push(Refused {
                        name: name.to_owned(),
                        value: part.to_owned(),
                        is_part: true,
                        said,
                    }),
                }
            }
        }
        let rest = taken.join(&between.to_string());
        // Each by itself and not together, or none of them: the value as a whole.
        if taken.is_empty() || refused.is_empty() || self.asked(name, &rest)?.is_some() {
            self.found.refused.push(Refused {
                name: name.to_owned(),
                value: value.to_owned(),
                is_part: false,
                said,
            });
            return Ok(());
        }
        self.found.taken.insert(name.to_owned(), rest);
        self.found.refused.extend(refused);
        Ok(())
    }

    fn asked(&mut self, name: &str, value: &str) -> Result<Option<String>> {
        let mut more = self.found.taken.clone();
        more.insert(name.to_owned(), value.to_owned());
        (self.ask)(&more)
    }

    /// Adds what was refused for want of a setting that came after it.
    fn add_again(&mut self) -> Result<()> {
        for refused in std::mem::take(&mut self.found.refused) {
            if !refused.is_part && self.asked(&refused.name, &refused.value)?.is_none() {
                self.found.taken.insert(refused.name, refused.value);
            } else {
                self.found.refused.push(refused);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(settings: &[(&str, &str)]) -> Config {
        let settings = settings.iter();
        settings
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect()
    }

    /// A server that refuses these words in values, and a setting that another one has to be beside; how often it was asked.
    fn sifted(
        settings: &[(&str, &str)],
        bad: &[&str],
        needs: Option<(&str, &str)>,
    ) -> (Config, Vec<(String, bool)>, usize) {
        let mut count = 0;
        let mut ask = |config: &Config| {
            count += 1;
            let mut words = config.values().flat_map(|value| value.split([',', ';']));
            let is_bad = words.any(|word| bad.contains(&word));
            let lacks = needs.is_some_and(|(one, other)| {
                config.contains_key(one) && !config.contains_key(other)
            });
            Ok((is_bad || lacks).then(|| "no".to_owned()))
        };
        let Sifted { taken, refused, .. } = sift(&config(settings), &mut ask).unwrap();
        let refused = refused
            .into_iter()
            .map(|one| (format!("{}={}", one.name, one.value), one.is_part));
        (taken, refused.collect(), count)
    }

    #[test]
    fn good_settings_are_asked_for_once() {
        let all = [("a", "1"), ("b", "x,y")];
        assert_eq!(sifted(&all, &[], None), (config(&all), Vec::new(), 1));
    }

    #[test]
    fn words_that_are_refused_are_found_among_many_settings() {
        let names: Vec<String> = (0..100).map(|number| format!("v{number:02}")).collect();
        let mut all: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "1")).collect();
        all[7].1 = "bad";
        all[60].1 = "x,worse,y,bad";
        let (taken, refused, asked) = sifted(&all, &["bad", "worse"], None);
        assert_eq!(taken.len(), 99);
        assert_eq!(taken["v60"], "x,y");
        let expected = [("v07=bad", false), ("v60=worse", true), ("v60=bad", true)];
        let expected = expected.map(|(what, part)| (what.to_owned(), part));
        assert_eq!(refused, expected);
        assert!(asked < 60, "{asked}");
    }

    #[test]
    fn a_setting_that_needs_a_later_one_is_kept() {
        let all = [("log_bin", "x"), ("max", "bad"), ("server_id", "1")];
        let (taken, refused, _) = sifted(&all, &["bad"], Some(("log_bin", "server_id")));
        assert_eq!(taken, config(&[("log_bin", "x"), ("server_id", "1")]));
        assert_eq!(refused, [("max=bad".to_owned(), false)]);
    }

    #[test]
    fn a_character_set_is_taken_by_its_other_name() {
        let mut ask = |config: &Config| {
            let mut values = config.values();
            Ok(values
                .any(|value| value.starts_with("utf8_") || value == "utf8")
                .then(|| "no".to_owned()))
        };
        let all = config(&[
            ("character_set_server", "utf8"),
            ("collation_server", "utf8_unicode_ci"),
        ]);
        let found = sift(&all, &mut ask).unwrap();
        assert_eq!(
            found.taken,
            config(&[
                ("character_set_server", "utf8mb3"),
                ("collation_server", "utf8mb3_unicode_ci"),
            ])
        );
        assert_eq!(found.renamed.len(), 2);
        assert_eq!(found.refused, []);
    }

    #[test]
    fn a_server_that_never_starts_is_no_matter_of_settings() {
        let mut ask = |_: &Config| Ok(Some("no library".to_owned()));
        let told = sift(&config(&[("a", "1")]), &mut ask).expect_err("never");
        assert!(told.to_string().contains("no library"), "{told}");
    }
}
