//! The pages to request, and the header fields that are sent with each request.

use std::str::FromStr;

use http::{HeaderName, HeaderValue, Uri};

/// A page to request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Target {
    /// The URL as given by the user.
    pub(super) url: String,
    /// The scheme, if the URL has one.
    pub(super) scheme: Option<Scheme>,
    pub(super) host: String,
    /// The URL names a port.
    pub(super) has_port: bool,
    pub(super) path: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scheme {
    Http,
    Https,
}

/// Why a text is not a page.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum TargetError {
    #[error("{0} is not a path such as /cart or a URL such as http://localhost/cart")]
    Url(String),
    #[error("{0} has neither http:// nor https://")]
    Scheme(String),
    #[error("{0} has a user name or a password")]
    UserInfo(String),
    #[error("some URLs have http:// and others have https://")]
    MixedSchemes,
}

impl TargetError {
    pub(super) fn advice(&self) -> &'static str {
        match self {
            Self::Url(_) => "give paths that begin with /, or whole URLs",
            Self::Scheme(_) => "give a URL with http:// or https://, or a path",
            Self::UserInfo(_) => {
                "remove it from the URL, and send it with `--header 'Authorization: Basic …'`"
            }
            Self::MixedSchemes => "check those with http:// and those with https:// separately",
        }
    }
}

impl Target {
    /// A path, or a URL whose host is sent.
    fn parse(url: &str) -> Result<Self, TargetError> {
        if let Some(shown) = without_user_info(url) {
            return Err(TargetError::UserInfo(shown));
        }
        let wrong = || TargetError::Url(url.to_owned());
        let uri: Uri = url.parse().map_err(|_| wrong())?;
        let scheme = match uri.scheme_str() {
            None => None,
            Some("http") => Some(Scheme::Http),
            Some("https") => Some(Scheme::Https),
            Some(_) => return Err(TargetError::Scheme(url.to_owned())),
        };
        let path = uri.path_and_query().ok_or_else(wrong)?.as_str();
        // A text without a scheme is a host to the parser.
        if !path.starts_with('/') || (scheme.is_none() && uri.authority().is_some()) {
            return Err(wrong());
        }
        let host = uri.authority().map(ToString::to_string);
        Ok(Self {
            url: url.to_owned(),
            scheme,
            has_port: uri.port().is_some(),
            host: host.unwrap_or_else(|| "localhost".to_owned()),
            path: path.to_owned(),
        })
    }
}

/// All pages. A path has the scheme of the URLs beside it.
pub(super) fn targets(urls: &[String]) -> Result<Vec<Target>, TargetError> {
    let targets: Vec<Target> = urls
        .iter()
        .map(|url| Target::parse(url))
        .collect::<Result<_, _>>()?;
    let mut schemes = targets.iter().filter_map(|target| target.scheme);
    let first = schemes.next();
    if schemes.any(|scheme| Some(scheme) != first) {
        return Err(TargetError::MixedSchemes);
    }
    Ok(targets)
}

/// The URL without what precedes `@` in its authority, if anything does.
fn without_user_info(url: &str) -> Option<String> {
    let (scheme, rest) = url.split_once("://")?;
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let at = rest[..end].rfind('@')?;
    Some(format!("{scheme}://{}", &rest[at + 1..]))
}

/// A field of `--header`. Its value may be a secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RequestHeader {
    name: HeaderName,
    value: HeaderValue,
}

/// Why a text is not a header field.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum HeaderError {
    #[error("expected 'NAME: VALUE', such as 'Cookie: session=4711'")]
    Syntax,
    #[error("give the host in a URL, such as http://shop.test/cart")]
    Host,
    #[error("{0} belongs to the connection, which doctor controls")]
    Connection(HeaderName),
}

impl FromStr for RequestHeader {
    type Err = HeaderError;

    fn from_str(text: &str) -> Result<Self, HeaderError> {
        let (name, value) = text.split_once(':').ok_or(HeaderError::Syntax)?;
        let name: HeaderName = name.parse().map_err(|_| HeaderError::Syntax)?;
        let mut value = HeaderValue::from_str(value.trim()).map_err(|_| HeaderError::Syntax)?;
        value.set_sensitive(true);
        match name {
            http::header::HOST => Err(HeaderError::Host),
            http::header::CONNECTION
            | http::header::CONTENT_LENGTH
            | http::header::EXPECT
            | http::header::TRANSFER_ENCODING
            | http::header::UPGRADE => Err(HeaderError::Connection(name)),
            _ => Ok(Self { name, value }),
        }
    }
}

