//! Tokens to statements and blocks: the structure of a Caddyfile, without the meaning of its words.

use crate::error::{Error, ErrorKind, Position};
use crate::syntax::contents::Contents;
use crate::syntax::import::{Item, Stream, snippet};
use crate::syntax::lexer::{Kind, Quote};

/// Maximum nesting of blocks. Real files have five or six levels; the limit bounds recursion.
const MAX_DEPTH: usize = 64;

/// A word of a statement.
#[derive(Debug, Clone)]
pub(crate) struct Word {
    pub(crate) text: String,
    pub(crate) position: Position,
    /// It was quoted.
    pub(crate) quoted: bool,
    /// Contents of the files that it names with `{file.PATH}`.
    pub(crate) contents: Contents,
}

/// A line with its block.
#[derive(Debug, Clone)]
pub(crate) struct Statement {
    /// The first word.
    pub(crate) name: Word,
    pub(crate) arguments: Vec<Word>,
    pub(crate) block: Option<Vec<Statement>>,
}

/// A site: its addresses and the contents of its block.
#[derive(Debug)]
pub(crate) struct SiteBlock {
    pub(crate) addresses: Vec<Word>,
    pub(crate) statements: Vec<Statement>,
    pub(crate) has_braces: bool,
}

/// A whole file.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    pub(crate) global: Vec<Statement>,
    pub(crate) sites: Vec<SiteBlock>,
    /// `&(name) { … }`, each by its name.
    pub(crate) named: Vec<(Word, Vec<Statement>)>,
}

/// Reads a stream to its end.
pub(crate) fn parse(stream: &mut Stream<'_>) -> Result<Tree, Error> {
    let mut tree = Tree::default();
    let mut first = true;
    while let Some(item) = stream.pop() {
        if item.token.is("import") {
            stream.import(&item)?;
            continue;
        }
        if item.token.is("{") {
            let position = &item.token.position;
            if !first {
                return Err(syntax(
                    position,
                    "a block without a name is the global options, which come first",
                    "put it at the top of the file, or an address such as `:8080` before `{`",
                ));
            }
            tree.global = block(stream, position, 1)?;
            first = false;
            continue;
        }
        if item.token.is("}") {
            return Err(syntax(
                &item.token.position,
                "there is no block to close here",
                "",
            ));
        }
        if let Some(name) = snippet(&item.token)
            && let Some(open) = stream.pop_open()
        {
            let body = raw_block(stream, &open.token.position)?;
            stream.define(name, &item.token.position, body)?;
            continue;
        }
        first = false;
        if is_named_route(&item.token)
            && let Some(open) = stream.pop_open()
        {
            let body = block(stream, &open.token.position, 1)?;
            let mut word = word(item)?;
            // Without `&(` and `)`.
            word.text.pop();
            word.text.drain(..2);
            tree.named.push((word, body));
            continue;
        }
        let site = site(stream, item)?;
        tree.sites.push(site);
    }
    Ok(tree)
}

fn site(stream: &mut Stream<'_>, first: Item) -> Result<SiteBlock, Error> {
    let addresses = site_addresses(stream, first)?;
    if let Some(open) = stream.pop_open() {
        let statements = block(stream, &open.token.position, 1)?;
        return Ok(SiteBlock {
            addresses,
            statements,
            has_braces: true,
        });
    }
    let mut statements = Vec::new();
    while let Some(item) = stream.pop() {
        statements.extend(statement(stream, item, 1)?);
    }
    Ok(SiteBlock {
        addresses,
        statements,
        has_braces: false,
    })
}

/// The addresses before the block of a site. `first`: their first word.
fn site_addresses(stream: &mut Stream<'_>, first: Item) -> Result<Vec<Word>, Error> {
    let mut addresses = Vec::new();
    let start = first.token.position.clone();
    let mut next = Some(first);
    let mut comma: Option<Position> = None;
    while let Some(item) = next {
        let mut word = word(item)?;
        if word.text.starts_with("&(") {
            return Err(syntax(
                &word.position,
                format!("`{}` is not a named route", word.text),
                "write `&(name) {`, and the directives in the block",
            ));
        }
        if word.text.starts_with('@') {
            return Err(syntax(
                &word.position,
                format!("the matcher `{}` is outside of a site", word.text),
                "define it in the block of the site that uses it",
            ));
        }
        comma = None;
        if word.text.ends_with(',') {
            word.text.pop();
            comma = Some(word.position.clone());
        }
        if word.text.contains(',') {
            return Err(syntax(
                &word.position,
                format!("the address `{}` has a comma in it", word.text),
                "put a space after the comma between two addresses",
            ));
        }
        if !word.text.is_empty() {
            addresses.push(word);
        }
        next = match stream.peek() {
            Some(item) if item.token.is("{") => None,
            Some(item) if item.starts_line && comma.is_none() => None,
            _ => stream.pop(),
        };
    }
    if let Some(position) = comma {
        return Err(syntax(
            &position,
            "an address is missing after the comma",
            "",
        ));
    }
    if addresses.is_empty() {
        return Err(syntax(
            &start,
            "the address is empty",
            "write one such as `:8080`",
        ));
    }
    Ok(addresses)
}

