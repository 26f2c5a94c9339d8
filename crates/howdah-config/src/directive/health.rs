//! Active health checks of upstreams: options that `reverse_proxy` and `php_fastcgi` have in
//! common.

use std::time::Duration;

use super::encode::statuses;
use crate::error::{Error, ErrorKind};
use crate::model::{HealthCheck, StatusRange, Upstream};
use crate::syntax::tree::Word;
use crate::table::template::literal;
use crate::table::value::{self, duration, header_name, is_token, number};
use crate::table::{Call, Entry, bad_value};

/// In `health_headers`: the upstream that is checked.
const TARGET: &str = "{http.reverse_proxy.active.target_upstream}";

/// Options read so far of a block.
#[derive(Debug, Default)]
pub(crate) struct Draft {
    uri: Option<String>,
    /// Another option was read.
    has_others: bool,
    interval: Option<Duration>,
    timeout: Option<Duration>,
    status: Option<StatusRange>,
    method: Option<String>,
    headers: Vec<(String, Vec<String>)>,
    request_body: Option<String>,
    body: Option<String>,
    port: Option<u16>,
    upstream: Option<Upstream>,
    passes: Option<u32>,
    fails: Option<u32>,
    follows_redirects: bool,
}

impl Draft {
    /// With Caddy's defaults; `None` if there are no checks.
    pub(super) fn finish(self, call: &Call<'_>) -> Result<Option<HealthCheck>, Error> {
        // As in Caddy, a port is enough.
        let uri = self.uri.or(self.port.map(|_| "/".to_owned()));
        let Some(uri) = uri else {
            if self.has_others {
                return Err(call.error(
                    ErrorKind::Conflict,
                    "options of `health_uri` have no effect without it".into(),
                    "write `health_uri PATH` too",
                ));
            }
            return Ok(None);
        };
        let default = HealthCheck::new(uri);
        Ok(Some(HealthCheck {
            interval: self.interval.unwrap_or(default.interval),
            timeout: self.timeout.unwrap_or(default.timeout),
            status: self.status.unwrap_or(default.status),
            method: self.method.unwrap_or(default.method),
            headers: self.headers,
            request_body: self.request_body.unwrap_or_default(),
            body: self.body,
            port: self.port,
            upstream: self.upstream,
            passes: self.passes.unwrap_or(default.passes),
            fails: self.fails.unwrap_or(default.fails),
            follows_redirects: self.follows_redirects,
            ..default
        }))
    }
}

pub(super) const URI: Entry = Entry {
    name: "health_uri",
    syntax: "health_uri PATH",
    default: "no active health checks; `/` with `health_port`",
    about: "Active health check: requests this path from each upstream, from the first request on, and uses the \
        healthy ones.",
    differs: "Caddy starts checking at its start.",
    example: "health_uri /health",
};

pub(super) const INTERVAL: Entry = Entry {
    name: "health_interval",
    syntax: "health_interval DURATION",
    default: "`30s`",
    about: "The time between two checks of `health_uri`.",
    differs: "",
    example: "health_interval 10s",
};

pub(super) const TIMEOUT: Entry = Entry {
    name: "health_timeout",
    syntax: "health_timeout DURATION",
    default: "`5s`",
    about: "An upstream that takes longer to respond is unhealthy.",
    differs: "",
    example: "health_timeout 2s",
};

pub(super) const STATUS: Entry = Entry {
    name: "health_status",
    syntax: "health_status CODE|4xx",
    default: "`2xx`",
    about: "Status of a healthy upstream.",
    differs: "",
    example: "health_status 204",
};

pub(super) const METHOD: Entry = Entry {
    name: "health_method",
    syntax: "health_method METHOD",
    default: "`GET`",
    about: "Method of the request of `health_uri`.",
    differs: "",
    example: "health_method HEAD",
};

pub(super) const HEADERS: Entry = Entry {
    name: "health_headers",
    syntax: "health_headers { NAME VALUE… }",
    default: "`Host` is the address of the upstream, `User-Agent` is `Howdah`",
    about: "Header fields of the request of `health_uri`. Several VALUEs are several fields. \
            `{http.reverse_proxy.active.target_upstream}` in a VALUE is the upstream that is checked.",
    differs: "No other placeholders.",
    example: "health_headers {\n\tHost app.example.com\n}",
};

pub(super) const REQUEST_BODY: Entry = Entry {
    name: "health_request_body",
    syntax: "health_request_body TEXT",
    default: "no body",
    about: "The body of the request of `health_uri`.",
    differs: "No placeholders.",
    example: "health_request_body ping",
};

pub(super) const UPSTREAM: Entry = Entry {
    name: "health_upstream",
    syntax: "health_upstream HOST:PORT",
    default: "the upstream itself",
    about: "A server that reports the health of all upstreams: it gets the checks \
            in their place; `health_headers` can name the upstream. `health_port` has no effect then.",
    differs: "",
    example: "health_upstream 127.0.0.1:9100",
};

pub(super) const BODY: Entry = Entry {
    name: "health_body",
    syntax: "health_body REGEXP",
    default: "any body",
    about: "A healthy upstream responds with a body that has a match of this regular expression, in its first \
            64 KiB.",
    differs: "",
    example: "health_body \"status: ok\"",
};

pub(super) const PORT: Entry = Entry {
    name: "health_port",
    syntax: "health_port PORT",
    default: "the port of the upstream",
    about: "The port that is checked, on the host of each upstream. Unix sockets have none.",
    differs: "",
    example: "health_port 8081",
};

