//! The tables: the same columns, defaults and index as sysbench makes.

/// `CREATE TABLE` for table `number`.
pub fn create_table(number: u32, engine: &str) -> String {
    format!(
        "CREATE TABLE sbtest{number}(id INTEGER NOT NULL AUTO_INCREMENT, k INTEGER DEFAULT '0' NOT NULL, \
         c CHAR(120) DEFAULT '' NOT NULL, pad CHAR(60) DEFAULT '' NOT NULL, PRIMARY KEY (id)) ENGINE = {engine}"
    )
}

/// `CREATE INDEX` for table `number`, after its rows are in.
pub fn create_index(number: u32) -> String {
    format!("CREATE INDEX k_{number} ON sbtest{number}(k)")
}

/// The start of a multi-row insert; ids come from AUTO_INCREMENT.
pub fn insert_into(number: u32) -> String {
    format!("INSERT INTO sbtest{number}(k, c, pad) VALUES")
}
