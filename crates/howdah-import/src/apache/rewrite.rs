//! `mod_rewrite`: typical forms of front controllers and redirects.

use super::php::Php;
use super::rule_flags::{flags, forbids, has_flag};
use super::section::restrict;
use crate::directive::Directive;
use crate::output::{Lines, MatcherNames, Notes, block, word};
use crate::pattern::rust_regex;

/// The converted rules of a site.
#[derive(Debug, Default)]
pub(super) struct Rules {
    pub(super) lines: Lines,
    conditions: Vec<Directive>,
}

impl Rules {
    pub(super) fn condition(&mut self, directive: &Directive) {
        self.conditions.push(directive.clone());
    }

    /// A rule with the conditions before it. `below`: patterns have no slash at their start, as in `.htaccess`.
    pub(super) fn rule(
        &mut self,
        rule: &Directive,
        below: bool,
        php: &mut Php,
        names: &mut MatcherNames,
        notes: &mut Notes,
    ) {
        let conditions = std::mem::take(&mut self.conditions);
        if is_idiom(rule, &conditions) {
            return;
        }
        let (to, flags) = (rule.argument(1), flags(rule));
        let has = |flag: &str| has_flag(&flags, flag);
        if to == "-" && !has("F") && !has("G") && code(&flags).is_none() {
            // It ends the rules for files, which are sent unchanged, or sets a variable.
            let sets = flags.iter().find_map(|flag| flag.strip_prefix("E="));
            let known = sets.is_none_or(|set| {
                set.starts_with("HTTP_") && set.contains(":%{HTTP:") || set.starts_with("BASE:")
            });
            let only_files = conditions.iter().all(is_about_files);
            if !known || !only_files && sets.is_none() {
                self.lines.push(notes.add(rule.line, &rule.to_string(), ""));
            }
            return;
        }
        if front_controller(rule, &conditions, php) {
            return;
        }
        let name = names.next("rule");
        if let Some(lines) = convert_rule(rule, &conditions, &flags, below, &name) {
            self.lines.extend(lines);
            return;
        }
        for condition in &conditions {
            self.lines.push(format!("# {condition}"));
        }
        let why = if forbids(rule) {
            "without its conditions the rule is for more requests"
        } else {
            "write it with a matcher"
        };
        self.lines
            .push(notes.add(rule.line, &rule.to_string(), why));
        if forbids(rule) {
            let path = match_path(rule.argument(0), has("NC"), below, &name);
            self.lines
                .extend(restrict(&path.unwrap_or_default(), names, "error", "403"));
        }
    }
}

/// The status of a redirect.
fn code(flags: &[String]) -> Option<u16> {
    flags.iter().find_map(|flag| match flag.split_once('=') {
        None if flag.eq_ignore_ascii_case("R") => Some(302),
        Some((name, "permanent")) if name.eq_ignore_ascii_case("R") => Some(301),
        Some((name, code)) if name.eq_ignore_ascii_case("R") => code.parse().ok(),
        _ => None,
    })
}

fn is_about_files(condition: &Directive) -> bool {
    let test = condition.argument(1).trim_start_matches('!');
    [
        "%{REQUEST_FILENAME}",
        "%{DOCUMENT_ROOT}%{REQUEST_URI}",
        "%{DOCUMENT_ROOT}/%{REQUEST_URI}",
    ]
    .contains(&condition.argument(0))
        && ["-f", "-d", "-l", "-s", "-e"].contains(&test)
}

/// Rules that need no conversion.
fn is_idiom(rule: &Directive, conditions: &[Directive]) -> bool {
    // `RewriteRule ^index\.php$ - [L]`
    let own = rule
        .argument(0)
        .trim_start_matches('^')
        .trim_end_matches('$');
    let is_script = rule.argument(1) == "-" && ["index\\.php", "index.php"].contains(&own);
    // The path of the folder, for applications below the document root.
    let finds_base = conditions
        .iter()
        .any(|own| own.argument(0).starts_with("%{REQUEST_URI}::$"));
    is_script || finds_base
}

/// Everything that is not a file goes to a script.
fn front_controller(rule: &Directive, conditions: &[Directive], php: &mut Php) -> bool {
    let any = [
        "^",
        "^(.*)$",
        "(.*)",
        ".*",
        "^.*$",
        ".",
        "^(.+)$",
        "^.",
        "(.+)",
        "^/(.*)$",
        "^([\\s\\S]*)$",
    ];
    if !any.contains(&rule.argument(0)) || code(&flags(rule)).is_some() {
        return false;
    }
    let target = rule
        .argument(1)
        .trim_start_matches("%{ENV:BASE}")
        .trim_start_matches('/');
    let (script, rest) = match target.find(".php") {
        Some(at) => target.split_at(at + 4),
        None => return false,
    };
    let keeps_path = ["", "/$1", "/$0"].contains(&rest);
    let only_files = conditions.iter().all(|condition| {
        is_about_files(condition)
            // Hidden names of Drupal, and assets that are never scripts.
            || condition.argument(0) == "%{REQUEST_URI}" && condition.argument(1).starts_with('!')
    });
    if keeps_path && only_files && !script.contains(['$', '%']) {
        php.front = Some(script.to_owned());
        php.runs = true;
        return true;
    }
    false
}

