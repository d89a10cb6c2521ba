//! What a client was told, and whether a server that came back holds to it.
//!
//! Connection C's transaction S inserts two rows with a text that follows from (seed, C, S), moves an amount between two
//! accounts, and notes S as C's last. So a transaction that is there by half shows: as one row without the other, or
//! as a balance that no set of whole transactions explains.

use std::collections::BTreeMap;

use niagara_model::{CommitOutcome, RecoveryFault, TransactionFault};
use niagara_stats::derive_seed;

/// Accounts between which amounts move.
pub(crate) const ACCOUNTS: u64 = 64;
/// Every account's balance at the beginning.
pub(crate) const OPENING_BALANCE: i64 = 1_000_000;
/// One transaction in this many is rolled back by the client.
const ROLLED_BACK_ONE_IN: u64 = 16;
/// One text in this many is longer than a page holds.
const LONG_TEXT_ONE_IN: u64 = 64;

/// What a transaction does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deed {
    /// The text of both its rows; the second row's ends in `!`.
    pub text: String,
    /// Account that pays.
    pub from: u64,
    /// Account that gets, another one.
    pub to: u64,
    /// How much.
    pub amount: i64,
    /// Whether the client rolls it back in the end.
    pub rolls_back: bool,
}

/// Transaction `sequence` of `connection`, always the same for the same seed.
pub(crate) fn deed(seed: u64, connection: usize, sequence: u64) -> Deed {
    let mut state = derive_seed(seed, "crash", (connection as u64) << 40 | sequence);
    // SplitMix64 (Steele, Lea, Flood 2014).
    let mut next = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    };
    let words = match next() % LONG_TEXT_ONE_IN {
        0 => 600,
        _ => 1 + next() % 20,
    };
    let text = (0..words).map(|_| format!("{:016x}", next())).collect();
    let from = next() % ACCOUNTS;
    Deed {
        text,
        from,
        to: (from + 1 + next() % (ACCOUNTS - 1)) % ACCOUNTS,
        amount: 1 + (next() % 1000) as i64,
        rolls_back: next() % ROLLED_BACK_ONE_IN == 0,
    }
}

/// What a server was found to hold.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Found {
    /// By connection and sequence: the texts of its first and second row.
    pub rows: BTreeMap<(usize, u64), [Option<String>; 2]>,
    /// By connection: the last transaction noted.
    pub last: BTreeMap<usize, u64>,
    /// Balances by account.
    pub balances: BTreeMap<u64, i64>,
}

impl Found {
    /// How many rows of transactions there are.
    pub fn deeds(&self) -> usize {
        self.rows.values().flatten().flatten().count()
    }

    /// What is wrong with a row that the index on texts leads to, of this connection, sequence and part (1 or 2): the table has
    /// to have the same.
    pub fn deed_by_index(
        &self,
        (connection, sequence, part): (usize, u64, usize),
        text: Option<&str>,
    ) -> Option<RecoveryFault> {
        let texts = self.rows.get(&(connection, sequence));
        let by_table = texts
            .and_then(|texts| texts.get(part.checked_sub(1)?))
            .and_then(Option::as_deref);
        (by_table != text).then_some(RecoveryFault::RowByIndex {
            connection,
            sequence,
            row: part,
        })
    }

    /// What differs where accounts are read by the index on their balances.
    pub fn balances_by_index(&self, by_index: &[(u64, i64)]) -> Vec<RecoveryFault> {
        let mut wrong: Vec<RecoveryFault> = by_index
            .iter()
            .filter(|(account, balance)| self.balances.get(account) != Some(balance))
            .map(|(account, balance)| RecoveryFault::BalanceByIndex {
                account: *account,
                index: *balance,
                row: self.balances.get(account).copied(),
            })
            .collect();
        if by_index.len() != self.balances.len() {
            wrong.push(RecoveryFault::IndexSize {
                column: "balance".to_owned(),
                index: by_index.len(),
                table: self.balances.len(),
            });
        }
        wrong
    }
}

/// The transactions of every connection, from sequence 0.
#[derive(Debug, Clone)]
pub struct Ledger {
    seed: u64,
    fates: Vec<Vec<CommitOutcome>>,
}

impl Ledger {
    pub fn new(seed: u64, connections: usize) -> Ledger {
        Ledger {
            seed,
            fates: vec![Vec::new(); connections],
        }
    }

    /// The sequence of a connection's next transaction.
    pub fn next(&self, connection: usize) -> u64 {
        self.fates[connection].len() as u64
    }

    /// Notes what became of the next transactions of a connection.
    pub fn note(&mut self, connection: usize, fates: &[CommitOutcome]) {
        self.fates[connection].extend_from_slice(fates);
    }

