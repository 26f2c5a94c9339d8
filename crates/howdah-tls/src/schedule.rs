//! When a certificate is renewed, and when a failed attempt is repeated.

use std::time::{Duration, SystemTime};

const MINUTE: u64 = 60;
const HOUR: u64 = 3600;
/// After the first failure, after the second…; the last one from then on. This is acceptable for an
/// authority that allows five failures an hour for a name.
const RETRIES: [u64; 9] = [
    MINUTE,
    5 * MINUTE,
    15 * MINUTE,
    30 * MINUTE,
    HOUR,
    2 * HOUR,
    4 * HOUR,
    8 * HOUR,
    12 * HOUR,
];
/// Seconds after the first OCSP request without a response; they double up to an hour.
const OCSP_RETRY: u64 = 5;
/// Shortest time until an old OCSP response is requested again.
const OCSP_SOON: Duration = Duration::from_secs(10);
/// Maximum time until an OCSP response is checked again, however long it is valid.
const OCSP_LATEST: Duration = Duration::from_secs(7 * 24 * HOUR);
/// Shortest pause after a rate limit of an authority, whatever it requests.
pub(crate) const RATE_LIMITED_MIN: Duration = Duration::from_secs(HOUR);
/// Longest time before the end of a certificate at which its renewal is overdue: files of a long life are replaced late.
const OVERDUE_MAX: Duration = Duration::from_secs(14 * 24 * HOUR);
/// The longest one.
pub(crate) const RATE_LIMITED_MAX: Duration = Duration::from_secs(24 * HOUR);

/// The time of renewal, after two thirds of its life.
pub(crate) fn renew_at(not_before: SystemTime, not_after: SystemTime) -> SystemTime {
    let life = not_after.duration_since(not_before).unwrap_or_default();
    not_before + life / 3 * 2
}

/// The time by which a renewal should have succeeded: an eighth of the life before its end. Even an authority that
/// advises a late renewal leaves a sixth, and failed attempts have been repeated by then.
pub(crate) fn renewal_deadline(not_before: SystemTime, not_after: SystemTime) -> SystemTime {
    let life = not_after.duration_since(not_before).unwrap_or_default();
    let left = (life / 8).min(OVERDUE_MAX);
    not_after.checked_sub(left).unwrap_or(not_after)
}

/// How long to wait after so many consecutive failures, but at least `least`. `spread`, from 0 to 1, lengthens it by up
/// to a tenth, so that servers that started together do not stay synchronised.
pub(crate) fn retry_after(failures: u32, least: Option<Duration>, spread: f64) -> Duration {
    let index = usize::try_from(failures.saturating_sub(1)).unwrap_or(usize::MAX);
    let seconds = RETRIES[index.min(RETRIES.len() - 1)];
    let wait = Duration::from_secs(seconds).max(least.unwrap_or_default());
    wait.mul_f64(1.0 + spread.clamp(0.0, 1.0) / 10.0)
}

/// The longest wait of [`retry_after`].
pub(crate) fn longest_retry() -> Duration {
    retry_after(u32::MAX, Some(RATE_LIMITED_MAX), 1.0)
}

/// How long to wait for a storage after so many consecutive failures: from a second to a minute, spread as in
/// [`retry_after`].
pub(crate) fn storage_retry(failures: u32, spread: f64) -> Duration {
    let seconds = 1u64 << failures.saturating_sub(1).min(6);
    Duration::from_secs(seconds.min(MINUTE)).mul_f64(1.0 + spread.clamp(0.0, 1.0) / 10.0)
}

/// When to request another OCSP response: at half of its life, up to a tenth of it later by `spread`. One that the
/// responder has had for long is requested again after a quarter of the remaining time.
pub(crate) fn ocsp_refresh(
    from: SystemTime,
    until: SystemTime,
    now: SystemTime,
    spread: f64,
) -> SystemTime {
    let life = until.duration_since(from).unwrap_or_default();
    let left = until.duration_since(now).unwrap_or_default();
    let at = from + life.mul_f64(0.5 + spread.clamp(0.0, 1.0) / 10.0);
    let soon = (left / 4).clamp(OCSP_SOON, Duration::from_secs(HOUR));
    at.clamp(now + soon, now + OCSP_LATEST)
}

/// How long to wait for an OCSP responder after so many consecutive failures: from five seconds to an hour, spread as
/// in [`retry_after`].
pub(crate) fn ocsp_retry(failures: u32, spread: f64) -> Duration {
    let seconds = OCSP_RETRY << failures.saturating_sub(1).min(10);
    Duration::from_secs(seconds.min(HOUR)).mul_f64(1.0 + spread.clamp(0.0, 1.0) / 10.0)
}

