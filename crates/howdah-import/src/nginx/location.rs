//! Locations, and the order in which nginx chooses one.

use std::collections::BTreeMap;

use super::settings::is_inherited;
use crate::directive::Directive;
use crate::pattern::{is_about_php, matcher_name};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Exact,
    /// `^~`: no regular expression is tried.
    First,
    Regex {
        ignore_case: bool,
    },
    Prefix,
}

/// A `location` with a pattern.
pub(super) struct Location<'a> {
    pub(super) kind: Kind,
    pub(super) pattern: &'a str,
    pub(super) directive: &'a Directive,
}

impl<'a> Location<'a> {
    pub(super) fn of(directive: &'a Directive) -> Option<Self> {
        if directive.name != "location" {
            return None;
        }
        let (first, second) = (directive.argument(0), directive.argument(1));
        // A modifier may stand directly before the pattern.
        let modified = [
            ("~*", Kind::Regex { ignore_case: true }),
            ("~", Kind::Regex { ignore_case: false }),
            ("^~", Kind::First),
            ("=", Kind::Exact),
        ]
        .into_iter()
        .find_map(|(modifier, kind)| {
            let attached = first.strip_prefix(modifier)?;
            Some((
                kind,
                if attached.is_empty() {
                    second
                } else {
                    attached
                },
            ))
        });
        let (kind, pattern) = modified.unwrap_or((Kind::Prefix, first));
        (!pattern.starts_with('@')).then_some(Self {
            kind,
            pattern,
            directive,
        })
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.directive.children().iter().any(|own| own.name == name)
    }

    pub(super) fn ignores_case(&self) -> bool {
        self.kind == Kind::Regex { ignore_case: true }
    }

    pub(super) fn is_fallback(&self) -> bool {
        self.kind == Kind::Prefix && self.pattern == "/"
    }

    /// Only lets PHP run scripts, as `php_server` does.
    pub(super) fn is_plain_php(&self) -> bool {
        let is_regex = matches!(self.kind, Kind::Regex { .. });
        let plain = |own: &Directive| match own.name.as_str() {
            "try_files" | "set" | "internal" | "fastcgi_pass" => true,
            "if" => own
                .arguments
                .join(" ")
                .contains("-f $document_root$fastcgi_script_name"),
            name => is_inherited(name),
        };
        is_regex
            && is_about_php(self.pattern)
            && self.has("fastcgi_pass")
            && self.directive.children().iter().all(plain)
    }

    /// A regular expression for requests other than those for hidden files or assets.
    pub(super) fn may_take_scripts(&self) -> bool {
        matches!(self.kind, Kind::Regex { .. })
            && !["hidden", "static"].contains(&matcher_name(self.pattern))
    }

    /// Its position in the order in which nginx chooses.
    pub(super) fn rank(&self) -> (u8, std::cmp::Reverse<usize>) {
        let length = std::cmp::Reverse(self.pattern.len());
        match self.kind {
            Kind::Exact => (0, length),
            Kind::First => (1, length),
            // In the order of the file.
            Kind::Regex { .. } => (2, std::cmp::Reverse(0)),
            Kind::Prefix => (3, length),
        }
    }
}

/// The `location @name` among these.
pub(super) fn named(children: &[Directive]) -> BTreeMap<String, &[Directive]> {
    let own = children
        .iter()
        .filter(|own| own.name == "location" && own.argument(0).starts_with('@'));
    own.map(|own| (own.argument(0).to_owned(), own.children()))
        .collect()
}

/// The directives of `location = path`.
pub(super) fn exact<'a>(children: &'a [Directive], path: &str) -> Option<&'a [Directive]> {
    let mut locations = children.iter().filter_map(Location::of);
    let found = locations.find(|location| location.kind == Kind::Exact && location.pattern == path);
    found.map(|location| location.directive.children())
}

/// The first location that runs PHP scripts, at any depth.
pub(super) fn php_location(children: &[Directive]) -> Option<&[Directive]> {
    children.iter().find_map(|own| {
        let location = Location::of(own)?;
        let is_regex = matches!(location.kind, Kind::Regex { .. });
        if is_regex && is_about_php(location.pattern) && location.has("fastcgi_pass") {
            return Some(own.children());
        }
        php_location(own.children())
    })
}
