//! Times of requests by route, with exemplars of traces: `metrics { per_route }`.
//!
//! Paths come from clients, so the number of routes is limited: the time of further ones, and of unknown routes whose
//! request fails, is counted together.

use std::collections::HashMap;
use std::fmt;
use std::sync::{PoisonError, RwLock};
use std::time::{Duration, SystemTime};

use prometheus_client::encoding::{EncodeMetric, MetricEncoder};
use prometheus_client::metrics::exemplar::HistogramWithExemplars;

use super::front::BOUNDS;
use crate::trace::TraceContext;

/// Routes that are counted separately.
const ROUTES_MAX: usize = 100;
/// Requests of all further routes.
const OTHER: &str = "(other)";

type Labels = Vec<(&'static str, String)>;
type RouteHistogram = HistogramWithExemplars<Labels>;

/// The histograms of all routes. Front threads share them.
#[derive(Debug, Default)]
pub struct Routes(RwLock<HashMap<String, RouteHistogram>>);

/// A finished request.
#[derive(Debug)]
pub struct RouteObservation<'r> {
    /// Method and path, with identifiers replaced.
    pub route: &'r str,
    /// 0 if the client disconnected before there was one.
    pub status: u16,
    /// The time from the end of its header to the end of the response.
    pub time: Duration,
    /// The exemplar, if its spans are exported.
    pub trace: Option<TraceContext>,
}

impl Routes {
    /// Counts a request.
    pub fn observe(&self, observed: &RouteObservation<'_>) {
        let exemplar = observed.trace.map(|context| {
            vec![
                ("trace_id", context.trace.to_string()),
                ("span_id", format!("{:016x}", context.span)),
            ]
        });
        let now = exemplar.is_some().then(SystemTime::now);
        let seconds = observed.time.as_secs_f64();
        let add = |histogram: &RouteHistogram| histogram.observe(seconds, exemplar.clone(), now);
        let routes = self.0.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(histogram) = routes.get(observed.route) {
            return add(histogram);
        }
        drop(routes);
        let mut routes = self.0.write().unwrap_or_else(PoisonError::into_inner);
        // A path that scanners request is not a route of the application.
        let is_of_application = (200..400).contains(&observed.status) || observed.status >= 500;
        let is_known = routes.contains_key(observed.route);
        let route = if is_known || (is_of_application && routes.len() < ROUTES_MAX) {
            observed.route
        } else {
            OTHER
        };
        let new = || {
            #[expect(clippy::cast_precision_loss, reason = "bounds are small")]
            let bounds = BOUNDS.iter().map(|micros| *micros as f64 / 1e6);
            RouteHistogram::new(bounds)
        };
        add(routes.entry(route.to_owned()).or_insert_with(new));
    }

    pub(super) fn is_empty(&self) -> bool {
        let routes = self.0.read().unwrap_or_else(PoisonError::into_inner);
        routes.is_empty()
    }

    pub(super) fn encode(&self, family: &mut MetricEncoder<'_>) -> fmt::Result {
        let routes = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let mut sorted: Vec<_> = routes.iter().collect();
        sorted.sort_by_key(|(route, _)| *route);
        for (route, histogram) in sorted {
            let labels = [("route", route.as_str())];
            histogram.encode(family.encode_family(&labels)?)?;
        }
        Ok(())
    }
}
