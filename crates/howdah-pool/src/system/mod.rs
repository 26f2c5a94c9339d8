//! Functions of the operating system: timers, clocks, readiness of descriptors, scheduling, signals.

pub(crate) mod alarm;
pub(crate) mod clock;
pub(crate) mod process_activity;
pub(crate) mod readiness;
pub(crate) mod schedstat;
pub(crate) mod scheduling;
pub(crate) mod signal;
