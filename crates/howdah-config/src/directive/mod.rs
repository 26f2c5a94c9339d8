//! The directives of a site, in the order in which they are applied.

mod auth;
mod balance;
mod copy_response;
mod dynamic;
mod encode;
mod files;
mod forward_auth;
mod header;
mod health;
mod hot_reload;
mod intercept;
pub(crate) mod map;
pub(crate) mod mercure;
mod named_route;
pub(crate) mod observe;
pub(crate) mod order;
mod php;
mod plugin;
mod policy;
mod proxy;
mod request;
mod respond;
mod reverse_proxy;
pub(crate) mod roadrunner;
pub(crate) mod scope;
pub(crate) mod tls;
mod transport;
mod upstream;
mod upstream_options;
mod uri_query;

pub(crate) use copy_response::{COPY_RESPONSE, COPY_RESPONSE_HEADERS};
pub(crate) use dynamic::DYNAMIC_A;
pub(crate) use encode::{ENCODE, RESPONSE};
pub(crate) use files::{BROWSE, FILE_SERVER, TRY_FILES};
pub(crate) use forward_auth::FORWARD_AUTH;
pub(crate) use header::HEADER;
pub(crate) use hot_reload::HOT_RELOAD;
pub(crate) use intercept::INTERCEPT;
pub(crate) use named_route::{check_named, define_named};
#[cfg(test)]
pub(crate) use php::PHP;
pub(crate) use php::{PHP_FASTCGI, PHP_SERVER};
pub(crate) use plugin::CACHE;
pub(crate) use policy::LB_POLICY;
pub(crate) use proxy::REVERSE_PROXY;
pub(crate) use request::REQUEST_BODY;
pub(crate) use respond::{ERROR, RESPOND};
pub(crate) use transport::TRANSPORT;

use crate::error::{Error, ErrorKind};
use crate::listen::bind;
use crate::logs;
use crate::matcher::{self, Key};
use crate::model::{AccessLog, Handler, Matcher};
use crate::table::template::template;
use crate::table::{Call, Context, Entry, Item, Table, bad_value, joined};
use plugin::PLUGINS;
use scope::{RouteOrder, Scope};

/// All directives. A site applies them in the order of this table: Caddy's, with FrankenPHP's two
/// before `file_server`.
pub(crate) const DIRECTIVES: Table<Scope> = Table {
    kind: "directive",
    items: &joined::<_, { OWN.len() + PLUGINS.len() }>(&[OWN, PLUGINS]),
};

