//! Transactions that the client repeated after a deadlock: the replay repeats by itself, and would do it twice.

use super::draft::Draft;
use super::types::{Step, Texts};

/// Deadlock, record changed since last read: the server has undone the whole transaction.
const UNDONE: [u32; 2] = [1213, 1020];
/// Lock wait timeout: the server has undone the statement alone, unless innodb_rollback_on_timeout says otherwise.
const WAITED: u32 = 1205;

/// Whether `failed` is a transaction that ended in a conflict and left nothing behind, and that `next`, the session's next one,
/// repeats. Known only where the source has the numbers of errors.
pub(super) fn is_repeated(failed: &Draft, next: &Draft, texts: &Texts) -> bool {
    let is_conflict = |error: u32| error == WAITED || UNDONE.contains(&error);
    let Some(place) = (failed.steps.iter()).position(|step| is_conflict(step.error)) else {
        return false;
    };
    let is_undone = UNDONE.contains(&failed.steps[place].error)
        || failed.steps.len() == 1
        || failed.steps.last().is_some_and(|last| {
            let text = texts.get(last.text).trim_ascii_start();
            let word = text.get(..ROLLBACK.len()).unwrap_or_default();
            word.eq_ignore_ascii_case(ROLLBACK)
        });
    // As far as the first one came the second one is the same, with the same values where it failed: another transaction of the same
    // kind is no repetition. After the error there is nothing but the end of it.
    let is_same = |(one, other): (&Step, &Step)| one.digest == other.digest;
    let head = failed.steps[..=place].iter();
    is_undone
        && next.steps.len() > place
        && head.zip(&next.steps).all(is_same)
        && failed.steps[place].text == next.steps[place].text
}

/// How a statement begins that undoes.
const ROLLBACK: &[u8] = b"rollback";

#[cfg(test)]
mod tests {
    use super::super::types::{Action, NONE};
    use super::*;

    #[test]
    fn what_left_something_behind_or_has_other_values_was_not_repeated() {
        let mut texts = Texts::default();
        let mut draft = |steps: &[(&str, u32)]| {
            let mut draft = Draft::default();
            for (text, error) in steps {
                // The digest: what it is but for its numbers.
                let digest = text.bytes().filter(u8::is_ascii_alphabetic);
                draft.push(Step {
                    start_us: 0,
                    text: texts.add(text.as_bytes()),
                    digest: digest.map(u32::from).sum(),
                    duration_us: NONE,
                    rows: NONE,
                    error: *error,
                    action: Action::Query,
                });
            }
            draft
        };
        let first = ("update t set a = 1 where id = 1", 0);
        let second = "update t set a = 1 where id = 2";
        let again = draft(&[("begin", 0), first, (second, 0), ("commit", 0)]);
        let others = draft(&[
            ("begin", 0),
            ("update t set a = 1 where id = 3", 0),
            ("update t set a = 1 where id = 4", 0),
            ("commit", 0),
        ]);
        let deadlock = draft(&[("begin", 0), first, (second, 1213)]);
        let undone = draft(&[("begin", 0), first, (second, 1205), ("ROLLBACK", 0)]);
        // The first statement was committed.
        let kept = draft(&[("begin", 0), first, (second, 1205), ("commit", 0)]);
        let alone = draft(&[(second, 1205)]);
        let [same, other] =
            [second, "update t set a = 7 where id = 2"].map(|text| draft(&[(text, 0)]));
        let is_repeated = |failed: &Draft, next: &Draft| is_repeated(failed, next, &texts);
        assert!(is_repeated(&deadlock, &again) && !is_repeated(&deadlock, &others));
        assert!(is_repeated(&undone, &again) && !is_repeated(&undone, &others));
        assert!(!is_repeated(&kept, &again));
        assert!(is_repeated(&alone, &same) && !is_repeated(&alone, &other));
        assert!(!is_repeated(&again, &again));
    }
}
