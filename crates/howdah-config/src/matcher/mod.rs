//! Matchers: `@name …`, and the names in their blocks.

mod expression;
mod fields;
mod values;

use crate::error::{Error, ErrorKind};
use crate::model::{Matcher, Template, TryPolicy};
use crate::model::{Network, Regexp};
use crate::syntax::tree::{Statement, Word};
use crate::table::template::{literal, template};
use crate::table::value::{header_name, is_token, status};
use crate::table::{Call, Context, Entry, Item, Table, bad_value};
use fields::Fields;
pub(crate) use fields::{add_header, header_entry, header_value, header_value_at};
pub(crate) use values::{check_regexp, merged_path, networks, path};
use values::{host, protocol, variable};

/// Maximum nesting of `not`.
const MAX_DEPTH: usize = 16;

/// A matcher while it is read. All parts must match; of the values of one part, at least one.
#[derive(Debug, Default)]
pub(crate) struct Set {
    paths: Vec<String>,
    methods: Vec<String>,
    hosts: Vec<Template>,
    headers: Fields,
    file: Option<FileDraft>,
    not: Vec<Matcher>,
    query: Option<Vec<(String, Vec<Template>)>>,
    remote_ip: Vec<Network>,
    client_ip: Vec<Network>,
    /// At least one of these and of `vars_regexps` must match.
    vars: Vec<Matcher>,
    vars_regexps: Vec<Matcher>,
    /// Matchers that may be repeated, all of which must match.
    others: Vec<Matcher>,
    /// Name of the matcher, without its `@`: the default name of its regular expressions.
    name: String,
    depth: usize,
}

