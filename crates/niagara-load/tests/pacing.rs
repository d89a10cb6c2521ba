//! Pacing, limits and reconnects against a real server.

#![allow(clippy::unwrap_used)]

mod common;

use common::Server;
use mysql::prelude::Queryable;
use niagara_load::floor::Floor;
use niagara_load::{
    Driver, DriverOptions, Endpoint, IgnoredErrors, IoChoice, LoadError, Pacing, Retry, RunOptions,
    Schedule, SliceStats, StatementClass, Sysbench, SysbenchTest, WorkloadSpec, prepare,
};
use nix::sys::pthread::{pthread_kill, pthread_self};
use nix::sys::signal::Signal;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

fn spec(kind: SysbenchTest) -> WorkloadSpec {
    WorkloadSpec::of(Sysbench {
        test: kind,
        table_size: 5000,
        ..Sysbench::default()
    })
}

fn options(threads: u32) -> DriverOptions {
    DriverOptions {
        connections: threads,
        loops: Some(threads.min(2) as usize),
        ..DriverOptions::default()
    }
}

fn connect(server: &Server, kind: SysbenchTest, options: &DriverOptions) -> Driver {
    let spec = spec(kind);
    prepare(&server.unix(), &spec, "innodb", &mut |_, _| {}).unwrap();
    Driver::connect(&[server.unix()], &spec, options).unwrap()
}

/// io_uring where it is allowed.
const BOTH: [IoChoice; 2] = [IoChoice::Epoll, IoChoice::Auto];

fn floor(endpoint: &Endpoint, spec: &WorkloadSpec, io: IoChoice) -> Result<Floor, LoadError> {
    let time = Duration::from_secs(10);
    Floor::connect(endpoint, spec, 4, time, io, Duration::from_micros(50))
}

fn open(schedule: &str, seconds: f64) -> RunOptions {
    RunOptions {
        duration: Some(Duration::from_secs_f64(seconds)),
        pacing: Pacing::Open(schedule.parse().unwrap()),
        ..RunOptions::default()
    }
}

fn nothing(_: &SliceStats) -> bool {
    true
}

#[test]
fn an_open_loop_begins_what_arrives() {
    let server = Server::start();
    let mut driver = connect(&server, SysbenchTest::OltpReadOnly, &options(8));
    let mut root = server.root();
    let before = server.executed(&mut root);
    let mut intervals = Vec::new();
    let run = RunOptions {
        warm_up: Duration::from_millis(200),
        interval: Some(Duration::from_millis(250)),
        ..open("200@0.5,0@0.25,100-400@0.75", 1.5)
    };
    let whole = driver
        .run(0, &run, &mut |stats| {
            intervals.push((stats.arrivals, stats.backlog, stats.latency.len()));
            true
        })
        .unwrap();
    assert_eq!(server.executed(&mut root) - before, whole.queries_whole);
    // all that arrived has begun, was finished, and is accounted for
    assert_eq!(whole.transactions_whole + whole.backlog, whole.arrivals);
    // 40 in the warm-up, 100 in the step, 187.5 in the ramp; 7 standard deviations
    assert!((200..=460).contains(&whole.arrivals), "{}", whole.arrivals);
    assert_eq!(intervals.len(), 6);
    assert_eq!(intervals[2].0, 0, "{intervals:?}");
    assert!(intervals.iter().map(|interval| interval.0).sum::<u64>() < whole.arrivals);
    assert_eq!(whole.start_delay.is_empty(), whole.transactions == 0);
}

#[test]
fn an_overloaded_open_loop_shows_its_backlog_and_the_waiting() {
    let server = Server::start();
    let mut driver = connect(&server, SysbenchTest::OltpReadOnly, &options(1));
    let mut backlogs = Vec::new();
    let run = RunOptions {
        interval: Some(Duration::from_millis(250)),
        ..open("50000", 1.0)
    };
    let whole = driver
        .run(0, &run, &mut |stats| {
            backlogs.push(stats.backlog);
            true
        })
        .unwrap();
    assert!(backlogs.is_sorted() && backlogs[0] > 0, "{backlogs:?}");
    assert!(whole.backlog > 20_000, "{}", whole.backlog);
    assert_eq!(whole.transactions_whole + whole.backlog, whole.arrivals);
    // the last ones to begin had waited for most of the run
    assert!(whole.latency.max() > 500_000_000, "{}", whole.latency.max());
    // but none of that is the load generator's own delay
    let fairness = whole.fairness();
    assert!(fairness.seconds_mean <= whole.load_seconds);
}

