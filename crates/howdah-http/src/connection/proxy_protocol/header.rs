//! Parses the PROXY header at the start of a connection, which names the client of a load balancer.
//! Pure.

use std::net::SocketAddr;

use proxy_header::{Error, ParseConfig, ProxyHeader};

/// Maximum length of a header. One of version 2 with addresses has 52 bytes, plus what load balancers add: certificates
/// are the longest.
pub(super) const LENGTH_MAX: usize = 4096;
/// Maximum length of a header of version 1.
const LINE_MAX: usize = 107;

const VERSION_1: &[u8] = b"PROXY ";
const VERSION_2: &[u8] = b"\r\n\r\n\0\r\nQUIT\n";

/// The start of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FirstBytes {
    /// No header, but the client's own bytes.
    Other,
    Header {
        length: usize,
        /// Client of the load balancer. `None`: the load balancer itself, or a client without an address.
        client: Option<SocketAddr>,
    },
}

/// Parses the first bytes; `None`: more are needed.
///
/// # Errors
/// If they are a malformed header, or one longer than [`LENGTH_MAX`].
pub(super) fn detect(bytes: &[u8]) -> Result<Option<FirstBytes>, Error> {
    let begins = |signature: &[u8]| bytes.starts_with(signature);
    if !begins(VERSION_1) && !begins(VERSION_2) {
        let may_become = VERSION_1.starts_with(bytes) || VERSION_2.starts_with(bytes);
        return Ok((!may_become).then_some(FirstBytes::Other));
    }
    let config = ParseConfig {
        include_tlvs: false,
        ..ParseConfig::default()
    };
    match ProxyHeader::parse(bytes, config) {
        // However the bytes are divided.
        Ok((_, length)) if begins(VERSION_1) && length > LINE_MAX => Err(Error::HeaderTooBig),
        Ok((header, length)) => Ok(Some(FirstBytes::Header {
            length,
            client: header.proxied_address().map(|address| address.source),
        })),
        Err(Error::BufferTooShort) if bytes.len() < LENGTH_MAX => Ok(None),
        Err(Error::BufferTooShort) => Err(Error::HeaderTooBig),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const V4: &[u8] =
        b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c\xc0\0\x02\x07\x0a\0\0\x01\x30\x39\x01\xbb";

    fn header(length: usize, client: &str) -> FirstBytes {
        FirstBytes::Header {
            length,
            client: (!client.is_empty()).then(|| client.parse().unwrap()),
        }
    }

    #[test]
    fn headers_of_both_versions_are_read() {
        for (bytes, expected) in [
            (
                &b"PROXY TCP4 192.0.2.7 10.0.0.1 12345 443\r\nGET /"[..],
                header(41, "192.0.2.7:12345"),
            ),
            (
                b"PROXY TCP6 2001:db8::7 ::1 1 2\r\n\x16\x03",
                header(32, "[2001:db8::7]:1"),
            ),
            (b"PROXY UNKNOWN\r\n", header(15, "")),
            (b"PROXY UNKNOWN ffff::1 ffff::2 1 2\r\n", header(35, "")),
            (V4, header(28, "192.0.2.7:12345")),
            // LOCAL: a health check by the load balancer.
            (b"\r\n\r\n\0\r\nQUIT\n\x20\0\0\0", header(16, "")),
            (b"GET / HTTP/1.1\r\n", FirstBytes::Other),
            (b"POST / HTTP/1.1\r\n", FirstBytes::Other),
            (b"PRI * HTTP/2.0\r\n", FirstBytes::Other),
            (b"\x16\x03\x01", FirstBytes::Other),
            (b"\r\nGET / HTTP/1.1", FirstBytes::Other),
        ] {
            assert_eq!(
                detect(bytes),
                Ok(Some(expected)),
                "{}",
                bytes.escape_ascii()
            );
        }
    }

    #[test]
    fn changes_of_a_header_are_its_own() {
        let mut bytes = V4.to_vec();
        bytes[15] += 8;
        bytes.extend_from_slice(b"\x02\0\x05a.b.cGET /");
        assert_eq!(detect(&bytes), Ok(Some(header(36, "192.0.2.7:12345"))));
    }

    #[test]
    fn parts_of_a_header_are_waited_for() {
        for whole in [
            V4,
            b"PROXY TCP4 192.0.2.7 10.0.0.1 12345 443\r\n",
            b"PROXY UNKNOWN\r\n",
        ] {
            for length in 0..whole.len() {
                assert_eq!(detect(&whole[..length]), Ok(None), "{length} of {whole:?}");
            }
        }
    }

    #[test]
    fn a_header_that_cannot_be_read_is_an_error() {
        let endless = [b"PROXY TCP4 ", &[b'1'; 200][..]].concat();
        let mut long = V4.to_vec();
        long[14] = 0xff;
        long.resize(LENGTH_MAX, 0);
        let mut version_3 = V4.to_vec();
        version_3[12] = 0x31;
        let line = format!("PROXY UNKNOWN {:100}\r\n", "");
        for bytes in [
            &b"PROXY TCP4 192.0.2.300 10.0.0.1 1 2\r\n"[..],
            line.as_bytes(),
            b"PROXY UDP4 192.0.2.7 10.0.0.1 1 2\r\n",
            &endless,
            &long,
            &version_3,
        ] {
            assert!(detect(bytes).is_err(), "{}", bytes.escape_ascii());
        }
    }
}
