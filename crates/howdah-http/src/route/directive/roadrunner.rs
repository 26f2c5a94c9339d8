//! `roadrunner`: a worker that was written for RoadRunner handles the request.

use std::rc::Rc;

use howdah_config::model;

use crate::answer::php::{RoadRunnerJob, ScriptJob};
use crate::message::path;
use crate::message::request::Script;
use crate::route::context::Context;
use crate::route::handler::Handler;
use crate::route::outcome::Outcome;
use crate::route::pools::ScriptPools;
use crate::route::purpose::Purpose;
use crate::route::text::Text;

/// A compiled [`model::RoadRunner`].
#[derive(Debug)]
pub(crate) struct RoadRunner {
    pool: usize,
    /// The number by which its requests are counted.
    number: usize,
    attributes: Box<[(String, Text)]>,
}

impl RoadRunner {
    pub(crate) fn compile(own: &model::RoadRunner, pools: &ScriptPools) -> Self {
        let attributes = own.attributes.iter();
        Self {
            pool: own.pool,
            number: pools.roadrunner(own.pool),
            attributes: attributes
                .map(|(name, text)| (name.clone(), Text::new(text)))
                .collect(),
        }
    }
}

impl Handler for RoadRunner {
    fn run(&self, context: &mut Context<'_>) -> Outcome {
        let attributes = self.attributes.iter();
        let attributes = attributes.map(|(name, text)| {
            let value = path::readable(&text.evaluate(context, Purpose::File)).into_owned();
            (name.clone(), value)
        });
        Outcome::Script(Box::new(ScriptJob {
            pool: self.number,
            script: Script {
                root: Rc::clone(context.root.path()),
                name: String::new(),
                path_info: String::new(),
                file: None,
            },
            env: Vec::new(),
            fastcgi: None,
            roadrunner: Some(Box::new(RoadRunnerJob {
                pool: self.pool,
                path: context.escaped_path().into(),
                attributes: attributes.collect(),
            })),
            hub: None,
            learns_hints: false,
        }))
    }
}
