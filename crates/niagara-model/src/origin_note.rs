//! Notes on a start that is the user's own server: codes and fields. Their English is in `words/origin.rs`.

use serde::{Deserialize, Serialize};

use crate::LostSetting;

/// What a person has to know of the configuration and the data that a study starts from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "code", rename_all = "kebab-case")]
pub enum OriginNote {
    /// The start has a configuration of the user's.
    Configuration {
        /// Where it is from, for people.
        from: String,
        /// Settings that are kept.
        kept: usize,
        /// Settings that are left out.
        left_out: usize,
    },
    /// The configuration is in several option files.
    OptionFiles {
        /// The one that was read last.
        last: String,
        /// How many there are.
        files: usize,
    },
    /// A setting is left out.
    LeftOut(LostSetting),
    /// A size does not fit into this machine.
    Lowered {
        /// The variable.
        variable: String,
        /// As the original has it.
        yours: String,
        /// As the start has it.
        here: String,
    },
    /// An option file is ignored, as servers do: everybody may write to it.
    WritableByAll {
        /// The file.
        file: String,
    },
    /// A line that includes other files is passed over, as servers do: includes are nested too deeply.
    NestedTooDeep {
        /// The file and the line.
        place: String,
    },
    /// A group is of another instance or version, and this server does not read it.
    OtherInstance {
        /// The group's name.
        group: String,
        /// Where its first setting stands.
        place: String,
        /// How many settings it has.
        settings: usize,
        /// The server, by its name in the catalogue.
        server: String,
    },
    /// A group is of the script that starts the original.
    StartScript {
        /// The group's name.
        group: String,
        /// Where its first setting stands.
        place: String,
        /// Those of its settings by which a server differs.
        settings: Vec<String>,
    },
    /// Servers read another file beside the one that was named.
    OtherFile {
        /// The file that was not read.
        file: String,
        /// The one that was named.
        named: String,
    },
    /// The server reads the file differently than its lines say.
    ReadDifferently {
        /// The file.
        file: String,
        /// The server, by its name in the catalogue.
        server: String,
    },
    /// A running server does not say who set its variables; they were compared with defaults.
    Compared {
        /// Its address.
        address: String,
        /// Whose defaults: family and version.
        with: String,
    },
    /// Plugins that a statement installed come with the data.
    InstalledPlugins {
        /// Their names.
        plugins: Vec<String>,
    },
    /// This release knows a value by another name.
    Renamed {
        /// The setting.
        setting: String,
        /// The value of the original.
        yours: String,
        /// Where it stands, for people.
        place: String,
        /// The value here.
        here: String,
        /// Family and version.
        release: String,
    },
    /// `init_connect` is not executed for the load.
    InitConnect {
        /// Where it stands, for people.
        place: String,
    },
    /// Which malloc a running server has cannot be seen.
    UnseenMalloc {
        /// The malloc of the start.
        own: String,
    },
    /// The start is preloaded with the malloc of the running server.
    SameMalloc {
        /// Its name.
        malloc: String,
    },
    /// The malloc of the running server is not here.
    MissingMalloc {
        /// Its name.
        malloc: String,
        /// The malloc of the start.
        own: String,
        /// The server, by its name in the catalogue.
        server: String,
    },
    /// The load runs on data of the user's.
    Data {
        /// What they are, for people: `prepared backup /backup/shop of MariaDB 10.11.19`.
        data: String,
        /// The database that the load is in.
        database: String,
    },
    /// The copy of the data is without something.
    DataWithout {
        /// In the words of the image's record: `niagara-server` keeps that, and does not know this crate.
        said: String,
    },
    /// The data have settings that were SET PERSIST, and the start is without them.
    WithoutPersisted {
        /// The file that they are in.
        file: String,
        /// Their names.
        settings: Vec<String>,
    },
}
