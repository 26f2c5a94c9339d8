//! `import` of files and snippets: their tokens replace the statement.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

use crate::error::{Error, ErrorKind, Position, Warning};
use crate::source::Files;
use crate::syntax::env::Lookup;
use crate::syntax::import_blocks;
use crate::syntax::lexer::{self, Kind, Quote, Token};

/// Maximum number of words that imports may add; otherwise a few lines that import each other could
/// exhaust the memory.
pub(super) const MAX_IMPORTED: usize = 200_000;
/// Maximum length of a word after its arguments were inserted, for the same reason.
const MAX_WORD: usize = 64 << 10;

/// A token of the stream.
#[derive(Debug, Clone)]
pub(crate) struct Item {
    pub(crate) token: Token,
    pub(crate) starts_line: bool,
    /// The imports that inserted it here.
    chain: Option<Rc<Link>>,
}

#[derive(Debug)]
struct Link {
    name: String,
    parent: Option<Rc<Link>>,
}

/// The tokens of a configuration, with imports resolved.
pub(crate) struct Stream<'a> {
    /// Last first.
    stack: Vec<Item>,
    env: Lookup<'a>,
    reader: &'a dyn Files,
    snippets: BTreeMap<String, Vec<Item>>,
    imported: usize,
    /// Every file that was read, the configuration itself first.
    pub(crate) files: Vec<String>,
    pub(crate) warnings: Vec<Warning>,
    /// Variables that the files use.
    pub(crate) used: BTreeSet<String>,
}

impl<'a> Stream<'a> {
    pub(crate) fn new(
        text: &str,
        name: &str,
        env: Lookup<'a>,
        reader: &'a dyn Files,
    ) -> Result<Self, Error> {
        let mut stream = Self {
            stack: Vec::new(),
            env,
            reader,
            snippets: BTreeMap::new(),
            imported: 0,
            files: Vec::new(),
            warnings: Vec::new(),
            used: BTreeSet::new(),
        };
        stream.stack = stream.lex(text, name, None)?;
        stream.stack.reverse();
        Ok(stream)
    }

    pub(crate) fn peek(&self) -> Option<&Item> {
        self.stack.last()
    }

    pub(crate) fn pop(&mut self) -> Option<Item> {
        self.stack.pop()
    }

    /// The next token, if it opens a block.
    pub(crate) fn pop_open(&mut self) -> Option<Item> {
        self.stack.pop_if(|item| item.token.is("{"))
    }

    /// The next token, if it is on the current line.
    pub(crate) fn pop_on_line(&mut self) -> Option<Item> {
        self.stack.pop_if(|item| !item.starts_line)
    }

    pub(crate) fn define(
        &mut self,
        name: &str,
        position: &Position,
        tokens: Vec<Item>,
    ) -> Result<(), Error> {
        if self.snippets.insert(name.to_owned(), tokens).is_some() {
            let message = format!("the snippet `({name})` is defined twice");
            return Err(Error::new(
                ErrorKind::Conflict,
                position,
                message,
                "rename one of them",
            ));
        }
        Ok(())
    }

    fn lex(
        &mut self,
        text: &str,
        name: &str,
        chain: Option<&Rc<Link>>,
    ) -> Result<Vec<Item>, Error> {
        self.files.push(name.to_owned());
        self.used.extend(crate::syntax::env::used(text));
        let chars = crate::syntax::env::expand(text, Some(self.env));
        let tokens = lexer::tokens(&chars, &Arc::from(name))?;
        tokens.iter().try_for_each(check_braces)?;
        Ok(tokens
            .into_iter()
            .filter(|token| token.kind != Kind::Comment)
            .map(|token| Item {
                starts_line: token.newlines > 0,
                token,
                chain: chain.cloned(),
            })
            .collect())
    }

    /// Resolves the `import` that was just taken from the stream.
    pub(crate) fn import(&mut self, keyword: &Item) -> Result<(), Error> {
        let position = &keyword.token.position;
        let Some(name) = self.pop_on_line() else {
            return Err(Error::new(
                ErrorKind::Arguments,
                position,
                "`import` needs the name of a snippet or file",
                "write `import NAME [ARGUMENTS…]`",
            ));
        };
        if name.token.is("{") || name.token.is("}") {
            return Err(Error::new(
                ErrorKind::Import,
                &name.token.position,
                format!(
                    "`import` needs the name of a snippet or file, not `{}`",
                    name.token.text
                ),
                "put quotes around a name that is a brace",
            ));
        }
        let (arguments, block) = self.import_arguments()?;
        let tokens = if let Some(snippet) = self.snippets.get(&name.token.text) {
            let mut tokens = snippet.clone();
            let link = enter(
                keyword,
                &format!("({})", name.token.text),
                &name.token.position,
            )?;
            for item in &mut tokens {
                item.chain = Some(link.clone());
            }
            tokens
        } else {
            self.import_files(keyword, &name.token)?
        };
        let tokens = import_blocks::fill(substitute(tokens, &arguments)?, &block);
        self.imported += tokens.len() + 1;
        if self.imported > MAX_IMPORTED {
            let message = format!("imports add more than {MAX_IMPORTED} words");
            return Err(Error::new(
                ErrorKind::Import,
                position,
                message,
                "import less",
            ));
        }
        self.stack.extend(tokens.into_iter().rev());
        Ok(())
    }

