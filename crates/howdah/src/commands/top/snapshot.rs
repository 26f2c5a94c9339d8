//! The parts of the admin API that `top` shows.

use std::collections::BTreeMap;

use howdah_observe::admin::Client;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::tab::Tab;
use crate::commands::remote::{LIMIT, success, version_mismatch};
use crate::commands::report::printable;
use crate::commands::requests::{ClientState, Wait};
use crate::failure::Failure;

/// The state of the server.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Snapshot {
    pub(super) status: Status,
    pub(super) requests: Vec<Request>,
    #[serde(default)]
    pub(super) activity: Activity,
    /// The configuration in force, line by line, if it was asked for; or the reason why it is not shown.
    #[serde(default)]
    pub(super) configuration: Option<Result<Vec<String>, String>>,
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct Status {
    pub(super) version: String,
    pub(super) pid: u32,
    pub(super) stopping: bool,
    pub(super) php: String,
    pub(super) front: Front,
    pub(super) pools: Vec<Pool>,
    #[serde(default)]
    pub(super) opcache: Option<Opcache>,
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct Front {
    pub(super) requests: u64,
    pub(super) in_flight: usize,
    pub(super) connections: usize,
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct Opcache {
    pub(super) used: u64,
    pub(super) free: u64,
    pub(super) wasted: u64,
    pub(super) hits: u64,
    pub(super) misses: u64,
    pub(super) advice: Vec<String>,
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct Pool {
    pub(super) name: String,
    pub(super) mode: String,
    pub(super) generation: u32,
    pub(super) reloading: bool,
    pub(super) failure: Option<String>,
    pub(super) ready: usize,
    pub(super) busy: usize,
    pub(super) queue: usize,
    #[serde(default)]
    pub(super) concurrency: usize,
    pub(super) workers: Vec<Worker>,
    pub(super) refused: BTreeMap<String, u64>,
    #[serde(default)]
    pub(super) counters: BTreeMap<String, u64>,
    #[serde(default)]
    pub(super) leaks: Leaks,
    #[serde(default)]
    pub(super) crashes: Vec<RouteCrashes>,
}

/// Crashes of requests of one route.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct RouteCrashes {
    pub(super) route: String,
    pub(super) count: u64,
    pub(super) quarantine_ms: Option<u64>,
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct Worker {
    #[serde(default)]
    pub(super) place: u16,
    #[serde(default)]
    pub(super) pid: i32,
    #[serde(default)]
    pub(super) state: String,
    pub(super) requests: u64,
    pub(super) memory: u64,
    #[serde(default)]
    pub(super) age_ms: u64,
    #[serde(default)]
    pub(super) in_flight: usize,
    #[serde(default)]
    pub(super) longest_hold_ms: u64,
    #[serde(default)]
    pub(super) request: Option<CurrentRequest>,
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct CurrentRequest {
    pub(super) id: String,
    pub(super) since_ms: u64,
}

#[derive(Debug, Clone, Default, Deserialize)]
pub(super) struct Leaks {
    pub(super) findings: Vec<Leak>,
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct Leak {
    pub(super) kind: String,
    pub(super) why: String,
    pub(super) path: String,
    pub(super) member: Option<String>,
    pub(super) value: String,
    pub(super) count_before: Option<u64>,
    pub(super) count: Option<u64>,
    pub(super) file: Option<String>,
    pub(super) line: Option<u64>,
    pub(super) method: String,
    pub(super) uri: String,
    pub(super) request: Option<String>,
}

/// A request in flight.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Request {
    #[serde(default)]
    pub(super) id: String,
    pub(super) method: String,
    pub(super) host: String,
    pub(super) uri: String,
    pub(super) remote: String,
    #[serde(default)]
    pub(super) client: ClientState,
    pub(super) age_ms: u64,
    pub(super) phase: String,
    #[serde(default)]
    pub(super) route: Option<String>,
    pub(super) pool: Option<String>,
    pub(super) worker: Option<u16>,
    /// That PHP's allocator uses; this and the rest only if details were requested, as in `top`.
    #[serde(default)]
    pub(super) memory: Option<u64>,
    #[serde(default)]
    pub(super) wait: Option<Wait>,
    /// The innermost function and the first place in PHP code.
    #[serde(default)]
    pub(super) top: Option<String>,
}

/// The response of `/activity`. An older server has none.
#[derive(Debug, Clone, Default, Deserialize)]
pub(super) struct Activity {
    pub(super) seconds: Vec<Second>,
    pub(super) latency: Latency,
    pub(super) routes: Vec<RequestGroup>,
    #[serde(default)]
    pub(super) hosts: Vec<RequestGroup>,
    #[serde(default)]
    pub(super) slow: Vec<SlowRequest>,
    /// `None`: it is withheld from clients over TCP.
    pub(super) log: Option<Log>,
    #[serde(default)]
    pub(super) now_ms: u64,
    #[serde(default)]
    pub(super) configuration: Option<Configuration>,
    #[serde(default)]
    pub(super) certificates: Vec<Certificate>,
    #[serde(default)]
    pub(super) upstreams: Vec<Upstream>,
}

/// The last reload.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Configuration {
    pub(super) last_successful: bool,
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct Certificate {
    pub(super) host: String,
    /// Expiry, in seconds since 1970.
    pub(super) until: u64,
    /// The time by which it should have been renewed; an older server does not report it.
    #[serde(default)]
    pub(super) renewal_deadline: Option<u64>,
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct Upstream {
    pub(super) address: String,
    pub(super) handler: String,
    pub(super) healthy: bool,
    pub(super) in_flight: u64,
    pub(super) failures: u64,
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct Second {
    pub(super) requests: u64,
    pub(super) server_errors: u64,
}

#[derive(Debug, Clone, Default, Deserialize)]
pub(super) struct Latency {
    pub(super) requests: u64,
    pub(super) p50_us: u64,
    pub(super) p95_us: u64,
    pub(super) p99_us: u64,
    pub(super) bounds_us: Vec<u64>,
    pub(super) counts: Vec<u64>,
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct RequestGroup {
    #[serde(alias = "route", alias = "host")]
    pub(super) name: String,
    /// Of a route that PHP handles.
    #[serde(default)]
    pub(super) pool: Option<String>,
    pub(super) requests: u64,
    pub(super) per_second: f64,
    pub(super) client_errors: u64,
    pub(super) server_errors: u64,
    pub(super) p50_us: u64,
    pub(super) p95_us: u64,
    pub(super) p99_us: u64,
    pub(super) largest_us: u64,
    pub(super) total_us: u64,
    pub(super) php_mean_us: u64,
    pub(super) queue_mean_us: u64,
    pub(super) memory: Option<Memory>,
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct Memory {
    pub(super) mean: u64,
    pub(super) largest: u64,
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct SlowRequest {
    pub(super) id: String,
    pub(super) pool: String,
    pub(super) title: String,
    pub(super) age_ms: u64,
    pub(super) ended_ms: Option<u64>,
    #[serde(default)]
    pub(super) outcome: Option<String>,
    #[serde(default)]
    pub(super) client_disconnected: bool,
    #[serde(default)]
    pub(super) repeated: bool,
    pub(super) places: Vec<Place>,
}

impl SlowRequest {
    /// How it ended; empty while it runs, or if an older server does not report it.
    pub(super) fn outcome(&self) -> String {
        let how = self.outcome.as_deref().unwrap_or_default();
        let mut words = how.replace('_', " ");
        if self.client_disconnected {
            words.push_str(", client disconnected");
        }
        if self.repeated {
            words.push_str(", runs again");
        }
        words
    }

    /// The most important part of its outcome, for a list.
    pub(super) fn ending(&self) -> String {
        match self.outcome.as_deref() {
            Some(how) if how != "finished" => how.replace('_', " "),
            _ => "disconnected".to_owned(),
        }
    }

    /// Whether it ran to its end for a client that waited.
    pub(super) fn ended_well(&self) -> bool {
        matches!(&*self.outcome(), "" | "finished")
    }
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct Place {
    pub(super) from_ms: u64,
    pub(super) to_ms: u64,
    pub(super) samples: usize,
    #[serde(rename = "place")]
    pub(super) frames: String,
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct Log {
    pub(super) last: u64,
    pub(super) lines: Vec<Line>,
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct Line {
    pub(super) number: u64,
    pub(super) ts: f64,
    pub(super) level: String,
    pub(super) logger: String,
    pub(super) msg: String,
    pub(super) fields: Map<String, Value>,
}

/// The response of `/requests`.
#[derive(Debug, Deserialize)]
struct Requests {
    requests: Vec<Request>,
}

impl Snapshot {
    /// Queries the server. `log`: the number of the last known line of the log. `detail`: queries what PHP processes
    /// do.
    /// `tab`: the one that is shown. What only it needs is asked for in no other.
    pub(super) fn take(client: &Client, log: u64, tab: Tab) -> Result<Self, Failure> {
        let target = if tab == Tab::Requests {
            "/requests?detail"
        } else {
            "/requests"
        };
        let requests: Requests = fetch(client, target)?;
        Ok(Self {
            status: fetch(client, "/status")?,
            requests: requests.requests,
            activity: fetch(client, &format!("/activity?log={log}"))?,
            configuration: (tab == Tab::Config).then(|| configuration(client)),
        })
    }

    /// Only status and requests.
    pub(super) fn brief(client: &Client) -> Result<Self, Failure> {
        let requests: Requests = fetch(client, "/requests")?;
        Ok(Self {
            status: fetch(client, "/status")?,
            requests: requests.requests,
            activity: Activity::default(),
            configuration: None,
        })
    }
}

/// The configuration in force. `Err`: the server withholds it.
fn configuration(client: &Client) -> Result<Vec<String>, String> {
    let value: Value = fetch(client, "/config/").map_err(|failure| failure.to_string())?;
    Ok(format!("{value:#}").lines().map(str::to_owned).collect())
}

fn fetch<T: for<'de> Deserialize<'de>>(client: &Client, target: &str) -> Result<T, Failure> {
    let reply = success(client.request("GET", target, Some(LIMIT)))?;
    serde_json::from_slice(&reply.body).map_err(version_mismatch)
}

impl Request {
    /// Where it is, and whether its client has left it.
    pub(super) fn phase(&self) -> String {
        let phase = printable(&self.phase);
        match self.client {
            ClientState::Waiting => phase,
            client => phase + "," + client.suffix(),
        }
    }
}

impl Pool {
    pub(super) fn memory(&self) -> u64 {
        self.workers.iter().map(|worker| worker.memory).sum()
    }

    pub(super) fn refusals(&self) -> u64 {
        self.refused.values().sum()
    }

    pub(super) fn counter(&self, name: &str) -> u64 {
        self.counters.get(name).copied().unwrap_or(0)
    }
}
