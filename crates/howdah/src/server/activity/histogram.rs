//! Times of requests, in buckets that are 9 % wide, so that quantiles are accurate to 5 %.

use std::time::Duration;

/// Buckets per doubling.
const STEPS: u32 = 8;
/// Doublings, starting at a microsecond: up to more than two minutes.
const DOUBLINGS: u32 = 27;
const BUCKETS: usize = (STEPS * DOUBLINGS) as usize;

/// Upper bounds of the bars, in microseconds; the last bar has all longer times.
pub(crate) const BARS: [u64; 11] = [
    1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000, 2_500_000,
];

/// A histogram of times.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Histogram {
    buckets: Box<[u32; BUCKETS]>,
    count: u64,
    largest_us: u64,
    sum_us: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self {
            buckets: Box::new([0; BUCKETS]),
            count: 0,
            largest_us: 0,
            sum_us: 0,
        }
    }
}

impl Histogram {
    pub(crate) fn add(&mut self, time: Duration) {
        let micros = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        let bucket = &mut self.buckets[bucket(micros)];
        *bucket = bucket.saturating_add(1);
        self.count += 1;
        self.largest_us = self.largest_us.max(micros);
        self.sum_us = self.sum_us.saturating_add(micros);
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        for (own, new) in self.buckets.iter_mut().zip(other.buckets.iter()) {
            *own = own.saturating_add(*new);
        }
        self.count += other.count;
        self.largest_us = self.largest_us.max(other.largest_us);
        self.sum_us = self.sum_us.saturating_add(other.sum_us);
    }

    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    pub(crate) fn largest_us(&self) -> u64 {
        self.largest_us
    }

    pub(crate) fn sum_us(&self) -> u64 {
        self.sum_us
    }

    pub(crate) fn mean_us(&self) -> u64 {
        self.sum_us.checked_div(self.count).unwrap_or(0)
    }

    /// The time that so many per mille of the requests did not exceed, in microseconds; 0 without requests.
    pub(crate) fn quantile_us(&self, per_mille: u64) -> u64 {
        let wanted = (self.count * per_mille).div_ceil(1000).max(1);
        let mut seen = 0;
        for (index, count) in self.buckets.iter().enumerate() {
            seen += u64::from(*count);
            if seen >= wanted {
                return middle(index).min(self.largest_us);
            }
        }
        0
    }

    /// Requests in each of [`BARS`], and above.
    pub(crate) fn bars(&self) -> [u64; BARS.len() + 1] {
        let mut bars = [0; BARS.len() + 1];
        for (index, count) in self.buckets.iter().enumerate() {
            let bar = BARS.partition_point(|bound| *bound < middle(index));
            bars[bar] += u64::from(*count);
        }
        bars
    }
}

fn bucket(micros: u64) -> usize {
    let micros = micros.max(1);
    let doubling = micros.ilog2();
    let start = 1_u64 << doubling;
    // Below eight microseconds some steps are empty.
    let step = (u128::from(micros - start) * u128::from(STEPS)) >> doubling;
    ((doubling * STEPS) as usize + step as usize).min(BUCKETS - 1)
}

/// The middle of a bucket in microseconds.
fn middle(index: usize) -> u64 {
    let (doubling, step) = (index as u32 / STEPS, index as u64 % u64::from(STEPS));
    let start = 1_u64 << doubling;
    let width = start.div_ceil(u64::from(STEPS));
    start + start * step / u64::from(STEPS) + width / 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_right_within_seven_per_cent() {
        let mut histogram = Histogram::default();
        for micros in 1..=100_000 {
            histogram.add(Duration::from_micros(micros));
        }
        for (per_mille, expected) in [(500, 50_000), (950, 95_000), (990, 99_000)] {
            let found = histogram.quantile_us(per_mille);
            assert!(
                found.abs_diff(expected) * 100 <= expected * 7,
                "{per_mille}: {found}"
            );
        }
        assert_eq!(
            histogram.quantile_us(1000),
            100_000,
            "never above the largest"
        );
        assert_eq!(histogram.mean_us(), 50_000);
        assert_eq!(histogram.bars().iter().sum::<u64>(), 100_000);
    }

    #[test]
    fn no_time_is_out_of_range() {
        let mut histogram = Histogram::default();
        assert_eq!((histogram.quantile_us(500), histogram.mean_us()), (0, 0));
        for time in [Duration::ZERO, Duration::from_micros(1), Duration::MAX] {
            histogram.add(time);
        }
        assert_eq!(histogram.count(), 3);
        assert_eq!(histogram.largest_us(), u64::MAX);
        assert_eq!(histogram.bars()[BARS.len()], 1);
    }

    #[test]
    fn merged_histograms_have_the_requests_of_both() {
        let [mut one, mut both] = [Histogram::default(), Histogram::default()];
        one.add(Duration::from_millis(3));
        both.add(Duration::from_millis(700));
        both.merge(&one);
        assert_eq!((both.count(), both.sum_us()), (2, 703_000));
        assert_eq!(both.largest_us(), 700_000);
        assert!(both.quantile_us(500) < 4000);
    }

    #[test]
    fn buckets_follow_each_other() {
        let mut last = 0;
        for micros in 1..2_000_000 {
            let own = bucket(micros);
            assert!(own >= last, "{micros}");
            last = own;
        }
        assert_eq!(bucket(u64::MAX), BUCKETS - 1);
    }
}
