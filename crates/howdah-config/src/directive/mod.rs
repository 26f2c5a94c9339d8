//! The directives of a site, in the order in which they are applied.

mod encode;
mod files;
mod header;
pub(crate) mod matcher;
mod php;
mod respond;
pub(crate) mod scope;

pub(crate) use encode::{ENCODE, RESPONSE};
pub(crate) use files::{FILE_SERVER, TRY_FILES};
pub(crate) use header::HEADER;
#[cfg(test)]
pub(crate) use php::PHP;
pub(crate) use php::PHP_SERVER;
pub(crate) use respond::RESPOND;

use crate::error::{Error, ErrorKind};
use crate::logs;
use crate::model::{Handler, Matcher};
use crate::table::{Call, Context, Entry, Item, Table, bad_value, unsupported};
use crate::template::template;
use scope::{Key, Scope};

const TLS: &str = "it belongs to TLS, which this version does not have";

/// All directives. Their order here is the order in which a site applies them: Caddy's, with
/// FrankenPHP's two before `file_server`.
pub(crate) const DIRECTIVES: Table<Scope> = Table {
    kind: "directive",
    items: &[
        Item::Supported(
            Entry {
                name: "bind",
                syntax: "bind ADDRESS…",
                default: "all addresses of the machine",
                about: "The IP addresses to listen on. Only directly in a site.",
                differs: "No names, Unix sockets or network interfaces, and no `protocols`.",
                example: "bind 127.0.0.1 ::1",
            },
            bind,
        ),
        Item::Supported(
            Entry {
                name: "log",
                syntax: "log [{ … }]",
                default: "no access log",
                about: "Logs every request of the site. Only directly in a site.",
                differs: "One log, without a name.",
                example: "log {\n\tformat json\n}",
            },
            |cx, call, scope| {
                let Some(site) = &mut scope.site else {
                    return Err(only_in_site(call));
                };
                if site.access_log.is_some() {
                    return Err(call.error(
                        ErrorKind::Conflict,
                        "`log` is given twice".into(),
                        "take one of them out",
                    ));
                }
                site.access_log = Some(logs::read(cx, call, &logs::ACCESS)?);
                Ok(())
            },
        ),
        Item::Unsupported("tls", TLS),
        Item::Unsupported("tracing", ""),
        Item::Unsupported("map", ""),
        Item::Unsupported("vars", ""),
        Item::Unsupported("fs", ""),
        Item::Supported(
            Entry {
                name: "root",
                syntax: "root [MATCHER] PATH",
                default: "the working directory",
                about: "The document root of what follows. A relative path is one from the working \
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
        Item::Unsupported("log_append", ""),
        Item::Unsupported("skip_log", ""),
        Item::Unsupported("log_skip", ""),
        Item::Unsupported("log_name", ""),
        Item::Supported(
            Entry {
                name: "header",
                syntax: "header [MATCHER] [+|?|-]NAME [VALUE|FIND REPLACE]  or  header [MATCHER] { … }",
                default: "",
                about: "Changes the header of the response: `NAME VALUE` sets a field, `+NAME VALUE` \
                        adds one, `?NAME VALUE` sets it if the response has none, `-NAME` removes it, \
                        and `NAME FIND REPLACE` replaces what a regular expression finds in it. A \
                        block has one change on each line.",
                differs: "No `>NAME`, `defer` and `match`, and no wildcards in `-NAME`.",
                example: "header X-Frame-Options DENY",
            },
            header::read,
        ),
        Item::Unsupported("copy_response_headers", ""),
        Item::Unsupported(
            "request_body",
            "set `max_body_size` in the global option `servers`",
        ),
        Item::Unsupported("timeouts", "set `timeouts` in the global option `servers`"),
        Item::Supported(
            Entry {
                name: "redir",
                syntax: "redir [MATCHER] TO [permanent|temporary|CODE]",
                default: "`temporary`",
                about: "Redirects the client: `temporary` is 302, `permanent` 301; CODE is 3xx or 401.",
                differs: "No `html`, and no placeholder for CODE.",
                example: "redir /old /new permanent",
            },
            respond::redir,
        ),
        Item::Unsupported("method", ""),
        Item::Supported(
            Entry {
                name: "rewrite",
                syntax: "rewrite [MATCHER] TO",
                default: "",
                about: "Gives the request another path. A `?` in TO replaces the query as well. Of \
                        several in one block only the first that matches is taken.",
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
        Item::Unsupported("uri", "use `rewrite` or `handle_path`"),
        Item::Supported(
            Entry {
                name: "try_files",
                syntax: "try_files FILE… [=CODE]",
                default: "",
                about: "Gives the request the path of the first FILE that exists below the root; one \
                        that ends in `/` must be a directory. If none exists nothing is changed, or \
                        CODE is answered. A `?` in a FILE replaces the query. Takes no matcher.",
                differs: "`policy` is always `first_exist`.",
                example: "try_files {path} {path}/ /index.php?{query}",
            },
            files::try_files,
        ),
        Item::Unsupported("basicauth", ""),
        Item::Unsupported("basic_auth", ""),
        Item::Unsupported("forward_auth", ""),
        Item::Unsupported("request_header", ""),
        Item::Supported(
            Entry {
                name: "encode",
                syntax: "encode [MATCHER] [FORMAT…] [{ … }]",
                default: "no compression; FORMAT… is `zstd gzip`",
                about: "Compresses responses for clients that take one of the formats `zstd`, `br` and \
                        `gzip`: the one that the client likes best, of equal ones the first in the list. \
                        What does not become smaller is sent as it is.",
                differs: "",
                example: "encode zstd br gzip",
            },
            encode::read,
        ),
        Item::Unsupported("push", ""),
        Item::Unsupported("intercept", ""),
        Item::Unsupported("templates", ""),
        Item::Unsupported("invoke", "use a snippet: `(name) { … }` and `import name`"),
        Item::Supported(
            Entry {
                name: "handle",
                syntax: "handle [MATCHER] { … }",
                default: "",
                about: "Directives for some requests. Of several `handle` in one block only the first \
                        that matches is taken.",
                differs: "",
                example: "handle /api/* {\n\trespond api\n}",
            },
            |cx, call, scope| {
                let (matcher, rest) = scope.matcher(call.arguments)?;
                no_more(call, rest)?;
                let chain = scope.chain(cx, call.block()?, true);
                scope.push(matcher, Handler::Chain(chain));
                Ok(())
            },
        ),
        Item::Supported(
            Entry {
                name: "handle_path",
                syntax: "handle_path PATH { … }",
                default: "",
                about: "As `handle`, and takes the path of the matcher off the request's.",
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
                no_more(call, rest)?;
                let chain = scope.chain(cx, call.block()?, false);
                scope.push(matcher, Handler::Chain(chain));
                Ok(())
            },
        ),
        Item::Unsupported("abort", "use `respond` with `close`"),
        Item::Unsupported("error", "use `respond CODE`"),
        Item::Unsupported("copy_response", ""),
        Item::Supported(
            Entry {
                name: "respond",
                syntax: "respond [MATCHER] CODE|BODY [CODE] [{ … }]",
                default: "CODE is `200`",
                about: "Answers at once.",
                differs: "No placeholder for CODE.",
                example: "respond /health ok 200",
            },
            respond::read,
        ),
        Item::Unsupported("metrics", ""),
        Item::Unsupported("reverse_proxy", ""),
        Item::Unsupported(
            "php_fastcgi",
            "use `php_server`: PHP is part of this server",
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
                about: "Serves a PHP application: static files, directories with an index script, and \
                        the front controller for all that is not a file.",
                differs: "",
                example: "php_server",
            },
            php::read_server,
        ),
        Item::Supported(
            Entry {
                name: "file_server",
                syntax: "file_server [MATCHER] [{ … }]",
                default: "",
                about: "Serves static files below the root. The configuration's own files are hidden.",
                differs: "No `browse`.",
                example: "file_server",
            },
            files::file_server,
        ),
        Item::Unsupported("acme_server", TLS),
        Item::Elsewhere(
            "worker",
            "put it in `php_server { … }`, or in `frankenphp { … }` in the global options",
        ),
    ],
};

fn bind(cx: &mut Context, call: &Call<'_>, scope: &mut Scope) -> Result<(), Error> {
    let Some(site) = &mut scope.site else {
        return Err(only_in_site(call));
    };
    for word in call.arguments(1, usize::MAX)? {
        let text = word
            .text
            .strip_prefix('[')
            .and_then(|text| text.strip_suffix(']'));
        match text.unwrap_or(&word.text).parse() {
            Ok(address) if site.bind.contains(&address) => {}
            Ok(address) => site.bind.push(address),
            Err(_) => cx.keep(Err(bad_value(
                &word.position,
                format!("`{}` is not an IP address", word.text),
                "write for example `bind 127.0.0.1`",
            ))),
        }
    }
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
    let text = matcher::path(path)?;
    let prefix = text
        .strip_suffix("/*")
        .or_else(|| text.strip_suffix('*'))
        .unwrap_or(&text);
    let prefix = prefix.to_owned();
    let mut chain = vec![scope::route(None, Handler::StripPrefix(prefix))];
    chain.append(&mut scope.chain(cx, call.block()?, true));
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
) -> Result<(Key, &'a crate::tree::Word), Error> {
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

/// The error of an argument after the matcher of a directive that takes none.
fn no_more(call: &Call<'_>, rest: &[crate::tree::Word]) -> Result<(), Error> {
    let Some(extra) = rest.first() else {
        return Ok(());
    };
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

/// The error of an argument or subdirective that Caddy has and this version does not.
fn not_here(word: &crate::tree::Word) -> Error {
    unsupported(word, "")
}
