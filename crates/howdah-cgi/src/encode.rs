//! The variables of a request.

use std::borrow::Cow;
use std::net::SocketAddr;
use std::sync::LazyLock;

use http::header::HeaderValue;
use http::{HeaderMap, Method, Uri, Version};
use memchr::memchr2;

use crate::byte_text::{BYTE_LEAD, bytes_of};
use crate::record::{self, OVERHEAD, put, put_named};
use crate::text::Text;
use crate::{Host, vars};

/// The input for the variables. Everything is borrowed; paths are decoded.
#[derive(Debug, Clone, Copy)]
pub struct Input<'a> {
    /// Identifies the request in the server's log: `HOWDAH_REQUEST_ID`, 16 hexadecimal digits.
    pub id: u64,
    /// `REQUEST_METHOD`.
    pub method: &'a Method,
    /// The target as sent, before rewrites: path and query are `REQUEST_URI`; its authority, if it has one (absolute
    /// form, HTTP/2), takes precedence over the `Host` header (RFC 9112 §3.2.2, RFC 9113 §8.3.1).
    pub target: &'a Uri,
    /// `QUERY_STRING`: raw, after rewrites, without `?`.
    pub query: &'a str,
    /// `SERVER_PROTOCOL`.
    pub version: Version,
    /// The header as sent.
    pub headers: &'a HeaderMap,
    /// The client: `REMOTE_ADDR`, `REMOTE_HOST`, `REMOTE_PORT`.
    pub remote: SocketAddr,
    /// The listener's side: `SERVER_ADDR`, and the server's name if the request has none.
    pub local: SocketAddr,
    /// `REQUEST_SCHEME`: `http` or `https`. `https` makes `HTTPS` `on`.
    pub scheme: &'a str,
    /// `DOCUMENT_ROOT`: absolute, without a trailing slash unless it is `/`.
    pub root: &'a str,
    /// `SCRIPT_NAME`: starts with `/`. Empty for a script without a path, such as a worker script outside the root:
    /// then `DOCUMENT_URI` and `PHP_SELF` are empty too.
    pub script_name: &'a str,
    /// `PATH_INFO`: empty, or starts with `/`.
    pub path_info: &'a str,
    /// `SCRIPT_FILENAME`; `None`: `root` followed by `script_name`.
    pub script_filename: Option<&'a str>,
    /// Bytes of the received body; 0 without one.
    pub body_size: u64,
    /// `SSL_PROTOCOL` of `https`, such as `TLSv1.3`; empty if unknown.
    pub tls_protocol: &'a str,
    /// `SSL_CIPHER` of `https`, the suite's IANA name; empty if unknown.
    pub tls_cipher: &'a str,
    /// `REMOTE_USER`: the user that the server authenticated. Never taken from a header, since an application that
    /// reads it relies on the server's check. `None`: the variable is missing, since applications test whether it is
    /// set.
    pub remote_user: Option<&'a str>,
    /// Additional variables; they override all others, and of one name the last counts.
    pub env: &'a [(String, String)],
}

/// Why a request cannot be passed on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the message shows what the fields are")]
pub enum Error {
    /// C would see a shorter value than the one that was checked. Respond with 400 if it comes from
    /// the request.
    #[error("{name} holds a NUL byte")]
    Nul { name: String },
    /// A variable of `env` without a name.
    #[error("a variable has no name")]
    NoName,
    /// More than 65,535 bytes. Respond with 431.
    #[error("the name of a variable is longer than 65,535 bytes")]
    NameTooLong,
    /// More than 4,294,967,295 bytes. Respond with 431.
    #[error("the value of variable number {id} is longer than 4 GiB")]
    ValueTooLong {
        /// The number in [`vars`], 0 for a variable without one.
        id: u16,
    },
}

/// Applications search for known names to decide whether URLs can be rewritten and whether `.htaccess` applies. These
/// two behave like this server in this respect.
const SOFTWARE: &str = concat!("Howdah/", env!("CARGO_PKG_VERSION"), " (like nginx, Caddy)");
const REQUEST_ID: &str = "HOWDAH_REQUEST_ID";
const PREFIX: &[u8] = b"HTTP_";

/// The records that are the same for all requests.
static CONSTANTS: LazyLock<Result<Vec<u8>, Error>> = LazyLock::new(|| {
    let mut out = Vec::new();
    put(&mut out, vars::GATEWAY_INTERFACE, &[b"CGI/1.1"])?;
    put(&mut out, vars::SERVER_SOFTWARE, &[SOFTWARE.as_bytes()])?;
    // PHP built with force-cgi-redirect, and scripts that check for it, require it.
    put(&mut out, vars::REDIRECT_STATUS, &[b"200"])?;
    Ok(out)
});

