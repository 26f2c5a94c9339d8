//! What who runs a server has to do with: commands, reloads, users, logs, metrics.

mod activation;
mod admin;
mod command_line;
mod doctor;
mod lifecycle;
mod logs;
mod metrics;
mod metrics_tls;
mod privileges;
mod recycle;
mod reload;
mod reload_config;
mod reload_connections;
mod reload_pools;
mod tracing;
mod watch;
