//! Changes of path and query.

use super::placeholder::Template;

/// `uri`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are the documentation")]
pub enum UriChange {
    /// `strip_prefix TEXT`: removed from the path.
    StripPrefix(Template),
    /// `strip_suffix TEXT`: removed from the path.
    StripSuffix(Template),
    /// `replace FIND REPLACE [LIMIT]`: in path and query.
    Replace {
        /// The text; escaped as in the request.
        find: Template,
        replace: Template,
        /// Maximum number of replacements, from the start; `None`: all.
        limit: Option<usize>,
    },
    /// `path_regexp FIND REPLACE`: in the path.
    Regexp {
        /// A regular expression that compiles.
        find: String,
        /// The replacement; `$1` stands for a group.
        replace: Template,
    },
    /// `query`: one after another.
    Query(Vec<QueryChange>),
}

/// One change of `uri query`. Names and values are not escaped.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are the documentation")]
pub enum QueryChange {
    /// `OLD>NEW`: replaces a parameter that already has the new name.
    Rename { old: Template, new: Template },
    /// `NAME VALUE`: replaces all parameters of that name.
    Set {
        /// Name of the parameter.
        name: Template,
        value: Template,
    },
    /// `+NAME VALUE`: in addition to existing ones.
    Add {
        /// Name of the parameter.
        name: Template,
        value: Template,
    },
    /// `NAME REGEXP REPLACEMENT`: in the value.
    Replace {
        /// Name of the parameter; `None`: `*`, all of them.
        name: Option<Template>,
        /// A regular expression that compiles.
        find: String,
        /// The replacement; `$1` stands for a group.
        replace: Template,
    },
    /// `-NAME`.
    Delete(Template),
}