/// Appends the variables of a request to `out`. After an error `out` is as it was.
///
/// The set of variables is the one that nginx sends to PHP-FPM, since applications test whether one is set: those that
/// it sends empty (`CONTENT_TYPE`, `CONTENT_LENGTH`, `QUERY_STRING`, `PATH_INFO`) exist for every request, those that
/// it leaves out do not. In addition there are `REMOTE_HOST` and, with a `PATH_INFO`, `PATH_TRANSLATED`, as in
/// `FrankenPHP`. In detail:
///
/// - `HTTPS` is `on` with `https` and missing otherwise; `SSL_PROTOCOL` and `SSL_CIPHER` accompany it.
/// - Header fields become `HTTP_*`; several of one name are joined with `, `, `Cookie` with `; `.
/// - Left out: names with characters other than letters, digits and `-` (`Foo_Bar` and `Foo.Bar` would both look like
///   `Foo-Bar` in PHP; nginx drops them too), `Proxy` (`HTTP_PROXY` configures HTTP clients: httpoxy),
///   `Transfer-Encoding` (the body has been read).
/// - `HTTP_HOST` is left out if [`Host::parse`] rejects it. `SERVER_NAME` and `SERVER_PORT` follow it, with the
///   scheme's default port if it has none; without a valid host they are the listener's address and port.
/// - IPv4 addresses mapped into IPv6 (dual-stack listeners) are written as IPv4.
pub fn encode(input: &Input<'_>, out: &mut Vec<u8>) -> Result<(), Error> {
    let start = out.len();
    let result = Encoder {
        input,
        out: &mut *out,
    }
    .run();
    if result.is_err() {
        out.truncate(start);
    }
    result
}

/// Maximum number of bytes that [`encode`] appends for this input.
pub fn max_size(input: &Input<'_>) -> usize {
    let record = |size: usize| size + OVERHEAD;
    // Each occurrence of a text in a value, and a record for each; addresses and numbers need at most 46 and 20 bytes.
    let fixed = vars::NAMES.len() * record(0) + 3 * 46 + 4 * 20 + SOFTWARE.len() + record(64);
    let target = input
        .target
        .path_and_query()
        .map_or(1, |target| target.as_str().len() + 1);
    let host = input
        .target
        .authority()
        .map_or(0, |host| host.as_str().len());
    let texts = target
        + 2 * host
        + input.method.as_str().len()
        + input.query.len()
        + input.scheme.len()
        + 3 * input.root.len()
        + 4 * input.script_name.len()
        + 4 * input.path_info.len()
        + input.script_filename.map_or(0, str::len)
        + input.tls_protocol.len()
        + input.tls_cipher.len()
        + input.remote_user.map_or(0, str::len);
    // Host and Content-Type are written up to three times.
    let headers: usize = input
        .headers
        .iter()
        .map(|(name, value)| record(PREFIX.len() + name.as_str().len() + 3 * value.len() + 2))
        .sum();
    let env: usize = input
        .env
        .iter()
        .map(|(name, value)| record(name.len() + value.len()))
        .sum();
    fixed + texts + headers + env
}

struct Encoder<'a, 'o> {
    input: &'a Input<'a>,
    out: &'o mut Vec<u8>,
}

/// The parts of the header on which more than `HTTP_*` depends.
#[derive(Default)]
struct HeaderSummary<'a> {
    host: Option<&'a HeaderValue>,
    hosts: usize,
    content_type: Option<&'a HeaderValue>,
    content_length: bool,
}

