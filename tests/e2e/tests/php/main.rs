//! What scripts find and do, and what happens when they or their processes fail.

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