/// A `file` matcher while it is read.
#[derive(Debug, Default)]
pub(crate) struct FileDraft {
    root: Option<Template>,
    candidates: Vec<Template>,
    split: Vec<String>,
    policy: TryPolicy,
    fallback_status: Option<u16>,
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
                        anything; elsewhere it stops at a slash. Case does not matter. Paths are compared \
                        decoded, and with their slashes merged unless PATH has `//`; `%20` in PATH is a space.",
                differs: "A path without a slash at its start means the same as with one. `%2F` and `%*`, which match \
                          nothing here, are errors.",
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
                about: "The host is one of these; `*.example.com` is any name one level below. Placeholders such as \
                    `{env.NAME}` are possible.",
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
            header_entry(
                "The request has the header field with the value, which may have `*` at its start, its end or both; \
                 with `!` it does not have the field. Of several for one field, one must match.",
                "header Accept *json*",
            ),
            |_, call, set| add_header(call, &mut set.headers, None),
        ),
        Item::Supported(
            Entry {
                name: "file",
                syntax: "file [FILE…] [{ … }]",
                default: "FILE is `{path}`",
                about: "One of the files exists below the root; `{file_match.relative}` is the first that \
                        does.",
                differs: "",
                example: "file {path} {path}/index.php",
            },
            file,
        ),
        Item::Supported(
            Entry {
                name: "not",
                syntax: "not MATCHER  or  not { … }",
                default: "",
                about: "Matches if the matcher, or the combination of all in the block, does not match.",
                differs: "",
                example: "not path /admin/*",
            },
            |cx, call, set| {
                if set.depth >= MAX_DEPTH {
                    let message = format!("`not` is nested more than {MAX_DEPTH} deep");
                    return Err(call.error(ErrorKind::Syntax, message, ""));
                }
                let owner = (call.name, set.name.as_str());
                let inner = read(cx, owner, call.arguments, call.block, set.depth + 1)?;
                let inner = inner
                    .finish()
                    .matcher
                    .unwrap_or_else(|| Matcher::All(Vec::new()));
                set.not.push(Matcher::Not(Box::new(inner)));
                Ok(())
            },
        ),
        Item::Supported(
            Entry {
                name: "path_regexp",
                syntax: "path_regexp [NAME] REGEXP",
                default: "",
                about: "The decoded path matches the regular expression. Afterwards `{re.NAME.1}` is its \
                        first group, `{re.NAME.word}` a named one, and `{re.1}` that of the last \
                        expression that matched. Without NAME it is the name of the matcher.",
                differs: "The syntax is that of the Rust crate `regex`, which is nearly that of Go.",
                example: "path_regexp user ^/u/([0-9]+)$",
            },
            |_, call, set| {
                let regexp = regexp(call.arguments(1, 2)?, set)?;
                set.others.push(Matcher::PathRegexp(regexp));
                Ok(())
            },
        ),
        Item::Supported(
            Entry {
                name: "header_regexp",
                syntax: "header_regexp [NAME] FIELD REGEXP",
                default: "",
                about: "A header field of the request matches the regular expression, as with \
                        `path_regexp`. May be given several times.",
                differs: "",
                example: "header_regexp login Cookie login_([a-f0-9]+)",
            },
            |_, call, set| {
                let Some((name, [field, pattern])) = call.arguments(2, 3)?.split_last_chunk()
                else {
                    return Ok(());
                };
                let field = header_name(field, &field.text)?;
                let regexp = regexp_of(name.first(), pattern, set)?;
                set.others.push(Matcher::HeaderRegexp(field, regexp));
                Ok(())
            },
        ),
        Item::Supported(
            Entry {
                name: "query",
                syntax: "query NAME=VALUE…",
                default: "",
                about: "Each of the parameters of the query has one of its values; `*` is any. `\"\"` is a \
                        request without a query. May be given several times.",
                differs: "",
                example: "query page=* sort=asc",
            },
            query,
        ),
        Item::Supported(
            Entry {
                name: "protocol",
                syntax: "protocol http|https|grpc|http/VERSION[+]",
                default: "",
                about: "The request was received without TLS, with TLS, as gRPC, or in this version of HTTP; with \
                        `+` in this one or a later one.",
                differs: "",
                example: "protocol http/2+",
            },
            |_, call, set| {
                let protocol = protocol(call.one()?)?;
                set.others.push(Matcher::Protocol(protocol));
                Ok(())
            },
        ),
        Item::Supported(
            Entry {
                name: "remote_ip",
                syntax: "remote_ip RANGE…",
                default: "",
                about: "The peer of the connection is in one of these ranges, such as `10.0.0.0/8` or `::1`; \
                    `private_ranges` is all private ones.",
                differs: "No `forwarded`: that is `client_ip`.",
                example: "remote_ip 10.0.0.0/8 private_ranges",
            },
            |_, call, set| {
                let ranges = networks(call.arguments(1, usize::MAX)?)?;
                set.remote_ip.extend(ranges);
                Ok(())
            },
        ),
        Item::Supported(
            Entry {
                name: "client_ip",
                syntax: "client_ip RANGE…",
                default: "",
                about: "The client is in one of these ranges: as `remote_ip`, but behind a trusted proxy \
                    (`trusted_proxies`) the address that it sends.",
                differs: "",
                example: "client_ip 192.168.0.0/16",
            },
            |_, call, set| {
                let ranges = networks(call.arguments(1, usize::MAX)?)?;
                set.client_ip.extend(ranges);
                Ok(())
            },
        ),
        Item::Supported(
            Entry {
                name: "vars",
                syntax: "vars NAME VALUE…",
                default: "",
                about: "The variable (set by `vars`), or the placeholder in its place, is one of these \
                        values. Of several one must match.",
                differs: "",
                example: "vars {http.request.host} example.com",
            },
            |_, call, set| {
                let (subject, values) = call.arguments(2, usize::MAX)?.split_at(1);
                let values = values.iter().map(template).collect::<Result<_, _>>()?;
                let subject = variable(&subject[0])?;
                set.vars.push(Matcher::Vars(subject, values));
                Ok(())
            },
        ),
        Item::Supported(
            Entry {
                name: "vars_regexp",
                syntax: "vars_regexp [NAME] VARIABLE REGEXP",
                default: "",
                about: "The variable, or the placeholder in its place, matches the regular expression, as \
                        with `path_regexp`. Of several one must match.",
                differs: "",
                example: "vars_regexp tenant {host} ^([a-z]+)[.]",
            },
            |_, call, set| {
                let Some((name, [subject, pattern])) = call.arguments(2, 3)?.split_last_chunk()
                else {
                    return Ok(());
                };
                let subject = variable(subject)?;
                let regexp = regexp_of(name.first(), pattern, set)?;
                set.vars_regexps.push(Matcher::VarsRegexp(subject, regexp));
                Ok(())
            },
        ),
        Item::Supported(
            Entry {
                name: "expression",
                syntax: "expression EXPRESSION",
                default: "",
                about: "The expression is true. It compares placeholders, quoted strings and numbers with \
                        `==`, `!=`, `<`, `<=`, `>`, `>=` and `in [a, b]`, tests strings with `.startsWith()`, \
                        `.endsWith()`, `.contains()` and `.matches()`, has the other matchers as functions \
                        (`path('/api/*')`, `header({'Accept': '*json*'})`), and combines these with `&&`, `||`, `!` \
                        and parentheses. Values are calculated with `+`, `-`, `*`, `/`, `%`, `a ? b : c` and `list[0]`, \
                        converted with `int()`, `double()`, `string()` and `bool()`, and changed with CEL's functions of \
                        texts and lists: `size()`, `.lowerAscii()`, `.trim()`, `.substring()`, `.split()` and so on. \
                        `['/a', '/b'].exists(p, {path}.startsWith(p))` and `.all()` test each value of a list. An \
                        expression without a value, such as `int('a') > 5`, is false. `@name \"EXPRESSION\"` is the \
                        short form.",
                differs: "Only this part of CEL: no timestamps, no maps but as arguments of matchers, no `map()` and \
                          `filter()`. A text that is compared with a number is converted to one.",
                example: "expression {method} == \"GET\" && path('/api/*')",
            },
            |cx, call, set| {
                let words = call.arguments(1, usize::MAX)?;
                let matcher = read_expression(cx, words, set.depth, &set.name)?;
                set.others.push(matcher);
                Ok(())
            },
        ),
        Item::Unsupported("tls", ""),
    ],
};

