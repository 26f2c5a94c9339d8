//! `file_server` and `try_files`.

use super::scope::{Scope, route};
use crate::error::Error;
use crate::matcher;
use crate::model::{
    Browse, BrowseOrder, FileServer, Handler, Matcher, Part, Placeholder, Symlinks, Template,
    TryFiles, TryPolicy,
};
use crate::syntax::tree::Word;
use crate::table::template::{literal, template};
use crate::table::value::{number, status};
use crate::table::{Call, Context, Entry, Item, Table, bad_value, unsupported};

/// Names of the block of `file_server`.
pub(crate) const FILE_SERVER: Table<FileServer> = Table {
    kind: "subdirective of `file_server`",
    items: &[
        Item::Supported(matcher::FILE_ROOT, |_, call, files| {
            files.root = Some(template(call.one()?)?);
            Ok(())
        }),
        Item::Supported(
            Entry {
                name: "index",
                syntax: "index FILE…",
                default: "`index.html index.txt`",
                about: "Index files of a directory; the first that exists is sent.",
                differs: "",
                example: "index index.html index.htm",
            },
            |_, call, files| {
                files.index = names(call.arguments(1, usize::MAX)?, "the name of an index file")?;
                Ok(())
            },
        ),
        Item::Supported(
            Entry {
                name: "hide",
                syntax: "hide FILE…",
                default: "the configuration's own files",
                about: "Files that are not served: a 404. A word without a slash is a name, or a pattern of names, in \
                        any folder; one with a slash is a path. May be given several times.",
                differs: "Names that start with a dot are always hidden, except `.well-known`.",
                example: "hide *.bak",
            },
            |_, call, files| {
                let hidden = names(call.arguments(1, usize::MAX)?, "a file to hide")?;
                files.hide.extend(hidden);
                Ok(())
            },
        ),
        Item::Supported(
            Entry {
                name: "precompressed",
                syntax: "precompressed [FORMAT…]",
                default: "off; FORMAT… is `br zstd gzip`",
                about: "Sends `FILE.br`, `FILE.zst` or `FILE.gz`, if it exists and the client takes that \
                        format, in place of FILE.",
                differs: "",
                example: "precompressed zstd gzip",
            },
            |_, call, files| {
                let words = call.arguments(0, usize::MAX)?;
                files.precompressed = super::encode::codings(words)?;
                if words.is_empty() {
                    use crate::model::ContentCoding::{Brotli, Gzip, Zstd};
                    files.precompressed = vec![Brotli, Zstd, Gzip];
                }
                Ok(())
            },
        ),
        Item::Supported(
            Entry {
                name: "browse",
                syntax: "browse [{ … }]",
                default: "off",
                about: "Lists folders that have no index file, as HTML, or as JSON for clients that ask \
                        for it by `Accept`. `?sort=name|namedirfirst|size|time` and `?order=asc|desc` sort the list, `?offset=N` and \
                        `?limit=N` take a part of it.",
                differs: "No custom template.",
                example: "browse {\n\tsort time desc\n}",
            },
            |cx, call, files| {
                if let [word, ..] = call.count(0, 1)? {
                    return Err(unsupported(word, "the list has one form"));
                }
                let mut browse = Browse::default();
                cx.read(&BROWSE, call.block.unwrap_or_default(), &mut browse);
                files.browse = Some(browse);
                Ok(())
            },
        ),
        Item::Supported(SYMLINKS, |_, call, files| {
            files.symlinks = symlinks(call.one()?)?;
            Ok(())
        }),
        Item::Supported(
            Entry {
                name: "pass_thru",
                syntax: "pass_thru",
                default: "a file that does not exist is a 404",
                about: "Passes requests for missing and hidden files to the next directive.",
                differs: "",
                example: "pass_thru",
            },
            |_, call, files| {
                call.arguments(0, 0)?;
                files.pass_thru = true;
                Ok(())
            },
        ),
        Item::Supported(
            Entry {
                name: "disable_canonical_uris",
                syntax: "disable_canonical_uris",
                default: "a folder's path without its slash is redirected",
                about: "Does not redirect a path to the same path with a slash.",
                differs: "A file's path that ends in a slash is 404 in any case.",
                example: "disable_canonical_uris",
            },
            |_, call, files| {
                call.arguments(0, 0)?;
                files.canonical = false;
                Ok(())
            },
        ),
        Item::Supported(
            Entry {
                name: "status",
                syntax: "status CODE",
                default: "`200`; in `handle_errors` that of the error",
                about: "Status code of the response with a file, for error and maintenance pages.",
                differs: "",
                example: "status 503",
            },
            |_, call, files| {
                files.status = super::respond::status_or_placeholder(call.one()?, 200)?;
                Ok(())
            },
        ),
        Item::Unsupported("etag_file_extensions", ""),
        Item::Unsupported("fs", ""),
    ],
};

