//! The syntax of Apache: a directive on each line, and sections.

use std::path::Path;

use crate::ImportError;
use crate::directive::Directive;

/// The directive as Apache writes it: a section in `<>`.
pub(super) fn quoted(directive: &Directive) -> String {
    if directive.block.is_some() {
        format!("<{directive}>")
    } else {
        directive.to_string()
    }
}

pub(super) fn parse(text: &str, file: &Path) -> Result<Vec<Directive>, ImportError> {
    let failed = |line: usize, reason: String| ImportError::Syntax {
        file: file.display().to_string(),
        line,
        reason,
    };
    let mut stack: Vec<Vec<Directive>> = vec![Vec::new()];
    let mut lines = text.trim_start_matches('\u{feff}').lines().enumerate();
    let mut definitions = vec![("APACHE_LOG_DIR".to_owned(), "/var/log/apache2".to_owned())];
    let mut last = 1;
    while let Some((index, first)) = lines.next() {
        let number = index + 1;
        last = number;
        let mut line = first.trim().to_owned();
        while line.ends_with('\\') && !line.starts_with('#') {
            line.pop();
            let Some((_, next)) = lines.next() else { break };
            line.push_str(next.trim());
        }
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some(name) = line.strip_prefix("</") {
            let name = name.trim_end_matches('>').trim();
            let block = stack.pop().unwrap_or_default();
            let parent = stack
                .last_mut()
                .and_then(|directives| directives.last_mut());
            match parent {
                Some(parent) if parent.name.eq_ignore_ascii_case(name) => {
                    parent.block = Some(block);
                }
                _ => return Err(failed(number, format!("</{name}> closes nothing"))),
            }
            continue;
        }
        let is_section = line.starts_with('<');
        let inner = line.trim_start_matches('<');
        let inner = if is_section {
            inner.trim_end_matches('>')
        } else {
            inner
        };
        let inner = environment(inner, &definitions);
        let mut words = words(&inner).into_iter();
        let directive = Directive {
            name: words.next().unwrap_or_default(),
            arguments: words.collect(),
            block: is_section.then(Vec::new),
            line: number,
        };
        if directive.name.eq_ignore_ascii_case("Define") {
            let value = directive.argument(1).to_owned();
            definitions.push((directive.argument(0).to_owned(), value));
        }
        stack.last_mut().expect("there is the file").push(directive);
        if is_section {
            stack.push(Vec::new());
        }
    }
    if stack.len() > 1 {
        return Err(failed(last, "a section is not closed".to_owned()));
    }
    Ok(stack.pop().unwrap_or_default())
}

/// The line with `${NAME}` as the value of its `Define`, or else as an environment variable of the Caddyfile. Maps of
/// `RewriteMap` stay.
fn environment(line: &str, definitions: &[(String, String)]) -> String {
    let mut result = String::new();
    let mut rest = line;
    while let Some((before, after)) = rest.split_once("${") {
        let Some((name, end)) = after.split_once('}') else {
            break;
        };
        result.push_str(before);
        let defined = definitions.iter().rev().find(|(known, _)| known == name);
        let is_name = name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
            && !name.starts_with(|char: char| char.is_ascii_digit());
        let value = match defined {
            Some((_, value)) => value.clone(),
            None if is_name => format!("{{${name}}}"),
            None => format!("${{{name}}}"),
        };
        result.push_str(&value);
        rest = end;
    }
    result + rest
}

fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut chars = line.chars().peekable();
    loop {
        while chars.next_if(|c| c.is_whitespace()).is_some() {}
        let Some(&first) = chars.peek() else {
            return words;
        };
        let quote = (first == '"' || first == '\'').then_some(first);
        if quote.is_some() {
            chars.next();
        }
        let mut text = String::new();
        while let Some(c) = chars.next() {
            match quote {
                Some(quote) if c == quote => break,
                Some(quote) if c == '\\' && chars.peek() == Some(&quote) => {
                    text.extend(chars.next());
                }
                // Outside of quotes it is a part of the word, as in `\ ` of an expression.
                None if c == '\\' && chars.peek().is_some_and(|next| next.is_whitespace()) => {
                    text.push(c);
                    text.extend(chars.next());
                }
                None if c.is_whitespace() => break,
                _ => text.push(c),
            }
        }
        words.push(text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_sections_and_quotes() {
        let text =
            "# no\n<IfModule a.c>\n  Header set A \"b \\\"c\" \\\n env=x\n</IfModule>\nB 'c d' e\n";
        let parsed = parse(text, Path::new("f")).expect("valid");
        assert_eq!(
            parsed[0].children()[0].arguments,
            ["set", "A", "b \"c", "env=x"]
        );
        assert_eq!((parsed[0].line, parsed[1].line), (2, 6));
        assert_eq!(parsed[1].arguments, ["c d", "e"]);
    }

    #[test]
    fn variables_are_those_of_the_environment_or_defined() {
        let text = "Define A /x\nB ${A}/y ${C} ${APACHE_LOG_DIR} ${map:k|d}\n<V *:${P}>\n</V>\n";
        let parsed = parse(text, Path::new("f")).expect("valid");
        let expected = ["/x/y", "{$C}", "/var/log/apache2", "${map:k|d}"];
        assert_eq!(parsed[1].arguments, expected);
        assert_eq!(parsed[2].arguments, ["*:{$P}"]);
    }

    #[test]
    fn mistakes_have_a_line() {
        for (text, expected) in [
            ("<A>\nB\n", "f:2: a section is not closed"),
            ("B\n</A>\n", "f:2: </A> closes nothing"),
            ("<A>\n</B>\n", "f:2: </B> closes nothing"),
        ] {
            let error = parse(text, Path::new("f")).expect_err(text);
            assert_eq!(error.to_string(), expected);
        }
    }
}
