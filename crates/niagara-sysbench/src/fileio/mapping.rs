//! A file in memory.
//!
//! # Why this is sound
//! What is mapped is shared: other threads, and other programs, change it at any time. So no reference into it is ever made;
//! bytes are copied from and to raw pointers, within its bounds. A file that is cut short by somebody else meanwhile ends the
//! process with SIGBUS, as it does every program that maps files.

use memmap2::{MmapOptions, MmapRaw};
use std::fs::File;
use std::io;

pub struct Mapping(MmapRaw);

impl Mapping {
    /// The first bytes of a file that is as long.
    pub fn new(file: &File, bytes: u64) -> io::Result<Mapping> {
        let length = usize::try_from(bytes).map_err(io::Error::other)?;
        MmapOptions::new().len(length).map_raw(file).map(Mapping)
    }

    fn place(&self, offset: u64, length: usize) -> io::Result<*mut u8> {
        let end = offset.saturating_add(length as u64);
        if end > self.0.len() as u64 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        // SAFETY: within the mapping, as was just checked.
        Ok(unsafe { self.0.as_mut_ptr().add(offset as usize) })
    }

    pub fn read(&self, to: &mut [u8], offset: u64) -> io::Result<()> {
        let from = self.place(offset, to.len())?;
        // SAFETY: this many bytes are mapped there, and `to` is not among them: it is borrowed alone.
        unsafe { std::ptr::copy_nonoverlapping(from, to.as_mut_ptr(), to.len()) };
        Ok(())
    }

    pub fn write(&self, from: &[u8], offset: u64) -> io::Result<()> {
        let to = self.place(offset, from.len())?;
        // SAFETY: as above.
        unsafe { std::ptr::copy_nonoverlapping(from.as_ptr(), to, from.len()) };
        Ok(())
    }

    /// Waits until what was written is on the device.
    pub fn sync(&self) -> io::Result<()> {
        self.0.flush()
    }
}
