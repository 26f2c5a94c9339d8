//! What a pool is asked to be.

use std::path::PathBuf;
use std::time::Duration;

/// How the PHP side is started; the same for all pools.
#[derive(Debug, Clone)]
pub struct RootOptions {
    /// The PHP executable, `howdah-php`.
    pub executable: PathBuf,
    /// Settings on top of php.ini, in order.
    pub ini: Vec<(String, String)>,
    /// Front threads of the server, 1 to 16.
    pub fronts: usize,
    /// How long PHP's module start-up may take (preloading included). Default 2 min.
    pub start_timeout: Duration,
}

/// One pool.
#[derive(Debug, Clone)]
pub struct PoolOptions {
    /// Names it in logs, process titles and metrics.
    pub name: String,
    /// Worker processes, 1 to 512.
    pub workers: usize,
    /// A worker is replaced after so many requests; 0: never.
    pub max_requests: u32,
    /// Requests that may wait for a worker; one more is refused.
    pub queue_length: usize,
    /// How long a request may wait for a worker.
    pub max_wait: Duration,
    /// Wall time of a request in PHP, from the moment a worker took it; `None`: no limit.
    pub request_timeout: Option<Duration>,
    /// Bytes of one response that are held for a slow client before its worker has to wait.
    pub response_buffer: usize,
    /// Bytes for the variables of a request and a small body, a multiple of 4,096. Untouched pages cost
    /// nothing, so there is room for the largest header that the front lets through.
    pub request_size: usize,
    /// Bytes of a slot's response ring, a power of two.
    pub response_size: usize,
}

impl PoolOptions {
    /// A pool with the documented defaults.
    pub fn new(name: impl Into<String>, workers: usize) -> Self {
        Self {
            name: name.into(),
            workers,
            max_requests: 0,
            queue_length: 1024,
            max_wait: Duration::from_secs(30),
            request_timeout: None,
            response_buffer: 1 << 20,
            request_size: 256 << 10,
            response_size: 256 << 10,
        }
    }

    /// Slots of each front thread: enough that a worker never waits for a request that waits for a slot,
    /// twice over; more only cost memory, since waiting is as well done in the front's own queue.
    pub(crate) fn slots(&self) -> usize {
        (2 * self.workers).next_power_of_two().clamp(16, 1024)
    }
}

/// Workers of a classic pool when nobody said a number: two for each core, at least four. A request of
/// an ordinary application spends part of its time waiting for its database; a second process for each
/// core fills that time, and more would mostly take memory and cache from the others.
pub fn default_workers(cores: usize) -> usize {
    (2 * cores).clamp(4, 512)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_follows_the_cores() {
        for (cores, workers) in [(1, 4), (2, 4), (4, 8), (8, 16), (64, 128), (512, 512)] {
            assert_eq!(default_workers(cores), workers, "{cores}");
        }
    }

    #[test]
    fn slots_are_a_power_of_two_within_the_contract() {
        for workers in [1, 3, 9, 100, 512] {
            let slots = PoolOptions::new("php", workers).slots();
            assert!(slots.is_power_of_two() && slots >= workers.min(1024) && slots <= 1024);
        }
    }
}
