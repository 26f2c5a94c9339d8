//! Statements of a name and a value.

use super::{Call, Context, bad_value};
use crate::error::{Error, ErrorKind};
use crate::syntax::tree::{Statement, Word};

/// `NAME VALUE`, or a block of such lines: the pairs in the order of the file.
pub(crate) fn pairs<'a>(
    cx: &mut Context,
    call: &Call<'a>,
) -> Result<Vec<(&'a Word, &'a Word)>, Error> {
    match (call.arguments, call.block) {
        ([name, value], None) => Ok(vec![(name, value)]),
        ([], Some(block)) => {
            let mut pairs = Vec::new();
            for statement in block {
                match pair(statement) {
                    Ok(pair) => pairs.push(pair),
                    Err(error) => cx.errors.push(error),
                }
            }
            Ok(pairs)
        }
        (_, Some(_)) => call.count(0, 0).map(|_| Vec::new()),
        _ => call.count(2, 2).map(|_| Vec::new()),
    }
}

fn pair(statement: &Statement) -> Result<(&Word, &Word), Error> {
    match (statement.arguments.as_slice(), &statement.block) {
        ([value], None) => Ok((&statement.name, value)),
        _ => Err(Error::new(
            ErrorKind::Arguments,
            &statement.name.position,
            format!("`{}` needs one value", statement.name.text),
            "write `NAME VALUE`, with quotes around a value with spaces",
        )),
    }
}

/// The error of a name that is not valid for an environment variable.
pub(crate) fn check_variable(name: &Word) -> Result<(), Error> {
    if name.text.is_empty() || name.text.contains(['=', '\0', '{', '}']) {
        return Err(bad_value(
            &name.position,
            format!("`{}` is not the name of a variable", name.text),
            "write for example `env APP_ENV production`",
        ));
    }
    Ok(())
}
