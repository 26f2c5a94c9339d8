//! The last two minutes, second by second.

use std::collections::VecDeque;

use howdah_http::FinishedRequest;
use serde_json::{Value, json};

use super::histogram::{BARS, Histogram};

/// Seconds that are stored.
const SECONDS_MAX: usize = 120;
/// Seconds in the histogram.
const LATENCY: usize = 60;

/// What happened in a second.
#[derive(Debug, Default)]
pub(crate) struct Second {
    /// Seconds since 1970.
    pub(crate) at: u64,
    /// Requests whose header was read.
    pub(crate) requests: u64,
    /// Requests in flight at its end.
    pub(crate) in_flight: usize,
    /// Workers with a request, of all pools, at its end.
    pub(crate) busy: usize,
    /// Requests that waited for a worker at its end.
    pub(crate) queue: usize,
    times: Histogram,
    client_errors: u64,
    server_errors: u64,
}

impl Second {
    pub(crate) fn begin(at: u64) -> Self {
        Self {
            at,
            ..Self::default()
        }
    }

    pub(crate) fn add(&mut self, request: &FinishedRequest) {
        self.times.add(request.duration);
        match request.status {
            500.. => self.server_errors += 1,
            400.. | 0 => self.client_errors += 1,
            _ => {}
        }
    }

    fn to_json(&self) -> Value {
        json!({
            "at": self.at,
            "requests": self.requests,
            "client_errors": self.client_errors,
            "server_errors": self.server_errors,
            "in_flight": self.in_flight,
            "busy": self.busy,
            "queue": self.queue,
            "p50_us": self.times.quantile_us(500),
            "p95_us": self.times.quantile_us(950),
            "p99_us": self.times.quantile_us(990),
        })
    }
}

/// The last seconds, the newest last.
#[derive(Debug, Default)]
pub(crate) struct Seconds(VecDeque<Second>);

impl Seconds {
    pub(crate) fn push(&mut self, second: Second) {
        if self.0.len() == SECONDS_MAX {
            self.0.pop_front();
        }
        self.0.push_back(second);
    }

    pub(crate) fn to_json(&self) -> Value {
        self.0.iter().map(Second::to_json).collect()
    }

    /// The times of the requests of the last minute.
    pub(crate) fn latency(&self) -> Value {
        let mut all = Histogram::default();
        for second in self.0.iter().rev().take(LATENCY) {
            all.merge(&second.times);
        }
        json!({
            "requests": all.count(),
            "p50_us": all.quantile_us(500),
            "p95_us": all.quantile_us(950),
            "p99_us": all.quantile_us(990),
            "mean_us": all.mean_us(),
            "largest_us": all.largest_us(),
            "bounds_us": BARS,
            "counts": all.bars(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_minutes_are_kept() {
        let mut seconds = Seconds::default();
        for at in 0..200 {
            let requests = at % 7;
            seconds.push(Second {
                at,
                requests,
                ..Second::default()
            });
        }
        let shown = seconds.to_json();
        assert_eq!(shown.as_array().map(Vec::len), Some(SECONDS_MAX));
        assert_eq!(shown[0]["at"], 80);
        assert_eq!(shown[119]["requests"], 199 % 7);
        assert_eq!(seconds.latency()["requests"], 0);
    }
}
