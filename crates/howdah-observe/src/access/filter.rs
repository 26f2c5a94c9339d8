//! Filters, which change or remove an entry's fields.

use std::borrow::Cow;
use std::fmt::Write as _;

use howdah_config::model::{Edit, Filter};
use regex::Regex;
use sha2::{Digest, Sha256};

use super::fields::{Fields, Value};

/// A filter with its compiled parts.
#[derive(Debug)]
pub(super) struct CompiledFilter {
    path: Vec<String>,
    filter: Filter,
    regex: Option<Regex>,
}

impl CompiledFilter {
    pub(super) fn new((path, filter): &(Vec<String>, Filter)) -> Self {
        // The configuration has checked it with the same library.
        let regex = match filter {
            Filter::Regexp(pattern, _) => Regex::new(pattern).ok(),
            _ => None,
        };
        Self {
            path: path.clone(),
            filter: filter.clone(),
            regex,
        }
    }

    /// Changes the field at that path, if it exists.
    pub(super) fn apply<'e>(&'e self, fields: &mut Fields<'e>) {
        let Some((last, parents)) = self.path.split_last() else {
            return;
        };
        let mut fields = fields;
        for parent in parents {
            let found = fields.iter_mut().find(|(name, _)| name == parent);
            let Some((_, Value::Object(inner))) = found else {
                return;
            };
            fields = inner;
        }
        let Some(index) = fields.iter().position(|(name, _)| name == last) else {
            return;
        };
        match &self.filter {
            Filter::Delete => drop(fields.remove(index)),
            Filter::Rename(name) => fields[index].0 = name.into(),
            Filter::Replace(text) => fields[index].1 = Value::Text(text.into()),
            _ => self.change(&mut fields[index].1),
        }
    }

    fn change(&self, value: &mut Value<'_>) {
        match value {
            Value::Text(text) => *text = self.changed(text).into(),
            Value::List(texts) => {
                for text in texts {
                    *text = self.changed(text).into();
                }
            }
            Value::Object(fields) => {
                for (_, value) in fields {
                    self.change(value);
                }
            }
            Value::Number(number) if matches!(self.filter, Filter::Hash | Filter::Regexp(..)) => {
                *value = Value::Text(self.changed(&number.to_string()).into());
            }
            Value::Number(_) | Value::Time(_) | Value::Truth(_) => {}
        }
    }

    fn changed(&self, text: &str) -> String {
        match &self.filter {
            Filter::Hash => hash(text),
            Filter::IpMask(ipv4, ipv6) => masked(text, *ipv4, *ipv6),
            Filter::Query(edits) => query(text, edits),
            Filter::Cookie(edits) => cookies(text, edits),
            Filter::Regexp(_, replacement) => match &self.regex {
                Some(regex) => regex.replace_all(text, replacement.as_str()).into_owned(),
                None => String::new(),
            },
            Filter::Delete | Filter::Rename(_) | Filter::Replace(_) => text.to_owned(),
        }
    }
}

