//! What a running server says of its sessions' clients.

use std::collections::BTreeMap;

use super::connection::Connection;
use crate::client::{ClientSettings, ClientsOfUser, Knowledge, LoginCharset};

/// Sessions of clients with their character sets. MySQL has it from 5.7 on where performance_schema is on; MariaDB does not say it, and
/// no server says the flags.
const ASK: &str = "SELECT t.processlist_user, v.variable_value FROM performance_schema.variables_by_thread v \
     JOIN performance_schema.threads t ON t.thread_id = v.thread_id \
     WHERE v.variable_name = 'character_set_client' AND t.processlist_user IS NOT NULL \
     AND t.processlist_id <> CONNECTION_ID() GROUP BY t.processlist_user, v.variable_value";

/// The character sets of the clients that are connected, by user: of users whose sessions agree.
pub fn clients(connection: &mut dyn Connection) -> Vec<ClientsOfUser> {
    // A server that does not say it is asked in vain: then statements have to show it.
    let rows = connection.rows(ASK).unwrap_or_default();
    let mut by_user: BTreeMap<String, Vec<LoginCharset>> = BTreeMap::new();
    for row in rows {
        let mut values = row.into_iter().flatten();
        if let (Some(user), Some(name)) = (values.next(), values.next())
            && let Ok(charset) = name.parse()
        {
            by_user.entry(user).or_default().push(charset);
        }
    }
    by_user
        .into_iter()
        .filter_map(|(user, charsets)| match charsets[..] {
            [charset] => Some(ClientsOfUser {
                user: Some(user),
                settings: ClientSettings {
                    flags: None,
                    charset: Some(charset),
                },
                known: Knowledge::Asked,
                statements: 0,
            }),
            _ => None,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::connection::{Refusal, Row};
    use super::*;

    struct Rows(Vec<Row>);

    impl Connection for Rows {
        fn rows(&mut self, _: &str) -> Result<Vec<Row>, Refusal> {
            Ok(self.0.clone())
        }
    }

    #[test]
    fn users_whose_sessions_agree_are_known() {
        let row = |user: &str, name: &str| vec![Some(user.to_owned()), Some(name.to_owned())];
        let mut rows = Rows(vec![
            row("web", "latin1"),
            row("batch", "utf8mb4"),
            row("batch", "gbk"),
            row("odd", "no such"),
        ]);
        let told = clients(&mut rows);
        assert_eq!(told.len(), 1);
        assert_eq!(told[0].settings.to_string(), "charset=latin1");
        assert_eq!(told[0].user.as_deref(), Some("web"));
    }
}
