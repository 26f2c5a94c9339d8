//! Matchers: `@name …`, and what is in their blocks.

use super::scope::Key;
use crate::error::{Error, ErrorKind};
use crate::model::{Matcher, Template};
use crate::table::{Call, Context, Entry, Item, Table, bad_value, unsupported};
use crate::template::{literal, template};
use crate::tree::{Statement, Word};
use crate::value::{header_name, is_token};

/// `not` inside `not`.
const MAX_DEPTH: usize = 16;

/// A matcher while it is read. All parts must match; of the values of one part, one.
#[derive(Debug, Default)]
pub(crate) struct Set {
    paths: Vec<String>,
    methods: Vec<String>,
    hosts: Vec<String>,
    headers: Vec<(String, Vec<Option<String>>)>,
    file: Option<FileDraft>,
    not: Vec<Matcher>,
    depth: usize,
}

/// A `file` matcher while it is read.
#[derive(Debug, Default)]
pub(crate) struct FileDraft {
    root: Option<Template>,
    candidates: Vec<Template>,
}

/// Names of matchers.
pub(crate) const MATCHERS: Table<Set> = Table {
    kind: "matcher",
    items: &[
        Item::Supported(
            Entry {
                name: "path",
                syntax: "path PATH…",
                default: "",
                about: "The path is one of these. `*` at the start, the end or both stands for \
                        anything; elsewhere it stops at a slash. Case does not matter.",
                differs: "",
                example: "path /api/* *.css",
            },
            |_, call, set| {
                for word in call.arguments(1, usize::MAX)? {
                    set.paths.push(path(word)?);
                }
                Ok(())
            },
        ),
        Item::Supported(
            Entry {
                name: "method",
                syntax: "method METHOD…",
                default: "",
                about: "The method is one of these.",
                differs: "",
                example: "method GET HEAD",
            },
            |_, call, set| {
                for word in call.arguments(1, usize::MAX)? {
                    if !is_token(&word.text) {
                        let message = format!("`{}` is not a method", word.text);
                        return Err(bad_value(
                            &word.position,
                            message,
                            "write for example `POST`",
                        ));
                    }
                    set.methods.push(word.text.to_ascii_uppercase());
                }
                Ok(())
            },
        ),
        Item::Supported(
            Entry {
                name: "host",
                syntax: "host HOST…",
                default: "",
                about: "The host is one of these; `*.example.com` is any name one level below.",
                differs: "`*` only as the first label.",
                example: "host example.com *.example.com",
            },
            |_, call, set| {
                for word in call.arguments(1, usize::MAX)? {
                    set.hosts.push(host(word)?);
                }
                Ok(())
            },
        ),
        Item::Supported(
            Entry {
                name: "header",
                syntax: "header NAME VALUE  or  header !NAME",
                default: "",
                about: "The request has the header field with the value, which may have `*` at its \
                        start, its end or both; with `!` it does not have the field. Of several for \
                        one field one must match.",
                differs: "",
                example: "header Accept *json*",
            },
            header,
        ),
        Item::Supported(
            Entry {
                name: "file",
                syntax: "file [FILE…] [{ … }]",
                default: "FILE is `{path}`",
                about: "One of the files exists below the root.",
                differs: "Sets no placeholders; to use what was found, use `try_files`.",
                example: "file {path} {path}/index.php",
            },
            file,
        ),
        Item::Supported(
            Entry {
                name: "not",
                syntax: "not MATCHER  or  not { … }",
                default: "",
                about: "The matcher, or all of those in the block together, do not match.",
                differs: "",
                example: "not path /admin/*",
            },
            |cx, call, set| {
                if set.depth >= MAX_DEPTH {
                    let message = format!("`not` is nested more than {MAX_DEPTH} deep");
                    return Err(call.error(ErrorKind::Syntax, message, ""));
                }
                let inner = read(cx, call.name, call.arguments, call.block, set.depth + 1)?;
                let inner = inner
                    .finish()
                    .matcher
                    .unwrap_or_else(|| Matcher::All(Vec::new()));
                set.not.push(Matcher::Not(Box::new(inner)));
                Ok(())
            },
        ),
        Item::Unsupported("client_ip", ""),
        Item::Unsupported(
            "expression",
            "combine `path`, `method`, `header`, `host` and `not`",
        ),
        Item::Unsupported("header_regexp", "use `header` with `*`"),
        Item::Unsupported("path_regexp", "use `path` with `*`"),
        Item::Unsupported("protocol", ""),
        Item::Unsupported("query", ""),
        Item::Unsupported("remote_ip", ""),
        Item::Unsupported("tls", "there is no TLS in this version"),
        Item::Unsupported("vars", ""),
        Item::Unsupported("vars_regexp", ""),
    ],
};