pub(super) const PASSES: Entry = Entry {
    name: "health_passes",
    syntax: "health_passes NUMBER",
    default: "`1`",
    about: "Successful checks in a row that make an unhealthy upstream healthy.",
    differs: "",
    example: "health_passes 2",
};

pub(super) const FAILS: Entry = Entry {
    name: "health_fails",
    syntax: "health_fails NUMBER",
    default: "`1`",
    about: "Failed checks in a row that make a healthy upstream unhealthy.",
    differs: "",
    example: "health_fails 3",
};

pub(super) const FOLLOW_REDIRECTS: Entry = Entry {
    name: "health_follow_redirects",
    syntax: "health_follow_redirects",
    default: "a redirect is the response",
    about: "Follows up to ten redirects of the request of `health_uri`, with GET unless they are 307 or 308.",
    differs: "Only redirects to the same server: one to another host is the response.",
    example: "health_follow_redirects",
};

pub(super) fn uri(call: &Call<'_>, draft: &mut Draft) -> Result<(), Error> {
    let word = call.one()?;
    let uri = literal(word, "a path to request")?;
    let printable = uri.bytes().all(|byte| byte.is_ascii_graphic());
    if !uri.starts_with('/') || !printable {
        return Err(bad_value(
            &word.position,
            format!("`{}` is not a path", word.text),
            "a path starts with `/` and has no spaces",
        ));
    }
    draft.uri = Some(uri);
    Ok(())
}

pub(super) fn interval(call: &Call<'_>, draft: &mut Draft) -> Result<(), Error> {
    draft.has_others = true;
    call.set(&mut draft.interval, duration(call)?)
}

pub(super) fn timeout(call: &Call<'_>, draft: &mut Draft) -> Result<(), Error> {
    draft.has_others = true;
    call.set(&mut draft.timeout, duration(call)?)
}

pub(super) fn status(call: &Call<'_>, draft: &mut Draft) -> Result<(), Error> {
    draft.has_others = true;
    call.set(&mut draft.status, statuses(call.one()?)?)
}

pub(super) fn method(call: &Call<'_>, draft: &mut Draft) -> Result<(), Error> {
    let word = call.one()?;
    if !is_token(&word.text) {
        return Err(bad_value(
            &word.position,
            format!("`{}` is not a valid HTTP method", word.text),
            "write for example `HEAD`",
        ));
    }
    draft.has_others = true;
    // As in Caddy.
    call.set(&mut draft.method, word.text.to_ascii_uppercase())
}

pub(super) fn headers(call: &Call<'_>, draft: &mut Draft) -> Result<(), Error> {
    call.count(0, 0)?;
    for line in call.block()? {
        if line.arguments.is_empty() {
            return Err(bad_value(
                &line.name.position,
                format!("`{}` needs a value", line.name.text),
                "write `NAME VALUE`, and quotes around a VALUE with spaces",
            ));
        }
        let name = header_name(&line.name, &line.name.text)?;
        for value in &line.arguments {
            draft.headers.push((name.clone(), header_value(value)?));
        }
    }
    draft.has_others = true;
    Ok(())
}

/// The pieces of a value between which the name of the upstream stands.
fn header_value(value: &Word) -> Result<Vec<String>, Error> {
    if value.text.chars().any(char::is_control) {
        return Err(bad_value(
            &value.position,
            format!("`{}` is not the value of a header field", value.text),
            "remove the control characters",
        ));
    }
    let pieces = value.text.split(TARGET).map(|text| {
        let mut piece = value.clone();
        text.clone_into(&mut piece.text);
        literal(&piece, "the value of a header field")
    });
    pieces.collect()
}

pub(super) fn request_body(call: &Call<'_>, draft: &mut Draft) -> Result<(), Error> {
    draft.has_others = true;
    let text = literal(call.one()?, "the body of a health check")?;
    call.set(&mut draft.request_body, text)
}

pub(super) fn upstream(call: &Call<'_>, draft: &mut Draft) -> Result<(), Error> {
    let word = call.one()?;
    let (host, Some(port)) = value::split_port(&word.text) else {
        return Err(bad_value(
            &word.position,
            format!("`{}` has no port", word.text),
            "write for example `health_upstream 127.0.0.1:9100`",
        ));
    };
    draft.has_others = true;
    let upstream = Upstream::Tcp {
        host: host.to_owned(),
        port: value::port(word, port)?,
    };
    call.set(&mut draft.upstream, upstream)
}

pub(super) fn body(call: &Call<'_>, draft: &mut Draft) -> Result<(), Error> {
    let word = call.one()?;
    crate::matcher::check_regexp(word, &word.text)?;
    draft.has_others = true;
    call.set(&mut draft.body, word.text.clone())
}

pub(super) fn port(call: &Call<'_>, draft: &mut Draft) -> Result<(), Error> {
    let word = call.one()?;
    draft.has_others = true;
    call.set(&mut draft.port, value::port(word, &word.text)?)
}

pub(super) fn follow_redirects(call: &Call<'_>, draft: &mut Draft) -> Result<(), Error> {
    call.arguments(0, 0)?;
    draft.has_others = true;
    draft.follows_redirects = true;
    Ok(())
}

pub(super) fn passes(call: &Call<'_>, draft: &mut Draft) -> Result<(), Error> {
    draft.has_others = true;
    call.set(&mut draft.passes, number(call, 1)?)
}

pub(super) fn fails(call: &Call<'_>, draft: &mut Draft) -> Result<(), Error> {
    draft.has_others = true;
    call.set(&mut draft.fails, number(call, 1)?)
}