    /// The arguments of an `import`, and the contents of its block.
    fn import_arguments(&mut self) -> Result<(Vec<Token>, Vec<Item>), Error> {
        let mut arguments = Vec::new();
        while let Some(item) = self.pop_on_line() {
            if item.token.is("}") {
                return Err(Error::new(
                    ErrorKind::Syntax,
                    &item.token.position,
                    "`}` is not on a line of its own",
                    "put it on a line of its own (`howdah fmt` does)",
                ));
            }
            if item.token.is("{") {
                let block = crate::syntax::tree::raw_block(self, &item.token.position)?;
                if let Some(item) = self.pop_on_line() {
                    return Err(Error::new(
                        ErrorKind::Syntax,
                        &item.token.position,
                        format!("`{}` follows `}}` on the same line", item.token.text),
                        "put it on a line of its own (`howdah fmt` does)",
                    ));
                }
                return Ok((arguments, block));
            }
            arguments.push(item.token);
        }
        Ok((arguments, Vec::new()))
    }

    fn import_files(&mut self, keyword: &Item, name: &Token) -> Result<Vec<Item>, Error> {
        let error = |message: String, hint: &str| {
            Error::new(ErrorKind::Import, &name.position, message, hint)
        };
        let pattern = &name.text;
        if pattern.is_empty() {
            return Err(error("the name of the file to import is empty".into(), ""));
        }
        let folder = Path::new(&*name.position.file)
            .parent()
            .unwrap_or(Path::new(""));
        let wild = pattern.contains(['*', '?', '[']);
        let paths = if wild {
            if pattern.matches('*').count() > 1
                || pattern.matches('?').count() > 1
                || pattern.contains('[')
            {
                return Err(error(
                    format!("the pattern `{pattern}` has more than one wildcard"),
                    "a pattern may have one `*` and one `?`",
                ));
            }
            let escaped = glob::Pattern::escape(&folder.to_string_lossy());
            let full = Path::new(&escaped).join(pattern);
            self.reader
                .glob(&full.to_string_lossy())
                .map_err(|why| error(format!("cannot list `{pattern}`: {why}"), ""))?
        } else {
            vec![folder.join(pattern)]
        };
        if paths.is_empty() {
            self.warnings.push(Warning {
                position: name.position.clone(),
                message: format!("no file matches `{pattern}`"),
            });
        }
        let mut tokens = Vec::new();
        for path in paths {
            let shown = path.to_string_lossy().into_owned();
            let link = enter(keyword, &shown, &name.position)?;
            let text = self.reader.read(&path).map_err(|why| {
                if why.kind() == std::io::ErrorKind::NotFound && !wild {
                    let known = self.snippets.keys().map(String::as_str);
                    let hint = crate::error::nearest(pattern, known).map_or_else(
                        || "a snippet must be defined above its import".to_owned(),
                        |known| format!("did you mean the snippet `{known}`?"),
                    );
                    return error(format!("there is no snippet and no file `{shown}`"), &hint);
                }
                error(format!("cannot read `{shown}`: {why}"), "")
            })?;
            let mut part = self.lex(&text, &shown, Some(&link))?;
            if let Some(first) = part.first_mut() {
                first.starts_line = true;
            }
            tokens.append(&mut part);
        }
        Ok(tokens)
    }
}

/// Adds an import to the chain of its statement, unless the chain already contains it.
fn enter(keyword: &Item, name: &str, position: &Position) -> Result<Rc<Link>, Error> {
    let main = &*keyword.token.position.file == name;
    let mut link = keyword.chain.as_ref();
    while let Some(Link {
        name: other,
        parent,
    }) = link.map(Rc::as_ref)
    {
        if other == name {
            break;
        }
        link = parent.as_ref();
    }
    if main || link.is_some() {
        let message = format!("`{name}` imports itself");
        return Err(Error::new(
            ErrorKind::Import,
            position,
            message,
            "remove one of the imports",
        ));
    }
    Ok(Rc::new(Link {
        name: name.to_owned(),
        parent: keyword.chain.clone(),
    }))
}

/// Replaces `{args[N]}` and `{args[N:M]}` by arguments. Snippets that an imported file defines are
/// not changed.
fn substitute(tokens: Vec<Item>, arguments: &[Token]) -> Result<Vec<Item>, Error> {
    let mut result: Vec<Item> = Vec::with_capacity(tokens.len());
    let mut inherits_line = false;
    let inside = definitions(&tokens);
    for (mut item, definition) in tokens.into_iter().zip(inside) {
        if definition || !item.token.text.contains("{args") {
            item.starts_line |= std::mem::take(&mut inherits_line);
            result.push(item);
            continue;
        }
        if let Some((from, to)) = variadic(&item.token, arguments.len())? {
            inherits_line |= item.starts_line;
            for argument in &arguments[from..to] {
                let token = literal(&item.token, argument.text.clone());
                let starts_line = std::mem::take(&mut inherits_line);
                result.push(Item {
                    token,
                    starts_line,
                    chain: item.chain.clone(),
                });
            }
        } else {
            item.starts_line |= std::mem::take(&mut inherits_line);
            item.token = literal(&item.token, replace(&item.token, arguments)?);
            result.push(item);
        }
    }
    Ok(result)
}

