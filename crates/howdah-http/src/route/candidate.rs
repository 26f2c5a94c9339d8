//! `try_files`: the first candidate that exists.

use std::borrow::Cow;

use glob::{MatchOptions, Pattern, glob_with};
use howdah_cgi::split_path;
use howdah_config::model::{Part, Template};

use crate::answer::files::stat::{Kind, Root};
use crate::message::path::{clean, from_disk};
use crate::route::context::Context;
use crate::route::purpose::Purpose;
use crate::route::text::Text;

/// Files of a pattern that are looked at.
const MATCHES: usize = 1000;

/// `*` matches no slash and no hidden file.
const OPTIONS: MatchOptions = MatchOptions {
    case_sensitive: true,
    require_literal_separator: true,
    require_literal_leading_dot: true,
};

/// A compiled candidate, for example `/index.php?{query}`.
#[derive(Debug)]
pub(crate) struct Candidate {
    path: Text,
    query: Option<Text>,
    /// It ends in a slash as configured.
    directory: bool,
    /// The text after `{path}/`, if it has that form.
    below_path: Option<Box<str>>,
    /// The path has `*` or `[` as configured: it stands for all files that match it.
    is_pattern: bool,
}

/// A candidate that exists.
#[derive(Debug)]
pub(crate) struct CandidateFile<'c> {
    /// Index in the list of candidates.
    pub(crate) index: usize,
    /// Normalised, below the root.
    pub(crate) path: Cow<'c, str>,
    /// The part of the path after the script.
    pub(crate) path_info: String,
    /// Not evaluated.
    pub(crate) query: Option<&'c Text>,
}

impl Candidate {
    pub(crate) fn new(template: &Template) -> Self {
        let (before, query) = split_query(template);
        let directory =
            matches!(before.parts.last(), Some(Part::Text(text)) if text.ends_with('/'));
        let mut path = Text::new(&before);
        if let Some(constant) = path.constant() {
            path = Text::Constant(clean(constant).as_ref().into());
        }
        let below_path = path.below_path().map(Into::into);
        let has_pattern =
            |part: &Part| matches!(part, Part::Text(text) if text.contains(['*', '[']));
        Self {
            path,
            query: query.as_ref().map(Text::new),
            directory,
            below_path,
            is_pattern: before.parts.iter().any(has_pattern),
        }
    }

    pub(crate) fn below_path(&self) -> Option<&str> {
        self.below_path.as_deref()
    }

    /// Whether it must be a directory.
    pub(crate) fn is_directory(&self) -> bool {
        self.directory
    }

    /// Whether it exists; `kind` is what is on disk at its path.
    pub(super) fn accepts(
        &self,
        kind: Kind,
        found: &CandidateFile<'_>,
        context: &Context<'_>,
    ) -> bool {
        // `/a.txt/` is the path of a directory, not of a file. A slash after a script is its PATH_INFO.
        let slash = || self.is_path() && found.path_info.is_empty() && context.path.ends_with('/');
        match kind {
            Kind::Directory => self.directory,
            Kind::File => !self.directory && !slash(),
            Kind::Missing => false,
        }
    }

