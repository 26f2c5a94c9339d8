//! Load balancers that send the client address by the PROXY protocol.

use std::time::Duration;

use crate::support::{Client, Harness, php_site};
use howdah_config::model::{Network, ProxyPolicy, ProxyProtocol};
use tempfile::TempDir;

const REQUEST: &[u8] = b"GET /echo.php HTTP/1.1\r\nHost: a\r\n\r\n";
const VERSION_1: &[u8] = b"PROXY TCP4 192.0.2.7 10.0.0.1 12345 80\r\n";
/// The same header in binary form, with a server name that the client requested.
const VERSION_2: &[u8] =
    b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x12\xc0\0\x02\x07\x0a\0\0\x01\x30\x39\0\x50\x02\0\x03a.b";
const LOCAL: &[u8] = b"\r\n\r\n\0\r\nQUIT\n\x20\0\0\0";
const CLIENT: &str = "192.0.2.7:12345";

/// A server whose load balancers connect from these ranges.
fn serve(allow: &str, deny: &str, fallback: ProxyPolicy, timeout: Duration) -> (TempDir, Harness) {
    let directory = tempfile::tempdir().unwrap();
    let mut config = php_site(directory.path());
    let ranges = |text: &str| -> Vec<Network> {
        text.split_terminator(',')
            .map(|range| range.parse().unwrap())
            .collect()
    };
    config.global.limits.proxy_protocol = Some(ProxyProtocol {
        timeout,
        allow: ranges(allow),
        deny: ranges(deny),
        fallback,
    });
    let harness = Harness::start(&config);
    (directory, harness)
}

fn with(fallback: ProxyPolicy) -> (TempDir, Harness) {
    serve("", "", fallback, Duration::from_secs(60))
}

/// The client address that the application gets if the connection starts with these bytes.
fn client_address(client: &mut Client, first: &[u8]) -> String {
    client.write(&[first, REQUEST].concat());
    client.reply(true).value("remote").to_owned()
}

#[test]
fn the_client_address_comes_from_an_allowed_load_balancer() {
    let (_directory, harness) = serve(
        "127.0.0.0/8",
        "",
        ProxyPolicy::Reject,
        Duration::from_secs(60),
    );
    for header in [VERSION_1, VERSION_2] {
        let mut client = harness.connect();
        assert_eq!(client_address(&mut client, header), CLIENT);
        // One header applies to all requests of the connection.
        assert_eq!(client_address(&mut client, b""), CLIENT);
    }
    // A health check of the balancer, an unknown address, and a connection without a header.
    for header in [LOCAL, b"PROXY UNKNOWN\r\n", b""] {
        let remote = client_address(&mut harness.connect(), header);
        assert!(remote.starts_with("127.0.0.1:"), "{remote}");
    }
}

#[test]
fn headers_come_in_any_parts() {
    let (_directory, harness) = with(ProxyPolicy::Use);
    for header in [VERSION_1, VERSION_2] {
        let mut client = harness.connect();
        for byte in header {
            client.write(&[*byte]);
        }
        assert_eq!(client_address(&mut client, b""), CLIENT);
    }
    // A method that starts like a header.
    let mut client = harness.connect();
    for byte in b"PUT /echo.php HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n" {
        client.write(&[*byte]);
    }
    assert_eq!(client.reply(true).value("method"), "PUT");
}

#[test]
fn no_other_peer_is_trusted() {
    let (_directory, harness) = with(ProxyPolicy::Ignore);
    for header in [VERSION_1, VERSION_2, b""] {
        let remote = client_address(&mut harness.connect(), header);
        assert!(remote.starts_with("127.0.0.1:"), "{remote}");
    }
    // Without the option, a header is a bad request.
    let (_directory, harness) = with(ProxyPolicy::Skip);
    let mut client = harness.connect();
    client.write(&[VERSION_1, REQUEST].concat());
    assert_eq!(client.reply(true).status, 400);
}

#[test]
fn connections_are_closed_by_their_headers() {
    let closed = |harness: &Harness, first: &[u8]| {
        let mut client = harness.connect();
        client.write(&[first, REQUEST].concat());
        client.is_closed()
    };
    let (_directory, harness) = with(ProxyPolicy::Reject);
    assert!(closed(&harness, VERSION_1));
    assert!(client_address(&mut harness.connect(), b"").starts_with("127.0.0.1:"));
    let (_directory, harness) = with(ProxyPolicy::Require);
    assert!(closed(&harness, b""));
    assert_eq!(client_address(&mut harness.connect(), VERSION_2), CLIENT);
    assert!(closed(&harness, b"PROXY TCP4 192.0.2.300 10.0.0.1 1 2\r\n"));
    let (_directory, harness) = serve(
        "127.0.0.0/8",
        "127.0.0.1",
        ProxyPolicy::Use,
        Duration::from_secs(60),
    );
    assert!(closed(&harness, VERSION_1));
}

#[test]
fn half_a_header_is_not_waited_for_without_end() {
    let (_directory, harness) = serve("", "", ProxyPolicy::Use, Duration::from_millis(50));
    let mut client = harness.connect();
    client.write(&VERSION_2[..20]);
    assert!(client.is_closed());
    let (_directory, harness) = with(ProxyPolicy::Use);
    let mut client = harness.connect();
    client.write(&VERSION_1[..20]);
    client.end();
    assert!(client.is_closed());
    assert_eq!(client_address(&mut harness.connect(), VERSION_1), CLIENT);
}
