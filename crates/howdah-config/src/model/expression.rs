//! Parts of the model: regular expressions, address ranges and expressions of matchers.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use super::matcher::Matcher;
use super::placeholder::Template;

/// A valid regular expression whose groups become placeholders: `{re.NAME.1}`, and `{re.1}` for the last one that
/// matched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Regexp {
    /// `NAME`; by default that of the matcher that contains it.
    pub name: String,
    /// The expression in the syntax of the crate `regex`.
    pub pattern: String,
}

/// `protocol`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// `http`: without TLS.
    Http,
    /// `https`: with TLS.
    Https,
    /// `grpc`: the content type is that of gRPC.
    Grpc,
    /// `http/N` and `http/N+`.
    Version {
        /// The major and minor number.
        number: (u8, u8),
        /// `+`: later versions too.
        or_later: bool,
    },
}

/// A range of IP addresses. IPv4 addresses mapped into IPv6 are IPv4 addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Network {
    address: IpAddr,
    prefix: u8,
}

impl Network {
    /// Whether the address is in the range.
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        match (self.address, address.to_canonical()) {
            (IpAddr::V4(network), IpAddr::V4(address)) => {
                let differing = network.to_bits() ^ address.to_bits();
                differing
                    .checked_shr(32 - u32::from(self.prefix))
                    .unwrap_or(0)
                    == 0
            }
            (IpAddr::V6(network), IpAddr::V6(address)) => {
                let differing = network.to_bits() ^ address.to_bits();
                differing
                    .checked_shr(128 - u32::from(self.prefix))
                    .unwrap_or(0)
                    == 0
            }
            _ => false,
        }
    }

    /// Bits of its prefix as an IPv6 network, in which IPv4 addresses are mapped: the narrower of two has more.
    #[must_use]
    pub fn ipv6_prefix(&self) -> u8 {
        match self.address {
            IpAddr::V4(_) => 96 + self.prefix,
            IpAddr::V6(_) => self.prefix,
        }
    }

    /// The meaning of `private_ranges`, as in Caddy.
    #[must_use]
    pub fn private_ranges() -> Vec<Self> {
        const RANGES: [&str; 6] = [
            "192.168.0.0/16",
            "172.16.0.0/12",
            "10.0.0.0/8",
            "127.0.0.1/8",
            "fd00::/8",
            "::1",
        ];
        RANGES
            .iter()
            .filter_map(|range| range.parse().ok())
            .collect()
    }
}

/// It is neither an address nor `ADDRESS/BITS`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("neither an IP address nor `ADDRESS/BITS`")]
pub struct NetworkError;

impl FromStr for Network {
    type Err = NetworkError;

    fn from_str(text: &str) -> Result<Self, NetworkError> {
        let (address, prefix) = match text.split_once('/') {
            None => (text, None),
            Some((address, prefix)) => (address, Some(prefix)),
        };
        let address: IpAddr = address.parse().map_err(|_| NetworkError)?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        let prefix = match prefix {
            None => most,
            Some(text) if text.bytes().all(|byte| byte.is_ascii_digit()) => {
                text.parse().map_err(|_| NetworkError)?
            }
            Some(_) => return Err(NetworkError),
        };
        if prefix > most {
            return Err(NetworkError);
        }
        Ok(Self { address, prefix })
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.prefix)
    }
}

/// `expression`: a subset of CEL.
#[derive(Debug, Clone, PartialEq)]
pub enum Expression {
    /// `a || b`.
    Any(Vec<Expression>),
    /// `a && b`.
    All(Vec<Expression>),
    /// `!a`.
    Not(Box<Expression>),
    /// `path('/a')` and the other matchers.
    Matcher(Box<Matcher>),
    /// `a == b` and other comparisons.
    Compare(Operand, Comparison, Operand),
    /// `a in [b, c]`.
    In(Operand, Operand),
    /// `a.startsWith(b)` and similar tests.
    Test(Operand, TextTest, Operand),
    /// `a.matches('REGEXP')`.
    Matches(Operand, String),
    /// `true`, `false`, or a text that is compared with `true`.
    Truth(Operand),
}

/// A value in an expression.
#[derive(Debug, Clone, PartialEq)]
#[expect(missing_docs, reason = "the names are the documentation")]
pub enum Operand {
    /// A text, or a placeholder.
    Text(Template),
    Integer(i64),
    Decimal(f64),
    /// `true` or `false`.
    Bool(bool),
    /// `[a, b]`.
    List(Vec<Operand>),
    /// The result of a condition in parentheses.
    Condition(Box<Expression>),
    /// `condition ? a : b`.
    Choice(Box<(Expression, Operand, Operand)>),
    /// `size(a)`, `a.trim()`, `a + b`, `a[0]`.
    Call(Function, Vec<Operand>),
}

/// Functions and operators of values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are the documentation")]
pub enum Function {
    /// Characters of a text, or values of a list.
    Size,
    Int,
    Double,
    /// `string()`.
    Text,
    Bool,
    LowerAscii,
    UpperAscii,
    Trim,
    Reverse,
    CharAt,
    IndexOf,
    LastIndexOf,
    Replace,
    Substring,
    Split,
    Join,
    /// `a[0]`.
    Item,
    /// `a + b`, also of texts and lists.
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
    Negate,
}

/// How two values are compared. A text that is compared with a number is converted to a number if
/// possible.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are the documentation")]
pub enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// Condition of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are the documentation")]
pub enum TextTest {
    StartsWith,
    EndsWith,
    Contains,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks() {
        for (network, address, expected) in [
            ("10.0.0.0/8", "10.255.0.1", true),
            ("10.0.0.0/8", "11.0.0.1", false),
            ("10.1.2.3", "10.1.2.3", true),
            ("10.1.2.3", "10.1.2.4", false),
            ("0.0.0.0/0", "8.8.8.8", true),
            ("0.0.0.0/0", "::1", false),
            ("::/0", "fe80::1", true),
            ("fd00::/8", "fd12::1", true),
            ("fd00::/8", "fe12::1", false),
            ("::1", "::1", true),
            ("127.0.0.1/8", "::ffff:127.0.0.9", true),
        ] {
            let parsed: Network = network.parse().unwrap();
            let address = address.parse().unwrap();
            assert_eq!(parsed.contains(address), expected, "{network} {address}");
        }
        for wrong in [
            "",
            "a",
            "1.2.3",
            "1.2.3.4/33",
            "::1/129",
            "1.2.3.4/",
            "1.2.3.4/+8",
        ] {
            assert!(wrong.parse::<Network>().is_err(), "{wrong}");
        }
        assert_eq!(Network::private_ranges().len(), 6);
    }
}
