//! Ports for servers that have to be told which.

use std::net::TcpListener;

/// Ports that were free a moment ago.
///
/// # Panics
/// If there are none.
pub fn free_ports<const N: usize>() -> [u16; N] {
    // All are held until the last is found, or one would be found twice.
    let listeners = [(); N].map(|()| TcpListener::bind("127.0.0.1:0").expect("a free port"));
    listeners.map(|listener| listener.local_addr().expect("it has one").port())
}
