//! The table of placeholders.

use crate::model::{ClientPart, Figure, FileMatch, Placeholder, SystemPart, UpstreamPart};

/// A placeholder of the reference page.
pub(crate) struct PlaceholderEntry {
    /// Names without braces, the short one first. One that ends in a dot takes a parameter.
    pub(crate) names: &'static [&'static str],
    pub(crate) make: Constructor,
    pub(crate) about: &'static str,
}

/// How a name becomes a placeholder.
pub(crate) enum Constructor {
    Plain(fn() -> Placeholder),
    /// From the text after the dot.
    With(fn(&str) -> Option<Placeholder>),
}

fn named(name: &str, make: fn(String) -> Placeholder) -> Option<Placeholder> {
    (!name.is_empty()).then(|| make(name.to_owned()))
}

/// `GROUP` or `NAME.GROUP`.
fn group(text: &str) -> Option<Placeholder> {
    let (name, group) = text.rsplit_once('.').unwrap_or(("", text));
    (!group.is_empty()).then(|| Placeholder::Group(name.to_owned(), group.to_owned()))
}

macro_rules! plain {
    ($variant:ident $(($of:expr))?, $about:literal, $($name:expr),+) => {
        PlaceholderEntry { names: &[$($name),+], make: Constructor::Plain(|| Placeholder::$variant $(($of))?), about: $about }
    };
}

/// A part of the upstream, by the end of its name.
macro_rules! upstream {
    ($part:ident, $about:literal, $name:literal) => {
        plain!(
            Upstream(UpstreamPart::$part),
            $about,
            concat!("rp.upstream.", $name),
            concat!("http.reverse_proxy.upstream.", $name)
        )
    };
}

macro_rules! with {
    ($make:expr, $about:literal, $($name:literal),+) => {
        PlaceholderEntry { names: &[$($name),+], make: Constructor::With($make), about: $about }
    };
}

