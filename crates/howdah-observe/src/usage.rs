//! Costs of a request in PHP: for access logs, `Server-Timing` and spans.

use std::fmt::Write as _;
use std::time::Duration;

/// Costs of a request as a worker measured them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ScriptUsage {
    /// User and system time.
    pub cpu: Duration,
    /// Wall time in calls of database extensions.
    pub database: Duration,
    /// SQL statements that these calls ran.
    pub queries: u32,
    /// Peak of PHP's allocator, in bytes.
    pub memory_peak: u64,
}

/// The usage with the times that the front measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PhpUsage {
    /// The time from the call of PHP until a worker claimed the request.
    pub queue: Duration,
    /// The time from there until the worker was done.
    pub time: Duration,
    /// The costs that the worker measured.
    pub script: ScriptUsage,
}

/// The costs that are known when a response begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UsageSoFar {
    /// The time from the call of PHP until a worker claimed the request.
    pub queue: Duration,
    /// `None`: the script is still running.
    pub usage: Option<PhpUsage>,
}

impl UsageSoFar {
    /// Usage of a script that has ended.
    pub fn of(usage: PhpUsage) -> Self {
        Self {
            queue: usage.queue,
            usage: Some(usage),
        }
    }

    /// The value of a `Server-Timing` header.
    pub fn timing_header(&self) -> String {
        match &self.usage {
            Some(usage) => usage.timing_header(),
            None => PhpUsage::queue_timing(self.queue),
        }
    }
}

impl PhpUsage {
    fn queue_timing(queue: Duration) -> String {
        format!("queue;dur={:.3}", queue.as_secs_f64() * 1e3)
    }

    /// The header field with times in milliseconds.
    fn timing_header(&self) -> String {
        let script = &self.script;
        let mut text = Self::queue_timing(self.queue);
        let metrics = [
            ("php", self.time),
            ("cpu", script.cpu),
            ("db", script.database),
        ];
        for (name, time) in metrics {
            // Writing to a `String` cannot fail.
            let _ = write!(text, ", {name};dur={:.3}", time.as_secs_f64() * 1e3);
        }
        let plural = if script.queries == 1 { "y" } else { "ies" };
        let _ = write!(text, ";desc=\"{} quer{plural}\"", script.queries);
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn server_timing_is_in_milliseconds() {
        let mut usage = PhpUsage {
            queue: Duration::from_micros(40),
            time: Duration::from_millis(12),
            script: ScriptUsage {
                cpu: Duration::from_micros(10_500),
                database: Duration::from_micros(1),
                queries: 1,
                memory_peak: 1,
            },
        };
        assert_eq!(
            usage.timing_header(),
            "queue;dur=0.040, php;dur=12.000, cpu;dur=10.500, db;dur=0.001;desc=\"1 query\""
        );
        usage.script.queries = 0;
        assert!(usage.timing_header().ends_with("desc=\"0 queries\""));
    }
}