/// Which of the tokens are inside a snippet that they define.
pub(super) fn definitions(tokens: &[Item]) -> Vec<bool> {
    let (mut depth, mut definition) = (0_usize, false);
    let mut inside = Vec::with_capacity(tokens.len());
    for (at, item) in tokens.iter().enumerate() {
        if item.token.is("{") {
            depth += 1;
        } else if item.token.is("}") {
            depth = depth.saturating_sub(1);
            definition &= depth > 0;
        } else if depth == 0 && item.starts_line && snippet(&item.token).is_some() {
            definition |= tokens.get(at + 1).is_some_and(|next| next.token.is("{"));
        }
        inside.push(definition);
    }
    inside
}

/// A brace from an argument is text, never structure.
fn literal(token: &Token, text: String) -> Token {
    Token {
        kind: Kind::Text(Quote::Double),
        text,
        ..token.clone()
    }
}

/// The name in `(name)`.
pub(crate) fn snippet(token: &Token) -> Option<&str> {
    token
        .text
        .strip_prefix('(')?
        .strip_suffix(')')
        .filter(|name| !name.is_empty())
}

fn variadic(token: &Token, count: usize) -> Result<Option<(usize, usize)>, Error> {
    let range = token
        .text
        .strip_prefix("{args[")
        .and_then(|text| text.strip_suffix("]}"));
    let Some((from, to)) = range.and_then(|range| range.split_once(':')) else {
        return Ok(None);
    };
    if from.contains('}') || to.contains('{') {
        return Ok(None);
    }
    let bound = |text: &str, default| {
        if text.is_empty() {
            Some(default)
        } else {
            text.parse::<usize>().ok()
        }
    };
    match (bound(from, 0), bound(to, count)) {
        (Some(from), Some(to)) if from <= to && to <= count => Ok(Some((from, to))),
        _ => Err(arguments_error(token, &token.text, count)),
    }
}

fn replace(token: &Token, arguments: &[Token]) -> Result<String, Error> {
    let mut result = String::new();
    let mut rest = token.text.as_str();
    while let Some(start) = rest.find("{args") {
        let (before, placeholder) = rest.split_at(start);
        result.push_str(before);
        let end = placeholder
            .find('}')
            .map_or(placeholder.len(), |end| end + 1);
        let (placeholder, after) = placeholder.split_at(end);
        // `{args.0}` is how older versions of Caddy spell `{args[0]}`.
        let index = placeholder
            .strip_prefix("{args[")
            .and_then(|text| text.strip_suffix("]}"))
            .or_else(|| placeholder.strip_prefix("{args.")?.strip_suffix('}'))
            .and_then(|text| text.parse::<usize>().ok());
        let argument = index
            .and_then(|index| arguments.get(index))
            .ok_or_else(|| arguments_error(token, placeholder, arguments.len()))?;
        result.push_str(&argument.text);
        rest = after;
    }
    result.push_str(rest);
    if result.len() > MAX_WORD {
        let message = format!("a word has more than {MAX_WORD} bytes");
        return Err(Error::new(
            ErrorKind::Import,
            &token.position,
            message,
            "import less",
        ));
    }
    Ok(result)
}

fn arguments_error(token: &Token, placeholder: &str, count: usize) -> Error {
    let given = match count {
        1 => "1 argument was given".to_owned(),
        count => format!("{count} arguments were given"),
    };
    Error::new(
        ErrorKind::Import,
        &token.position,
        format!("`{placeholder}` cannot be filled: {given} to the import"),
        "`{args[0]}` is the first argument; `{args[:]}`, a word of its own, is all of them",
    )
}

/// Checks that a brace is alone or has its partner in the same word. Words that nothing uses are
/// checked too, since `fmt` splits all others.
fn check_braces(token: &Token) -> Result<(), Error> {
    let unquoted = token.kind == Kind::Text(Quote::None);
    if !unquoted || token.is("{") || token.is("}") || is_balanced(&token.text) {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::Syntax,
        &token.position,
        format!(
            "a brace is missing in `{}`, or it is part of another word",
            token.text
        ),
        "put a space before `{` and a line end before `}`, or quotes around the word",
    ))
}

/// Whether each brace of a word has its partner. `\{` and `\}` need none.
fn is_balanced(word: &str) -> bool {
    let mut depth = 0_usize;
    let mut escaped = false;
    for char in word.chars() {
        match char {
            '{' if !escaped => depth += 1,
            '}' if !escaped => {
                let Some(less) = depth.checked_sub(1) else {
                    return false;
                };
                depth = less;
            }
            _ => {}
        }
        escaped = char == '\\' && !escaped;
    }
    depth == 0
}
