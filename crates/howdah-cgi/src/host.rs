//! The host of a request, if it is valid.

use std::net::Ipv6Addr;

/// A host and its port, as in `Host: example.com:8080` or in the authority of an absolute target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Host<'a> {
    /// Name or address; an IPv6 address in its brackets, as in a URL.
    pub name: &'a str,
    /// The port, if given.
    pub port: Option<u16>,
}

impl<'a> Host<'a> {
    /// Parses `name`, `name:`, `name:port`, `[ipv6]` or `[ipv6]:port`. `None` for everything that is not a host: user
    /// names, spaces, quotes, slashes, `..`, invalid ports. A server should respond to those with 400.
    ///
    /// Stricter than RFC 3986, which allows quotes, parentheses and percent escapes: applications
    /// print this value into pages, and no host in DNS has them.
    pub fn parse(text: &'a str) -> Option<Self> {
        let (name, rest) = if text.starts_with('[') {
            let end = text.find(']')?;
            text[1..end].parse::<Ipv6Addr>().ok()?;
            text.split_at(end + 1)
        } else {
            let (name, rest) = text.split_at(text.find(':').unwrap_or(text.len()));
            if !is_name(name.as_bytes()) {
                return None;
            }
            (name, rest)
        };
        let port = match rest.strip_prefix(':') {
            None if rest.is_empty() => None,
            Some("") => None,
            Some(digits) if digits.bytes().all(|b| b.is_ascii_digit()) => {
                Some(digits.parse().ok()?)
            }
            _ => return None,
        };
        Some(Self { name, port })
    }
}

/// Whether this is a name or an IPv4 address: no empty label except one at the end.
fn is_name(name: &[u8]) -> bool {
    let mut previous = b'.';
    for byte in name {
        let valid = match byte {
            b'.' => previous != b'.',
            b'-' | b'_' => true,
            _ => byte.is_ascii_alphanumeric(),
        };
        if !valid {
            return false;
        }
        previous = *byte;
    }
    !name.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts() {
        let cases: &[(&str, &str, Option<u16>)] = &[
            ("example.com", "example.com", None),
            ("example.com.", "example.com.", None),
            ("Example.COM:8080", "Example.COM", Some(8080)),
            ("example.com:", "example.com", None),
            ("localhost:0", "localhost", Some(0)),
            ("127.0.0.1:65535", "127.0.0.1", Some(65535)),
            ("my_app-1.test:00080", "my_app-1.test", Some(80)),
            ("[::1]", "[::1]", None),
            ("[::1]:9000", "[::1]", Some(9000)),
            ("[::ffff:10.0.0.1]:80", "[::ffff:10.0.0.1]", Some(80)),
            ("xn--bcher-kva.example", "xn--bcher-kva.example", None),
        ];
        for (text, name, port) in cases {
            assert_eq!(
                Host::parse(text),
                Some(Host { name, port: *port }),
                "{text}"
            );
        }
    }

    #[test]
    fn invalid_hosts() {
        for text in [
            "",
            ":80",
            ".",
            "..",
            "a..b",
            "../../etc",
            ".example",
            "a b",
            "a/b",
            "a\\b",
            "a@b",
            "a?b",
            "a#b",
            "example.com:80:80",
            "example.com:+80",
            "example.com:-1",
            "example.com:65536",
            "example.com:8o",
            "example.com: 80",
            "<script>",
            "a\"b",
            "a'b",
            "a;b",
            "a,b",
            "a%20b",
            "bücher.example",
            "a\u{0}b",
            "::1",
            "[::1",
            "[]",
            "[::1]80",
            "[::1]:x",
            "[g::]",
            "[::1%25eth0]",
            "[127.0.0.1]",
            "[::1]]",
            "a\tb",
        ] {
            assert_eq!(Host::parse(text), None, "{text:?}");
        }
    }
}
