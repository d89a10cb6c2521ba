//! Bytes as hexadecimal digits.

/// Two digits a byte, lower case.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
