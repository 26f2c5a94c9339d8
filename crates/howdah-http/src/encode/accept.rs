//! `Accept-Encoding`: which codings the client accepts, and their weights.

use howdah_config::model::ContentCoding;
use http::HeaderMap;
use http::header::ACCEPT_ENCODING;

/// Weights in thousandths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct AcceptedCodings {
    gzip: u16,
    zstd: u16,
    brotli: u16,
    /// `None`: not mentioned, which means acceptable, with less weight than any coding that is
    /// mentioned.
    identity: Option<u16>,
}

impl AcceptedCodings {
    pub(crate) fn new(headers: &HeaderMap) -> Self {
        let (mut gzip, mut zstd, mut brotli, mut identity) = (None, None, None, None);
        let mut any = None;
        for value in headers.get_all(ACCEPT_ENCODING) {
            for member in value.as_bytes().split(|byte| *byte == b',') {
                let (name, parameters) = match member.iter().position(|byte| *byte == b';') {
                    Some(at) => (&member[..at], &member[at + 1..]),
                    None => (member, &b""[..]),
                };
                let name = name.trim_ascii();
                let place = if name == b"*" {
                    &mut any
                } else if is(name, "gzip") || is(name, "x-gzip") {
                    &mut gzip
                } else if is(name, "zstd") {
                    &mut zstd
                } else if is(name, "br") {
                    &mut brotli
                } else if is(name, "identity") {
                    &mut identity
                } else {
                    continue;
                };
                *place = Some(weight(parameters));
            }
        }
        let otherwise = any.unwrap_or(0);
        Self {
            gzip: gzip.unwrap_or(otherwise),
            zstd: zstd.unwrap_or(otherwise),
            brotli: brotli.unwrap_or(otherwise),
            identity: identity.or(any),
        }
    }

    fn weight(self, coding: ContentCoding) -> u16 {
        match coding {
            ContentCoding::Gzip => self.gzip,
            ContentCoding::Zstd => self.zstd,
            ContentCoding::Brotli => self.brotli,
        }
    }

    /// Whether the client accepts the coding, with at least the weight of no coding.
    pub(crate) fn accepts(self, coding: ContentCoding) -> bool {
        let weight = self.weight(coding);
        weight > 0 && weight >= self.identity.unwrap_or(0)
    }

    /// Whether the client refuses a body without coding.
    pub(crate) fn refuses_identity(self) -> bool {
        self.identity == Some(0)
    }

    /// The coding with the highest weight; of equal ones the first.
    pub(crate) fn best<T>(
        self,
        offers: impl IntoIterator<Item = T>,
        coding: impl Fn(&T) -> ContentCoding,
    ) -> Option<T> {
        let mut best: Option<(u16, T)> = None;
        for offer in offers {
            let weight = self.weight(coding(&offer));
            if self.accepts(coding(&offer)) && best.as_ref().is_none_or(|(most, _)| weight > *most)
            {
                best = Some((weight, offer));
            }
        }
        best.map(|(_, offer)| offer)
    }
}

fn is(name: &[u8], known: &str) -> bool {
    name.eq_ignore_ascii_case(known.as_bytes())
}

/// `q=0.5`; 1 without it, and 0 for an invalid weight: the client may have meant to refuse the coding.
fn weight(parameters: &[u8]) -> u16 {
    for parameter in parameters.split(|byte| *byte == b';') {
        let parameter = parameter.trim_ascii();
        let Some((name, value)) = parameter
            .iter()
            .position(|byte| *byte == b'=')
            .map(|at| (&parameter[..at], &parameter[at + 1..]))
        else {
            continue;
        };
        if is(name.trim_ascii(), "q") {
            return thousandths(value.trim_ascii()).unwrap_or(0);
        }
    }
    1000
}

