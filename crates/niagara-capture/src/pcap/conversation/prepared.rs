//! Prepared statements: what is known of each, and their executions with the values put in.

use std::collections::HashMap;

use super::login::QUERY_ATTRIBUTES;
use super::{Conversation, MAX_COMMAND};
use crate::pcap::field::Fields;
use crate::pcap::parameters::{Type, quote, value, with_values};

/// A statement that the client has prepared.
#[derive(Debug)]
pub(super) struct Prepared {
    pub text: Vec<u8>,
    pub parameters: u16,
    pub types: Vec<Type>,
    /// By parameter: what was sent ahead.
    pub long: HashMap<u16, Vec<u8>>,
}

impl Conversation {
    /// The statement of a COM_STMT_EXECUTE with its values; none where it is not known, or is not the protocol.
    pub(super) fn execute(&mut self, body: &[u8]) -> Option<Vec<u8>> {
        let mut fields = Fields(body);
        let statement = fields.number(4)? as u32;
        let flags = fields.u8()?;
        fields.bytes(4)?;
        let attributes = self
            .capabilities
            .is_some_and(|all| all & QUERY_ATTRIBUTES != 0);
        let mode = self.mode;
        let prepared = self.statements.get_mut(&statement)?;
        let own = usize::from(prepared.parameters);
        let mut count = own;
        // PARAMETER_COUNT_AVAILABLE: attributes may follow the parameters.
        if attributes && flags & 8 != 0 {
            count = usize::try_from(fields.lenenc()?)
                .ok()
                .filter(|&count| count < 1 << 16)?;
        }
        if count < own {
            return None;
        }
        let mut values = Vec::with_capacity(own);
        if count > 0 {
            let nulls = fields.bytes(count.div_ceil(8))?;
            if fields.u8()? == 1 {
                prepared.types.clear();
                for _ in 0..count {
                    prepared.types.push(fields.number(2)? as Type);
                    if attributes {
                        fields.string()?;
                    }
                }
            }
            for place in 0..own {
                let mut text = Vec::new();
                let kind = *prepared.types.get(place)?;
                if nulls[place / 8] & (1 << (place % 8)) != 0 {
                    text.extend_from_slice(b"NULL");
                } else if let Some(long) = prepared.long.get(&(place as u16)) {
                    quote(long, mode, &mut text);
                } else {
                    value(&mut fields, kind, mode, &mut text)?;
                }
                values.push(text);
            }
        }
        prepared.long.clear();
        with_values(&prepared.text, &values, mode)
    }

    pub(super) fn long_data(&mut self, body: &[u8]) {
        let mut fields = Fields(body);
        let (Some(statement), Some(parameter)) = (fields.number(4), fields.number(2)) else {
            return;
        };
        if let Some(prepared) = self.statements.get_mut(&(statement as u32)) {
            let data = prepared.long.entry(parameter as u16).or_default();
            if data.len() + fields.0.len() <= MAX_COMMAND {
                data.extend_from_slice(fields.0);
            }
        }
    }
}