impl RequestHeader {
    pub(super) fn is(&self, name: &HeaderName) -> bool {
        self.name == *name
    }

    /// The field as it is sent.
    pub(super) fn write(&self, request: &mut Vec<u8>) {
        request.extend_from_slice(self.name.as_str().as_bytes());
        request.extend_from_slice(b": ");
        request.extend_from_slice(self.value.as_bytes());
        request.extend_from_slice(b"\r\n");
    }

    /// The value and what an application takes from it: the values of cookies, and a token after `Bearer`.
    fn values(&self) -> Vec<String> {
        let whole = String::from_utf8_lossy(self.value.as_bytes());
        let parts: Vec<&str> = if self.is(&http::header::COOKIE) {
            let cookies = whole.split(';').filter_map(|cookie| cookie.split_once('='));
            cookies.map(|(_, value)| value.trim()).collect()
        } else {
            whole.split(' ').collect()
        };
        parts
            .into_iter()
            .chain([&*whole])
            .map(str::to_owned)
            .collect()
    }
}

/// Shortest value that is hidden: a page may have shorter ones by chance.
const HIDDEN_MIN: usize = 5;

/// Hides values of the fields in a text, which an application may have in its page.
pub(super) fn hide_values(headers: &[RequestHeader], text: &str) -> String {
    let mut values: Vec<String> = headers.iter().flat_map(RequestHeader::values).collect();
    values.retain(|value| value.len() >= HIDDEN_MIN);
    values.sort_by_key(|value| std::cmp::Reverse(value.len()));
    values.iter().fold(text.to_owned(), |text, value| {
        text.replace(value, "(hidden)")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_paths_or_urls() {
        let target = |url| Target::parse(url).map(|target| (target.host, target.path));
        let of = |host: &str, path: &str| Ok((host.to_owned(), path.to_owned()));
        assert_eq!(target("/cart?a=b"), of("localhost", "/cart?a=b"));
        assert_eq!(target("/@user"), of("localhost", "/@user"));
        assert_eq!(target("https://shop.test/a"), of("shop.test", "/a"));
        assert_eq!(target("https://shop.test"), of("shop.test", "/"));
        assert_eq!(target("HTTP://shop.test:80/"), of("shop.test:80", "/"));
        for wrong in ["", "cart", "*", "shop.test:80"] {
            let error = TargetError::Url(wrong.into());
            assert_eq!(Target::parse(wrong), Err(error), "{wrong}");
        }
    }

    #[test]
    fn other_schemes_and_passwords_are_refused() {
        let ftp = "ftp://shop.test/a".to_owned();
        assert_eq!(Target::parse(&ftp), Err(TargetError::Scheme(ftp.clone())));
        for url in [
            "http://user:pw@shop.test/a",
            "ftp://pw@shop.test/a",
            "http://u:p@w@shop.test/a",
        ] {
            let error = Target::parse(url).expect_err(url);
            assert!(matches!(error, TargetError::UserInfo(_)), "{error}");
            assert!(!error.to_string().contains("pw"), "{error}");
            assert!(error.advice().contains("--header"));
        }
    }

    #[test]
    fn one_check_has_one_scheme() {
        let of = |urls: &[&str]| targets(&urls.iter().map(ToString::to_string).collect::<Vec<_>>());
        assert!(of(&["/a", "https://a.test/", "https://b.test/"]).is_ok());
        let mixed = of(&["/a", "http://a.test/", "https://a.test/"]);
        assert_eq!(mixed, Err(TargetError::MixedSchemes));
    }

    #[test]
    fn header_fields_are_checked_and_their_values_hidden() {
        let header = |text: &str| text.parse::<RequestHeader>();
        let valid = header("Cookie:  session=s3cret; lang=de").expect("valid");
        let mut sent = Vec::new();
        valid.write(&mut sent);
        assert_eq!(sent, b"cookie: session=s3cret; lang=de\r\n");
        assert!(!format!("{valid:?}").contains("s3cret"), "{valid:?}");
        for wrong in ["", "Cookie", ": a", "A B: c", "A: b\r\nC: d", "A: b\0"] {
            assert_eq!(header(wrong), Err(HeaderError::Syntax), "{wrong:?}");
        }
        assert_eq!(header("host: a.test"), Err(HeaderError::Host));
        let length = HeaderError::Connection(http::header::CONTENT_LENGTH);
        assert_eq!(header("Content-Length: 5"), Err(length));
        let token = header("Authorization: Bearer t0ken").expect("valid");
        assert_eq!(
            hide_values(&[valid, token], "Hello s3cret, t0ken de"),
            "Hello (hidden), (hidden) de"
        );
    }
}
