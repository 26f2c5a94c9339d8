//! What is done in each location: the `handle` of those that nginx would choose.

use super::body::Body;
use super::condition::{condition, convert_return, flags, rewrite};
use super::fastcgi::{self, Php};
use super::files::{file_server, files_without_try, rewrites_to_script, try_files};
use super::location::{Kind, Location, php_location};
use super::proxy::{PROXY, proxy};
use super::refusal;
use super::settings::{
    ACCESS, Context, OF_SERVER, access, is_access, is_known, is_setting, settings,
};
use super::site::Site;
use super::value::placeholders;
use crate::directive::Directive;
use crate::output::{FORBIDDEN, Lines, block, is_terminal, word};
use crate::pattern::{PathPattern, matcher_name};

/// Directives for upstreams whose protocols this server does not speak.
const OTHER_UPSTREAMS: &[&str] = &["uwsgi_pass", "scgi_pass", "memcached_pass"];

/// The locations among these directives, each a `handle`, and the handling of all other requests.
pub(super) fn dispatch(children: &[Directive], site: &Site<'_>, cx: &mut Context<'_>) -> Lines {
    let mut locations: Vec<_> = children.iter().filter_map(Location::of).collect();
    locations.sort_by_key(Location::rank);
    let fallback = locations.iter().find(|location| location.is_fallback());
    let has_fallback = fallback.is_some();
    let mut lines = handles(&locations, fallback, site, cx);
    if !has_fallback {
        let mut body = access(&site.access, cx);
        if !body.iter().any(|line| line == FORBIDDEN) {
            body.extend(files(None, site, cx));
        }
        lines.extend(block("handle", body));
    }
    // A single `handle` for all requests needs none.
    if lines.first().is_some_and(|line| line == "handle {") {
        lines.pop();
        lines.remove(0);
    }
    lines
}

/// A `handle` for each of these, except for scripts that `fallback` runs in any case.
fn handles(
    locations: &[Location<'_>],
    fallback: Option<&Location<'_>>,
    site: &Site<'_>,
    cx: &mut Context<'_>,
) -> Lines {
    let runs_php = site.php.is_some() && fallback.is_none_or(|fallback| runs_php(fallback, site));
    let mut lines = Lines::new();
    for (index, location) in locations.iter().enumerate() {
        let is_needless = runs_php
            && location.is_plain_php()
            && !location.has("internal")
            && !locations[index + 1..]
                .iter()
                .any(Location::may_take_scripts);
        if !is_needless {
            lines.extend(handle(location, locations, site, cx));
        }
    }
    lines
}

/// Whether what is not a script ends in `php_server` in this location.
fn runs_php(location: &Location<'_>, site: &Site<'_>) -> bool {
    if ["proxy_pass", "grpc_pass", "return", "fastcgi_pass", "alias"]
        .iter()
        .any(|name| location.has(name))
    {
        return false;
    }
    let children = location.directive.children();
    let Some(last) = children
        .iter()
        .find(|own| own.name == "try_files")
        .and_then(|own| own.arguments.last())
    else {
        return true;
    };
    last.contains(".php")
        || last.starts_with('=') && site.has_script_index()
        || site
            .named
            .get(last)
            .is_some_and(|named| rewrites_to_script(named).is_some())
}

fn handle(
    location: &Location<'_>,
    all: &[Location<'_>],
    site: &Site<'_>,
    cx: &mut Context<'_>,
) -> Lines {
    let Some(matcher) = LocationMatcher::of(location, all, cx) else {
        return refusal::location(location, cx);
    };
    let Body { lines, strips } = body(location, site, cx);
    let lines: Lines = match &matcher.name {
        Some(name) => lines
            .into_iter()
            .map(|line| {
                (1..=9).fold(line, |line, n| {
                    line.replace(&format!("{{re.{n}}}"), &format!("{{re.{name}.{n}}}"))
                })
            })
            .collect(),
        None => lines,
    };
    let head = if strips && matcher.text.starts_with('/') {
        format!("handle_path {}", matcher.text)
    } else if matcher.text.is_empty() {
        "handle".to_owned()
    } else {
        format!("handle {}", matcher.text)
    };
    let mut result = matcher.definition;
    result.extend(slash_redirect(location, all));
    if lines.is_empty() {
        result.push(format!("{head} {{"));
        result.push("}".to_owned());
    } else {
        result.extend(block(&head, lines));
    }
    result
}

/// The requests that a location is for.
struct LocationMatcher {
    /// Lines before the `handle`.
    definition: Lines,
    /// The matcher of the `handle`.
    text: String,
    /// Name of the regular expression whose groups the lines of the location use.
    name: Option<String>,
}

impl LocationMatcher {
    /// `text` without a definition.
    fn inline(text: String) -> Self {
        Self {
            definition: Lines::new(),
            text,
            name: None,
        }
    }

    /// `None`: it has no counterpart.
    fn of(location: &Location<'_>, all: &[Location<'_>], cx: &mut Context<'_>) -> Option<Self> {
        let pattern = location.pattern;
        Some(match location.kind {
            Kind::Regex { ignore_case } => {
                let name = cx.names.next(matcher_name(pattern));
                let found = PathPattern::of(&name, pattern, ignore_case)?;
                Self {
                    definition: found.define(&name),
                    text: format!("@{name}"),
                    name: Some(name),
                }
            }
            Kind::Exact => Self::inline(word(pattern)),
            Kind::Prefix if pattern == "/" => Self::inline(String::new()),
            Kind::First | Kind::Prefix => {
                // A longer prefix that lets regular expressions come first is not this one's.
                let longer: Vec<_> = all
                    .iter()
                    .filter(|other| {
                        location.kind == Kind::First
                            && other.kind == Kind::Prefix
                            && other.pattern.len() > pattern.len()
                            && other.pattern.starts_with(pattern)
                    })
                    .map(|other| format!("{}*", other.pattern))
                    .collect();
                if longer.is_empty() {
                    return Some(Self::inline(word(&format!("{pattern}*"))));
                }
                let name = cx.names.next("prefix");
                let lines = vec![
                    format!("path {}", word(&format!("{pattern}*"))),
                    format!("not path {}", longer.join(" ")),
                ];
                Self {
                    definition: block(&format!("@{name}"), lines),
                    text: format!("@{name}"),
                    name: None,
                }
            }
        })
    }
}

/// nginx redirects the path of a location for an upstream to the same with a slash.
fn slash_redirect(location: &Location<'_>, all: &[Location<'_>]) -> Option<String> {
    let is_prefix = matches!(location.kind, Kind::First | Kind::Prefix);
    let path = location.pattern.strip_suffix('/')?;
    let is_taken = || {
        all.iter()
            .any(|other| other.kind == Kind::Exact && other.pattern == path)
    };
    (is_prefix && !path.is_empty() && location.has("proxy_pass") && !is_taken()).then(|| {
        format!(
            "redir {} {} 301",
            word(path),
            word(&format!("{path}/{{?query}}"))
        )
    })
}

