//! Consecutive failures to obtain a certificate for a name, and when the next attempt is due. Stored, so that a server
//! that is restarted again and again does not send a request each time, nor do several servers.
//!
//! ```text
//! 7 1764093600                         so often; not before then
//! 1764050400 failed the reason         time of the last attempt; `limited`: the authority sent `Retry-After`
//! ```

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::schedule;

/// Before a start or reload the cause may have been fixed, so the server sends a request
/// immediately, but not more often than this: it may be crashing again and again.
const EAGER: Duration = Duration::from_secs(60);

/// Failed attempts for one name; none by default.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failures {
    pub(crate) count: u32,
    /// Time of the next request.
    pub(crate) until: SystemTime,
    /// Time of the last request.
    pub(crate) at: SystemTime,
    /// The authority sent `Retry-After`.
    pub(crate) limited: bool,
    pub(crate) reason: String,
}

impl Default for Failures {
    fn default() -> Self {
        Self {
            count: 0,
            until: UNIX_EPOCH,
            at: UNIX_EPOCH,
            limited: false,
            reason: String::new(),
        }
    }
}

impl Failures {
    /// A time that is further ahead than any wait comes from a clock that was wrong, and is ignored. Earlier versions
    /// wrote only the first line.
    pub(crate) fn parse(text: &str, now: SystemTime) -> Option<Self> {
        let time = |text: &str| UNIX_EPOCH.checked_add(Duration::from_secs(text.parse().ok()?));
        let (first, second) = text.split_once('\n').unwrap_or((text, ""));
        let (count, until) = first.trim().split_once(' ')?;
        let until = time(until).filter(|until| *until <= now + schedule::longest_retry());
        let (at, rest) = second.trim().split_once(' ').unwrap_or_default();
        let (kind, reason) = rest.split_once(' ').unwrap_or((rest, ""));
        Some(Self {
            count: count.parse().ok()?,
            until: until.unwrap_or(UNIX_EPOCH),
            at: time(at).unwrap_or(UNIX_EPOCH),
            limited: kind == "limited",
            reason: reason.to_owned(),
        })
    }

    pub(crate) fn text(&self) -> String {
        let seconds = |at: SystemTime| at.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let kind = if self.limited { "limited" } else { "failed" };
        let reason = self.reason.replace(['\n', '\r'], " ");
        format!(
            "{} {}\n{} {kind} {reason}\n",
            self.count,
            seconds(self.until),
            seconds(self.at),
        )
    }

    /// When a server that was started or reloaded at `since` may send a request.
    pub(crate) fn free_at(&self, since: SystemTime) -> SystemTime {
        if self.limited || self.at >= since {
            self.until
        } else {
            self.until.min(self.at + EAGER)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(seconds)
    }

    fn failures() -> Failures {
        Failures {
            count: 7,
            until: at(50_000),
            at: at(10_000),
            limited: false,
            reason: "the authority could not check the name: no route".to_owned(),
        }
    }

    #[test]
    fn stored_certificates_are_read() {
        let mut own = failures();
        assert_eq!(Failures::parse(&own.text(), at(10_000)), Some(own.clone()));
        own.limited = true;
        own.reason = "two\nlines".to_owned();
        let read = Failures::parse(&own.text(), at(10_000)).expect("whole");
        assert_eq!((read.limited, read.reason.as_str()), (true, "two lines"));
        let old = Failures::parse("7 50000\n", at(10_000)).expect("whole");
        assert_eq!((old.count, old.until, old.at), (7, at(50_000), UNIX_EPOCH));
        for bad in ["", "7", "x 1", "-1 5\n"] {
            assert_eq!(Failures::parse(bad, at(0)), None, "{bad}");
        }
    }

    #[test]
    fn a_time_that_is_too_far_ahead_is_over() {
        let text = failures().text();
        let read = |now| Failures::parse(&text, now).expect("whole").until;
        assert_eq!(read(at(10_000)), at(50_000));
        let mut far = failures();
        far.until = at(10_000_000);
        let far = Failures::parse(&far.text(), at(10_000)).expect("whole");
        assert_eq!(far.until, UNIX_EPOCH);
    }

    #[test]
    fn a_start_retries_at_once_but_not_each_time() {
        let mut own = failures();
        assert_eq!(own.free_at(at(9_999)), at(50_000), "it failed since");
        assert_eq!(own.free_at(at(10_001)), at(10_060), "once in a minute");
        own.until = at(10_030);
        assert_eq!(own.free_at(at(10_001)), at(10_030));
        let old = Failures::parse("7 50000", at(10_000)).expect("whole");
        assert!(old.free_at(at(10_001)) < at(10_001));
        let mut limited = failures();
        limited.limited = true;
        assert_eq!(limited.free_at(at(10_001)), at(50_000));
    }
}
