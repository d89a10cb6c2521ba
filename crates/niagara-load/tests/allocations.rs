//! Under load nothing is allocated per query: a slice ten times as long allocates no more.

mod common;

use common::Server;
use niagara_capture::log::ReadOptions;
use niagara_capture::{Import, import};
use niagara_load::{
    CaptureWorkload, Distribution, Driver, DriverOptions, FileWorkload, IoChoice,
    PreparedStatements, SliceOptions, Sysbench, SysbenchTest, TableOptions, Tpcc, Workload,
    WorkloadFile, WorkloadKind, WorkloadSpec, cleanup, prepare_tables,
};
use std::alloc::{GlobalAlloc, Layout, System};
use std::fmt::Write as _;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

struct Counting;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

// SAFETY: every call is passed on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller's promises are those of the system's allocator.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the pointer came from the system's allocator.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: as above.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn a_longer_slice_allocates_no_more() {
    let server = Server::start();
    let of_test = |test| Sysbench {
        test,
        table_size: 5000,
        ..Sysbench::default()
    };
    let as_text = |workload: Workload| {
        let mut spec = WorkloadSpec::of(workload);
        spec.common.db_ps_mode = PreparedStatements::Disable;
        spec
    };
    let read_write = of_test(SysbenchTest::OltpReadWrite);
    let shop = FileWorkload::read(WorkloadFile {
        path: "shop.toml".into(),
        text: include_str!("../../../docs/examples/shop.toml").into(),
    });
    let commit: WorkloadKind = "commit".parse().expect("a workload that is built in");
    allocations_of(
        &server,
        &WorkloadSpec::of(read_write.clone()),
        IoChoice::Epoll,
    );
    for spec in [
        WorkloadSpec::of(read_write.clone()),
        as_text(read_write.into()),
        WorkloadSpec::of(Sysbench {
            auto_inc: false,
            ..of_test(SysbenchTest::OltpInsert)
        }),
        WorkloadSpec::of(of_test(SysbenchTest::BulkInsert)),
        WorkloadSpec::of(Sysbench {
            distribution: Distribution::Zipfian { exponent: 0.8 },
            ..of_test(SysbenchTest::SelectRandomRanges)
        }),
        WorkloadSpec::of(Tpcc::of(1)),
        as_text(Tpcc::of(1).into()),
        WorkloadSpec::of(commit),
        WorkloadSpec::of(shop.expect("a file without a mistake")),
    ] {
        allocations_of(&server, &spec, IoChoice::Auto);
    }
    allocations_of_a_replay(&server);
}

fn allocations_of(server: &Server, spec: &WorkloadSpec, io: IoChoice) {
    let kind = spec.name();
    let tables = TableOptions {
        threads: 8,
        ..TableOptions::default()
    };
    prepare_tables(&server.unix(), spec, &tables, &mut |_| {}).expect("tables");
    let options = DriverOptions {
        connections: 8,
        loops: Some(2),
        io,
        ..DriverOptions::default()
    };
    let mut driver = Driver::connect(&[server.unix()], spec, &options).expect("connections");
    let mut allocations = |milliseconds| {
        let options = SliceOptions {
            duration: Duration::from_millis(milliseconds),
            ..SliceOptions::default()
        };
        let before = ALLOCATIONS.load(Ordering::Relaxed);
        let stats = driver.slice(0, &options).expect("a slice");
        // The text of an error is kept as a string; a deadlock or two may happen.
        let errors: u64 = stats.errors.values().sum();
        let allocated = ALLOCATIONS.load(Ordering::Relaxed) - before;
        (allocated.saturating_sub(10 * errors), stats.queries_whole)
    };
    allocations(100); // the first one grows the buffers to their size
    let (short, few) = allocations(100);
    // As long as it takes: the server may have to write to its disk just now.
    let (long, many) = [1000, 3000, 9000, 27_000]
        .into_iter()
        .map(&mut allocations)
        .find(|(_, many)| *many > 3 * few)
        .unwrap_or_else(|| panic!("{kind}: {few} queries, and hardly more in a longer slice"));
    // A few for each kind of statement that is counted, however often it comes.
    let most = if matches!(spec.workload, Workload::Sysbench(_)) {
        100
    } else {
        300
    };
    assert!(short < most, "{kind}: {short} allocations in a slice");
    // An allocation for every query, or for every transaction of twenty, would be hundreds. A few come late: a buffer
    // that grows for the longest answer so far, on whichever connection it comes.
    let late = 10 + (many - few) / 500;
    assert!(
        long <= short + late,
        "{kind}: {short} allocations for {few} queries, {long} for {many}"
    );
    println!("{kind}, {io}: {short} allocations for {few} queries, {long} for {many}");
    drop(driver);
    cleanup(&server.unix(), spec, &tables, &mut |_| {}).expect("tables dropped");
}

