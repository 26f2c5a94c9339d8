//! Metrics for Prometheus: counters of the front threads, and the page for a scrape.
//!
//! ```text
//! front thread ─ plain loads and stores ─> its Shard ┐
//! supervisor's status, process, logs ───────────────>├─ Page ─ prometheus-client ─> text
//! ```
//!
//! A shard has one writer, so counting needs no locked instruction; a scrape adds the shards up. All labels are known
//! at the start, so no request allocates a label, except for the optional metrics by route.

mod caddy;
mod frankenphp;
mod front;
mod opcache;
mod page;
mod plain;
mod process;
mod routes;
mod scrape;
#[cfg(test)]
mod tests;
mod workers;
mod writer;

pub use front::{BOUNDS, Handshake, Measures, OTHER_HOST, Phase, Protocol, Shard};
pub use opcache::{OpcacheCounts, Preload};
pub use page::{
    CertificateTimes, ConfigReloads, Connections, FRONT, HubCounts, Page, Pool, Worker, WorkerState,
};
pub use process::Process;
pub use routes::{RouteObservation, Routes};

/// The media type of the rendered page, for clients that request `OpenMetrics`.
pub const OPENMETRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
/// The media type for all others: Prometheus' older format.
pub const PLAIN: &str = "text/plain; version=0.0.4; charset=utf-8";

/// The media type and the text of a [page](Page::render) for a client that sent this `Accept`.
pub fn for_client(accept: Option<&str>, page: String) -> (&'static str, String) {
    match accept {
        Some(accept) if accept.contains("application/openmetrics-text") => (OPENMETRICS, page),
        _ => (PLAIN, plain::plain(&page)),
    }
}
