//! What clients have negotiated at their logins, as far as their statements show it.

use std::collections::BTreeMap;

use crate::client::{
    ClientFlags, ClientSettings, ClientsOfUser, Knowledge, LoginCharset, settings_of,
};
use crate::file::{Dictionary, NameId};
use crate::sql::Guess;

/// How many statements of the other kinds one of latin1 outweighs: some literals are no text, and look like any.
const OUTWEIGHS: u64 = 4;

/// What speaks for what, of the clients of one user: numbers of statements.
#[derive(Debug, Clone, Copy, Default)]
struct Votes {
    latin1: u64,
    utf8: u64,
    other: u64,
    several: u64,
}

/// Collects what statements show.
#[derive(Debug, Default)]
pub(super) struct Clients {
    by_user: BTreeMap<NameId, Votes>,
}

impl Clients {
    /// A statement that was several in one command.
    pub fn several(&mut self, user: NameId) {
        self.by_user.entry(user).or_default().several += 1;
    }

    /// The literals of a statement whose session has not said its character set.
    pub fn literals(&mut self, user: NameId, guesses: impl Iterator<Item = Guess>) {
        let votes = self.by_user.entry(user).or_default();
        // One a statement: the first that tells.
        let first = guesses
            .into_iter()
            .find(|guess| !matches!(guess, Guess::Ascii | Guess::Binary));
        match first {
            Some(Guess::Latin1) => votes.latin1 += 1,
            Some(Guess::Utf8) => votes.utf8 += 1,
            Some(Guess::Other) => votes.other += 1,
            _ => {}
        }
    }

    /// What is `given`, with what is inferred beside; and the users whose character sets cannot be told.
    pub fn end(
        self,
        given: Vec<ClientsOfUser>,
        names: &Dictionary,
    ) -> (Vec<ClientsOfUser>, Vec<String>) {
        let mut clients = given;
        let mut unknown = Vec::new();
        for (user, votes) in self.by_user {
            let name = names.name(user);
            let user = String::from_utf8_lossy(name).into_owned();
            let before = settings_of(&clients, name);
            let latin1 = votes.latin1 > 0
                && votes.latin1 >= OUTWEIGHS * votes.utf8
                && votes.latin1 >= OUTWEIGHS * votes.other;
            if before.charset.is_none()
                && !latin1
                && (votes.latin1.min(votes.utf8) > 0 || votes.other > votes.utf8)
            {
                unknown.push(user.clone());
            }
            let charset = (latin1 && before.charset.is_none()).then_some(LoginCharset::LATIN1);
            let flags = (votes.several > 0 && before.flags.is_none())
                .then_some(ClientFlags::MULTI_STATEMENTS);
            let mut infer = |settings: ClientSettings, statements| {
                if !settings.is_unknown() {
                    clients.push(ClientsOfUser {
                        user: Some(user.clone()),
                        settings,
                        known: Knowledge::Inferred,
                        statements,
                    });
                }
            };
            infer(
                ClientSettings {
                    flags: None,
                    charset,
                },
                votes.latin1,
            );
            infer(
                ClientSettings {
                    flags,
                    charset: None,
                },
                votes.several,
            );
        }
        (clients, unknown)
    }
}