/// `root`, in every block that finds files.
pub(crate) const FILE_ROOT: Entry = Entry {
    name: "root",
    syntax: "root PATH",
    default: "the site's root",
    about: "The folder of the files.",
    differs: "",
    example: "root public",
};

/// Names of the block of `file`.
pub(crate) const FILE: Table<FileDraft> = Table {
    kind: "subdirective of the matcher `file`",
    items: &[
        Item::Supported(FILE_ROOT, |_, call, file| {
            file.root = Some(template(call.one()?)?);
            Ok(())
        }),
        Item::Supported(
            Entry {
                name: "try_files",
                syntax: "try_files FILE… [=CODE]",
                default: "`{path}`",
                about: "The files; one that ends in `/` must be a directory. If none exists, the response is the error \
                        CODE, also within `not`.",
                differs: "With every `try_policy`.",
                example: "try_files {path} index.php",
            },
            |_, call, file| candidates(call.arguments(1, usize::MAX)?, file),
        ),
        Item::Supported(
            Entry {
                name: "split_path",
                syntax: "split_path TEXT…",
                default: "",
                about: "What follows the first of these in a FILE is not part of it, and is \
                        `{file_match.remainder}`.",
                differs: "",
                example: "split_path .php",
            },
            |_, call, file| {
                for word in call.arguments(1, usize::MAX)? {
                    if word.text.is_empty() {
                        return Err(call.error(
                            ErrorKind::Arguments,
                            "a text to split at is empty".into(),
                            "write a suffix of scripts, `.php`",
                        ));
                    }
                    file.split.push(literal(word, "a text to split at")?);
                }
                Ok(())
            },
        ),
        Item::Supported(
            Entry {
                name: "try_policy",
                syntax: "try_policy first_exist|first_exist_fallback|smallest_size|largest_size|most_recently_modified",
                default: "`first_exist`",
                about: "Which of the files is chosen, as with `policy` of `try_files`. With \
                        `first_exist_fallback` the matcher always matches.",
                differs: "Empty files are compared too.",
                example: "try_policy most_recently_modified",
            },
            |_, call, file| {
                file.policy = policy(call.one()?)?;
                Ok(())
            },
        ),
    ],
};

