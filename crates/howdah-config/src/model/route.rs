//! Routes: matchers and handlers in their order.

use super::auth::BasicAuth;
use super::compression::Encode;
use super::files::{FileServer, TryFiles, TryPolicy};
use super::map::Map;
use super::matcher::Matcher;
use super::php_server::{PhpScript, PhpServer};
use super::placeholder::Template;
use super::proxy::{CopyHeaders, ForwardAuth, Intercept, ReverseProxy};
use super::response::{HeaderChange, Status, StatusRange};
use super::uri::UriChange;

/// A handler with a matcher.
#[derive(Debug, Clone, PartialEq)]
#[expect(missing_docs, reason = "the names are the documentation")]
pub struct Route {
    /// All requests, if `None`.
    pub matcher: Option<Matcher>,
    pub handler: Handler,
    /// Of the routes with the same group number in one list, only the first that matches runs
    /// (`handle` blocks exclude each other).
    pub group: Option<u32>,
}

/// `handle_errors [CODE…] { … }`.
#[derive(Debug, Clone, PartialEq)]
pub struct ErrorRoutes {
    /// First and last of each; empty: all errors.
    pub statuses: Vec<StatusRange>,
    /// Like the routes of a site.
    pub routes: Vec<Route>,
}

/// The action for a request. Handlers that respond end the chain; others change the request or the
/// response and continue.
#[derive(Debug, Clone, PartialEq)]
pub enum Handler {
    /// `root PATH`: document root for later handlers.
    Root(Template),
    /// `header …`: changes of the response's header.
    Header(Vec<HeaderChange>),
    /// The same with `-`, `?`, `>` or `defer`: applied after those of [`Handler::Header`], the last directive first.
    DeferredHeader(Vec<HeaderChange>),
    /// `encode …`: compresses the response.
    Encode(Encode),
    /// `redir TO [CODE]`.
    Redirect {
        /// Location.
        to: Template,
        /// 3xx, or 401 (Caddy allows it); 200 is an HTML page that leads there.
        status: u16,
    },
    /// `rewrite TO`: a new path and query; a `?` in it replaces the query.
    Rewrite(Template),
    /// `handle_path /PREFIX/*`: removes the prefix from the path, case-insensitively, if the path
    /// starts with it; the rest starts with a slash.
    StripPrefix(String),
    /// `try_files FILE… { policy … }`: the chosen one becomes the path; a final `=404` is the
    /// response otherwise.
    TryFiles(TryFiles, TryPolicy),
    /// `handle` and `route`: a separate chain.
    Chain(Vec<Route>),
    /// `handle_errors` in a chain: used when a later route of it ends in an error, before those of outer chains and the
    /// site.
    HandleErrors(Vec<ErrorRoutes>),
    /// `respond [BODY] [STATUS]`.
    Respond {
        /// The body, empty if not given.
        body: Template,
        /// The status code.
        status: Status,
        /// `close`: close the connection afterwards.
        close: bool,
    },
    /// `mercure`: requests below `/.well-known/mercure` go to this one of [`Config::hubs`](super::Config::hubs).
    Mercure(usize),
    /// `roadrunner`: a worker handles the request.
    RoadRunner(super::roadrunner::RoadRunner),
    /// `tracing`: the request continues its caller's trace, or starts one; the name of its span, by default the method.
    Tracing(Template),
    /// `log_skip`: the request is not logged.
    LogSkip,
    /// `log_append NAME VALUE`: an additional field in the access log.
    LogAppend(String, Template),
    /// `metrics`: the page for Prometheus.
    Metrics {
        /// False with `disable_openmetrics`: the older text format only.
        openmetrics: bool,
    },
    /// `readiness`: whether the server accepts requests.
    Readiness,
    /// `php_server`: static files, front controller and PHP.
    PhpServer(PhpServer),
    /// `php`: the request's script, without files and front controller.
    Php(PhpScript),
    /// `file_server`.
    FileServer(FileServer),
    /// `vars NAME VALUE`: sets `{vars.NAME}` for later handlers.
    Vars(Vec<(String, Template)>),
    /// `method METHOD`: changes the method of the request.
    Method(Template),
    /// `uri …`: changes path or query.
    Uri(UriChange),
    /// `request_header …`: changes of the request's header.
    RequestHeader(Vec<HeaderChange>),
    /// `request_body { max_size SIZE }`: limit of the body; a larger body gets a 413.
    RequestBody {
        /// The limit in bytes.
        max_size: u64,
    },
    /// `basic_auth`: requests without a valid password get a 401.
    BasicAuth(BasicAuth),
    /// `intercept`: rules for certain responses of PHP.
    Intercept(Intercept),
    /// `error [MESSAGE] [CODE]`: goes to `handle_errors`.
    Error {
        /// `{err.message}`; empty if not given.
        message: Template,
        /// 400 to 599.
        status: Status,
    },
    /// `abort`: the connection is closed without a response.
    Abort,
    /// `reverse_proxy`.
    ReverseProxy(Box<ReverseProxy>),
    /// `forward_auth`: another server decides whether the request continues.
    ForwardAuth(Box<ForwardAuth>),
    /// `map`: variables that depend on the value of another text.
    Map(Box<Map>),
    /// `copy_response [CODE]`, only in `handle_response`: the original response is sent.
    CopyResponse(Status),
    /// `copy_response_headers`, only in `handle_response`: which header fields of the original response are kept.
    CopyResponseHeaders(CopyHeaders),
}

impl Handler {
    /// The routes inside it.
    pub(crate) fn nested_routes(&self) -> Vec<&[Route]> {
        match self {
            Self::Chain(routes) => vec![routes],
            Self::HandleErrors(errors) => {
                let routes = errors.iter().map(|errors| errors.routes.as_slice());
                routes.collect()
            }
            Self::Intercept(intercept) => intercept.routes().collect(),
            Self::ReverseProxy(proxy) => proxy.intercept.routes().collect(),
            Self::PhpServer(server) => {
                let own = server.fastcgi.iter();
                own.flat_map(|own| own.intercept.routes()).collect()
            }
            _ => Vec::new(),
        }
    }
}

/// All handlers of these routes, including nested ones.
pub(crate) fn each_handler<'a>(routes: &'a [Route], visit: &mut dyn FnMut(&'a Handler)) {
    for route in routes {
        visit(&route.handler);
        for routes in route.handler.nested_routes() {
            each_handler(routes, visit);
        }
    }
}
