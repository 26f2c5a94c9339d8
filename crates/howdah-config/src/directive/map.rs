//! `map`, and the placeholders that it defines.
//!
//! `{NAME}` of a `map` is a variable. Before anything is read, all its uses are renamed to the form
//! of variables: `{vars.NAME}`.

use std::collections::BTreeSet;

use super::scope::Scope;
use crate::error::{Error, ErrorKind};
use crate::matcher::check_regexp;
use crate::model::Handler;
use crate::model::{Map, MapInput, MapOutput, MapPart, MapRow};
use crate::syntax::tree::{Statement, Tree, Word};
use crate::table::template::{is_placeholder, literal, template};
use crate::table::{Call, Context, bad_value};

/// Renames the placeholders of all `map` directives.
pub(crate) fn define(tree: &mut Tree) {
    let mut names = BTreeSet::new();
    for block in blocks(tree) {
        collect(block, &mut names);
    }
    if names.is_empty() {
        return;
    }
    let renamed: Vec<(String, String)> = names
        .into_iter()
        .map(|name| (format!("{{{name}}}"), format!("{{vars.{name}}}")))
        .collect();
    for block in blocks(tree) {
        rename(block, &renamed);
    }
}

fn blocks(tree: &mut Tree) -> impl Iterator<Item = &mut Vec<Statement>> {
    let sites = tree.sites.iter_mut().map(|site| &mut site.statements);
    sites.chain(tree.named.iter_mut().map(|(_, block)| block))
}

/// The names in `map SOURCE {NAME}… {`. Names of other placeholders are left for [`read`] to refuse.
fn collect(block: &[Statement], names: &mut BTreeSet<String>) {
    for statement in block {
        let Some(inner) = &statement.block else {
            continue;
        };
        if statement.name.text == "map" {
            let outputs = statement.arguments.iter().skip(1);
            names.extend(outputs.filter_map(|word| output_name(&word.text)));
        }
        collect(inner, names);
    }
}

fn output_name(text: &str) -> Option<String> {
    let name = text.strip_prefix('{')?.strip_suffix('}')?;
    let valid = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
    let is_name = name.starts_with(|char: char| char.is_ascii_alphabetic() || char == '_')
        && name.bytes().all(valid);
    (is_name && !is_placeholder(name)).then(|| name.to_owned())
}

fn rename(block: &mut [Statement], renamed: &[(String, String)]) {
    for statement in block {
        for word in &mut statement.arguments {
            for (old, new) in renamed {
                if word.text.contains(old) {
                    word.text = word.text.replace(old, new);
                }
            }
        }
        if let Some(inner) = &mut statement.block {
            rename(inner, renamed);
        }
    }
}

pub(crate) fn read(_: &mut Context, call: &Call<'_>, scope: &mut Scope) -> Result<(), Error> {
    let (key, rest) = scope.matcher(call.arguments)?;
    let [source, variables @ ..] = rest else {
        return Err(wrong(call, "`map` has no source".into()));
    };
    if variables.is_empty() {
        return Err(wrong(call, "`map` sets no placeholder".into()));
    }
    let variables = variables
        .iter()
        .map(variable)
        .collect::<Result<Vec<_>, _>>()?;
    let mut map = Map {
        source: template(source)?,
        variables,
        rows: Vec::new(),
        defaults: Vec::new(),
    };
    for statement in call.block()? {
        row(statement, &mut map)?;
    }
    scope.push(key, Handler::Map(Box::new(map)));
    Ok(())
}

fn wrong(call: &Call<'_>, message: String) -> Error {
    let hint = format!("write `{}`", call.entry.syntax);
    call.error(ErrorKind::Arguments, message, hint)
}

fn variable(word: &Word) -> Result<String, Error> {
    let own = word.text.strip_prefix("{vars.");
    own.and_then(|rest| rest.strip_suffix('}'))
        .map(str::to_owned)
        .ok_or_else(|| {
            let inner = word.text.trim_start_matches('{').trim_end_matches('}');
            let message = if is_placeholder(inner) {
                format!("`{}` is already in use", word.text)
            } else {
                format!("`{}` is not a placeholder that `map` can set", word.text)
            };
            bad_value(
                &word.position,
                message,
                "write a name of your own in braces: `{tenant}`",
            )
        })
}

fn row(statement: &Statement, map: &mut Map) -> Result<(), Error> {
    let (name, outputs) = (&statement.name, &statement.arguments);
    let error = |kind, message: String, hint: &str| Error::new(kind, &name.position, message, hint);
    if outputs.len() != map.variables.len() || statement.block.is_some() {
        let message = format!(
            "`{}` has {} outputs and no block, and `map` sets {}",
            name.text,
            outputs.len(),
            map.variables.len()
        );
        let hint = "give one for each, `-` for none, in quotes if it has spaces";
        return Err(error(ErrorKind::Arguments, message, hint));
    }
    if name.text == "default" && !name.quoted {
        if !map.defaults.is_empty() {
            return Err(error(
                ErrorKind::Conflict,
                "`default` is given twice".into(),
                "remove one of them",
            ));
        }
        map.defaults = outputs.iter().map(plain).collect::<Result<_, _>>()?;
        return Ok(());
    }
    let input = match name.text.strip_prefix('~') {
        Some(pattern) => {
            check_regexp(name, pattern)?;
            MapInput::Regexp(pattern.to_owned())
        }
        None => MapInput::Text(literal(name, "an input of `map`")?),
    };
    if map.rows.iter().any(|other| other.input == input) {
        return Err(error(
            ErrorKind::Conflict,
            format!("the input `{}` is given twice", name.text),
            "remove one of them",
        ));
    }
    let is_regexp = matches!(input, MapInput::Regexp(_));
    let output = |word: &Word| match word.text.as_str() {
        "-" => Ok(None),
        _ if is_regexp => with_groups(word).map(Some),
        _ => plain(word).map(Some),
    };
    let outputs = outputs.iter().map(output).collect::<Result<_, _>>()?;
    map.rows.push(MapRow { input, outputs });
    Ok(())
}

fn plain(word: &Word) -> Result<MapOutput, Error> {
    let parts = vec![MapPart::Text(template(word)?)];
    Ok(MapOutput { parts })
}

/// `$1`, `$name`, `${1}` and `${name}` are groups, `$$` is a dollar sign.
fn with_groups(word: &Word) -> Result<MapOutput, Error> {
    let mut output = MapOutput::default();
    let mut text = String::new();
    let mut rest = word.text.as_str();
    while let Some((before, after)) = rest.split_once('$') {
        text.push_str(before);
        let end = after
            .find(|char: char| !char.is_ascii_alphanumeric() && char != '_')
            .unwrap_or(after.len());
        let braced = after
            .strip_prefix('{')
            .and_then(|rest| rest.split_once('}'));
        let (group, left) = match braced {
            Some((group, left)) => (group, left),
            None if end > 0 => after.split_at(end),
            None => {
                text.push('$');
                rest = after.strip_prefix('$').unwrap_or(after);
                continue;
            }
        };
        push_text(word, &mut text, &mut output)?;
        output.parts.push(MapPart::Group(group.to_owned()));
        rest = left;
    }
    text.push_str(rest);
    push_text(word, &mut text, &mut output)?;
    Ok(output)
}

fn push_text(word: &Word, text: &mut String, output: &mut MapOutput) -> Result<(), Error> {
    if text.is_empty() {
        return Ok(());
    }
    let part = template(&Word {
        text: std::mem::take(text),
        ..word.clone()
    })?;
    output.parts.push(MapPart::Text(part));
    Ok(())
}
