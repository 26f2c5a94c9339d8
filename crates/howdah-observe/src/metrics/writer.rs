//! Metric families in Prometheus' text format.

use std::fmt;

use prometheus_client::encoding::{DescriptorEncoder, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;

use super::front::{BOUNDS, HistogramSum};

/// Labels and a value.
pub(super) type Sample<'l> = (Vec<(&'static str, &'l str)>, u64);

pub(super) struct Writer<'a>(pub(super) DescriptorEncoder<'a>);

impl Writer<'_> {
    pub(super) fn family(
        &mut self,
        name: &str,
        help: &str,
        kind: MetricType,
        write: impl FnOnce(&mut MetricEncoder<'_>) -> fmt::Result,
    ) -> fmt::Result {
        write(&mut self.0.encode_descriptor(name, help, None, kind)?)
    }

    /// `name` without `_total`.
    pub(super) fn counters<'l>(
        &mut self,
        name: &str,
        help: &str,
        values: impl IntoIterator<Item = Sample<'l>>,
    ) -> fmt::Result {
        self.family(name, help, MetricType::Counter, |family| {
            for (labels, value) in values {
                let mut own = family.encode_family(&labels)?;
                own.encode_counter::<NoLabelSet, _, f64>(&value, None)?;
            }
            Ok(())
        })
    }

    pub(super) fn gauges<'l>(
        &mut self,
        name: &str,
        help: &str,
        values: impl IntoIterator<Item = Sample<'l>>,
    ) -> fmt::Result {
        self.family(name, help, MetricType::Gauge, |family| {
            for (labels, value) in values {
                family.encode_family(&labels)?.encode_gauge(&value)?;
            }
            Ok(())
        })
    }

    pub(super) fn counter(&mut self, name: &str, help: &str, value: u64) -> fmt::Result {
        self.family(name, help, MetricType::Counter, |own| {
            own.encode_counter::<NoLabelSet, _, f64>(&value, None)
        })
    }

    pub(super) fn gauge(&mut self, name: &str, help: &str, value: u64) -> fmt::Result {
        self.family(name, help, MetricType::Gauge, |own| {
            own.encode_gauge(&value)
        })
    }
}

#[expect(clippy::cast_precision_loss, reason = "fractions of seconds")]
pub(super) fn seconds(nanos: u64) -> f64 {
    nanos as f64 / 1e9
}

#[expect(clippy::cast_precision_loss, reason = "bounds are small")]
pub(super) fn histogram(
    family: &mut MetricEncoder<'_>,
    summed: &HistogramSum,
    labels: &[(&str, &str)],
) -> fmt::Result {
    let count = summed.count();
    if count == 0 {
        return Ok(());
    }
    let bounds = BOUNDS
        .iter()
        .map(|micros| *micros as f64 / 1e6)
        .chain([f64::INFINITY]);
    let buckets: Vec<(f64, u64)> = bounds.zip(summed.buckets).collect();
    family
        .encode_family(&labels)?
        .encode_histogram::<NoLabelSet>(seconds(summed.sum_ns), count, &buckets, None)
}
