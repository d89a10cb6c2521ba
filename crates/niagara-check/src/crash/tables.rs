//! The tables of the crash check: how they are made, and what is wrong with them on a server that came back.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use niagara_error::Explain as _;
use niagara_load::Admin;
use niagara_model::RecoveryFault;
use niagara_server::RunningServer;

use super::ledger::{ACCOUNTS, Found, Ledger, OPENING_BALANCE};
use super::patience::{Patience, Timeout, Wait};
use crate::server::{connect, endpoint};

/// Where the index on `note` is read from anew: the texts are hexadecimal numbers, and a quarter of them is in memory at a time.
const QUARTERS: [&str; 4] = ["", "4", "8", "c"];

/// Makes the tables, in `engine`, for this many connections.
pub(super) fn create(server: &RunningServer, engine: &str, connections: usize) -> Result<()> {
    let accounts: Vec<String> = (0..ACCOUNTS)
        .map(|id| format!("({id}, {OPENING_BALANCE})"))
        .collect();
    let last: Vec<String> = (0..connections).map(|id| format!("({id}, NULL)")).collect();
    for statement in [
        // RocksDB has no index on a text of another collation.
        "CREATE DATABASE niagara_check CHARACTER SET latin1 COLLATE latin1_bin".to_owned(),
        format!(
            "CREATE TABLE niagara_check.deeds (connection INT, sequence BIGINT, part TINYINT, note TEXT, \
             PRIMARY KEY (connection, sequence, part), KEY (note(20))) ENGINE={engine}"
        ),
        format!(
            "CREATE TABLE niagara_check.accounts (id INT PRIMARY KEY, balance BIGINT, KEY (balance)) ENGINE={engine}"
        ),
        format!(
            "CREATE TABLE niagara_check.last (connection INT PRIMARY KEY, sequence BIGINT) ENGINE={engine}"
        ),
        format!(
            "INSERT INTO niagara_check.accounts VALUES {}",
            accounts.join(",")
        ),
        format!("INSERT INTO niagara_check.last VALUES {}", last.join(",")),
    ] {
        server.query(&statement)?;
    }
    Ok(())
}

/// What is wrong with a server that came back.
///
/// # Errors
/// The tables cannot be read; [`Timeout`] where nothing is wrong so far and the machine left the server no time for the rest.
pub(super) fn inspect(server: &RunningServer, ledger: &mut Ledger) -> Result<Vec<RecoveryFault>> {
    let mut admin = connect(&endpoint(server))?;
    let found = read(&mut admin)?;
    let mut wrong = ledger.verify(&found);
    let mut patience = Patience::with(server)?;
    match wait_for_rollbacks(&mut admin, &mut || patience.look()) {
        // What is wrong stands, whatever else may be.
        Err(error) if error.has::<Timeout>() && !wrong.is_empty() => return Ok(wrong),
        left => wrong.extend(left?),
    }
    for table in ["deeds", "accounts", "last"] {
        wrong.extend(complaints(&mut admin, table)?);
    }
    wrong.extend(deeds_by_index(&mut admin, &found)?);
    let by_index = balances(
        &mut admin,
        "FORCE INDEX (balance) WHERE balance > -1000000000000",
    )?;
    wrong.extend(found.balances_by_index(&by_index));
    Ok(wrong)
}

/// Waits until the transactions that the kill cut off are rolled back: servers do that while they answer already, and until
/// then CHECK TABLE may find rows in one index that another has lost. Those that are still there when the wait is over, as `look`
/// says.
fn wait_for_rollbacks(
    admin: &mut Admin,
    look: &mut dyn FnMut() -> Result<Wait>,
) -> Result<Option<RecoveryFault>> {
    // Those of before the kill belong to no thread of the server's.
    const CUT_OFF: &str =
        "SELECT COUNT(*) FROM information_schema.innodb_trx WHERE trx_mysql_thread_id = 0";
    let began = Instant::now();
    loop {
        let left = admin.value(CUT_OFF)?.unwrap_or_default();
        let left: u64 = left
            .parse()
            .with_context(|| format!("not a number of transactions: `{left}`"))?;
        if left == 0 {
            return Ok(None);
        }
        let what = RecoveryFault::NotRolledBack {
            count: left,
            seconds: began.elapsed().as_secs(),
        };
        match look()? {
            Wait::Goes => thread::sleep(LOOK),
            Wait::Over => return Ok(Some(what)),
            Wait::Timeout(starved) => return Err(starved.about(&what.to_string()).into()),
        }
    }
}

