//! Which requests a route is for.

use std::net::IpAddr;
use std::rc::Rc;

use howdah_config::model::{self, Network, Protocol, TryPolicy};
use http::header::{CONTENT_TYPE, HeaderName};
use http::{HeaderMap, Method, StatusCode, Version};

use crate::answer::files::stat::Root;
use crate::message::path;
use crate::message::pattern::Pattern;
use crate::message::route_error::{RouteError, RouteErrorKind, header_name};
use crate::route::candidate::Candidate;
use crate::route::context::Context;
use crate::route::expression::Expression;
use crate::route::policy::choose;
use crate::route::purpose::Purpose;
use crate::route::root::RootText;
use crate::route::text::Text;
use crate::route::variables::{FoundFile, Regexp};

/// A compiled [`model::Matcher`].
#[derive(Debug)]
pub(crate) enum Matcher {
    All(Box<[Matcher]>),
    Not(Box<Matcher>),
    Path(Box<[Pattern]>),
    /// Patterns of the path, and patterns of the path with repeated slashes as sent.
    PathAsSent(Box<[Pattern]>, Box<[Pattern]>),
    Method(Box<[Method]>),
    Host(Box<[HostPattern]>),
    /// Patterns with placeholders.
    HostText(Box<[HostText]>),
    HostHeader(Option<Pattern>),
    Header(HeaderName, Option<Pattern>),
    File {
        root: Option<RootText>,
        candidates: Box<[Candidate]>,
        split: Box<[String]>,
        policy: TryPolicy,
        fallback: Option<StatusCode>,
    },
    PathRegexp(Rc<Regexp>),
    HeaderRegexp(HeaderName, Rc<Regexp>),
    Query(Box<[(String, Box<[Text]>)]>),
    Protocol(Protocol),
    RemoteIp(Box<[Network]>),
    ClientIp(Box<[Network]>),
    Vars(Text, Box<[Text]>),
    VarsRegexp(Text, Rc<Regexp>),
    Expression(Expression),
}

/// A host name, or `*.` and the name above it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum HostPattern {
    Any,
    Exact(String),
    /// A name without a dot, or an IPv6 address: to Caddy both are one label.
    Label,
    /// One label under this name, which starts with a dot.
    Below(String),
}

impl HostPattern {
    pub(crate) fn new(text: &str) -> Self {
        match text.strip_prefix('*') {
            Some("") => Self::Label,
            Some(rest) if rest.starts_with('.') => Self::Below(rest.to_ascii_lowercase()),
            _ => Self::Exact(normalize(text).to_ascii_lowercase()),
        }
    }

    /// `host` without a port; brackets, a final dot and case do not matter.
    pub(crate) fn matches(&self, host: &str) -> bool {
        let host = normalize(host);
        match self {
            Self::Any => true,
            Self::Exact(exact) => host.eq_ignore_ascii_case(exact),
            Self::Label => !host.is_empty() && !host.contains('.'),
            Self::Below(domain) => host
                .find('.')
                .is_some_and(|dot| dot > 0 && host[dot..].eq_ignore_ascii_case(domain)),
        }
    }
}

/// A name with placeholders.
#[derive(Debug)]
pub(crate) struct HostText {
    text: Text,
    /// The configuration has a `*` at its start. One from the value of a placeholder matches nothing.
    is_wildcard: bool,
}

impl HostText {
    fn new(template: &model::Template) -> Self {
        let first = template.parts.first();
        Self {
            text: Text::new(template),
            is_wildcard: matches!(first, Some(model::Part::Text(text)) if text.starts_with('*')),
        }
    }

    fn matches(&self, name: &str, context: &Context<'_>) -> bool {
        let host = self.text.evaluate(context, Purpose::File);
        if host.is_empty() || host.starts_with('*') != self.is_wildcard {
            return false;
        }
        HostPattern::new(&host).matches(name)
    }
}

