//! The tables: the same columns, defaults and indexes as sysbench makes.

use super::options::Sysbench;
use super::test::SysbenchTest;
use crate::workload::common::CommonOptions;

/// `CREATE TABLE` for table `number`.
pub(super) fn create_table(spec: &Sysbench, common: &CommonOptions, number: u32) -> String {
    let engine = &common.mysql_storage_engine;
    if spec.test == SysbenchTest::BulkInsert {
        // sysbench names no engine here, which is the server's default: InnoDB, as is ours.
        return format!(
            "CREATE TABLE IF NOT EXISTS sbtest{number} (id INTEGER NOT NULL, \
             k INTEGER DEFAULT '0' NOT NULL, PRIMARY KEY (id)) ENGINE = {engine}"
        );
    }
    let numbered = if spec.auto_inc { " AUTO_INCREMENT" } else { "" };
    let key = if spec.secondary {
        "KEY xid"
    } else {
        "PRIMARY KEY"
    };
    let options = &common.create_table_options;
    format!(
        "CREATE TABLE sbtest{number}(id INTEGER NOT NULL{numbered}, k INTEGER DEFAULT '0' NOT NULL, \
         c CHAR(120) DEFAULT '' NOT NULL, pad CHAR(60) DEFAULT '' NOT NULL, {key} (id)) \
         /*! ENGINE = {engine} */ {options}"
    )
}

/// `CREATE INDEX` for table `number`, after its rows are in; `None` where none is asked for.
pub(super) fn create_index(spec: &Sysbench, number: u32) -> Option<String> {
    (spec.create_secondary && spec.test != SysbenchTest::BulkInsert)
        .then(|| format!("CREATE INDEX k_{number} ON sbtest{number}(k)"))
}

/// The start of a multi-row insert.
pub(super) fn insert_into(spec: &Sysbench, number: u32) -> String {
    let id = if spec.auto_inc { "" } else { "id, " };
    format!("INSERT INTO sbtest{number}({id}k, c, pad) VALUES")
}

/// `DROP TABLE` for table `number`.
pub(super) fn drop_table(number: u32) -> String {
    format!("DROP TABLE IF EXISTS sbtest{number}")
}

/// Statements that read table `number` and its index on k.
pub(super) fn warm_up(spec: &Sysbench, number: u32) -> Vec<String> {
    let rows = spec.table_size;
    let clustered = if spec.secondary { "xid" } else { "PRIMARY" };
    vec![
        // Temporary tables on disk would push pages of the table out of memory.
        "SET tmp_table_size = 2147483648".into(),
        "SET max_heap_table_size = 2147483648".into(),
        format!("ANALYZE TABLE sbtest{number}"),
        format!(
            "SELECT AVG(id) FROM (SELECT * FROM sbtest{number} FORCE KEY ({clustered}) LIMIT {rows}) t"
        ),
        format!(
            "SELECT COUNT(*) FROM (SELECT * FROM sbtest{number} WHERE k LIKE '%0%' LIMIT {rows}) t"
        ),
    ]
}

/// Statements that read table `number` of `database` and each of its indexes once.
pub(super) fn read_all(spec: &Sysbench, database: &str, number: u32) -> Vec<String> {
    let table = format!("{database}.sbtest{number}");
    if spec.test == SysbenchTest::BulkInsert {
        return vec![format!("SELECT SUM(k) FROM {table}")];
    }
    // Without a primary key the rows are not in an index that has a name.
    let clustered = if spec.secondary {
        ""
    } else {
        " FORCE INDEX (PRIMARY)"
    };
    let mut statements = vec![format!("SELECT SUM(LENGTH(c)) FROM {table}{clustered}")];
    if spec.secondary {
        statements.push(format!("SELECT SUM(id) FROM {table} FORCE INDEX (xid)"));
    }
    if spec.create_secondary {
        statements.push(format!(
            "SELECT SUM(k) FROM {table} FORCE INDEX (k_{number})"
        ));
    }
    statements
}
