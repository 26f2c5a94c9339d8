//! `env PHP_VALUE` and `env PHP_ADMIN_VALUE`: PHP settings for the requests of one application, as lines of php.ini.
//! PHP reads them; this module finds errors that would otherwise only show in a request.

use crate::error::{Error, Position};
use crate::model::{PHP_SETTINGS, Part, Template};
use crate::pool::ini::is_name;
use crate::syntax::tree::Word;
use crate::table::template::template;
use crate::table::{Context, bad_value};

/// The PHP that runs the requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Runtime {
    #[default]
    Here,
    /// PHP-FPM, which gets the text unchanged.
    Upstream,
}

pub(crate) fn is_settings(name: &str) -> bool {
    PHP_SETTINGS.contains(&name)
}

/// The error of such a variable in a process's environment.
pub(crate) fn refuse_in_environment(name: &Word) -> Result<(), Error> {
    if !is_settings(&name.text) {
        return Ok(());
    }
    Err(bad_value(
        &name.position,
        format!("`env {}` of a worker sets nothing in PHP", name.text),
        "write `php_ini` or `php_admin_ini`, or put it in the `php_server`, for its requests",
    ))
}

/// A warning for names that look like such a variable.
pub(crate) fn warn(cx: &mut Context, name: &Word) {
    if let "PHP_FLAG" | "PHP_ADMIN_FLAG" = name.text.as_str() {
        let value = name.text.replace("FLAG", "VALUE");
        let message = format!(
            "`{}` sets nothing in PHP, as with PHP-FPM: write `env {value} \"NAME=on\"`",
            name.text
        );
        cx.warn(&name.position, message);
    }
}

/// The value of such a variable. Values of placeholders are within single quotes, so that a client cannot add settings.
pub(crate) fn read(
    name: &Word,
    value: &Word,
    runs: Runtime,
    others: &[(String, Template)],
) -> Result<Template, Error> {
    if others.iter().any(|(other, _)| *other == name.text) {
        return Err(bad_value(
            &name.position,
            format!(
                "`{}` is given twice, and PHP would use only the last one",
                name.text
            ),
            "write all settings in one value, each on a line of its own",
        ));
    }
    let mut out = Lines::default();
    let mut in_quotes = false;
    for line in lines(template(value)?) {
        match line.as_slice() {
            [] => out.end(),
            [Part::Text(text)] => {
                if runs == Runtime::Here && !in_quotes {
                    check(text, &value.position)?;
                }
                in_quotes ^= text.matches('"').count() % 2 == 1;
                out.text(text);
                out.end();
            }
            _ if in_quotes => {
                return Err(mistake(
                    &value.position,
                    "a placeholder in a value of several lines",
                ));
            }
            parts => {
                for part in quoted(parts, runs, &value.position)? {
                    out.part(part);
                }
                out.end();
            }
        }
    }
    Ok(out.finish())
}

fn lines(template: Template) -> Vec<Vec<Part>> {
    let mut lines = vec![Vec::new()];
    let mut add = |part, begins: bool| {
        if begins {
            lines.push(Vec::new());
        }
        if let Some(line) = lines.last_mut() {
            line.push(part);
        }
    };
    for part in template.parts {
        match part {
            Part::Placeholder(_) => add(part, false),
            Part::Text(text) => {
                for (index, piece) in text.split('\n').enumerate() {
                    add(Part::Text(piece.to_owned()), index > 0);
                }
            }
        }
    }
    let is_empty = |part: &Part| matches!(part, Part::Text(text) if text.is_empty());
    for line in &mut lines {
        line.retain(|part| !is_empty(part));
    }
    lines
}

/// Checks a line without placeholders.
fn check(line: &str, position: &Position) -> Result<(), Error> {
    let line = line.trim();
    if line.is_empty() || line.starts_with(';') {
        return Ok(());
    }
    let (name, value) = line
        .split_once('=')
        .ok_or_else(|| mistake(position, &format!("`{line}`")))?;
    check_name(name.trim(), position)?;
    // nginx splits it into lines, a Caddyfile does not.
    let next = value
        .split_once("\\n")
        .and_then(|(_, next)| next.split_once('='));
    if next.is_some_and(|(name, _)| is_name(name.trim())) {
        return Err(bad_value(
            position,
            "`\\n` does not start a new line in a Caddyfile".into(),
            "write each setting on a line of its own, within the quotes",
        ));
    }
    Ok(())
}

fn check_name(name: &str, position: &Position) -> Result<(), Error> {
    if !is_name(name) {
        return Err(mistake(position, &format!("`{name}`")));
    }
    if let "disable_classes" | "disable_functions" | "extension" | "zend_extension" = name {
        return Err(bad_value(
            position,
            format!("`{name}` cannot be set for single requests: PHP does not restore it"),
            "write it with `php_admin_ini` in a `pool` of the global block, and `pool NAME` in this one",
        ));
    }
    Ok(())
}

/// A line `NAME=VALUE` whose value has a placeholder, with the value in single quotes.
fn quoted(parts: &[Part], runs: Runtime, position: &Position) -> Result<Vec<Part>, Error> {
    let outside = || mistake(position, "a placeholder that is not in a value");
    let Some((Part::Text(first), rest)) = parts.split_first() else {
        return Err(outside());
    };
    let (name, value) = first.split_once('=').ok_or_else(outside)?;
    if runs == Runtime::Here {
        check_name(name.trim(), position)?;
    }
    let value = value.trim_start();
    let quote = value
        .chars()
        .next()
        .filter(|char| matches!(char, '"' | '\''));
    let value = quote.map_or(value, |_| &value[1..]);
    let mut out = vec![Part::Text(format!("{}='{value}", name.trim()))];
    out.extend(rest.iter().cloned());
    let mut end = match out.last_mut() {
        Some(Part::Text(text)) if !rest.is_empty() => std::mem::take(text),
        _ => String::new(),
    };
    end.truncate(end.trim_end().len());
    if quote.is_some() && end.pop() != quote {
        return Err(mistake(position, "a quote that does not end"));
    }
    let own = |part: &Part| matches!(part, Part::Text(text) if text.contains(['\'', '"']));
    if value.contains(['\'', '"']) || end.contains(['\'', '"']) || out[1..].iter().any(own) {
        return Err(mistake(position, "a quote beside a placeholder"));
    }
    end.push('\'');
    out.push(Part::Text(end));
    Ok(out)
}

fn mistake(position: &Position, what: &str) -> Error {
    bad_value(
        position,
        format!("{what} is not a setting of PHP"),
        "write `NAME=VALUE` as in php.ini, each on a line of its own; a placeholder may be in a value",
    )
}

/// Joins lines again.
#[derive(Default)]
struct Lines {
    parts: Vec<Part>,
    text: String,
}

impl Lines {
    fn text(&mut self, text: &str) {
        self.text.push_str(text);
    }

    fn part(&mut self, part: Part) {
        match part {
            Part::Text(text) => self.text(&text),
            Part::Placeholder(_) => {
                if !self.text.is_empty() {
                    self.parts.push(Part::Text(std::mem::take(&mut self.text)));
                }
                self.parts.push(part);
            }
        }
    }

    fn end(&mut self) {
        self.text.push('\n');
    }

    fn finish(mut self) -> Template {
        self.text.pop();
        if !self.text.is_empty() {
            self.parts.push(Part::Text(self.text));
        }
        Template { parts: self.parts }
    }
}
