//! The scope of a section as a matcher; and access rules.

use howdah_config::Files;

use super::rule_flags::forbids;
use super::syntax::quoted;
use crate::directive::Directive;
use crate::http_basic::basic_auth;
use crate::output::{Lines, MatcherNames, Notes, word};
use crate::pattern::rust_regex;

/// The scope of the directives in a section.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Scope {
    /// The whole site.
    Site,
    /// Requests with this matcher.
    Matcher(String),
    /// The whole site, by a folder of that depth that contains the document root.
    Above(usize),
    /// Requests of the site never reach it.
    Nothing,
    /// It cannot be expressed.
    Unknown,
}

/// `Alias`: requests below a path, and the folder of their files.
#[derive(Debug)]
pub(super) struct Alias {
    pub(super) path: String,
    pub(super) target: String,
}

impl Scope {
    /// The scope of a section within this one. `root` is the document root, `aliases`: those of the site.
    pub(super) fn of(section: &Directive, root: Option<&str>, aliases: &[Alias]) -> Self {
        let (first, second) = (section.argument(0), section.argument(1));
        let regex = |text: &str| match rust_regex(text) {
            Some(regex) => Self::Matcher(format!("path_regexp {}", word(&regex))),
            None => Self::Unknown,
        };
        match section.name.to_ascii_lowercase().as_str() {
            "location" if first == "~" => regex(second),
            "locationmatch" => regex(first),
            "location" if first == "/" => Self::Site,
            "location" => Self::Matcher(format!("path {}", word(&format!("{first}*")))),
            "files" if first == "~" => regex(&last_element_regex(second)),
            "filesmatch" => regex(&last_element_regex(first)),
            "files" if first == "*" => Self::Site,
            "files" => Self::Matcher(format!("path {}", word(&format!("*/{first}")))),
            "limit" => Self::Matcher(format!("method {}", methods(section))),
            "limitexcept" => Self::Matcher(format!("not method {}", methods(section))),
            "directory" if first == "~" => directory_regex(second, root),
            "directorymatch" => directory_regex(first, root),
            "directory" => directory(first, root, aliases),
            _ => Self::Unknown,
        }
    }
}

/// The methods of `<Limit>`; GET includes HEAD.
fn methods(section: &Directive) -> String {
    let mut methods = section.arguments.clone();
    if methods.iter().any(|method| method == "GET") {
        methods.push("HEAD".to_owned());
    }
    methods.join(" ")
}

/// An expression about the last element of the path.
fn last_element_regex(regex: &str) -> String {
    // `.well-known` is a folder: requests for its files end in a different name.
    let regex = regex.replace("(?!well-known)", "");
    let mut result = String::new();
    let (mut escaped, mut in_class) = (false, false);
    for c in regex.chars() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            ']' => in_class = false,
            '[' => in_class = true,
            '^' if !in_class => {
                result.push('/');
                continue;
            }
            '.' if !in_class => {
                result.push_str("[^/]");
                continue;
            }
            _ => {}
        }
        result.push(c);
    }
    result
}

fn directory(folder: &str, root: Option<&str>, aliases: &[Alias]) -> Scope {
    let folder = elements(folder.trim_end_matches(['/', '*']));
    let above = root.map(elements).filter(|root| contains(&folder, root));
    if let Some(root) = above {
        return match folder.len() {
            depth if depth == root.len() => Scope::Site,
            depth => Scope::Above(depth),
        };
    }
    let paths = aliases.iter().filter_map(|Alias { path, target }| {
        let target = elements(target);
        if contains(&folder, &target) {
            return Some(format!("{path}*"));
        }
        let below = contains(&target, &folder).then(|| folder[target.len()..].join("/"));
        Some(format!("{}/{}/*", path.trim_end_matches('/'), below?))
    });
    let below = root.map(elements).filter(|root| contains(root, &folder));
    let below = below.map(|root| format!("/{}/*", folder[root.len()..].join("/")));
    let paths: Vec<_> = paths.chain(below).map(|path| word(&path)).collect();
    if paths.is_empty() {
        return Scope::Nothing;
    }
    Scope::Matcher(format!("path {}", paths.join(" ")))
}

