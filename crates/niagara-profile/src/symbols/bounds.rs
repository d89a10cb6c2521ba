//! Where functions begin and end, by the unwind tables: a stripped binary still tells.

use gimli::{BaseAddresses, CieOrFde, EhFrame, NativeEndian, UnwindSection};
use object::{Object, ObjectSection};

/// Begin and end of every function, by address.
#[derive(Debug, Default)]
pub(super) struct Bounds(Vec<(u64, u64)>);

impl Bounds {
    /// Reads `.eh_frame`; nothing where there is none.
    pub(super) fn of<'f>(file: &impl Object<'f>) -> Bounds {
        let Some(section) = file.section_by_name(".eh_frame") else {
            return Bounds::default();
        };
        let Ok(data) = section.uncompressed_data() else {
            return Bounds::default();
        };
        let address = |name| {
            file.section_by_name(name)
                .map_or(0, |section| section.address())
        };
        let bases = BaseAddresses::default()
            .set_eh_frame(section.address())
            .set_text(address(".text"))
            .set_got(address(".got"));
        let frames = EhFrame::new(&data, NativeEndian);
        let mut entries = frames.entries(&bases);
        let mut found = Vec::new();
        while let Ok(Some(entry)) = entries.next() {
            let CieOrFde::Fde(partial) = entry else {
                continue;
            };
            if let Ok(fde) = partial.parse(EhFrame::cie_from_offset) {
                found.push((fde.initial_address(), fde.initial_address() + fde.len()));
            }
        }
        found.sort_unstable();
        Bounds(found)
    }

    /// Where the function begins that holds this address.
    pub(super) fn start(&self, address: u64) -> Option<u64> {
        let index = self.0.partition_point(|(start, _)| *start <= address);
        let (start, end) = self.0.get(index.checked_sub(1)?)?;
        (address < *end).then_some(*start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn function_bounds_of_this_program_are_read() {
        let bytes = std::fs::read("/proc/self/exe").unwrap();
        let file = object::File::parse(&*bytes).unwrap();
        let bounds = Bounds::of(&file);
        assert!(bounds.0.len() > 100);
        let (start, end) = bounds.0[50];
        assert_eq!(bounds.start(end - 1), Some(start));
        assert_eq!(bounds.start(0), None);
    }
}