#[test]
fn what_connections_were_busy_for_and_what_had_waited_for_them_is_the_latency_of_all() {
    let server = Server::start();
    let mut driver = connect(&server, SysbenchTest::OltpPointSelect, &options(2));
    let run = RunOptions {
        count_drain: true,
        ..open("200000", 0.5)
    };
    let whole = driver.run(0, &run, &mut nothing).unwrap();
    let sum = |seconds: &[f64]| seconds.iter().sum::<f64>();
    let waited = sum(&whole.per_connection_waited_seconds);
    let all = waited + sum(&whole.per_connection_busy_seconds);
    let latency = whole.latency.mean() * whole.latency.len() as f64 / 1e9;
    assert!((all / latency - 1.0).abs() < 0.002, "{all} {latency}");
    // Far more arrive than two connections serve.
    assert!(waited > all / 2.0, "{waited} of {all}");
}

#[test]
fn a_transaction_counts_in_every_interval_that_it_is_under_way_in() {
    let server = Server::start();
    let mut driver = connect(&server, SysbenchTest::OltpPointSelect, &options(4));
    let interval = Duration::from_millis(200);
    let run = RunOptions {
        duration: Some(Duration::from_secs(2)),
        interval: Some(interval),
        // What is in flight at the end is not in the last interval.
        count_drain: true,
        connections_by_interval: true,
        ..RunOptions::default()
    };
    let mut longest = 0.0_f64;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(500));
            server.signal(Signal::SIGSTOP);
            std::thread::sleep(Duration::from_millis(700));
            server.signal(Signal::SIGCONT);
        });
        let mut on_interval = |stats: &SliceStats| {
            let busy = stats.per_connection_busy_seconds.iter().copied();
            longest = busy.fold(longest, f64::max);
            true
        };
        driver.run(0, &run, &mut on_interval).unwrap();
    });
    assert!(longest <= interval.as_secs_f64() + 1e-6, "{longest}");
    assert!(longest > 0.0);
}

#[test]
fn a_stall_is_felt_by_all_that_arrive_in_it() {
    let server = Server::start();
    let mut driver = connect(&server, SysbenchTest::OltpPointSelect, &options(4));
    let whole = std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(300));
            server.signal(Signal::SIGSTOP);
            std::thread::sleep(Duration::from_millis(500));
            server.signal(Signal::SIGCONT);
        });
        driver.run(0, &open("500", 1.5), &mut nothing).unwrap()
    });
    // 4 connections were in the stall, but some 200 transactions had to wait 100 ms or more for its end
    let slow = whole.latency.len() - whole.latency.count_between(0, 100_000_000);
    assert!(slow > 100, "{slow} of {}", whole.latency.len());
}

#[test]
fn a_run_ends_after_its_number_of_transactions() {
    let server = Server::start();
    let mut driver = connect(&server, SysbenchTest::OltpReadOnly, &options(8));
    for (pacing, events) in [
        (Pacing::Closed, 500),
        (Pacing::Open(Schedule::constant(1000.0)), 200),
        (Pacing::Closed, 3),
    ] {
        let run = RunOptions {
            duration: None,
            events: Some(events),
            pacing,
            ..RunOptions::default()
        };
        let whole = driver.run(0, &run, &mut nothing).unwrap();
        assert_eq!(whole.transactions, events);
        assert_eq!(whole.transactions_whole, events);
        assert!(whole.seconds > 0.0 && whole.seconds <= whole.load_seconds);
        // statements as sysbench counts them
        assert_eq!(whole.queries_of(StatementClass::Read), 14 * events);
        assert_eq!(whole.queries_of(StatementClass::Write), 0);
        assert_eq!(whole.queries_of(StatementClass::Other), 2 * events);
        assert_eq!(whole.queries, 16 * events);
        for statement in &whole.statements {
            assert_eq!(statement.count, statement.latency.len());
        }
        let points = &whole.statements[1];
        assert_eq!(
            (points.name.as_str(), points.count),
            ("point_select", 10 * events)
        );
        let fairness = whole.fairness();
        assert_eq!(fairness.transactions_mean * 8.0, events as f64);
        assert!(fairness.seconds_mean > 0.0);
    }
}

#[test]
fn transactions_of_the_warm_up_are_not_counted() {
    let server = Server::start();
    let mut driver = connect(&server, SysbenchTest::OltpPointSelect, &options(4));
    let mut intervals = Vec::new();
    let run = RunOptions {
        warm_up: Duration::from_millis(300),
        duration: Some(Duration::from_millis(400)),
        interval: Some(Duration::from_millis(100)),
        ..RunOptions::default()
    };
    let whole = driver
        .run(0, &run, &mut |stats| {
            intervals.push((stats.transactions, stats.transactions_whole));
            true
        })
        .unwrap();
    assert_eq!(intervals.len(), 4);
    assert!(whole.transactions < whole.transactions_whole);
    let counted: u64 = intervals.iter().map(|interval| interval.0).sum();
    assert_eq!(counted, whole.transactions);
    // the last one also has the transactions that were in flight at the stop
    assert!(
        intervals[..3]
            .iter()
            .all(|interval| interval.0 == interval.1),
        "{intervals:?}"
    );
}