impl<'a> Encoder<'a, '_> {
    fn run(mut self) -> Result<(), Error> {
        self.constants()?;
        self.request()?;
        self.paths()?;
        self.addresses()?;
        let seen = self.header_fields()?;
        self.host(&seen)?;
        self.content(&seen)?;
        self.env()
    }

    fn put(&mut self, id: u16, value: &[u8]) -> Result<(), Error> {
        put(self.out, id, &[value])
    }

    fn constants(&mut self) -> Result<(), Error> {
        self.out
            .extend_from_slice(CONSTANTS.as_ref().map_err(Error::clone)?);
        Ok(())
    }

    fn request(&mut self) -> Result<(), Error> {
        let input = self.input;
        self.put(vars::REQUEST_METHOD, input.method.as_str().as_bytes())?;
        put(self.out, vars::REQUEST_URI, &request_uri(input.target))?;
        self.text(vars::QUERY_STRING, input.query)?;
        self.put(vars::SERVER_PROTOCOL, protocol(input.version))?;
        self.text(vars::REQUEST_SCHEME, input.scheme)?;
        if input.scheme == "https" {
            self.put(vars::HTTPS, b"on")?;
            self.text(vars::SSL_PROTOCOL, input.tls_protocol)?;
            self.text(vars::SSL_CIPHER, input.tls_cipher)?;
        }
        if let Some(user) = input.remote_user {
            self.text(vars::REMOTE_USER, user)?;
        }
        put_named(
            self.out,
            REQUEST_ID.len(),
            |out| out.extend_from_slice(REQUEST_ID.as_bytes()),
            &hexadecimal(input.id),
        )
    }

    fn paths(&mut self) -> Result<(), Error> {
        let Input {
            root,
            script_name,
            path_info,
            ..
        } = *self.input;
        let root = &*value(vars::DOCUMENT_ROOT, root)?;
        let name = &*value(vars::SCRIPT_NAME, script_name)?;
        let info = &*value(vars::PATH_INFO, path_info)?;
        let directory = root.strip_suffix(b"/").unwrap_or(root);
        self.put(vars::DOCUMENT_ROOT, root)?;
        self.put(vars::SCRIPT_NAME, name)?;
        self.put(vars::PATH_INFO, info)?;
        self.put(vars::DOCUMENT_URI, name)?;
        match self.input.script_filename {
            Some(file) => self.text(vars::SCRIPT_FILENAME, file)?,
            None => put(self.out, vars::SCRIPT_FILENAME, &[directory, name])?,
        }
        put(self.out, vars::PHP_SELF, &[name, info])?;
        if path_info.is_empty() {
            return Ok(());
        }
        // The path as if below the root; `..` never leads above it.
        record::put_with(self.out, vars::PATH_TRANSLATED, |out| {
            out.extend_from_slice(directory);
            append_clean(out, path_info);
        })
    }

    fn addresses(&mut self) -> Result<(), Error> {
        let remote = Text::address(self.input.remote.ip());
        self.put(vars::REMOTE_ADDR, remote.as_bytes())?;
        self.put(vars::REMOTE_HOST, remote.as_bytes())?;
        self.put(
            vars::REMOTE_PORT,
            Text::number(self.input.remote.port().into()).as_bytes(),
        )?;
        self.put(
            vars::SERVER_ADDR,
            Text::address(self.input.local.ip()).as_bytes(),
        )
    }

    fn header_fields(&mut self) -> Result<HeaderSummary<'a>, Error> {
        let mut seen = HeaderSummary::default();
        // Values of one name are adjacent: the last record and its name.
        let mut last: Option<(&http::HeaderName, usize)> = None;
        for (name, value) in self.input.headers {
            if let Some((previous, start)) = last
                && previous == name
            {
                let separator: &[u8] = if name == http::header::COOKIE {
                    b"; "
                } else {
                    b", "
                };
                record::append(self.out, start, separator, value.as_bytes())?;
                continue;
            }
            let field = name.as_str();
            let id = vars::header_id(field);
            match id {
                Some(vars::HTTP_HOST) => {
                    seen.host = Some(value);
                    seen.hosts += 1;
                    continue;
                }
                Some(vars::HTTP_CONTENT_TYPE) => seen.content_type = Some(value),
                Some(vars::HTTP_CONTENT_LENGTH) => seen.content_length = true,
                None if !is_passed_on(field) => continue,
                Some(_) | None => {}
            }
            last = Some((name, self.out.len()));
            match id {
                Some(id) => self.put(id, value.as_bytes())?,
                None => put_named(
                    self.out,
                    PREFIX.len() + field.len(),
                    |out| {
                        out.extend_from_slice(PREFIX);
                        out.extend(field.bytes().map(variable_byte));
                    },
                    value.as_bytes(),
                )?,
            }
        }
        Ok(seen)
    }

    fn host(&mut self, seen: &HeaderSummary<'a>) -> Result<(), Error> {
        let named = match self.input.target.authority() {
            // A user name may precede the host of an absolute target.
            Some(authority) => authority.as_str().rsplit('@').next(),
            None if seen.hosts == 1 => seen.host.and_then(|value| value.to_str().ok()),
            None => None,
        };
        let host = named.and_then(|text| Host::parse(text).map(|host| (text, host)));
        let port = if let Some((text, host)) = host {
            self.put(vars::HTTP_HOST, text.as_bytes())?;
            self.put(vars::SERVER_NAME, host.name.as_bytes())?;
            let default = if self.input.scheme == "https" {
                443
            } else {
                80
            };
            host.port.unwrap_or(default)
        } else {
            let local = Text::address(self.input.local.ip());
            let v6 = local.as_bytes().contains(&b':');
            let (open, close): (&[u8], &[u8]) = if v6 { (b"[", b"]") } else { (b"", b"") };
            put(
                self.out,
                vars::SERVER_NAME,
                &[open, local.as_bytes(), close],
            )?;
            self.input.local.port()
        };
        self.put(vars::SERVER_PORT, Text::number(port.into()).as_bytes())
    }

    fn content(&mut self, seen: &HeaderSummary<'a>) -> Result<(), Error> {
        self.put(
            vars::CONTENT_TYPE,
            seen.content_type.map_or(b"", HeaderValue::as_bytes),
        )?;
        if self.input.body_size > 0 || seen.content_length {
            self.put(
                vars::CONTENT_LENGTH,
                Text::number(self.input.body_size).as_bytes(),
            )
        } else {
            self.put(vars::CONTENT_LENGTH, b"")
        }
    }

    fn env(&mut self) -> Result<(), Error> {
        for (name, value) in self.input.env {
            if name.is_empty() {
                return Err(Error::NoName);
            }
            if name.as_bytes().contains(&0) || value.as_bytes().contains(&0) {
                return Err(Error::Nul { name: name.clone() });
            }
            match vars::id(name) {
                Some(id) => self.put(id, &bytes_of(value))?,
                None => put_named(
                    self.out,
                    name.len(),
                    |out| out.extend_from_slice(name.as_bytes()),
                    &bytes_of(value),
                )?,
            }
        }
        Ok(())
    }

    /// A text whose type does not exclude NUL.
    fn text(&mut self, id: u16, text: &str) -> Result<(), Error> {
        self.put(id, &value(id, text)?)
    }
}

