//! Changes of path and query.

use super::placeholder::Template;

/// `uri`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UriChange {
    /// `strip_prefix TEXT`: off the path, with the case as it is.
    StripPrefix(Template),
    /// `strip_suffix TEXT`: off the path.
    StripSuffix(Template),
    /// `replace FIND REPLACE [LIMIT]`: in path and query.
    Replace {
        /// The text; escaped as in the request.
        find: Template,
        /// What stands in its place.
        replace: Template,
        /// How many, from the start; `None`: all.
        limit: Option<usize>,
    },
    /// `path_regexp FIND REPLACE`: in the path.
    Regexp {
        /// A regular expression that compiles.
        find: String,
        /// With `$1` for a group.
        replace: Template,
    },
    /// `query`: one after another.
    Query(Vec<QueryChange>),
}

/// One change of `uri query`. Names and values are not escaped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum QueryChange {
    /// `OLD>NEW`: instead of a parameter that has the new name.
    Rename {
        /// The name that is there.
        old: Template,
        /// The name that it gets.
        new: Template,
    },
    /// `NAME VALUE`: once, whatever was sent.
    Set {
        /// Name of the parameter.
        name: Template,
        /// Its value.
        value: Template,
    },
    /// `+NAME VALUE`: in addition to what was sent.
    Add {
        /// Name of the parameter.
        name: Template,
        /// Its value.
        value: Template,
    },
    /// `NAME REGEXP REPLACEMENT`: in the value.
    Replace {
        /// Name of the parameter; `None`: `*`, all of them.
        name: Option<Template>,
        /// A regular expression that compiles.
        find: String,
        /// With `$1` for a group.
        replace: Template,
    },
    /// `-NAME`.
    Delete(Template),
}