/// Removes the brackets of an IPv6 address and the final dot of an absolute name.
pub(crate) fn normalize(host: &str) -> &str {
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
                let compile = |text: &String| Pattern::path(text);
                let (as_sent, merged): (Vec<_>, Vec<_>) =
                    patterns.iter().partition(|text| text.contains("//"));
                let merged = merged.into_iter().map(compile).collect();
                if as_sent.is_empty() {
                    Self::Path(merged)
                } else {
                    Self::PathAsSent(merged, as_sent.into_iter().map(compile).collect())
                }
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
                Self::Header(header_name(name)?, value.as_deref().map(Pattern::ends))
            }
            model::Matcher::Host(hosts) => {
                Self::Host(hosts.iter().map(|text| HostPattern::new(text)).collect())
            }
            model::Matcher::HostTemplate(hosts) => {
                Self::HostText(hosts.iter().map(HostText::new).collect())
            }
            model::Matcher::File {
                root,
                candidates,
                split,
                policy,
                fallback_status,
            } => Self::File {
                root: root.as_ref().map(RootText::new),
                candidates: candidates.iter().map(Candidate::new).collect(),
                split: split.clone().into(),
                policy: *policy,
                // The configuration allows no others than errors.
                fallback: fallback_status.and_then(|code| StatusCode::from_u16(code).ok()),
            },
            model::Matcher::PathRegexp(regexp) => Self::PathRegexp(Regexp::compile(regexp)?),
            model::Matcher::HeaderRegexp(name, regexp) => {
                Self::HeaderRegexp(header_name(name)?, Regexp::compile(regexp)?)
            }
            model::Matcher::Query(query) => Self::Query(
                query
                    .iter()
                    .map(|(name, values)| (name.clone(), values.iter().map(Text::new).collect()))
                    .collect(),
            ),
            model::Matcher::Protocol(protocol) => Self::Protocol(*protocol),
            model::Matcher::RemoteIp(ranges) => Self::RemoteIp(ranges.clone().into()),
            model::Matcher::ClientIp(ranges) => Self::ClientIp(ranges.clone().into()),
            model::Matcher::Vars(subject, values) => {
                Self::Vars(Text::new(subject), values.iter().map(Text::new).collect())
            }
            model::Matcher::VarsRegexp(subject, regexp) => {
                Self::VarsRegexp(Text::new(subject), Regexp::compile(regexp)?)
            }
            model::Matcher::Expression(expression) => {
                Self::Expression(Expression::compile(expression)?)
            }
        })
    }

    pub(crate) fn matches(&self, context: &Context<'_>) -> bool {
        match self {
            Self::All(all) => all.iter().all(|matcher| matcher.matches(context)),
            Self::Not(inner) => !inner.matches(context),
            Self::Path(patterns) => matches_path(patterns, &context.path),
            Self::PathAsSent(merged, as_sent) => {
                matches_path(merged, &context.path)
                    || path::decode_as_sent(context.escaped_path())
                        .is_some_and(|path| matches_path(as_sent, &path))
            }
            Self::Method(methods) => methods.contains(&context.parts().method),
            Self::Host(hosts) => {
                let name = context.host().map_or("", |host| host.name);
                hosts.iter().any(|host| host.matches(name))
            }
            Self::HostText(hosts) => {
                let name = context.host().map_or("", |host| host.name);
                hosts.iter().any(|host| host.matches(name, context))
            }
            Self::HostHeader(pattern) => match (pattern, context.host()) {
                (None, host) => host.is_none(),
                (Some(_), None) => false,
                (Some(pattern), Some(host)) => pattern.matches(host.name),
            },
            Self::Header(name, pattern) => {
                matches_header(&context.parts().headers, name, pattern.as_ref())
            }
            Self::File {
                root,
                candidates,
                split,
                policy,
                fallback,
            } => {
                let root = match root {
                    None => Some(Rc::clone(&context.root)),
                    Some(root) => root.evaluate(context),
                };
                let found = root
                    .is_some_and(|root| matches_file(*policy, candidates, split, &root, context));
                if let Some(status) = fallback.filter(|_| !found) {
                    context.notes.set_error(status);
                }
                found
            }
            Self::PathRegexp(regexp) => regexp.matches(&context.path, true, &context.notes),
            Self::HeaderRegexp(name, regexp) => {
                let headers = &context.parts().headers;
                headers.get_all(name).iter().any(|value| {
                    let text = String::from_utf8_lossy(value.as_bytes());
                    regexp.matches(&text, false, &context.notes)
                })
            }
            Self::Query(query) => matches_query(query, context),
            Self::Protocol(protocol) => matches_protocol(*protocol, context),
            Self::RemoteIp(ranges) => contains(ranges, context.connection.remote.ip()),
            Self::ClientIp(ranges) => contains(ranges, context.client_ip()),
            Self::Vars(subject, values) => {
                let subject = subject.evaluate(context, Purpose::File);
                values
                    .iter()
                    .any(|value| value.evaluate(context, Purpose::File) == subject)
            }
            Self::VarsRegexp(subject, regexp) => {
                let subject = subject.evaluate(context, Purpose::File);
                regexp.matches(&subject, false, &context.notes)
            }
            Self::Expression(expression) => expression.is_true(context),
        }
    }
}

fn contains(ranges: &[Network], address: IpAddr) -> bool {
    ranges.iter().any(|range| range.contains(address))
}

fn matches_file(
    policy: TryPolicy,
    candidates: &[Candidate],
    split: &[String],
    root: &Root,
    context: &Context<'_>,
) -> bool {
    let Some(found) = choose(policy, candidates, context, root, split) else {
        return false;
    };
    context.notes.set_file(FoundFile {
        absolute: format!("{}{}", root.prefix(), found.path),
        relative: found.path.into_owned(),
        remainder: found.path_info,
        is_directory: candidates[found.index].is_directory(),
    });
    true
}

fn matches_query(query: &[(String, Box<[Text]>)], context: &Context<'_>) -> bool {
    let sent = context.query();
    if query.is_empty() {
        return sent.is_empty();
    }
    let pairs: Vec<(String, String)> = sent
        .split('&')
        .filter(|pair| !pair.is_empty())
        .map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            (path::decode_query(name), path::decode_query(value))
        })
        .collect();
    query.iter().all(|(name, values)| {
        let sent = pairs.iter().filter(|(known, _)| known == name);
        let mut sent = sent.map(|(_, value)| value);
        sent.any(|value| {
            values.iter().any(|expected| {
                let expected = expected.evaluate(context, Purpose::File);
                expected == "*" || *expected == **value
            })
        })
    })
}

fn matches_protocol(protocol: Protocol, context: &Context<'_>) -> bool {
    let parts = context.parts();
    match protocol {
        Protocol::Http => context.connection.tls.is_none(),
        Protocol::Https => context.connection.tls.is_some(),
        Protocol::Grpc => parts
            .headers
            .get(CONTENT_TYPE)
            .is_some_and(|value| value.as_bytes().starts_with(b"application/grpc")),
        Protocol::Version { number, or_later } => {
            let version = match parts.version {
                Version::HTTP_09 => (0, 9),
                Version::HTTP_10 => (1, 0),
                Version::HTTP_2 => (2, 0),
                Version::HTTP_3 => (3, 0),
                _ => (1, 1),
            };
            version == number || (or_later && version > number)
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
            ("*", "localhost", true),
            ("*", "a.b", false),
            ("*", "[::1]", true),
            ("*", "", false),
        ] {
            assert_eq!(
                HostPattern::new(pattern).matches(host),
                expected,
                "{pattern} {host}"
            );
        }
    }
}