/// The contents of a block whose `{` was just read, up to and including its `}`.
fn block(stream: &mut Stream<'_>, open: &Position, depth: usize) -> Result<Vec<Statement>, Error> {
    if depth > MAX_DEPTH {
        let message = format!("blocks are nested more than {MAX_DEPTH} deep");
        return Err(syntax(open, message, "use fewer blocks"));
    }
    if let Some(item) = stream.pop_on_line() {
        let what = &item.token.text;
        return Err(syntax(
            &item.token.position,
            format!("`{what}` follows `{{` on the same line"),
            "put it on a line of its own (`howdah fmt` does)",
        ));
    }
    let mut statements = Vec::new();
    while let Some(item) = stream.pop() {
        if item.token.is("}") {
            if let Some(item) = stream.pop_on_line() {
                let what = &item.token.text;
                return Err(syntax(
                    &item.token.position,
                    format!("`{what}` follows `}}` on the same line"),
                    "put it on a line of its own (`howdah fmt` does)",
                ));
            }
            return Ok(statements);
        }
        statements.extend(statement(stream, item, depth)?);
    }
    Err(syntax(
        open,
        "the block that starts here is not closed",
        "end it with `}` on a line of its own",
    ))
}

/// A statement, or nothing if it is an import, whose tokens then are the next of the stream.
fn statement(
    stream: &mut Stream<'_>,
    item: Item,
    depth: usize,
) -> Result<Option<Statement>, Error> {
    if item.token.is("import") {
        stream.import(&item)?;
        return Ok(None);
    }
    if item.token.is("{") {
        return Err(syntax(
            &item.token.position,
            "`{` is on a line of its own",
            "put it at the end of the line before (`howdah fmt` does)",
        ));
    }
    if item.token.is("}") {
        return Err(syntax(
            &item.token.position,
            "there is no block to close here",
            "",
        ));
    }
    let name = word(item)?;
    let mut arguments = Vec::new();
    while let Some(item) = stream.pop_on_line() {
        if item.token.is("{") {
            let block = block(stream, &item.token.position, depth + 1)?;
            return Ok(Some(Statement {
                name,
                arguments,
                block: Some(block),
            }));
        }
        if item.token.is("}") {
            return Err(syntax(
                &item.token.position,
                "`}` is not on a line of its own",
                "put it on a line of its own (`howdah fmt` does)",
            ));
        }
        arguments.push(word(item)?);
    }
    Ok(Some(Statement {
        name,
        arguments,
        block: None,
    }))
}

/// `&(name)`.
fn is_named_route(token: &crate::syntax::lexer::Token) -> bool {
    token
        .text
        .strip_prefix("&(")
        .and_then(|rest| rest.strip_suffix(')'))
        .is_some_and(|name| !name.is_empty())
}

/// The tokens of a snippet, or of the block of an `import`, up to its `}`, which is not included.
pub(crate) fn raw_block(stream: &mut Stream<'_>, open: &Position) -> Result<Vec<Item>, Error> {
    let mut depth = 1;
    let mut items = Vec::new();
    while let Some(mut item) = stream.pop() {
        if item.token.is("{") {
            depth += 1;
        } else if item.token.is("}") {
            depth -= 1;
            if depth == 0 {
                return Ok(items);
            }
        }
        item.starts_line |= items.is_empty();
        items.push(item);
    }
    Err(syntax(
        open,
        "the block that starts here is not closed",
        "end it with `}`",
    ))
}

fn word(item: Item) -> Result<Word, Error> {
    let token = item.token;
    let unquoted = token.kind == Kind::Text(Quote::None);
    if unquoted && token.text == "{}" {
        return Err(syntax(
            &token.position,
            "`{}` is not an empty block",
            "leave it out, or put `}` on a line of its own",
        ));
    }
    if ["{args[", "{args."]
        .iter()
        .any(|start| token.text.contains(start))
    {
        return Err(Error::new(
            ErrorKind::Import,
            &token.position,
            format!("`{}` is not in a snippet or an imported file", token.text),
            "it stands for an argument of `import NAME ARGUMENT…`",
        ));
    }
    Ok(Word {
        text: token.text,
        position: token.position,
        quoted: !unquoted,
        contents: Contents::new(),
    })
}

fn syntax(position: &Position, message: impl Into<String>, hint: &str) -> Error {
    Error::new(ErrorKind::Syntax, position, message, hint)
}
