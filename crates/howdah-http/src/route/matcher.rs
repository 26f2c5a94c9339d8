//! Which requests a route is for.

use std::rc::Rc;

use howdah_config::model;
use http::header::HeaderName;
use http::{HeaderMap, Method};

use super::candidate::{Candidate, find};
use super::context::Context;
use super::pattern::Pattern;
use super::root::RootText;
use super::{RouteError, RouteErrorKind};

/// A compiled [`model::Matcher`].
#[derive(Debug)]
pub(crate) enum Matcher {
    All(Box<[Matcher]>),
    Not(Box<Matcher>),
    Path(Box<[Pattern]>),
    Method(Box<[Method]>),
    Host(Box<[HostPattern]>),
    HostHeader(Option<Pattern>),
    Header(HeaderName, Option<Pattern>),
    File {
        root: Option<RootText>,
        candidates: Box<[Candidate]>,
    },
}

/// A host name, or `*.` and the name above it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum HostPattern {
    Any,
    Exact(String),
    /// One label under this name, which starts with a dot.
    Below(String),
}

impl HostPattern {
    pub(crate) fn new(text: &str) -> Self {
        match text.strip_prefix('*') {
            Some("") => Self::Any,
            Some(rest) if rest.starts_with('.') => Self::Below(rest.to_ascii_lowercase()),
            _ => Self::Exact(bare(text).to_ascii_lowercase()),
        }
    }

    /// `host` without a port; brackets, a final dot and case do not matter.
    pub(crate) fn matches(&self, host: &str) -> bool {
        let host = bare(host);
        match self {
            Self::Any => true,
            Self::Exact(exact) => host.eq_ignore_ascii_case(exact),
            Self::Below(domain) => host
                .find('.')
                .is_some_and(|dot| dot > 0 && host[dot..].eq_ignore_ascii_case(domain)),
        }
    }
}

/// Without the brackets of an IPv6 address and the final dot of an absolute name.
pub(crate) fn bare(host: &str) -> &str {
    let inner = host
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'));
    inner.unwrap_or_else(|| host.strip_suffix('.').unwrap_or(host))
}

impl Matcher {
    pub(crate) fn compile(matcher: &model::Matcher) -> Result<Self, RouteError> {
        Ok(match matcher {
            model::Matcher::All(all) => {
                Self::All(all.iter().map(Self::compile).collect::<Result<_, _>>()?)
            }
            model::Matcher::Not(inner) => Self::Not(Box::new(Self::compile(inner)?)),
            model::Matcher::Path(patterns) => {
                Self::Path(patterns.iter().map(|text| Pattern::path(text)).collect())
            }
            model::Matcher::Method(methods) => {
                let methods = methods.iter().map(|text| {
                    Method::from_bytes(text.as_bytes())
                        .map_err(|_| RouteErrorKind::Method { text: text.clone() })
                });
                Self::Method(methods.collect::<Result<_, _>>()?)
            }
            model::Matcher::Header(name, value) if name.eq_ignore_ascii_case("host") => {
                Self::HostHeader(value.as_deref().map(Pattern::ends))
            }
            model::Matcher::Header(name, value) => {
                let name = HeaderName::from_bytes(name.as_bytes())
                    .map_err(|_| RouteErrorKind::HeaderName { text: name.clone() })?;
                Self::Header(name, value.as_deref().map(Pattern::ends))
            }
            model::Matcher::Host(hosts) => {
                Self::Host(hosts.iter().map(|text| HostPattern::new(text)).collect())
            }
            model::Matcher::File { root, candidates } => Self::File {
                root: root.as_ref().map(RootText::new),
                candidates: candidates.iter().map(Candidate::new).collect(),
            },
        })
    }

    pub(crate) fn matches(&self, context: &Context<'_>) -> bool {
        match self {
            Self::All(all) => all.iter().all(|matcher| matcher.matches(context)),
            Self::Not(inner) => !inner.matches(context),
            Self::Path(patterns) => matches_path(patterns, &context.path),
            Self::Method(methods) => methods.contains(&context.parts.method),
            Self::Host(hosts) => {
                let name = context.host.map_or("", |host| host.name);
                hosts.iter().any(|host| host.matches(name))
            }
            Self::HostHeader(pattern) => match (pattern, context.host) {
                (None, host) => host.is_none(),
                (Some(_), None) => false,
                (Some(pattern), Some(host)) => pattern.matches(host.name),
            },
            Self::Header(name, pattern) => {
                matches_header(&context.parts.headers, name, pattern.as_ref())
            }
            Self::File { root, candidates } => {
                let root = match root {
                    None => Some(Rc::clone(&context.root)),
                    Some(root) => root.evaluate(context),
                };
                root.is_some_and(|root| find(candidates, context, &root, &[]).is_some())
            }
        }
    }
}

pub(super) fn matches_path(patterns: &[Pattern], path: &str) -> bool {
    if path
        .bytes()
        .any(|byte| byte.is_ascii_uppercase() || !byte.is_ascii())
    {
        let lower = path.to_lowercase();
        patterns.iter().any(|pattern| pattern.matches(&lower))
    } else {
        patterns.iter().any(|pattern| pattern.matches(path))
    }
}

fn matches_header(headers: &HeaderMap, name: &HeaderName, pattern: Option<&Pattern>) -> bool {
    match pattern {
        None => !headers.contains_key(name),
        Some(pattern) => headers
            .get_all(name)
            .iter()
            .any(|value| pattern.matches(&String::from_utf8_lossy(value.as_bytes()))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts() {
        for (pattern, host, expected) in [
            ("example.com", "Example.com", true),
            ("example.com", "example.com.", true),
            ("example.com", "www.example.com", false),
            ("*.example.com", "www.example.com", true),
            ("*.example.com", "a.b.example.com", false),
            ("*.example.com", "example.com", false),
            ("*.example.com", ".example.com", false),
            ("::1", "[::1]", true),
            ("*", "", true),
        ] {
            assert_eq!(
                HostPattern::new(pattern).matches(host),
                expected,
                "{pattern} {host}"
            );
        }
    }
}
