//! Caddyfiles as users write them: the parsed configuration, and the error messages.

mod blocks;
mod common;
mod directives;
mod errors;
mod errors_routes;
mod files;
mod format;
mod hot_reload;
mod https;
mod limits;
mod logs;
mod observe;
mod others;
mod pages;
mod pools;
mod preload;
mod privileges;
mod projects;
mod properties;
mod proxies;
mod real_files;
mod routes;
mod workers;