/// Names of the block of `browse`.
pub(crate) const BROWSE: Table<Browse> = Table {
    kind: "option of `browse`",
    items: &[
        Item::Supported(
            Entry {
                name: "sort",
                syntax: "sort name|namedirfirst|size|time [asc|desc]",
                default: "`namedirfirst asc`",
                about: "The order of a list, unless the query has one: by name, by name with folders first, by size \
                        or by time.",
                differs: "",
                example: "sort time desc",
            },
            |_, call, browse| {
                let words = call.arguments(1, 2)?;
                browse.order = BrowseOrder::named(&words[0].text).ok_or_else(|| {
                    let message = format!("a list cannot be sorted by `{}`", words[0].text);
                    let hint = "write `name`, `namedirfirst`, `size` or `time`";
                    bad_value(&words[0].position, message, hint)
                })?;
                browse.is_descending = match words.get(1).map(|word| &*word.text) {
                    None | Some("asc") => false,
                    Some("desc") => true,
                    Some(other) => {
                        let message = format!("`{other}` is not a direction");
                        return Err(bad_value(
                            &words[1].position,
                            message,
                            "write `asc` or `desc`",
                        ));
                    }
                };
                Ok(())
            },
        ),
        Item::Supported(
            Entry {
                name: "file_limit",
                syntax: "file_limit NUMBER",
                default: "`10000`",
                about: "Maximum number of entries of a list; a folder with more is listed in part.",
                differs: "",
                example: "file_limit 500",
            },
            |_, call, browse| {
                browse.limit = number(call, 1)?;
                Ok(())
            },
        ),
        Item::Unsupported(
            "reveal_symlinks",
            "a list has the names of links, and their targets remain private",
        ),
    ],
};

/// Names of the block of `try_files`.
pub(crate) const TRY_FILES: Table<TryPolicy> = Table {
    kind: "subdirective of `try_files`",
    items: &[Item::Supported(
        Entry {
            name: "policy",
            syntax: "policy first_exist|first_exist_fallback|smallest_size|largest_size|most_recently_modified",
            default: "`first_exist`",
            about: "Which file is chosen: the first that exists; the same, but the last one without a check; or, of \
                those that exist, the smallest, the largest or the most recently changed. The last three read all \
                files' attributes in every request.",
            differs: "Empty files are compared too. The last three do not support a query in a FILE.",
            example: "policy first_exist_fallback",
        },
        |_, call, policy| {
            *policy = matcher::policy(call.one()?)?;
            Ok(())
        },
    )],
};

/// `symlinks`, in every block with options for files.
pub(super) const SYMLINKS: Entry = Entry {
    name: "symlinks",
    syntax: "symlinks auto|on|if_owner_match|off",
    default: "`auto`",
    about: "Which symbolic links below the root are followed: all (`on`), those whose owner also owns the target, or \
        none. With `auto` this check applies to links of users that only PHP has (`user` of a pool). The others get a \
        403. For folders that PHP writes to, such as uploads: a link in them may point to any file that the server's \
        user can read. Links in the path of the root itself are always followed.",
    differs: "Caddy and FrankenPHP follow all.",
    example: "symlinks if_owner_match",
};

/// The value of `symlinks`.
pub(super) fn symlinks(word: &Word) -> Result<Symlinks, Error> {
    Ok(match word.text.as_str() {
        "auto" => Symlinks::Auto,
        "on" => Symlinks::Follow,
        "if_owner_match" => Symlinks::IfOwnerMatch,
        "off" => Symlinks::Off,
        other => {
            return Err(bad_value(
                &word.position,
                format!("`{other}` is not a policy for symbolic links"),
                "write `auto`, `on`, `if_owner_match` or `off`",
            ));
        }
    })
}

pub(crate) fn file_server(
    cx: &mut Context,
    call: &Call<'_>,
    scope: &mut Scope,
) -> Result<(), Error> {
    let (key, rest) = scope.matcher(call.arguments)?;
    let browse = rest.first().is_some_and(|word| word.text == "browse");
    super::reject_extra(call, &rest[usize::from(browse)..])?;
    let mut files = FileServer {
        browse: browse.then(Browse::default),
        ..FileServer::default()
    };
    cx.read(&FILE_SERVER, call.block.unwrap_or_default(), &mut files);
    files.hide.extend(cx.hidden.iter().cloned());
    scope.push(key, Handler::FileServer(files));
    Ok(())
}

