//! The statements of the five transactions.
//!
//! Rows that a transaction asks for one after the other by their keys (items, stock, an order's new lines, the ten
//! districts of a delivery) are asked for with one statement where that is possible, as clients that care do; with
//! `tpcc_batch=off` with one each, which is the profile of the specification word by word.

use super::{DISTRICTS, FEWEST_LINES, MAX_LINES};
use crate::protocol::command::ParameterType::{self, Int, String as Text};
use crate::workload::template::{Template, Templates};

/// A statement. Those of several rows have a template for every number of rows that there may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sql {
    Begin,
    Commit,
    Rollback,
    OrderCustomer,
    OrderDistrict,
    OrderNextNumber,
    OrderInsert,
    OrderNewOrder,
    OrderItems,
    OrderStock,
    OrderStockUpdate,
    OrderLines,
    PaymentWarehouseUpdate,
    PaymentWarehouse,
    PaymentDistrictUpdate,
    PaymentDistrict,
    PaymentByName,
    PaymentCustomer,
    PaymentUpdate,
    PaymentData,
    PaymentDataUpdate,
    PaymentHistory,
    StatusByName,
    StatusCustomer,
    StatusOrder,
    StatusLines,
    DeliveryOldest,
    DeliveryDelete,
    DeliveryCustomer,
    DeliveryCarrier,
    DeliveryDate,
    DeliverySum,
    DeliveryUpdate,
    LevelDistrict,
    LevelStock,
}