    /// The path of the candidate for this request, whether it exists or not.
    pub(super) fn place<'c>(
        &'c self,
        index: usize,
        context: &'c Context<'_>,
        split: &[String],
    ) -> CandidateFile<'c> {
        let path = self.evaluate(context);
        // A slash after a script is its PATH_INFO.
        let whole = if self.is_path() {
            &*context.path
        } else {
            &*path
        };
        let (length, path_info) = match split_path(whole, split) {
            Some((script, info)) if !self.directory => (script.len(), info.to_owned()),
            _ => (path.len(), String::new()),
        };
        let path = match path {
            Cow::Borrowed(path) => Cow::Borrowed(&path[..length]),
            Cow::Owned(mut path) => {
                path.truncate(length);
                Cow::Owned(path)
            }
        };
        CandidateFile {
            index,
            path,
            path_info,
            query: self.query(),
        }
    }

    /// The files that match its pattern, in the order of their names; otherwise the candidate itself, whether it
    /// exists or not.
    pub(super) fn places<'c>(
        &'c self,
        index: usize,
        context: &'c Context<'_>,
        root: &Root,
        split: &[String],
    ) -> Vec<CandidateFile<'c>> {
        if !self.is_pattern {
            return vec![self.place(index, context, split)];
        }
        // A client cannot choose a pattern.
        let escape = |value: &str| Pattern::escape(&value.replace('\0', "\u{fffd}"));
        let pattern = self.path.evaluate_escaped(context, escape);
        let pattern = clean(&pattern);
        let (length, path_info) = match split_path(&pattern, split) {
            Some((script, info)) if !self.directory => (script.len(), info),
            _ => (pattern.len(), ""),
        };
        let prefix = root.prefix();
        let whole = format!("{}{}", Pattern::escape(prefix), &pattern[..length]);
        let Ok(found) = glob_with(&whole, OPTIONS) else {
            return Vec::new();
        };
        let paths = found.filter_map(|path| {
            let path = path.ok()?;
            let path = from_disk(path.as_os_str());
            let below = path.strip_prefix(prefix)?.trim_end_matches('/');
            Some(Cow::Owned(below.to_owned()))
        });
        paths
            .take(MATCHES)
            .map(|path| CandidateFile {
                index,
                path,
                path_info: path_info.to_owned(),
                query: self.query(),
            })
            .collect()
    }

    pub(crate) fn is_path(&self) -> bool {
        self.path.is_path()
    }

    /// The path of a candidate without placeholders.
    pub(crate) fn constant(&self) -> Option<&str> {
        self.path.constant().map(|path| &**path)
    }

    pub(crate) fn query(&self) -> Option<&Text> {
        self.query.as_ref()
    }

    fn evaluate<'c>(&'c self, context: &'c Context<'_>) -> Cow<'c, str> {
        if self.is_path() {
            // The path is normalised already.
            let path = context.path_without_slash();
            return Cow::Borrowed(if path.is_empty() { "/" } else { path });
        }
        match self.path.evaluate(context, Purpose::File) {
            Cow::Borrowed(path) => Cow::Borrowed(path),
            Cow::Owned(mut path) => {
                // A decoded value of a query can contain it; a valid path or file name cannot.
                if path.contains('\0') {
                    path = path.replace('\0', "\u{fffd}");
                }
                Cow::Owned(clean(&path).into_owned())
            }
        }
    }
}

/// The first of `candidates` that exists below `root`; a path with a script in it counts when the
/// script exists.
pub(crate) fn find<'c>(
    candidates: &'c [Candidate],
    context: &'c Context<'_>,
    root: &Root,
    split: &[String],
) -> Option<CandidateFile<'c>> {
    let mut nothing_below = false;
    for (index, candidate) in candidates.iter().enumerate() {
        // A missing path, or a file, has nothing below it: the disk need not be checked.
        if nothing_below && candidate.below_path.is_some() {
            continue;
        }
        if candidate.is_pattern {
            let mut places = candidate.places(index, context, root, split).into_iter();
            let exists = |found: &CandidateFile<'_>| {
                let kind = context.lookup.kind(root, &found.path);
                candidate.accepts(kind, found, context)
            };
            if let Some(found) = places.find(exists) {
                return Some(found);
            }
            continue;
        }
        let found = candidate.place(index, context, split);
        let kind = context.lookup.kind(root, &found.path);
        if candidate.accepts(kind, &found, context) {
            return Some(found);
        }
        if candidate.is_path() && found.path_info.is_empty() {
            nothing_below = kind != Kind::Directory;
        }
    }
    None
}

/// Splits a template at its first question mark.
pub(crate) fn split_query(template: &Template) -> (Template, Option<Template>) {
    for (index, part) in template.parts.iter().enumerate() {
        let Part::Text(text) = part else { continue };
        let Some((before, after)) = text.split_once('?') else {
            continue;
        };
        let text = |text: &str| (!text.is_empty()).then(|| Part::Text(text.to_owned()));
        let path = template.parts[..index]
            .iter()
            .cloned()
            .chain(text(before))
            .collect();
        let query = text(after)
            .into_iter()
            .chain(template.parts[index + 1..].iter().cloned());
        return (
            Template { parts: path },
            Some(Template {
                parts: query.collect(),
            }),
        );
    }
    (template.clone(), None)
}
