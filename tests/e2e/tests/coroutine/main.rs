//! Several requests at a time in one worker.

mod cost;
mod example;
mod faults;
mod limits;
mod loops;
mod requests;
mod memory;
mod soak;