/// Names of the block of `file`.
pub(crate) const FILE: Table<FileDraft> = Table {
    kind: "subdirective of the matcher `file`",
    items: &[
        Item::Supported(
            Entry {
                name: "root",
                syntax: "root PATH",
                default: "the site's root",
                about: "Where the files are looked for.",
                differs: "",
                example: "root public",
            },
            |_, call, file| {
                file.root = Some(template(call.one()?)?);
                Ok(())
            },
        ),
        Item::Supported(
            Entry {
                name: "try_files",
                syntax: "try_files FILE…",
                default: "`{path}`",
                about: "The files; one that ends in `/` must be a directory.",
                differs: "No `=CODE`.",
                example: "try_files {path} index.php",
            },
            |_, call, file| candidates(call.arguments(1, usize::MAX)?, file),
        ),
        Item::Supported(
            Entry {
                name: "try_policy",
                syntax: "try_policy first_exist",
                default: "`first_exist`",
                about: "Which of the files is meant.",
                differs: "No other policies.",
                example: "try_policy first_exist",
            },
            |_, call, _| {
                let word = call.one()?;
                if word.text == "first_exist" {
                    return Ok(());
                }
                Err(unsupported(word, "write `first_exist`"))
            },
        ),
        Item::Unsupported("split_path", "use `php_server`, which splits paths itself"),
    ],
};

/// Reads `@name MATCHER …` or `@name { … }`.
pub(crate) fn definition(cx: &mut Context, statement: &Statement) -> Result<Key, Error> {
    let block = statement.block.as_deref();
    if statement.name.text == "@" {
        return Err(bad_value(
            &statement.name.position,
            "the matcher has no name".into(),
            "write for example `@static path *.css *.js`",
        ));
    }
    read(cx, &statement.name, &statement.arguments, block, 0).map(Set::finish)
}

fn read(
    cx: &mut Context,
    owner: &Word,
    arguments: &[Word],
    block: Option<&[Statement]>,
    depth: usize,
) -> Result<Set, Error> {
    let mut set = Set {
        depth,
        ..Set::default()
    };
    match (arguments.split_first(), block) {
        (Some((name, arguments)), block) => {
            let (_, entry, read) = MATCHERS.find(name)?;
            read(
                cx,
                &Call {
                    entry,
                    name,
                    arguments,
                    block,
                },
                &mut set,
            )?;
        }
        (None, Some([_, ..])) => {
            let errors = cx.errors.len();
            cx.read(&MATCHERS, block.unwrap_or_default(), &mut set);
            if cx.errors.len() == errors && set.is_empty() {
                return Err(empty(owner));
            }
        }
        _ => return Err(empty(owner)),
    }
    Ok(set)
}

fn empty(owner: &Word) -> Error {
    Error::new(
        ErrorKind::Arguments,
        &owner.position,
        format!("`{}` has no matcher", owner.text),
        "matchers are path, method, host, header, file and not",
    )
}

impl Set {
    fn is_empty(&self) -> bool {
        self.paths.is_empty()
            && self.methods.is_empty()
            && self.hosts.is_empty()
            && self.headers.is_empty()
            && self.file.is_none()
            && self.not.is_empty()
    }

