//! The syntax of nginx: words, `;` and blocks. No maintained parser crate exists, and the syntax has no more than this.

use std::path::Path;

use howdah_config::Files;

use crate::ImportError;
use crate::directive::Directive;

#[derive(Debug, PartialEq, Eq)]
enum Token {
    Word(String),
    End,
    Open,
    Close,
}

/// Files that every installation has, with known contents.
const KNOWN_FILES: &[&str] = &[
    "mime.types",
    "fastcgi_params",
    "fastcgi.conf",
    "fastcgi-php.conf",
    "snakeoil.conf",
    "proxy_params",
    "options-ssl-nginx.conf",
    "modules-enabled/*.conf",
];
const INCLUDE_DEPTH: usize = 16;

pub(super) fn parse(text: &str, file: &Path) -> Result<Vec<Directive>, ImportError> {
    let failed = |line: usize, reason: &str| ImportError::Syntax {
        file: file.display().to_string(),
        line,
        reason: reason.to_owned(),
    };
    let mut stack: Vec<Vec<Directive>> = vec![Vec::new()];
    let mut words: Vec<(String, usize)> = Vec::new();
    let mut lexer = Lexer::new(text);
    let mut line = 1;
    while let Some((token, at)) = lexer
        .next()
        .map_err(|line| failed(line, "a quote is not closed"))?
    {
        line = at;
        match token {
            Token::Word(word) => words.push((word, at)),
            Token::End | Token::Open => {
                let mut own = std::mem::take(&mut words).into_iter();
                let Some((name, start)) = own.next() else {
                    return Err(failed(at, "the name of a directive is missing"));
                };
                let is_block = token == Token::Open;
                let directive = Directive {
                    name,
                    arguments: own.map(|(word, _)| word).collect(),
                    block: is_block.then(Vec::new),
                    line: start,
                };
                stack.last_mut().expect("there is the file").push(directive);
                if is_block {
                    stack.push(Vec::new());
                }
            }
            Token::Close => {
                if !words.is_empty() {
                    return Err(failed(at, "`;` is missing before `}`"));
                }
                let block = stack.pop().expect("there is the file");
                let parent = stack
                    .last_mut()
                    .and_then(|directives| directives.last_mut());
                let Some(parent) = parent else {
                    return Err(failed(at, "`}` closes nothing"));
                };
                parent.block = Some(block);
            }
        }
    }
    if !words.is_empty() {
        return Err(failed(line, "`;` is missing at the end"));
    }
    if stack.len() > 1 {
        return Err(failed(line, "`}` is missing at the end"));
    }
    Ok(stack.pop().unwrap_or_default())
}

struct Lexer<'a> {
    rest: std::iter::Peekable<std::str::Chars<'a>>,
    line: usize,
}

impl<'a> Lexer<'a> {
    fn new(text: &'a str) -> Self {
        Self {
            rest: text.trim_start_matches('\u{feff}').chars().peekable(),
            line: 1,
        }
    }

    fn take(&mut self) -> Option<char> {
        let next = self.rest.next();
        self.line += usize::from(next == Some('\n'));
        next
    }

    /// The next token and its line; the error is the line of a quote that is not closed.
    fn next(&mut self) -> Result<Option<(Token, usize)>, usize> {
        loop {
            match self.rest.peek() {
                None => return Ok(None),
                Some('#') => while self.take().is_some_and(|c| c != '\n') {},
                Some(c) if c.is_whitespace() => {
                    self.take();
                }
                Some(_) => break,
            }
        }
        let line = self.line;
        let token = match self.rest.peek() {
            Some(';') => Token::End,
            Some('{') => Token::Open,
            Some('}') => Token::Close,
            Some('"' | '\'') => {
                let quote = self.take();
                return self.quoted(quote, line).map(Some);
            }
            _ => return Ok(Some((Token::Word(self.word()), line))),
        };
        self.take();
        Ok(Some((token, line)))
    }

