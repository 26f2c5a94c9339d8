//! Parts of the model: text with placeholders.

/// Text with placeholders, split once when the configuration is read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Template {
    /// In order.
    pub parts: Vec<Part>,
}

/// A piece of a [`Template`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// As it stands.
    Text(String),
    /// Replaced for each request.
    Placeholder(Placeholder),
}

/// Placeholders, each with its names in Caddy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Placeholder {
    /// `{path}`, `{http.request.uri.path}`: after rewrites; escaped as in the request in URIs and texts, decoded in
    /// comparisons and file names.
    Path,
    /// `{file}`: the last element of the path.
    File,
    /// `{dir}`: the path up to the last slash.
    Dir,
    /// `{query}`.
    Query,
    /// `{?query}`: with its question mark; empty without a query.
    PrefixedQuery,
    /// `{uri}`: path and query.
    Uri,
    /// `{orig_uri}` and `{http.request.orig_uri}`: before rewrites.
    OrigUri,
    /// `{http.request.orig_uri.path}`.
    OrigPath,
    /// `{method}`.
    Method,
    /// `{host}`: without port.
    Host,
    /// `{hostport}`.
    HostPort,
    /// `{port}`: of the Host header or the listener.
    Port,
    /// `{scheme}`.
    Scheme,
    /// `{remote}`: address and port of the client.
    Remote,
    /// `{remote_host}`: the peer of the connection.
    RemoteHost,
    /// `{client_ip}`: the client's address; trusted proxies may forward it.
    ClientIp,
    /// `{remote_port}`.
    RemotePort,
    /// `{header.NAME}`: lower case.
    Header(String),
    /// `{cookie.NAME}`.
    Cookie(String),
    /// `{query.NAME}`.
    QueryValue(String),
    /// `{path.N}`: the Nth element of the path.
    PathElement(usize),
    /// `{http.request.orig_uri.path.N}`: the same before rewrites.
    OrigPathElement(usize),
    /// `{env.NAME}`: of the server's environment, read for each request.
    Env(String),
    /// `{root}`, `{http.vars.root}`.
    Root,
    /// `{http.request.body}`.
    Body,
    /// `{http.request.body_base64}`.
    BodyBase64,
    /// `{http.request.uuid}`, `{uuid}`: the request's id.
    RequestId,
    /// `{time.now.unix}`.
    UnixTime,
    /// `{time.now.unix_ms}`.
    UnixMilliseconds,
    /// `{time.now.http}`: as in the header field `Date`.
    HttpTime,
    /// `{time.now.common_log}`: as in logs of the Common Log Format, in UTC.
    CommonLogTime,
    /// `{time.now.year}`: in UTC.
    Year,
    /// `{system.hostname}` and the like.
    System(SystemPart),
    /// `{http.shutting_down}`: `true` or `false`.
    ShuttingDown,
    /// `{http.time_until_shutdown}`: empty until the server is ordered to stop.
    TimeUntilShutdown,
    /// `{%path}`: decoded, then escaped for a value in a query.
    EscapedPath,
    /// `{%query}`: escaped once more.
    EscapedQuery,
    /// `{%uri}`: path and query, escaped once more.
    EscapedUri,
    /// `{tls_version}`: `tls1.3`; empty without encryption.
    TlsVersion,
    /// `{tls_cipher}`: the suite by its IANA name; empty without encryption and over HTTP/3.
    TlsCipher,
    /// `{tls_client_subject}` and the like: empty without a client certificate.
    TlsClient(ClientPart),
    /// `{http.vars.trace_id}`: empty without `tracing`.
    TraceId,
    /// `{http.vars.span_id}`: empty without `tracing`.
    SpanId,
    /// `{vars.NAME}`.
    Var(String),
    /// `{re.NAME.GROUP}`, `{re.GROUP}`: the match of a group in a regular expression; the name may
    /// be empty.
    Group(String, String),
    /// `{file_match.*}`: the file that the last `file` matcher found.
    FileMatch(FileMatch),
    /// `{labels.N}`: a label of the host, counted from the right.
    HostLabel(usize),
    /// `{orig_method}`.
    OrigMethod,
    /// `{orig_query}`.
    OrigQuery,
    /// `{orig_?query}`.
    OrigPrefixedQuery,
    /// `{orig_dir}`.
    OrigDir,
    /// `{orig_file}`.
    OrigFile,
    /// `{http.request.proto}`: `HTTP/1.1`.
    Protocol,
    /// `{http.request.local}`: address and port.
    Local,
    /// `{http.request.local.host}`.
    LocalHost,
    /// `{http.request.local.port}`.
    LocalPort,
    /// `{http.request.uri.path.file.base}`: the last element without its extension.
    FileBase,
    /// `{http.request.uri.path.file.ext}`: its extension, with the dot.
    FileExtension,
    /// `{http.auth.user.id}`.
    User,
    /// `{err.status_code}`.
    ErrorStatus,
    /// `{err.status_text}`.
    ErrorText,
    /// `{err.message}`.
    ErrorMessage,
    /// `{err.id}`: the id of the request.
    ErrorId,
    /// `{err.trace}`: empty.
    ErrorTrace,
    /// `{rp.status_code}`, `{resp.status_code}`: of the response in `handle_response`.
    ResponseStatus,
    /// `{rp.status_text}`, `{resp.status_text}`: the same in words.
    ResponseStatusText,
    /// `{rp.header.NAME}`, `{resp.header.NAME}`: lower case.
    ResponseHeader(String),
    /// `{upstream_hostport}` and the like: once an upstream is chosen, or has responded.
    Upstream(UpstreamPart),
    /// `{http.request.duration}` and other costs of a request: only in `header`, `header_down` and
    /// `log_append`.
    Figure(Figure),
}

