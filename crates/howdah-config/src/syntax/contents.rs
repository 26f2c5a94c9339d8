//! `{file.PATH}`: the contents of a file, read together with the configuration, so that no request waits for the disk
//! and a file that cannot be read is an error at the start.

use std::path::Path;
use std::rc::Rc;

use crate::error::{Error, bad_value};
use crate::source::Files;
use crate::syntax::tree::{Statement, Tree, Word};

/// Caddy's limit.
const MAX_SIZE: usize = 1024 * 1024;

/// The paths in a word, each with the contents of the file.
pub(crate) type Contents = Vec<(String, Rc<str>)>;

/// The path in the name of a placeholder; `{file.base}` and `{file.ext}` have none.
pub(crate) fn path_of(name: &str) -> Option<&str> {
    let path = name.strip_prefix("file.")?;
    let valid = !matches!(path, "" | "base" | "ext") && !path.contains(['{', '\n']);
    valid.then_some(path)
}

/// The contents of the file at `path` in this word.
pub(crate) fn of<'w>(word: &'w Word, path: &str) -> Result<&'w str, Error> {
    let found = word.contents.iter().find(|(known, _)| known == path);
    found.map(|(_, text)| &**text).ok_or_else(|| {
        bad_value(
            &word.position,
            format!("`{{file.{path}}}` cannot stand here"),
            "write `{$NAME}` for an environment variable, which is read when the server starts",
        )
    })
}

/// Reads the files that words name. Their paths are added to `read`.
pub(crate) fn read(tree: &mut Tree, files: &dyn Files, read: &mut Vec<String>) -> Vec<Error> {
    let mut reader = Reader {
        files,
        read,
        errors: Vec::new(),
    };
    reader.block(&mut tree.global);
    for site in &mut tree.sites {
        site.addresses.iter_mut().for_each(|word| reader.word(word));
        reader.block(&mut site.statements);
    }
    for (_, block) in &mut tree.named {
        reader.block(block);
    }
    reader.errors
}

struct Reader<'r> {
    files: &'r dyn Files,
    read: &'r mut Vec<String>,
    errors: Vec<Error>,
}

impl Reader<'_> {
    fn block(&mut self, block: &mut [Statement]) {
        for statement in block {
            self.word(&mut statement.name);
            for word in &mut statement.arguments {
                self.word(word);
            }
            self.block(statement.block.as_deref_mut().unwrap_or_default());
        }
    }

    fn word(&mut self, word: &mut Word) {
        let mut contents = Contents::new();
        for path in paths(&word.text) {
            if contents.iter().any(|(known, _)| known == path) {
                continue;
            }
            // Empty if it is missing, so that the word causes no second error.
            let text = self.text(word, path).unwrap_or_else(|error| {
                self.errors.push(error);
                String::new()
            });
            contents.push((path.to_owned(), text.into()));
        }
        word.contents = contents;
    }

    fn text(&mut self, word: &Word, path: &str) -> Result<String, Error> {
        let error = |message: String, hint: &str| Err(bad_value(&word.position, message, hint));
        let mut text = match self.files.read(Path::new(path)) {
            Ok(text) => text,
            Err(why) => {
                return error(
                    format!("cannot read the file of `{{file.{path}}}`: {why}"),
                    "write `\\{` if a brace is meant",
                );
            }
        };
        if !self.read.iter().any(|known| known == path) {
            self.read.push(path.to_owned());
        }
        if text.len() > MAX_SIZE {
            return error(format!("the file `{path}` has more than 1 MiB"), "");
        }
        if text.ends_with('\n') {
            text.pop();
            if text.ends_with('\r') {
                text.pop();
            }
        }
        Ok(text)
    }
}

/// The paths of the placeholders in a text.
fn paths(text: &str) -> impl Iterator<Item = &str> {
    text.match_indices("{file.").filter_map(|(at, _)| {
        let inner = &text[at + 1..];
        let name = &inner[..inner.find('}')?];
        path_of(name).filter(|_| !text[..at].ends_with('\\'))
    })
}
