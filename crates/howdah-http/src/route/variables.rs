//! What matchers and directives store for placeholders: variables, the groups of regular expressions, the file that was
//! found, the user. Nothing is allocated before it is used.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use howdah_config::model;
use http::StatusCode;
use regex::Regex;

use crate::message::route_error::{RouteError, RouteErrorKind};
use crate::route::purpose::Purpose;

/// The stored values of one request.
#[derive(Debug, Clone, Default)]
pub(crate) struct Variables {
    vars: Vec<(Rc<str>, Var)>,
    /// The name that `basic_auth` has verified.
    pub(crate) user: Option<Rc<str>>,
    /// Matchers write to it while they borrow the request immutably.
    found: RefCell<Matches>,
    /// A matcher ends the request with this error.
    error: Cell<Option<StatusCode>>,
}

#[derive(Debug, Clone, Default)]
struct Matches {
    /// The last match comes last.
    groups: Vec<Groups>,
    file: Option<FoundFile>,
}

/// The value of a variable.
#[derive(Debug, Clone, Default)]
pub(crate) struct Var {
    /// The text for comparisons and file names.
    text: String,
    /// The text for URIs, if it differs.
    escaped: Option<String>,
}

impl Var {
    pub(crate) fn new(mut evaluate: impl FnMut(Purpose) -> String) -> Self {
        let text = evaluate(Purpose::File);
        let escaped = Some(evaluate(Purpose::Uri)).filter(|escaped| *escaped != text);
        Self { text, escaped }
    }

    pub(crate) fn of(&self, purpose: Purpose) -> &str {
        match (purpose, &self.escaped) {
            (Purpose::Uri, Some(escaped)) => escaped,
            _ => &self.text,
        }
    }
}

/// What the groups of a regular expression matched.
#[derive(Debug, Clone)]
struct Groups {
    regexp: Rc<Regexp>,
    texts: Vec<String>,
    /// They come from a decoded path.
    of_path: bool,
}

/// The file that a `file` matcher has found.
#[derive(Debug, Clone)]
pub(crate) struct FoundFile {
    pub(crate) relative: String,
    pub(crate) absolute: String,
    pub(crate) remainder: String,
    pub(crate) is_directory: bool,
}

/// A compiled [`model::Regexp`].
#[derive(Debug)]
pub(crate) struct Regexp {
    name: String,
    regex: Regex,
}

impl Regexp {
    pub(crate) fn compile(regexp: &model::Regexp) -> Result<Rc<Self>, RouteError> {
        Ok(Rc::new(Self {
            name: regexp.name.clone(),
            regex: compile(&regexp.pattern)?,
        }))
    }

    /// Stores the groups if it matches. `of_path`: the text is a decoded path.
    pub(crate) fn matches(self: &Rc<Self>, text: &str, of_path: bool, notes: &Variables) -> bool {
        let Some(captures) = self.regex.captures(text) else {
            return false;
        };
        let texts = captures
            .iter()
            .map(|group| group.map_or("", |group| group.as_str()).to_owned())
            .collect();
        let groups = &mut notes.found.borrow_mut().groups;
        groups.retain(|other| !Rc::ptr_eq(&other.regexp, self));
        groups.push(Groups {
            regexp: Rc::clone(self),
            texts,
            of_path,
        });
        true
    }
}

pub(crate) fn compile(pattern: &str) -> Result<Regex, RouteError> {
    Regex::new(pattern).map_err(|error| {
        RouteErrorKind::Regex {
            text: pattern.to_owned(),
            reason: error.to_string(),
        }
        .into()
    })
}

impl Variables {
    pub(crate) fn set_var(&mut self, name: &Rc<str>, value: Var) {
        match self.vars.iter_mut().find(|(known, _)| known == name) {
            Some((_, old)) => *old = value,
            None => self.vars.push((Rc::clone(name), value)),
        }
    }

    pub(crate) fn var(&self, name: &str) -> Option<&Var> {
        let mut vars = self.vars.iter();
        let (_, value) = vars.find(|(known, _)| **known == *name)?;
        Some(value)
    }

    pub(crate) fn set_error(&self, status: StatusCode) {
        self.error.set(Some(status));
    }

    pub(crate) fn take_error(&self) -> Option<StatusCode> {
        self.error.take()
    }

    pub(crate) fn set_file(&self, file: FoundFile) {
        self.found.borrow_mut().file = Some(file);
    }

    pub(crate) fn with_file(&self, use_it: impl FnOnce(&FoundFile)) {
        if let Some(file) = &self.found.borrow().file {
            use_it(file);
        }
    }

    /// Passes on the group of the last expression with that name (of any, if it is empty), and whether it is a part of
    /// a decoded path.
    pub(crate) fn with_group(&self, name: &str, group: &str, use_it: impl FnOnce(&str, bool)) {
        let found = self.found.borrow();
        let mut candidates = found.groups.iter().rev();
        let Some(groups) = candidates.find(|groups| name.is_empty() || groups.regexp.name == name)
        else {
            return;
        };
        let index = group.parse().ok().or_else(|| {
            let mut names = groups.regexp.regex.capture_names();
            names.position(|known| known == Some(group))
        });
        if let Some(text) = index.and_then(|index: usize| groups.texts.get(index)) {
            use_it(text, groups.of_path);
        }
    }
}
