//! The English of notes on the user's own server.

use std::fmt::{Display, Formatter, Result};

use crate::{OriginNote, number};

impl Display for OriginNote {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::Configuration {
                from,
                kept,
                left_out,
            } => write!(
                f,
                "the start is {from}: {} kept, {left_out} left out",
                number::count(*kept, "setting")
            ),
            Self::OptionFiles { last, files } => write!(f, "read up to {last}, {files} files"),
            Self::LeftOut(setting) => write!(f, "left out: {setting}"),
            Self::Lowered {
                variable,
                yours,
                here,
            } => write!(
                f,
                "{variable} is {here} here, for two servers run at once on this machine; yours is {yours}, which stays yours"
            ),
            Self::WritableByAll { file } => write!(
                f,
                "{file} is ignored, as servers do: everybody may write to it (chmod o-w)"
            ),
            Self::NestedTooDeep { place } => write!(
                f,
                "{place} is passed over, as servers do: too many includes within includes"
            ),
            Self::OtherInstance {
                group,
                place,
                settings,
                server,
            } => write!(
                f,
                "[{group}] ({place}, {}) is of another instance or version: {server} does not read it, and the start is without it; \
                 where it is your server's, name an option file that has its lines in [mysqld]",
                number::count(*settings, "setting")
            ),
            Self::StartScript {
                group,
                place,
                settings,
            } => write!(
                f,
                "[{group}] ({place}) is of the script that starts your server: the start is without its {}",
                settings.join(", ")
            ),
            Self::OtherFile { file, named } => write!(
                f,
                "{file} is here too, which servers read beside {named}: the start is without it; where your server has it, name a \
                 file that includes both (!include)"
            ),
            Self::ReadDifferently { file, server } => write!(
                f,
                "{server} reads {file} differently than its lines say: the server's reading counts"
            ),
            Self::Compared { address, with } => write!(
                f,
                "the server at {address} does not say who set its variables: those are taken that differ from the defaults of {with}, \
                 also by SET GLOBAL or because the server worked them out; paths, network, replication and keys were not compared"
            ),
            Self::InstalledPlugins { plugins } => write!(
                f,
                "plugins that a statement installed ({}) come with the data (--data, as files), not with the configuration",
                plugins.join(", ")
            ),
            Self::Renamed {
                setting,
                yours,
                place,
                here,
                release,
            } => write!(
                f,
                "{setting}={yours} ({place}) is {here} here, as {release} calls the same"
            ),
            Self::InitConnect { place } => write!(
                f,
                "init_connect ({place}) is not executed for the load: its account has all privileges, for which servers pass over it"
            ),
            Self::UnseenMalloc { own } => write!(
                f,
                "which malloc the running server has cannot be seen from here: the start has {own}; where another is preloaded there, \
                 compare with malloc=NAME"
            ),
            Self::SameMalloc { malloc } => write!(
                f,
                "the running server has {malloc}, and so has the start: it is preloaded"
            ),
            Self::MissingMalloc {
                malloc,
                own,
                server,
            } => write!(
                f,
                "the running server has {malloc}, which is not here for {server}: the start has {own}, and what {malloc} gains is not \
                 part of it"
            ),
            Self::Data { data, database } => write!(
                f,
                "the data are the {data}, database {database}; accounts, events and replication sleep in the copy"
            ),
            Self::DataWithout { said } => f.write_str(said),
            Self::WithoutPersisted { file, settings } => write!(
                f,
                "the start is without what was SET PERSIST ({file}: {}): it is taken with the server's own option file (--config)",
                settings.join(", ")
            ),
        }
    }
}
