//! The configuration that a study starts from, as one server takes it: what is kept with its places, what is not with the
//! reasons.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::Result;
use niagara_error::Explain as _;
use niagara_model::{LostSetting, OriginNote, SettingReason};
use niagara_server::{
    Around, Cache, Config, ImageStore, Install, LaunchSpec, ProcessSettings, StartFailed, launch,
    layout_of, plugin_folder_of,
};

use super::dropped_settings::{dropped_settings, log_name, neutralised_plugin};
use super::effective::effective;
use super::known_options::{Known, KnownOptions};

use super::persisted::Persisted;
use super::place::Place;
use super::secret::shown_setting;
use super::setting::{Setting, setting};
use super::size::{number, shown};
use super::source::{ConfigSource, SET_PERSIST};
use super::successor::successor;
use super::trial::{Refused, sift};
use crate::data::DataSource;
use crate::data::elsewhere::is_plugin;

/// Memory that is reserved whole when a server starts.
const BIG: [&str; 4] = [
    "innodb_buffer_pool_size",
    "key_buffer_size",
    "aria_pagecache_buffer_size",
    "rocksdb_block_cache_size",
];
/// The same of key caches that have a name.
const OF_A_KEY_CACHE: &str = ".key_buffer_size";
/// The option of the time zone that sessions begin with.
const TIME_ZONE: &str = "default_time_zone";
/// The malloc of servers that nobody has given another.
const SYSTEM_MALLOC: &str = "glibc";
/// The data directory that settings are tried out on, and the engine of its tables.
const EMPTY: &str = "empty";
const ENGINE: &str = "InnoDB";
/// What a size that does not fit here is rounded down to.
const STEP: u64 = 128 << 20;

/// A setting of the original that is smaller here than there: what it is there was not measured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lowered {
    /// As the original has it.
    pub yours: String,
    /// As the start has it.
    pub here: String,
}

/// A start's configuration. The default is a server as it comes.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct StartConfiguration {
    /// Where it is from, for people.
    pub from: String,
    /// The settings that are kept, as variables.
    pub config: Config,
    /// Where each of them stands: `/etc/mysql/my.cnf line 12`.
    pub places: BTreeMap<String, String>,
    /// The files and lines behind the places, where there are some.
    pub lines: BTreeMap<String, Place>,
    /// Of those of a running server, and of what is persisted: what set each, [`SET_GLOBAL`](super::SET_GLOBAL) or its like.
    pub origins: BTreeMap<String, String>,
    /// What the original has and the start goes without.
    pub left_out: Vec<LostSetting>,
    /// Sizes that do not fit into this machine, by name.
    pub lowered: BTreeMap<String, Lowered>,
    /// The malloc that a running server has and the start is preloaded with; none where that is the server's own.
    pub malloc: Option<String>,
    /// Compiled-in values of the server, by name.
    pub defaults: BTreeMap<String, String>,
    /// Option files in the order in which they are read.
    pub files: Vec<PathBuf>,
    /// Folders that an option file includes, each with the place of that line.
    pub folders: Vec<(PathBuf, Place)>,
    /// What else was noticed.
    pub remarks: Vec<OriginNote>,
    /// Variables that are left out because no option has their name, each with its place among those.
    pub unknown: Vec<(String, usize)>,
}

/// A setting on its way.
struct Given {
    name: String,
    value: Option<String>,
    said: String,
    place: String,
    line: Option<Place>,
    /// What set it, by a running server.
    origin: Option<String>,
}

/// The size to which those above it are lowered so that all together have `room`; `None` where they have it as they are.
fn most_of_each(sizes: &[f64], room: f64) -> Option<f64> {
    let mut ascending = sizes.to_vec();
    ascending.sort_by(f64::total_cmp);
    let mut left = room;
    for (place, size) in ascending.iter().enumerate() {
        let share = left / (ascending.len() - place) as f64;
        if *size > share {
            return Some(share);
        }
        left -= size;
    }
    None
}

/// The server for people: `MySQL 9.7.4`.
fn named(install: &Install) -> String {
    format!("{} {}", install.family, install.version)
}

/// The name of an option without what servers take before it.
fn bare(name: &str) -> &str {
    let name = name.strip_prefix("loose_").unwrap_or(name);
    name.strip_prefix("skip_").unwrap_or(name)
}

/// Why a setting is left out that a server refuses; of one that nobody else is to read, not in the server's words.
fn refusal(refused: &Refused, shown: &str, install: &Install) -> SettingReason {
    let is_shown = shown.ends_with(&refused.value);
    let said = || without_names(&refused.said, install).to_owned();
    SettingReason::Refused {
        release: named(install),
        said: is_shown.then(said),
        is_part: refused.is_part,
    }
}

