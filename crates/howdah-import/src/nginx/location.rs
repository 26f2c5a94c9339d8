//! Locations: which of them nginx chooses, and what it does then.

use std::collections::BTreeMap;

use super::condition::{condition, convert_return, rewrite};
use super::fastcgi::{self, Php};
use super::proxy::{PROXY, proxy};
use super::settings::{
    ACCESS, Context, OF_SERVER, access, is_access, is_inherited, is_known, is_setting, settings,
};
use super::upstream::Upstreams;
use super::value::placeholders;
use crate::directive::Directive;
use crate::output::{Lines, block, is_terminal, word};
use crate::pattern::{PathPattern, is_about_php, is_script, matcher_name};

/// Settings of a server that its locations need.
pub(super) struct Site<'a> {
    pub(super) upstreams: &'a Upstreams,
    /// PHP of the location for scripts.
    pub(super) php: Option<Php>,
    /// File names that stand for a directory.
    pub(super) index: Vec<String>,
    /// Directories without one of these are for the front controller.
    pub(super) index_is_front: bool,
    /// `location @name`.
    pub(super) named: BTreeMap<String, &'a [Directive]>,
    /// Access rules of a location without its own.
    pub(super) access: Vec<Directive>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Exact,
    /// `^~`: no regular expression is tried.
    First,
    Regex {
        ignore_case: bool,
    },
    Prefix,
}

struct Location<'a> {
    kind: Kind,
    pattern: &'a str,
    directive: &'a Directive,
}

impl<'a> Location<'a> {
    fn of(directive: &'a Directive) -> Option<Self> {
        if directive.name != "location" {
            return None;
        }
        let (first, second) = (directive.argument(0), directive.argument(1));
        // A modifier may stand directly before the pattern.
        let modified = [
            ("~*", Kind::Regex { ignore_case: true }),
            ("~", Kind::Regex { ignore_case: false }),
            ("^~", Kind::First),
            ("=", Kind::Exact),
        ]
        .into_iter()
        .find_map(|(modifier, kind)| {
            let attached = first.strip_prefix(modifier)?;
            Some((
                kind,
                if attached.is_empty() {
                    second
                } else {
                    attached
                },
            ))
        });
        let (kind, pattern) = modified.unwrap_or((Kind::Prefix, first));
        (!pattern.starts_with('@')).then_some(Self {
            kind,
            pattern,
            directive,
        })
    }

    fn has(&self, name: &str) -> bool {
        self.directive.children().iter().any(|own| own.name == name)
    }

    fn is_fallback(&self) -> bool {
        self.kind == Kind::Prefix && self.pattern == "/"
    }

    /// Only lets PHP run scripts, as `php_server` does.
    fn is_plain_php(&self) -> bool {
        let is_regex = matches!(self.kind, Kind::Regex { .. });
        let plain = |own: &Directive| match own.name.as_str() {
            "try_files" | "set" | "internal" | "fastcgi_pass" => true,
            "if" => own
                .arguments
                .join(" ")
                .contains("-f $document_root$fastcgi_script_name"),
            name => is_inherited(name),
        };
        is_regex
            && is_about_php(self.pattern)
            && self.has("fastcgi_pass")
            && self.directive.children().iter().all(plain)
    }

    /// A regular expression for requests other than those for hidden files or assets.
    fn may_take_scripts(&self) -> bool {
        matches!(self.kind, Kind::Regex { .. })
            && !["hidden", "static"].contains(&matcher_name(self.pattern))
    }

    /// Its position in the order in which nginx chooses.
    fn rank(&self) -> (u8, std::cmp::Reverse<usize>) {
        let length = std::cmp::Reverse(self.pattern.len());
        match self.kind {
            Kind::Exact => (0, length),
            Kind::First => (1, length),
            // In the order of the file.
            Kind::Regex { .. } => (2, std::cmp::Reverse(0)),
            Kind::Prefix => (3, length),
        }
    }
}

/// The `location @name` among these.
pub(super) fn named(children: &[Directive]) -> BTreeMap<String, &[Directive]> {
    let own = children
        .iter()
        .filter(|own| own.name == "location" && own.argument(0).starts_with('@'));
    own.map(|own| (own.argument(0).to_owned(), own.children()))
        .collect()
}

