//! Stops threads that run until a flag is set.

use std::sync::atomic::{AtomicBool, Ordering};

/// Sets a flag when it is dropped, and therefore also when its test panics. Otherwise the threads
/// of a scope would wait for the flag forever, the scope would wait for the threads, and the
/// failure would not be reported.
#[derive(Debug)]
pub struct EndOnDrop<'a>(pub &'a AtomicBool);

impl Drop for EndOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