fn body(location: &Location<'_>, site: &Site<'_>, cx: &mut Context<'_>) -> Body {
    let children = location.directive.children();
    let found = |name: &str| children.iter().find(|own| own.name == name);
    if found("location").is_some() && found("alias").is_none() {
        return nested(location, site, cx);
    }
    let mut lines = settings(children, cx);
    // A `return` comes before access rules.
    lines.extend(control(children, cx));
    lines.extend(unknown(children, cx));
    if !lines.iter().any(|line| is_terminal(line)) {
        lines.extend(refusal::refusals(children, cx));
    }
    if lines.iter().any(|line| is_terminal(line)) {
        return lines.into();
    }
    lines.extend(access(&with_inherited(children, &site.access), cx));
    if lines.iter().any(|line| is_terminal(line)) {
        return lines.into();
    }
    let is_exact = location.kind == Kind::Exact;
    if let Some(proxied) = proxy(location.pattern, is_exact, children, site.upstreams, cx) {
        lines.extend(proxied.lines);
        return Body {
            lines,
            strips: proxied.strips,
        };
    }
    if found("internal").is_some() && !location.is_fallback() {
        lines.push("error 404".to_owned());
        return lines.into();
    }
    if let Some(alias) = found("alias") {
        let aliased = alias_of(location, alias, cx);
        lines.extend(aliased.lines);
        let with_php = php_location(children).and_then(|php| Php::of(php, site.upstreams, cx));
        lines.extend(match with_php {
            Some(php) => php.serve(Lines::new()),
            None => file_server(children, site),
        });
        return Body {
            lines,
            strips: aliased.strips,
        };
    }
    if let Some(php) = Php::of(children, site.upstreams, cx) {
        lines.extend(script(children, &php));
        return lines.into();
    }
    // A note names it. Files in its place could be the source code of an application.
    if OTHER_UPSTREAMS.iter().any(|name| found(name).is_some()) {
        lines.push("error 502".to_owned());
        return lines.into();
    }
    // The index of a directory is another request, for which nginx chooses again.
    let is_directory = is_exact && location.pattern.ends_with('/');
    if found("try_files").is_some() || location.kind == Kind::Prefix || is_directory {
        lines.extend(files(Some(children), site, cx));
    } else {
        lines.extend(file_server(children, site));
    }
    lines.into()
}

