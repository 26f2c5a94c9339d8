//! The pages to request.

use http::Uri;

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
}
