//! The socket of a connection to an upstream: its own address, and the PROXY header that names the client.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use howdah_config::model::ProxyHeaderVersion;
use proxy_header::{ProxiedAddress, ProxyHeader};
use tokio::net::{TcpSocket, TcpStream, lookup_host};

/// What precedes the client's address in the host of a URI, by which the connector finds an upstream.
const CLIENT: char = '.';

/// The host of a URI for connections that name this client.
pub(crate) fn encode_client(host: &str, client: IpAddr) -> String {
    format!("{host}{CLIENT}{}", client.to_string().replace(':', "_"))
}

/// Splits [`encode_client`]. A health check has no client.
pub(super) fn split_client(host: &str) -> (&str, Option<IpAddr>) {
    match host.split_once(CLIENT) {
        None => (host, None),
        Some((host, client)) => (host, client.replace('_', ":").parse().ok()),
    }
}

/// The PROXY header for a client. As in Caddy its port and the address that it connected to are zero.
pub(super) fn proxy_header(
    version: ProxyHeaderVersion,
    client: Option<IpAddr>,
) -> io::Result<Vec<u8>> {
    let header = match client {
        None => ProxyHeader::with_local(),
        Some(client) => {
            let unspecified: IpAddr = match client {
                IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
                IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
            };
            let address = |ip| SocketAddr::new(ip, 0);
            let proxied = ProxiedAddress::stream(address(client), address(unspecified));
            ProxyHeader::with_address(proxied)
        }
    };
    let mut bytes = Vec::new();
    let encoded = match version {
        ProxyHeaderVersion::V1 => header.encode_v1(&mut bytes),
        ProxyHeaderVersion::V2 => header.encode_v2(&mut bytes),
    };
    encoded.map_err(io::Error::other)?;
    Ok(bytes)
}

/// Connects from this address of the machine, to the first address of the same family that accepts.
pub(super) async fn connect_from(local: IpAddr, host: &str, port: u16) -> io::Result<TcpStream> {
    let mut last = io::Error::new(
        io::ErrorKind::AddrNotAvailable,
        "the upstream has no address of the family of `local_address`",
    );
    for address in lookup_host((host, port)).await? {
        let socket = match (local, address) {
            (IpAddr::V4(_), SocketAddr::V4(_)) => TcpSocket::new_v4()?,
            (IpAddr::V6(_), SocketAddr::V6(_)) => TcpSocket::new_v6()?,
            _ => continue,
        };
        socket.bind(SocketAddr::new(local, 0))?;
        match socket.connect(address).await {
            Ok(stream) => return Ok(stream),
            Err(error) => last = error,
        }
    }
    Err(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_has_the_client() {
        for ip in ["192.0.2.7", "2001:db8::7", "::ffff:192.0.2.7"] {
            let client: IpAddr = ip.parse().unwrap();
            let host = encode_client("u3", client);
            let uri: http::Uri = format!("http://{host}/").parse().unwrap();
            assert_eq!(split_client(uri.host().unwrap()), ("u3", Some(client)));
        }
        assert_eq!(split_client("h3"), ("h3", None));
    }

    #[test]
    fn headers_name_the_client() {
        let header = |version, ip: Option<&str>| {
            proxy_header(version, ip.map(|ip| ip.parse().unwrap())).unwrap()
        };
        assert_eq!(
            header(ProxyHeaderVersion::V1, Some("192.0.2.7")),
            b"PROXY TCP4 192.0.2.7 0.0.0.0 0 0\r\n"
        );
        assert_eq!(
            header(ProxyHeaderVersion::V1, Some("2001:db8::7")),
            b"PROXY TCP6 2001:db8::7 :: 0 0\r\n"
        );
        assert_eq!(header(ProxyHeaderVersion::V1, None), b"PROXY UNKNOWN\r\n");
        let signature = b"\r\n\r\n\0\r\nQUIT\n";
        let binary = header(ProxyHeaderVersion::V2, Some("192.0.2.7"));
        assert_eq!(
            binary,
            [
                &signature[..],
                b"\x21\x11\0\x0c\xc0\0\x02\x07\0\0\0\0\0\0\0\0"
            ]
            .concat()
        );
        assert_eq!(
            header(ProxyHeaderVersion::V2, None)[..13],
            [&signature[..], b"\x20"].concat()
        );
    }
}