    /// Compares with what is there: every discrepancy. What was unanswered is decided from here on.
    pub fn verify(&mut self, found: &Found) -> Vec<RecoveryFault> {
        let mut wrong = Vec::new();
        let mut balances: BTreeMap<u64, i64> =
            (0..ACCOUNTS).map(|id| (id, OPENING_BALANCE)).collect();
        let mut expected_rows = 0;
        for connection in 0..self.fates.len() {
            let mut last = None;
            for sequence in 0..self.fates[connection].len() as u64 {
                let fate = &mut self.fates[connection][sequence as usize];
                let deed = deed(self.seed, connection, sequence);
                let texts = found.rows.get(&(connection, sequence));
                let there = match judge(*fate, &deed, texts) {
                    Ok(there) => there,
                    Err(what) => {
                        wrong.push(RecoveryFault::Transaction {
                            sequence,
                            connection,
                            told: *fate,
                            found: what,
                        });
                        *fate == CommitOutcome::Acknowledged
                    }
                };
                if there {
                    *fate = CommitOutcome::Acknowledged;
                    *balances.entry(deed.from).or_default() -= deed.amount;
                    *balances.entry(deed.to).or_default() += deed.amount;
                    last = Some(sequence);
                } else {
                    *fate = CommitOutcome::Undone;
                }
                expected_rows += usize::from(texts.is_some());
            }
            if found.last.get(&connection).copied() != last {
                wrong.push(RecoveryFault::LastTransaction {
                    connection,
                    last,
                    noted: found.last.get(&connection).copied(),
                });
            }
        }
        if found.rows.len() != expected_rows {
            wrong.push(RecoveryFault::UnknownTransactions {
                count: (found.rows.len() - expected_rows) as u64,
            });
        }
        for (account, balance) in &balances {
            if found.balances.get(account) != Some(balance) {
                wrong.push(RecoveryFault::Balance {
                    account: *account,
                    sum: *balance,
                    row: found.balances.get(account).copied(),
                });
            }
        }
        wrong
    }
}

