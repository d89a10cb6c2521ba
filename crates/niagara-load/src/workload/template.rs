//! Statements as connections know them, and what comes after an answer.

use crate::protocol::ProtocolError;
use crate::protocol::command::ParameterType;
use crate::workload::StatementClass;
use std::borrow::Cow;

/// A statement that a connection prepares, or sends as text.
#[derive(Debug)]
pub(crate) struct Template {
    /// With question marks for its parameters.
    pub sql: String,
    /// Their types, in order.
    pub parameters: Cow<'static, [ParameterType]>,
    /// It is sent as text and not prepared.
    pub as_text: bool,
    /// The transaction reads the rows of its answer.
    pub keeps_rows: bool,
    /// What it is counted as: a place in [`Plan::kinds`].
    pub kind: u16,
}

/// Templates and kinds in the making.
#[derive(Debug, Default)]
pub(crate) struct Templates {
    pub list: Vec<Template>,
    pub kinds: Vec<(String, StatementClass)>,
}

impl Templates {
    /// A new kind of statement, called `name`; its class is that of `sql`.
    pub(crate) fn kind(&mut self, name: impl Into<String>, sql: &str) -> u16 {
        self.kinds.push((name.into(), StatementClass::of(sql)));
        (self.kinds.len() - 1) as u16
    }
}

/// What comes after an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    /// Another statement.
    Statement,
    /// Nothing: the transaction is complete.
    Complete,
}

/// An answer that cannot be: the data are not the workload's, or the server is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Unexpected {
    /// The bytes make no sense.
    Protocol(ProtocolError),
    /// What is missing, in words.
    Data(Cow<'static, str>),
}

impl From<ProtocolError> for Unexpected {
    fn from(error: ProtocolError) -> Self {
        Unexpected::Protocol(error)
    }
}