/// The value for a text whose type does not exclude NUL.
fn value(id: u16, text: &str) -> Result<Cow<'_, [u8]>, Error> {
    let bytes = text.as_bytes();
    // One search for both, since few texts have either.
    if memchr2(0, BYTE_LEAD, bytes).is_none() {
        return Ok(Cow::Borrowed(bytes));
    }
    if bytes.contains(&0) {
        return Err(Error::Nul {
            name: vars::name(id).unwrap_or_default().to_owned(),
        });
    }
    Ok(bytes_of(text))
}

/// Whether a field without a number becomes a variable; see [`encode`] for exceptions.
fn is_passed_on(field: &str) -> bool {
    field != "proxy"
        && field != "transfer-encoding"
        && field
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b == b'-')
}

/// Path and query; `*` of `OPTIONS *` stays, an authority is left out. In two parts:
/// `http://host?query` has a path, although it is not written.
fn request_uri(target: &Uri) -> [&[u8]; 2] {
    let target = target
        .path_and_query()
        .map_or("/", |target| target.as_str());
    let slash = if target.starts_with('?') { "/" } else { "" };
    [slash.as_bytes(), target.as_bytes()]
}

fn protocol(version: Version) -> &'static [u8] {
    match version {
        Version::HTTP_09 => b"HTTP/0.9",
        Version::HTTP_10 => b"HTTP/1.0",
        Version::HTTP_2 => b"HTTP/2.0",
        Version::HTTP_3 => b"HTTP/3.0",
        _ => b"HTTP/1.1",
    }
}

#[inline]
fn variable_byte(byte: u8) -> u8 {
    if byte == b'-' {
        b'_'
    } else {
        byte.to_ascii_uppercase()
    }
}

/// Appends an absolute path without empty, `.` and `..` segments; a trailing slash stays.
fn append_clean(out: &mut Vec<u8>, path: &str) {
    let base = out.len();
    for segment in path.split('/') {
        match segment {
            "" | "." => {}
            ".." => {
                let parent = out[base..].iter().rposition(|b| *b == b'/').unwrap_or(0);
                out.truncate(base + parent);
            }
            _ => {
                out.push(b'/');
                out.extend_from_slice(&bytes_of(segment));
            }
        }
    }
    if path.ends_with('/') {
        out.push(b'/');
    }
}

fn hexadecimal(mut number: u64) -> [u8; 16] {
    let mut digits = [0; 16];
    for digit in digits.iter_mut().rev() {
        *digit = b"0123456789abcdef"[(number & 0xf) as usize];
        number >>= 4;
    }
    digits
}
