//! Preloaded into a server: puts the program's text on huge pages before `main` begins.
//!
//! Built by `build.rs` as a library of its own and carried by the program, so that nothing has to be compiled where it is
//! used. It has no standard library and no threads, allocates nothing, and does nothing after the start.
//!
//! Two ways, the first that works:
//! 1. `MADV_COLLAPSE` (Linux 6.1) on the file's own mapping: nothing is copied. Takes a kernel with
//!    `CONFIG_READ_ONLY_THP_FOR_FS` and a program whose text lies in the file as it lies in memory, modulo a huge page:
//!    linked with `-z max-page-size=2097152`. Packaged servers are not.
//! 2. Those huge pages of addresses that lie wholly within the text are copied into anonymous huge pages, which are then
//!    moved over the text at its own addresses. What begins and ends within a huge page stays as it is.
//!
//! Whatever fails leaves the text as it was, with a line on standard error.
//!
//! # Why the unsafe code holds
//! - The addresses come from the loader (`dl_iterate_phdr`), which keeps what it names as long as the program runs.
//! - The text is only read. What takes its place has the same bytes at the same addresses, readable and executable and
//!   never writable and executable at a time.
//! - Nobody runs in the text meanwhile: the loader calls this before `main`, and it does nothing where there is more than
//!   one thread. The code that does it is this library's and the C library's.
//! - `mremap` onto the text is one step for the process. It could leave a hole only if the kernel ran out of its own
//!   memory or of mappings (65,530 by default) in the middle of it, where a process that starts has some dozens.
//! - x86-64 keeps instruction caches coherent itself; on arm64 Linux cleans the cache of a page when it becomes
//!   executable.

#![no_std]
// The loader's structures have more than is looked at.
#![allow(dead_code)]

use core::ffi::{c_char, c_int, c_void};
use core::ops::Range;
use core::ptr::{copy_nonoverlapping, null_mut};
use core::slice;

type Pointer = *mut c_void;

/// The program's segments as the loader tells them; what follows in the structure is not looked at.
#[repr(C)]
struct Program {
    base: usize,
    name: *const c_char,
    headers: *const Segment,
    count: u16,
}

/// `Elf64_Phdr`.
#[repr(C)]
struct Segment {
    kind: u32,
    flags: u32,
    offset: usize,
    address: usize,
    physical: usize,
    file_size: usize,
    memory_size: usize,
    alignment: usize,
}

#[link(name = "c")]
unsafe extern "C" {
    fn dl_iterate_phdr(
        each: extern "C" fn(*const Program, usize, Pointer) -> c_int,
        data: Pointer,
    ) -> c_int;
    fn mmap(at: Pointer, length: usize, protection: c_int, flags: c_int, file: c_int, offset: i64)
    -> Pointer;
    fn munmap(at: Pointer, length: usize) -> c_int;
    fn mremap(at: Pointer, length: usize, new_length: usize, flags: c_int, ...) -> Pointer;
    fn mprotect(at: Pointer, length: usize, protection: c_int) -> c_int;
    fn madvise(at: Pointer, length: usize, advice: c_int) -> c_int;
    fn open(path: *const c_char, flags: c_int, ...) -> c_int;
    fn read(file: c_int, buffer: Pointer, length: usize) -> isize;
    fn write(file: c_int, buffer: *const c_void, length: usize) -> isize;
    fn close(file: c_int) -> c_int;
    fn getpagesize() -> c_int;
    fn __errno_location() -> *mut c_int;
}

const LOADED: u32 = 1;
const EXECUTABLE: u32 = 1;
const PROT_READ: c_int = 1;
const PROT_WRITE: c_int = 2;
const PROT_EXEC: c_int = 4;
const MAP_PRIVATE_ANONYMOUS: c_int = 0x22;
const MAP_FAILED: Pointer = -1_isize as Pointer;
const MREMAP_MAYMOVE_FIXED: c_int = 3;
const MADV_HUGEPAGE: c_int = 14;
const MADV_COLLAPSE: c_int = 25;
const O_RDONLY_CLOEXEC: c_int = 0o2_000_000;
const EINVAL: c_int = 22;
/// With base pages of 4 KB, on x86-64 and arm64.
const HUGE: usize = 2 << 20;