/// The rule as matcher and directive.
fn convert_rule(
    rule: &Directive,
    conditions: &[Directive],
    flags: &[String],
    below: bool,
    name: &str,
) -> Option<Lines> {
    let has = |flag: &str| has_flag(flags, flag);
    if has("C") || has("P") || flags.iter().any(|flag| flag.starts_with("S=")) {
        return None;
    }
    let ConditionLines {
        mut lines,
        captures,
    } = match_conditions(conditions, name)?;
    let (pattern, to) = whole_as_group(rule.argument(0), rule.argument(1))?;
    lines.extend(match_path(&pattern, has("NC"), below, name)?);
    let of = if lines.is_empty() {
        "* ".to_owned()
    } else {
        format!("@{name} ")
    };
    let mut result = match &lines[..] {
        [] => Lines::new(),
        [one] => vec![format!("@{name} {one}")],
        _ => block(&format!("@{name}"), lines),
    };
    result.push(if has("F") || has("G") {
        format!("error {of}{}", if has("F") { 403 } else { 410 })
    } else {
        let to = target(&to, name, captures.as_deref())?;
        convert_target(to, flags, &of)
    });
    Some(result)
}

/// Pattern and target of a rule. If the target has `$0`, all that matches becomes the first group: within a folder the
/// path of the rule has no leading slash, but that of the matcher does.
fn whole_as_group(pattern: &str, to: &str) -> Option<(String, String)> {
    if !to.contains("$0") {
        return Some((pattern.to_owned(), to.to_owned()));
    }
    let (start, rest) = match pattern.strip_prefix('^') {
        Some(rest) => ("^", rest),
        None => ("^.*?", pattern),
    };
    let mut depth = 0;
    for char in rest.chars() {
        match char {
            '(' => depth += 1,
            ')' => depth -= 1,
            // The start belongs to the first alternative alone.
            '|' if depth == 0 => return None,
            _ => {}
        }
    }
    let shifted = (0..9).rev().fold(to.to_owned(), |to, digit| {
        to.replace(&format!("${digit}"), &format!("${}", digit + 1))
    });
    Some((format!("{start}({rest})"), shifted))
}

/// The conditions of a rule as lines of a matcher.
struct ConditionLines {
    lines: Lines,
    /// The regular expression whose groups `%1` to `%9` are.
    captures: Option<String>,
}

fn match_conditions(conditions: &[Directive], name: &str) -> Option<ConditionLines> {
    if conditions.iter().any(|own| own.argument(2).contains("OR")) && !all_of_one_kind(conditions) {
        return None;
    }
    let mut lines = Lines::new();
    let mut captures = None;
    let mut alternatives = Vec::new();
    for condition in conditions {
        // A rule has not been applied before: each request runs once through the rules.
        if condition.argument(0) == "%{ENV:REDIRECT_STATUS}"
            && ["^$", "=\"\"", "="].contains(&condition.argument(1))
        {
            continue;
        }
        if condition.argument(2).contains("OR") || !alternatives.is_empty() {
            alternatives.push(condition);
            continue;
        }
        let line = condition_line(condition, name)?;
        if line.contains("_regexp ") && !line.starts_with("not ") {
            captures = Some(format!("{name}c"));
        }
        lines.push(line);
    }
    if let Some(first) = alternatives.first() {
        let parts: Option<Vec<_>> = alternatives.iter().map(|own| any_of(own)).collect();
        lines.push(format!(
            "vars_regexp {name}c {} {}",
            variable(first.argument(0))?,
            word(&parts?.join("|"))
        ));
        captures = Some(format!("{name}c"));
    }
    Some(ConditionLines { lines, captures })
}

/// The pattern of a rule as a line of a matcher, none if it matches every path.
fn match_path(pattern: &str, ignore_case: bool, below: bool, name: &str) -> Option<Lines> {
    let (not, pattern) = match pattern.strip_prefix('!') {
        Some(pattern) => ("not ", pattern),
        None => ("", pattern),
    };
    if ["^", ".*", "^.*$", "."].contains(&pattern) {
        return Some(Lines::new());
    }
    let pattern = if below {
        with_slash(pattern)
    } else {
        pattern.to_owned()
    };
    let ignore_case = if ignore_case { "(?i)" } else { "" };
    let regex = rust_regex(&format!("{ignore_case}{pattern}"))?;
    Some(vec![format!("{not}path_regexp {name} {}", word(&regex))])
}