/// A capture of `statements` statements of four sessions on the table of sysbench.
fn capture_of(statements: u64, folder: &std::path::Path) -> CaptureWorkload {
    let mut log = String::from(
        "/usr/sbin/mariadbd, Version: 10.11.6-MariaDB (Debian). started with:\n\
         Tcp port: 3306  Unix socket: /run/mysqld/mysqld.sock\nTime\t\t    Id Command\tArgument\n",
    );
    for number in 0..statements {
        let (session, second) = (number % 4 + 1, 1_700_000_000 + number / 1000);
        let time = ["# Time: 231114 22:13:20\n", ""][usize::from(number % 1000 != 0)];
        let sql = match number / 4 % 4 {
            0 => "BEGIN".to_owned(),
            1 => format!("SELECT c FROM sbtest1 WHERE id = {}", number % 4999 + 1),
            2 => format!(
                "UPDATE sbtest1 SET k = k + 1 WHERE id = {}",
                number % 4999 + 1
            ),
            _ => "COMMIT".to_owned(),
        };
        write!(
            log,
            "{time}# User@Host: app[app] @ localhost []\n# Thread_id: {session}  Schema: sbtest  QC_hit: No\n\
             # Query_time: 0.002000  Lock_time: 0.000010  Rows_sent: 1  Rows_examined: 1\n\
             # Rows_affected: 0  Bytes_sent: 100\nSET timestamp={second};\n{sql};\n"
        )
        .expect("a string");
    }
    let (path, output) = (folder.join("slow.log"), folder.join("shop.capture"));
    std::fs::write(&path, log).expect("a file");
    let order = Import {
        files: vec![path],
        read: ReadOptions::default(),
        output: output.clone(),
        replace: true,
        clients: Vec::new(),
        counted: None,
        stored: None,
    };
    import(&order, &AtomicBool::new(false), |_| {}).expect("a log that can be read");
    CaptureWorkload::open(&output).expect("a capture")
}

fn allocations_of_a_replay(server: &Server) {
    let folder = tempfile::tempdir().expect("a folder");
    let tables = WorkloadSpec::of(Sysbench {
        table_size: 5000,
        ..Sysbench::default()
    });
    prepare_tables(
        &server.unix(),
        &tables,
        &TableOptions::default(),
        &mut |_| {},
    )
    .expect("tables");
    let allocations = |statements: u64| {
        let workload = capture_of(statements, folder.path());
        let trace = workload.trace().expect("a trace");
        let spec = WorkloadSpec::of(workload);
        let options = DriverOptions {
            segment: Duration::from_secs(3600),
            ..DriverOptions::default()
        };
        let mut driver = Driver::connect(&[server.unix()], &spec, &options).expect("a driver");
        let before = ALLOCATIONS.load(Ordering::Relaxed);
        let stats = driver.slice(0, &SliceOptions::default()).expect("a slice");
        let allocated = ALLOCATIONS.load(Ordering::Relaxed) - before;
        assert_eq!(stats.queries, trace.facts.statements);
        let errors: u64 = stats.errors.values().sum();
        allocated.saturating_sub(20 * errors)
    };
    let (short, long) = (allocations(400), allocations(8000));
    println!("replay: {short} allocations for 400 statements, {long} for 8000");
    assert!(
        long <= short + 40,
        "{short} for 400 statements, {long} for 8000"
    );
    cleanup(
        &server.unix(),
        &tables,
        &TableOptions::default(),
        &mut |_| {},
    )
    .expect("tables dropped");
}