/// What a server says of a value, without its code, its part and its path.
fn without_names<'s>(mut said: &'s str, install: &Install) -> &'s str {
    while let Some((_, rest)) = said
        .strip_prefix('[')
        .and_then(|said| said.split_once("] "))
    {
        said = rest;
    }
    let path = install.server.display().to_string();
    let rest = said.strip_prefix(path.as_str());
    rest.map_or(said, |rest| rest.trim_start_matches(": "))
}

/// The first line of an error.
fn first_line(error: &anyhow::Error) -> String {
    let told = format!("{error:#}");
    told.lines().next().unwrap_or_default().to_owned()
}

/// The variables of a server that is started with `config` on an empty data directory.
fn variables_of(cache: &Cache, install: &Install, config: &Config) -> Result<BTreeSet<String>> {
    let image = ImageStore::new(cache).laid_out(&layout_of(config)).ensure(
        install,
        EMPTY,
        ENGINE,
        &mut |_| Ok(()),
        &mut |_| {},
    )?;
    let work = cache.work_folder("trial")?;
    let datadir = work.path().join("data");
    image.clone_to(&datadir)?;
    let server = launch(
        cache,
        &LaunchSpec {
            install,
            datadir,
            runtime: &ProcessSettings::default(),
            config,
        },
    )?;
    let rows = server.query("SHOW GLOBAL VARIABLES")?;
    Ok(rows
        .into_iter()
        .filter_map(|row| row.into_iter().next())
        .map(|name| name.to_lowercase())
        .collect())
}

/// Whether a time zone is an offset, such as `+01:00`.
fn is_offset(zone: &str) -> bool {
    zone.starts_with(['+', '-'])
}

/// What the data keep of SET PERSIST.
fn given_by(persisted: Option<&Persisted>) -> impl Iterator<Item = Given> {
    persisted.into_iter().flat_map(|persisted| {
        let settings = persisted.settings.iter();
        settings.map(|(name, value)| Given {
            said: shown_setting(name, &format!("{name}={value}")),
            place: format!("{} ({SET_PERSIST})", persisted.file.display()),
            line: None,
            origin: Some(SET_PERSIST.to_owned()),
            name: name.clone(),
            value: Some(value.clone()),
        })
    })
}

impl StartConfiguration {
    /// The configuration `source` as `install` takes it on the user's `data`, with what these keep of SET PERSIST; a server here may
    /// reserve `room` bytes at its start. `scratch` is an empty folder.
    ///
    /// # Errors
    /// Files that cannot be read or that the server refuses.
    pub fn of(
        source: &ConfigSource,
        data: Option<&DataSource>,
        install: &Install,
        room: u64,
        scratch: &Path,
    ) -> Result<Self> {
        let persisted = data.and_then(|data| data.persisted.as_ref());
        let bare = KnownOptions::of(install, &install.verbose_help(&[], scratch)?);
        let mut start = Self {
            from: source.name(),
            ..Self::default()
        };
        let given = match source {
            ConfigSource::File { path, .. } => {
                let (options, read) = effective(install, &bare, path)?;
                start.files = read.files;
                start.folders = read.folders;
                start.remarks = read.remarks;
                let options = options.into_iter().map(|option| Given {
                    said: shown_setting(&option.name, option.argument().trim_start_matches("--")),
                    place: option.place.to_string(),
                    line: Some(option.place),
                    origin: None,
                    name: option.name,
                    value: option.value,
                });
                options.chain(given_by(persisted)).collect::<Vec<_>>()
            }
            // A running server says itself what was persisted.
            ConfigSource::Running(running) => {
                let running = running.compared(install, scratch)?;
                start.remarks.extend(running.comparison_remark());
                let settings = running.settings.iter();
                let given = settings.map(|setting| Given {
                    name: setting.name.clone(),
                    value: Some(setting.value.clone()),
                    said: shown_setting(
                        &setting.name,
                        &format!("{} = {}", setting.name, setting.value),
                    ),
                    place: match &setting.place {
                        Some(place) => format!("{} ({place})", start.from),
                        None => format!("{} ({})", start.from, setting.origin),
                    },
                    line: None,
                    origin: Some(setting.origin.clone()),
                });
                given.collect::<Vec<_>>()
            }
        };
        let (plugins, given) = start.plugins(given, install);
        let known = if plugins.is_empty() {
            bare
        } else {
            KnownOptions::of(install, &install.verbose_help(&plugins, scratch)?)
        };
        if let ConfigSource::Running(running) = source
            && !running.installed.is_empty()
        {
            start.remarks.push(OriginNote::InstalledPlugins {
                plugins: running.installed.clone(),
            });
        }
        if let ConfigSource::Running(running) = source {
            start.take_malloc(running.malloc.as_deref(), install);
        }
        start.take(given, &known, install);
        if !data.is_some_and(DataSource::is_physical) {
            start.leave_time_zone();
        }
        start.fit(room);
        start.leave_refused(install, &mut |config| install.refusal_of(config, scratch))?;
        start.defaults = known.defaults;
        Ok(start)
    }

