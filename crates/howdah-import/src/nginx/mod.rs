//! nginx: servers become sites, and a location the `handle` that nginx would choose.

mod address;
mod body;
mod condition;
mod fastcgi;
mod files;
mod geo;
mod handle;
mod location;
mod proxy;
mod refusal;
mod server;
mod settings;
mod site;
mod syntax;
mod upstream;
mod value;

use std::path::Path;

use howdah_config::Files;

use self::upstream::Upstreams;
use crate::ImportError;
use crate::directive::Directive;
use crate::output::{Lines, Notes};

/// Directives of the whole server that need no conversion.
const SILENT: &[&str] = &[
    "daemon",
    "default_type",
    "error_log",
    "events",
    "keepalive_requests",
    "keepalive_timeout",
    "load_module",
    "log_format",
    "pid",
    "resolver",
    "resolver_timeout",
    "send_timeout",
    "sendfile",
    "server_names_hash_bucket_size",
    "server_names_hash_max_size",
    "server_tokens",
    "tcp_nodelay",
    "tcp_nopush",
    "types",
    "types_hash_bucket_size",
    "types_hash_max_size",
    "user",
    "variables_hash_bucket_size",
    "variables_hash_max_size",
    "worker_connections",
    "worker_processes",
    "worker_rlimit_nofile",
];

pub(crate) fn convert(
    text: &str,
    file: &Path,
    files: &dyn Files,
) -> Result<(Lines, Notes), ImportError> {
    let mut notes = Notes::default();
    let mut lines = Lines::new();
    let mut directives = syntax::parse(text, file)?;
    syntax::include(&mut directives, file, files, &mut |line, what, why| {
        lines.push(notes.add(line, what, why));
    })?;
    let mut upstreams = Upstreams::default();
    let mut inherited = Vec::new();
    let mut servers = Vec::new();
    for directive in in_http(directives) {
        match directive.name.as_str() {
            "server" => servers.push(directive),
            "upstream" => upstreams.add(directive, &mut |line, what, why| {
                lines.push(notes.add(line, what, why));
            }),
            _ if is_silent(&directive) => {}
            name if is_inherited(name) => inherited.push(directive),
            _ => lines.push(notes.add(directive.line, &directive.to_string(), "")),
        }
    }
    if servers.is_empty() {
        return Err(ImportError::Empty {
            file: file.display().to_string(),
            reason: "there is no `server` block",
        });
    }
    for server in servers {
        let site = server::site(&server, &inherited, &upstreams, files, &mut notes);
        lines.extend(site);
    }
    Ok((lines, notes))
}

/// The directives of `http`: the content of these blocks, and what is outside of them in the file of a site.
fn in_http(directives: Vec<Directive>) -> Vec<Directive> {
    let mut top = Vec::new();
    for directive in directives {
        if directive.name == "http" {
            top.extend(directive.block.unwrap_or_default());
        } else {
            top.push(directive);
        }
    }
    // A file with the inner lines of a server, as some projects have it.
    if !top.iter().any(|directive| directive.name == "server")
        && top
            .iter()
            .any(|directive| ["location", "root"].contains(&directive.name.as_str()))
    {
        top = vec![Directive {
            name: "server".to_owned(),
            arguments: Vec::new(),
            block: Some(top),
            line: 1,
        }];
    }
    top
}

/// Whether a directive of `http` needs nothing in Howdah.
fn is_silent(directive: &Directive) -> bool {
    // The proxy itself decides whether an upstream switches protocols.
    let is_upgrade = directive.name == "map"
        && directive
            .arguments
            .first()
            .is_some_and(|from| from == "$http_upgrade");
    is_upgrade || SILENT.contains(&directive.name.as_str())
}

/// Whether servers inherit this directive of `http`.
fn is_inherited(name: &str) -> bool {
    settings::OF_SERVER.contains(&name)
        || settings::is_known(name)
        || proxy::PROXY.contains(&name)
        || fastcgi::is_silent(name)
        || refusal::is_access(name)
}