    /// The cheap parts come first, those that look at the disk last.
    fn finish(self) -> Key {
        let path = match self.paths.as_slice() {
            [path] => Some(path.clone()),
            _ => None,
        };
        let mut all = Vec::new();
        if !self.methods.is_empty() {
            all.push(Matcher::Method(self.methods));
        }
        if !self.hosts.is_empty() {
            all.push(Matcher::Host(self.hosts));
        }
        if !self.paths.is_empty() {
            all.push(Matcher::Path(self.paths));
        }
        all.extend(
            self.headers
                .into_iter()
                .map(|(name, values)| any_header(&name, values)),
        );
        all.extend(self.not);
        if let Some(FileDraft {
            root,
            mut candidates,
        }) = self.file
        {
            if candidates.is_empty() {
                let path = crate::model::Part::Placeholder(crate::model::Placeholder::Path);
                candidates.push(Template { parts: vec![path] });
            }
            all.push(Matcher::File { root, candidates });
        }
        let matcher = if all.len() == 1 {
            all.pop()
        } else {
            Some(Matcher::All(all))
        };
        Key { matcher, path }
    }
}

/// One of several values: not (not the first and not the second and …).
fn any_header(name: &str, values: Vec<Option<String>>) -> Matcher {
    let mut values: Vec<_> = values
        .into_iter()
        .map(|value| Matcher::Header(name.to_owned(), value))
        .collect();
    if values.len() == 1 {
        return values.remove(0);
    }
    let none = values
        .into_iter()
        .map(|value| Matcher::Not(Box::new(value)))
        .collect();
    Matcher::Not(Box::new(Matcher::All(none)))
}

/// A path pattern.
pub(crate) fn path(word: &Word) -> Result<String, Error> {
    let path = literal(word, "a path matcher")?;
    if path.starts_with(['/', '*']) {
        return Ok(path);
    }
    Err(bad_value(
        &word.position,
        format!("the path `{}` matches nothing", word.text),
        "a path starts with `/`, or with `*` for its end: `*.php`",
    ))
}

fn host(word: &Word) -> Result<String, Error> {
    let host = literal(word, "a host matcher")?.to_ascii_lowercase();
    let name = host.strip_prefix("*.").unwrap_or(&host);
    if !host.is_ascii() {
        return Err(bad_value(
            &word.position,
            format!("the host `{}` is not ASCII", word.text),
            "write it as browsers send it, in Punycode: `xn--…`",
        ));
    }
    if name.is_empty() || name.contains(['*', '/', ' ']) || (name.contains(':') && !is_ipv6(name)) {
        return Err(bad_value(
            &word.position,
            format!("`{}` is not a host", word.text),
            "write a name without scheme and port, such as `example.com` or `*.example.com`",
        ));
    }
    Ok(host)
}

fn is_ipv6(host: &str) -> bool {
    host.parse::<std::net::Ipv6Addr>().is_ok()
}

fn header(_: &mut Context, call: &Call<'_>, set: &mut Set) -> Result<(), Error> {
    let (name, value) = match call.arguments(1, 2)? {
        [word] => match word.text.strip_prefix('!') {
            Some(name) => (header_name(word, name)?, None),
            None => {
                return Err(call.error(
                    ErrorKind::Arguments,
                    format!("`header {}` needs a value", word.text),
                    "write `*` for any value, or `!NAME` for no such field",
                ));
            }
        },
        [word, value] if !word.text.starts_with('!') => (
            header_name(word, &word.text)?,
            Some(literal(value, "a header matcher")?),
        ),
        _ => {
            return Err(call.error(
                ErrorKind::Arguments,
                "`header !NAME` takes no value".into(),
                "it matches requests that do not have the field",
            ));
        }
    };
    let known = set
        .headers
        .iter_mut()
        .find(|(other, _)| other.eq_ignore_ascii_case(&name));
    match known {
        Some((_, values)) => values.push(value),
        None => set.headers.push((name, vec![value])),
    }
    Ok(())
}

fn file(cx: &mut Context, call: &Call<'_>, set: &mut Set) -> Result<(), Error> {
    let file = set.file.get_or_insert_default();
    candidates(call.arguments, file)?;
    cx.read(&FILE, call.block.unwrap_or_default(), file);
    Ok(())
}

fn candidates(words: &[Word], file: &mut FileDraft) -> Result<(), Error> {
    for word in words {
        if word.text.starts_with('=') {
            return Err(unsupported(
                word,
                "a matcher answers nothing; use the directive `try_files`",
            ));
        }
        if word.text.is_empty() {
            return Err(bad_value(
                &word.position,
                "the name of the file is empty".into(),
                "",
            ));
        }
        file.candidates.push(template(word)?);
    }
    Ok(())
}
