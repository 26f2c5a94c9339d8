//! Decides who takes the samples of a place, from what is visible outside: PHP itself between two instructions, or the
//! sampling thread of its process, which has to be woken.

use std::time::Duration;

/// Processor time that the sampling thread needs after it has reported its own time.
const SAMPLER_REST: Duration = Duration::from_micros(50);

/// Time without a reaction after which a process is looked at. Most processes react once they have a processor again,
/// and each look costs system calls.
const PATIENCE: Duration = Duration::from_millis(3);

/// The visible state of a process when a sample is due.
#[derive(Debug, Clone, Copy)]
pub(super) struct Observation {
    /// 0: none.
    pub(super) request: u64,
    /// Processor time of PHP; `None`: unknown.
    pub(super) time: Option<Duration>,
    /// Each sample covers several requests, whose positions the front does not see.
    pub(super) samples_each: bool,
}

/// What to do about a sample that is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sample {
    /// Nothing runs.
    Idle,
    /// The last sample is still valid.
    Same,
    /// Wake the worker for it.
    Now,
    /// The next wake covers it, too, or PHP itself when it reacts to the interrupt.
    Later,
}

/// State of a process since the last sample.
#[derive(Debug, Default)]
pub(super) struct PlaceClock {
    request: u64,
    time: Duration,
    /// It was woken at the last tick, so its time includes some of the sampling thread.
    is_woken: bool,
    /// It cannot run unnoticed: its last sample shows where it waits.
    is_waiting: bool,
    /// The last sample was postponed, or the process has no processor.
    is_late: bool,
    /// PHP has not reacted for this number of ticks.
    pending: u32,
}

/// Ticks of this period without a reaction after which a process is looked at.
pub(super) fn patience(period: Duration) -> u32 {
    let ticks = PATIENCE.as_nanos().div_ceil(period.as_nanos().max(1));
    u32::try_from(ticks).unwrap_or(u32::MAX).max(1)
}

impl PlaceClock {
    /// For a process whose PHP takes its samples itself, and has a request. `is_pending`: it has not reacted to the last
    /// interrupt yet: it computes or waits in C, or has no processor. Only then, after `patience` ticks, `time` and
    /// `is_runnable` are needed, which cost system calls.
    pub(super) fn interrupted(
        &mut self,
        request: u64,
        is_pending: bool,
        patience: u32,
        time: impl FnOnce() -> Option<Duration>,
        is_runnable: impl FnOnce() -> bool,
    ) -> Sample {
        if !is_pending || request != self.request {
            *self = Self {
                request,
                ..Self::default()
            };
            return Sample::Later;
        }
        self.pending = self.pending.saturating_add(1);
        if self.pending < patience {
            return Sample::Later;
        }
        let time = time();
        if self.pending == patience {
            self.time = time.unwrap_or_default();
            return Sample::Later;
        }
        let sample = if self.has_run(request, time) {
            (self.is_waiting, self.is_late) = (false, false);
            Sample::Now
        } else if self.is_waiting {
            Sample::Same
        } else if self.is_late || is_runnable() {
            self.is_late = true;
            Sample::Later
        } else {
            self.is_waiting = true;
            Sample::Now
        };
        self.is_woken = sample == Sample::Now;
        sample
    }

    /// For a process whose sampling thread takes the samples. `is_runnable`: whether the process runs or waits for a
    /// processor; this costs a read of `/proc`.
    pub(super) fn tick(
        &mut self,
        seen: &Observation,
        is_runnable: impl FnOnce() -> bool,
    ) -> Sample {
        if seen.request == 0 {
            *self = Self::default();
            return Sample::Idle;
        }
        let ran = self.has_run(seen.request, seen.time);
        let sample = if ran {
            self.is_waiting = false;
            Sample::Now
        } else if seen.samples_each {
            self.put_off()
        } else if self.is_waiting {
            Sample::Same
        } else {
            // Without processor time it is where it was. In a system call it may have arrived there since its last
            // sample.
            self.is_waiting = true;
            if is_runnable() {
                Sample::Same
            } else {
                Sample::Now
            }
        };
        self.is_woken = sample == Sample::Now;
        self.is_late = sample == Sample::Later;
        sample
    }

    fn has_run(&mut self, request: u64, time: Option<Duration>) -> bool {
        let rest = if self.is_woken {
            SAMPLER_REST
        } else {
            Duration::ZERO
        };
        let ran = request != self.request || time.is_none_or(|time| time > self.time + rest);
        self.request = request;
        self.time = time.unwrap_or_default();
        ran
    }