fn kill_connections(server: &Server) -> usize {
    let mut root = server.root();
    let ids: Vec<u64> = root
        .query("SELECT id FROM information_schema.processlist WHERE user = 'niagara'")
        .unwrap();
    ids.iter()
        .filter(|id| root.query_drop(format!("KILL {id}")).is_ok())
        .count()
}

#[test]
fn lost_connections_are_re_established_if_asked_for() {
    let server = Server::start();
    let spec = spec(SysbenchTest::OltpReadWrite);
    prepare(&server.unix(), &spec, "innodb", &mut |_, _| {}).unwrap();
    for io in BOTH {
        lost_connections_by(&server, &spec, io);
    }
}

fn lost_connections_by(server: &Server, spec: &WorkloadSpec, io: IoChoice) {
    let retrying = DriverOptions {
        retry: Some(Retry::default()),
        io,
        ..options(6)
    };
    let mut driver = Driver::connect(&[server.unix()], spec, &retrying).unwrap();
    let run = RunOptions {
        duration: Some(Duration::from_millis(1500)),
        ..RunOptions::default()
    };
    let (killed, whole) = std::thread::scope(|scope| {
        let killed = scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(300));
            kill_connections(server)
        });
        let whole = driver.run(0, &run, &mut nothing).unwrap();
        (killed.join().unwrap(), whole)
    });
    assert_eq!(killed, 6);
    assert_eq!(whole.reconnects, 6);
    assert!(
        whole
            .per_connection_transactions
            .iter()
            .all(|&count| count > 0)
    );
    // idle ones that were lost are re-established by the next run
    assert_eq!(kill_connections(server), 6);
    let again = driver.run(0, &run, &mut nothing).unwrap();
    assert_eq!(again.reconnects, 6);
    assert!(
        again
            .per_connection_transactions
            .iter()
            .all(|&count| count > 0)
    );

    drop(driver);
    let options = DriverOptions { io, ..options(6) };
    let mut driver = Driver::connect(&[server.unix()], spec, &options).unwrap();
    kill_connections(server);
    let error = driver.run(0, &run, &mut nothing).unwrap_err();
    assert!(matches!(error, LoadError::ServerLost { .. }), "{error}");
}

#[test]
fn reconnecting_stops_after_the_timeout() {
    let server = Server::start();
    let retrying = DriverOptions {
        retry: Some(Retry {
            give_up_after: Duration::from_millis(500),
            ..Retry::default()
        }),
        ..options(4)
    };
    let mut driver = connect(&server, SysbenchTest::OltpPointSelect, &retrying);
    let start = Instant::now();
    let error = std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(200));
            server.signal(Signal::SIGKILL);
        });
        let run = RunOptions {
            duration: Some(Duration::from_secs(60)),
            ..RunOptions::default()
        };
        driver.run(0, &run, &mut nothing).unwrap_err()
    });
    assert!(
        error.to_string().contains("could not be reached again"),
        "{error}"
    );
    assert!(start.elapsed() < Duration::from_secs(30));
}

#[test]
fn connections_are_renewed_after_their_number_of_transactions() {
    let server = Server::start();
    let spec = spec(SysbenchTest::OltpPointSelect);
    prepare(&server.unix(), &spec, "innodb", &mut |_, _| {}).unwrap();
    for io in BOTH {
        renewed_by(&server, &spec, io);
    }
}

fn renewed_by(server: &Server, spec: &WorkloadSpec, io: IoChoice) {
    let renewing = DriverOptions {
        reconnect_after: Some(5),
        io,
        ..options(4)
    };
    let mut driver = Driver::connect(&[server.unix()], spec, &renewing).unwrap();
    let mut root = server.root();
    let before = server.status(&mut root, "Connections");
    let run = RunOptions {
        duration: None,
        events: Some(200),
        ..RunOptions::default()
    };
    let whole = driver.run(0, &run, &mut nothing).unwrap();
    assert_eq!(whole.transactions, 200);
    assert!(whole.renewals >= 36, "{}", whole.renewals);
    assert_eq!(whole.reconnects, 0);
    assert!(server.status(&mut root, "Connections") - before >= whole.renewals);
}

