//! The end of threads that go on until a flag is set.

use std::sync::atomic::{AtomicBool, Ordering};

/// Sets a flag when it is dropped, so also when its test panics. Without it, the threads of a scope that wait for the
/// flag would go on, and the scope with them, instead of reporting the failure.
#[derive(Debug)]
pub struct EndOnDrop<'a>(pub &'a AtomicBool);

impl Drop for EndOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