/// A redirect or a rewrite to this target. `of` is the matcher, with a space behind it.
fn convert_target(mut to: String, flags: &[String], of: &str) -> String {
    let is_url =
        to.starts_with("http://") || to.starts_with("https://") || to.starts_with("{scheme}");
    if !is_url && !to.starts_with('/') && !to.starts_with('{') {
        to = format!("/{to}");
    }
    let drops_query = has_flag(flags, "QSD") || to.ends_with('?');
    if drops_query {
        to = to.trim_end_matches('?').to_owned();
    }
    let code = code(flags).or(is_url.then_some(302));
    let has_query = to.contains('?') || code.is_some() && to.ends_with("{uri}");
    if code.is_some() && !drops_query && !has_query {
        to.push_str("{?query}");
    } else if has_flag(flags, "QSA") && to.contains('?') {
        to.push_str("&{query}");
    }
    match code {
        None => format!("rewrite {of}{}", word(&to)),
        Some(code) if (300..400).contains(&code) => format!("redir {of}{} {code}", word(&to)),
        Some(code) => format!("error {of}{code}"),
    }
}

/// `^old` as `^/old`: the path of a request has a slash.
fn with_slash(pattern: &str) -> String {
    match pattern.strip_prefix('^') {
        Some(rest) if rest.starts_with("(?:/") => pattern.to_owned(),
        Some(rest) => format!("^/{}", rest.trim_start_matches('/')),
        None => pattern.to_owned(),
    }
}

fn all_of_one_kind(conditions: &[Directive]) -> bool {
    let mut rest = conditions
        .iter()
        .skip_while(|own| !own.argument(2).contains("OR"));
    let first = rest.next().map(|own| own.argument(0));
    rest.all(|own| Some(own.argument(0)) == first)
}

fn any_of(condition: &Directive) -> Option<String> {
    let pattern = condition.argument(1);
    if pattern.starts_with(['!', '-', '=', '<', '>']) {
        return None;
    }
    let ignore = if condition.argument(2).contains("NC") {
        "(?i)"
    } else {
        ""
    };
    rust_regex(&format!("(?:{ignore}{pattern})"))
}

/// The placeholder of a server variable.
fn variable(text: &str) -> Option<String> {
    let name = text.strip_prefix("%{")?.strip_suffix('}')?;
    if let Some(field) = name.strip_prefix("HTTP:") {
        return Some(format!("{{header.{field}}}"));
    }
    let placeholder = match name {
        "HTTP_HOST" | "SERVER_NAME" => "{host}",
        "HTTP_USER_AGENT" => "{header.User-Agent}",
        "HTTP_REFERER" => "{header.Referer}",
        "HTTP_COOKIE" => "{header.Cookie}",
        "QUERY_STRING" => "{query}",
        "REMOTE_ADDR" => "{remote_host}",
        "REQUEST_METHOD" => "{method}",
        "REQUEST_SCHEME" | "HTTPS" => "{scheme}",
        "REQUEST_URI" => "{path}",
        "SERVER_PORT" => "{port}",
        "THE_REQUEST" => "{orig_uri}",
        _ => return None,
    };
    Some(placeholder.to_owned())
}

fn condition_line(condition: &Directive, name: &str) -> Option<String> {
    let (subject, pattern) = (condition.argument(0), condition.argument(1));
    let (mut not, pattern) = match pattern.strip_prefix('!') {
        Some(pattern) => ("not ", pattern),
        None => ("", pattern),
    };
    if is_about_files(condition) {
        let file = match pattern {
            "-d" => "{path}/",
            "-e" => "{path} {path}/",
            _ => "{path}",
        };
        return Some(format!("{not}file {file}"));
    }
    if subject == "%{HTTPS}" {
        let plain = pattern
            .trim_start_matches(['=', '^'])
            .trim_end_matches('$')
            .to_ascii_lowercase();
        if plain == "off" {
            not = if not.is_empty() { "not " } else { "" };
        } else if plain != "on" {
            return None;
        }
        return Some(format!("{not}protocol https"));
    }
    if subject == "%{THE_REQUEST}" {
        return None;
    }
    let subject = variable(subject)?;
    if let Some(text) = pattern.strip_prefix('=') {
        return Some(format!("{not}vars {subject} {}", word(text)));
    }
    if pattern.starts_with('-') || pattern.starts_with(['<', '>']) {
        return None;
    }
    let ignore = if condition.argument(2).contains("NC") {
        "(?i)"
    } else {
        ""
    };
    let regex = word(&rust_regex(&format!("{ignore}{pattern}"))?);
    Some(if subject == "{path}" {
        format!("{not}path_regexp {name}c {regex}")
    } else {
        format!("{not}vars_regexp {name}c {subject} {regex}")
    })
}

/// The target of a rule with placeholders.
fn target(text: &str, name: &str, captures: Option<&str>) -> Option<String> {
    let mut text = text.replace("%{ENV:BASE}", "");
    for digit in 0..=9 {
        text = text.replace(&format!("${digit}"), &format!("{{re.{name}.{digit}}}"));
        let of_condition = format!("%{digit}");
        if text.contains(&of_condition) {
            text = text.replace(&of_condition, &format!("{{re.{}.{digit}}}", captures?));
        }
    }
    text = text
        .replace("%{REQUEST_URI}", "{path}")
        .replace("%{HTTP_HOST}", "{host}")
        .replace("%{SERVER_NAME}", "{host}");
    text = text
        .replace("%{QUERY_STRING}", "{query}")
        .replace("%{REQUEST_SCHEME}", "{scheme}");
    (!text.contains("%{") && !text.contains("${")).then_some(text)
}