const OWN: &[Item<Scope>] = &[
    Item::Supported(
        Entry {
            name: "bind",
            syntax: "bind ADDRESS… [{ … }]",
            default: "all addresses of the machine",
            about: "The IP addresses to listen on, and Unix sockets for plain HTTP: `unix//run/howdah.sock`, \
                        with the mode of the file `unix//run/howdah.sock|0222`; without one only the \
                        server's user may connect (0200). Only directly in a site.",
            differs: "No names, abstract sockets or network interfaces, and no HTTPS on a Unix socket.",
            example: "bind 127.0.0.1 unix//run/howdah.sock|0222",
        },
        bind,
    ),
    Item::Supported(
        Entry {
            name: "log",
            syntax: "log [NAME] [{ … }]",
            default: "no access log",
            about: "Logs every request of the site, once for each `log`. Only directly in a site.",
            differs: "",
            example: "log {\n\toutput file access.log\n\tformat json\n}",
        },
        |cx, call, scope| {
            if scope.site.is_none() {
                return Err(only_in_site(call));
            }
            let mut logs = logs::read_access(cx, call)?;
            if let Some(site) = &mut scope.site {
                let name = logs.first().and_then(|log| log.name.clone());
                let same = |other: &AccessLog| name.is_some() && other.name == name;
                if site.access_logs.iter().any(same) {
                    return Err(call.error(
                        ErrorKind::Conflict,
                        "two `log` of the site have the same name".into(),
                        "rename one of them",
                    ));
                }
                site.access_logs.append(&mut logs);
            }
            Ok(())
        },
    ),
    Item::Supported(
        Entry {
            name: "tls",
            syntax: "tls [internal|EMAIL|CERT KEY] [{ … }]",
            default: "by the name of the site, see [HTTPS](#https)",
            about: "How the site is encrypted, and where its certificate comes from: from this \
                        server's own authority, from one that speaks ACME, or from two PEM files. A \
                        site with `tls` has HTTPS on every port but the HTTP port. Only directly in a \
                        site.",
            differs: "No DNS challenge.",
            example: "tls internal",
        },
        tls::read,
    ),
    Item::Supported(
        Entry {
            name: "tracing",
            syntax: "tracing [MATCHER] [{ … }]",
            default: "no traces",
            about: "Continues the trace of the `traceparent` header, or starts one; scripts see it as \
                    `$_SERVER['HTTP_TRACEPARENT']`. The request, its wait for PHP, the time in PHP and that of \
                    sending are spans, exported by OTLP as the `OTEL_*` environment variables configure, by default \
                    to `http://localhost:4318`: [all variables](../guides/observability.md#traces).",
            differs: "OTLP is `http/protobuf` or `http/json`, over HTTP or HTTPS, not gRPC.",
            example: "tracing {\n\tspan shop\n}",
        },
        observe::tracing,
    ),
    Item::Supported(
        Entry {
            name: "map",
            syntax: "map [MATCHER] SOURCE {NAME}… { … }",
            default: "",
            about: "Sets placeholders depending on SOURCE. A line of the block is `INPUT OUTPUT…`, with an \
                    output for each `{NAME}`, `-` for none; `~REGEXP` in place of INPUT is a regular expression, \
                    whose groups are `$1` or `${name}` in the outputs; `default OUTPUT…` applies if no line \
                    matches. The first matching line counts. `{vars.NAME}` is the same as `{NAME}`.",
            differs: "SOURCE is evaluated where the directive stands. A `{NAME}` is global to the file.",
            example: "map {host} {tenant} {theme} {\n\tshop.example.com shop dark\n\t~^(.*)[.]example[.]com$ $1 -\n\tdefault none light\n}",
        },
        map::read,
    ),
    Item::Supported(
        Entry {
            name: "vars",
            syntax: "vars [MATCHER] NAME VALUE  or  vars [MATCHER] { NAME VALUE … }",
            default: "",
            about: "Sets variables: `{vars.NAME}` is VALUE from here on.",
            differs: "",
            example: "vars tenant {labels.1}",
        },
        request::vars,
    ),
    Item::Unsupported(
        "fs",
        "files are read from the disk: remove the line, or use `root`",
    ),
    Item::Supported(
        Entry {
            name: "root",
            syntax: "root [MATCHER] PATH",
            default: "the working directory",
            about: "The document root for the directives that follow. A relative path starts at the working \
                        directory.",
            differs: "",
            example: "root * public",
        },
        |_, call, scope| {
            let (matcher, to) = optional_matcher(call, scope)?;
            if to.text.is_empty() {
                return Err(bad_value(
                    &to.position,
                    "the root is empty".into(),
                    "write `.` for the working directory",
                ));
            }
            let handler = Handler::Root(template(to)?);
            scope.push(matcher, handler);
            Ok(())
        },
    ),
    Item::Supported(
        Entry {
            name: "log_append",
            syntax: "log_append [MATCHER] NAME VALUE",
            default: "",
            about: "Adds a field to the request's line in the access log.",
            differs: "VALUE is evaluated where the directive stands, before there is a response.",
            example: "log_append country {header.CF-IPCountry}",
        },
        observe::log_append,
    ),
    Item::Supported(
        Entry {
            name: "log_skip",
            syntax: "log_skip [MATCHER]",
            default: "",
            about: "Leaves requests out of the access log.",
            differs: "",
            example: "log_skip /health",
        },
        observe::log_skip,
    ),
    Item::Supported(
        Entry {
            name: "skip_log",
            syntax: "skip_log [MATCHER]",
            default: "",
            about: "The older name of `log_skip`.",
            differs: "",
            example: "skip_log /health",
        },
        observe::log_skip,
    ),
    Item::Unsupported(
        "log_name",
        "every `log` of a site has all its requests; exclude some with `log_skip`",
    ),
    Item::Supported(
        Entry {
            name: "header",
            syntax: "header [MATCHER] [+|?|-|>]NAME [VALUE|FIND REPLACE]  or  header [MATCHER] { … }",
            default: "",
            about: "Changes the header of the response: `NAME VALUE` sets a field, `+NAME VALUE` adds one, \
                    `?NAME VALUE` sets it if the response has none, `-NAME` removes it, and `NAME FIND REPLACE` \
                    replaces what a regular expression finds in it (`*` stands for all fields, a placeholder in FIND \
                    for a part of it). A block has one change on each line: it adds, sets, removes, then replaces. \
                    Those with `-`, `?` or `>` in front (`>NAME …` sets or replaces) are applied after the response \
                    has arrived, and of several directives with them the last one first, so that one for a longer \
                    path overrides the rest. The others are applied before, so `NAME FIND REPLACE` changes only what \
                    `header` has set, `>NAME FIND REPLACE` also fields of PHP or an upstream. Their fields are kept \
                    next to those set or added without a `>`: `Cache-Control: no-store` of a session and cookies are \
                    never dropped by that.",
            differs: "No `match`. A field that a response has only once (such as `Content-Type` or `Location`) \
                          replaces PHP's or the upstream's instead of being sent next to it. A field that replacements \
                          make longer than 65,534 bytes is dropped.",
            example: "header X-Frame-Options DENY",
        },
        header::read,
    ),
    Item::Supported(
        Entry {
            name: "copy_response_headers",
            syntax: "copy_response_headers [MATCHER] [{ … }]",
            default: "",
            about: "Keeps the header of the upstream's response, or fields of it. Only in \
                        `handle_response`.",
            differs: "",
            example: "copy_response_headers {\n\tinclude Content-Type\n}",
        },
        copy_response::headers,
    ),
    Item::Supported(
        Entry {
            name: "request_body",
            syntax: "request_body [MATCHER] { … }",
            default: "",
            about: "Limits of the body of requests.",
            differs: "Only `max_size`.",
            example: "request_body {\n\tmax_size 10MB\n}",
        },
        request::body,
    ),
    Item::Unsupported("timeouts", "set `timeouts` in the global option `servers`"),
    Item::Supported(
        Entry {
            name: "redir",
            syntax: "redir [MATCHER] TO [permanent|temporary|html|CODE]",
            default: "`temporary`",
            about: "Redirects the client: `temporary` is 302, `permanent` 301; CODE is 3xx or 401. `html` sends a page \
                    with status 200 that leads browsers there, and has a link for others.",
            differs: "No placeholder for CODE. The page of `html` has no script, and values of placeholders are \
                      escaped in it.",
            example: "redir /old /new permanent",
        },
        respond::redir,
    ),
    Item::Supported(
        Entry {
            name: "method",
            syntax: "method [MATCHER] METHOD",
            default: "",
            about: "Changes the method of the request.",
            differs: "",
            example: "method HEAD",
        },
        request::method,
    ),
    Item::Supported(
        Entry {
            name: "rewrite",
            syntax: "rewrite [MATCHER] TO",
            default: "",
            about: "Changes the path of the request. A `?` in TO replaces the query as well; values of \
                    placeholders there are escaped, except that of `{query}` where a parameter begins. A fragment \
                    (`#top`) is left out. Of several in one block only the first that matches applies.",
            differs: "",
            example: "rewrite /old/* /new.php?from={path}",
        },
        |_, call, scope| {
            let (matcher, to) = optional_matcher(call, scope)?;
            if to.text.is_empty() {
                return Err(bad_value(&to.position, "the target is empty".into(), ""));
            }
            let handler = Handler::Rewrite(template(to)?);
            scope.push(matcher, handler);
            Ok(())
        },
    ),
    Item::Supported(
        Entry {
            name: "uri",
            syntax: "uri [MATCHER] strip_prefix|strip_suffix TEXT  or  uri [MATCHER] replace FIND REPLACE [LIMIT]  or  uri [MATCHER] path_regexp FIND REPLACE  or  uri [MATCHER] query CHANGE|{ CHANGE … }",
            default: "",
            about: "Changes the path: removes TEXT from its start or end (ignoring case), replaces a text in \
                    path and query, or matches of a regular expression in the path (`$1` is its first group). A \
                    CHANGE of the query is `NAME VALUE` (set), `+NAME VALUE` (add), `-NAME` (delete), `OLD>NEW` \
                    (rename) or `NAME REGEXP REPLACEMENT` (in the value; `*` for all names).",
            differs: "With `query`, other parameters stay as they were sent, in their order. A URI that becomes \
                    longer than 65,534 bytes gets a 414, also with `rewrite`.",
            example: "uri strip_prefix /api",
        },
        request::uri,
    ),
    Item::Supported(
        Entry {
            name: "try_files",
            syntax: "try_files FILE… [=CODE]",
            default: "",
            about: "Changes the path of the request to the first FILE that exists below the root; one that ends \
                    in `/` must be a directory. A FILE with `*` or `[a-z]` stands for all \
                    files that match it, in the order of their names; values of placeholders are no patterns. If none exists, nothing changes, or the response is CODE. A `?` in \
                    a FILE replaces the query. Takes no matcher.",
            differs: "",
            example: "try_files {path} {path}/ /index.php?{query}",
        },
        files::try_files,
    ),
    Item::Supported(
        Entry {
            name: "basicauth",
            syntax: "basicauth [MATCHER] [bcrypt [REALM]] { USER HASH … }",
            default: "REALM is `restricted`",
            about: "The older name of `basic_auth`.",
            differs: "Only `bcrypt`.",
            example: "basicauth /admin/* {\n\tann $2y$10$abcdefghijklmnopqrstuuGX3d8yLWjYmVvTxO7Zk0hXcUO1nV8ru\n}",
        },
        auth::read,
    ),
    Item::Supported(
        Entry {
            name: "basic_auth",
            syntax: "basic_auth [MATCHER] [bcrypt [REALM]] { USER HASH … }",
            default: "REALM is `restricted`",
            about: "Responds with 401 unless the request has the name and password of one of the users. HASH is a \
                        bcrypt hash, as `howdah hash-password`, PHP's `password_hash` and `htpasswd -B` print it. A \
                        correct password is cached for some minutes, so that bcrypt runs once.",
            differs: "Only `bcrypt`.",
            example: "basic_auth /admin/* {\n\tann $2y$10$abcdefghijklmnopqrstuuGX3d8yLWjYmVvTxO7Zk0hXcUO1nV8ru\n}",
        },
        auth::read,
    ),
    Item::Supported(
        Entry {
            name: "forward_auth",
            syntax: "forward_auth [MATCHER] [UPSTREAM…] { … }",
            default: "",
            about: "Authorizes requests by another server, such as Authelia, Authentik or oauth2-proxy: sends \
                    it a GET with the header of the request, `X-Forwarded-Method` and `X-Forwarded-Uri`. If it \
                    responds with 2xx, the request continues; any other response is sent to the client, for example \
                    a redirect to a login.",
            differs: "No `handle_response`.",
            example: "forward_auth localhost:9091 {\n\turi /api/authz/forward-auth\n\tcopy_headers Remote-User Remote-Groups\n}",
        },
        forward_auth::read,
    ),
    Item::Supported(
        Entry {
            name: "request_header",
            syntax: "request_header [MATCHER] [+|-|?]NAME [VALUE|FIND REPLACE]",
            default: "",
            about: "Changes the header of the request, as `header` does that of the response.",
            differs: "",
            example: "request_header X-Sendfile-Type x-accel-redirect",
        },
        header::request,
    ),
    Item::Supported(
        Entry {
            name: "encode",
            syntax: "encode [MATCHER] [FORMAT…] [{ … }]",
            default: "no compression; FORMAT… is `zstd gzip`",
            about: "Compresses responses for clients that accept `zstd`, `br` or `gzip`: with the one that the \
                    client prefers, and of equal ones the first in the list. Responses that do not become smaller \
                    are sent uncompressed.",
            differs: "",
            example: "encode zstd br gzip",
        },
        encode::read,
    ),
    Item::Supported(
        Entry {
            name: "mercure",
            syntax: "mercure [MATCHER] { … }",
            default: "",
            about: "A Mercure hub at `/.well-known/mercure`: updates that are published by POST are pushed to \
                    subscribers as server-sent events.",
            differs: "The hub speaks version 8 of the protocol, and parts of Mercure 1.0.",
            example: "mercure {\n\tpublisher_jwt {env.MERCURE_PUBLISHER_JWT_KEY}\n\tanonymous\n}",
        },
        mercure::mercure,
    ),
    Item::Supported(
        Entry {
            name: "intercept",
            syntax: "intercept [MATCHER] { … }",
            default: "",
            about: "Replaces responses of PHP that match.",
            differs: "",
            example: "intercept {\n\t@accel header X-Accel-Redirect *\n\thandle_response @accel {\n\t\troot * private\n\t\trewrite * {resp.header.X-Accel-Redirect}\n\t\tfile_server\n\t}\n}",
        },
        intercept::read,
    ),
    Item::Unsupported(
        "templates",
        "pages with parts that change are PHP's: rename the file to `.php`",
    ),
    Item::Supported(
        Entry {
            name: "invoke",
            syntax: "invoke [MATCHER] NAME",
            default: "",
            about: "Runs the directives of the named route, which is defined at the top of the file: `&(NAME) { … \
                        }`.",
            differs: "",
            example: "invoke NAME",
        },
        named_route::invoke,
    ),
    Item::Supported(
        Entry {
            name: "handle",
            syntax: "handle [MATCHER] { … }",
            default: "",
            about: "Directives for some requests. Of several `handle` in one block only the first that matches \
                        applies.",
            differs: "",
            example: "handle /api/* {\n\trespond api\n}",
        },
        |cx, call, scope| {
            let (matcher, rest) = scope.matcher(call.arguments)?;
            reject_extra(call, rest)?;
            let chain = scope.routes(cx, call.block()?, RouteOrder::Directives);
            scope.push(matcher, Handler::Chain(chain));
            Ok(())
        },
    ),
    Item::Supported(
        Entry {
            name: "handle_path",
            syntax: "handle_path PATH { … }",
            default: "",
            about: "As `handle`, and removes the matcher's path from the start of the request's path. Escapes in \
                        the rest stay as they were sent.",
            differs: "",
            example: "handle_path /app/* {\n\trespond {path}\n}",
        },
        handle_path,
    ),
    Item::Supported(
        Entry {
            name: "route",
            syntax: "route [MATCHER] { … }",
            default: "",
            about: "Directives that are applied in the order in which they are written.",
            differs: "",
            example: "route {\n\trewrite * /index.html\n\tfile_server\n}",
        },
        |cx, call, scope| {
            let (matcher, rest) = scope.matcher(call.arguments)?;
            reject_extra(call, rest)?;
            let chain = scope.routes(cx, call.block()?, RouteOrder::Written);
            scope.push(matcher, Handler::Chain(chain));
            Ok(())
        },
    ),
    Item::Supported(
        Entry {
            name: "abort",
            syntax: "abort [MATCHER]",
            default: "",
            about: "Closes the connection without a response.",
            differs: "",
            example: "abort /wp-login.php",
        },
        |_, call, scope| {
            call.no_block()?;
            let (matcher, rest) = scope.matcher(call.arguments)?;
            reject_extra(call, rest)?;
            scope.push(matcher, Handler::Abort);
            Ok(())
        },
    ),
    Item::Supported(
        Entry {
            name: "error",
            syntax: "error [MATCHER] [MESSAGE] [CODE] [{ … }]",
            default: "CODE is `500`",
            about: "Responds with an error, which `handle_errors` may handle.",
            differs: "Without `handle_errors` the body is the status.",
            example: "error /private/* \"not for you\" 403",
        },
        respond::error,
    ),
    Item::Supported(
        Entry {
            name: "copy_response",
            syntax: "copy_response [MATCHER] [CODE] [{ … }]",
            default: "CODE is that of the response",
            about: "Sends the upstream's response, header and body. Only in `handle_response`.",
            differs: "",
            example: "copy_response 404",
        },
        copy_response::response,
    ),
    Item::Supported(
        Entry {
            name: "respond",
            syntax: "respond [MATCHER] CODE|BODY [CODE] [{ … }]",
            default: "CODE is `200`; in `handle_errors` that of the error",
            about: "Responds immediately: as text, or as `application/json` if the body is a JSON object or array, \
                        unless `header` sets `Content-Type`.",
            differs: "",
            example: "respond /health ok 200",
        },
        respond::read,
    ),
    Item::Supported(
        Entry {
            name: "metrics",
            syntax: "metrics [MATCHER] [{ … }]",
            default: "only `/metrics` of the admin API",
            about: "Serves metrics for Prometheus, and counts and times requests for it. Restrict access with a \
                    matcher.",
            differs: "",
            example: "metrics /metrics",
        },
        observe::metrics,
    ),
    Item::Supported(
        Entry {
            name: "readiness",
            syntax: "readiness [MATCHER]",
            default: "only `/readyz` of the admin API",
            about: "Responds with 200 while every pool has a process that takes requests, else with 503, and with \
                        503 as soon as the server is asked to stop. For health checks on the site's own port.",
            differs: "Not in Caddy.",
            example: "readiness /readyz",
        },
        observe::readiness,
    ),
    Item::Supported(
        Entry {
            name: "reverse_proxy",
            syntax: "reverse_proxy [MATCHER] [UPSTREAM…] [{ … }]",
            default: "",
            about: "Passes requests on to other servers: `HOST:PORT`, `http://HOST`, `https://HOST`, \
                    `h2c://HOST` for HTTP/2 without TLS (as for gRPC), or `unix//PATH` and `unix+h2c//PATH` for a \
                    Unix socket. Bodies are streamed both ways. An upstream with `https://` gets \
                    its own address as the `Host`, all others the client's; `header_up Host {hostport}` sends the \
                    client's here too. `X-Forwarded-For`, `-Proto` and `-Host` are set; values that the client sent \
                    in them are kept only behind a trusted proxy (`trusted_proxies`). Fields with an underscore in \
                    their name are dropped, because CGI and WSGI cannot distinguish them from those with a hyphen. \
                    Early hints and trailers of the upstream are forwarded. Placeholders in `HOST:PORT` are evaluated for each \
                    request; an empty or invalid address gets 502. Security: never let clients choose the address \
                    freely, or they reach every server that this one reaches; use the values of a `map`, or of a \
                    regular expression that permits only known hosts.",
            differs: "HTTP/1.1 to the upstreams unless `h2c://` or `versions` says otherwise; the only upgrade is \
                          WebSocket, with HTTP/1.1 on both sides; early hints only from upstreams with HTTP/1.1; no placeholders in paths of sockets, and no active health checks of \
                          upstreams with placeholders.",
            example: "reverse_proxy /api/* localhost:9000",
        },
        reverse_proxy::read,
    ),
    Item::Supported(
        Entry {
            name: "php_fastcgi",
            syntax: "php_fastcgi [MATCHER] [UPSTREAM…] [{ … }]",
            default: "",
            about: "Runs the PHP of an application in PHP-FPM (or another FastCGI server): `HOST:PORT`, or \
                    `unix//PATH` for a Unix socket. Several upstreams are used in turn, unless `lb_policy` sets \
                    another policy; unreachable ones are skipped. Scripts are found as by `php_server`, but the \
                    front controller may be on another machine; static files are left to `file_server`. \
                    `X-Forwarded-For`, `-Proto` and `-Host` are set as by `reverse_proxy`.",
            differs: "Supports only the options of `reverse_proxy` below.",
            example: "php_fastcgi unix//run/php/php-fpm.sock",
        },
        php::read_fastcgi,
    ),
    Item::Supported(
        Entry {
            name: "roadrunner",
            syntax: "roadrunner [MATCHER] [SCRIPT] [{ … }]",
            default: "",
            about: "Runs workers that were written for RoadRunner, unmodified: processes of PHP's command line \
                    that speak goridge over pipes. `php SCRIPT` starts one of them. It takes all requests that its \
                    matcher lets through; `@app not file` leaves static files to `file_server`.",
            differs: "Not in Caddy. Of RoadRunner's plugins only HTTP: calls of others fail, and are logged.",
            example: "roadrunner worker.php",
        },
        roadrunner::read,
    ),
    Item::Supported(
        Entry {
            name: "handle_errors",
            syntax: "handle_errors [CODE…] { … }",
            default: "a short text",
            about: "Directives that run when the server responds with an error with one of these codes: a file \
                    that does not exist, a PHP process that crashed, `error`. The first one for the code applies. \
                    Responses that PHP sends are never handled. In a `route` or `handle` it handles the errors of that \
                    block, before the site's `handle_errors`.",
            differs: "In Caddy it is outside of the order, with the same effect.",
            example: "handle_errors 404 {\n\trewrite * /404.html\n\tfile_server\n}",
        },
        named_route::handle_errors,
    ),
    Item::Supported(
        Entry {
            name: "php",
            syntax: "php [MATCHER] [{ … }]",
            default: "",
            about: "Runs the script that the path names, without static files and front \
                        controller.",
            differs: "",
            example: "php /index.php",
        },
        php::read_php,
    ),
    Item::Supported(
        Entry {
            name: "php_server",
            syntax: "php_server [MATCHER] [{ … }]",
            default: "",
            about: "Serves a PHP application: static files, directories with an index script, and the front \
                        controller for every other path.",
            differs: "",
            example: "php_server",
        },
        php::read_server,
    ),
    Item::Supported(
        Entry {
            name: "file_server",
            syntax: "file_server [MATCHER] [browse] [{ … }]",
            default: "",
            about: "Serves static files below the root, with validators and ranges. Files of the configuration \
                    are hidden, and so are names that start with a dot, except `.well-known`. A folder without an \
                    index file, and without `browse`, is a 404. Symbolic links are followed.",
            differs: "Files whose names start with a dot are never sent.",
            example: "file_server",
        },
        files::file_server,
    ),
    Item::Unsupported(
        "acme_server",
        "the internal authority issues certificates to this server alone",
    ),
    Item::Elsewhere(
        "worker",
        "put it in `php_server { … }`, or in `frankenphp { … }` in the global options",
    ),
    Item::Elsewhere(
        "servers",
        "put it into the global options, the block without a name at the top of the file",
    ),
    Item::Elsewhere("path", MATCHER),
    Item::Elsewhere("path_regexp", MATCHER),
    Item::Elsewhere("host", MATCHER),
    Item::Elsewhere("not", MATCHER),
    Item::Elsewhere("query", MATCHER),
    Item::Elsewhere("protocol", MATCHER),
    Item::Elsewhere("remote_ip", MATCHER),
    Item::Elsewhere("client_ip", MATCHER),
    Item::Elsewhere("expression", MATCHER),
    Item::Elsewhere("header_regexp", MATCHER),
    Item::Elsewhere("vars_regexp", MATCHER),
];

