//! Seconds that a client has chosen (`SET timestamp`), told from those of the server's clock.
//!
//! An entry's own second is the session's, so that `mysqlbinlog | mysql` logs statements of last year. A log's `# Time:` is of the server's
//! clock, in its local time; it stands where it is another second than the entry before had.

use super::entry::Stamp;

/// How far local times are apart at most, in seconds: from UTC−12 to UTC+14.
const ZONES: i64 = 26 * 3600;

/// Follows both clocks of a log.
#[derive(Debug, Default)]
pub(super) struct ClientClock {
    /// The second that the log said last, as if its local time were UTC.
    said: Option<i64>,
    /// How far the server's seconds are ahead of that.
    ahead: i64,
}

impl ClientClock {
    /// When an entry began that took so many microseconds; `said` is what the log says with it. False: by the client's clock it was
    /// another time, which is left.
    pub(super) fn began(
        &mut self,
        stamp: Stamp,
        said: Option<i64>,
        duration_us: u64,
    ) -> (Stamp, bool) {
        self.said = said.or(self.said);
        let took = match stamp {
            Stamp::Second(_) => i64::try_from(duration_us / 1_000_000).unwrap_or(0),
            Stamp::Exact(_) | Stamp::EndSecond(_) => 0,
        };
        let (Stamp::Second(second) | Stamp::EndSecond(second), Some(said)) = (stamp, self.said)
        else {
            return (stamp, true);
        };
        let ahead = second.saturating_add(took).saturating_sub(said);
        if ahead.abs() <= ZONES {
            self.ahead = ahead;
            return (stamp, true);
        }
        let end = said.saturating_add(self.ahead);
        let began = match stamp {
            Stamp::EndSecond(_) => Stamp::EndSecond(end),
            _ => Stamp::Second(end.saturating_sub(took)),
        };
        (began, false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_of_the_clients_is_left_for_the_servers() {
        let mut clock = ClientClock::default();
        let (noon, hour) = (1_795_392_000, 3600);
        let mut began = |second, said, took| clock.began(Stamp::Second(second), said, took);
        // The server is an hour ahead of UTC.
        assert_eq!(
            began(noon, Some(noon + hour), 0),
            (Stamp::Second(noon), true)
        );
        // The log says no second twice.
        assert_eq!(began(1000, None, 0), (Stamp::Second(noon), false));
        assert_eq!(
            began(1000, Some(noon + hour + 9), 4_000_000),
            (Stamp::Second(noon + 5), false)
        );
        assert_eq!(
            began(noon + 10, Some(noon + hour + 10), 0),
            (Stamp::Second(noon + 10), true)
        );
        // Winter time.
        assert_eq!(
            began(noon + 11, Some(noon + 11), 0),
            (Stamp::Second(noon + 11), true)
        );
        let mut silent = ClientClock::default();
        assert_eq!(
            silent.began(Stamp::EndSecond(1000), None, 0),
            (Stamp::EndSecond(1000), true)
        );
    }
}