/// A file with a query becomes a separate rewrite, as the query is not part of its name. All routes
/// of one `try_files` are in one group, so that only the first file found counts.
pub(crate) fn try_files(cx: &mut Context, call: &Call<'_>, scope: &mut Scope) -> Result<(), Error> {
    let words = call.count(1, usize::MAX)?;
    let mut policy = TryPolicy::default();
    cx.read(&TRY_FILES, call.block.unwrap_or_default(), &mut policy);
    if words.iter().all(|word| query_start(&word.text).is_none()) {
        let files = Handler::TryFiles(candidates(words)?, policy);
        scope.push_all(vec![route(None, files)]);
        return Ok(());
    }
    let fallback = policy == TryPolicy::FirstExistFallback;
    let mut routes = Vec::new();
    let mut run: Vec<Word> = Vec::new();
    for (index, word) in words.iter().enumerate() {
        let Some(query) = query_start(&word.text) else {
            run.push(word.clone());
            continue;
        };
        if !fallback && policy != TryPolicy::FirstExist {
            return Err(bad_value(
                &word.position,
                "only the first file that exists can have a query".into(),
                "remove the query, or use another policy",
            ));
        }
        flush(&mut run, &mut routes, TryPolicy::FirstExist)?;
        let name = Word {
            text: word.text[..query].to_owned(),
            ..word.clone()
        };
        let TryFiles {
            candidates,
            fallback_status: None,
        } = candidates(&[name])?
        else {
            return Err(bad_value(
                &word.position,
                "a status code has no query".into(),
                "",
            ));
        };
        let taken = fallback && index + 1 == words.len();
        let matcher = (!taken).then(|| exists(candidates));
        routes.push(route(matcher, Handler::Rewrite(absolute(template(word)?))));
    }
    flush(&mut run, &mut routes, policy)?;
    let group = Some(cx.next_group());
    for route in &mut routes {
        route.group = group;
    }
    scope.push_all(routes);
    Ok(())
}

/// Where the query of a file starts: at a `?` that is not part of `{?query}`, or at such a
/// placeholder.
pub(super) fn query_start(file: &str) -> Option<usize> {
    let at = file.find('?')?;
    Some(if file[..at].ends_with('{') {
        at - 1
    } else {
        at
    })
}

fn exists(candidates: Vec<Template>) -> Matcher {
    Matcher::File {
        fallback_status: None,
        root: None,
        candidates,
        split: Vec::new(),
        policy: TryPolicy::FirstExist,
    }
}

fn flush(
    run: &mut Vec<Word>,
    routes: &mut Vec<crate::model::Route>,
    policy: TryPolicy,
) -> Result<(), Error> {
    if run.is_empty() {
        return Ok(());
    }
    let files = candidates(run)?;
    run.clear();
    let last = files.fallback_status.is_some() || policy == TryPolicy::FirstExistFallback;
    let matcher = (!last).then(|| exists(files.candidates.clone()));
    routes.push(route(matcher, Handler::TryFiles(files, policy)));
    Ok(())
}

/// The path of a rewrite starts with a slash; a file relative to the root may lack it.
fn absolute(mut to: Template) -> Template {
    use Placeholder::{Dir, OrigPath, OrigUri, Path, Uri};
    match to.parts.first_mut() {
        Some(Part::Placeholder(Path | Uri | Dir | OrigPath | OrigUri)) => {}
        Some(Part::Text(text)) if text.starts_with('/') => {}
        Some(Part::Text(text)) => text.insert(0, '/'),
        _ => to.parts.insert(0, Part::Text("/".into())),
    }
    to
}

/// The files of `try_files`, and the final `=CODE`.
pub(super) fn candidates(words: &[Word]) -> Result<TryFiles, Error> {
    let mut files = TryFiles::default();
    for (index, word) in words.iter().enumerate() {
        if word.text.is_empty() || word.text.starts_with('@') {
            return Err(bad_value(
                &word.position,
                format!(
                    "`{}` is not a file; `try_files` takes no matcher",
                    word.text
                ),
                "put it in a `handle` block with the matcher",
            ));
        }
        if let Some(code) = word.text.strip_prefix('=') {
            if index + 1 < words.len() {
                return Err(bad_value(
                    &word.position,
                    format!("nothing after `{}` is ever tried", word.text),
                    "put it at the end",
                ));
            }
            files.fallback_status = Some(status(word, code, 400..=599)?);
            continue;
        }
        files.candidates.push(template(word)?);
    }
    Ok(files)
}

fn names(words: &[Word], what: &str) -> Result<Vec<String>, Error> {
    words
        .iter()
        .map(|word| {
            if word.text.is_empty() {
                return Err(bad_value(&word.position, format!("{what} is empty"), ""));
            }
            literal(word, what)
        })
        .collect()
}
