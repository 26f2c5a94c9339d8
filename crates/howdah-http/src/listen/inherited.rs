//! Sockets that existed before the server: a service manager has created them and hands them over.

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener, UdpSocket};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

/// Inherited sockets, which replace new ones with the same address.
#[derive(Debug, Default)]
pub struct InheritedSockets(Vec<InheritedSocket>);

#[derive(Debug)]
struct InheritedSocket {
    name: String,
    socket: Kind,
}

/// Sockets with their addresses.
#[derive(Debug)]
enum Kind {
    Tcp(SocketAddr, TcpListener),
    Udp(SocketAddr, UdpSocket),
    /// `None`: an abstract socket or one without a path.
    Unix(Option<PathBuf>, UnixListener),
}

impl InheritedSockets {
    /// Adds a listening TCP socket. `name` is its name in messages.
    pub fn add_tcp(&mut self, name: impl Into<String>, socket: TcpListener) -> io::Result<()> {
        let address = socket.local_addr()?;
        self.add(name.into(), Kind::Tcp(address, socket));
        Ok(())
    }

    /// Adds a bound UDP socket, for HTTP/3. `name` is its name in messages.
    pub fn add_udp(&mut self, name: impl Into<String>, socket: UdpSocket) -> io::Result<()> {
        let address = socket.local_addr()?;
        self.add(name.into(), Kind::Udp(address, socket));
        Ok(())
    }

    /// Adds a listening Unix socket. `name` is its name in messages.
    pub fn add_unix(&mut self, name: impl Into<String>, socket: UnixListener) -> io::Result<()> {
        let path = socket.local_addr()?.as_pathname().map(Path::to_owned);
        self.add(name.into(), Kind::Unix(path, socket));
        Ok(())
    }

    fn add(&mut self, name: String, socket: Kind) {
        self.0.push(InheritedSocket { name, socket });
    }

    /// Sockets that no address uses.
    pub fn unused(&self) -> impl Iterator<Item = impl fmt::Display> {
        self.0.iter()
    }

    /// The TCP socket with this address; without an IP the one for all addresses.
    pub(crate) fn take_tcp(&mut self, ip: Option<IpAddr>, port: u16) -> Option<TcpListener> {
        let fits = |own: &SocketAddr| {
            own.port() == port && ip.map_or(own.ip().is_unspecified(), |ip| ip == own.ip())
        };
        match self.take(|socket| matches!(socket, Kind::Tcp(own, _) if fits(own)))? {
            Kind::Tcp(_, socket) => Some(socket),
            _ => None,
        }
    }

    /// Removes the UDP socket with this address, which then belongs to the caller.
    pub(crate) fn take_udp(&mut self, address: SocketAddr) -> Option<UdpSocket> {
        match self.take(|socket| matches!(socket, Kind::Udp(own, _) if *own == address))? {
            Kind::Udp(_, socket) => Some(socket),
            _ => None,
        }
    }

    /// Removes the Unix socket at this path, which then belongs to the caller.
    pub fn take_unix(&mut self, path: &Path) -> Option<UnixListener> {
        match self.take(|socket| matches!(socket, Kind::Unix(Some(own), _) if own == path))? {
            Kind::Unix(_, socket) => Some(socket),
            _ => None,
        }
    }

    fn take(&mut self, fits: impl Fn(&Kind) -> bool) -> Option<Kind> {
        let at = self.0.iter().position(|given| fits(&given.socket))?;
        Some(self.0.remove(at).socket)
    }
}

impl fmt::Display for InheritedSocket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = &self.name;
        match &self.socket {
            Kind::Tcp(address, _) => write!(f, "{name} ({address}/tcp)"),
            Kind::Udp(address, _) => write!(f, "{name} ({address}/udp)"),
            Kind::Unix(Some(path), _) => write!(f, "{name} (unix/{})", path.display()),
            Kind::Unix(None, _) => write!(f, "{name} (a Unix socket without a path)"),
        }
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
        let mut given = InheritedSockets::default();
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
        let left: Vec<_> = given.unused().map(|given| given.to_string()).collect();
        assert_eq!(left, [format!("quic ({address}/udp)")]);
        assert!(given.take_udp(address).is_some());
        assert_eq!(given.unused().count(), 0);
    }

    #[test]
    fn unix_sockets_are_found_by_path() {
        let directory = tempfile::tempdir().expect("a directory");
        let (path, other) = (directory.path().join("a"), directory.path().join("b"));
        let mut given = InheritedSockets::default();
        let socket = UnixListener::bind(&path).expect("bound");
        given.add_unix("web", socket).expect("added");
        assert!(given.take_unix(&other).is_none());
        assert!(given.take_tcp(None, 80).is_none());
        let left: Vec<_> = given.unused().map(|given| given.to_string()).collect();
        assert_eq!(left, [format!("web (unix/{})", path.display())]);
        assert!(given.take_unix(&path).is_some());
        assert!(given.take_unix(&path).is_none());
    }
}