/// The first four bytes of SHA-256 in hexadecimal, as in Caddy.
fn hash(text: &str) -> String {
    let digest = Sha256::digest(text);
    digest.iter().take(4).fold(String::new(), |mut hex, byte| {
        // Writing to a `String` cannot fail.
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

/// One address, or several with commas as in `X-Forwarded-For`. Other text is not changed.
fn masked(text: &str, ipv4: u8, ipv6: u8) -> String {
    let one = |text: &str| {
        let (host, port) = match text.parse::<std::net::SocketAddr>() {
            Ok(address) => (address.ip().to_string(), format!(":{}", address.port())),
            Err(_) => (text.to_owned(), String::new()),
        };
        match host.parse() {
            Ok(address) => {
                let masked = Filter::mask(address, ipv4, ipv6);
                if masked.is_ipv6() && !port.is_empty() {
                    format!("[{masked}]{port}")
                } else {
                    format!("{masked}{port}")
                }
            }
            Err(_) => text.to_owned(),
        }
    };
    let parts: Vec<String> = text.split(',').map(|part| one(part.trim())).collect();
    parts.join(", ")
}

fn query(uri: &str, edits: &[Edit]) -> String {
    let Some((path, query)) = uri.split_once('?') else {
        return uri.to_owned();
    };
    let parameters = query.split('&').filter_map(|parameter| {
        let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
        let plain = decoded(name);
        let mut value = Cow::Borrowed(value);
        let mut changed = false;
        for edit in edits {
            match edit {
                Edit::Delete(own) if *own == plain => return None,
                Edit::Replace(own, text) if *own == plain => {
                    value = Cow::Owned(escaped(text));
                    changed = true;
                }
                Edit::Hash(own) if *own == plain => {
                    value = Cow::Owned(hash(&decoded(&value)));
                    changed = true;
                }
                _ => {}
            }
        }
        Some(if changed {
            format!("{name}={value}")
        } else {
            parameter.to_owned()
        })
    });
    let parameters: Vec<String> = parameters.collect();
    if parameters.is_empty() {
        path.to_owned()
    } else {
        format!("{path}?{}", parameters.join("&"))
    }
}

/// Decoded as applications do.
fn decoded(text: &str) -> String {
    let spaced = text.replace('+', " ");
    percent_encoding::percent_decode_str(&spaced)
        .decode_utf8_lossy()
        .into_owned()
}

fn escaped(text: &str) -> String {
    percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC).to_string()
}

fn cookies(text: &str, edits: &[Edit]) -> String {
    let cookies = text.split(';').filter_map(|cookie| {
        let cookie = cookie.trim();
        let Some((name, value)) = cookie.split_once('=') else {
            return Some(cookie.to_owned());
        };
        let mut value = Cow::Borrowed(value);
        for edit in edits {
            match edit {
                Edit::Delete(own) if own == name => return None,
                Edit::Replace(own, text) if own == name => value = Cow::Borrowed(text),
                Edit::Hash(own) if own == name => value = Cow::Owned(hash(&value)),
                _ => {}
            }
        }
        Some(format!("{name}={value}"))
    });
    cookies.collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        for (text, expected) in [
            ("192.168.17.4", "192.168.0.0"),
            ("2001:db8:1:2::3", "2001:db8::"),
            ("192.168.17.4, 10.1.2.3", "192.168.0.0, 10.1.0.0"),
            ("[2001:db8:1::1]:80", "[2001:db8::]:80"),
            ("10.1.2.3:80", "10.1.0.0:80"),
            ("unknown", "unknown"),
        ] {
            assert_eq!(masked(text, 16, 32), expected, "{text}");
        }
        assert_eq!(masked("10.1.2.3, ::1", 0, 0), "0.0.0.0, ::");
        assert_eq!(masked("10.1.2.3, ::1", 32, 128), "10.1.2.3, ::1");
    }

    #[test]
    fn parameters_and_cookies() {
        let edits = [
            Edit::Replace("a".into(), "<x>".into()),
            Edit::Delete("b".into()),
            Edit::Hash("c".into()),
        ];
        assert_eq!(
            query("/p?a=1&b=2&%61=3&c=caddy&d&e=%20", &edits),
            format!("/p?a=%3Cx%3E&%61=%3Cx%3E&c={}&d&e=%20", hash("caddy"))
        );
        assert_eq!(query("/p?b=1", &edits), "/p");
        let spaced = [Edit::Delete("a b".into()), Edit::Hash("c".into())];
        assert_eq!(
            query("/p?a+b=1&a%20b=2&c=x+y", &spaced),
            format!("/p?c={}", hash("x y"))
        );
        assert_eq!(query("/p", &edits), "/p");
        assert_eq!(
            cookies("a=1; b=2; c=3; d=4", &edits),
            format!("a=<x>; c={}; d=4", hash("3"))
        );
        assert_eq!(cookies("REDACTED", &edits), "REDACTED");
        // Everybody knows the digest of the empty text.
        assert_eq!(hash(""), "e3b0c442");
    }
}
