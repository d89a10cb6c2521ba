//! Preloaded into a server: counts what it asks of its allocator, and copies the stack of some of the calls.
//!
//! Built by `build.rs` as a library of its own and carried by the program, because the alternatives cost too much: a
//! uprobe on `malloc` traps into the kernel twice a call, which halves the throughput, and takes root; the allocators'
//! own profilers are in none of the packaged ones. This costs some nanoseconds a call, works for every allocator and
//! user, and sees which thread freed what and when.
//!
//! Everything it writes goes into one file mapped by both sides: [`Header`], then [`SLOTS`] counters, then [`RECORDS`]
//! records. Its layout is read by `src/view/allocations.rs`.
//!
//! # Why the unsafe code holds
//! - Every function forwards what it was given, unchanged, to the function of the same name that would have been called
//!   without it (`dlsym(RTLD_NEXT)`), and returns what that returns; so callers see what they would have seen.
//! - The mapped file is only reached through atomics and through records that one thread owns between claiming and
//!   publishing them.
//! - The stack is copied by the kernel (`process_vm_readv` of this process), which refuses what is not mapped.
//! - Nothing here allocates, locks or unwinds: it is called from everywhere.

#![allow(non_snake_case, clippy::missing_safety_doc)]

use std::cell::Cell;
use std::ffi::{c_char, c_int, c_long, c_void};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering::*};

type Pointer = *mut c_void;

unsafe extern "C" {
    fn dlsym(handle: Pointer, name: *const c_char) -> Pointer;
    fn getenv(name: *const c_char) -> *const c_char;
    fn open(path: *const c_char, flags: c_int, ...) -> c_int;
    fn close(file: c_int) -> c_int;
    fn mmap(at: Pointer, length: usize, protection: c_int, flags: c_int, file: c_int, offset: i64) -> Pointer;
    fn syscall(number: c_long, ...) -> c_long;
    fn getpid() -> c_int;
}

const RTLD_NEXT: Pointer = -1_isize as Pointer;
const O_RDWR: c_int = 2;
const O_CLOEXEC: c_int = 0o2_000_000;
const PROT_READ_WRITE: c_int = 3;
const MAP_SHARED: c_int = 1;
#[cfg(target_arch = "x86_64")]
const PROCESS_VM_READV: c_long = 310;
#[cfg(target_arch = "aarch64")]
const PROCESS_VM_READV: c_long = 270;
#[cfg(target_arch = "x86_64")]
const GETTID: c_long = 186;
#[cfg(target_arch = "aarch64")]
const GETTID: c_long = 178;

/// Counters: a thread has one of its own until they run out.
const SLOTS: usize = 4096;
/// Records that fit before the reader must have taken one.
const RECORDS: usize = 512;
/// Bytes of stack in a record.
const STACK: usize = 16 << 10;
/// Pieces that the stack is copied in: a copy ends with the last piece that is mapped.
const PIECE: usize = 1 << 10;
/// Sampled allocations of a thread that may still be freed within their query: every free looks through them. Of one that has
/// to give way to a younger one nobody will know whether it is.
const PENDING: usize = 8;
/// What a record is.
const ALLOCATED: u64 = 0;
const FREED_IN_TIME: u64 = 1;
const LOST_SIGHT_OF: u64 = 2;

#[repr(C)]
struct Header {
    /// 1 while calls are counted.
    enabled: AtomicU32,
    /// Calls per sample, on average.
    period: AtomicU32,
    /// The next counter that is free.
    slots: AtomicU64,
    /// Records claimed by writers.
    head: AtomicU64,
    /// Records taken by the reader.
    tail: AtomicU64,
    /// Samples that found no record free.
    lost: AtomicU64,
}

#[repr(C, align(64))]
struct Slot {
    calls: AtomicU64,
    frees: AtomicU64,
    bytes: AtomicU64,
}

#[repr(C)]
struct Record {
    /// 0 while it is written, its number plus one when it is ready.
    ready: AtomicU64,
    /// 0 an allocation, 1 a sampled allocation was freed in time, 2 one is not followed any more.
    kind: u64,
    /// Which sample.
    sample: u64,
    size: u64,
    thread: u64,
    registers: [u64; 4],
    stack_bytes: u64,
    stack: [u8; STACK],
}

#[repr(C)]
struct Shared {
    header: Header,
    slots: [Slot; SLOTS],
    records: [Record; RECORDS],
}

