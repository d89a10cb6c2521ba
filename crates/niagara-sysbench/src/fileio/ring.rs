//! Requests of one thread that are under way at the same time, by io_uring.
//!
//! # Why this is sound
//! The kernel reads and writes the buffer of a request from its submission until its completion. A buffer belongs to a slot, and a
//! slot is given out again only when its request has completed. When the ring goes, it waits for what is under way; if that
//! fails, the buffers are not freed at all.

use super::requests::{Operation, Request};
use super::storage::Buffer;
use io_uring::types::Fd;
use io_uring::{IoUring, opcode};
use std::fs::File;
use std::io;
use std::mem::ManuallyDrop;
use std::os::fd::AsRawFd;

pub struct Ring {
    ring: IoUring,
    /// Never freed while the kernel may use one.
    buffers: ManuallyDrop<Vec<Buffer>>,
    /// By slot: what is under way.
    under_way: Vec<Option<Request>>,
    free: Vec<usize>,
}

impl Ring {
    /// For at most `requests` at once, of at most `bytes` each.
    pub fn new(requests: u32, bytes: usize) -> io::Result<Ring> {
        let ring = IoUring::new(requests.next_power_of_two())?;
        let count = requests as usize;
        let buffers = (0..count)
            .map(|_| Buffer::new(bytes))
            .collect::<io::Result<Vec<Buffer>>>()?;
        Ok(Ring {
            ring,
            buffers: ManuallyDrop::new(buffers),
            under_way: vec![None; count],
            free: (0..count).rev().collect(),
        })
    }

    pub fn is_idle(&self) -> bool {
        self.free.len() == self.under_way.len()
    }

    /// Whether no more requests fit.
    pub fn is_full(&self) -> bool {
        self.free.is_empty()
    }

    /// Hands a read or write to the kernel; `prepare` fills the buffer before. There has to be room.
    pub fn submit(
        &mut self,
        file: &File,
        request: Request,
        prepare: impl FnOnce(&mut [u8]),
    ) -> io::Result<()> {
        let slot = self.free.pop().ok_or(io::ErrorKind::WouldBlock)?;
        let buffer = self.buffers[slot].first(request.size);
        prepare(buffer);
        let (fd, length) = (Fd(file.as_raw_fd()), buffer.len() as u32);
        let entry = match request.operation {
            Operation::Write => opcode::Write::new(fd, buffer.as_ptr(), length)
                .offset(request.offset)
                .build(),
            Operation::Read | Operation::Sync => opcode::Read::new(fd, buffer.as_mut_ptr(), length)
                .offset(request.offset)
                .build(),
        };
        let entry = entry.user_data(slot as u64);
        self.under_way[slot] = Some(request);
        // SAFETY: the buffer is the slot's, which nobody gets before the completion.
        let queued = unsafe { self.ring.submission().push(&entry) };
        queued.map_err(io::Error::other)?;
        self.ring.submit()?;
        Ok(())
    }

    /// Waits for at least one completion and hands all that are there to `done`, with what was read.
    pub fn complete(
        &mut self,
        mut done: impl FnMut(Request, &[u8]) -> Result<(), String>,
    ) -> Result<(), String> {
        let wait = |ring: &IoUring| loop {
            match ring.submit_and_wait(1) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => return other,
            }
        };
        wait(&self.ring).map_err(|error| format!("io_uring_enter() failed! {error}"))?;
        let mut result = Ok(());
        while let Some(completion) = self.ring.completion().next() {
            let slot = completion.user_data() as usize;
            let Some(request) = self.under_way.get_mut(slot).and_then(Option::take) else {
                continue;
            };
            let moved = i64::from(completion.result());
            let outcome = if moved == request.size as i64 {
                done(request, self.buffers[slot].first(request.size))
            } else {
                Err(match request.operation {
                    Operation::Write => "Asynchronous write failed!\n".to_owned(),
                    _ => "Asynchronous read failed!\n".to_owned(),
                })
            };
            self.free.push(slot);
            result = result.and(outcome);
        }
        result
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        while !self.is_idle() {
            if self.ring.submit_and_wait(1).is_err() {
                return;
            }
            while let Some(completion) = self.ring.completion().next() {
                let slot = completion.user_data() as usize;
                if self
                    .under_way
                    .get_mut(slot)
                    .and_then(Option::take)
                    .is_some()
                {
                    self.free.push(slot);
                }
            }
        }
        // SAFETY: nothing is under way, and they are not used again.
        unsafe { ManuallyDrop::drop(&mut self.buffers) };
    }
}