/// Whether the transaction is there; an error when that must not be, or it is there by half or altered.
fn judge(
    fate: CommitOutcome,
    deed: &Deed,
    texts: Option<&[Option<String>; 2]>,
) -> Result<bool, TransactionFault> {
    let there = match texts {
        None | Some([None, None]) => false,
        Some([Some(first), Some(second)]) => {
            if *first != deed.text || second.strip_suffix('!') != Some(&deed.text) {
                return Err(TransactionFault::OtherText);
            }
            true
        }
        Some([Some(_), None]) => return Err(TransactionFault::FirstRowOnly),
        Some([None, Some(_)]) => return Err(TransactionFault::SecondRowOnly),
    };
    match (fate, there) {
        (CommitOutcome::Acknowledged, false) => Err(TransactionFault::Missing),
        (CommitOutcome::Undone, true) => Err(TransactionFault::Present),
        _ => Ok(there),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a correct server holds when these transactions are there.
    fn holding(seed: u64, there: &[(usize, u64)]) -> Found {
        let mut found = Found {
            balances: (0..ACCOUNTS).map(|id| (id, OPENING_BALANCE)).collect(),
            ..Found::default()
        };
        for &(connection, sequence) in there {
            let deed = deed(seed, connection, sequence);
            let second = format!("{}!", deed.text);
            found.rows.insert(
                (connection, sequence),
                [Some(deed.text.clone()), Some(second)],
            );
            found.last.insert(connection, sequence);
            *found.balances.get_mut(&deed.from).expect("an account") -= deed.amount;
            *found.balances.get_mut(&deed.to).expect("an account") += deed.amount;
        }
        found
    }

    /// What is wrong, in words.
    fn verified(ledger: &mut Ledger, found: &Found) -> Vec<String> {
        let wrong = ledger.verify(found).into_iter();
        wrong.map(|fault| fault.to_string()).collect()
    }

    fn ledger() -> Ledger {
        let mut ledger = Ledger::new(5, 2);
        ledger.note(
            0,
            &[
                CommitOutcome::Acknowledged,
                CommitOutcome::Undone,
                CommitOutcome::Acknowledged,
            ],
        );
        ledger.note(1, &[CommitOutcome::Acknowledged, CommitOutcome::Unanswered]);
        ledger
    }

    #[test]
    fn transfers_are_the_same_for_a_seed_and_move_between_two_accounts() {
        let rolled_back = (0..1000).filter(|s| deed(7, 1, *s).rolls_back).count();
        assert!((20..150).contains(&rolled_back), "{rolled_back}");
        for sequence in 0..1000 {
            let this = deed(7, 1, sequence);
            assert_eq!(this, deed(7, 1, sequence));
            assert_ne!(this.from, this.to);
            assert!(this.from < ACCOUNTS && this.to < ACCOUNTS && this.amount > 0);
        }
        assert_ne!(deed(7, 1, 0).text, deed(7, 0, 1).text);
        assert_ne!(deed(7, 1, 0).text, deed(8, 1, 0).text);
    }

    #[test]
    fn unacknowledged_transactions_may_be_there_or_not_but_stay_so() {
        for there in [
            &[(0, 0), (0, 2), (1, 0)][..],
            &[(0, 0), (0, 2), (1, 0), (1, 1)],
        ] {
            let mut ledger = ledger();
            assert_eq!(verified(&mut ledger, &holding(5, there)), [""; 0]);
            assert_eq!(verified(&mut ledger, &holding(5, there)), [""; 0]);
        }
        let mut ledger = ledger();
        verified(&mut ledger, &holding(5, &[(0, 0), (0, 2), (1, 0), (1, 1)]));
        let later = verified(&mut ledger, &holding(5, &[(0, 0), (0, 2), (1, 0)]));
        assert!(
            later[0].contains("transaction 1 of connection 1, acknowledged"),
            "{later:?}"
        );
    }

    #[test]
    fn a_lost_commit_a_half_and_an_undone_one_are_found() {
        let wrong = verified(&mut ledger(), &holding(5, &[(0, 0), (1, 0)]));
        assert!(
            wrong[0].contains("transaction 2 of connection 0") && wrong[0].contains("not there"),
            "{wrong:?}"
        );
        let wrong = verified(
            &mut ledger(),
            &holding(5, &[(0, 0), (0, 1), (0, 2), (1, 0)]),
        );
        assert!(
            wrong[0].contains("transaction 1 of connection 0, not committed: it is there"),
            "{wrong:?}"
        );
        let mut half = holding(5, &[(0, 0), (0, 2), (1, 0)]);
        half.rows.get_mut(&(0, 2)).expect("there")[1] = None;
        assert!(verified(&mut ledger(), &half)[0].contains("only the first"));
        let mut half = holding(5, &[(0, 0), (0, 2), (1, 0), (1, 1)]);
        half.rows.get_mut(&(1, 1)).expect("there")[0] = None;
        assert!(verified(&mut ledger(), &half)[0].contains("only the second"));
    }

    #[test]
    fn an_altered_text_a_moved_amount_and_a_strange_row_are_found() {
        let whole = holding(5, &[(0, 0), (0, 2), (1, 0)]);
        let mut altered = whole.clone();
        altered.rows.get_mut(&(0, 0)).expect("there")[0] = Some("x".into());
        assert!(verified(&mut ledger(), &altered)[0].contains("another text"));
        let mut moved = whole.clone();
        *moved.balances.get_mut(&3).expect("an account") += 1;
        assert!(verified(&mut ledger(), &moved)[0].starts_with("account 3:"));
        let mut strange = whole.clone();
        strange.rows.insert((0, 99), [Some("x".into()), None]);
        assert!(verified(&mut ledger(), &strange)[0].contains("nobody began"));
        let mut last = whole;
        last.last.insert(1, 7);
        assert!(verified(&mut ledger(), &last)[0].contains("its last transaction is 0, but 7"));
    }

    #[test]
    fn rows_by_another_index_have_to_be_those_of_the_table() {
        let found = holding(5, &[(0, 0), (1, 0)]);
        assert_eq!(found.deeds(), 4);
        let deed = deed(5, 0, 0);
        let second = format!("{}!", deed.text);
        assert_eq!(found.deed_by_index((0, 0, 1), Some(&deed.text)), None);
        assert_eq!(found.deed_by_index((0, 0, 2), Some(&second)), None);
        for (key, text) in [
            ((0, 0, 1), Some(second.as_str())),
            ((0, 0, 0), Some(deed.text.as_str())),
            ((0, 1, 1), Some(deed.text.as_str())),
            ((0, 0, 1), None),
        ] {
            let told = found
                .deed_by_index(key, text)
                .expect("another row")
                .to_string();
            assert!(told.contains("by the index on note"), "{key:?}: {told}");
        }
        let mut by_index: Vec<(u64, i64)> = found.balances.clone().into_iter().collect();
        assert_eq!(found.balances_by_index(&by_index), []);
        by_index[7].1 += 1;
        let wrong = found.balances_by_index(&by_index);
        assert!(
            wrong.len() == 1 && wrong[0].to_string().starts_with("account 7:"),
            "{wrong:?}"
        );
        by_index[7].1 -= 1;
        by_index.pop();
        let wrong = found.balances_by_index(&by_index);
        let wrong: Vec<String> = wrong.iter().map(ToString::to_string).collect();
        assert_eq!(wrong, ["the index on balance has 63 rows, the table 64"]);
    }
}
