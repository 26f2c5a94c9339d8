//! `uri query`: changes of individual parameters.

use howdah_config::model;
use regex::Regex;

use crate::message::route_error::RouteError;
use crate::route::context::Context;
use crate::route::outcome::Refusal;
use crate::route::parameters::Parameters;
use crate::route::purpose::Purpose;
use crate::route::text::Text;
use crate::route::variables;

/// A compiled [`model::QueryChange`].
#[derive(Debug)]
pub(super) enum QueryChange {
    Rename {
        old: Text,
        new: Text,
    },
    Set {
        name: Text,
        value: Text,
    },
    Add {
        name: Text,
        value: Text,
    },
    Replace {
        /// `None`: all parameters.
        name: Option<Text>,
        find: Regex,
        replace: Text,
    },
    Delete(Text),
}

impl QueryChange {
    pub(super) fn compile(change: &model::QueryChange) -> Result<Self, RouteError> {
        use model::QueryChange as Model;
        Ok(match change {
            Model::Rename { old, new } => Self::Rename {
                old: Text::new(old),
                new: Text::new(new),
            },
            Model::Set { name, value } => Self::Set {
                name: Text::new(name),
                value: Text::new(value),
            },
            Model::Add { name, value } => Self::Add {
                name: Text::new(name),
                value: Text::new(value),
            },
            Model::Replace {
                name,
                find,
                replace,
            } => Self::Replace {
                name: name.as_ref().map(Text::new),
                find: variables::compile(find)?,
                replace: Text::new(replace),
            },
            Model::Delete(name) => Self::Delete(Text::new(name)),
        })
    }

    fn apply(&self, parameters: &mut Parameters<'_>, context: &Context<'_>) -> Result<(), Refusal> {
        let text = |text: &Text| text.evaluate(context, Purpose::File).into_owned();
        match self {
            Self::Rename { old, new } => parameters.rename(&text(old), &text(new)),
            Self::Set { name, value } => parameters.set(&text(name), &text(value)),
            Self::Add { name, value } => parameters.add(&text(name), &text(value)),
            Self::Replace {
                name,
                find,
                replace,
            } => {
                let name = name.as_ref().map(text);
                parameters.replace(name.as_deref(), find, &text(replace))?;
            }
            Self::Delete(name) => parameters.delete(&text(name)),
        }
        Ok(())
    }
}

/// Makes the changes one after another.
pub(super) fn run(changes: &[QueryChange], context: &mut Context<'_>) -> Result<(), Refusal> {
    let sent = context.query();
    let mut parameters = Parameters::sent(sent);
    for change in changes {
        change.apply(&mut parameters, context)?;
    }
    let query = parameters.text();
    if query != sent {
        context.query = Some(query);
    }
    Ok(())
}
