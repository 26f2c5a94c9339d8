//! Several concurrent requests in one worker.

mod cost;
mod example;
mod fallback;
mod faults;
mod limits;
mod loops;
mod memory;
mod requests;
mod soak;
