//! `fastcgi_pass`: PHP runs in this server if it ran on this machine, otherwise where it ran.

use super::settings::Context;
use super::upstream::{Upstreams, address};
use super::value::placeholders;
use crate::directive::Directive;
use crate::output::{Lines, block, word};

/// How the PHP of a site runs.
#[derive(Debug, Default, Clone)]
pub(super) struct Php {
    /// PHP-FPM on other machines; empty: PHP runs here.
    pub(super) upstreams: Vec<String>,
    /// Lines for the block.
    pub(super) options: Lines,
}

/// Standard variables of each request, which need no conversion.
const STANDARD: &[&str] = &[
    "CONTENT_LENGTH",
    "CONTENT_TYPE",
    "DOCUMENT_ROOT",
    "DOCUMENT_URI",
    "GATEWAY_INTERFACE",
    "HTTPS",
    "HTTP_HOST",
    "HTTP_PROXY",
    "PATH_INFO",
    "PATH_TRANSLATED",
    "QUERY_STRING",
    "REDIRECT_STATUS",
    "REMOTE_ADDR",
    "REMOTE_PORT",
    "REQUEST_METHOD",
    "REQUEST_SCHEME",
    "REQUEST_URI",
    "SCRIPT_FILENAME",
    "SCRIPT_NAME",
    "SERVER_ADDR",
    "SERVER_NAME",
    "SERVER_PORT",
    "SERVER_PROTOCOL",
    "SERVER_SOFTWARE",
    "HTTP_X_FORWARDED_FOR",
];

/// Directives that need no conversion: buffers and names of scripts.
pub(super) fn is_silent(name: &str) -> bool {
    const SILENT: &[&str] = &[
        "fastcgi_buffer_size",
        "fastcgi_buffering",
        "fastcgi_buffers",
        "fastcgi_busy_buffers_size",
        "fastcgi_connect_timeout",
        "fastcgi_hide_header",
        "fastcgi_ignore_client_abort",
        "fastcgi_ignore_headers",
        "fastcgi_index",
        "fastcgi_intercept_errors",
        "fastcgi_keep_conn",
        "fastcgi_max_temp_file_size",
        "fastcgi_param",
        "fastcgi_pass",
        "fastcgi_pass_header",
        "fastcgi_pass_request_headers",
        "fastcgi_read_timeout",
        "fastcgi_request_buffering",
        "fastcgi_send_timeout",
        "fastcgi_split_path_info",
        "fastcgi_temp_file_write_size",
    ];
    SILENT.contains(&name)
}

impl Php {
    /// Reads the directives of a location with `fastcgi_pass`.
    pub(super) fn of(
        directives: &[Directive],
        upstreams: &Upstreams,
        cx: &mut Context<'_>,
    ) -> Option<Self> {
        let pass = directives.iter().find(|own| own.name == "fastcgi_pass")?;
        let mut php = Self::default();
        let servers = match upstreams.get(pass.argument(0)) {
            Some(group) => group.servers.clone(),
            None => vec![address(pass.argument(0))],
        };
        if servers.iter().any(|server| is_elsewhere(server)) {
            php.upstreams = servers;
        }
        for own in directives {
            match own.name.as_str() {
                "fastcgi_param" if !STANDARD.contains(&own.argument(0)) => {
                    php.options
                        .push(match placeholders(own.argument(1), cx.constants) {
                            Ok(value) => format!("env {} {}", own.argument(0), word(&value)),
                            Err(unknown) => cx.note(own, &format!("{unknown} has no placeholder")),
                        });
                }
                _ => {}
            }
        }
        Some(php)
    }

    /// Runs scripts, and sends files. `options` are further lines of the block.
    pub(super) fn serve(&self, options: Lines) -> Lines {
        self.serve_with(options, Lines::new())
    }

    /// Serves scripts, and files with these options.
    pub(super) fn serve_with(&self, options: Lines, files: Lines) -> Lines {
        let mut all = options;
        all.extend(self.options.iter().cloned());
        if self.upstreams.is_empty() {
            if !files.is_empty() {
                all.extend(block("file_server", files));
            }
            return block("php_server", all);
        }
        let mut lines = vec!["# `php_server` in place of this runs PHP in this server.".to_owned()];
        lines.extend(block(
            &format!("php_fastcgi {}", self.upstreams.join(" ")),
            all,
        ));
        lines.extend(block("file_server", files));
        lines
    }
}

/// Whether the files of the site may be missing on the machine where PHP runs.
fn is_elsewhere(server: &str) -> bool {
    let host = server.rsplit_once(':').map_or(server, |(host, _)| host);
    let is_here = server.starts_with("unix/")
        || host == "localhost"
        || host.contains('$')
        || host
            .trim_matches(['[', ']'])
            .parse::<std::net::IpAddr>()
            .is_ok_and(|ip| ip.is_loopback());
    !is_here
}
