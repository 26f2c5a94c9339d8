//! Sockets that were there before the server: a service manager made them and hands them over.

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener, UdpSocket};

/// Sockets to be used in place of new ones where they have the address that is asked for.
#[derive(Debug, Default)]
pub struct Inherited(Vec<Given>);

#[derive(Debug)]
struct Given {
    name: String,
    address: SocketAddr,
    socket: Kind,
}

#[derive(Debug)]
enum Kind {
    Tcp(TcpListener),
    Udp(UdpSocket),
}

impl Inherited {
    /// Adds a listening TCP socket. `name` is what messages call it.
    pub fn add_tcp(&mut self, name: impl Into<String>, socket: TcpListener) -> io::Result<()> {
        let address = socket.local_addr()?;
        self.add(name.into(), address, Kind::Tcp(socket));
        Ok(())
    }

    /// Adds a bound UDP socket, for HTTP/3. `name` is what messages call it.
    pub fn add_udp(&mut self, name: impl Into<String>, socket: UdpSocket) -> io::Result<()> {
        let address = socket.local_addr()?;
        self.add(name.into(), address, Kind::Udp(socket));
        Ok(())
    }

    fn add(&mut self, name: String, address: SocketAddr, socket: Kind) {
        self.0.push(Given {
            name,
            address,
            socket,
        });
    }

    /// Those that nobody took.
    pub fn left(&self) -> impl Iterator<Item = impl fmt::Display> {
        self.0.iter()
    }

    /// The TCP socket with this address; without an IP the one for all addresses.
    pub(crate) fn take_tcp(&mut self, ip: Option<IpAddr>, port: u16) -> Option<TcpListener> {
        let fits = |given: &Given| {
            let own = given.address.ip();
            let same_ip = ip.map_or(own.is_unspecified(), |ip| ip == own);
            matches!(given.socket, Kind::Tcp(_)) && given.address.port() == port && same_ip
        };
        let at = self.0.iter().position(fits)?;
        match self.0.remove(at).socket {
            Kind::Tcp(socket) => Some(socket),
            Kind::Udp(_) => None,
        }
    }

    /// The UDP socket with this address.
    pub(crate) fn take_udp(&mut self, address: SocketAddr) -> Option<UdpSocket> {
        let fits = |given: &Given| matches!(given.socket, Kind::Udp(_)) && given.address == address;
        let at = self.0.iter().position(fits)?;
        match self.0.remove(at).socket {
            Kind::Udp(socket) => Some(socket),
            Kind::Tcp(_) => None,
        }
    }
}

impl fmt::Display for Given {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let protocol = match self.socket {
            Kind::Tcp(_) => "tcp",
            Kind::Udp(_) => "udp",
        };
        write!(f, "{} ({}/{protocol})", self.name, self.address)
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    #[test]
    fn sockets_are_found_by_address_and_protocol() {
        let tcp = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = tcp.local_addr().expect("bound");
        let all = TcpListener::bind("0.0.0.0:0").expect("a free port");
        let all_port = all.local_addr().expect("bound").port();
        let udp = UdpSocket::bind(address).expect("the same port of another protocol");
        let mut given = Inherited::default();
        given.add_tcp("web", tcp).expect("added");
        given.add_tcp("all", all).expect("added");
        given.add_udp("quic", udp).expect("added");

        let loopback = IpAddr::from(Ipv4Addr::LOCALHOST);
        assert!(given.take_tcp(None, address.port()).is_none());
        assert!(given.take_tcp(Some(loopback), all_port).is_none());
        let found = given.take_tcp(Some(loopback), address.port());
        assert_eq!(
            found.map(|socket| socket.local_addr().expect("bound")),
            Some(address)
        );
        assert!(given.take_tcp(Some(loopback), address.port()).is_none());
        assert!(given.take_tcp(None, all_port).is_some());
        let left: Vec<_> = given.left().map(|given| given.to_string()).collect();
        assert_eq!(left, [format!("quic ({address}/udp)")]);
        assert!(given.take_udp(address).is_some());
        assert_eq!(given.left().count(), 0);
    }
}