/// A matcher with the properties that the order of directives depends on.
#[derive(Debug, Clone, Default)]
pub(crate) struct Key {
    pub(crate) matcher: Option<Matcher>,
    /// Its path, if it has exactly one.
    pub(crate) path: Option<String>,
}

/// The policy with this name.
pub(crate) fn policy(word: &Word) -> Result<TryPolicy, Error> {
    Ok(match word.text.as_str() {
        "first_exist" => TryPolicy::FirstExist,
        "first_exist_fallback" => TryPolicy::FirstExistFallback,
        "smallest_size" => TryPolicy::SmallestSize,
        "largest_size" => TryPolicy::LargestSize,
        "most_recently_modified" => TryPolicy::MostRecentlyModified,
        other => {
            return Err(bad_value(
                &word.position,
                format!("`{other}` is not a policy"),
                "write `first_exist`, `first_exist_fallback`, `smallest_size`, `largest_size` or \
                 `most_recently_modified`",
            ));
        }
    })
}

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
    // `@name "{method} == 'GET'"`: a text in quotes is an expression.
    if let ([word], None) = (statement.arguments.as_slice(), block)
        && word.quoted
        && word
            .text
            .contains(|char: char| !char.is_ascii_alphanumeric() && char != '_')
    {
        let name = statement.name.text.trim_start_matches('@');
        let matcher = read_expression(cx, &statement.arguments, 0, name)?;
        return Ok(Key {
            matcher: Some(matcher),
            path: None,
        });
    }
    let name = statement.name.text.trim_start_matches('@');
    let owner = (&statement.name, name);
    read(cx, owner, &statement.arguments, block, 0).map(Set::finish)
}

/// The matcher that is written in place of a name: `MATCHER …` or `{ … }`.
pub(crate) fn inline(cx: &mut Context, call: &Call<'_>) -> Result<Matcher, Error> {
    let set = read(cx, (call.name, ""), call.arguments, call.block, 0)?;
    Ok(set
        .finish()
        .matcher
        .unwrap_or_else(|| Matcher::All(Vec::new())))
}

/// Reads an expression; its regular expressions are named after the matcher that contains it.
fn read_expression(
    cx: &mut Context,
    words: &[Word],
    depth: usize,
    owner: &str,
) -> Result<Matcher, Error> {
    let text = expression::join(words);
    if depth >= MAX_DEPTH {
        let message = format!("`not` is nested more than {MAX_DEPTH} deep");
        return Err(Error::new(
            ErrorKind::Syntax,
            &words[0].position,
            message,
            "",
        ));
    }
    let matcher = |cx: &mut Context, name: &Word, arguments: &[Word]| {
        let arguments: Vec<Word> = std::iter::once(name.clone())
            .chain(arguments.iter().cloned())
            .collect();
        let set = read(cx, (name, owner), &arguments, None, MAX_DEPTH)?;
        Ok(set
            .finish()
            .matcher
            .unwrap_or_else(|| Matcher::All(Vec::new())))
    };
    expression::parse(cx, &words[0], &text, &matcher).map(Matcher::Expression)
}

