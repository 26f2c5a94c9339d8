//! The server with handlers of the tests.

#[path = "../support/mod.rs"]
mod support;

mod abandoned;
mod access_log;
mod balance;
mod bodies;
mod caddyfile;
mod expressions;
mod fastcgi;
mod fastcgi_faults;
mod files;
mod forward_auth;
mod headers;
mod http2;
mod http3;
mod lists;
mod maps;
mod names;
mod protocol;
mod proxy;
mod proxy_faults;
mod proxy_http2;
mod proxy_kept;
mod proxy_protocol;
mod proxy_tls;
mod routes;
mod symlinks;
mod timeouts;
mod upgrades;
mod upstream_state;
mod workers;