    /// Starts the server with the settings that are kept, on an empty data directory, before any data are made: what it does not start
    /// with is left out. `cache` keeps that directory.
    ///
    /// # Errors
    /// The server does not start without any of them either; something around it keeps it from starting.
    pub fn try_out(&mut self, cache: &Cache, install: &Install) -> Result<()> {
        let mut variables = BTreeSet::new();
        self.leave_refused(install, &mut |config| {
            let tried = variables_of(cache, install, config);
            match tried {
                Ok(found) => {
                    variables = found;
                    Ok(None)
                }
                Err(error) => match error.find::<StartFailed>() {
                    Some(failed) => Ok(Some(failed.cause.clone().unwrap_or_else(|| {
                        "it ends while it is starting, and does not say why".to_owned()
                    }))),
                    None if Around::of(&error).is_some() => Err(error),
                    None => Ok(Some(first_line(&error))),
                },
            }
        })?;
        for (name, place) in std::mem::take(&mut self.unknown) {
            if variables.contains(&name) {
                self.left_out[place].reason = SettingReason::NoOptionForVariable {
                    release: named(install),
                };
            }
        }
        Ok(())
    }

    /// Leaves out the settings that the server refuses, asked by `ask`.
    fn leave_refused(
        &mut self,
        install: &Install,
        ask: &mut dyn FnMut(&Config) -> Result<Option<String>>,
    ) -> Result<()> {
        let sifted = sift(&self.config, ask)?;
        self.config = sifted.taken;
        for (name, value) in sifted.renamed {
            self.remarks.push(OriginNote::Renamed {
                place: self.places.get(&name).cloned().unwrap_or_default(),
                here: self.config.get(&name).cloned().unwrap_or_default(),
                release: named(install),
                setting: name,
                yours: value,
            });
        }
        for one in sifted.refused {
            let setting = shown_setting(&one.name, &format!("{}={}", one.name, one.value));
            let place = self.places.get(&one.name).cloned().unwrap_or_default();
            let reason = refusal(&one, &setting, install);
            if !one.is_part {
                self.forget(&one.name);
            }
            self.left_out.push(LostSetting {
                setting,
                place,
                reason,
            });
        }
        Ok(())
    }

    /// Forgets what is known of a setting that is no more kept.
    fn forget(&mut self, name: &str) {
        self.config.remove(name);
        self.places.remove(name);
        self.lines.remove(name);
        self.origins.remove(name);
        self.lowered.remove(name);
    }

    /// Whether nothing is set.
    pub fn is_empty(&self) -> bool {
        self.from.is_empty()
    }

    /// Where the start says what `name` is, for people; `skip_log_bin` is said of `log_bin` too.
    pub fn place_of(&self, name: &str) -> Option<&str> {
        let [bare, flag] = niagara_server::both_names(name);
        [name, &bare, &flag]
            .into_iter()
            .find_map(|name| self.places.get(name).map(String::as_str))
    }

    /// Plugins that are here stay; their options are known only to a server that loads them.
    fn plugins(&mut self, given: Vec<Given>, install: &Install) -> (Vec<String>, Vec<Given>) {
        let folder = plugin_folder_of(install);
        let mut loads: Vec<Given> = Vec::new();
        let mut others = Vec::new();
        for one in given {
            let name = niagara_server::normalise_variable(&one.name);
            match name.trim_start_matches("loose_") {
                // It begins anew; the other goes on.
                "plugin_load" => loads = vec![one],
                "plugin_load_add" => loads.push(one),
                _ => others.push(one),
            }
        }
        let mut kept: Vec<String> = Vec::new();
        for one in loads {
            for plugin in one.value.as_deref().unwrap_or_default().split([';', ':']) {
                let library = plugin.rsplit('=').next().unwrap_or(plugin).trim();
                let file = folder.as_ref().map(|folder| folder.join(library));
                let is_here =
                    file.is_some_and(|file| file.is_file() || file.with_extension("so").is_file());
                if library.is_empty() {
                } else if is_plugin(library) {
                    self.leave_out(&one, SettingReason::TablesElsewhere);
                } else if let Some(reason) = neutralised_plugin(library) {
                    self.leave_out(&one, reason);
                } else if is_here {
                    kept.push(plugin.trim().to_owned());
                    self.keep("plugin_load_add", kept.join(";"), &one);
                } else {
                    let library = library.to_owned();
                    self.leave_out(&one, SettingReason::PluginMissing { library });
                }
            }
        }
        (kept, others)
    }