/// Two servers, one of them stopped at a time: a link that one asks for while it is stopped would keep the other's waiting.
#[test]
fn connections_are_renewed_while_their_server_runs() {
    let servers = [Server::start(), Server::start()];
    let spec = spec(SysbenchTest::OltpPointSelect);
    for server in &servers {
        prepare(&server.unix(), &spec, "innodb", &mut |_, _| {}).unwrap();
    }
    let renewing = DriverOptions {
        reconnect_after: Some(5),
        loops: Some(1),
        ..options(4)
    };
    let sides = servers.each_ref().map(Server::unix);
    let mut driver = Driver::connect(&sides, &spec, &renewing).unwrap();
    let run = RunOptions {
        duration: Some(Duration::from_millis(300)),
        ..RunOptions::default()
    };
    servers[1].signal(Signal::SIGSTOP);
    for side in [0, 1, 0, 1, 0, 1] {
        servers[side].signal(Signal::SIGCONT);
        let counted = driver.run(side, &run, &mut nothing).unwrap();
        servers[side].signal(Signal::SIGSTOP);
        // Every fifth transaction of each of the four connections, those of the turns before counted on.
        let renewals = counted.transactions_whole / 5;
        assert!(counted.renewals.abs_diff(renewals) <= 4, "{counted:?}");
        assert!(counted.renewals > 8, "{counted:?}");
    }
    for server in &servers {
        server.signal(Signal::SIGCONT);
    }
}

#[test]
fn errors_that_are_not_to_be_ignored_end_the_run() {
    let server = Server::start();
    let spec = WorkloadSpec::of(Sysbench {
        test: SysbenchTest::OltpReadWrite,
        table_size: 20,
        range_size: 5,
        ..Sysbench::default()
    });
    prepare(&server.unix(), &spec, "innodb", &mut |_, _| {}).unwrap();
    let run = RunOptions {
        duration: Some(Duration::from_secs(60)),
        ..RunOptions::default()
    };
    let strict = DriverOptions {
        ignored_errors: IgnoredErrors::These(vec![]),
        ..options(16)
    };
    let mut driver = Driver::connect(&[server.unix()], &spec, &strict).unwrap();
    let error = driver.run(0, &run, &mut nothing).unwrap_err();
    assert!(
        matches!(error, LoadError::Statement { code: 1213, .. }),
        "{error}"
    );
    // its transactions hold locks on the table
    drop(driver);

    let lenient = DriverOptions {
        ignored_errors: IgnoredErrors::All,
        ..options(4)
    };
    let mut driver = Driver::connect(&[server.unix()], &spec, &lenient).unwrap();
    server
        .root()
        .query_drop("DROP TABLE sbtest.sbtest1")
        .unwrap();
    let run = RunOptions {
        duration: Some(Duration::from_millis(100)),
        ..RunOptions::default()
    };
    let whole = driver.run(0, &run, &mut nothing).unwrap();
    assert!(whole.errors[&1146] > 0, "{:?}", whole.errors);
    assert_eq!(whole.transactions_whole, 0);
}

#[test]
fn the_bare_loop_sends_and_drains() {
    let server = Server::start();
    let spec = spec(SysbenchTest::OltpReadOnly);
    prepare(&server.unix(), &spec, "innodb", &mut |_, _| {}).unwrap();
    for (endpoint, io) in [server.unix(), server.tcp()]
        .into_iter()
        .flat_map(|endpoint| BOTH.map(|io| (endpoint.clone(), io)))
    {
        let mut floor = floor(&endpoint, &spec, io).unwrap();
        let mut root = server.root();
        let before = server.executed(&mut root);
        let stats = floor.slice(Duration::from_millis(200), Some(&[0])).unwrap();
        assert!(
            stats.queries > 0 && stats.queries.is_multiple_of(16),
            "{stats:?}"
        );
        assert!(stats.cpu_seconds > 0.0 && stats.cpu_seconds <= stats.seconds);
        if server.is_mariadb {
            assert_eq!(server.executed(&mut root) - before, stats.queries);
        }
    }
    let writes = WorkloadSpec::of(SysbenchTest::OltpReadWrite);
    let refused = floor(&server.unix(), &writes, IoChoice::Auto);
    assert!(refused.unwrap_err().to_string().contains("only reads"));
}

/// The kernel interrupts system calls for reasons of its own: a ring of this thread that is taken down, for one.
#[test]
fn the_bare_loop_connects_while_its_thread_is_interrupted() {
    let server = Server::start();
    let spec = spec(SysbenchTest::OltpReadOnly);
    prepare(&server.unix(), &spec, "innodb", &mut |_, _| {}).unwrap();
    // Whoever handles a signal is interrupted by it.
    let caught = Arc::new(AtomicBool::new(false));
    signal_hook::flag::register(Signal::SIGUSR2 as i32, caught.clone()).unwrap();
    let connecting = pthread_self();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                pthread_kill(connecting, Signal::SIGUSR2).unwrap();
                std::thread::sleep(Duration::from_micros(200));
            }
        });
        let connected = [server.unix(), server.tcp()].map(|endpoint| {
            (0..10).try_for_each(|_| floor(&endpoint, &spec, IoChoice::Epoll).map(drop))
        });
        done.store(true, Ordering::Relaxed);
        for outcome in connected {
            outcome.unwrap();
        }
    });
    assert!(caught.load(Ordering::Relaxed));
}
