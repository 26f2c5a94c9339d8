//! The seam between the web server and whatever runs the application's code.

use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;

use bytes::Bytes;
use howdah_cgi::Input;
use howdah_tls::ClientCertificate;
use http::{HeaderMap, Method, Response, Uri, Version};

use crate::endpoint::Endpoint;

pub use crate::connection::interim::{Interim, InterimError};
pub use crate::record::Progress;

/// Answers the requests that the routes hand to PHP. One value per front thread; never crosses threads.
pub trait Application: 'static {
    /// The body of its responses.
    type Body: http_body::Body<Data = Bytes, Error = std::io::Error> + Unpin + 'static;

    /// Answers one request. Errors are responses too (502, 503, 504): the implementation logs their cause.
    /// Dropping the future or the body means that the client is gone. `interim` is for what the client is
    /// to know before.
    fn call(
        self: Rc<Self>,
        request: AppRequest,
        interim: Interim<'_>,
    ) -> impl Future<Output = Response<Self::Body>>;

    /// The application of a further configuration, on the same thread. Requests that have begun stay with this
    /// one, which is dropped when the last has its response. `None` (the default): it is the same.
    fn next(&self) -> std::io::Result<Option<Rc<Self>>> {
        Ok(None)
    }
}

/// A request whose body has been read and whose script has been found.
#[derive(Debug)]
pub struct AppRequest {
    /// Unique in this server's life, never 0; in hexadecimal it names the request in the logs.
    pub id: u64,
    /// As sent.
    pub method: Method,
    /// Path and query as sent, before rewrites. Without an authority: the `Host` header has it, unless a
    /// directive has changed that since.
    pub original_uri: Uri,
    /// Raw query after rewrites, without `?`; empty if there is none.
    pub query: String,
    /// Protocol of the request.
    pub version: Version,
    /// As sent.
    pub headers: HeaderMap,
    /// The whole body.
    pub body: RequestBody,
    /// Where it came from.
    pub connection: Rc<Connection>,
    /// The pool that runs it: 0 is the classic one, worker pools follow in the order of
    /// [`Config::workers`](howdah_config::model::Config::workers), those of further configurations have the
    /// numbers that [`Server::prepare`](crate::Server::prepare) was given.
    pub pool: usize,
    /// What to run.
    pub script: Script,
    /// Further variables, they override all others.
    pub env: Vec<(String, String)>,
    /// The user that the server itself authenticated, if it did.
    pub remote_user: Option<String>,
    /// Wants to know where the request is, if somebody looks.
    pub progress: Option<Progress>,
    /// The hub of the site, if it has one: of [`Endpoints::hubs`](crate::endpoint::Endpoints::hubs).
    pub hub: Option<Arc<dyn Endpoint>>,
}

impl AppRequest {
    /// What its CGI variables are made of.
    #[must_use]
    pub fn input(&self) -> Input<'_> {
        let connection = &*self.connection;
        let tls = connection.tls.as_ref();
        Input {
            id: self.id,
            method: &self.method,
            target: &self.original_uri,
            query: &self.query,
            version: self.version,
            headers: &self.headers,
            remote: connection.remote,
            local: connection.local,
            scheme: if tls.is_some() { "https" } else { "http" },
            root: &self.script.root,
            script_name: &self.script.name,
            path_info: &self.script.path_info,
            script_filename: self.script.file.as_deref(),
            body_size: self.body.len(),
            tls_protocol: tls.map_or("", |tls| tls.protocol),
            tls_cipher: tls.map_or("", |tls| tls.cipher),
            remote_user: self.remote_user.as_deref(),
            env: &self.env,
        }
    }
}

/// What to run, and which parts of the path led to it. All paths are decoded and absolute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Script {
    /// `DOCUMENT_ROOT`, without a trailing slash (unless it is `/`).
    pub root: Rc<str>,
    /// `SCRIPT_NAME`, with a leading slash; empty for a worker script that is not below the root.
    pub name: String,
    /// `PATH_INFO`: empty, or with a leading slash.
    pub path_info: String,
    /// `SCRIPT_FILENAME`, if it is not `root` and `name` together.
    pub file: Option<Rc<str>>,
}

impl RequestBody {
    /// Bytes.
    pub fn len(&self) -> u64 {
        match self {
            Self::Empty => 0,
            Self::Memory(bytes) => bytes.len() as u64,
            Self::Spooled(file) => file.len(),
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A request body that was read in full.
#[derive(Debug)]
pub enum RequestBody {
    /// There is none, or it is empty.
    Empty,
    /// Small enough for memory.
    Memory(Bytes),
    /// In a file of the spool directory; its name there is `{id:016x}`. Removed when this is dropped.
    Spooled(crate::spool::SpoolFile),
}

/// The connection a request came on.
#[derive(Debug, Clone)]
pub struct Connection {
    /// The client.
    pub remote: SocketAddr,
    /// The listener's side.
    pub local: SocketAddr,
    /// What is known of the encryption, if it is encrypted.
    pub tls: Option<Tls>,
}

/// What is known of an encrypted connection.
#[derive(Debug, Clone)]
pub struct Tls {
    /// `TLSv1.3`.
    pub protocol: &'static str,
    /// Cipher suite by its IANA name.
    pub cipher: &'static str,
    /// The host that requests must be for: the one that the client asked for when it connected,
    /// empty if it asked for none. `None`: any.
    pub host: Option<Box<str>>,
    /// Who the client is, where the site asks; its certificate was verified.
    pub client: TlsClient,
}

/// What a client has shown of itself.
#[derive(Debug, Clone, Default)]
pub enum TlsClient {
    /// Nobody asked.
    #[default]
    Unasked,
    /// No certificate, which the site allows.
    Nobody,
    /// A certificate.
    Verified(Rc<ClientCertificate>),
}

impl TlsClient {
    /// The certificate, if there is one.
    #[must_use]
    pub fn certificate(&self) -> Option<&ClientCertificate> {
        match self {
            Self::Verified(certificate) => Some(certificate),
            Self::Unasked | Self::Nobody => None,
        }
    }

    /// The CGI variables of it, by the names that they have in nginx and Apache, before `others`.
    pub(crate) fn variables(&self, others: Vec<(String, String)>) -> Vec<(String, String)> {
        let known = match self {
            Self::Unasked => return others,
            Self::Nobody => vec![("SSL_CLIENT_VERIFY", "NONE")],
            Self::Verified(certificate) => vec![
                ("SSL_CLIENT_VERIFY", "SUCCESS"),
                ("SSL_CLIENT_S_DN", certificate.subject.as_str()),
                ("SSL_CLIENT_I_DN", certificate.issuer.as_str()),
                ("SSL_CLIENT_M_SERIAL", certificate.serial.as_str()),
            ],
        };
        let known = known.into_iter();
        let known = known.map(|(name, value)| (name.to_owned(), value.to_owned()));
        known.chain(others).collect()
    }
}
