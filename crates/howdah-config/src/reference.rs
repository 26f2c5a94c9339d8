//! The reference page, generated from the tables.

use std::fmt::{self, Write as _};

use crate::directive::tls::{ACME, CLIENT_AUTH, INTERNAL, TLS};
use crate::directive::{
    BROWSE, COPY_RESPONSE, COPY_RESPONSE_HEADERS, DIRECTIVES, DYNAMIC_A, ENCODE, ERROR,
    FILE_SERVER, FORWARD_AUTH, HEADER, HOT_RELOAD, INTERCEPT, LB_POLICY, PHP_FASTCGI, PHP_SERVER,
    REQUEST_BODY, RESPOND, RESPONSE, REVERSE_PROXY, TRANSPORT, TRY_FILES,
};
use crate::directive::{mercure, observe, roadrunner};
use crate::https::options::ON_DEMAND;
use crate::https::{pki, storage};
use crate::listen::bind::BIND;
use crate::listen::proxy_protocol::{PROXY_PROTOCOL, WRAPPERS};
use crate::listen::servers;
use crate::logs::{self, crash_reports, format, output};
use crate::matcher::{FILE, MATCHERS};
use crate::pool::classic::POOL;
use crate::pool::worker_options::WORKER;
use crate::table::no_effect::NO_EFFECT;
use crate::table::placeholder::{PLACEHOLDERS, UNSUPPORTED};
use crate::table::{Entry, Item, Table};
use crate::{global, pool};

/// The reference of the configuration language, as Markdown: `docs/reference/caddyfile.md`.
#[must_use]
pub fn reference_markdown() -> String {
    let mut page = String::new();
    // Writing to a `String` cannot fail.
    match write_page(&mut page) {
        Ok(()) | Err(fmt::Error) => page,
    }
}

const INTRODUCTION: &str = "\
# Caddyfile reference

<!-- Written by `cargo run -p howdah-config --example reference`; change crates/howdah-config instead. -->

