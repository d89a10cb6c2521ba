//! The nine tables (clause 1.3), with the indexes that the transactions need.

/// The tables, in the order in which they are made.
pub const TABLES: [&str; 9] = [
    "warehouse",
    "district",
    "customer",
    "history",
    "new_order",
    "orders",
    "order_line",
    "item",
    "stock",
];

/// An address (clause 1.3) with the prefix of its table.
fn address(prefix: &str) -> String {
    format!(
        "{prefix}_street_1 VARCHAR(20) NOT NULL, {prefix}_street_2 VARCHAR(20) NOT NULL, \
         {prefix}_city VARCHAR(20) NOT NULL, {prefix}_state CHAR(2) NOT NULL, {prefix}_zip CHAR(9) NOT NULL"
    )
}

/// `CREATE TABLE` for one of [`TABLES`].
pub(super) fn create_table(table: &str, engine: &str, options: &str) -> String {
    let columns = match table {
        "warehouse" => format!(
            "w_id INT NOT NULL, w_name VARCHAR(10) NOT NULL, {}, w_tax DECIMAL(4,4) NOT NULL, \
             w_ytd DECIMAL(12,2) NOT NULL, PRIMARY KEY (w_id)",
            address("w")
        ),
        "district" => format!(
            "d_id INT NOT NULL, d_w_id INT NOT NULL, d_name VARCHAR(10) NOT NULL, {}, \
             d_tax DECIMAL(4,4) NOT NULL, d_ytd DECIMAL(12,2) NOT NULL, d_next_o_id INT NOT NULL, \
             PRIMARY KEY (d_w_id, d_id)",
            address("d")
        ),
        "customer" => format!(
            "c_id INT NOT NULL, c_d_id INT NOT NULL, c_w_id INT NOT NULL, c_first VARCHAR(16) NOT NULL, \
             c_middle CHAR(2) NOT NULL, c_last VARCHAR(16) NOT NULL, {}, c_phone CHAR(16) NOT NULL, \
             c_since DATETIME NOT NULL, c_credit CHAR(2) NOT NULL, c_credit_lim DECIMAL(12,2) NOT NULL, \
             c_discount DECIMAL(4,4) NOT NULL, c_balance DECIMAL(12,2) NOT NULL, \
             c_ytd_payment DECIMAL(12,2) NOT NULL, c_payment_cnt INT NOT NULL, c_delivery_cnt INT NOT NULL, \
             c_data VARCHAR(500) NOT NULL, PRIMARY KEY (c_w_id, c_d_id, c_id)",
            address("c")
        ),
        "history" => "h_c_id INT NOT NULL, h_c_d_id INT NOT NULL, h_c_w_id INT NOT NULL, \
                      h_d_id INT NOT NULL, h_w_id INT NOT NULL, h_date DATETIME NOT NULL, \
                      h_amount DECIMAL(6,2) NOT NULL, h_data VARCHAR(24) NOT NULL"
            .into(),
        "new_order" => "no_o_id INT NOT NULL, no_d_id INT NOT NULL, no_w_id INT NOT NULL, \
                        PRIMARY KEY (no_w_id, no_d_id, no_o_id)"
            .into(),
        "orders" => "o_id INT NOT NULL, o_d_id INT NOT NULL, o_w_id INT NOT NULL, o_c_id INT NOT NULL, \
                     o_entry_d DATETIME NOT NULL, o_carrier_id INT, o_ol_cnt INT NOT NULL, \
                     o_all_local INT NOT NULL, PRIMARY KEY (o_w_id, o_d_id, o_id)"
            .into(),
        "order_line" => "ol_o_id INT NOT NULL, ol_d_id INT NOT NULL, ol_w_id INT NOT NULL, \
                         ol_number INT NOT NULL, ol_i_id INT NOT NULL, ol_supply_w_id INT NOT NULL, \
                         ol_delivery_d DATETIME, ol_quantity INT NOT NULL, ol_amount DECIMAL(6,2) NOT NULL, \
                         ol_dist_info CHAR(24) NOT NULL, PRIMARY KEY (ol_w_id, ol_d_id, ol_o_id, ol_number)"
            .into(),
        "item" => "i_id INT NOT NULL, i_im_id INT NOT NULL, i_name VARCHAR(24) NOT NULL, \
                   i_price DECIMAL(5,2) NOT NULL, i_data VARCHAR(50) NOT NULL, PRIMARY KEY (i_id)"
            .into(),
        _ => {
            let districts: Vec<String> = (1..=super::DISTRICTS)
                .map(|district| format!("s_dist_{district:02} CHAR(24) NOT NULL"))
                .collect();
            format!(
                "s_i_id INT NOT NULL, s_w_id INT NOT NULL, s_quantity INT NOT NULL, {}, \
                 s_ytd INT NOT NULL, s_order_cnt INT NOT NULL, s_remote_cnt INT NOT NULL, \
                 s_data VARCHAR(50) NOT NULL, PRIMARY KEY (s_w_id, s_i_id)",
                districts.join(", ")
            )
        }
    };
    // The texts are ASCII: a character set of more bytes would make rows of temporary tables longer.
    format!("CREATE TABLE {table} ({columns}) ENGINE = {engine} DEFAULT CHARSET = latin1 {options}")
}

/// The indexes besides the primary keys, made when the rows are in: table and statement.
pub(super) fn create_indexes() -> [(&'static str, &'static str); 2] {
    [
        (
            "customer",
            "CREATE INDEX customer_name ON customer (c_w_id, c_d_id, c_last, c_first)",
        ),
        (
            "orders",
            "CREATE INDEX orders_customer ON orders (o_w_id, o_d_id, o_c_id, o_id)",
        ),
    ]
}

/// What makes the empty tables, and what makes the indexes once they are filled: for another loader.
pub fn schema(engine: &str) -> (Vec<String>, Vec<String>) {
    let tables = TABLES.map(|table| create_table(table, engine, ""));
    let indexes = create_indexes().map(|(_, sql)| sql.to_owned());
    (tables.into(), indexes.into())
}

/// Statements that read every table and every index once. `database` is quoted already.
pub(super) fn read_all(database: &str) -> Vec<String> {
    [
        ("warehouse", "SUM(w_ytd)", ""),
        ("district", "SUM(d_ytd)", ""),
        ("customer", "SUM(LENGTH(c_data))", " FORCE INDEX (PRIMARY)"),
        (
            "customer",
            "SUM(c_id)",
            " FORCE INDEX (customer_name) WHERE c_w_id > 0",
        ),
        ("history", "SUM(h_amount)", ""),
        ("new_order", "SUM(no_o_id)", ""),
        ("orders", "SUM(o_ol_cnt)", " FORCE INDEX (PRIMARY)"),
        (
            "orders",
            "SUM(o_c_id)",
            " FORCE INDEX (orders_customer) WHERE o_w_id > 0",
        ),
        ("order_line", "SUM(ol_amount)", ""),
        ("item", "SUM(i_price)", ""),
        ("stock", "SUM(s_quantity)", ""),
    ]
    .map(|(table, what, how)| format!("SELECT {what} FROM {database}.{table}{how}"))
    .into()
}