/// All placeholders. `path.` comes after the longer names that start with it, since the first
/// match counts.
pub(crate) const PLACEHOLDERS: &[PlaceholderEntry] = &[
    plain!(
        Path,
        "The path after rewrites: escaped as in the request where it becomes part of a URI or text, decoded \
         where it is compared or names a file.",
        "path",
        "http.request.uri.path"
    ),
    plain!(
        File,
        "The last element of the path.",
        "file",
        "http.request.uri.path.file"
    ),
    plain!(
        Dir,
        "The path up to its last slash.",
        "dir",
        "http.request.uri.path.dir"
    ),
    plain!(
        Query,
        "The query without its question mark.",
        "query",
        "http.request.uri.query"
    ),
    plain!(
        PrefixedQuery,
        "The query with its question mark; empty without a query.",
        "?query",
        "http.request.uri.prefixed_query"
    ),
    plain!(Uri, "Path and query.", "uri", "http.request.uri"),
    plain!(
        OrigUri,
        "Path and query before rewrites.",
        "orig_uri",
        "http.request.orig_uri"
    ),
    plain!(
        OrigPath,
        "The path before rewrites.",
        "orig_path",
        "http.request.orig_uri.path"
    ),
    plain!(Method, "The method.", "method", "http.request.method"),
    plain!(
        Host,
        "The Host header without its port.",
        "host",
        "http.request.host"
    ),
    plain!(
        HostPort,
        "The Host header.",
        "hostport",
        "http.request.hostport"
    ),
    plain!(
        Port,
        "The port of the Host header or, without one, of the listener.",
        "port",
        "http.request.port"
    ),
    plain!(
        Scheme,
        "`http` or `https`.",
        "scheme",
        "http.request.scheme"
    ),
    plain!(
        Remote,
        "Address and port of the client.",
        "remote",
        "http.request.remote"
    ),
    plain!(
        RemoteHost,
        "Address of the connection's other side.",
        "remote_host",
        "http.request.remote.host"
    ),
    plain!(
        ClientIp,
        "Address of the client: behind a trusted proxy (`trusted_proxies`) the address that it sends, otherwise the \
        peer of the connection.",
        "client_ip",
        "http.vars.client_ip",
        "vars.client_ip"
    ),
    plain!(
        RemotePort,
        "Port of the client.",
        "remote_port",
        "http.request.remote.port"
    ),
    plain!(
        Root,
        "The document root.",
        "root",
        "http.vars.root",
        "vars.root"
    ),
    plain!(
        Body,
        "The body of the request, which is read into memory first; above `max_size` of `request_body`, or the global \
        `max_body_size`, the request gets a 413. PHP and upstreams still get it. In `handle_errors` and \
        `handle_response` it is empty unless the routes before have used it.",
        "http.request.body"
    ),
    plain!(
        BodyBase64,
        "The same in base64.",
        "http.request.body_base64"
    ),
    plain!(
        RequestId,
        "The id of the request.",
        "uuid",
        "http.request.uuid"
    ),
    plain!(UnixTime, "Seconds since 1970.", "time.now.unix"),
    plain!(
        UnixMilliseconds,
        "Milliseconds since 1970.",
        "time.now.unix_ms"
    ),
    plain!(HttpTime, "The time as in `Date`.", "time.now.http"),
    plain!(
        CommonLogTime,
        "The time as in the Common Log Format, in UTC.",
        "time.now.common_log"
    ),
    plain!(Year, "The year, in UTC.", "time.now.year"),
    plain!(
        System(SystemPart::Hostname),
        "The name of the machine.",
        "system.hostname"
    ),
    plain!(
        System(SystemPart::Os),
        "The operating system: `linux`.",
        "system.os"
    ),
    plain!(
        System(SystemPart::Arch),
        "The processor: `amd64` or `arm64`.",
        "system.arch"
    ),
    plain!(
        System(SystemPart::Slash),
        "What separates names in a path: `/`.",
        "system.slash"
    ),
    plain!(
        System(SystemPart::WorkingDirectory),
        "The working directory of the server.",
        "system.wd"
    ),
    plain!(
        ShuttingDown,
        "`true` once the server was asked to stop, before that `false`: see `shutdown_delay`.",
        "http.shutting_down"
    ),
    plain!(
        TimeUntilShutdown,
        "How long connections are still accepted while the server shuts down, such as `4.2s`; otherwise empty.",
        "http.time_until_shutdown"
    ),
    plain!(
        EscapedPath,
        "The path, escaped as a value in a query.",
        "%path",
        "http.request.uri.path_escaped"
    ),
    plain!(
        EscapedQuery,
        "The query, escaped as a value in another one.",
        "%query",
        "http.request.uri.query_escaped"
    ),
    plain!(
        EscapedUri,
        "Path and query, escaped as a value in a query.",
        "%uri",
        "http.request.uri_escaped"
    ),
    plain!(
        TlsVersion,
        "`tls1.3` or `tls1.2`, empty without encryption.",
        "tls_version",
        "http.request.tls.version"
    ),
    plain!(
        TlsCipher,
        "The cipher suite, empty without encryption and over HTTP/3.",
        "tls_cipher",
        "http.request.tls.cipher_suite"
    ),
    plain!(
        TlsClient(ClientPart::Subject),
        "The subject of the client's certificate, `CN=member,O=Club`; empty without `client_auth` and without one.",
        "tls_client_subject",
        "http.request.tls.client.subject"
    ),
    plain!(
        TlsClient(ClientPart::Issuer),
        "Its issuer, in the same form.",
        "tls_client_issuer",
        "http.request.tls.client.issuer"
    ),
    plain!(
        TlsClient(ClientPart::Serial),
        "Its serial number, in decimal.",
        "tls_client_serial",
        "http.request.tls.client.serial"
    ),
    plain!(
        TlsClient(ClientPart::Fingerprint),
        "Its SHA-256, in hexadecimal.",
        "tls_client_fingerprint",
        "http.request.tls.client.fingerprint"
    ),
    plain!(
        TlsClient(ClientPart::Pem),
        "All of it in PEM, on several lines.",
        "tls_client_certificate_pem",
        "http.request.tls.client.certificate_pem"
    ),
    plain!(
        TlsClient(ClientPart::Der),
        "All of it in base64, on one line: for a header field of an upstream.",
        "tls_client_certificate_der_base64",
        "http.request.tls.client.certificate_der_base64"
    ),
    plain!(
        TraceId,
        "The id of the request's trace; empty without `tracing`.",
        "http.vars.trace_id",
        "vars.trace_id"
    ),
    plain!(
        SpanId,
        "The id of the request's span; empty without `tracing`.",
        "http.vars.span_id",
        "vars.span_id"
    ),
    plain!(
        Figure(Figure::Duration),
        "Time since the end of the request header, such as `12.345ms` or `4.2s`: in `log_append` the whole time of the request, in `header` and `header_down` the time until the response. Using it elsewhere, before the response exists, is an error; the same applies to the placeholders that follow, down to `{howdah.memory_peak}`.",
        "http.request.duration",
        "http.response.duration"
    ),
    plain!(
        Figure(Figure::DurationMs),
        "The same in milliseconds: `12.345`.",
        "http.request.duration_ms",
        "http.response.duration_ms"
    ),
    plain!(
        Figure(Figure::Status),
        "The status of the response.",
        "http.response.status"
    ),
    plain!(
        Figure(Figure::Size),
        "Bytes of the response body; only in `log_append`, empty in headers.",
        "http.response.size"
    ),
    plain!(
        Figure(Figure::BytesRead),
        "Bytes of the request body; only in `log_append`, empty in headers.",
        "howdah.bytes_read"
    ),
    plain!(
        Figure(Figure::Queue),
        "Milliseconds that the request waited for a worker.",
        "howdah.queue_ms"
    ),
    plain!(
        Figure(Figure::Php),
        "Milliseconds that the worker had it. In `header` this and the four that follow are empty if the script runs on after the header.",
        "howdah.php_ms"
    ),
    plain!(
        Figure(Figure::Cpu),
        "Milliseconds of CPU time of the PHP process.",
        "howdah.cpu_ms"
    ),
    plain!(
        Figure(Figure::Database),
        "Milliseconds in calls of database extensions.",
        "howdah.database_ms"
    ),
    plain!(
        Figure(Figure::Queries),
        "SQL statements of these calls.",
        "howdah.database_queries"
    ),
    plain!(
        Figure(Figure::MemoryPeak),
        "Peak of PHP's allocator, in bytes.",
        "howdah.memory_peak"
    ),
    with!(
        |name| named(&name.to_ascii_lowercase(), Placeholder::Header)
            .filter(|_| crate::table::value::is_token(name)),
        "A header field of the request.",
        "header.",
        "http.request.header."
    ),
    with!(
        |name| named(name, Placeholder::Cookie),
        "A cookie.",
        "cookie.",
        "http.request.cookie."
    ),
    with!(
        |name| named(name, Placeholder::QueryValue),
        "A query parameter.",
        "query.",
        "http.request.uri.query."
    ),
    with!(
        |name| named(name, Placeholder::Var),
        "A variable that `vars` set; empty if it is not set.",
        "vars.",
        "http.vars."
    ),
    with!(
        group,
        "What a regular expression found: `{re.NAME.1}` is the first group of the one with that name, \
         `{re.1}` that of the last one that matched.",
        "re.",
        "http.regexp."
    ),
    plain!(
        FileMatch(FileMatch::Relative),
        "What the last `file` matcher found, below its root.",
        "file_match.relative",
        "http.matchers.file.relative"
    ),
    plain!(
        FileMatch(FileMatch::Absolute),
        "What the last `file` matcher found, as a whole path.",
        "file_match.absolute",
        "http.matchers.file.absolute"
    ),
    plain!(
        FileMatch(FileMatch::Type),
        "What it is: `file` or `directory`.",
        "file_match.type",
        "http.matchers.file.type"
    ),
    plain!(
        FileMatch(FileMatch::Remainder),
        "What `split_path` cut off from it.",
        "file_match.remainder",
        "http.matchers.file.remainder"
    ),
    plain!(
        OrigMethod,
        "The method before `method`.",
        "orig_method",
        "http.request.orig_method"
    ),
    plain!(
        OrigQuery,
        "The query before rewrites.",
        "orig_query",
        "http.request.orig_uri.query"
    ),
    plain!(
        OrigPrefixedQuery,
        "The query before rewrites with its question mark; empty without a query.",
        "orig_?query",
        "http.request.orig_uri.prefixed_query"
    ),
    plain!(
        OrigDir,
        "The path before rewrites up to its last slash.",
        "orig_dir",
        "http.request.orig_uri.path.dir"
    ),
    plain!(
        OrigFile,
        "The last element of the path before rewrites.",
        "orig_file",
        "http.request.orig_uri.path.file"
    ),
    plain!(
        Protocol,
        "`HTTP/1.1`, `HTTP/2.0` and so on.",
        "http.request.proto"
    ),
    plain!(
        LocalHost,
        "Address of the server's side of the connection.",
        "http.request.local.host"
    ),
    plain!(
        Local,
        "Address and port of the server's side of the connection.",
        "http.request.local"
    ),
    plain!(
        LocalPort,
        "Port of the server's side of the connection.",
        "http.request.local.port"
    ),
    plain!(
        FileBase,
        "The last element of the path without its extension.",
        "file.base",
        "http.request.uri.path.file.base"
    ),
    plain!(
        FileExtension,
        "The extension of the last element of the path, with its dot.",
        "file.ext",
        "http.request.uri.path.file.ext"
    ),
    plain!(
        User,
        "The name that `basic_auth` has checked.",
        "http.auth.user.id"
    ),
    plain!(
        ErrorStatus,
        "In `handle_errors`: the status code.",
        "err.status_code",
        "http.error.status_code"
    ),
    plain!(
        ErrorText,
        "In `handle_errors`: the status code in words.",
        "err.status_text",
        "http.error.status_text"
    ),
    plain!(
        ErrorMessage,
        "In `handle_errors`: the error message.",
        "err.message",
        "http.error.message"
    ),
    plain!(
        ErrorId,
        "In `handle_errors`: the id of the request, by which the log has the cause.",
        "err.id",
        "http.error.id"
    ),
    plain!(
        ErrorTrace,
        "Always empty: places in the server's source code are not shown.",
        "err.trace",
        "http.error.trace"
    ),
    plain!(
        ResponseStatus,
        "In `handle_response`: the status code of the response.",
        "resp.status_code",
        "rp.status_code",
        "http.intercept.status_code",
        "http.reverse_proxy.status_code"
    ),
    plain!(
        ResponseStatusText,
        "In `handle_response`: the status code of the response in words.",
        "resp.status_text",
        "rp.status_text",
        "http.intercept.status_text",
        "http.reverse_proxy.status_text"
    ),
    with!(
        |name| named(&name.to_ascii_lowercase(), Placeholder::ResponseHeader)
            .filter(|_| crate::table::value::is_token(name)),
        "In `handle_response`: a header field of the response.",
        "resp.header.",
        "rp.header.",
        "http.intercept.header.",
        "http.reverse_proxy.header."
    ),
    plain!(
        Upstream(UpstreamPart::HostPort),
        "Address of the upstream of `reverse_proxy`: in `header_up`, `header_down`, `handle_response`, `header` and `log_append`, elsewhere empty. The same applies to the placeholders that follow, down to `{rp.retries}`.",
        "upstream_hostport",
        "rp.upstream.hostport",
        "http.reverse_proxy.upstream.hostport"
    ),
    upstream!(Host, "Its host, or the path of its socket.", "host"),
    upstream!(Port, "Its port; empty for a socket.", "port"),
    upstream!(
        Address,
        "Its address with the network: `tcp/HOST:PORT`.",
        "address"
    ),
    upstream!(Requests, "Its other requests in flight.", "requests"),
    upstream!(
        MaxRequests,
        "`unhealthy_request_count`; 0 without it.",
        "max_requests"
    ),
    upstream!(Fails, "Its failures within `fail_duration`.", "fails"),
    upstream!(
        Latency,
        "Time until its response; empty in `header_up`.",
        "latency"
    ),
    upstream!(LatencyMs, "The same in milliseconds.", "latency_ms"),
    upstream!(
        Duration,
        "Time until the end of its response. Only in `log_append`.",
        "duration"
    ),
    upstream!(DurationMs, "The same in milliseconds.", "duration_ms"),
    plain!(
        Upstream(UpstreamPart::TotalDuration),
        "Time of all attempts until the end of the response. Only in `log_append`.",
        "rp.duration",
        "http.reverse_proxy.duration"
    ),
    plain!(
        Upstream(UpstreamPart::TotalDurationMs),
        "The same in milliseconds.",
        "rp.duration_ms",
        "http.reverse_proxy.duration_ms"
    ),
    plain!(
        Upstream(UpstreamPart::Retries),
        "Attempts with an upstream before the last one.",
        "rp.retries",
        "http.reverse_proxy.retries"
    ),
    with!(
        |index| index.parse().ok().map(Placeholder::HostLabel),
        "A label of the host, counted from the right and from 0.",
        "labels.",
        "http.request.host.labels."
    ),
    with!(
        |index| index.parse().ok().map(Placeholder::PathElement),
        "An element of the path, counted from 0.",
        "path.",
        "http.request.uri.path."
    ),
    with!(
        |index| index.parse().ok().map(Placeholder::OrigPathElement),
        "An element of the path before rewrites, counted from 0.",
        "http.request.orig_uri.path."
    ),
    with!(
        |name| named(name, Placeholder::Env),
        "An environment variable of the server, read for each request.",
        "env."
    ),
];

/// Placeholders of Caddy that this version lacks; one that ends in a dot stands for all that start
/// with it.
pub(crate) const UNSUPPORTED: &[&str] = &[
    "block",
    "blocks.",
    "err.",
    "http.error.",
    "http.intercept.",
    "http.matchers.",
    "http.request.tls.",
    "http.reverse_proxy.",
    "resp.",
    "rp.",
    "time.now",
    "time.now.",
];