fn elements(folder: &str) -> Vec<&str> {
    folder.split('/').filter(|name| !name.is_empty()).collect()
}

/// Whether one folder is the other or contains it. A wildcard is taken to match: it may restrict access.
fn contains(outer: &[&str], inner: &[&str]) -> bool {
    let is_wild = |name: &str| name.contains(['*', '?', '[']);
    let mut pairs = outer.iter().zip(inner);
    outer.len() <= inner.len() && pairs.all(|(a, b)| a == b || is_wild(a) || is_wild(b))
}

/// An expression about the path of a folder on the disk.
fn directory_regex(regex: &str, root: Option<&str>) -> Scope {
    let root = root.unwrap_or_default().trim_end_matches('/');
    let own = match regex.strip_prefix('^') {
        None => Some(regex.to_owned()),
        Some(rest) => {
            let rest = rest.strip_prefix(root).or_else(|| {
                let escaped = root.replace('.', "\\.");
                rest.strip_prefix(escaped.as_str())
            });
            rest.filter(|_| !root.is_empty())
                .map(|rest| format!("^{rest}"))
        }
    };
    // A folder with all that is in it.
    let own = own.map(|regex| match regex.strip_suffix('$') {
        Some(start) if !start.ends_with('\\') => format!("{start}(/|$)"),
        _ => regex,
    });
    match own.and_then(|regex| rust_regex(&regex)) {
        Some(regex) => Scope::Matcher(format!("path_regexp {}", word(&regex))),
        None => Scope::Unknown,
    }
}

/// Access rules.
#[derive(Debug, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each records whether one directive was read, independent of the others"
)]
pub(super) struct Access {
    line: usize,
    denied: bool,
    addresses: Vec<String>,
    /// `Order allow,deny`: clients that no `Allow` names are denied, and a `Deny` overrides it.
    allows_first: bool,
    /// `Allow from all`, `Deny from all`.
    allows_all: bool,
    denies_all: bool,
    asks: bool,
    pub(super) file: Option<String>,
    pub(super) realm: Option<String>,
    /// Rules that could not be converted.
    others: Vec<String>,
}

impl Access {
    /// All rules in these directives and in the sections within them.
    pub(super) fn of(directives: &[Directive]) -> Self {
        let mut access = Self::default();
        access.add(directives);
        access
    }

    fn add(&mut self, directives: &[Directive]) {
        for own in directives {
            match own.name.to_ascii_lowercase().as_str() {
                "ifmodule" if own.argument(0).starts_with('!') => {}
                "order" => self.order(own),
                "require" | "deny" | "allow" => self.rule(own),
                "requirenone" | "sslrequire" => self.refuse(own),
                "sslverifyclient" if own.argument(0).eq_ignore_ascii_case("require") => {
                    self.refuse(own);
                }
                "rewriterule" if forbids(own) => self.refuse(own),
                _ => self.add(own.children()),
            }
        }
    }

    /// Whether there are rules.
    pub(super) fn is_given(&self) -> bool {
        self.line > 0
    }

    /// Whether a client may be denied.
    pub(super) fn restricts(&self) -> bool {
        self.denied || self.asks || !self.others.is_empty() || self.allows_first && !self.allows_all
    }

    /// `Order`.
    pub(super) fn order(&mut self, directive: &Directive) {
        self.line = directive.line;
        let order = directive.arguments.concat().to_ascii_lowercase();
        self.allows_first = matches!(order.as_str(), "allow,deny" | "mutual-failure");
    }

    /// A rule that is not converted: requests are denied.
    pub(super) fn refuse(&mut self, directive: &Directive) {
        self.line = directive.line;
        self.others.push(quoted(directive));
    }

