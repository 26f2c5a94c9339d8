//! The Caddyfile that is written, and the notes in it.

/// Lines of a Caddyfile, not yet indented.
pub(crate) type Lines = Vec<String>;

/// A word of a Caddyfile that stands for this text.
pub(crate) fn word(text: &str) -> String {
    let is_plain = !text.is_empty()
        && !text.starts_with('#')
        && !text.contains(|c: char| c.is_whitespace() || matches!(c, '"' | '`'))
        && text != "{"
        && text != "}"
        && !text.ends_with('\\');
    if is_plain {
        text.to_owned()
    } else if text.contains('"') && !text.contains('`') {
        format!("`{text}`")
    } else {
        format!("\"{}\"", text.replace('"', "\\\""))
    }
}

/// A block; without lines only its head.
pub(crate) fn block(head: &str, lines: Lines) -> Lines {
    if lines.is_empty() {
        return vec![head.to_owned()];
    }
    let mut all = vec![format!("{head} {{")];
    all.extend(lines);
    all.push("}".to_owned());
    all
}

/// The line that denies all requests.
pub(crate) const FORBIDDEN: &str = "error 403";

/// Whether a line ends a request: lines after it in a block have no effect.
pub(crate) fn is_terminal(line: &str) -> bool {
    const TERMINAL: [&str; 8] = [
        "respond",
        "error",
        "abort",
        "redir",
        "reverse_proxy",
        "php_server",
        "php_fastcgi",
        "file_server",
    ];
    let mut words = line.split(' ');
    words.next().is_some_and(|name| TERMINAL.contains(&name))
        && !line
            .split(' ')
            .nth(1)
            .is_some_and(|next| next.starts_with('@'))
}

/// Names of matchers, each used once.
#[derive(Debug, Default)]
pub(crate) struct MatcherNames(std::collections::BTreeMap<String, u32>);

impl MatcherNames {
    /// `wish`, with a number if it is already used.
    pub(crate) fn next(&mut self, wish: &str) -> String {
        let count = self.0.entry(wish.to_owned()).or_default();
        *count += 1;
        match *count {
            1 => wish.to_owned(),
            count => format!("{wish}{count}"),
        }
    }
}

/// What could not be converted. Each is a comment in the file, at its place.
#[derive(Debug, Default)]
pub(crate) struct Notes(Vec<super::Note>);

impl Notes {
    /// Records it; returns the comment.
    pub(crate) fn add(&mut self, line: usize, what: &str, why: &str) -> String {
        let note = super::Note {
            line,
            text: if why.is_empty() {
                what.to_owned()
            } else {
                format!("{what}: {why}")
            },
        };
        let comment = format!("# NOTE: {note}").replace('\n', " ");
        // Inherited settings of locations are noted where they are missing, and counted once.
        if !self.0.contains(&note) {
            self.0.push(note);
        }
        comment
    }

    pub(crate) fn into_inner(self) -> Vec<super::Note> {
        self.0
    }
}
