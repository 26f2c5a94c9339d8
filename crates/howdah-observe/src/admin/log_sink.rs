//! A log that the server sends to a client of the admin API, in Caddy's format: `PUT /config/logging/logs/NAME`.

use std::net::SocketAddr;

use serde::Deserialize;
use serde_json::Value;

/// Caddy's name for access logs.
const ACCESS: &str = "http.log.access";

/// Where lines of JSON are sent, over TCP.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are the documentation")]
pub struct LogSink {
    /// The client that listens there.
    pub address: SocketAddr,
    pub source: LogSource,
    /// The output as it was configured.
    pub shown: Value,
}

/// A log of the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogSource {
    /// The requests that have ended.
    Requests,
    /// The server's own log.
    Server,
}

#[derive(Deserialize)]
struct Order {
    writer: Writer,
    #[serde(default)]
    include: Vec<String>,
    #[serde(default)]
    exclude: Vec<String>,
}

#[derive(Deserialize)]
struct Writer {
    output: String,
    #[serde(default)]
    address: String,
}

impl LogSink {
    /// Parses the JSON of a request. `Err`: what is wrong with it.
    pub(super) fn parse(body: &[u8]) -> Result<Self, String> {
        let shown: Value = serde_json::from_slice(body).map_err(|error| error.to_string())?;
        let order: Order =
            serde_json::from_value(shown.clone()).map_err(|error| error.to_string())?;
        if order.writer.output != "net" {
            return Err(
                "only the output `net` is possible here: write `log` in the Caddyfile".into(),
            );
        }
        let address = order.writer.address.trim_start_matches("tcp/");
        let address: SocketAddr =
            (address.parse()).map_err(|_| format!("{address}: expected tcp/ADDRESS:PORT"))?;
        // Logs contain secrets, and this API needs no password.
        if !address.ip().is_loopback() {
            return Err(format!(
                "{address}: logs are sent to loopback addresses only"
            ));
        }
        let names = |list: &[String]| list.len() == 1 && list[0] == ACCESS;
        let source = match (&*order.include, &*order.exclude) {
            (include, []) if names(include) => LogSource::Requests,
            ([], exclude) if names(exclude) => LogSource::Server,
            _ => return Err(format!("expected `include` or `exclude` with {ACCESS}")),
        };
        Ok(Self {
            address,
            source,
            shown,
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn parse(order: &Value) -> Result<LogSink, String> {
        LogSink::parse(order.to_string().as_bytes())
    }

    #[test]
    fn orders_of_dashboards() {
        let writer = json!({"output": "net", "address": "tcp/127.0.0.1:9", "soft_start": true});
        let order = json!({"writer": writer, "encoder": {"format": "json"}, "include": [ACCESS]});
        let sink = parse(&order).expect("valid");
        assert_eq!((sink.source, sink.address.port()), (LogSource::Requests, 9));
        assert_eq!(sink.shown, order);
        let order = json!({"writer": writer, "exclude": [ACCESS]});
        assert_eq!(parse(&order).map(|sink| sink.source), Ok(LogSource::Server));
    }

    #[test]
    fn other_orders_are_refused() {
        let at = |address: &str| json!({"output": "net", "address": address});
        for wrong in [
            json!({}),
            json!({"writer": {"output": "file", "filename": "/etc/passwd"}, "include": [ACCESS]}),
            json!({"writer": at("tcp/192.0.2.1:80"), "include": [ACCESS]}),
            json!({"writer": at("tcp/localhost:80"), "include": [ACCESS]}),
            json!({"writer": at("unix//run/x"), "include": [ACCESS]}),
            json!({"writer": at("tcp/127.0.0.1:80")}),
            json!({"writer": at("tcp/127.0.0.1:80"), "include": ["tls"]}),
        ] {
            assert!(parse(&wrong).is_err(), "{wrong}");
        }
    }
}