    /// `Require`, `Deny` or `Allow`.
    pub(super) fn rule(&mut self, directive: &Directive) {
        self.line = directive.line;
        let words: Vec<_> = directive
            .arguments
            .iter()
            .map(|word| word.to_ascii_lowercase())
            .collect();
        let words: Vec<_> = words.iter().map(String::as_str).collect();
        let is_address = |text: &&str| {
            text.split('/')
                .next()
                .unwrap_or_default()
                .parse::<std::net::IpAddr>()
                .is_ok()
        };
        match (directive.name.to_ascii_lowercase().as_str(), &words[..]) {
            ("require", ["all", "granted"]) => {}
            ("allow", ["from", "all"]) => self.allows_all = true,
            ("require", ["all", "denied"]) => self.denied = true,
            ("deny", ["from", "all"]) => {
                self.denied = true;
                self.denies_all = true;
            }
            ("require", ["local"]) => {
                self.denied = true;
                self.addresses
                    .extend(["127.0.0.0/8".to_owned(), "::1".to_owned()]);
            }
            ("require", ["ip", ranges @ ..]) if ranges.iter().all(is_address) => {
                self.denied = true;
                self.addresses
                    .extend(ranges.iter().map(|&range| range.to_owned()));
            }
            ("allow", ["from", ranges @ ..]) if ranges.iter().all(is_address) => {
                self.addresses
                    .extend(ranges.iter().map(|&range| range.to_owned()));
            }
            ("require", ["valid-user"]) => self.asks = true,
            _ => self.others.push(quoted(directive)),
        }
    }

    /// The lines for requests of a matcher.
    pub(super) fn lines(
        mut self,
        scope: &Scope,
        names: &mut MatcherNames,
        files: &dyn Files,
        notes: &mut Notes,
    ) -> Lines {
        let mut lines = Lines::new();
        if self.allows_first && self.denies_all {
            self.addresses.clear();
        }
        self.denied |= self.allows_first && !self.allows_all;
        let closes = !self.others.is_empty();
        for other in &self.others {
            lines.push(notes.add(
                self.line,
                other,
                "the response is 403 until a matcher allows clients",
            ));
        }
        if self.denied || closes {
            let mut own = Vec::new();
            if let Scope::Matcher(matcher) = scope {
                own.push(matcher.clone());
            }
            if !self.addresses.is_empty() && !closes {
                own.push(format!("not remote_ip {}", self.addresses.join(" ")));
            }
            lines.extend(restrict(&own, names, "error", "403"));
        }
        if self.asks {
            let auth = basic_auth(
                self.file.as_deref(),
                self.realm.as_deref(),
                self.line,
                files,
                notes,
            );
            match scope {
                Scope::Matcher(matcher) => {
                    let name = names.next("protected");
                    lines.push(format!("@{name} {matcher}"));
                    for line in auth {
                        let line = match line.split_once(' ') {
                            Some(("basic_auth" | "error", rest)) => {
                                let head = line.split(' ').next().unwrap_or_default();
                                format!("{head} @{name} {rest}")
                            }
                            _ => line,
                        };
                        lines.push(line);
                    }
                }
                _ => lines.extend(auth),
            }
        }
        lines
    }
}

/// A directive for requests that match all of these lines.
pub(super) fn restrict(
    matcher: &[String],
    names: &mut MatcherNames,
    directive: &str,
    rest: &str,
) -> Lines {
    if matcher.is_empty() {
        return vec![format!("{directive} {rest}")];
    }
    let name = names.next("closed");
    let mut lines = match matcher {
        [one] => vec![format!("@{name} {one}")],
        _ => crate::output::block(&format!("@{name}"), matcher.to_vec()),
    };
    lines.push(format!("{directive} @{name} {rest}"));
    lines
}

#[cfg(test)]
mod tests {
    use super::last_element_regex;

    #[test]
    fn expressions_are_about_the_last_element() {
        for (regex, expected) in [
            ("^(a|b\\.php)$", "/(a|b\\.php)$"),
            (
                "\\.(inc|tpl(\\.php)?)$|^(\\.(?!well-known).*|x[^.]+)$",
                "\\.(inc|tpl(\\.php)?)$|/(\\.[^/]*|x[^.]+)$",
            ),
        ] {
            assert_eq!(last_element_regex(regex), expected);
        }
    }
}