/// How often it is looked whether transactions are rolled back. InnoDB shows who asks within 100 ms of the last time what it showed then.
const LOOK: Duration = Duration::from_millis(200);

/// What CHECK TABLE says of a table beyond that it is whole.
fn complaints(admin: &mut Admin, table: &str) -> Result<Vec<RecoveryFault>> {
    let rows = admin.rows(&format!("CHECK TABLE niagara_check.{table} EXTENDED"))?;
    let cell = |row: &[Option<String>], index: usize| {
        row.get(index).cloned().flatten().unwrap_or_default()
    };
    Ok(rows
        .iter()
        .map(|row| (cell(row, 2), cell(row, 3)))
        .filter(|(kind, message)| is_complaint(kind, message))
        .map(|(kind, message)| RecoveryFault::CheckTable {
            table: table.to_owned(),
            kind,
            message,
        })
        .collect())
}

/// Whether a line of CHECK TABLE tells of damage. A deleted entry of a secondary index whose row is gone is none: MariaDB warns of it and
/// calls it no error. A rollback during a purge can leave such an entry; no statement reads it (MDEV-29823, row0sel.cc).
fn is_complaint(kind: &str, message: &str) -> bool {
    let is_deleted_entry = kind.eq_ignore_ascii_case("warning")
        && message.starts_with("InnoDB: Clustered index record not found for index")
        && DELETE_MARKED.iter().any(|mark| message.contains(mark));
    let is_whole = kind == "status" && message == "OK";
    !is_whole && !is_deleted_entry
}

/// How InnoDB prints the header of a record that is marked as deleted: the bit 32, by itself or with that of a page's first record.
const DELETE_MARKED: [&str; 2] = ["(info_bits=32,", "(info_bits=48,"];

/// What the tables hold, read by their primary keys.
fn read(admin: &mut Admin) -> Result<Found> {
    let mut found = Found::default();
    let connections = admin.rows("SELECT connection, sequence FROM niagara_check.last")?;
    for row in connections {
        let connection: usize = number(&row, 0)?;
        if row.get(1).cloned().flatten().is_some() {
            found.last.insert(connection, number(&row, 1)?);
        }
        let deeds = format!(
            "SELECT sequence, part, note FROM niagara_check.deeds FORCE INDEX (PRIMARY) WHERE connection = {connection}"
        );
        for row in admin.rows(&deeds)? {
            let sequence = number(&row, 0)?;
            let texts = found.rows.entry((connection, sequence)).or_default();
            let part: usize = number(&row, 1)?;
            let place = part
                .checked_sub(1)
                .and_then(|index| texts.get_mut(index))
                .with_context(|| format!("a row of part {part}, which nobody wrote"))?;
            *place = row.get(2).cloned().flatten();
        }
    }
    // Without being told, a server reads them from the other index, which has all of both columns.
    let by_table = balances(admin, "FORCE INDEX (PRIMARY) WHERE id >= 0")?;
    found.balances.extend(by_table);
    Ok(found)
}

/// What differs where the rows of `deeds` are read by the index on their texts.
fn deeds_by_index(admin: &mut Admin, found: &Found) -> Result<Vec<RecoveryFault>> {
    let mut wrong = Vec::new();
    let mut rows = 0;
    for (index, from) in QUARTERS.iter().enumerate() {
        let to = match QUARTERS.get(index + 1) {
            Some(to) => format!(" AND note < '{to}'"),
            None => String::new(),
        };
        let by_index = admin.rows(&format!(
            "SELECT connection, sequence, part, note FROM niagara_check.deeds FORCE INDEX (note) WHERE note >= '{from}'{to}"
        ))?;
        rows += by_index.len();
        for row in by_index {
            let key = (number(&row, 0)?, number(&row, 1)?, number(&row, 2)?);
            let text = row.get(3).and_then(Option::as_deref);
            wrong.extend(found.deed_by_index(key, text));
        }
    }
    if rows != found.deeds() {
        wrong.push(RecoveryFault::IndexSize {
            column: "note".to_owned(),
            index: rows,
            table: found.deeds(),
        });
    }
    Ok(wrong)
}

/// Accounts with their balances, read in this way.
fn balances(admin: &mut Admin, way: &str) -> Result<Vec<(u64, i64)>> {
    let rows = admin.rows(&format!(
        "SELECT id, balance FROM niagara_check.accounts {way}"
    ))?;
    rows.iter()
        .map(|row| Ok((number(row, 0)?, number(row, 1)?)))
        .collect()
}