    /// Sorts the settings: the last one of a name counts, as for the server, but for those that add up.
    fn take(&mut self, given: Vec<Given>, known: &KnownOptions, install: &Install) {
        let mut last: BTreeMap<String, (Setting, Given)> = BTreeMap::new();
        let mut unknown = BTreeSet::new();
        for one in given {
            match known.find(&one.name) {
                Known::Option(prefix, option) => {
                    match setting(prefix, &option, one.value.as_deref(), known.takes(&option)) {
                        Ok(mut new) => {
                            // What switches off and what switches on are one setting.
                            let bare = new.option.strip_prefix("skip_");
                            let bare = bare.filter(|bare| known.has(bare));
                            let key = bare.unwrap_or(&new.option).to_owned();
                            if let Some((there, _)) = last.get(&key) {
                                new.follow(there);
                            }
                            last.insert(key, (new, one));
                        }
                        Err(reason) => {
                            let value = one.value.as_deref().unwrap_or_default();
                            let reason = dropped_settings(&option, value).unwrap_or(reason);
                            self.leave_out(&one, reason);
                        }
                    }
                }
                Known::Loose => self.leave_out(
                    &one,
                    SettingReason::PassedOver {
                        server: install.name.clone(),
                    },
                ),
                Known::Unknown => {
                    let name = niagara_server::normalise_variable(&one.name);
                    if !unknown.insert(name.clone()) {
                        continue;
                    }
                    // What is left out for another reason is left out for that.
                    let value = one.value.as_deref().unwrap_or_default();
                    if let Some(reason) = dropped_settings(&name, value) {
                        self.leave_out(&one, reason);
                        continue;
                    }
                    let successor = successor(bare(&name), known);
                    if successor.is_none() {
                        self.unknown.push((name, self.left_out.len()));
                    }
                    let reason = SettingReason::NoSuchOption {
                        release: named(install),
                        successor,
                    };
                    self.leave_out(&one, reason);
                }
            }
        }
        for (
            Setting {
                option,
                name,
                value,
            },
            one,
        ) in last.into_values()
        {
            if name == "log_bin" {
                self.keep(&name, log_name(&value), &one);
                continue;
            }
            // What is switched off is by a name of its own.
            let about = match name.starts_with("skip_") {
                true => &name,
                false => &option,
            };
            match dropped_settings(about, &value) {
                Some(reason) => self.leave_out(&one, reason),
                None => self.keep(&name, value, &one),
            }
        }
        if self
            .config
            .get("init_connect")
            .is_some_and(|statements| !statements.trim().is_empty())
        {
            let place = self.place_of("init_connect").unwrap_or(&self.from);
            self.remarks.push(OriginNote::InitConnect {
                place: place.to_owned(),
            });
        }
    }

    /// The malloc of a running server, where this one can be started with it too.
    fn take_malloc(&mut self, malloc: Option<&str>, install: &Install) {
        let own = install.own_malloc.as_str();
        let remark = match malloc {
            None => OriginNote::UnseenMalloc {
                own: own.to_owned(),
            },
            // Nothing is preloaded there: this server's own is as good as that one's.
            Some(malloc) if malloc == own || malloc == SYSTEM_MALLOC => return,
            Some(malloc) if install.mallocs.contains_key(malloc) => {
                self.malloc = Some(malloc.to_owned());
                OriginNote::SameMalloc {
                    malloc: malloc.to_owned(),
                }
            }
            Some(malloc) => OriginNote::MissingMalloc {
                malloc: malloc.to_owned(),
                own: own.to_owned(),
                server: install.name.clone(),
            },
        };
        self.remarks.push(remark);
    }