struct Thread {
    slot: Cell<usize>,
    countdown: Cell<u32>,
    random: Cell<u64>,
    /// Statements that this thread began to receive.
    epoch: Cell<u64>,
    /// Within one of the functions below: what they call is not counted again.
    inside: Cell<bool>,
    waiting: Cell<usize>,
    pending: [Cell<(usize, u64, u64)>; PENDING],
}

thread_local! {
    static THREAD: Thread = const { Thread {
        slot: Cell::new(usize::MAX),
        countdown: Cell::new(0),
        random: Cell::new(0),
        epoch: Cell::new(0),
        inside: Cell::new(false),
        waiting: Cell::new(0),
        pending: [const { Cell::new((0, 0, 0)) }; PENDING],
    } };
}

static SHARED: AtomicPtr<Shared> = AtomicPtr::new(null_mut());
/// 0 nothing was tried, 1 somebody tries, 2 done.
static STATE: AtomicU32 = AtomicU32::new(0);
static SAMPLES: AtomicU64 = AtomicU64::new(0);

/// Memory for what `dlsym` itself allocates before the allocator is known.
const EARLY_BYTES: usize = 64 << 10;
#[repr(align(16))]
struct Early(std::cell::UnsafeCell<[u8; EARLY_BYTES]>);
// SAFETY: each byte is handed out once, by `EARLY_USED`.
unsafe impl Sync for Early {}
static EARLY: Early = Early(std::cell::UnsafeCell::new([0; EARLY_BYTES]));
static EARLY_USED: AtomicUsize = AtomicUsize::new(0);

/// Memory of the time before; each piece keeps its size in front of it.
fn early(size: usize) -> Pointer {
    let needed = (size + 31) & !15;
    let at = EARLY_USED.fetch_add(needed, Relaxed);
    if at + needed > EARLY_BYTES {
        return null_mut();
    }
    let base: *mut u8 = EARLY.0.get().cast();
    // SAFETY: `at..at + needed` lies within the array and is nobody else's.
    unsafe {
        let piece = base.add(at + 16);
        piece.sub(16).cast::<usize>().write(size);
        piece.cast()
    }
}

fn is_early(pointer: Pointer) -> bool {
    let base = EARLY.0.get() as usize;
    (base..base + EARLY_BYTES).contains(&(pointer as usize))
}

/// One of the functions that would have been called.
struct Next {
    name: &'static [u8],
    found: AtomicPtr<c_void>,
}

impl Next {
    const fn new(name: &'static [u8]) -> Next {
        Next { name, found: AtomicPtr::new(null_mut()) }
    }

    fn look_up(&self) -> Pointer {
        // SAFETY: the name ends with a zero.
        let found = unsafe { dlsym(RTLD_NEXT, self.name.as_ptr().cast()) };
        self.found.store(found, Release);
        found
    }
}

/// Maps the file, once.
fn begin() {
    if STATE.compare_exchange(0, 1, AcqRel, Acquire).is_err() {
        return;
    }
    // SAFETY: the names end with a zero; what is mapped is as large as the reader made the file.
    unsafe {
        let path = getenv(c"NIAGARA_ALLOCATIONS".as_ptr());
        if !path.is_null() {
            let file = open(path, O_RDWR | O_CLOEXEC);
            if file >= 0 {
                let at = mmap(null_mut(), size_of::<Shared>(), PROT_READ_WRITE, MAP_SHARED, file, 0);
                close(file);
                if at as isize != -1 {
                    SHARED.store(at.cast(), Release);
                }
            }
        }
    }
    STATE.store(2, Release);
}

#[inline]
fn shared() -> Option<&'static Shared> {
    // SAFETY: what is stored there is mapped for as long as the process lives.
    let shared = unsafe { SHARED.load(Acquire).as_ref() }?;
    (shared.header.enabled.load(Relaxed) == 1).then_some(shared)
}

fn slot<'s>(shared: &'s Shared, thread: &Thread) -> &'s Slot {
    let mut index = thread.slot.get();
    if index == usize::MAX {
        index = (shared.header.slots.fetch_add(1, Relaxed) as usize).min(SLOTS - 1);
        thread.slot.set(index);
    }
    &shared.slots[index]
}