/// The statements: the text, what each row adds to it in place of `{}`, and what stands between two rows.
#[rustfmt::skip]
const TEXTS: [(Sql, &str, &str, &str); 35] = [
    (Sql::Begin, "BEGIN", "", ""),
    (Sql::Commit, "COMMIT", "", ""),
    (Sql::Rollback, "ROLLBACK", "", ""),
    (Sql::OrderCustomer,
     "SELECT w_tax, c_discount, c_last, c_credit FROM warehouse, customer WHERE w_id = ? AND c_w_id = w_id \
      AND c_d_id = ? AND c_id = ?",
     "", ""),
    (Sql::OrderDistrict, "SELECT d_next_o_id, d_tax FROM district WHERE d_w_id = ? AND d_id = ? FOR UPDATE", "", ""),
    (Sql::OrderNextNumber,
     "UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = ? AND d_id = ?",
     "", ""),
    (Sql::OrderInsert,
     "INSERT INTO orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_ol_cnt, o_all_local) VALUES (?, ?, ?, \
      ?, NOW(), ?, ?)",
     "", ""),
    (Sql::OrderNewOrder, "INSERT INTO new_order (no_o_id, no_d_id, no_w_id) VALUES (?, ?, ?)", "", ""),
    (Sql::OrderItems, "SELECT i_id, i_price, i_name, i_data FROM item WHERE i_id IN ({})", "?", ", "),
    (Sql::OrderStock,
     "SELECT s_w_id, s_i_id, s_quantity, ELT(?, s_dist_01, s_dist_02, s_dist_03, s_dist_04, s_dist_05, \
      s_dist_06, s_dist_07, s_dist_08, s_dist_09, s_dist_10), s_data FROM stock WHERE {} FOR UPDATE",
     "s_w_id = ? AND s_i_id = ?", " OR "),
    (Sql::OrderStockUpdate,
     "UPDATE stock SET s_quantity = ?, s_ytd = s_ytd + ?, s_order_cnt = s_order_cnt + 1, s_remote_cnt = \
      s_remote_cnt + ? WHERE s_w_id = ? AND s_i_id = ?",
     "", ""),
    (Sql::OrderLines,
     "INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_quantity, \
      ol_amount, ol_dist_info) VALUES {}",
     "(?, ?, ?, ?, ?, ?, ?, ?, ?)", ", "),
    (Sql::PaymentWarehouseUpdate, "UPDATE warehouse SET w_ytd = w_ytd + ? WHERE w_id = ?", "", ""),
    (Sql::PaymentWarehouse,
     "SELECT w_name, w_street_1, w_street_2, w_city, w_state, w_zip FROM warehouse WHERE w_id = ?",
     "", ""),
    (Sql::PaymentDistrictUpdate, "UPDATE district SET d_ytd = d_ytd + ? WHERE d_w_id = ? AND d_id = ?", "", ""),
    (Sql::PaymentDistrict,
     "SELECT d_name, d_street_1, d_street_2, d_city, d_state, d_zip FROM district WHERE d_w_id = ? AND \
      d_id = ?",
     "", ""),
    (Sql::PaymentByName,
     "SELECT c_id FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_last = ? ORDER BY c_first",
     "", ""),
    (Sql::PaymentCustomer,
     "SELECT c_credit, c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, \
      c_since, c_credit_lim, c_discount, c_balance FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_id \
      = ? FOR UPDATE",
     "", ""),
    (Sql::PaymentUpdate,
     "UPDATE customer SET c_balance = c_balance - ?, c_ytd_payment = c_ytd_payment + ?, c_payment_cnt = \
      c_payment_cnt + 1 WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?",
     "", ""),
    (Sql::PaymentData, "SELECT c_data FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?", "", ""),
    (Sql::PaymentDataUpdate,
     "UPDATE customer SET c_balance = c_balance - ?, c_ytd_payment = c_ytd_payment + ?, c_payment_cnt = \
      c_payment_cnt + 1, c_data = LEFT(CONCAT(?, c_data), 500) WHERE c_w_id = ? AND c_d_id = ? AND c_id = \
      ?",
     "", ""),
    (Sql::PaymentHistory,
     "INSERT INTO history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data) VALUES \
      (?, ?, ?, ?, ?, NOW(), ?, ?)",
     "", ""),
    (Sql::StatusByName,
     "SELECT c_id FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_last = ? ORDER BY c_first",
     "", ""),
    (Sql::StatusCustomer,
     "SELECT c_balance, c_first, c_middle, c_last FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_id = \
      ?",
     "", ""),
    (Sql::StatusOrder,
     "SELECT o_id, o_entry_d, o_carrier_id FROM orders WHERE o_w_id = ? AND o_d_id = ? AND o_c_id = ? \
      ORDER BY o_id DESC LIMIT 1",
     "", ""),
    (Sql::StatusLines,
     "SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM order_line WHERE ol_w_id \
      = ? AND ol_d_id = ? AND ol_o_id = ?",
     "", ""),
    (Sql::DeliveryOldest,
     "SELECT no_o_id FROM new_order WHERE no_w_id = ? AND no_d_id = ? ORDER BY no_o_id LIMIT 1 FOR UPDATE",
     "", ""),
    (Sql::DeliveryDelete, "DELETE FROM new_order WHERE {}", "no_w_id = ? AND no_d_id = ? AND no_o_id = ?", " OR "),
    (Sql::DeliveryCustomer,
     "SELECT o_d_id, o_c_id FROM orders WHERE {}",
     "o_w_id = ? AND o_d_id = ? AND o_id = ?", " OR "),
    (Sql::DeliveryCarrier,
     "UPDATE orders SET o_carrier_id = ? WHERE {}",
     "o_w_id = ? AND o_d_id = ? AND o_id = ?", " OR "),
    (Sql::DeliveryDate,
     "UPDATE order_line SET ol_delivery_d = NOW() WHERE {}",
     "ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ?", " OR "),
    (Sql::DeliverySum,
     "SELECT ol_d_id, SUM(ol_amount) FROM order_line WHERE {} GROUP BY ol_d_id",
     "ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ?", " OR "),
    (Sql::DeliveryUpdate,
     "UPDATE customer SET c_balance = c_balance + ?, c_delivery_cnt = c_delivery_cnt + 1 WHERE c_w_id = ? \
      AND c_d_id = ? AND c_id = ?",
     "", ""),
    (Sql::LevelDistrict, "SELECT d_next_o_id FROM district WHERE d_w_id = ? AND d_id = ?", "", ""),
    (Sql::LevelStock,
     "SELECT COUNT(DISTINCT s_i_id) FROM order_line, stock WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id < \
      ? AND ol_o_id >= ? AND s_w_id = ol_w_id AND s_i_id = ol_i_id AND s_quantity < ?",
     "", ""),
];

impl Sql {
    pub(crate) const ALL: [Sql; 35] = [
        Sql::Begin,
        Sql::Commit,
        Sql::Rollback,
        Sql::OrderCustomer,
        Sql::OrderDistrict,
        Sql::OrderNextNumber,
        Sql::OrderInsert,
        Sql::OrderNewOrder,
        Sql::OrderItems,
        Sql::OrderStock,
        Sql::OrderStockUpdate,
        Sql::OrderLines,
        Sql::PaymentWarehouseUpdate,
        Sql::PaymentWarehouse,
        Sql::PaymentDistrictUpdate,
        Sql::PaymentDistrict,
        Sql::PaymentByName,
        Sql::PaymentCustomer,
        Sql::PaymentUpdate,
        Sql::PaymentData,
        Sql::PaymentDataUpdate,
        Sql::PaymentHistory,
        Sql::StatusByName,
        Sql::StatusCustomer,
        Sql::StatusOrder,
        Sql::StatusLines,
        Sql::DeliveryOldest,
        Sql::DeliveryDelete,
        Sql::DeliveryCustomer,
        Sql::DeliveryCarrier,
        Sql::DeliveryDate,
        Sql::DeliverySum,
        Sql::DeliveryUpdate,
        Sql::LevelDistrict,
        Sql::LevelStock,
    ];

