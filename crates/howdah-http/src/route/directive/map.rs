//! `map`: variables that depend on the value of a text.

use std::rc::Rc;

use howdah_config::model::{self, MapInput, MapPart};
use regex::{Captures, Regex};

use crate::message::route_error::RouteError;
use crate::route::context::Context;
use crate::route::handler::Handler;
use crate::route::outcome::Outcome;
use crate::route::purpose::Purpose;
use crate::route::text::Text;
use crate::route::variables::{self, Var};

/// A compiled [`model::Map`].
#[derive(Debug)]
pub(super) struct Map {
    source: Text,
    variables: Box<[Rc<str>]>,
    rows: Box<[Row]>,
    defaults: Box<[Output]>,
}

#[derive(Debug)]
struct Row {
    input: Input,
    outputs: Box<[Option<Output>]>,
}

#[derive(Debug)]
enum Input {
    Text(String),
    Regexp(Regex),
}

#[derive(Debug)]
struct Output(Box<[Part]>);

#[derive(Debug)]
enum Part {
    Text(Text),
    Group(String),
}

impl Map {
    pub(super) fn compile(map: &model::Map) -> Result<Self, RouteError> {
        let row = |row: &model::MapRow| {
            Ok(Row {
                input: match &row.input {
                    MapInput::Text(text) => Input::Text(text.clone()),
                    MapInput::Regexp(pattern) => Input::Regexp(variables::compile(pattern)?),
                },
                outputs: row
                    .outputs
                    .iter()
                    .map(|output| output.as_ref().map(Output::compile))
                    .collect(),
            })
        };
        Ok(Self {
            source: Text::new(&map.source),
            variables: map
                .variables
                .iter()
                .map(|name| name.as_str().into())
                .collect(),
            rows: map
                .rows
                .iter()
                .map(row)
                .collect::<Result<_, RouteError>>()?,
            defaults: map.defaults.iter().map(Output::compile).collect(),
        })
    }
}

impl Handler for Map {
    fn run(&self, context: &mut Context<'_>) -> Outcome {
        let source = self.source.evaluate(context, Purpose::File).into_owned();
        for (index, name) in self.variables.iter().enumerate() {
            let mut rows = self.rows.iter();
            let found = rows.find_map(|row| row.output(index, &source, context));
            let default = || {
                self.defaults
                    .get(index)
                    .map(|output| output.evaluate(context, None))
            };
            let value = found.or_else(default).unwrap_or_default();
            context.notes.set_var(name, value);
        }
        Outcome::Next
    }
}

impl Row {
    /// The value of a variable, if the row matches and defines it.
    fn output(&self, index: usize, source: &str, context: &Context<'_>) -> Option<Var> {
        let output = self.outputs.get(index)?.as_ref()?;
        match &self.input {
            Input::Text(text) => (text == source).then(|| output.evaluate(context, None)),
            Input::Regexp(regex) => {
                let captures = regex.captures(source)?;
                Some(output.evaluate(context, Some(&captures)))
            }
        }
    }
}

impl Output {
    fn compile(output: &model::MapOutput) -> Self {
        let part = |part: &MapPart| match part {
            MapPart::Text(text) => Part::Text(Text::new(text)),
            MapPart::Group(name) => Part::Group(name.clone()),
        };
        Self(output.parts.iter().map(part).collect())
    }

    fn evaluate(&self, context: &Context<'_>, captures: Option<&Captures<'_>>) -> Var {
        Var::new(|purpose| {
            let mut value = String::new();
            for part in &self.0 {
                match part {
                    Part::Text(text) => value.push_str(&text.evaluate(context, purpose)),
                    Part::Group(name) => value.push_str(group(captures, name)),
                }
            }
            value
        })
    }
}

/// What a group matched, if anything.
fn group<'t>(captures: Option<&Captures<'t>>, name: &str) -> &'t str {
    let group = captures.and_then(|captures| match name.parse::<usize>() {
        Ok(index) => captures.get(index),
        Err(_) => captures.name(name),
    });
    group.map_or("", |group| group.as_str())
}
