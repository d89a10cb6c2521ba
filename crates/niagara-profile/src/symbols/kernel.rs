//! The kernel's functions, as `/proc/kallsyms` lists them.

use std::fs;

/// Start address and name, by address.
#[derive(Debug, Default)]
pub(super) struct KernelSymbols(Vec<(u64, String)>);

impl KernelSymbols {
    /// Reads them; nothing where the kernel hides its addresses from this user.
    pub(super) fn read() -> KernelSymbols {
        KernelSymbols::parse(&fs::read_to_string("/proc/kallsyms").unwrap_or_default())
    }

    fn parse(text: &str) -> KernelSymbols {
        let mut found: Vec<(u64, String)> = text
            .lines()
            .filter_map(|line| {
                let mut words = line.split_whitespace();
                let address = u64::from_str_radix(words.next()?, 16).ok()?;
                let kind = words.next()?;
                let name = words.next()?;
                // Hidden addresses are all zero.
                (address != 0 && matches!(kind, "t" | "T" | "w" | "W"))
                    .then(|| (address, name.to_owned()))
            })
            .collect();
        found.sort();
        KernelSymbols(found)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn find(&self, address: u64) -> Option<&str> {
        let index = self.0.partition_point(|(start, _)| *start <= address);
        let (_, name) = self.0.get(index.checked_sub(1)?)?;
        Some(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_found_by_any_address_within() {
        let symbols = KernelSymbols::parse(
            "ffffffff81000200 T second\nffffffff81000000 T first\nffffffff81000100 d data\n",
        );
        assert_eq!(symbols.find(0xffff_ffff_8100_0150), Some("first"));
        assert_eq!(symbols.find(0xffff_ffff_8100_0200), Some("second"));
        assert_eq!(symbols.find(0x1000), None);
    }

    #[test]
    fn hidden_addresses_are_no_symbols() {
        assert!(KernelSymbols::parse("0000000000000000 T first\n").is_empty());
    }
}