/// A thread's own counter needs no bus lock; the last one is everybody's.
#[inline]
fn add(counter: &AtomicU64, value: u64, own: bool) {
    if own {
        counter.store(counter.load(Relaxed) + value, Relaxed);
    } else {
        counter.fetch_add(value, Relaxed);
    }
}

#[inline]
fn allocated(thread: &Thread, pointer: Pointer, size: usize) {
    let Some(shared) = shared() else { return };
    if pointer.is_null() {
        return;
    }
    let slot = slot(shared, thread);
    let own = thread.slot.get() < SLOTS - 1;
    add(&slot.calls, 1, own);
    add(&slot.bytes, size as u64, own);
    let left = thread.countdown.get();
    if left > 1 {
        thread.countdown.set(left - 1);
        return;
    }
    // Between 1 and twice the period: no rhythm of the server's is always or never hit.
    let mut random = thread.random.get();
    if random == 0 {
        random = (thread as *const Thread as u64) ^ 0x9e37_79b9_7f4a_7c15;
    }
    random ^= random << 13;
    random ^= random >> 7;
    random ^= random << 17;
    thread.random.set(random);
    let period = u64::from(shared.header.period.load(Relaxed).max(1));
    thread.countdown.set((random % (2 * period - 1) + 1) as u32);
    if left == 1 {
        sample(shared, thread, pointer, size);
    }
}

#[cold]
#[inline(never)]
fn sample(shared: &Shared, thread: &Thread, pointer: Pointer, size: usize) {
    let number = SAMPLES.fetch_add(1, Relaxed);
    let written = write(shared, |record| {
        record.kind = ALLOCATED;
        record.sample = number;
        record.size = size as u64;
        record.registers = registers();
        record.stack_bytes = copy_stack(record.registers[1], &mut record.stack);
    });
    if !written {
        return;
    }
    let mut waiting = thread.waiting.get();
    if waiting == PENDING {
        let oldest = forget_oldest(thread);
        waiting -= 1;
        say(shared, LOST_SIGHT_OF, oldest);
    }
    thread.pending[waiting].set((pointer as usize, thread.epoch.get(), number));
    thread.waiting.set(waiting + 1);
}

/// Takes the oldest sampled allocation out of a thread's full list, which is in the order of age; its number.
fn forget_oldest(thread: &Thread) -> u64 {
    let (_, _, number) = thread.pending[0].get();
    for index in 1..PENDING {
        thread.pending[index - 1].set(thread.pending[index].get());
    }
    number
}

/// Writes what became of a sampled allocation.
fn say(shared: &Shared, kind: u64, number: u64) {
    write(shared, |record| {
        record.kind = kind;
        record.sample = number;
        record.stack_bytes = 0;
    });
}

/// Instruction, stack and frame pointer, and on ARM the link register.
#[inline(always)]
fn registers() -> [u64; 4] {
    let (ip, sp, bp): (u64, u64, u64);
    // SAFETY: registers are read, nothing is changed.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        std::arch::asm!("lea {0}, [rip]", "mov {1}, rsp", "mov {2}, rbp", out(reg) ip, out(reg) sp, out(reg) bp, options(nomem, nostack));
    }
    // SAFETY: registers are read, nothing is changed.
    #[cfg(target_arch = "aarch64")]
    unsafe {
        std::arch::asm!("adr {0}, .", "mov {1}, sp", "mov {2}, x29", out(reg) ip, out(reg) sp, out(reg) bp, options(nomem, nostack));
    }
    [ip, sp, bp, 0]
}

/// The stack from `from` upwards, as far as it is mapped.
#[inline(always)]
fn copy_stack(from: u64, to: &mut [u8; STACK]) -> u64 {
    let local = [to.as_mut_ptr() as usize, STACK];
    let mut remote = [[0_usize; 2]; STACK / PIECE];
    for (index, piece) in remote.iter_mut().enumerate() {
        *piece = [from as usize + index * PIECE, PIECE];
    }
    // SAFETY: the target is `STACK` bytes long; the kernel checks the source.
    let copied = unsafe {
        syscall(
            PROCESS_VM_READV,
            c_long::from(getpid()),
            local.as_ptr(),
            1_usize,
            remote.as_ptr(),
            remote.len(),
            0_usize,
        )
    };
    copied.max(0) as u64
}

