//! Text with placeholders. Text without any is one reference count per request.

use std::borrow::Cow;
use std::fmt::Write;
use std::rc::Rc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use howdah_config::model::{ClientPart, FileMatch, Part, Placeholder, Template};
use http::header::COOKIE;

use super::context::Context;
use super::parameters::escaped;
use crate::path;

/// A compiled [`Template`].
#[derive(Debug)]
pub(crate) enum Text {
    Constant(Rc<str>),
    Parts(Box<[Part]>),
}

/// What the text is for: a path in a URI is escaped, one on disk or in a comparison is not. A whole URI,
/// with its query, is escaped in both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Use {
    Uri,
    File,
}

impl Text {
    pub(crate) fn new(template: &Template) -> Self {
        match template.as_text() {
            Some(text) => Self::Constant(text.into()),
            None => Self::Parts(template.parts.clone().into()),
        }
    }

    pub(crate) fn constant(&self) -> Option<&Rc<str>> {
        match self {
            Self::Constant(text) => Some(text),
            Self::Parts(_) => None,
        }
    }

    /// Whether it is `{path}` and nothing else.
    pub(crate) fn is_path(&self) -> bool {
        matches!(self, Self::Parts(parts)
            if matches!(&**parts, [Part::Placeholder(Placeholder::Path)]))
    }

    /// Whether it is `{upstream_hostport}` and nothing else.
    pub(crate) fn is_upstream(&self) -> bool {
        matches!(self, Self::Parts(parts)
            if matches!(&**parts, [Part::Placeholder(Placeholder::Upstream)]))
    }

    /// Whether it is `{path}` and a constant below it, which is returned.
    pub(crate) fn below_path(&self) -> Option<&str> {
        match self {
            Self::Parts(parts) => match &**parts {
                [Part::Placeholder(Placeholder::Path), Part::Text(text)]
                    if text.starts_with('/') && text.len() > 1 =>
                {
                    Some(text)
                }
                _ => None,
            },
            Self::Constant(_) => None,
        }
    }