    fn name(self) -> &'static str {
        match self {
            Sql::Begin => "begin",
            Sql::Commit => "commit",
            Sql::Rollback => "rollback_unused_item",
            Sql::OrderCustomer => "order_customer",
            Sql::OrderDistrict => "order_district",
            Sql::OrderNextNumber => "order_next_number",
            Sql::OrderInsert => "order_insert",
            Sql::OrderNewOrder => "order_new_order",
            Sql::OrderItems => "order_items",
            Sql::OrderStock => "order_stock",
            Sql::OrderStockUpdate => "order_stock_update",
            Sql::OrderLines => "order_lines",
            Sql::PaymentWarehouseUpdate => "payment_warehouse_update",
            Sql::PaymentWarehouse => "payment_warehouse",
            Sql::PaymentDistrictUpdate => "payment_district_update",
            Sql::PaymentDistrict => "payment_district",
            Sql::PaymentByName => "payment_by_name",
            Sql::PaymentCustomer => "payment_customer",
            Sql::PaymentUpdate => "payment_update",
            Sql::PaymentData => "payment_data",
            Sql::PaymentDataUpdate => "payment_data_update",
            Sql::PaymentHistory => "payment_history",
            Sql::StatusByName => "status_by_name",
            Sql::StatusCustomer => "status_customer",
            Sql::StatusOrder => "status_order",
            Sql::StatusLines => "status_lines",
            Sql::DeliveryOldest => "delivery_oldest",
            Sql::DeliveryDelete => "delivery_delete",
            Sql::DeliveryCustomer => "delivery_customer",
            Sql::DeliveryCarrier => "delivery_carrier",
            Sql::DeliveryDate => "delivery_date",
            Sql::DeliverySum => "delivery_sum",
            Sql::DeliveryUpdate => "delivery_update",
            Sql::LevelDistrict => "level_district",
            Sql::LevelStock => "level_stock",
        }
    }

    /// Numbers of rows that it has templates for.
    fn rows(self, batch: bool) -> std::ops::RangeInclusive<usize> {
        match self {
            // A shorter list is filled up with its last entry, which changes no answer: one template is enough.
            Sql::OrderItems | Sql::OrderStock if batch => MAX_LINES..=MAX_LINES,
            Sql::OrderLines if batch => FEWEST_LINES..=MAX_LINES,
            Sql::DeliveryDelete
            | Sql::DeliveryCustomer
            | Sql::DeliveryCarrier
            | Sql::DeliveryDate
            | Sql::DeliverySum
                if batch =>
            {
                DISTRICTS as usize..=DISTRICTS as usize
            }
            _ => 1..=1,
        }
    }

    /// Whether a transaction reads its answer.
    fn keeps_rows(self) -> bool {
        matches!(
            self,
            Sql::OrderCustomer
                | Sql::OrderDistrict
                | Sql::OrderItems
                | Sql::OrderStock
                | Sql::PaymentWarehouse
                | Sql::PaymentDistrict
                | Sql::PaymentByName
                | Sql::PaymentCustomer
                | Sql::StatusByName
                | Sql::StatusCustomer
                | Sql::StatusOrder
                | Sql::StatusLines
                | Sql::DeliveryOldest
                | Sql::DeliveryCustomer
                | Sql::DeliverySum
                | Sql::LevelDistrict
                | Sql::LevelStock
        )
    }

    /// Its text for `rows` rows.
    fn sql(self, rows: usize) -> String {
        // In the order of the enum, which is tested.
        let (_, text, one, between) = TEXTS[self as usize];
        text.replace("{}", &vec![one; rows].join(between))
    }

    /// The types of its parameters for `rows` rows. Decimal numbers go as text.
    fn parameters(self, rows: usize) -> Vec<ParameterType> {
        let ints = |count| vec![Int; count];
        let with = |first: &[ParameterType], count| [first, &vec![Int; count]].concat();
        match self {
            Sql::Begin | Sql::Commit | Sql::Rollback => Vec::new(),
            Sql::OrderCustomer => ints(3),
            Sql::OrderDistrict
            | Sql::OrderNextNumber
            | Sql::PaymentDistrict
            | Sql::DeliveryOldest
            | Sql::LevelDistrict => ints(2),
            Sql::OrderInsert => ints(6),
            Sql::OrderNewOrder => ints(3),
            Sql::OrderItems => ints(rows),
            Sql::OrderStock => ints(1 + 2 * rows),
            Sql::OrderStockUpdate => ints(5),
            Sql::OrderLines => [Int, Int, Int, Int, Int, Int, Int, Text, Text].repeat(rows),
            Sql::PaymentWarehouseUpdate => with(&[Text], 1),
            Sql::PaymentWarehouse => ints(1),
            Sql::PaymentDistrictUpdate => with(&[Text], 2),
            Sql::PaymentByName | Sql::StatusByName => vec![Int, Int, Text],
            Sql::PaymentCustomer
            | Sql::PaymentData
            | Sql::StatusCustomer
            | Sql::StatusOrder
            | Sql::StatusLines => ints(3),
            Sql::PaymentUpdate => with(&[Text, Text], 3),
            Sql::PaymentDataUpdate => with(&[Text, Text, Text], 3),
            Sql::PaymentHistory => vec![Int, Int, Int, Int, Int, Text, Text],
            Sql::DeliveryDelete | Sql::DeliveryCustomer | Sql::DeliveryDate | Sql::DeliverySum => {
                ints(3 * rows)
            }
            Sql::DeliveryCarrier => ints(1 + 3 * rows),
            Sql::DeliveryUpdate => with(&[Text], 3),
            Sql::LevelStock => ints(5),
        }
    }
}