/// What to do with a matcher in the place of a directive.
const MATCHER: &str =
    "it is a matcher: give it a name, `@NAME path …`, and put `@NAME` after a directive";

fn bind(cx: &mut Context, call: &Call<'_>, scope: &mut Scope) -> Result<(), Error> {
    let Some(site) = &mut scope.site else {
        return Err(only_in_site(call));
    };
    site.bind.add(bind::read(cx, call)?);
    Ok(())
}

fn handle_path(cx: &mut Context, call: &Call<'_>, scope: &mut Scope) -> Result<(), Error> {
    let path = &call.count(1, 1)?[0];
    if !path.text.starts_with('/') {
        return Err(bad_value(
            &path.position,
            format!("`handle_path` takes a path, not `{}`", path.text),
            "write for example `handle_path /app/* { … }`",
        ));
    }
    let text = matcher::merged_path(path)?;
    let prefix = text
        .strip_suffix("/*")
        .or_else(|| text.strip_suffix('*'))
        .unwrap_or(&text);
    let prefix = prefix.to_owned();
    let mut chain = vec![scope::route(None, Handler::StripPrefix(prefix))];
    chain.append(&mut scope.routes(cx, call.block()?, RouteOrder::Directives));
    let key = Key {
        matcher: Some(Matcher::Path(vec![text.clone()])),
        path: Some(text),
    };
    scope.push(key, Handler::Chain(chain));
    Ok(())
}