/// A location with nested ones: one of these, otherwise its own directives.
fn nested(location: &Location<'_>, site: &Site<'_>, cx: &mut Context<'_>) -> Body {
    let children = location.directive.children();
    let of = |wanted: bool, own: &&Directive| wanted == (own.name == "location");
    let mut locations: Vec<_> = children.iter().filter_map(Location::of).collect();
    locations.sort_by_key(Location::rank);
    let rest_directive = Directive {
        block: Some(
            children
                .iter()
                .filter(|own| of(false, own) && !is_setting(&own.name))
                .cloned()
                .collect(),
        ),
        ..location.directive.clone()
    };
    let rest_location = Location {
        directive: &rest_directive,
        ..*location
    };
    let mut lines = settings(children, cx);
    let inner = Site {
        upstreams: site.upstreams,
        php: site.php.clone(),
        index: site.index.clone(),
        index_is_front: site.index_is_front,
        named: site.named.clone(),
        access: with_inherited(children, &site.access)
            .into_iter()
            .filter(|own| is_access(&own.name))
            .collect(),
    };
    lines.extend(handles(&locations, Some(&rest_location), &inner, cx));
    let rest = body(&rest_location, site, cx);
    let head = if rest.strips {
        format!("handle_path {}", word(&format!("{}*", location.pattern)))
    } else {
        "handle".to_owned()
    };
    lines.extend(block(&head, rest.lines));
    lines.into()
}

/// These directives and the access rules around them that they do not replace.
fn with_inherited(children: &[Directive], around: &[Directive]) -> Vec<Directive> {
    let mut all = children.to_vec();
    for group in ACCESS {
        let has = |own: &Directive| group.contains(&own.name.as_str());
        if !children.iter().any(has) {
            all.extend(around.iter().filter(|own| has(own)).cloned());
        }
    }
    all
}

/// `if`, `rewrite` and `return`, in their order.
pub(super) fn control(children: &[Directive], cx: &mut Context<'_>) -> Lines {
    let mut lines = flags(children, cx);
    for own in children {
        match own.name.as_str() {
            // `php_server` looks for the script.
            "if" if own
                .arguments
                .join(" ")
                .contains("-f $document_root$fastcgi_script_name") => {}
            "if" => lines.extend(condition(own, cx)),
            "rewrite" => lines.extend(rewrite(own, &[], cx)),
            "return" => lines.push(convert_return(own, "", cx)),
            _ => {}
        }
    }
    lines
}

/// Notes about directives that are not converted.
pub(super) fn unknown(children: &[Directive], cx: &mut Context<'_>) -> Lines {
    const KNOWN: &[&str] = &[
        "alias",
        "break",
        "fastcgi_pass",
        "grpc_pass",
        "if",
        "internal",
        "location",
        "proxy_pass",
        "return",
        "rewrite",
        "try_files",
    ];
    let is_known = |name: &str| {
        KNOWN.contains(&name)
            || is_known(name)
            || fastcgi::is_silent(name)
            || PROXY.contains(&name)
            || OF_SERVER.contains(&name)
            || refusal::is_access(name)
    };
    let others = children.iter().filter(|own| !is_known(&own.name));
    others.map(|own| cx.note(own, "")).collect()
}

/// PHP in a separate location.
fn script(children: &[Directive], php: &Php) -> Lines {
    let fixed = children.iter().find_map(|own| {
        let is_file = own.name == "fastcgi_param" && own.argument(0) == "SCRIPT_FILENAME";
        let name = own.argument(1);
        let below = name
            .strip_prefix("$document_root")
            .or_else(|| name.strip_prefix("$realpath_root"))?;
        (is_file && below.starts_with('/') && !below.contains('$')).then(|| below.to_owned())
    });
    let elsewhere = children.iter().find_map(|own| {
        let is_file = own.name == "fastcgi_param" && own.argument(0) == "SCRIPT_FILENAME";
        let path = own.argument(1);
        let is_fixed = is_file && path.starts_with('/') && !path.contains('$');
        let (folder, name) = path.rsplit_once('/').filter(|_| is_fixed)?;
        let folder = if folder.is_empty() { "/" } else { folder };
        Some((folder.to_owned(), format!("/{name}")))
    });
    if let Some((folder, script)) = elsewhere {
        let mut lines = vec![
            format!("root * {}", word(&folder)),
            format!("rewrite * {}", word(&script)),
        ];
        lines.extend(php.serve(Lines::new()));
        return lines;
    }
    if let Some(script) = fixed {
        let mut lines = vec![format!("rewrite * {}", word(&script))];
        lines.extend(php.serve(Lines::new()));
        return lines;
    }
    php.serve(vec!["try_files {path} =404".to_owned()])
}

