//! Requests that are passed to an application.

use std::any::Any;
use std::rc::Rc;
use std::sync::Arc;

use bytes::Bytes;
use howdah_cgi::Input;
use http::{HeaderMap, Method, Uri, Version};

use super::connection::Connection;
use super::endpoint::Endpoint;
use super::progress::Progress;
use super::spool::SpoolFile;

/// A request whose body has been read and whose script has been found.
#[derive(Debug)]
pub struct AppRequest {
    /// Unique for the lifetime of the server, never 0; logs show it in hexadecimal.
    pub id: u64,
    /// The method as received.
    pub method: Method,
    /// Path and query as sent, before rewrites. Without an authority, which is in the `Host` header unless a directive
    /// has changed that.
    pub original_uri: Uri,
    /// Raw query after rewrites, without `?`; empty without a query.
    pub query: String,
    /// Protocol of the request.
    pub version: Version,
    /// The headers as received.
    pub headers: HeaderMap,
    /// The whole body.
    pub body: RequestBody,
    /// The connection that it came on.
    pub connection: Rc<Connection>,
    /// The number of the pool that runs it: 0 is the classic one, worker pools follow in the order of
    /// [`Config::workers`](howdah_config::model::Config::workers); pools of later configurations have the numbers that
    /// [`Server::prepare`](crate::Server::prepare) was given.
    pub pool: usize,
    /// The script to run.
    pub script: Script,
    /// Additional variables, which override all others.
    pub env: Vec<(String, String)>,
    /// The user that the server has authenticated, if any.
    pub remote_user: Option<String>,
    /// Receives the progress of the request, if it is observed.
    pub progress: Option<Progress>,
    /// The costs have to be measured, for [`Progress::on_usage`].
    pub account: bool,
    /// The header of the response contains the costs so far: the response needs
    /// [`UsageSoFar`](howdah_observe::usage::UsageSoFar) as an extension.
    pub figures: bool,
    /// The hub of the site, if it has one: of [`Endpoints::hubs`](super::endpoint::Endpoints::hubs).
    pub hub: Option<Arc<dyn Endpoint>>,
    /// The `roadrunner` pool that runs it, in place of a pool of scripts. Boxed, because it is rare.
    pub roadrunner: Option<Box<RoadRunnerTarget>>,
}

/// A request for a pool of `roadrunner`.
#[derive(Debug)]
pub struct RoadRunnerTarget {
    /// One of [`Endpoints::roadrunner`](super::endpoint::Endpoints::roadrunner).
    pub pool: Arc<dyn Any + Send + Sync>,
    /// The path after rewrites, escaped.
    pub path: String,
    /// Attributes of the request.
    pub attributes: Vec<(String, String)>,
}

impl AppRequest {
    /// The input for its CGI variables.
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

/// The script to run, and how the path was split. All paths are decoded and absolute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Script {
    /// `DOCUMENT_ROOT`, without a trailing slash (unless it is `/`).
    pub root: Rc<str>,
    /// `SCRIPT_NAME`, with a leading slash; empty for a worker script that is not below the root.
    pub name: String,
    /// `PATH_INFO`: empty, or with a leading slash.
    pub path_info: String,
    /// `SCRIPT_FILENAME`, if it is not `root` followed by `name`.
    pub file: Option<Rc<str>>,
}

impl RequestBody {
    /// Length in bytes.
    pub fn len(&self) -> u64 {
        match self {
            Self::Empty => 0,
            Self::Memory(bytes) => bytes.len() as u64,
            Self::Spooled(file) => file.len(),
        }
    }

    /// Whether there is no body.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A request body that was read in full.
#[derive(Debug)]
pub enum RequestBody {
    /// The body is missing or empty.
    Empty,
    /// Small enough for memory.
    Memory(Bytes),
    /// In a file of the spool directory; its name there is `{id:016x}`. Removed when this is dropped.
    Spooled(SpoolFile),
}