    fn quoted(&mut self, quote: Option<char>, line: usize) -> Result<(Token, usize), usize> {
        let mut text = String::new();
        loop {
            match self.take() {
                None => return Err(line),
                same if same == quote => return Ok((Token::Word(text), line)),
                Some('\\') => match self.take() {
                    same if same == quote => text.extend(same),
                    Some('\\') => text.push_str("\\\\"),
                    Some(other) => text.extend(['\\', other]),
                    None => return Err(line),
                },
                Some(other) => text.push(other),
            }
        }
    }

    fn word(&mut self) -> String {
        let mut text = String::new();
        let mut in_variable = false;
        while let Some(&c) = self.rest.peek() {
            match c {
                // `${name}` is a variable; elsewhere a brace begins a block.
                '{' if text.ends_with('$') => in_variable = true,
                '}' if in_variable => in_variable = false,
                ';' | '{' | '}' => break,
                c if c.is_whitespace() => break,
                _ => {}
            }
            self.take();
            text.push(c);
            if c == '\\'
                && let Some(next) = self.take()
            {
                text.push(next);
            }
        }
        text
    }
}

/// Replaces `include` directives by the included files.
pub(super) fn include(
    directives: &mut Vec<Directive>,
    file: &Path,
    files: &dyn Files,
    note: &mut dyn FnMut(usize, &str, &str),
) -> Result<(), ImportError> {
    include_at(directives, file, files, note, 0)
}

fn include_at(
    directives: &mut Vec<Directive>,
    file: &Path,
    files: &dyn Files,
    note: &mut dyn FnMut(usize, &str, &str),
    depth: usize,
) -> Result<(), ImportError> {
    let mut all = Vec::new();
    for mut directive in std::mem::take(directives) {
        if directive.name != "include" {
            if let Some(block) = &mut directive.block {
                include_at(block, file, files, note, depth)?;
            }
            all.push(directive);
            continue;
        }
        let pattern = directive.argument(0);
        if KNOWN_FILES.iter().any(|known| pattern.ends_with(known)) {
            continue;
        }
        if depth == INCLUDE_DEPTH {
            note(
                directive.line,
                &directive.to_string(),
                "files include each other too deeply",
            );
            continue;
        }
        let path = if pattern.starts_with('/') {
            pattern.to_owned()
        } else {
            let folder = file.parent().unwrap_or(Path::new(""));
            folder.join(pattern).display().to_string()
        };
        let found = if path.contains('*') {
            files.glob(&path).unwrap_or_default()
        } else {
            vec![path.into()]
        };
        for path in found {
            match files.read(&path) {
                Ok(text) => {
                    let mut own = parse(&text, &path)?;
                    include_at(&mut own, file, files, note, depth + 1)?;
                    all.extend(own);
                }
                Err(error) => note(directive.line, &directive.to_string(), &error.to_string()),
            }
        }
    }
    *directives = all;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_quotes_and_blocks() {
        let text = "a 'x; y' \"b\\\"c\" ${d}e # no\n;\nlocation ~ ^/\\d{ # open\n return 200;}\n";
        let parsed = parse(text, Path::new("f")).expect("valid");
        assert_eq!(parsed[0].arguments, ["x; y", "b\"c", "${d}e"]);
        assert_eq!(parsed[1].arguments, ["~", "^/\\d"]);
        assert_eq!(parsed[1].children()[0].argument(0), "200");
        assert_eq!((parsed[1].line, parsed[1].children()[0].line), (3, 4));
    }

    #[test]
    fn mistakes_have_a_line() {
        for (text, expected) in [
            ("a b\n", "f:1: `;` is missing at the end"),
            ("a {\nb;\n", "f:2: `}` is missing at the end"),
            ("a;\n}", "f:2: `}` closes nothing"),
            ("a { b }", "f:1: `;` is missing before `}`"),
            ("a;\n;", "f:2: the name of a directive is missing"),
            ("a 'b;", "f:1: a quote is not closed"),
        ] {
            let error = parse(text, Path::new("f")).expect_err(text);
            assert_eq!(error.to_string(), expected);
        }
    }
}