fn read(
    cx: &mut Context,
    (owner, matcher): (&Word, &str),
    arguments: &[Word],
    block: Option<&[Statement]>,
    depth: usize,
) -> Result<Set, Error> {
    let mut set = Set {
        depth,
        name: matcher.to_owned(),
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
        "write for example `path /api/*`",
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
            && self.query.is_none()
            && self.remote_ip.is_empty()
            && self.client_ip.is_empty()
            && self.vars.is_empty()
            && self.vars_regexps.is_empty()
            && self.others.is_empty()
    }

    /// The cheap parts come first, those that access the disk last.
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
            let names: Option<Vec<_>> = self.hosts.iter().map(Template::as_text).collect();
            all.push(match names {
                Some(names) => Matcher::Host(names.into_iter().map(str::to_owned).collect()),
                None => Matcher::HostTemplate(self.hosts),
            });
        }
        if !self.paths.is_empty() {
            all.push(Matcher::Path(self.paths));
        }
        all.extend(self.headers.into_iter().filter_map(|(name, values)| {
            let header = |value| Matcher::Header(name.clone(), value);
            any(values.into_iter().map(header).collect())
        }));
        all.extend(self.query.map(Matcher::Query));
        if !self.remote_ip.is_empty() {
            all.push(Matcher::RemoteIp(self.remote_ip));
        }
        if !self.client_ip.is_empty() {
            all.push(Matcher::ClientIp(self.client_ip));
        }
        all.extend(any(self.vars));
        all.extend(any(self.vars_regexps));
        all.extend(self.others);
        all.extend(self.not);
        if let Some(FileDraft {
            root,
            mut candidates,
            split,
            policy,
            fallback_status,
        }) = self.file
        {
            if candidates.is_empty() {
                let path = crate::model::Part::Placeholder(crate::model::Placeholder::Path);
                candidates.push(Template { parts: vec![path] });
            }
            all.push(Matcher::File {
                root,
                candidates,
                split,
                policy,
                fallback_status,
            });
        }
        let matcher = if all.len() == 1 {
            all.pop()
        } else {
            Some(Matcher::All(all))
        };
        Key { matcher, path }
    }
}

/// Combines matchers of which at least one must match, as `not (not the first and not the second and …)`.
fn any(mut matchers: Vec<Matcher>) -> Option<Matcher> {
    if matchers.len() < 2 {
        return matchers.pop();
    }
    let none = matchers
        .into_iter()
        .map(|matcher| Matcher::Not(Box::new(matcher)))
        .collect();
    Some(Matcher::Not(Box::new(Matcher::All(none))))
}

fn file(cx: &mut Context, call: &Call<'_>, set: &mut Set) -> Result<(), Error> {
    let file = set.file.get_or_insert_default();
    candidates(call.arguments, file)?;
    cx.read(&FILE, call.block.unwrap_or_default(), file);
    Ok(())
}

fn candidates(words: &[Word], file: &mut FileDraft) -> Result<(), Error> {
    for word in words {
        if file.fallback_status.is_some() {
            return Err(bad_value(
                &word.position,
                format!("`{}` is never tried", word.text),
                "put the status code at the end",
            ));
        }
        if let Some(code) = word.text.strip_prefix('=') {
            file.fallback_status = Some(status(word, code, 400..=599)?);
            continue;
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

fn regexp(words: &[Word], set: &Set) -> Result<Regexp, Error> {
    match words {
        [name, pattern] => regexp_of(Some(name), pattern, set),
        [pattern, ..] => regexp_of(None, pattern, set),
        [] => Ok(Regexp {
            name: String::new(),
            pattern: String::new(),
        }),
    }
}

fn regexp_of(name: Option<&Word>, pattern: &Word, set: &Set) -> Result<Regexp, Error> {
    let name = match name {
        None => set.name.clone(),
        Some(word) => {
            let valid = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
            if word.text.is_empty() || !word.text.bytes().all(valid) {
                return Err(bad_value(
                    &word.position,
                    format!("`{}` is not a name for a regular expression", word.text),
                    "a name has letters, digits, `-` and `_`",
                ));
            }
            word.text.clone()
        }
    };
    check_regexp(pattern, &pattern.text)?;
    Ok(Regexp {
        name,
        pattern: pattern.text.clone(),
    })
}

fn query(_: &mut Context, call: &Call<'_>, set: &mut Set) -> Result<(), Error> {
    let known = set.query.get_or_insert_default();
    for word in call.arguments(1, usize::MAX)? {
        if word.text.is_empty() {
            continue;
        }
        let Some((name, value)) = word
            .text
            .split_once('=')
            .filter(|(name, _)| !name.is_empty())
        else {
            return Err(bad_value(
                &word.position,
                format!("`{}` is not `NAME=VALUE`", word.text),
                "write `NAME=*` for any value",
            ));
        };
        let value = template(&Word {
            text: value.to_owned(),
            ..word.clone()
        })?;
        match known.iter_mut().find(|(other, _)| other == name) {
            Some((_, values)) => values.push(value),
            None => known.push((name.to_owned(), vec![value])),
        }
    }
    Ok(())
}