    /// Leaves out a time zone that is known by its name alone: what names mean is in tables of the original's data.
    fn leave_time_zone(&mut self) {
        let named = |zone: &String| !zone.eq_ignore_ascii_case("system") && !is_offset(zone);
        let Some(zone) = self.config.get(TIME_ZONE).filter(|zone| named(zone)) else {
            return;
        };
        self.left_out.push(LostSetting {
            setting: format!("{TIME_ZONE}={zone}"),
            place: self.places.get(TIME_ZONE).cloned().unwrap_or_default(),
            reason: SettingReason::NamedTimeZone,
        });
        self.forget(TIME_ZONE);
    }

    /// Sizes that two servers at once cannot have here, together: the largest are lowered, to the same.
    fn fit(&mut self, room: u64) {
        let is_big = |name: &str| BIG.contains(&name) || name.ends_with(OF_A_KEY_CACHE);
        let sizes: Vec<(String, f64)> = self
            .config
            .iter()
            .filter(|(name, _)| is_big(name))
            .filter_map(|(name, value)| Some((name.clone(), number(value)?)))
            // Smaller ones are within what the room leaves of the machine's memory.
            .filter(|(_, bytes)| *bytes >= STEP as f64)
            .collect();
        let bytes: Vec<f64> = sizes.iter().map(|(_, bytes)| *bytes).collect();
        let Some(most) = most_of_each(&bytes, room as f64) else {
            return;
        };
        let here = ((most as u64) / STEP).max(1) * STEP;
        for (name, bytes) in sizes {
            if bytes <= here as f64 {
                continue;
            }
            let here = shown(here);
            if let Some(yours) = self.config.insert(name.clone(), here.clone()) {
                self.lowered.insert(name, Lowered { yours, here });
            }
        }
    }

    fn keep(&mut self, name: &str, value: String, one: &Given) {
        self.config.insert(name.to_owned(), value);
        self.places.insert(name.to_owned(), one.place.clone());
        if let Some(line) = &one.line {
            self.lines.insert(name.to_owned(), line.clone());
        }
        if let Some(origin) = &one.origin {
            self.origins.insert(name.to_owned(), origin.clone());
        }
    }

    fn leave_out(&mut self, one: &Given, reason: SettingReason) {
        self.left_out.push(LostSetting {
            setting: one.said.clone(),
            place: one.place.clone(),
            reason,
        });
    }

    /// What a person is told once.
    pub fn notes(&self) -> Vec<OriginNote> {
        let mut notes = vec![OriginNote::Configuration {
            from: self.from.clone(),
            kept: self.config.len(),
            left_out: self.left_out.len(),
        }];
        if let [_, .., last] = &self.files[..] {
            notes.push(OriginNote::OptionFiles {
                last: last.display().to_string(),
                files: self.files.len(),
            });
        }
        notes.extend(self.remarks.iter().cloned());
        notes.extend(self.left_out.iter().cloned().map(OriginNote::LeftOut));
        notes.extend(
            self.lowered
                .iter()
                .map(|(name, lowered)| OriginNote::Lowered {
                    variable: name.clone(),
                    yours: lowered.yours.clone(),
                    here: lowered.here.clone(),
                }),
        );
        notes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_large_shares_what_the_rest_leaves() {
        assert_eq!(most_of_each(&[4.0], 4.0), None);
        assert_eq!(most_of_each(&[64.0], 4.0), Some(4.0));
        assert_eq!(most_of_each(&[3.0, 3.0], 4.0), Some(2.0));
        assert_eq!(most_of_each(&[64.0, 1.0, 3.0], 4.0), Some(1.5));
        assert_eq!(most_of_each(&[], 4.0), None);
    }

    #[test]
    fn caches_of_several_engines_fit_together() {
        let start = |settings: &[(&str, &str)], room: u64| {
            let mut start = StartConfiguration::default();
            for (name, value) in settings {
                start.config.insert((*name).to_owned(), (*value).to_owned());
            }
            start.fit(room);
            start
        };
        let pools = [
            ("innodb_buffer_pool_size", "12G"),
            ("key_buffer_size", "16M"),
            ("rocksdb_block_cache_size", "3G"),
        ];
        assert_eq!(start(&pools, 15 << 30).lowered, BTreeMap::new());
        let eight = start(&pools, 8 << 30);
        assert_eq!(eight.config["innodb_buffer_pool_size"], "5G");
        assert_eq!(eight.config["rocksdb_block_cache_size"], "3G");
        let four = start(&pools, 4 << 30);
        assert_eq!(four.config["innodb_buffer_pool_size"], "2G");
        assert_eq!(four.config["rocksdb_block_cache_size"], "2G");
        assert_eq!(four.config["key_buffer_size"], "16M");
        assert_eq!(four.lowered["rocksdb_block_cache_size"].yours, "3G");
    }
}