/// Claims a record, has it filled, publishes it; false when all are waiting for the reader.
#[inline(always)]
fn write(shared: &Shared, fill: impl FnOnce(&mut Record)) -> bool {
    let header = &shared.header;
    let mut head = header.head.load(Relaxed);
    loop {
        if head.wrapping_sub(header.tail.load(Acquire)) >= RECORDS as u64 {
            header.lost.fetch_add(1, Relaxed);
            return false;
        }
        match header.head.compare_exchange_weak(head, head + 1, AcqRel, Relaxed) {
            Ok(_) => break,
            Err(now) => head = now,
        }
    }
    let record = (&raw const shared.records[head as usize % RECORDS]).cast_mut();
    // SAFETY: the record was claimed by this thread alone, and the reader waits until it is published.
    unsafe {
        (*record).thread = syscall(GETTID) as u64;
        fill(&mut *record);
        (*record).ready.store(head + 1, Release);
    }
    true
}

#[inline]
fn freed(thread: &Thread, pointer: Pointer) {
    if pointer.is_null() {
        return;
    }
    let Some(shared) = shared() else { return };
    let slot = slot(shared, thread);
    add(&slot.frees, 1, thread.slot.get() < SLOTS - 1);
    let waiting = thread.waiting.get();
    for index in 0..waiting {
        let (sampled, epoch, number) = thread.pending[index].get();
        if sampled == pointer as usize {
            // Those behind it move up: the list stays in the order of age.
            for behind in index + 1..waiting {
                thread.pending[behind - 1].set(thread.pending[behind].get());
            }
            thread.waiting.set(waiting - 1);
            if epoch == thread.epoch.get() {
                say(shared, FREED_IN_TIME, number);
            }
            return;
        }
    }
}

/// Runs `call`; `true` where it is the outermost of these functions on this thread, whose call counts.
#[inline]
fn outermost<R>(call: impl FnOnce() -> R, then: impl FnOnce(&Thread, &R)) -> R {
    let done = THREAD.try_with(|thread| {
        if thread.inside.replace(true) {
            return None;
        }
        Some(thread as *const Thread)
    });
    let result = call();
    if let Ok(Some(thread)) = done {
        // SAFETY: a thread's own state lives as long as the thread, which is here.
        let thread = unsafe { &*thread };
        then(thread, &result);
        thread.inside.set(false);
    }
    result
}

/// The function of this name that would have been called: `None` while this thread is looking one up, which may allocate.
macro_rules! next {
    ($name:literal, $type:ty) => {{
        static NEXT: Next = Next::new($name);
        let mut found = NEXT.found.load(Acquire);
        if found.is_null() {
            found = looked_up(|| NEXT.look_up());
        }
        // SAFETY: the function of this name has this type; absent ones are `None`.
        unsafe { std::mem::transmute::<Pointer, Option<$type>>(found) }
    }};
}

/// Maps the file with the first call.
#[inline]
fn ready() {
    if STATE.load(Acquire) == 0 {
        begin();
    }
}

thread_local! {
    /// This thread looks a function up, which may allocate.
    static LOOKING: Cell<bool> = const { Cell::new(false) };
}

/// Runs a look-up; nothing when this thread is in the middle of one.
#[cold]
fn looked_up(find: impl FnOnce() -> Pointer) -> Pointer {
    let busy = LOOKING.try_with(|looking| looking.replace(true)).unwrap_or(false);
    if busy {
        return null_mut();
    }
    let found = find();
    let _ = LOOKING.try_with(|looking| looking.set(false));
    found
}

macro_rules! allocator {
    ($symbol:ident, $text:literal, ($($argument:ident: $type:ty),*), $size:expr) => {
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $symbol($($argument: $type),*) -> Pointer {
            let size: usize = $size;
            ready();
            let Some(next) = next!($text, unsafe extern "C" fn($($type),*) -> Pointer) else {
                return early(size);
            };
            // SAFETY: forwarded as it came.
            outermost(|| unsafe { next($($argument),*) }, |thread, pointer| allocated(thread, *pointer, size))
        }
    };
}

macro_rules! releaser {
    ($symbol:ident, $text:literal, ($($argument:ident: $type:ty),*)) => {
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $symbol(pointer: Pointer $(, $argument: $type)*) {
            if pointer.is_null() || is_early(pointer) {
                return;
            }
            let Some(next) = next!($text, unsafe extern "C" fn(Pointer $(, $type)*)) else {
                return;
            };
            // Before the memory can be handed to another thread.
            let done = THREAD.try_with(|thread| {
                if thread.inside.replace(true) {
                    return false;
                }
                freed(thread, pointer);
                true
            });
            // SAFETY: forwarded as it came.
            unsafe { next(pointer $(, $argument)*) };
            if let Ok(true) = done {
                let _ = THREAD.try_with(|thread| thread.inside.set(false));
            }
        }
    };
}

