//! What is noticed of a configuration beside the settings that are kept or left out.

use std::path::PathBuf;

use super::place::Place;

/// What a person has to know of a start's configuration. Its English is in [`words`](super::words).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConfigurationRemark {
    /// An option file is ignored, as servers do: everybody may write to it.
    WritableByAll {
        /// The file.
        file: PathBuf,
    },
    /// A line that includes other files is passed over, as servers do: includes are nested too deeply.
    NestedTooDeep {
        /// The line.
        place: Place,
    },
    /// A group is of another instance or version, and this server does not read it.
    OtherInstance {
        /// The group's name.
        group: String,
        /// Its first setting.
        place: Place,
        /// How many settings it has.
        settings: usize,
        /// The server, by its name in the catalogue.
        server: String,
    },
    /// A group is of the script that starts the original.
    StartScript {
        /// The group's name.
        group: String,
        /// Its first setting.
        place: Place,
        /// Those of its settings by which a server differs.
        settings: Vec<String>,
    },
    /// Servers read another file beside the one that was named.
    OtherFile {
        /// The file that was not read.
        file: PathBuf,
        /// The one that was named.
        named: PathBuf,
    },
    /// The server reads the file differently than its lines say.
    ReadDifferently {
        /// The file.
        file: PathBuf,
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
}
