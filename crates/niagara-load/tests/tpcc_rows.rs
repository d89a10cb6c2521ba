//! Both families get the same rows, though MariaDB takes them as parameters and MySQL as text.

mod families;

use families::{MARIADB, MYSQL, Server};
use niagara_load::{TPCC_TABLES, TableOptions, Tpcc, WorkloadSpec, prepare_tables};

/// Of every table how many rows it has and a sum over the bytes of all of them; and its indexes.
fn loaded(name: &str) -> Vec<String> {
    let variables = [
        ("innodb_flush_log_at_trx_commit", "0"),
        ("innodb_buffer_pool_size", "512M"),
    ];
    let server = Server::start(name, &variables);
    let spec = WorkloadSpec::of(Tpcc::of(1));
    prepare_tables(
        &server.administrator(),
        &spec,
        &TableOptions::default(),
        &mut |_| {},
    )
    .expect("tables");
    let mut found = Vec::new();
    for table in TPCC_TABLES {
        let of_table = format!("table_schema = 'sbtest' AND table_name = '{table}'");
        let columns: Vec<String> = server
            .query(&format!(
                "SELECT column_name FROM information_schema.columns WHERE {of_table} ORDER BY ordinal_position"
            ))
            .concat();
        // A NULL would be left out, and so look like an empty text.
        let values: Vec<String> = columns
            .iter()
            .map(|column| format!("COALESCE({column}, 'none')"))
            .collect();
        let rows = server.query(&format!(
            "SELECT COUNT(*), SUM(CRC32(CONCAT_WS('|', {}))) FROM sbtest.{table}",
            values.join(", ")
        ));
        let indexes = server.query(&format!(
            "SELECT index_name, column_name FROM information_schema.statistics WHERE {of_table} \
             ORDER BY index_name, seq_in_index"
        ));
        found.push(format!("{table}: {rows:?}, {indexes:?}"));
    }
    found
}

#[test]
fn both_families_get_the_same_rows() {
    let mariadb = loaded(MARIADB);
    assert!(mariadb[6].contains("order_line"), "{mariadb:#?}");
    assert_eq!(mariadb, loaded(MYSQL));
}