    pub(crate) fn evaluate(&self, context: &Context<'_>, purpose: Use) -> Cow<'_, str> {
        match self {
            Self::Constant(text) => Cow::Borrowed(text),
            Self::Parts(parts) => {
                let mut text = String::with_capacity(64);
                for part in parts {
                    match part {
                        Part::Text(piece) => text.push_str(piece),
                        Part::Placeholder(placeholder) => {
                            push(&mut text, placeholder, context, purpose);
                        }
                    }
                }
                Cow::Owned(text)
            }
        }
    }

    /// The text as a query. What placeholders stand for is escaped, so that it cannot bring parameters of
    /// its own; `{query}` is whole parameters where one begins, as in `a=1&{query}`.
    pub(crate) fn evaluate_query(&self, context: &Context<'_>) -> Cow<'_, str> {
        let Self::Parts(parts) = self else {
            return self.evaluate(context, Use::Uri);
        };
        let mut query = String::with_capacity(64);
        let mut value = String::new();
        let mut in_name = true;
        // Of what is behind an `&` nothing may come, then the `&` goes too.
        let mut separator = false;
        for part in parts {
            match part {
                Part::Text(text) => {
                    for piece in text.split_inclusive('&') {
                        let (piece, ends) = match piece.strip_suffix('&') {
                            Some(piece) => (piece, true),
                            None => (piece, false),
                        };
                        append(&mut query, piece, &mut separator);
                        in_name = ends || (in_name && !piece.contains('='));
                        separator |= ends;
                    }
                }
                Part::Placeholder(Placeholder::Query) if in_name => {
                    append(&mut query, context.query(), &mut separator);
                }
                Part::Placeholder(placeholder) => {
                    value.clear();
                    push(&mut value, placeholder, context, Use::File);
                    append(&mut query, &Cow::from(escaped(&value)), &mut separator);
                }
            }
        }
        Cow::Owned(query)
    }

    /// The text as a document root. `None` if a part that the client chose could lead elsewhere.
    pub(crate) fn evaluate_root(&self, context: &Context<'_>) -> Option<Cow<'_, str>> {
        let Self::Parts(parts) = self else {
            return Some(self.evaluate(context, Use::File));
        };
        let mut text = String::with_capacity(64);
        for part in parts {
            match part {
                Part::Text(piece) => text.push_str(piece),
                Part::Placeholder(placeholder) => {
                    let start = text.len();
                    push(&mut text, placeholder, context, Use::File);
                    let value = &text[start..];
                    // A variable can be what the client sent.
                    let ours = matches!(placeholder, Placeholder::Env(_) | Placeholder::Root);
                    if !ours && (matches!(value, "" | "." | "..") || value.contains(['/', '\0'])) {
                        return None;
                    }
                }
            }
        }
        // Two harmless parts can make `..` between them.
        (!text.split('/').any(|segment| segment == "..")).then_some(Cow::Owned(text))
    }
}

/// Adds a piece of a query, and the `&` that waits in front of it.
fn append(query: &mut String, piece: &str, separator: &mut bool) {
    if piece.is_empty() {
        return;
    }
    if std::mem::take(separator) && !query.is_empty() {
        query.push('&');
    }
    query.push_str(piece);
}

fn push(text: &mut String, placeholder: &Placeholder, context: &Context<'_>, purpose: Use) {
    // Writing to a String cannot fail, so the results of `write!` are of no interest.
    match placeholder {
        Placeholder::Path => push_path(text, context, purpose),
        Placeholder::File => {
            let path = path_text(context, purpose);
            text.push_str(path.rsplit('/').next().unwrap_or(""));
        }
        Placeholder::Dir => {
            let path = path_text(context, purpose);
            text.push_str(&path[..=path.rfind('/').unwrap_or(0)]);
        }
        Placeholder::Query => text.push_str(context.query()),
        Placeholder::PrefixedQuery => push_query(text, context),
        // Decoded, it could not be told where the path ends.
        Placeholder::Uri => {
            push_path(text, context, Use::Uri);
            push_query(text, context);
        }
        Placeholder::OrigUri => {
            let uri = &context.original.uri;
            text.push_str(uri.path());
            if let Some(query) = uri.query() {
                text.push('?');
                text.push_str(query);
            }
        }
        Placeholder::OrigPath => text.push_str(&original_path(context, purpose)),
        Placeholder::Method => text.push_str(context.parts().method.as_str()),
        Placeholder::Host => text.push_str(context.host().map_or("", |host| host.name)),
        Placeholder::HostPort => {
            if let Some(host) = context.host() {
                text.push_str(host.name);
                if let Some(port) = host.port {
                    let _ = write!(text, ":{port}");
                }
            }
        }
        Placeholder::Port => {
            let port = context.host().and_then(|host| host.port);
            let _ = write!(text, "{}", port.unwrap_or(context.connection.local.port()));
        }
        Placeholder::Scheme => text.push_str(context.scheme()),
        Placeholder::Remote => {
            let _ = write!(text, "{}", context.connection.remote);
        }
        Placeholder::RemoteHost => {
            let _ = write!(text, "{}", context.connection.remote.ip());
        }
        Placeholder::ClientIp => {
            let _ = write!(text, "{}", context.client_ip());
        }
        Placeholder::RemotePort => {
            let _ = write!(text, "{}", context.connection.remote.port());
        }
        Placeholder::Header(name) => {
            if name == "host" {
                return push(text, &Placeholder::HostPort, context, purpose);
            }
            let mut values = context.parts().headers.get_all(name.as_str()).iter();
            if let Some(first) = values.next() {
                text.push_str(&String::from_utf8_lossy(first.as_bytes()));
            }
            for value in values {
                text.push(',');
                text.push_str(&String::from_utf8_lossy(value.as_bytes()));
            }
        }
        Placeholder::Cookie(name) => {
            let headers = context.parts().headers.get_all(COOKIE).iter();
            let value = headers
                .filter_map(|value| value.to_str().ok())
                .flat_map(|value| value.split(';'))
                .filter_map(|pair| pair.trim().split_once('='))
                .find(|(known, _)| known == name);
            let value = value.map_or("", |(_, value)| value);
            let quoted = value
                .strip_prefix('"')
                .and_then(|rest| rest.strip_suffix('"'));
            text.push_str(quoted.unwrap_or(value));
        }
        Placeholder::QueryValue(name) => {
            let pairs = context.query().split('&');
            let values = pairs
                .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
                .filter(|(known, _)| path::decode_query(known) == *name);
            for (index, (_, value)) in values.enumerate() {
                if index > 0 {
                    text.push(',');
                }
                text.push_str(&path::decode_query(value));
            }
        }
        Placeholder::PathElement(index) => {
            let element = context.path.trim_start_matches('/').split('/').nth(*index);
            text.push_str(element.unwrap_or(""));
        }
        Placeholder::Env(name) => {
            // A name with `=` or NUL is no variable; `var_os` would panic on it.
            if !name.is_empty() && !name.contains(['=', '\0']) {
                let value = std::env::var_os(name).unwrap_or_default();
                text.push_str(&value.to_string_lossy());
            }
        }
        Placeholder::Root => text.push_str(context.root.path()),
        Placeholder::RequestId => {
            let _ = write!(text, "{:016x}", context.id);
        }
        Placeholder::TraceId => {
            if let Some(trace) = &context.trace {
                let _ = write!(text, "{}", trace.context.trace);
            }
        }
        Placeholder::SpanId => {
            if let Some(trace) = &context.trace {
                let _ = write!(text, "{:016x}", trace.context.span);
            }
        }
        Placeholder::UnixTime => {
            let _ = write!(text, "{}", since_1970().as_secs());
        }
        Placeholder::UnixMilliseconds => {
            let _ = write!(text, "{}", since_1970().as_millis());
        }
        Placeholder::HttpTime => {
            let _ = write!(text, "{}", httpdate::HttpDate::from(SystemTime::now()));
        }
        Placeholder::OrigMethod => text.push_str(context.original.method.as_str()),
        Placeholder::OrigQuery => text.push_str(context.original.uri.query().unwrap_or("")),
        Placeholder::OrigPrefixedQuery => {
            if let Some(query) = context.original.uri.query() {
                text.push('?');
                text.push_str(query);
            }
        }
        Placeholder::OrigDir => {
            let path = original_path(context, purpose);
            text.push_str(&path[..=path.rfind('/').unwrap_or(0)]);
        }
        Placeholder::OrigFile => {
            let path = original_path(context, purpose);
            text.push_str(path.rsplit('/').next().unwrap_or(""));
        }
        other => push_more(text, other, context, purpose),
    }
}

/// Placeholders that are known once something was done with the request.
fn push_more(text: &mut String, placeholder: &Placeholder, context: &Context<'_>, purpose: Use) {
    match placeholder {
        Placeholder::Var(name) => {
            if let Some(var) = context.notes.var(name) {
                text.push_str(var.of(purpose));
            }
        }
        Placeholder::User => text.push_str(context.notes.user.as_deref().unwrap_or("")),
        Placeholder::Group(name, group) => {
            context.notes.with_group(name, group, |found, of_path| {
                if of_path && purpose == Use::Uri {
                    text.push_str(&path::encode(found));
                } else {
                    text.push_str(found);
                }
            });
        }
        Placeholder::FileMatch(part) => context.notes.with_file(|file| {
            let found = match part {
                FileMatch::Relative => &file.relative,
                FileMatch::Absolute => &file.absolute,
                FileMatch::Remainder => &file.remainder,
                FileMatch::Type if file.is_directory => "directory",
                FileMatch::Type => "file",
            };
            if purpose == Use::Uri {
                text.push_str(&path::encode(found));
            } else {
                text.push_str(found);
            }
        }),
        Placeholder::HostLabel(index) => {
            let host = context.host().map_or("", |host| host.name);
            text.push_str(host.rsplit('.').nth(*index).unwrap_or(""));
        }
        Placeholder::Protocol => {
            let _ = write!(text, "{:?}", context.original.version);
        }
        Placeholder::EscapedPath => text.extend(escaped(&context.path)),
        Placeholder::EscapedQuery => text.extend(escaped(context.query())),
        Placeholder::EscapedUri => text.extend(escaped(&context.target())),
        Placeholder::TlsVersion => {
            // `TLSv1.3` in the words of Caddy.
            let version = context.connection.tls.as_ref();
            if let Some(number) = version.and_then(|tls| tls.protocol.strip_prefix("TLSv")) {
                text.push_str("tls");
                text.push_str(number);
            }
        }
        Placeholder::TlsCipher => {
            let tls = context.connection.tls.as_ref();
            text.push_str(tls.map_or("", |tls| tls.cipher));
        }
        Placeholder::TlsClient(part) => {
            let tls = context.connection.tls.as_ref();
            if let Some(own) = tls.and_then(|tls| tls.client.certificate()) {
                match part {
                    ClientPart::Subject => text.push_str(&own.subject),
                    ClientPart::Issuer => text.push_str(&own.issuer),
                    ClientPart::Serial => text.push_str(&own.serial_decimal),
                    ClientPart::Fingerprint => text.push_str(&own.fingerprint()),
                    ClientPart::Pem => text.push_str(&own.pem()),
                    ClientPart::Der => text.push_str(&own.der_base64()),
                }
            }
        }
        Placeholder::LocalHost => {
            let _ = write!(text, "{}", context.connection.local.ip());
        }
        Placeholder::LocalPort => {
            let _ = write!(text, "{}", context.connection.local.port());
        }
        Placeholder::FileBase | Placeholder::FileExtension => {
            let path = path_text(context, purpose);
            let file = path.rsplit('/').next().unwrap_or("");
            let dot = file.rfind('.').unwrap_or(file.len());
            let (base, extension) = file.split_at(dot);
            text.push_str(if *placeholder == Placeholder::FileBase {
                base
            } else {
                extension
            });
        }
        Placeholder::ErrorStatus => {
            if let Some(problem) = context.problem {
                text.push_str(problem.status.as_str());
            }
        }
        Placeholder::ErrorText => {
            let reason = context
                .problem
                .and_then(|problem| problem.status.canonical_reason());
            text.push_str(reason.unwrap_or(""));
        }
        Placeholder::ErrorMessage => {
            text.push_str(context.problem.map_or("", |problem| &problem.message));
        }
        Placeholder::ResponseStatus => {
            if let Some(response) = context.response {
                text.push_str(response.status.as_str());
            }
        }
        Placeholder::ResponseHeader(name) => {
            let value = context
                .response
                .and_then(|response| response.headers.get(name.as_str()));
            if let Some(value) = value {
                text.push_str(&String::from_utf8_lossy(value.as_bytes()));
            }
        }
        // The upstream is not chosen yet; `header_up` puts it in later.
        _ => {}
    }
}

fn since_1970() -> Duration {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default()
}

fn path_text<'c>(context: &'c Context<'_>, purpose: Use) -> Cow<'c, str> {
    match purpose {
        Use::Uri => Cow::Borrowed(context.escaped_path()),
        Use::File => Cow::Borrowed(&*context.path),
    }
}

/// The path before rewrites.
fn original_path<'c>(context: &'c Context<'_>, purpose: Use) -> Cow<'c, str> {
    let path = context.original.uri.path();
    match purpose {
        Use::Uri => Cow::Borrowed(path),
        // What cannot be decoded was refused before there were routes.
        Use::File => path::normalise(path).unwrap_or(Cow::Borrowed(path)),
    }
}

fn push_path(text: &mut String, context: &Context<'_>, purpose: Use) {
    text.push_str(&path_text(context, purpose));
}

fn push_query(text: &mut String, context: &Context<'_>) {
    let query = context.query();
    if !query.is_empty() {
        text.push('?');
        text.push_str(query);
    }
}
