//! `uri query`: changes of individual parameters.

use crate::error::{Error, ErrorKind};
use crate::matcher::check_regexp;
use crate::matcher::header_value;
use crate::model::QueryChange;
use crate::syntax::tree::{Statement, Word};
use crate::table::template::template;
use crate::table::{Call, Context, bad_value};

/// `uri query CHANGE` and `uri query { CHANGE … }`, in Caddy's order.
pub(super) fn changes(
    cx: &mut Context,
    call: &Call<'_>,
    arguments: &[Word],
) -> Result<Vec<QueryChange>, Error> {
    let mut changes = Vec::new();
    match (arguments.split_first(), call.block) {
        (Some((name, values)), None) => changes.push(change(name, values)?),
        (None, Some(block)) => {
            for statement in block {
                match of_statement(statement) {
                    Ok(change) => changes.push(change),
                    Err(error) => cx.errors.push(error),
                }
            }
        }
        _ => {
            return Err(call.error(
                ErrorKind::Arguments,
                "`uri query` takes one change, or a block with one on each line".into(),
                SYNTAX,
            ));
        }
    }
    changes.sort_by_key(|change| match change {
        QueryChange::Rename { .. } => 0,
        QueryChange::Set { .. } => 1,
        QueryChange::Add { .. } => 2,
        QueryChange::Replace { .. } => 3,
        QueryChange::Delete(_) => 4,
    });
    Ok(changes)
}

const SYNTAX: &str =
    "write `NAME VALUE`, `+NAME VALUE`, `-NAME`, `OLD>NEW` or `NAME REGEXP REPLACEMENT`";

fn of_statement(statement: &Statement) -> Result<QueryChange, Error> {
    if statement.block.is_some() {
        return Err(wrong(&statement.name));
    }
    change(&statement.name, &statement.arguments)
}

fn change(name: &Word, values: &[Word]) -> Result<QueryChange, Error> {
    let part = |text: &str| {
        if text.is_empty() {
            return Err(wrong(name));
        }
        template(&Word {
            text: text.to_owned(),
            ..name.clone()
        })
    };
    let text = name.text.as_str();
    Ok(match values {
        [] => match (text.strip_prefix('-'), text.split_once('>')) {
            (Some(name), _) => QueryChange::Delete(part(name)?),
            (None, Some((old, new))) => QueryChange::Rename {
                old: part(old)?,
                new: part(new)?,
            },
            (None, None) => return Err(wrong(name)),
        },
        _ if text.starts_with('-') || text.contains('>') => return Err(wrong(name)),
        [value] => match text.strip_prefix('+') {
            Some(name) => QueryChange::Add {
                name: part(name)?,
                value: template(value)?,
            },
            None => QueryChange::Set {
                name: part(text)?,
                value: template(value)?,
            },
        },
        [find, replace] if !text.starts_with('+') => {
            check_regexp(find, &find.text)?;
            QueryChange::Replace {
                name: (text != "*").then(|| part(text)).transpose()?,
                find: find.text.clone(),
                replace: header_value(replace)?,
            }
        }
        _ => return Err(wrong(name)),
    })
}

fn wrong(name: &Word) -> Error {
    bad_value(
        &name.position,
        format!("`{}` is not a valid change of the query", name.text),
        SYNTAX,
    )
}