    /// A sleeping process does not need each wake: the next sample shows the same stack.
    fn put_off(&self) -> Sample {
        if self.is_late {
            Sample::Now
        } else {
            Sample::Later
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(request: u64, micros: u64) -> Observation {
        Observation {
            request,
            time: Some(Duration::from_micros(micros)),
            samples_each: false,
        }
    }

    fn panics_if_called() -> bool {
        panic!("the state of the process is not needed")
    }

    #[test]
    fn a_process_that_runs_is_sampled_each_time() {
        let mut clock = PlaceClock::default();
        assert_eq!(clock.tick(&seen(0, 500), panics_if_called), Sample::Idle);
        assert_eq!(
            clock.tick(&seen(1, 600), panics_if_called),
            Sample::Now,
            "a new request"
        );
        assert_eq!(clock.tick(&seen(1, 1600), panics_if_called), Sample::Now);
        assert_eq!(
            clock.tick(&seen(2, 1600), panics_if_called),
            Sample::Now,
            "the next request"
        );
        let unknown = Observation {
            time: None,
            ..seen(2, 0)
        };
        assert_eq!(clock.tick(&unknown, panics_if_called), Sample::Now);
    }

    #[test]
    fn a_process_that_sleeps_is_sampled_once() {
        let mut clock = PlaceClock::default();
        assert_eq!(clock.tick(&seen(1, 1000), panics_if_called), Sample::Now);
        assert_eq!(
            clock.tick(&seen(1, 1020), || false),
            Sample::Now,
            "where it sleeps"
        );
        assert_eq!(
            clock.tick(&seen(1, 1040), panics_if_called),
            Sample::Same,
            "the sampler's time"
        );
        assert_eq!(clock.tick(&seen(1, 1040), panics_if_called), Sample::Same);
        assert_eq!(
            clock.tick(&seen(1, 1041), panics_if_called),
            Sample::Now,
            "it has run"
        );
    }

    #[test]
    fn a_process_without_a_processor_is_not_sampled() {
        let mut clock = PlaceClock::default();
        assert_eq!(clock.tick(&seen(1, 1000), panics_if_called), Sample::Now);
        assert_eq!(clock.tick(&seen(1, 1010), || true), Sample::Same);
        assert_eq!(clock.tick(&seen(1, 1010), panics_if_called), Sample::Same);
        assert_eq!(clock.tick(&seen(1, 1011), panics_if_called), Sample::Now);
    }

    #[test]
    fn php_takes_its_samples_unless_it_does_not_react() {
        let mut clock = PlaceClock::default();
        let mut tick = |request, is_pending, micros: Option<u64>, runnable: Option<bool>| {
            let time = || {
                Some(Duration::from_micros(
                    micros.expect("the time is not needed"),
                ))
            };
            let runnable = || runnable.expect("the state of the process is not needed");
            clock.interrupted(request, is_pending, 3, time, runnable)
        };
        let (taken, pending) = (false, true);
        assert_eq!(tick(1, taken, None, None), Sample::Later);
        assert_eq!(tick(1, taken, None, None), Sample::Later);
        assert_eq!(tick(2, pending, None, None), Sample::Later, "a new request");
        assert_eq!(tick(2, pending, None, None), Sample::Later);
        assert_eq!(tick(2, pending, None, None), Sample::Later);
        assert_eq!(tick(2, pending, Some(500), None), Sample::Later);
        assert_eq!(
            tick(2, pending, Some(1500), None),
            Sample::Now,
            "it computes in C"
        );
        assert_eq!(tick(2, pending, Some(2500), None), Sample::Now);
        assert_eq!(
            tick(2, pending, Some(2520), Some(false)),
            Sample::Now,
            "where it waits"
        );
        assert_eq!(tick(2, pending, Some(2540), None), Sample::Same);
        assert_eq!(tick(2, taken, None, None), Sample::Later);
        assert_eq!(tick(2, pending, None, None), Sample::Later);
        assert_eq!(tick(2, pending, None, None), Sample::Later);
        assert_eq!(tick(2, pending, Some(2600), None), Sample::Later);
        assert_eq!(
            tick(2, pending, Some(2600), Some(true)),
            Sample::Later,
            "it has no processor"
        );
        assert_eq!(tick(2, pending, Some(2600), None), Sample::Later);
    }

    #[test]
    fn a_process_that_waits_is_looked_at_after_the_same_time_at_each_rate() {
        let ticks = |micros| patience(Duration::from_micros(micros));
        assert_eq!([1000, 2000, 3000, 4000, 4999].map(ticks), [3, 2, 1, 1, 1]);
        let mut clock = PlaceClock::default();
        let mut tick = |is_pending, runnable: Option<bool>| {
            let runnable = || runnable.expect("the state of the process is not needed");
            clock.interrupted(1, is_pending, 1, || Some(Duration::ZERO), runnable)
        };
        assert_eq!(tick(false, None), Sample::Later);
        assert_eq!(tick(true, None), Sample::Later);
        assert_eq!(tick(true, Some(false)), Sample::Now, "where it waits");
        assert_eq!(tick(true, None), Sample::Same);
    }

    #[test]
    fn concurrent_requests_are_sampled_at_every_second_tick_of_a_sleep() {
        let mut clock = PlaceClock::default();
        let mut tick = |micros| {
            let seen = Observation {
                samples_each: true,
                ..seen(3, micros)
            };
            clock.tick(&seen, panics_if_called)
        };
        assert_eq!(tick(1000), Sample::Now);
        assert_eq!(tick(1010), Sample::Later);
        assert_eq!(tick(1010), Sample::Now);
        assert_eq!(tick(1020), Sample::Later);
        assert_eq!(tick(1100), Sample::Now, "it has run");
    }
}
