//! Worker mode: scripts that are booted once.

mod boot;
mod codeigniter;
mod codeigniter_package;
mod codeigniter_stores;
mod corruption;
mod endings;
mod faults;
mod half_way;
mod huge_pages;
mod leaks;
mod limits;
mod load;
mod load_memory;
mod octane_package;
mod psr;
mod psr15;
mod psr7_worker;
mod requests;
mod roadrunner;
mod routes;
mod scaling;
mod sessions;
mod spare;
mod state;
mod stubs;
mod symfony;
