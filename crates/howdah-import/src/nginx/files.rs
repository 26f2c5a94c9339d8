//! Static files and front controllers.

use super::fastcgi::Php;
use super::settings::{Context, is_inherited};
use super::site::Site;
use super::value::placeholders;
use crate::directive::Directive;
use crate::output::{Lines, block, word};
use crate::pattern::is_script;

/// Static files, the front controller, and the index.
pub(super) fn files_without_try(children: &[Directive], site: &Site<'_>) -> Lines {
    match &site.php {
        Some(php) if site.has_script_index() => files_and_indexes(php, "=404", site),
        Some(php) => php.serve(vec!["try_files {path} =404".to_owned()]),
        None => file_server(children, site),
    }
}

/// `try_files`, unless its last argument is a named location with more than a front controller.
pub(super) fn try_files(
    tried: &Directive,
    children: &[Directive],
    site: &Site<'_>,
    cx: &mut Context<'_>,
) -> Lines {
    let Some((last, tried_files)) = tried.arguments.split_last() else {
        return vec![cx.note(tried, "")];
    };
    let named = site.named.get(last);
    if let Some(script) = named.and_then(|named| rewrites_to_script(named)) {
        return front(tried, tried_files, script, site, cx);
    }
    if let Some(code) = last.strip_prefix('=') {
        let directory = tried_files.iter().any(|file| file.ends_with('/'));
        return match &site.php {
            Some(php) if directory && site.has_script_index() => {
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

/// `rewrite ^ /index.php last;` of a named location, and nothing else.
pub(super) fn rewrites_to_script(children: &[Directive]) -> Option<&str> {
    let mut children = children.iter().filter(|own| !is_inherited(&own.name));
    let own = children.next()?;
    let to = own.argument(1);
    let is_plain = own.name == "rewrite" && to.contains(".php");
    // A group of the expression may be the PATH_INFO.
    let has_group = || (1..=9).any(|n| to.contains(&format!("${n}")));
    (is_plain && children.next().is_none() && !has_group()).then_some(to)
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

pub(super) fn file_server(children: &[Directive], site: &Site<'_>) -> Lines {
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
