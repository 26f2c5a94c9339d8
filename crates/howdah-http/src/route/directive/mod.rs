//! Directives, one file each. A new directive needs a file here and a row in [`compile`].

mod abort;
mod basic_auth;
mod copy_response;
mod encode;
mod endpoint;
mod error;
mod file_server;
mod forward_auth;
mod handle;
mod handle_errors;
mod header;
mod intercept;
mod log;
mod map;
mod method;
mod php;
mod redirect;
mod request_body;
mod request_header;
mod respond;
mod reverse_proxy;
mod roadrunner;
mod root;
mod tracing;
mod try_files;
mod uri;
mod uri_query;
mod vars;

use std::rc::Rc;

use howdah_config::model;

use super::compiler::Compiler;
use super::copied_headers::CopiedHeaders;
use super::handler::Handler;
use super::header::compile as changes;
use super::root::RootText;
use super::status::{self, Status};
use super::text::Text;
use crate::encode::Encoding;
use crate::message::endpoint::EndpointName;
use crate::message::route_error::RouteError;

/// Compiles the handler of a directive.
pub(super) fn compile(
    directive: &model::Handler,
    compiler: &Compiler,
) -> Result<Box<dyn Handler>, RouteError> {
    use model::Handler as Directive;
    Ok(match directive {
        Directive::Abort => Box::new(abort::Abort),
        Directive::BasicAuth(auth) => Box::new(basic_auth::BasicAuth::compile(auth)),
        Directive::Chain(routes) => Box::new(handle::Handle(compiler.routes(routes)?)),
        Directive::CopyResponse(status) => {
            Box::new(copy_response::CopyResponse(Status::compile(status)?))
        }
        Directive::CopyResponseHeaders(headers) => {
            let headers = Rc::new(CopiedHeaders::compile(headers)?);
            Box::new(copy_response::CopyResponseHeaders(headers))
        }
        Directive::DeferredHeader(list) => Box::new(header::DeferredHeader(changes(list)?)),
        Directive::Encode(encode) => Box::new(encode::Encode(Rc::new(Encoding::compile(encode)?))),
        Directive::Error { message, status } => Box::new(error::Error::compile(message, status)?),
        Directive::FileServer(files) => {
            Box::new(file_server::FileServer::compile(files, compiler)?)
        }
        Directive::ForwardAuth(auth) => {
            Box::new(forward_auth::ForwardAuth::compile(auth, compiler)?)
        }
        Directive::HandleErrors(errors) => {
            Box::new(handle_errors::HandleErrors(compiler.errors(errors)?.into()))
        }
        Directive::Header(list) => Box::new(header::Header(changes(list)?)),
        Directive::Intercept(rules) => Box::new(intercept::InterceptHandler(intercept::compile(
            rules, compiler,
        )?)),
        Directive::LogAppend(name, value) => Box::new(log::LogAppend {
            name: name.clone(),
            value: Text::new(value),
        }),
        Directive::LogSkip => Box::new(log::LogSkip),
        Directive::Map(map) => Box::new(map::Map::compile(map)?),
        Directive::Mercure(hub) => Box::new(endpoint::Mercure(*hub)),
        Directive::Method(method) => Box::new(method::MethodChange(Text::new(method))),
        Directive::Metrics { openmetrics } => Box::new(endpoint::Endpoint(EndpointName::Metrics {
            openmetrics: *openmetrics,
        })),
        Directive::Php(script) => Box::new(php::PhpScript::compile(script, &compiler.pools)),
        Directive::PhpServer(server) => Box::new(php::PhpServer::compile(server, compiler)?),
        Directive::Readiness => Box::new(endpoint::Endpoint(EndpointName::Readiness)),
        Directive::Redirect { to, status } => Box::new(redirect::Redirect {
            to: Text::new(to),
            status: status::valid(*status)?,
        }),
        Directive::RequestBody { max_size } => Box::new(request_body::RequestBody {
            max_size: *max_size,
        }),
        Directive::RequestHeader(list) => Box::new(request_header::RequestHeader(changes(list)?)),
        Directive::Respond {
            body,
            status,
            close,
        } => Box::new(respond::Respond::compile(body, status, *close)?),
        Directive::ReverseProxy(proxy) => Box::new(reverse_proxy::Proxy::compile(proxy, compiler)?),
        Directive::Rewrite(to) => Box::new(uri::Rewrite::compile(to)),
        Directive::RoadRunner(own) => {
            Box::new(roadrunner::RoadRunner::compile(own, &compiler.pools))
        }
        Directive::Root(path) => Box::new(root::Root(RootText::new(path))),
        Directive::StripPrefix(prefix) => {
            Box::new(uri::StripPrefix(prefix.trim_matches('/').to_owned()))
        }
        Directive::Tracing(span) => Box::new(tracing::Tracing(Text::new(span))),
        Directive::TryFiles(try_files, policy) => {
            Box::new(try_files::TryFiles::compile(try_files, *policy)?)
        }
        Directive::Uri(change) => Box::new(uri::UriChange::compile(change)?),
        Directive::Vars(vars) => Box::new(vars::Vars::compile(vars)),
    })
}
