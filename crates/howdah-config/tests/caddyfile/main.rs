//! Caddyfiles as their writers have them: what is made of them, and what is said of their errors.

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