/// `0`, `0.123`, `1`, `1.000`.
fn thousandths(text: &[u8]) -> Option<u16> {
    let (whole, fraction) = match text {
        [whole] | [whole, b'.'] => (whole, &b""[..]),
        [whole, b'.', fraction @ ..] if fraction.len() <= 3 => (whole, fraction),
        _ => return None,
    };
    let mut value = match whole {
        b'0' => 0,
        b'1' => 1000,
        _ => return None,
    };
    let mut unit = 100;
    for digit in fraction {
        if !digit.is_ascii_digit() {
            return None;
        }
        value += u16::from(digit - b'0') * unit;
        unit /= 10;
    }
    (value <= 1000).then_some(value)
}

#[cfg(test)]
mod tests {
    use ContentCoding::{Brotli, Gzip, Zstd};
    use http::HeaderValue;
    use proptest::prelude::*;

    use super::*;

    fn accepted(values: &[&str]) -> AcceptedCodings {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(ACCEPT_ENCODING, HeaderValue::from_str(value).unwrap());
        }
        AcceptedCodings::new(&headers)
    }

    #[test]
    fn the_best_liked_is_taken() {
        let order = [Zstd, Brotli, Gzip];
        for (value, expected) in [
            ("gzip, deflate, br, zstd", Some(Zstd)),
            ("gzip, deflate, br", Some(Brotli)),
            ("gzip", Some(Gzip)),
            ("x-gzip", Some(Gzip)),
            ("GZIP ; Q=0.8", Some(Gzip)),
            ("gzip;q=1, zstd;q=0.5", Some(Gzip)),
            ("gzip;q=0.5, br;q=0.501", Some(Brotli)),
            ("*", Some(Zstd)),
            ("*;q=0.1, zstd;q=0", Some(Brotli)),
            ("zstd;q=0, *", Some(Brotli)),
            ("gzip, *;q=0", Some(Gzip)),
            ("identity", None),
            ("identity, gzip;q=0.5", None),
            ("identity;q=0.5, gzip", Some(Gzip)),
            ("identity;q=0, gzip;q=0.001", Some(Gzip)),
            ("gzip;q=0", None),
            ("gzip;q=0.000", None),
            ("gzip;q=2", None),
            ("gzip;q=0.1234", None),
            ("gzip;q=-1", None),
            ("gzip;q=", None),
            ("gzip;q=1.001", None),
            ("gzipped, deflate", None),
            ("", None),
            (",;,=", None),
        ] {
            let found = accepted(&[value]).best(order, |coding| *coding);
            assert_eq!(found, expected, "{value}");
        }
        assert_eq!(
            AcceptedCodings::new(&HeaderMap::new()).best(order, |c| *c),
            None
        );
        assert_eq!(
            accepted(&["deflate", "gzip"]).best(order, |c| *c),
            Some(Gzip)
        );
        assert_eq!(
            accepted(&["gzip, zstd"]).best([Gzip, Zstd], |c| *c),
            Some(Gzip),
            "the order of the offers decides between equal ones"
        );
    }

    proptest! {
        #[test]
        fn any_header_has_a_meaning(value in "[ -~\\t]{0,40}", known in "(gzip|br|zstd|\\*)") {
            let accepted = accepted(&[&value, &known]);
            let best = accepted.best([Zstd, Brotli, Gzip], |coding| *coding);
            prop_assert!(best.is_none_or(|coding| accepted.accepts(coding)));
            prop_assert_eq!(
                best.is_none(),
                [Zstd, Brotli, Gzip].iter().all(|coding| !accepted.accepts(*coding))
            );
        }
    }

    #[test]
    fn identity_can_be_refused() {
        for (value, refused) in [
            ("gzip", false),
            ("gzip, identity;q=0", true),
            ("gzip, *;q=0", true),
            ("identity, *;q=0", false),
            ("identity;q=0.001", false),
            ("", false),
        ] {
            assert_eq!(accepted(&[value]).refuses_identity(), refused, "{value}");
        }
    }
}
