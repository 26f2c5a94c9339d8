//! `howdah fmt`: tabs, one space between words, braces in their place, at most one blank line.

use std::sync::Arc;

use crate::syntax::env::expand;
use crate::syntax::lexer::{Kind, Quote, Token, tokens};

/// Formats a Caddyfile as `caddy fmt` does. Its meaning does not change, and formatted text stays
/// as it is. Text that cannot be split into words (a quote is not closed, for example) is returned
/// unchanged; [`parse`](crate::parse) reports why.
#[must_use]
pub fn fmt(text: &str) -> String {
    let Ok(tokens) = tokens(&expand(text, None), &Arc::from("")) else {
        return text.to_owned();
    };
    let mut printer = Printer::default();
    for item in tokens.into_iter().flat_map(split) {
        printer.print(&item);
    }
    printer.finish()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Piece {
    Word,
    Comment,
    Open,
    Close,
}

struct Item {
    piece: Piece,
    text: String,
    newlines: usize,
    continued: bool,
}

/// Splits braces off adjacent words. The parser refuses such words, so the meaning of valid text
/// does not change.
fn split(token: Token) -> Vec<Item> {
    let Token {
        kind,
        raw,
        newlines,
        continued,
        ..
    } = token;
    if kind == Kind::Comment {
        return vec![Item {
            piece: Piece::Comment,
            text: raw,
            newlines,
            continued: false,
        }];
    }
    let mut items = Vec::new();
    let mut add = |piece, text: &str| {
        if !text.is_empty() {
            let first = items.is_empty();
            items.push(Item {
                piece,
                text: text.to_owned(),
                newlines: if first { newlines } else { 0 },
                continued: first && continued > 0,
            });
        }
    };
    if kind != Kind::Text(Quote::None) {
        add(Piece::Word, &raw);
        return items;
    }
    let (mut closing, opening) = unmatched(&raw);
    // The text after a brace must not become a quote, a comment or a heredoc.
    if closing
        .iter()
        .any(|at| raw[at + 1..].starts_with(['"', '`', '#', '<', '\\', '\u{feff}']))
    {
        closing.clear();
    }
    let mut start = 0;
    for at in closing {
        add(Piece::Word, &raw[start..at]);
        add(Piece::Close, "}");
        start = at + 1;
    }
    let mut end = raw.len();
    let trailing = opening.iter().rev().take_while(|at| {
        let ends = **at + 1 == end;
        end -= usize::from(ends);
        ends
    });
    let count = trailing.count();
    add(Piece::Word, &raw[start..raw.len() - count]);
    for _ in 0..count {
        add(Piece::Open, "{");
    }
    items
}

/// Positions of closing and opening braces without a partner in the word.
fn unmatched(word: &str) -> (Vec<usize>, Vec<usize>) {
    let (mut closing, mut opening) = (Vec::new(), Vec::new());
    let mut at = 0;
    let mut escaped = false;
    while let Some(char) = word[at..].chars().next() {
        let variable = word[at..]
            .strip_prefix("{$")
            .and_then(|rest| rest.find('}'));
        if let Some(length) = variable.filter(|length| *length > 0) {
            at += length + 3;
            escaped = false;
            continue;
        }
        match char {
            '{' if !escaped => opening.push(at),
            '}' if !escaped && opening.pop().is_none() => closing.push(at),
            _ => {}
        }
        escaped = char == '\\' && !escaped;
        at += char.len_utf8();
    }
    (closing, opening)
}

#[derive(Default)]
struct Printer {
    out: String,
    depth: usize,
    last: Option<Piece>,
    /// The current line ends a block.
    ends_block: bool,
    /// The first word of the line, to recognise an import.
    line: String,
    /// The last word would change its meaning right before a line end.
    needs_space: bool,
}

impl Printer {
    fn print(&mut self, item: &Item) {
        match item.piece {
            Piece::Word => self.word(item),
            Piece::Comment => self.comment(item),
            Piece::Open => self.open(item),
            Piece::Close => self.close(),
        }
        self.out.push_str(&item.text);
        self.last = Some(item.piece);
        self.ends_block = match item.piece {
            Piece::Close => true,
            Piece::Comment => self.ends_block && item.newlines == 0,
            Piece::Word | Piece::Open => false,
        };
        let heredoc = item.text.starts_with("<<") && !item.text.contains('\n');
        self.needs_space = item.piece == Piece::Word && (heredoc || item.text.ends_with('\\'));
    }

    fn word(&mut self, item: &Item) {
        if self.breaks(item) {
            self.new_line(item.newlines);
            self.line.clone_from(&item.text);
        } else if item.continued {
            self.out.push_str(" \\\n");
            self.indent(self.depth + 1);
        } else {
            self.out.push(' ');
        }
    }

    fn comment(&mut self, item: &Item) {
        let is_adjacent = matches!(self.last, Some(Piece::Word | Piece::Close));
        if item.newlines == 0 && is_adjacent {
            self.out.push(' ');
        } else {
            self.new_line(item.newlines);
        }
    }

    fn open(&mut self, item: &Item) {
        let import = self.depth == 0 && self.line == "import";
        if self.last == Some(Piece::Word) && !(item.newlines > 0 && import) {
            self.out.push(' ');
        } else {
            self.new_line(item.newlines);
        }
        self.line.clear();
        self.depth += 1;
    }

    fn close(&mut self) {
        self.depth = self.depth.saturating_sub(1);
        self.line.clear();
        if self.last.is_some() {
            self.end_line();
        }
        self.indent(self.depth);
    }

    fn breaks(&self, item: &Item) -> bool {
        item.newlines > 0 || self.last != Some(Piece::Word)
    }

    /// A line end, and a blank line where there was one or where a top-level block ended.
    fn new_line(&mut self, newlines: usize) {
        let after_block = self.depth == 0 && self.ends_block;
        let blank = (newlines > 1 || after_block) && self.last != Some(Piece::Open);
        if self.last.is_some() {
            self.end_line();
            self.out.push_str(if blank { "\n" } else { "" });
        }
        self.indent(self.depth);
    }

    fn indent(&mut self, depth: usize) {
        self.out.extend(std::iter::repeat_n('\t', depth));
    }

    /// A backslash before a line end continues the line, and `<<WORD` starts a heredoc there; a
    /// space preserves the meaning of such words.
    fn end_line(&mut self) {
        self.out
            .push_str(if self.needs_space { " \n" } else { "\n" });
    }

    fn finish(mut self) -> String {
        self.end_line();
        self.out
    }
}
