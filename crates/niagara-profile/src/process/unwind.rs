//! From registers and a copy of the stack to return addresses, by the unwind tables that every binary carries.
//!
//! Packaged servers keep no frame pointers; their `.eh_frame` is there because exceptions need it. Nothing but the
//! instruction, stack and frame pointers is needed to read it, so a sample costs its copy of the stack and no more, and
//! the walk is made here, after the record was taken.

use std::fs;
use std::ops::Range;

use anyhow::Result;
use framehop::{ExplicitModuleSectionInfo, FrameAddress, Module, Unwinder as _};
use object::elf::PF_X;
use object::{Object, ObjectSection, ObjectSegment, SegmentFlags};

use super::maps::{Mapping, mappings};
use crate::kernel::Sampled;

#[cfg(target_arch = "aarch64")]
use framehop::aarch64::{CacheAarch64 as Cache, UnwindRegsAarch64, UnwinderAarch64 as Walker};
#[cfg(target_arch = "x86_64")]
use framehop::x86_64::{CacheX86_64 as Cache, UnwindRegsX86_64, UnwinderX86_64 as Walker};

/// A stack deeper than this has no end.
const DEEPEST: usize = 256;

/// The way up the stacks of one process.
pub struct Unwinder {
    walker: Walker<Vec<u8>>,
    cache: Cache,
    mappings: Vec<Mapping>,
}

/// A stack as addresses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Unwound {
    /// Addresses to look up, innermost first: return addresses are one less than what the stack says, so that they lie
    /// within the call.
    pub addresses: Vec<u64>,
    /// The thread's first frame was reached; otherwise the copy of the stack ended before, or a frame could not be read.
    pub whole: bool,
}

impl Unwinder {
    /// Reads the unwind tables of everything mapped into a process.
    ///
    /// # Errors
    /// The process has ended, or is another user's.
    pub fn of(pid: i32) -> Result<Unwinder> {
        let mappings = mappings(pid)?;
        let mut walker = Walker::new();
        for mapping in &mappings {
            // What cannot be read is unwound by frame pointers: that is framehop's way without a module.
            if let Some(module) = module(mapping) {
                walker.add_module(module);
            }
        }
        Ok(Unwinder {
            walker,
            cache: Cache::new(),
            mappings,
        })
    }

    /// What is mapped into the process.
    pub fn mappings(&self) -> &[Mapping] {
        &self.mappings
    }

    /// The user frames of a sample.
    pub(crate) fn unwind(&mut self, sample: &Sampled) -> Unwound {
        let mut addresses = Vec::new();
        let Some((pc, registers)) = start(&sample.registers) else {
            return Unwound {
                addresses,
                whole: true,
            };
        };
        let bottom = sample.registers[crate::kernel::STACK_POINTER];
        let stack = &sample.stack;
        let mut read = |address: u64| {
            let at = address.checked_sub(bottom).ok_or(())? as usize;
            let bytes = stack.get(at..at.checked_add(8).ok_or(())?).ok_or(())?;
            bytes.try_into().map(u64::from_ne_bytes).map_err(|_| ())
        };
        let mut frames = self
            .walker
            .iter_frames(pc, registers, &mut self.cache, &mut read);
        let mut whole = false;
        while addresses.len() < DEEPEST {
            match frames.next() {
                Ok(Some(frame)) => addresses.push(match frame {
                    FrameAddress::InstructionPointer(address) => address,
                    FrameAddress::ReturnAddress(_) => frame.address_for_lookup(),
                }),
                Ok(None) => {
                    whole = true;
                    break;
                }
                Err(_) => break,
            }
        }
        Unwound { addresses, whole }
    }
}

#[cfg(target_arch = "x86_64")]
fn start(registers: &[u64]) -> Option<(u64, UnwindRegsX86_64)> {
    let &[bp, sp, ip] = registers else {
        return None;
    };
    Some((ip, UnwindRegsX86_64::new(ip, sp, bp)))
}

#[cfg(target_arch = "aarch64")]
fn start(registers: &[u64]) -> Option<(u64, UnwindRegsAarch64)> {
    let &[fp, lr, sp, pc] = registers else {
        return None;
    };
    Some((pc, UnwindRegsAarch64::new(lr, sp, fp)))
}

/// A mapped file's unwind tables.
fn module(mapping: &Mapping) -> Option<Module<Vec<u8>>> {
    let bytes = fs::read(&mapping.file).ok()?;
    let file = object::File::parse(&*bytes).ok()?;
    let base = base_address(mapping, &file)?;
    let range = |name: &str| -> Option<Range<u64>> {
        let section = file.section_by_name(name)?;
        Some(section.address()..section.address() + section.size())
    };
    let data = |name: &str| -> Option<Vec<u8>> {
        Some(
            file.section_by_name(name)?
                .uncompressed_data()
                .ok()?
                .into_owned(),
        )
    };
    let info = ExplicitModuleSectionInfo {
        base_svma: 0,
        text_svma: range(".text"),
        text: data(".text"),
        got_svma: range(".got"),
        eh_frame_svma: range(".eh_frame"),
        eh_frame: data(".eh_frame"),
        eh_frame_hdr_svma: range(".eh_frame_hdr"),
        eh_frame_hdr: data(".eh_frame_hdr"),
        debug_frame: data(".debug_frame"),
        ..ExplicitModuleSectionInfo::default()
    };
    Some(Module::new(
        mapping.path.display().to_string(),
        mapping.addresses.clone(),
        base,
        info,
    ))
}

/// What is to be added to an address of the file to get the process's.
pub(crate) fn base_address<'f>(mapping: &Mapping, file: &impl Object<'f>) -> Option<u64> {
    // The kernel maps whole pages (of 64 KB at most), so a mapping may begin before its segment does.
    const PAGE: u64 = 64 << 10;
    let segment = file.segments().find(|segment| {
        let executable =
            matches!(segment.flags(), SegmentFlags::Elf { p_flags, .. } if p_flags.0 & PF_X.0 != 0);
        let (offset, size) = segment.file_range();
        executable && (offset & !(PAGE - 1)..offset + size).contains(&mapping.offset)
    })?;
    let (offset, _) = segment.file_range();
    let start = mapping.addresses.start.wrapping_sub(mapping.offset);
    Some(start.wrapping_add(offset).wrapping_sub(segment.address()))
}