/// Which templates are whose.
#[derive(Debug)]
pub(crate) struct Places {
    /// Where those of each statement begin, by its place in [`Sql::ALL`], and for how many rows they are.
    first: [(usize, std::ops::RangeInclusive<usize>); Sql::ALL.len()],
    /// The statement of each template, and for how many rows.
    of: Vec<(Sql, usize)>,
}

impl Places {
    /// Adds all templates.
    pub(crate) fn new(batch: bool, as_text: bool, templates: &mut Templates) -> Self {
        let mut places = Places {
            first: std::array::from_fn(|_| (0, 1..=1)),
            of: Vec::new(),
        };
        for sql in Sql::ALL {
            let rows = sql.rows(batch);
            places.first[sql as usize] = (templates.list.len(), rows.clone());
            let kind = templates.kind(sql.name(), &sql.sql(1));
            for count in rows {
                templates.list.push(Template {
                    sql: sql.sql(count),
                    parameters: sql.parameters(count).into(),
                    as_text,
                    keeps_rows: sql.keeps_rows(),
                    kind,
                });
                places.of.push((sql, count));
            }
        }
        places
    }

    /// The template of `sql` for `rows` rows; for the number that it has where there is one only.
    #[inline]
    pub(crate) fn template(&self, sql: Sql, rows: usize) -> usize {
        let (first, there) = &self.first[sql as usize];
        first + rows.clamp(*there.start(), *there.end()) - there.start()
    }

    /// What a template is.
    #[inline]
    pub(crate) fn of(&self, template: usize) -> (Sql, usize) {
        self.of[template]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_types_as_question_marks() {
        for (place, sql) in Sql::ALL.into_iter().enumerate() {
            assert_eq!((sql as usize, TEXTS[place].0), (place, sql));
            for rows in [1, 5, 15] {
                let text = sql.sql(rows);
                assert_eq!(
                    text.matches('?').count(),
                    sql.parameters(rows).len(),
                    "{text}"
                );
                assert!(!text.contains("  "), "{text}");
            }
        }
    }

    #[test]
    fn templates_are_found() {
        let mut templates = Templates::default();
        let places = Places::new(true, false, &mut templates);
        for (place, template) in templates.list.iter().enumerate() {
            let (sql, rows) = places.of(place);
            assert_eq!(places.template(sql, rows), place);
            assert_eq!(template.sql, sql.sql(rows));
        }
        let lines = places.template(Sql::OrderLines, 7);
        assert_eq!(templates.list[lines].sql.matches("(?").count(), 7);
        let mut templates = Templates::default();
        let places = Places::new(false, false, &mut templates);
        for rows in 5..=15 {
            let lines = places.template(Sql::OrderLines, rows);
            assert_eq!(places.of(lines), (Sql::OrderLines, 1));
        }
    }
}