/// `{system.*}`: the machine and the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are the documentation")]
pub enum SystemPart {
    /// The name of the machine.
    Hostname,
    /// `linux`.
    Os,
    /// The processor by its name in Go: `amd64`, `arm64`.
    Arch,
    /// What separates names in a path.
    Slash,
    WorkingDirectory,
}

/// `{rp.*}`: the upstream of a `reverse_proxy`, and the time that it takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UpstreamPart {
    /// Its name: `HOST:PORT`, or the path of a socket after `unix/`.
    HostPort,
    /// Its host, or the path of a socket.
    Host,
    /// Its port; empty for a socket.
    Port,
    /// Its name after the network: `tcp/HOST:PORT`.
    Address,
    /// Its other requests in flight.
    Requests,
    /// The limit of these; 0 without a limit.
    MaxRequests,
    /// Its failures that have not expired.
    Fails,
    /// Time until its response, in Go's format.
    Latency,
    /// The same in milliseconds.
    LatencyMs,
    /// Time until the end of its response, in Go's format: only in `log_append`.
    Duration,
    /// The same in milliseconds.
    DurationMs,
    /// The same with all attempts, in Go's format.
    TotalDuration,
    /// The same in milliseconds.
    TotalDurationMs,
    /// Attempts before the last one.
    Retries,
}

/// Costs of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Figure {
    /// Time since the end of its header, in Go's format.
    Duration,
    /// The same in milliseconds.
    DurationMs,
    /// The status of the response.
    Status,
    /// Bytes of the request's body.
    BytesRead,
    /// Bytes of the response's body.
    Size,
    /// Wait for a worker, in milliseconds.
    Queue,
    /// From then until the worker was done, in milliseconds.
    Php,
    /// Processor time of PHP, in milliseconds.
    Cpu,
    /// Time in calls of database extensions, in milliseconds.
    Database,
    /// SQL statements in these calls.
    Queries,
    /// Peak of PHP's allocator, in bytes.
    MemoryPeak,
}

/// A part of a client's certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClientPart {
    /// Its subject, in the form of RFC 4514.
    Subject,
    /// Its issuer, in the same form.
    Issuer,
    /// Its serial number, in decimal.
    Serial,
    /// Its SHA-256, in hexadecimal.
    Fingerprint,
    /// The whole certificate in PEM.
    Pem,
    /// The whole certificate in base64, on one line.
    Der,
}

/// `{file_match.*}`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileMatch {
    /// The path below the root.
    Relative,
    /// The whole path on disk.
    Absolute,
    /// `file` or `directory`.
    Type,
    /// The part after `split_path`.
    Remainder,
}

impl Template {
    /// A template without placeholders.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        let text = text.into();
        if text.is_empty() {
            Self::default()
        } else {
            Self {
                parts: vec![Part::Text(text)],
            }
        }
    }

    /// The text, if it contains no placeholders.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        match self.parts.as_slice() {
            [] => Some(""),
            [Part::Text(text)] => Some(text),
            _ => None,
        }
    }
}
