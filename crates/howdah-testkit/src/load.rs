//! Concurrent requests.

use std::thread;

/// Number of concurrent requests that is enough to show races.
pub const CONCURRENCY: usize = 100;

/// Runs `work` for 0 to `count - 1` at the same time, each in a separate thread. Returns the
/// results in order.
///
/// # Panics
/// Panics with the number of the thread if one panics. The message of that thread is printed
/// before.
#[track_caller]
pub fn at_once<T: Send>(count: usize, work: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let barrier = std::sync::Barrier::new(count);
    let (work, barrier) = (&work, &barrier);
    thread::scope(|scope| {
        let threads: Vec<_> = (0..count)
            .map(|index| {
                let run = move || {
                    barrier.wait();
                    work(index)
                };
                let builder = thread::Builder::new().stack_size(256 << 10);
                builder
                    .spawn_scoped(scope, run)
                    .expect("a thread can be started")
            })
            .collect();
        let results: Vec<_> = threads
            .into_iter()
            .map(thread::ScopedJoinHandle::join)
            .collect();
        results
            .into_iter()
            .enumerate()
            .map(|(index, result)| result.unwrap_or_else(|_| panic!("number {index} failed")))
            .collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_all_at_once_and_keeps_the_order() {
        let together = std::sync::Barrier::new(CONCURRENCY);
        let results = at_once(CONCURRENCY, |index| {
            together.wait();
            index * 2
        });
        assert_eq!(results, (0..CONCURRENCY).map(|i| i * 2).collect::<Vec<_>>());
    }

    #[test]
    fn reports_a_failure() {
        let result = std::panic::catch_unwind(|| at_once(2, |index| assert_ne!(index, 1)));
        assert!(result.is_err());
    }
}