/// Why the text stays where it is: what was tried, and the error's number where the kernel refused it.
struct Refused(&'static str, c_int);

#[used]
#[unsafe(link_section = ".init_array")]
static AT_START: extern "C" fn() = at_start;

extern "C" fn at_start() {
    // SAFETY: the function takes what dl_iterate_phdr gives.
    unsafe { dl_iterate_phdr(first_program, null_mut()) };
}

/// Called with the program itself first; ends the walk there.
extern "C" fn first_program(program: *const Program, _size: usize, _data: Pointer) -> c_int {
    // SAFETY: the loader's own structure, valid during the call.
    let segments = unsafe {
        let program = &*program;
        slice::from_raw_parts(program.headers, program.count.into())
    };
    // SAFETY: as above.
    let base = unsafe { (*program).base };
    let text = segments
        .iter()
        .filter(|segment| segment.kind == LOADED && segment.flags & EXECUTABLE != 0);
    for segment in text {
        let start = base.wrapping_add(segment.address);
        let whole = start.next_multiple_of(HUGE)..(start + segment.file_size) / HUGE * HUGE;
        // A small program that the server starts, which has the same environment.
        if whole.is_empty() {
            continue;
        }
        let offset = segment.offset + (whole.start - start);
        if let Err(why) = on_huge_pages(&whole, offset) {
            tell(&why);
        }
    }
    1
}

/// Puts a part of the text that begins and ends with a huge page on such pages; `offset` is where it lies in the file.
fn on_huge_pages(text: &Range<usize>, offset: usize) -> Result<(), Refused> {
    // SAFETY: no argument.
    if unsafe { getpagesize() } != 4096 {
        return Err(Refused("the kernel's pages are not of 4 KB", 0));
    }
    let mut buffer = [0; 1024];
    let setting = contents(c"/sys/kernel/mm/transparent_hugepage/enabled", &mut buffer);
    if !holds(setting, b"[madvise]") && !holds(setting, b"[always]") {
        return Err(Refused("transparent huge pages are off on this machine", 0));
    }
    if threads() != Some(1) {
        return Err(Refused("the program has threads already", 0));
    }
    if offset.is_multiple_of(HUGE) && advise(text, MADV_COLLAPSE).is_ok() {
        return Ok(());
    }
    let copy = room(text.len())?;
    let moved = copied(text, &copy).and_then(|()| moved(&copy, text));
    if moved.is_err() {
        release(&copy);
    }
    moved
}

/// Anonymous memory that begins with a huge page.
fn room(length: usize) -> Result<Range<usize>, Refused> {
    // SAFETY: new memory, at a place that the kernel chooses.
    let all = unsafe {
        mmap(
            null_mut(),
            length + HUGE,
            PROT_READ | PROT_WRITE,
            MAP_PRIVATE_ANONYMOUS,
            -1,
            0,
        )
    };
    if all == MAP_FAILED {
        return Err(refused("there is no memory for a copy (mmap)"));
    }
    let all = all as usize..all as usize + length + HUGE;
    let start = all.start.next_multiple_of(HUGE);
    release(&(all.start..start));
    release(&(start + length..all.end));
    Ok(start..start + length)
}

/// Copies the text onto huge pages.
fn copied(text: &Range<usize>, copy: &Range<usize>) -> Result<(), Refused> {
    advise(copy, MADV_HUGEPAGE).map_err(|_| refused("the kernel gives no huge pages (MADV_HUGEPAGE)"))?;
    // SAFETY: the text is mapped and readable, the copy was just made as long, and they do not overlap.
    unsafe {
        copy_nonoverlapping(text.start as *const u8, copy.start as *mut u8, text.len());
    }
    // Huge pages were given at the first write, or they are put together now, or there are none to be had. A kernel
    // before 6.1 does not know the call, and gave them at the first write.
    match advise(copy, MADV_COLLAPSE) {
        Ok(()) | Err(EINVAL) => Ok(()),
        Err(number) => Err(Refused(
            "the kernel has no huge pages left (MADV_COLLAPSE)",
            number,
        )),
    }
}

/// Moves the copy over the text.
fn moved(copy: &Range<usize>, text: &Range<usize>) -> Result<(), Refused> {
    let length = copy.len();
    // SAFETY: memory of ours that nobody else knows.
    let may_run = unsafe { mprotect(copy.start as Pointer, length, PROT_READ | PROT_EXEC) };
    if may_run != 0 {
        return Err(refused("the system lets no copied code run (mprotect)"));
    }
    // SAFETY: the same bytes take the place of the text, see the head of the file.
    let at = unsafe {
        mremap(
            copy.start as Pointer,
            length,
            length,
            MREMAP_MAYMOVE_FIXED,
            text.start as Pointer,
        )
    };
    if at == MAP_FAILED {
        return Err(refused("the copy cannot take the text's place (mremap)"));
    }
    Ok(())
}

fn release(memory: &Range<usize>) {
    if !memory.is_empty() {
        // SAFETY: memory of ours that nobody else knows.
        unsafe { munmap(memory.start as Pointer, memory.len()) };
    }
}

fn advise(memory: &Range<usize>, advice: c_int) -> Result<(), c_int> {
    // SAFETY: both advices keep what is in the memory.
    match unsafe { madvise(memory.start as Pointer, memory.len(), advice) } {
        0 => Ok(()),
        _ => Err(errno()),
    }
}

fn refused(what: &'static str) -> Refused {
    Refused(what, errno())
}

fn errno() -> c_int {
    // SAFETY: the C library's, of this thread.
    unsafe { *__errno_location() }
}

/// How many threads this process has.
fn threads() -> Option<u32> {
    let mut buffer = [0; 1024];
    let stat = contents(c"/proc/self/stat", &mut buffer);
    // The command's name is in parentheses and may have any character; the count is the eighteenth word behind it.
    let name_ends = stat.iter().rposition(|byte| *byte == b')')?;
    let mut words = stat.get(name_ends + 2..)?.split(|byte| *byte == b' ');
    let mut number = 0;
    for digit in words.nth(17)? {
        number = number * 10 + u32::from(digit.checked_sub(b'0')?);
    }
    Some(number)
}

/// The beginning of a small file; nothing where it cannot be read.
fn contents<'b>(path: &core::ffi::CStr, buffer: &'b mut [u8; 1024]) -> &'b [u8] {
    // SAFETY: the path ends with a zero, and no more is read than the buffer has room for.
    let length = unsafe {
        let file = open(path.as_ptr(), O_RDONLY_CLOEXEC);
        if file < 0 {
            return &[];
        }
        let length = read(file, buffer.as_mut_ptr().cast(), buffer.len());
        close(file);
        length
    };
    &buffer[..usize::try_from(length).unwrap_or(0)]
}

fn holds(text: &[u8], word: &[u8]) -> bool {
    text.windows(word.len()).any(|part| part == word)
}

/// One line on standard error, which is the server's log or the journal.
fn tell(why: &Refused) {
    let mut line = Line {
        bytes: [0; 256],
        length: 0,
    };
    line.add(b"niagara_text: the program's text stays on small pages: ");
    line.add(why.0.as_bytes());
    if why.1 != 0 {
        line.add(b", error ");
        for place in [100, 10, 1] {
            if why.1 >= place {
                line.add(&[b'0' + (why.1 / place % 10) as u8]);
            }
        }
    }
    line.add(b"\n");
    // SAFETY: as many bytes as there are.
    unsafe { write(2, line.bytes.as_ptr().cast(), line.length) };
}

struct Line {
    bytes: [u8; 256],
    length: usize,
}

impl Line {
    fn add(&mut self, more: &[u8]) {
        for byte in more {
            if let Some(place) = self.bytes.get_mut(self.length) {
                *place = *byte;
                self.length += 1;
            }
        }
    }
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    loop {}
}
