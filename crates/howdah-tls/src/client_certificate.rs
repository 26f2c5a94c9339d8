//! Contents of a client's certificate, for requests. It was verified when the connection was opened.

use std::fmt::Write;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use pem::{EncodeConfig, LineEnding, Pem};
use rustls::pki_types::CertificateDer;
use x509_parser::x509::{AttributeTypeAndValue, X509Name};

/// Names of attributes, RFC 4514 and those that OpenSSL and Go know; others are written as numbers.
const NAMES: [(&str, &str); 12] = [
    ("2.5.4.3", "CN"),
    ("2.5.4.5", "SERIALNUMBER"),
    ("2.5.4.6", "C"),
    ("2.5.4.7", "L"),
    ("2.5.4.8", "ST"),
    ("2.5.4.9", "STREET"),
    ("2.5.4.10", "O"),
    ("2.5.4.11", "OU"),
    ("2.5.4.17", "POSTALCODE"),
    ("0.9.2342.19200300.100.1.1", "UID"),
    ("0.9.2342.19200300.100.1.25", "DC"),
    ("1.2.840.113549.1.9.1", "emailAddress"),
];

/// A verified certificate of a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientCertificate {
    /// Its subject, in the form of RFC 4514: `CN=member,O=Club`.
    pub subject: String,
    /// Its issuer, in the same form.
    pub issuer: String,
    /// The serial number in hexadecimal, in capitals and whole bytes.
    pub serial: String,
    /// The serial number in decimal.
    pub serial_decimal: String,
    der: Vec<u8>,
}

impl ClientCertificate {
    /// The first certificate of a chain; `None` if it is missing or unreadable, which no verifier
    /// accepts.
    pub fn of(chain: &[CertificateDer<'_>]) -> Option<Self> {
        let der = chain.first()?;
        let (_, parsed) = x509_parser::parse_x509_certificate(der).ok()?;
        Some(Self {
            subject: name(parsed.subject()),
            issuer: name(parsed.issuer()),
            serial: hexadecimal(&parsed.serial.to_bytes_be(), true),
            serial_decimal: parsed.serial.to_str_radix(10),
            der: der.to_vec(),
        })
    }

    /// SHA-256 of the certificate, in hexadecimal.
    pub fn fingerprint(&self) -> String {
        let digest = ring::digest::digest(&ring::digest::SHA256, &self.der);
        hexadecimal(digest.as_ref(), false)
    }

    /// The certificate in base64.
    pub fn der_base64(&self) -> String {
        BASE64_STANDARD.encode(&self.der)
    }

    /// The certificate in PEM.
    pub fn pem(&self) -> String {
        let lines = EncodeConfig::new().set_line_ending(LineEnding::LF);
        pem::encode_config(&Pem::new("CERTIFICATE", &*self.der), lines)
    }
}

/// The last part first, as in RFC 4514.
fn name(name: &X509Name<'_>) -> String {
    let parts: Vec<_> = name.iter().collect();
    let mut text = String::new();
    for (index, part) in parts.iter().rev().enumerate() {
        if index > 0 {
            text.push(',');
        }
        for (index, attribute) in part.iter().enumerate() {
            if index > 0 {
                text.push('+');
            }
            push(&mut text, attribute);
        }
    }
    text
}

fn push(text: &mut String, attribute: &AttributeTypeAndValue<'_>) {
    let id = attribute.attr_type().to_id_string();
    let known = NAMES.iter().find(|(number, _)| *number == id);
    text.push_str(known.map_or(id.as_str(), |(_, name)| name));
    text.push('=');
    if let Ok(value) = attribute.as_str() {
        escape(text, value);
    } else {
        // In an outdated encoding.
        text.push('#');
        text.push_str(&hexadecimal(attribute.attr_value().data, false));
    }
}

/// Escapes a value, so that it does not look like two, and does not end a line of a log or header
/// field.
fn escape(text: &mut String, value: &str) {
    let last = value.chars().count().saturating_sub(1);
    for (index, char) in value.chars().enumerate() {
        match char {
            ',' | '+' | '"' | '\\' | '<' | '>' | ';' | '=' => text.extend(['\\', char]),
            '#' if index == 0 => text.push_str("\\#"),
            ' ' if index == 0 || index == last => text.push_str("\\ "),
            _ if char.is_control() => {
                let mut bytes = [0; 4];
                for byte in char.encode_utf8(&mut bytes).bytes() {
                    let _ = write!(text, "\\{byte:02X}");
                }
            }
            _ => text.push(char),
        }
    }
}

fn hexadecimal(bytes: &[u8], capitals: bool) -> String {
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        let _ = if capitals {
            write!(text, "{byte:02X}")
        } else {
            write!(text, "{byte:02x}")
        };
    }
    text
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, DnType, DnValue, KeyPair, SerialNumber};
    use rustls::pki_types::pem::PemObject;

    use super::*;

    fn certificate() -> CertificateDer<'static> {
        let mut params = CertificateParams::default();
        params.serial_number = Some(SerialNumber::from(vec![0x0a, 0xff]));
        let mut name = rcgen::DistinguishedName::new();
        name.push(DnType::OrganizationName, "Club, \"A+B\"");
        name.push(DnType::CommonName, " Zoë\n");
        name.push(DnType::CustomDnType(vec![1, 2, 3, 4]), "x");
        name.push(
            DnType::OrganizationalUnitName,
            DnValue::BmpString("ab".try_into().expect("BMP")),
        );
        params.distinguished_name = name;
        let key = KeyPair::generate().expect("made");
        params.self_signed(&key).expect("made").der().clone()
    }

    #[test]
    fn the_parts_of_a_certificate() {
        let der = certificate();
        let own = ClientCertificate::of(std::slice::from_ref(&der)).expect("readable");
        let expected = r#"OU=#00610062,1.2.3.4=x,CN=\ Zoë\0A,O=Club\, \"A\+B\""#;
        assert_eq!(own.subject, expected);
        assert_eq!(own.issuer, own.subject);
        assert_eq!(
            (own.serial.as_str(), own.serial_decimal.as_str()),
            ("0AFF", "2815")
        );
        let back = CertificateDer::from_pem_slice(own.pem().as_bytes()).expect("PEM");
        assert_eq!(back, der);
        assert!(own.pem().lines().all(|line| line.len() <= 64));
        assert_eq!(own.fingerprint().len(), 64);
    }

    #[test]
    fn no_certificate_is_none() {
        assert_eq!(ClientCertificate::of(&[]), None);
        let broken = CertificateDer::from(vec![1, 2, 3]);
        assert_eq!(ClientCertificate::of(&[broken]), None);
    }
}
