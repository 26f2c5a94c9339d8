//! The environment of scripts, and failures of scripts and of their processes.

mod conformance;
mod crash_reports;
mod crashes;
mod errors;
mod faults;
mod isolation;
mod nginx;
mod nginx_connections;
mod php_cli;
mod phpt;
mod sessions;
mod superglobals;
