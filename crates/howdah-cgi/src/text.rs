//! Addresses and numbers as text, without an allocation.

use std::fmt::{self, Write};
use std::net::IpAddr;

/// A short text on the stack.
pub(crate) struct Text {
    bytes: [u8; Self::CAPACITY],
    size: usize,
}

impl Text {
    /// The longest IPv6 address has 45 bytes, the largest number 20.
    const CAPACITY: usize = 46;

    /// An address; IPv4 if it is one mapped into IPv6.
    pub(crate) fn address(address: IpAddr) -> Self {
        let mut text = Self {
            bytes: [0; Self::CAPACITY],
            size: 0,
        };
        match address.to_canonical() {
            IpAddr::V4(v4) => {
                for (i, octet) in v4.octets().into_iter().enumerate() {
                    if i > 0 {
                        text.push(b'.');
                    }
                    if octet >= 100 {
                        text.push(b'0' + octet / 100);
                    }
                    if octet >= 10 {
                        text.push(b'0' + octet / 10 % 10);
                    }
                    text.push(b'0' + octet % 10);
                }
            }
            IpAddr::V6(v6) => {
                // `write_str` below is the only source of errors, for a text beyond the capacity.
                let written = write!(text, "{v6}");
                debug_assert!(written.is_ok(), "an IPv6 address has at most 45 bytes");
            }
        }
        text
    }

    /// A decimal number.
    pub(crate) fn number(mut number: u64) -> Self {
        let mut digits = [0; 20];
        let mut at = digits.len();
        loop {
            at -= 1;
            digits[at] = b'0' + (number % 10) as u8;
            number /= 10;
            if number == 0 {
                break;
            }
        }
        let mut text = Self {
            bytes: [0; Self::CAPACITY],
            size: digits.len() - at,
        };
        text.bytes[..text.size].copy_from_slice(&digits[at..]);
        text
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.size]
    }

    fn push(&mut self, byte: u8) {
        self.bytes[self.size] = byte;
        self.size += 1;
    }
}

impl Write for Text {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        let end = self.size + part.len();
        self.bytes
            .get_mut(self.size..end)
            .ok_or(fmt::Error)?
            .copy_from_slice(part.as_bytes());
        self.size = end;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, Ipv6Addr};

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn mapped_addresses_are_ipv4() {
        let mapped = IpAddr::V6(Ipv4Addr::new(10, 0, 200, 99).to_ipv6_mapped());
        assert_eq!(Text::address(mapped).as_bytes(), b"10.0.200.99");
    }

    #[test]
    fn the_longest_values_fit() {
        let longest = IpAddr::V6(Ipv6Addr::from([0xff; 16]));
        assert_eq!(
            Text::address(longest).as_bytes(),
            longest.to_string().as_bytes()
        );
        assert_eq!(
            Text::number(u64::MAX).as_bytes(),
            u64::MAX.to_string().as_bytes()
        );
        assert_eq!(Text::number(0).as_bytes(), b"0");
    }

    proptest! {
        #[test]
        fn as_the_standard_library_writes_them(number: u64, v4: Ipv4Addr, v6: Ipv6Addr) {
            let text = |text: Text| String::from_utf8_lossy(text.as_bytes()).into_owned();
            prop_assert_eq!(text(Text::number(number)), number.to_string());
            prop_assert_eq!(text(Text::address(v4.into())), v4.to_string());
            prop_assert_eq!(text(Text::address(v6.into())), IpAddr::V6(v6).to_canonical().to_string());
        }
    }
}