Howdah is configured with a Caddyfile, the language of Caddy and FrankenPHP. This page lists every \
name that this version supports. Any other name is an error with file, line and column. A few are [accepted without \
effect](#accepted-without-effect), with a warning; nothing is ignored silently. `howdah validate --lenient` and \
`howdah run --lenient` leave out what this version does not support, with a warning for each: try a file with it before you \
change it. Matchers and access rules are never left out.

```caddyfile
{
\tfrankenphp {
\t\tnum_threads 8
\t}
}

:8080 {
\troot * public
\tphp_server
}
```

## The language

- A statement is a line: a name, arguments, and perhaps a block in braces. `{` stands at the end of \
its line, `}` on a line of its own. `howdah fmt` puts them there.
- The first block without a name has the global options. All others are sites and start with their \
addresses. A file with one site needs no braces around it.
- `\"…\"` and `` `…` `` make one argument of text with spaces or line ends; in the first `\\\"` is a \
quote. `<<END` starts a text that ends at the line with `END`, whose indentation is taken off all \
lines. `#` at the start of a word starts a comment. `\\` at the end of a line continues it.
- `{file./run/secrets/key}` is the content of a file without its final line end. It is allowed wherever placeholders \
are, and for keys and passwords. The file is read with the configuration and has at most 1 MiB of UTF-8; a file that \
cannot be read is an error. A relative path starts at the working directory.
- `{$NAME}` and `{$NAME:default}` are environment variables. They are replaced before the file is \
read, and may hold whole lines. `{env.NAME}` is one value; in the global options, `bind`, `log`, `tls`, \
addresses of upstreams and the block of `basic_auth` it is replaced when the configuration is read, elsewhere for each request.
- `(name) { … }` at the top is a snippet; `import name` is replaced by its content. `import FILE` \
does so with a file, or with all files that match a pattern with one `*`; a relative path starts at \
the folder of the file that has the `import`. `{args[0]}` (or `{args.0}`) in it is the first argument of the import, \
`{args[:]}` all of them; `{block}` is what stands in a block after the import, and `{blocks.name}` \
what stands there in `name { … }`.
- `&(name) { … }` at the top is a named route: directives that `invoke name` does.
- Durations are `500ms`, `30s`, `1h30m` or `2d`, sizes `10MB` (of 1000) or `16KiB` (of 1024).

## Addresses

`example.com` is a host with HTTPS, `http://example.com` the same without encryption, `:8080` all \
hosts on a port; `example.com:8443` has HTTPS on a port of its own. `*.` stands for any one label. \
Several addresses are separated by commas or spaces. `:8080/health` takes the requests with this path; all others go \
to the site `:8080`, if there is one. `handle` in that site is clearer.

## HTTPS

As in Caddy, a host without `http://` has HTTPS unless its port is the HTTP port, and so has the \
HTTPS port. Its certificate comes from its own `tls CERT KEY`; otherwise from a `tls CERT KEY` elsewhere in the file \
that covers the name; otherwise it is issued and renewed automatically: by Let's Encrypt, or by the server's own \
authority if no public one knows the name (`localhost`, names without a dot or that end in `.localhost`, `.local`, \
`.internal`, `.home.arpa` or `.test`, and IP addresses). Requests to the HTTP port are redirected. What would be \
served without encryption although it was not asked to be is an error. More in [the guide](../guides/https.md).

## Order

A site applies its directives in the order of the list below, whatever their order in the file, and \
of several with the same name the one with the longest path first. Of several `root`, `rewrite` or `handle` in one \
block only the first that matches applies; `vars` are applied with the longest path last. A `route` block keeps the \
order of the file. A request that no directive answers gets a 404, where Caddy sends an empty 200.

## Matchers of directives

`[MATCHER]` is `*` (all requests), a path that starts with `/` (`/api/*`), or the name of a matcher \
(`@api`). A matcher is defined in a site or block, on one line or in a block:

```caddyfile
@static path *.css *.js
@api {
\tmethod GET POST
\tpath /api/*
}
```

All lines of a block must match; of several values, or several lines with the same name, one has to.
";

fn write_page(page: &mut String) -> fmt::Result {
    page.write_str(INTRODUCTION)?;
    page.write_str("\n## Global options\n")?;
    section(page, "", &global::OPTIONS)?;
    section(page, "`log` (global)", &logs::GLOBAL)?;
    section(page, "`metrics` (global)", &global::METRICS)?;
    section(page, "`admin`", &global::ADMIN)?;
    section(page, "`pki`", &pki::PKI)?;
    section(page, "`ca`", &pki::CA)?;
    section(page, "`on_demand_tls`", &ON_DEMAND)?;
    section(page, "`storage redis`", &storage::REDIS)?;
    section(page, "`crash_reports`", &crash_reports::CRASH_REPORTS)?;
    section(page, "`servers`", &servers::SERVERS)?;
    section(page, "`servers { timeouts }`", &servers::TIMEOUTS)?;
    section(page, "`servers { listener_wrappers }`", &WRAPPERS)?;
    section(page, "`proxy_protocol`", &PROXY_PROTOCOL)?;
    section(page, "`frankenphp`, `howdah`", &pool::global::PHP)?;
    section(page, "`worker`", &WORKER)?;
    section(page, "`pool`", &POOL)?;
    page.write_str("\n## Directives\n")?;
    section(page, "", &DIRECTIVES)?;
    section(page, "`bind`", &BIND)?;
    section(page, "`log` (site)", &logs::ACCESS)?;
    section(page, "`output file`", &output::FILE)?;
    section(page, "`format`", &format::OPTIONS)?;
    section(page, "`format filter`", &format::FILTER)?;
    section(page, "`tls`", &TLS)?;
    section(page, "`tls { client_auth }`", &CLIENT_AUTH)?;
    section(page, "`tls { issuer internal }`", &INTERNAL)?;
    section(page, "`tls { issuer acme }`", &ACME)?;
    section(page, "`header`", &HEADER)?;
    section(page, "`request_body`", &REQUEST_BODY)?;
    section(page, "`encode`", &ENCODE)?;
    section(
        page,
        "`encode { match }`, `@NAME` in `intercept` and `reverse_proxy`",
        &RESPONSE,
    )?;
    section(page, "`intercept`", &INTERCEPT)?;
    section(page, "`copy_response`", &COPY_RESPONSE)?;
    section(page, "`copy_response_headers`", &COPY_RESPONSE_HEADERS)?;
    section(page, "`try_files`", &TRY_FILES)?;
    section(page, "`respond`", &RESPOND)?;
    section(page, "`mercure`", &mercure::MERCURE)?;
    section(page, "`mercure { transport bolt }`", &mercure::BOLT)?;
    section(page, "`metrics`", &observe::METRICS)?;
    section(page, "`tracing`", &observe::TRACING)?;
    section(page, "`error`", &ERROR)?;
    section(page, "`reverse_proxy`", &REVERSE_PROXY)?;
    section(page, "`reverse_proxy { lb_policy }`", &LB_POLICY)?;
    section(page, "`reverse_proxy { dynamic a }`", &DYNAMIC_A)?;
    section(page, "`reverse_proxy { transport http }`", &TRANSPORT)?;
    page.write_str(
        "\n### `forward_auth`\n\nThe same as `reverse_proxy`, without `handle_response` and \
         `replace_status`, and:\n",
    )?;
    section(page, "", &FORWARD_AUTH)?;
    section(page, "`php_fastcgi`", &PHP_FASTCGI)?;
    section(page, "`roadrunner`", &roadrunner::ROADRUNNER)?;
    section(page, "`php_server`", &PHP_SERVER)?;
    section(page, "`hot_reload`", &HOT_RELOAD)?;
    page.write_str(
        "\n### `php`\n\nThe same as `php_server`, without `index`, `try_files` and `file_server`.\n",
    )?;
    section(page, "`file_server`", &FILE_SERVER)?;
    section(page, "`browse`", &BROWSE)?;
    page.write_str("\n## Matchers\n")?;
    section(page, "", &MATCHERS)?;
    section(page, "`file` (matcher)", &FILE)?;
    placeholders(page)?;
    accepted(page)
}

/// Names that are accepted without effect.
fn accepted(page: &mut String) -> fmt::Result {
    page.write_str(
        "\n## Accepted without effect\n\nFiles for other servers have these names, so they are accepted, \
         each with a warning when the server starts. Their arguments and blocks are not checked.\n\n| name | is a | \
         meanwhile |\n|---|---|---|\n",
    )?;
    for one in NO_EFFECT {
        writeln!(page, "| `{}` | {} | {} |", one.name, one.kind, one.warning)?;
    }
    Ok(())
}

fn section<T>(page: &mut String, title: &str, table: &Table<T>) -> fmt::Result {
    if !title.is_empty() {
        writeln!(page, "\n### {title}")?;
    }
    for item in table.items {
        if let Item::Supported(entry, _) = item {
            write_entry(page, entry)?;
        }
    }
    let missing: Vec<_> = table
        .items
        .iter()
        .filter_map(|item| match item {
            Item::Unsupported(name, _) => Some(format!("`{name}`")),
            Item::Supported(..) | Item::Elsewhere(..) => None,
        })
        .collect();
    if !missing.is_empty() {
        writeln!(page, "\nNot in this version: {}.", missing.join(", "))?;
    }
    Ok(())
}

fn write_entry(page: &mut String, entry: &Entry) -> fmt::Result {
    writeln!(page, "\n#### `{}`\n\n{}\n", entry.name, entry.about)?;
    writeln!(
        page,
        "- Syntax: `{}`",
        entry.syntax.replace("  or  ", "` or `")
    )?;
    if !entry.default.is_empty() {
        writeln!(page, "- Default: {}", entry.default)?;
    }
    if !entry.differs.is_empty() {
        writeln!(page, "- Differs: {}", entry.differs)?;
    }
    writeln!(page, "\n```caddyfile\n{}\n```", entry.example)
}

fn placeholders(page: &mut String) -> fmt::Result {
    page.write_str(
        "\n## Placeholders\n\nReplaced for each request, in arguments where this page says so or \
         where a path, a header value, a body or a variable is expected. Braces around text that \
         could not be a name (JSON, CSS) are text; write `\\{` and `\\}` for braces around a word.\n\n\
         | placeholder | also | is |\n|---|---|---|\n",
    )?;
    for known in PLACEHOLDERS {
        let written: Vec<_> = known
            .names
            .iter()
            .map(|name| match name.strip_suffix("path.") {
                Some(start) => format!("`{{{start}path.N}}`"),
                None if name.ends_with('.') => format!("`{{{name}NAME}}`"),
                None => format!("`{{{name}}}`"),
            })
            .collect();
        let (first, others) = written.split_at(1);
        writeln!(
            page,
            "| {} | {} | {} |",
            first.join(""),
            others.join(" "),
            known.about
        )?;
    }
    let missing: Vec<_> = UNSUPPORTED
        .iter()
        .map(|name| {
            if name.ends_with('.') {
                format!("`{{{name}*}}`")
            } else {
                format!("`{{{name}}}`")
            }
        })
        .collect();
    writeln!(page, "\nNot in this version: {}.", missing.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;
    use crate::{NoFiles, parse};

    fn parsed(text: &str) -> Result<crate::Config, crate::Errors> {
        parse(text, "F", &|_| None, &NoFiles).map(|parsed| parsed.config)
    }

    /// Checks that the example of every supported entry is accepted where the table says, and that
    /// every unsupported name is refused with an error that says so.
    fn check<T>(table: &Table<T>, place: impl Fn(&str) -> String) {
        let mut names: Vec<_> = table.items.iter().map(Item::name).collect();
        names.sort_unstable();
        let count = names.len();
        names.dedup();
        assert_eq!(names.len(), count, "{}: a name is listed twice", table.kind);
        for item in table.items {
            match item {
                Item::Supported(entry, _) => {
                    assert!(
                        !entry.about.is_empty() && entry.about.ends_with('.'),
                        "{}",
                        entry.name
                    );
                    assert!(entry.syntax.starts_with(entry.name), "{}", entry.name);
                    assert!(entry.example.starts_with(entry.name), "{}", entry.name);
                    let text = place(entry.example);
                    let result = parsed(&text);
                    assert!(result.is_ok(), "{text}\n{}", result.unwrap_err());
                    assert!(text.contains(entry.example));
                    // The example is read and not skipped: an additional block is reported.
                    let broken = place(&format!("{} \"\" x y z \"\"", entry.name));
                    assert!(parsed(&broken).is_err(), "{broken}");
                }
                Item::Elsewhere(name, _) => {
                    let text = place(name);
                    let errors = parsed(&text).expect_err(&text).0;
                    assert_eq!(errors.len(), 1, "{text}");
                    assert_eq!(errors[0].kind, ErrorKind::Conflict, "{text}");
                }
                Item::Unsupported(name, _) => {
                    let text = place(name);
                    let errors = parsed(&text).expect_err(&text).0;
                    assert_eq!(errors.len(), 1, "{text}");
                    assert_eq!(errors[0].kind, ErrorKind::Unsupported, "{text}");
                    assert_eq!(
                        errors[0].message,
                        format!("`{name}` is not supported in this version")
                    );
                }
            }
        }
        let text = place("no_such_name");
        // In `header` every other name is a header field.
        let closed = table.kind != HEADER.kind;
        let supports = |item: &Item<T>| matches!(item, Item::Supported(..));
        if closed && table.items.iter().any(supports) {
            let errors = parsed(&text).expect_err(&text).0;
            assert_eq!(errors[0].kind, ErrorKind::UnknownName, "{text}");
        }
    }

    #[test]
    fn the_tables_are_what_the_parser_takes() {
        let site = |inner: &str| format!(":80 {{\n{inner}\n}}\n");
        let secure = |inner: &str| format!("a.example {{\n{inner}\n}}\n");
        let global = |inner: &str| format!("{{\n{inner}\n}}\n:80 {{\n}}\n");
        let nest = |name: &'static str| move |inner: &str| format!("{name} {{\n{inner}\n}}");
        check(&global::OPTIONS, global);
        check(&logs::GLOBAL, |inner| global(&nest("log")(inner)));
        check(&ON_DEMAND, |inner| global(&nest("on_demand_tls")(inner)));
        check(&storage::REDIS, |inner| {
            global(&nest("storage redis")(inner))
        });
        check(&crash_reports::CRASH_REPORTS, |inner| {
            global(&nest("crash_reports")(inner))
        });
        check(&servers::SERVERS, |inner| global(&nest("servers")(inner)));
        check(&servers::TIMEOUTS, |inner| {
            global(&nest("servers")(&nest("timeouts")(inner)))
        });
        let wrapper = |inner: &str| global(&nest("servers")(&nest("listener_wrappers")(inner)));
        check(&WRAPPERS, wrapper);
        check(&PROXY_PROTOCOL, |inner| {
            wrapper(&nest("proxy_protocol")(inner))
        });
        check(&pool::global::PHP, |inner| {
            global(&nest("frankenphp")(inner))
        });
        check(&pool::global::PHP, |inner| global(&nest("howdah")(inner)));
        check(&WORKER, |inner| {
            let worker = if inner.starts_with("file") {
                nest("worker")
            } else {
                nest("worker a.php")
            };
            site(&nest("php_server")(&worker(inner)))
        });
        check(&POOL, |inner| {
            global(&nest("frankenphp")(&nest("pool a")(inner)))
        });
        check(&DIRECTIVES, |inner| {
            if inner.starts_with("tls") {
                secure(inner)
            } else if inner.starts_with("copy_response") {
                site(&nest("reverse_proxy a")(&nest("handle_response")(inner)))
            } else {
                format!("&(NAME) {{\nrespond ok\n}}\n{}", site(inner))
            }
        });
        check(&TLS, |inner| secure(&nest("tls")(inner)));
        check(&CLIENT_AUTH, |inner| {
            // A mode alone does not determine which certificates are valid.
            let root = if inner.starts_with("mode") {
                "\ntrusted_ca_cert_file a.pem"
            } else {
                ""
            };
            let inner = format!("{inner}{root}");
            secure(&nest("tls")(&nest("client_auth")(&inner)))
        });
        check(&ACME, |inner| {
            secure(&nest("tls")(&nest("issuer acme")(inner)))
        });
        check(&INTERNAL, |inner| {
            secure(&nest("tls")(&nest("issuer internal")(inner)))
        });
        check(&REQUEST_BODY, |inner| site(&nest("request_body")(inner)));
        check(&INTERCEPT, |inner| site(&nest("intercept")(inner)));
        check(&ERROR, |inner| site(&nest("error")(inner)));
        let checked = |inner: &str| {
            let uri = if inner.starts_with("health_uri") {
                ""
            } else {
                "health_uri /\n"
            };
            format!("{uri}{inner}")
        };
        check(&REVERSE_PROXY, |inner| {
            site(&nest("reverse_proxy a")(&checked(inner)))
        });
        check(&LB_POLICY, |inner| {
            site(&nest("reverse_proxy a")(&nest("lb_policy cookie")(inner)))
        });
        check(&BIND, |inner| site(&nest("bind ::1")(inner)));
        check(&DYNAMIC_A, |inner| {
            let dynamic = if inner.starts_with("name") {
                "dynamic a"
            } else {
                "dynamic a app"
            };
            site(&nest("reverse_proxy")(&nest(dynamic)(inner)))
        });
        check(&TRANSPORT, |inner| {
            site(&nest("reverse_proxy a")(&nest("transport http")(inner)))
        });
        let in_response = |inner: &str| site(&nest("intercept")(&nest("handle_response")(inner)));
        check(&COPY_RESPONSE, |inner| {
            in_response(&nest("copy_response")(inner))
        });
        check(&COPY_RESPONSE_HEADERS, |inner| {
            in_response(&nest("copy_response_headers")(inner))
        });
        check(&FORWARD_AUTH, |inner| {
            let uri = if inner.starts_with("uri") {
                ""
            } else {
                "uri /\n"
            };
            site(&nest("forward_auth a")(&format!("{uri}{inner}")))
        });
        check(&PHP_FASTCGI, |inner| {
            site(&nest("php_fastcgi a:9000")(&checked(inner)))
        });
        check(&roadrunner::ROADRUNNER, |inner| {
            let script = if inner.starts_with("command") {
                ""
            } else {
                "worker.php"
            };
            site(&format!("roadrunner {script} {{\n{inner}\n}}"))
        });
        check(&logs::ACCESS, |inner| site(&nest("log")(inner)));
        check(&output::FILE, |inner| {
            site(&nest("log")(&nest("output file a.log")(inner)))
        });
        check(&format::OPTIONS, |inner| {
            site(&nest("log")(&nest("format json")(inner)))
        });
        check(&HEADER, |inner| site(&nest("header")(inner)));
        check(&ENCODE, |inner| site(&nest("encode")(inner)));
        check(&RESPONSE, |inner| {
            site(&nest("encode")(&nest("match")(inner)))
        });
        check(&TRY_FILES, |inner| site(&nest("try_files {path}")(inner)));
        check(&mercure::MERCURE, |inner| {
            let needed = if inner.starts_with("publisher_jwt") {
                "anonymous"
            } else if inner.starts_with("anonymous") {
                "publisher_jwt k"
            } else {
                "publisher_jwt k\nanonymous"
            };
            site(&nest("mercure")(&format!("{needed}\n{inner}")))
        });
        check(&mercure::BOLT, |inner| {
            let bolt = nest("transport bolt")(inner);
            site(&nest("mercure")(&format!(
                "publisher_jwt k\nanonymous\n{bolt}"
            )))
        });
        check(&observe::TRACING, |inner| site(&nest("tracing")(inner)));
        check(&observe::METRICS, |inner| site(&nest("metrics")(inner)));
        check(&global::METRICS, |inner| nest("")(&nest("metrics")(inner)));
        check(&pki::PKI, |inner| nest("")(&nest("pki")(inner)));
        check(&RESPOND, |inner| site(&nest("respond 404")(inner)));
        let hub = |inner: &str| {
            site(&format!(
                "mercure {{\npublisher_jwt x\nanonymous\n}}\n{inner}"
            ))
        };
        check(&PHP_SERVER, |inner| hub(&nest("php_server")(inner)));
        check(&crate::directive::PHP, |inner| hub(&nest("php")(inner)));
        check(&HOT_RELOAD, |inner| {
            hub(&nest("php_server")(&nest("hot_reload")(inner)))
        });
        check(&FILE_SERVER, |inner| site(&nest("file_server")(inner)));
        check(&BROWSE, |inner| {
            site(&nest("file_server")(&nest("browse")(inner)))
        });
        check(&MATCHERS, |inner| site(&nest("@a")(inner)));
        check(&FILE, |inner| site(&nest("@a file")(inner)));
    }

    #[test]
    fn options_without_effect_are_warnings() {
        for one in NO_EFFECT {
            let words = format!("{} a b {{\nc d\n}}", one.name);
            let text = match one.kind {
                "directive" => format!(":80 {{\n{words}\n}}"),
                "subdirective of `php_server`" => format!(":80 {{\nphp_server {{\n{words}\n}}\n}}"),
                "subdirective of `php`" => format!(":80 {{\nphp {{\n{words}\n}}\n}}"),
                "subdirective of `reverse_proxy`" => {
                    format!(":80 {{\nreverse_proxy a:1 {{\n{words}\n}}\n}}")
                }
                "subdirective of `mercure`" => {
                    format!(":80 {{\nmercure {{\nanonymous\n{words}\n}}\n}}")
                }
                "global option" => format!("{{\n{words}\n}}\n:80 {{\n}}"),
                "option of `log`" => format!("{{\nlog {{\n{words}\n}}\n}}\n:80 {{\n}}"),
                "option of `admin`" => format!("{{\nadmin {{\n{words}\n}}\n}}\n:80 {{\n}}"),
                "option of `ca`" => {
                    format!("{{\npki {{\nca {{\n{words}\n}}\n}}\n}}\n:80 {{\n}}")
                }
                "option of `servers`" => format!("{{\nservers {{\n{words}\n}}\n}}\n:80 {{\n}}"),
                "subdirective of `log`" => format!(":80 {{\nlog {{\n{words}\n}}\n}}"),
                "subdirective of `tls`" => format!("localhost {{\ntls {{\n{words}\n}}\n}}"),
                "option of `issuer acme`" => {
                    let issuer = format!("issuer acme {{\n{words}\n}}");
                    format!("example.com {{\ntls {{\n{issuer}\n}}\n}}")
                }
                "option of `output file`" => {
                    let output = format!("output file a.log {{\n{words}\n}}");
                    format!(":80 {{\nlog {{\n{output}\n}}\n}}")
                }
                "option of `transport http`" => {
                    let transport = format!("transport http {{\n{words}\n}}");
                    format!(":80 {{\nreverse_proxy a:1 {{\n{transport}\n}}\n}}")
                }
                "subdirective of `request_body`" => {
                    format!(":80 {{\nrequest_body {{\n{words}\n}}\n}}")
                }
                other => panic!("no place for {other}"),
            };
            let parsed = parse(&text, "F", &|_| None, &NoFiles)
                .unwrap_or_else(|errors| panic!("{text}\n{errors}"));
            assert_eq!(parsed.warnings.len(), 1, "{text}");
            let expected = format!("`{}` has no effect: {}", one.name, one.warning);
            assert_eq!(parsed.warnings[0].message, expected);
        }
    }

    #[test]
    fn the_placeholders_are_what_the_parser_takes() {
        for known in PLACEHOLDERS {
            let mut meanings = Vec::new();
            for name in known.names {
                let name = if name.ends_with('.') {
                    format!("{name}1")
                } else {
                    (*name).to_owned()
                };
                // All have a value there.
                let text = format!(":80 {{\nlog_append a \"{{{name}}}\"\n}}");
                let config = parsed(&text).unwrap_or_else(|errors| panic!("{text}\n{errors}"));
                meanings.push(format!("{:?}", config.sites[0].routes));
            }
            assert!(
                meanings.iter().all(|meaning| *meaning == meanings[0]),
                "{meanings:?}"
            );
            assert!(meanings[0].contains("Placeholder("), "{meanings:?}");
        }
        for name in UNSUPPORTED {
            let name = if name.ends_with('.') {
                format!("{name}x")
            } else {
                (*name).to_owned()
            };
            let text = format!(":80 {{\nrespond \"{{{name}}}\"\n}}");
            let errors = parsed(&text).expect_err(&text).0;
            assert_eq!(
                errors[0].kind,
                ErrorKind::Unsupported,
                "{text}: {}",
                errors[0]
            );
        }
    }

    #[test]
    fn the_page_is_up_to_date() {
        let path = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../docs/reference/caddyfile.md"
        );
        let page = std::fs::read_to_string(path).unwrap_or_default();
        assert!(
            page == reference_markdown(),
            "run `cargo run -p howdah-config --example reference > docs/reference/caddyfile.md`"
        );
    }
}