#[cfg(test)]
mod tests {
    use std::time::UNIX_EPOCH;

    use super::*;

    #[test]
    fn renewal_is_after_two_thirds() {
        let day = |days: u64| UNIX_EPOCH + Duration::from_secs(days * 86_400);
        assert_eq!(renew_at(day(100), day(190)), day(160));
        assert_eq!(renew_at(day(100), day(106)), day(104));
        // An invalid one is renewed immediately.
        assert_eq!(renew_at(day(100), day(90)), day(100));
    }

    #[test]
    fn a_renewal_is_overdue_well_after_it_was_due() {
        let hours = |hours: u64| UNIX_EPOCH + Duration::from_secs(hours * HOUR);
        // Lives of half a day, a week, 90 days and a year: how long before the end.
        for (life, before) in [
            (12, 1.5),
            (7 * 24, 21.0),
            (90 * 24, 270.0),
            (365 * 24, 336.0),
        ] {
            let (from, until) = (hours(100), hours(100 + life));
            let deadline = renewal_deadline(from, until);
            let left = until.duration_since(deadline).expect("earlier");
            assert_eq!(left, Duration::from_secs(3600).mul_f64(before), "{life}");
            assert!(deadline > renew_at(from, until));
        }
        assert_eq!(renewal_deadline(hours(100), hours(90)), hours(90));
    }

    #[test]
    fn an_unavailable_storage_is_tried_with_back_off() {
        let waits: Vec<_> = (1..10).map(|count| storage_retry(count, 0.0)).collect();
        let seconds: Vec<_> = waits.iter().map(Duration::as_secs).collect();
        assert_eq!(seconds, [1, 2, 4, 8, 16, 32, 60, 60, 60]);
        assert_eq!(storage_retry(u32::MAX, 1.0), Duration::from_secs(66));
        assert_eq!(storage_retry(0, 0.0), Duration::from_secs(1));
    }

    #[test]
    fn ocsp_responses_are_refreshed_at_half_of_their_life() {
        let at = |hours: u64| UNIX_EPOCH + Duration::from_secs(hours * HOUR);
        assert_eq!(ocsp_refresh(at(100), at(200), at(100), 0.0), at(150));
        assert_eq!(ocsp_refresh(at(100), at(200), at(149), 1.0), at(160));
        // Old ones, and those that are about to expire.
        assert_eq!(ocsp_refresh(at(100), at(200), at(190), 0.0), at(191));
        assert_eq!(
            ocsp_refresh(at(100), at(200), at(198), 0.0),
            at(198) + at(1).duration_since(at(0)).unwrap_or_default() / 2
        );
        assert_eq!(
            ocsp_refresh(at(100), at(200), at(200), 0.0),
            at(200) + OCSP_SOON
        );
        // One that is valid for ever.
        assert_eq!(
            ocsp_refresh(at(0), at(80_000_000), at(100), 0.0),
            at(100) + OCSP_LATEST
        );
    }

    #[test]
    fn an_unavailable_responder_is_queried_with_back_off() {
        let waits: Vec<_> = (1..12)
            .map(|count| ocsp_retry(count, 0.0).as_secs())
            .collect();
        assert_eq!(waits[..4], [5, 10, 20, 40]);
        assert_eq!(waits[9..], [2560, 3600]);
        assert_eq!(ocsp_retry(u32::MAX, 1.0), Duration::from_secs(3960));
    }

    #[test]
    fn waits_grow_and_end_growing() {
        let waits: Vec<_> = (1..12).map(|count| retry_after(count, None, 0.0)).collect();
        assert!(waits.is_sorted());
        assert_eq!(waits[0], Duration::from_secs(60));
        assert_eq!(waits.last(), Some(&Duration::from_secs(12 * HOUR)));
        assert_eq!(
            retry_after(u32::MAX, None, 0.0),
            Duration::from_secs(12 * HOUR)
        );
        let day = Duration::from_secs(24 * HOUR);
        assert_eq!(retry_after(1, Some(day), 0.0), day);
        assert_eq!(retry_after(1, Some(Duration::ZERO), 0.0), waits[0]);
        assert_eq!(retry_after(1, None, 1.0), Duration::from_secs(66));
        assert_eq!(retry_after(0, None, 5.0), Duration::from_secs(66));
        let longest = longest_retry();
        assert!((1..12).all(|count| retry_after(count, Some(day), 1.0) <= longest));
        assert_eq!(longest, day.mul_f64(1.1));
        let first_hour: Duration = waits[..4].iter().sum();
        assert!(
            first_hour >= Duration::from_secs(50 * MINUTE),
            "{first_hour:?}"
        );
    }
}
