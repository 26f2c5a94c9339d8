//! Ports for servers that cannot choose one themselves.

use std::net::{SocketAddr, TcpListener};

use socket2::{Domain, Socket, Type};

/// Returns ports that were free at the time of the call.
///
/// # Panics
/// Panics if no port is free.
pub fn free_ports<const N: usize>() -> [u16; N] {
    // All listeners stay open until the last port is found. Otherwise a port could be found twice.
    let listeners = [(); N].map(|()| TcpListener::bind("127.0.0.1:0").expect("a free port"));
    listeners.map(|listener| listener.local_addr().expect("it has one").port())
}

/// A port without a listener. It is reserved as long as this value exists.
#[derive(Debug)]
pub struct ClosedPort {
    address: SocketAddr,
    _bound: Socket,
}

impl ClosedPort {
    /// Reserves a port on the loopback address.
    ///
    /// # Panics
    /// Panics if no port is free.
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

    /// Address that refuses connections.
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