allocator!(malloc, b"malloc\0", (size: usize), size);
allocator!(calloc, b"calloc\0", (count: usize, each: usize), count.saturating_mul(each));
allocator!(memalign, b"memalign\0", (alignment: usize, size: usize), size);
allocator!(aligned_alloc, b"aligned_alloc\0", (alignment: usize, size: usize), size);
allocator!(_Znwm, b"_Znwm\0", (size: usize), size);
allocator!(_Znam, b"_Znam\0", (size: usize), size);
allocator!(_ZnwmRKSt9nothrow_t, b"_ZnwmRKSt9nothrow_t\0", (size: usize, tag: Pointer), size);
allocator!(_ZnamRKSt9nothrow_t, b"_ZnamRKSt9nothrow_t\0", (size: usize, tag: Pointer), size);
allocator!(_ZnwmSt11align_val_t, b"_ZnwmSt11align_val_t\0", (size: usize, alignment: usize), size);
allocator!(_ZnamSt11align_val_t, b"_ZnamSt11align_val_t\0", (size: usize, alignment: usize), size);
releaser!(free, b"free\0", ());
releaser!(_ZdlPv, b"_ZdlPv\0", ());
releaser!(_ZdaPv, b"_ZdaPv\0", ());
releaser!(_ZdlPvm, b"_ZdlPvm\0", (size: usize));
releaser!(_ZdaPvm, b"_ZdaPvm\0", (size: usize));
releaser!(_ZdlPvSt11align_val_t, b"_ZdlPvSt11align_val_t\0", (alignment: usize));
releaser!(_ZdaPvSt11align_val_t, b"_ZdaPvSt11align_val_t\0", (alignment: usize));
releaser!(_ZdlPvmSt11align_val_t, b"_ZdlPvmSt11align_val_t\0", (size: usize, alignment: usize));
releaser!(_ZdaPvmSt11align_val_t, b"_ZdaPvmSt11align_val_t\0", (size: usize, alignment: usize));

#[unsafe(no_mangle)]
pub unsafe extern "C" fn realloc(pointer: Pointer, size: usize) -> Pointer {
    if is_early(pointer) {
        // SAFETY: an early piece keeps its size in front of it; the new one is at least as long as what is copied.
        unsafe {
            let new = malloc(size);
            let old = pointer.cast::<u8>().sub(16).cast::<usize>().read();
            if !new.is_null() {
                pointer.cast::<u8>().copy_to_nonoverlapping(new.cast(), old.min(size));
            }
            return new;
        }
    }
    let Some(next) = next!(b"realloc\0", unsafe extern "C" fn(Pointer, usize) -> Pointer) else {
        return early(size);
    };
    // SAFETY: forwarded as it came.
    outermost(
        || unsafe { next(pointer, size) },
        |thread, new| {
            if !new.is_null() {
                freed(thread, pointer);
            }
            allocated(thread, *new, size);
        },
    )
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn posix_memalign(to: *mut Pointer, alignment: usize, size: usize) -> c_int {
    const OUT_OF_MEMORY: c_int = 12;
    let Some(next) = next!(b"posix_memalign\0", unsafe extern "C" fn(*mut Pointer, usize, usize) -> c_int) else {
        return OUT_OF_MEMORY;
    };
    // SAFETY: forwarded as it came; `to` was written when it returned 0.
    outermost(
        || unsafe { next(to, alignment, size) },
        |thread, result| {
            if *result == 0 {
                allocated(thread, unsafe { *to }, size);
            }
        },
    )
}

/// A thread that receives begins a new statement: what it allocated before and kept is no pair.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn recv(socket: c_int, to: Pointer, length: usize, flags: c_int) -> isize {
    let _ = THREAD.try_with(|thread| {
        thread.epoch.set(thread.epoch.get() + 1);
        thread.waiting.set(0);
    });
    match next!(b"recv\0", unsafe extern "C" fn(c_int, Pointer, usize, c_int) -> isize) {
        // SAFETY: forwarded as it came.
        Some(next) => unsafe { next(socket, to, length, flags) },
        None => -1,
    }
}