/// The directives of `location = path`.
pub(super) fn exact<'a>(children: &'a [Directive], path: &str) -> Option<&'a [Directive]> {
    let mut locations = children.iter().filter_map(Location::of);
    let found = locations.find(|location| location.kind == Kind::Exact && location.pattern == path);
    found.map(|location| location.directive.children())
}

/// The first location that runs PHP scripts, at any depth.
pub(super) fn php_location(children: &[Directive]) -> Option<&[Directive]> {
    children.iter().find_map(|own| {
        let location = Location::of(own)?;
        let is_regex = matches!(location.kind, Kind::Regex { .. });
        if is_regex && is_about_php(location.pattern) && location.has("fastcgi_pass") {
            return Some(own.children());
        }
        php_location(own.children())
    })
}

/// The locations among these directives, each a `handle`, and the handling of all other requests.
pub(super) fn dispatch(children: &[Directive], site: &Site<'_>, cx: &mut Context<'_>) -> Lines {
    let mut locations: Vec<_> = children.iter().filter_map(Location::of).collect();
    locations.sort_by_key(Location::rank);
    let fallback = locations.iter().find(|location| location.is_fallback());
    let has_fallback = fallback.is_some();
    let mut lines = handles(&locations, fallback, site, cx);
    if !has_fallback {
        let mut body = access(&site.access, cx);
        if !body.iter().any(|line| line == "error 403") {
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
    if ["proxy_pass", "return", "fastcgi_pass", "alias"]
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
        || last.starts_with('=') && has_script_index(site)
        || site
            .named
            .get(last)
            .is_some_and(|named| rewrites_to_script(named).is_some())
}

fn has_script_index(site: &Site<'_>) -> bool {
    site.index.iter().any(|name| is_script(name))
}

/// `rewrite ^ /index.php last;` of a named location, and nothing else.
fn rewrites_to_script(children: &[Directive]) -> Option<&str> {
    let mut children = children.iter().filter(|own| !is_inherited(&own.name));
    let own = children.next()?;
    let to = own.argument(1);
    let is_plain = own.name == "rewrite" && to.contains(".php");
    // A group of the expression may be the PATH_INFO.
    let has_group = || (1..=9).any(|n| to.contains(&format!("${n}")));
    (is_plain && children.next().is_none() && !has_group()).then_some(to)
}

fn handle(
    location: &Location<'_>,
    all: &[Location<'_>],
    site: &Site<'_>,
    cx: &mut Context<'_>,
) -> Lines {
    let pattern = location.pattern;
    let (definition, matcher, name) = match location.kind {
        Kind::Regex { ignore_case } => {
            let name = cx.names.next(matcher_name(pattern));
            if let Some(found) = PathPattern::of(&name, pattern, ignore_case) {
                (found.define(&name), format!("@{name}"), Some(name))
            } else {
                let why = "this regular expression has no counterpart; requests that it matches go elsewhere";
                return vec![cx.note(location.directive, why)];
            }
        }
        Kind::Exact => (Lines::new(), word(pattern), None),
        Kind::Prefix if pattern == "/" => (Lines::new(), String::new(), None),
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
                (Lines::new(), word(&format!("{pattern}*")), None)
            } else {
                let name = cx.names.next("prefix");
                let lines = vec![
                    format!("path {}", word(&format!("{pattern}*"))),
                    format!("not path {}", longer.join(" ")),
                ];
                (block(&format!("@{name}"), lines), format!("@{name}"), None)
            }
        }
    };
    let Body { lines, strips } = body(location, site, cx);
    let lines: Lines = match &name {
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
    let head = if strips && matcher.starts_with('/') {
        format!("handle_path {matcher}")
    } else if matcher.is_empty() {
        "handle".to_owned()
    } else {
        format!("handle {matcher}")
    };
    let mut result = definition;
    result.extend(slash_redirect(location, all));
    if lines.is_empty() {
        result.push(format!("{head} {{"));
        result.push("}".to_owned());
    } else {
        result.extend(block(&head, lines));
    }
    result
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

struct Body {
    lines: Lines,
    /// The path of the location is removed from that of the request.
    strips: bool,
}

impl From<Lines> for Body {
    fn from(lines: Lines) -> Self {
        Self {
            lines,
            strips: false,
        }
    }
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
    if lines.iter().any(|line| is_terminal(line)) {
        return lines.into();
    }
    lines.extend(access(&with_inherited(children, &site.access), cx));
    if lines.iter().any(|line| is_terminal(line)) {
        return lines.into();
    }
    let is_exact = location.kind == Kind::Exact;
    if let Some((own, strips)) = proxy(location.pattern, is_exact, children, site.upstreams, cx) {
        lines.extend(own);
        return Body { lines, strips };
    }
    if found("internal").is_some() && !location.is_fallback() {
        lines.push("error 404".to_owned());
        return lines.into();
    }
    if let Some(alias) = found("alias") {
        let (own, strips) = alias_of(location, alias, cx);
        lines.extend(own);
        let with_php = php_location(children).and_then(|php| Php::of(php, site.upstreams, cx));
        lines.extend(match with_php {
            Some(php) => php.serve(Lines::new()),
            None => file_server(children, site),
        });
        return Body { lines, strips };
    }
    if let Some(php) = Php::of(children, site.upstreams, cx) {
        lines.extend(script(children, &php));
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
    let mut lines = Lines::new();
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
    if let Some(script) = fixed {
        let mut lines = vec![format!("rewrite * {}", word(&script))];
        lines.extend(php.serve(Lines::new()));
        return lines;
    }
    php.serve(vec!["try_files {path} =404".to_owned()])
}

fn alias_of(location: &Location<'_>, alias: &Directive, cx: &mut Context<'_>) -> (Lines, bool) {
    let target = match placeholders(alias.argument(0), cx.constants) {
        Ok(target) => target,
        Err(unknown) => {
            return (
                vec![cx.note(alias, &format!("{unknown} has no placeholder"))],
                false,
            );
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
        Kind::Exact | Kind::Regex { .. } => (by_path(&target), false),
        Kind::First | Kind::Prefix => {
            let root = target.trim_end_matches('/');
            let root = if root.is_empty() { "/" } else { root };
            (vec![format!("root * {}", word(root))], true)
        }
    }
}

/// Static files, the front controller, and the index: the rest, when no other directive responds.
fn files(children: Option<&[Directive]>, site: &Site<'_>, cx: &mut Context<'_>) -> Lines {
    let children = children.unwrap_or_default();
    let tried = children.iter().find(|own| own.name == "try_files");
    if let Some(tried) = tried {
        return try_files(tried, children, site, cx);
    }
    match &site.php {
        Some(php) if has_script_index(site) => files_and_indexes(php, "=404", site),
        Some(php) => php.serve(vec!["try_files {path} =404".to_owned()]),
        None => file_server(children, site),
    }
}

/// Files, else an index of the directory, else `last`.
fn files_and_indexes(php: &Php, last: &str, site: &Site<'_>) -> Lines {
    let names: Vec<_> = site
        .index
        .iter()
        .map(|name| name.trim_start_matches('/'))
        .collect();
    let (scripts, pages): (Vec<&str>, Vec<_>) = names.iter().partition(|name| is_script(name));
    let tried = |names: &[&str]| -> String {
        let names = names.iter().map(|name| format!(" {{path}}/{name}"));
        names.collect()
    };
    // The directory itself redirects to its path with a slash, and has its pages.
    let (tried, options) = if names.is_empty() {
        (tried(&["index.php"]), Lines::new())
    } else if !pages.is_empty() && !site.index_is_front && names.starts_with(&scripts) {
        (format!("{} {{path}}/", tried(&scripts)), page_index(&pages))
    } else {
        (tried(&names), Lines::new())
    };
    php.serve_with(vec![format!("try_files {{path}}{tried} {last}")], options)
}

/// The option of `file_server`.
fn page_index(names: &[&str]) -> Lines {
    if names.is_empty() || names == ["index.html"] {
        return Lines::new();
    }
    vec![format!("index {}", names.join(" "))]
}

fn file_server(children: &[Directive], site: &Site<'_>) -> Lines {
    let own = children.iter().find(|own| own.name == "index");
    let index = own.map_or(&site.index, |own| &own.arguments);
    let pages: Vec<_> = index
        .iter()
        .map(String::as_str)
        .filter(|name| !is_script(name))
        .collect();
    let mut options = page_index(&pages);
    let is_on = |name: &str| {
        children
            .iter()
            .any(|own| own.name == name && own.argument(0) == "on")
    };
    match (is_on("gzip_static"), is_on("brotli_static")) {
        (true, true) => options.push("precompressed br gzip".to_owned()),
        (true, false) => options.push("precompressed gzip".to_owned()),
        (false, true) => options.push("precompressed br".to_owned()),
        _ => {}
    }
    if is_on("autoindex") {
        options.push("browse".to_owned());
    }
    block("file_server", options)
}

fn try_files(
    tried: &Directive,
    children: &[Directive],
    site: &Site<'_>,
    cx: &mut Context<'_>,
) -> Lines {
    let Some((last, tried_files)) = tried.arguments.split_last() else {
        return vec![cx.note(tried, "")];
    };
    if let Some(named) = site.named.get(last) {
        if let Some(script) = rewrites_to_script(named) {
            return front(tried, tried_files, script, site, cx);
        }
        return try_named(tried, tried_files, named, children, site, cx);
    }
    if let Some(code) = last.strip_prefix('=') {
        let directory = tried_files.iter().any(|file| file.ends_with('/'));
        return match &site.php {
            Some(php) if directory && has_script_index(site) => {
                files_and_indexes(php, "=404", site)
            }
            _ if code == "404"
                && tried_files
                    .iter()
                    .all(|file| ["$uri", "$uri/"].contains(&file.as_str())) =>
            {
                file_server(children, site)
            }
            _ => {
                let mut lines = vec![tried_line(tried, &tried.arguments, cx)];
                lines.extend(file_server(children, site));
                lines
            }
        };
    }
    if last.contains(".php") {
        return front(tried, tried_files, last, site, cx);
    }
    let mut lines = vec![tried_line(tried, &tried.arguments, cx)];
    lines.extend(file_server(children, site));
    lines
}

fn tried_line(tried: &Directive, files: &[String], cx: &mut Context<'_>) -> String {
    let mut words = vec!["try_files".to_owned()];
    for file in files {
        match placeholders(file, cx.constants) {
            Ok(file) => words.push(word(&file.replace("{?query}", "?{query}"))),
            Err(unknown) => return cx.note(tried, &format!("{unknown} has no placeholder")),
        }
    }
    words.join(" ")
}

/// A front controller.
fn front(
    tried: &Directive,
    files: &[String],
    script: &str,
    site: &Site<'_>,
    cx: &mut Context<'_>,
) -> Lines {
    let php = site.php.clone().unwrap_or_default();
    let (path, query) = script.split_once('?').map_or_else(
        || (script.split('$').next().unwrap_or_default(), ""),
        |(path, query)| (path, query),
    );
    let passes_query = ["", "$query_string", "$args"].contains(&query);
    let plain = |file: &String| ["$uri", "$uri/"].contains(&file.as_str());
    if passes_query && files.iter().all(plain) && path.starts_with('/') {
        let with_directories = files.iter().any(|file| file == "$uri/");
        let index = path.trim_start_matches('/');
        let only_index = site.index.is_empty() || site.index == [index];
        let options = match (with_directories, files.len()) {
            (true, 2) if only_index && index == "index.php" => Lines::new(),
            (true, 2) if only_index && !index.contains('/') => vec![format!("index {index}")],
            // All requests that are not for scripts, static files included.
            (_, 0) => vec![format!("try_files {path}"), "file_server off".to_owned()],
            (true, _) => return files_and_indexes(&php, path, site),
            (false, _) => vec![format!("try_files {{path}} {path}")],
        };
        return php.serve(options);
    }
    let mut all = files.to_vec();
    all.push(
        if query.is_empty() || query.contains("$args") || query.contains("$query_string") {
            script.to_owned()
        } else {
            script.replace("$is_args", "")
        },
    );
    let mut lines = vec![tried_line(tried, &all, cx)];
    lines.extend(php.serve(Lines::new()));
    lines
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
    body(&location, site, cx).lines
}

/// Files, else the directives of a named location.
fn try_named(
    tried: &Directive,
    files: &[String],
    named: &[Directive],
    children: &[Directive],
    site: &Site<'_>,
    cx: &mut Context<'_>,
) -> Lines {
    let name = cx.names.next("file");
    // An index represents a directory; without one the named location responds.
    let mut wanted = Vec::new();
    for file in files {
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