fn number<T: std::str::FromStr>(row: &[Option<String>], index: usize) -> Result<T> {
    row.get(index)
        .and_then(Option::as_deref)
        .and_then(|text| text.parse().ok())
        .with_context(|| format!("not a number in column {index} of {row:?}"))
}

#[cfg(test)]
mod tests {
    use niagara_server::{Cache, Catalog};

    use super::*;
    use crate::server::{Bench, Setting};

    /// A packaged server with the tables, on a clone of its own.
    fn with_tables() -> (Bench, RunningServer) {
        let cache = Cache::open().expect("the shared cache");
        let catalog = Catalog::load(&[]).expect("the built-in catalogue");
        let description = catalog.get("mariadb-10.11").expect("in the catalogue");
        let install = niagara_server::get(&cache, description, &mut |_| {}).expect("fetched");
        let bench = Bench::new(&cache, &install, Setting::default(), &mut |_| {}).expect("a clone");
        let server = bench.start().expect("it starts");
        create(&server, "InnoDB", 1).expect("made");
        (bench, server)
    }

    /// A prepared transaction of XA outlives a restart and is rolled back when it is told to be: until then a check that waits
    /// for rollbacks waits in vain.
    #[test]
    fn transactions_that_are_never_rolled_back_are_told() {
        let (bench, server) = with_tables();
        for statement in [
            "XA START 'left'",
            "INSERT INTO niagara_check.accounts VALUES (1000, 0)",
            "XA END 'left'",
            "XA PREPARE 'left'",
        ] {
            server.query(statement).expect(statement);
        }
        server.kill();
        let server = bench.start().expect("it recovers");
        let mut admin = connect(&endpoint(&server)).expect("it answers");
        let told = wait_for_rollbacks(&mut admin, &mut || Ok(Wait::Over)).expect("asked");
        let told = told.expect("one is left");
        assert!(
            matches!(told, RecoveryFault::NotRolledBack { count: 1, .. }),
            "{told}"
        );
        let starved = Timeout::for_test("of 100 s the machine left it 2 s");
        let error = wait_for_rollbacks(&mut admin, &mut || Ok(Wait::Timeout(starved.clone())));
        assert!(error.expect_err("undecided").has::<Timeout>());
        server.query("XA ROLLBACK 'left'").expect("rolled back");
        let mut patience = Patience::with(&server).expect("it runs");
        let told = wait_for_rollbacks(&mut admin, &mut || patience.look()).expect("asked");
        assert_eq!(told, None);
        server.kill();
    }

    /// What each index leads to is compared with the table, row by row.
    #[test]
    fn a_whole_table_is_the_same_by_each_of_its_indexes() {
        let (_bench, server) = with_tables();
        server
            .query(
                "INSERT INTO niagara_check.deeds VALUES (0, 0, 1, '3f'), (0, 0, 2, '3f!'), (0, 1, 1, 'c0'), (0, 1, 2, 'c0!')",
            )
            .expect("written");
        let mut admin = connect(&endpoint(&server)).expect("it answers");
        let mut found = read(&mut admin).expect("read");
        assert_eq!(
            (found.deeds(), found.balances.len()),
            (4, ACCOUNTS as usize)
        );
        assert_eq!(deeds_by_index(&mut admin, &found).expect("read"), []);
        // As if the table's rows were others than those of its index.
        found.rows.remove(&(0, 1));
        let wrong = deeds_by_index(&mut admin, &found).expect("read");
        assert_eq!(wrong.len(), 3, "{wrong:?}");
        let told = wrong[2].to_string();
        assert_eq!(told, "the index on note has 4 rows, the table 2");
        server.kill();
    }

    #[test]
    fn an_entry_that_is_marked_as_deleted_is_no_damage() {
        let orphan = |bits: u32| {
            format!(
                "InnoDB: Clustered index record not found for index `balance` of table `niagara_check`.`accounts`: COMPACT \
                 RECORD(info_bits={bits}, 2 fields): {{[8]/a(0x80000000000F2F61),[4] (0x80000020)}}"
            )
        };
        assert!(!is_complaint("status", "OK"));
        assert!(!is_complaint("Warning", &orphan(32)));
        assert!(is_complaint("Warning", &orphan(0)));
        assert!(is_complaint("error", "Corrupt"));
        assert!(is_complaint(
            "Warning",
            "InnoDB: The B-tree of index PRIMARY is corrupted."
        ));
    }
}
