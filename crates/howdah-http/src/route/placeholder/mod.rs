//! Values of placeholders: one table, with the values in a file for each subject.

mod process;
mod request;
mod response;
mod target;
mod tls;

use std::fmt::Display;
use std::time::SystemTime;

use howdah_config::model::Placeholder;

use super::context::Context;
use super::purpose::Purpose;

/// Appends the value of a placeholder for this request.
pub(super) fn push(
    text: &mut String,
    placeholder: &Placeholder,
    context: &Context<'_>,
    purpose: Purpose,
) {
    match placeholder {
        Placeholder::Body => request::body(text, context),
        Placeholder::BodyBase64 => request::body_base64(text, context),
        Placeholder::ClientIp => show(text, context.client_ip()),
        Placeholder::CommonLogTime => process::common_log_time(text, SystemTime::now()),
        Placeholder::Cookie(name) => request::cookie(text, context, name),
        Placeholder::Dir => target::directory(text, &target::path(context, purpose)),
        Placeholder::Env(name) => process::variable(text, name),
        Placeholder::ErrorId => response::error_id(text, context),
        Placeholder::ErrorMessage => response::error_message(text, context),
        Placeholder::ErrorStatus => response::error_status(text, context),
        Placeholder::ErrorText => response::error_text(text, context),
        Placeholder::EscapedPath => target::escape(text, &context.path),
        Placeholder::EscapedQuery => target::escape(text, context.query()),
        Placeholder::EscapedUri => target::escape(text, &context.target()),
        Placeholder::File => target::file(text, &target::path(context, purpose)),
        Placeholder::FileBase => target::base(text, &target::path(context, purpose)),
        Placeholder::FileExtension => target::extension(text, &target::path(context, purpose)),
        Placeholder::FileMatch(part) => request::file_match(text, context, *part, purpose),
        Placeholder::Group(name, group) => request::group(text, context, (name, group), purpose),
        Placeholder::Header(name) => request::header(text, context, name),
        Placeholder::Host => request::host(text, context),
        Placeholder::HostLabel(index) => request::host_label(text, context, *index),
        Placeholder::HostPort => request::host_port(text, context),
        Placeholder::HttpTime => process::http_time(text),
        Placeholder::Local => show(text, context.connection.local),
        Placeholder::LocalHost => show(text, context.connection.local.ip()),
        Placeholder::LocalPort => show(text, context.connection.local.port()),
        Placeholder::Method => text.push_str(context.parts().method.as_str()),
        Placeholder::OrigDir => target::directory(text, &target::original_path(context, purpose)),
        Placeholder::OrigFile => target::file(text, &target::original_path(context, purpose)),
        Placeholder::OrigMethod => text.push_str(context.original.method.as_str()),
        Placeholder::OrigPath => text.push_str(&target::original_path(context, purpose)),
        Placeholder::OrigPathElement(index) => {
            target::element(text, &target::original_path(context, Purpose::File), *index);
        }
        Placeholder::OrigPrefixedQuery => target::original_prefixed_query(text, context),
        Placeholder::OrigQuery => text.push_str(context.original.uri.query().unwrap_or("")),
        Placeholder::OrigUri => target::original(text, context),
        Placeholder::Path => text.push_str(&target::path(context, purpose)),
        Placeholder::PathElement(index) => target::element(text, &context.path, *index),
        Placeholder::Port => request::port(text, context),
        Placeholder::PrefixedQuery => target::prefixed_query(text, context),
        Placeholder::Protocol => request::protocol(text, context),
        Placeholder::Query => text.push_str(context.query()),
        Placeholder::QueryValue(name) => target::query_value(text, context, name),
        Placeholder::Remote => show(text, context.connection.remote),
        Placeholder::RemoteHost => show(text, context.connection.remote.ip()),
        Placeholder::RemotePort => show(text, context.connection.remote.port()),
        Placeholder::RequestId => show(text, format_args!("{:016x}", context.id)),
        Placeholder::ResponseHeader(name) => response::header(text, context, name),
        Placeholder::ResponseStatus => response::status(text, context),
        Placeholder::ResponseStatusText => response::status_text(text, context),
        Placeholder::Root => text.push_str(context.root.path()),
        Placeholder::Scheme => text.push_str(context.scheme()),
        Placeholder::ShuttingDown => process::shutting_down(text, context),
        Placeholder::SpanId => request::span_id(text, context),
        Placeholder::System(part) => process::system(text, *part),
        Placeholder::TimeUntilShutdown => process::time_until_shutdown(text, context),
        Placeholder::TlsCipher => tls::cipher(text, context),
        Placeholder::TlsClient(part) => tls::client(text, context, *part),
        Placeholder::TlsVersion => tls::version(text, context),
        Placeholder::TraceId => request::trace_id(text, context),
        Placeholder::UnixMilliseconds => show(text, process::since_1970().as_millis()),
        Placeholder::UnixTime => show(text, process::since_1970().as_secs()),
        // After decoding, the end of the path could not be determined.
        Placeholder::Uri => target::uri(text, context),
        Placeholder::User => text.push_str(context.notes.user.as_deref().unwrap_or("")),
        Placeholder::Var(name) => request::variable(text, context, name, purpose),
        Placeholder::Year => process::year(text, SystemTime::now()),
        Placeholder::Upstream(part) => response::upstream(text, context, *part),
        // A figure is not known yet: `header` and `log_append` insert it later.
        Placeholder::Figure(_) | Placeholder::ErrorTrace => {}
    }
}

fn show(text: &mut String, value: impl Display) {
    use std::fmt::Write;
    // Writing to a String cannot fail.
    let _ = write!(text, "{value}");
}