/// `[MATCHER] TO`: a single argument is never a matcher.
fn optional_matcher<'a>(
    call: &Call<'a>,
    scope: &mut Scope,
) -> Result<(Key, &'a crate::syntax::tree::Word), Error> {
    call.no_block()?;
    match call.arguments {
        [to] => Ok((Key::default(), to)),
        [first, to] => {
            let (key, rest) = scope.matcher(call.arguments)?;
            if rest.len() == 1 {
                return Ok((key, to));
            }
            Err(bad_value(
                &first.position,
                format!("`{}` is not a matcher", first.text),
                format!(
                    "write `{}`, with quotes around an argument with spaces",
                    call.entry.syntax
                ),
            ))
        }
        _ => Err(call.count(1, 2).err().unwrap_or_else(|| only_in_site(call))),
    }
}

/// The error of an argument after the matcher of a directive without arguments.
fn reject_extra(call: &Call<'_>, rest: &[crate::syntax::tree::Word]) -> Result<(), Error> {
    let Some(extra) = rest.first() else {
        return Ok(());
    };
    // It looks like a matcher, so there was another one before.
    if extra.text.starts_with(['/', '@']) {
        return Err(Error::new(
            ErrorKind::Arguments,
            &extra.position,
            format!("`{}` is one matcher too many", extra.text),
            format!(
                "write `{}`; several conditions make a named matcher: `@name {{ … }}`",
                call.entry.syntax
            ),
        ));
    }
    Err(Error::new(
        ErrorKind::Arguments,
        &extra.position,
        format!("`{}` is not a matcher", extra.text),
        format!(
            "write `{}`; a path matcher starts with `/`, a named one with `@`",
            call.entry.syntax
        ),
    ))
}

fn only_in_site(call: &Call<'_>) -> Error {
    call.error(
        ErrorKind::Conflict,
        format!("`{}` is inside of another directive", call.entry.name),
        "put it directly in the block of the site",
    )
}
