//! `try_files`: rewrites the request to the first candidate that exists.

use std::rc::Rc;

use howdah_config::model::{self, TryPolicy};
use http::StatusCode;

use crate::message::reply;
use crate::message::route_error::RouteError;
use crate::route::candidate::Candidate;
use crate::route::context::Context;
use crate::route::handler::Handler;
use crate::route::outcome::Outcome;
use crate::route::policy::choose;
use crate::route::status;

#[derive(Debug)]
pub(super) struct TryFiles {
    candidates: Box<[Candidate]>,
    fallback: Option<StatusCode>,
    policy: TryPolicy,
}

impl TryFiles {
    pub(super) fn compile(
        try_files: &model::TryFiles,
        policy: TryPolicy,
    ) -> Result<Self, RouteError> {
        let fallback = try_files.fallback_status.map(status::valid).transpose()?;
        Ok(Self {
            candidates: try_files.candidates.iter().map(Candidate::new).collect(),
            // The last candidate is a fallback that may be missing; those before it must exist.
            policy: match (policy, fallback) {
                (TryPolicy::FirstExistFallback, Some(_)) => TryPolicy::FirstExist,
                _ => policy,
            },
            fallback,
        })
    }
}

impl Handler for TryFiles {
    fn run(&self, context: &mut Context<'_>) -> Outcome {
        let root = Rc::clone(&context.root);
        let Some(found) = choose(self.policy, &self.candidates, context, &root, &[]) else {
            return match self.fallback {
                Some(status) => Outcome::answer(reply::plain(status)),
                None => Outcome::Next,
            };
        };
        let query = found
            .query
            .map(|query| query.evaluate_query(context).into_owned());
        let path = found.path.into_owned();
        context.set_path(path);
        if query.is_some() {
            context.query = query;
        }
        Outcome::Next
    }
}