fn alias_of(location: &Location<'_>, alias: &Directive, cx: &mut Context<'_>) -> Body {
    let target = match placeholders(alias.argument(0), cx.constants) {
        Ok(target) => target,
        Err(unknown) => {
            return vec![cx.note(alias, &format!("{unknown} has no placeholder"))].into();
        }
    };
    let by_path = |target: &str| {
        let at = target.find('{').unwrap_or(target.len());
        let slash = target[..at].rfind('/').unwrap_or(0);
        let (folder, rest) = target.split_at(slash);
        vec![
            format!(
                "root * {}",
                word(if folder.is_empty() { "/" } else { folder })
            ),
            format!("rewrite * {}", word(rest)),
        ]
    };
    match location.kind {
        Kind::Exact | Kind::Regex { .. } => by_path(&target).into(),
        Kind::First | Kind::Prefix => {
            let root = target.trim_end_matches('/');
            let root = if root.is_empty() { "/" } else { root };
            Body {
                lines: vec![format!("root * {}", word(root))],
                strips: true,
            }
        }
    }
}

/// Files of the location, or what a named location does without them: the rest, when no other directive responds.
fn files(children: Option<&[Directive]>, site: &Site<'_>, cx: &mut Context<'_>) -> Lines {
    let children = children.unwrap_or_default();
    let Some(tried) = children.iter().find(|own| own.name == "try_files") else {
        return files_without_try(children, site);
    };
    let last = tried.arguments.last();
    match last.and_then(|last| site.named.get(last)) {
        Some(named) if rewrites_to_script(named).is_none() => {
            try_named(tried, named, children, site, cx)
        }
        _ => try_files(tried, children, site, cx),
    }
}

/// The directives of a named location.
pub(super) fn named_body(
    named: &[Directive],
    line: usize,
    site: &Site<'_>,
    cx: &mut Context<'_>,
) -> Lines {
    let directive = Directive {
        name: "location".to_owned(),
        arguments: vec!["/".to_owned()],
        block: Some(named.to_vec()),
        line,
    };
    let location = Location {
        kind: Kind::Prefix,
        pattern: "/",
        directive: &directive,
    };
    let at = named.first().map_or(line, |first| first.line);
    if cx.named.contains(&at) {
        let why = "these named locations redirect to each other; nginx responds with 500";
        return vec![cx.notes.add(line, "named location", why)];
    }
    cx.named.push(at);
    let lines = body(&location, site, cx).lines;
    cx.named.pop();
    lines
}

/// Files, else the directives of a named location.
fn try_named(
    tried: &Directive,
    named: &[Directive],
    children: &[Directive],
    site: &Site<'_>,
    cx: &mut Context<'_>,
) -> Lines {
    let name = cx.names.next("file");
    // An index represents a directory; without one the named location responds.
    let mut wanted = Vec::new();
    let files = tried.arguments.split_last();
    for file in files.map_or(&[][..], |(_, files)| files) {
        match placeholders(file, cx.constants) {
            Ok(file) if file.ends_with('/') => {
                let index = site.index.iter().map(|index| format!("{file}{index}"));
                wanted.extend(
                    index.chain(site.index.is_empty().then(|| format!("{file}index.html"))),
                );
            }
            Ok(file) => wanted.push(file),
            Err(unknown) => return vec![cx.note(tried, &format!("{unknown} has no placeholder"))],
        }
    }
    let mut lines = vec![format!("@{name} file {}", wanted.join(" "))];
    let rest: Vec<_> = children
        .iter()
        .filter(|own| own.name != "try_files")
        .cloned()
        .collect();
    let mut found = Lines::new();
    if wanted.iter().any(|file| file != "{path}") {
        found.push("rewrite * {file_match.relative}".to_owned());
    }
    found.extend(file_server(&rest, site));
    lines.extend(block(&format!("handle @{name}"), found));
    lines.extend(block("handle", named_body(named, tried.line, site, cx)));
    lines
}
