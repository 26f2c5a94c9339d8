//! Ports for servers that need to be given one.

use std::net::{SocketAddr, TcpListener};

use socket2::{Domain, Socket, Type};

/// Ports that were free a moment ago.
///
/// # Panics
/// If there are none.
pub fn free_ports<const N: usize>() -> [u16; N] {
    // All are held until the last is found, or one would be found twice.
    let listeners = [(); N].map(|()| TcpListener::bind("127.0.0.1:0").expect("a free port"));
    listeners.map(|listener| listener.local_addr().expect("it has one").port())
}

/// A port without a listener, reserved while this exists.
#[derive(Debug)]
pub struct ClosedPort {
    address: SocketAddr,
    _bound: Socket,
}

impl ClosedPort {
    /// One on loopback.
    ///
    /// # Panics
    /// If there is none.
    pub fn new() -> Self {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
        let any = SocketAddr::from(([127, 0, 0, 1], 0));
        socket.bind(&any.into()).expect("a free port");
        let address = socket.local_addr().expect("it is bound");
        Self {
            address: address.as_socket().expect("an address of IPv4"),
            _bound: socket,
        }
    }

    /// Where a connection is refused.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Default for ClosedPort {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use std::io::ErrorKind;
    use std::net::TcpStream;

    use super::*;

    #[test]
    fn a_closed_port_refuses_and_stays_reserved() {
        let closed = ClosedPort::new();
        let refused = TcpStream::connect(closed.address()).expect_err("nobody listens");
        assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
        let taken = TcpListener::bind(closed.address()).expect_err("it is held");
        assert_eq!(taken.kind(), ErrorKind::AddrInUse);
    }
}
