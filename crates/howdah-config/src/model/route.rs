//! Routes: matchers and handlers in their order.

use super::auth::BasicAuth;
use super::compression::Encode;
use super::files::{FileServer, TryFiles, TryPolicy};
use super::map::Map;
use super::matcher::Matcher;
use super::php_server::{PhpScript, PhpServer};
use super::placeholder::Template;
use super::proxy::{CopyHeaders, ForwardAuth, Intercept, ReverseProxy};
use super::response::{HeaderChange, Status};
use super::uri::UriChange;

/// A handler behind a matcher.
#[derive(Debug, Clone, PartialEq)]
pub struct Route {
    /// All requests, if `None`.
    pub matcher: Option<Matcher>,
    /// What is done.
    pub handler: Handler,
    /// Of the routes with the same group number in one list, only the first that matches is taken
    /// (`handle` blocks exclude each other).
    pub group: Option<u32>,
}

/// `handle_errors [CODE…] { … }`.
#[derive(Debug, Clone, PartialEq)]
pub struct ErrorRoutes {
    /// First and last of each; empty: all errors.
    pub statuses: Vec<(u16, u16)>,
    /// As the routes of a site.
    pub routes: Vec<Route>,
}

/// What is done with a request. Handlers that answer end the chain; the others change the request
/// or the response and pass on.
#[derive(Debug, Clone, PartialEq)]
pub enum Handler {
    /// `root PATH`: document root for what follows.
    Root(Template),
    /// `header …`: changes of the response's header.
    Header(Vec<HeaderChange>),
    /// The same with `-`, `?`, `>` or `defer`: after those of [`Handler::Header`], and of several the last
    /// first.
    DeferredHeader(Vec<HeaderChange>),
    /// `encode …`: compresses the response.
    Encode(Encode),
    /// `redir TO [CODE]`.
    Redirect {
        /// Location.
        to: Template,
        /// 3xx, or 401 (Caddy allows it).
        status: u16,
    },
    /// `rewrite TO`: a new path and query; a `?` in it replaces the query.
    Rewrite(Template),
    /// `handle_path /PREFIX/*`: the prefix is taken off the path, case-insensitively, when the path
    /// starts with it; what is left starts with a slash.
    StripPrefix(String),
    /// `try_files FILE… { policy … }`: the chosen one becomes the path; a last `=404` answers.
    TryFiles(TryFiles, TryPolicy),
    /// `handle` and `route`: a chain of its own.
    Chain(Vec<Route>),
    /// `handle_errors` in a chain: what is done when a later route of it ends in an error, before what
    /// chains around it and the site do.
    HandleErrors(Vec<ErrorRoutes>),
    /// `respond [BODY] [STATUS]`.
    Respond {
        /// Body, empty if not given.
        body: Template,
        /// The status code.
        status: Status,
        /// `close`: end the connection after it.
        close: bool,
    },
    /// `mercure`: requests below `/.well-known/mercure` go to this one of [`Config::hubs`](super::Config::hubs).
    Mercure(usize),
    /// `roadrunner`: a worker handles the request.
    RoadRunner(super::roadrunner::RoadRunner),
    /// `tracing`: the request goes on with its caller's trace, or begins one; the name of its span, the
    /// method if it is empty.
    Tracing(Template),
    /// `log_skip`: the request is in no access log.
    LogSkip,
    /// `log_append NAME VALUE`: a further field of its access log.
    LogAppend(String, Template),
    /// `metrics`: the page that Prometheus reads.
    Metrics {
        /// False with `disable_openmetrics`: the older text format only.
        openmetrics: bool,
    },
    /// `readiness`: whether the server takes requests.
    Readiness,
    /// `php_server`: static files, front controller and PHP, as one.
    PhpServer(PhpServer),
    /// `php`: the request's script, without files and front controller.
    Php(PhpScript),
    /// `file_server`.
    FileServer(FileServer),
    /// `vars NAME VALUE`: what `{vars.NAME}` is from here on.
    Vars(Vec<(String, Template)>),
    /// `method METHOD`: another method of the request.
    Method(Template),
    /// `uri …`: another path or query.
    Uri(UriChange),
    /// `request_header …`: changes of the request's header.
    RequestHeader(Vec<HeaderChange>),
    /// `request_body { max_size SIZE }`: bytes of the body; more is answered 413.
    RequestBody {
        /// In bytes.
        max_size: u64,
    },
    /// `basic_auth`: who knows no password is answered 401.
    BasicAuth(BasicAuth),
    /// `intercept`: what is done with certain responses of PHP.
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
    /// `forward_auth`: another server says whether the request goes on.
    ForwardAuth(Box<ForwardAuth>),
    /// `map`: variables that depend on the value of another text.
    Map(Box<Map>),
    /// `copy_response [CODE]`, only in `handle_response`: the response that it is for is sent after all.
    CopyResponse(Status),
    /// `copy_response_headers`, only in `handle_response`: what stays of the header of that response.
    CopyResponseHeaders(CopyHeaders),
}

impl Handler {
    /// The routes within it.
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

/// All handlers of these routes, those of routes within them too.
pub(crate) fn each_handler<'a>(routes: &'a [Route], visit: &mut dyn FnMut(&'a Handler)) {
    for route in routes {
        visit(&route.handler);
        for routes in route.handler.nested_routes() {
            each_handler(routes, visit);
        }
    }
}
