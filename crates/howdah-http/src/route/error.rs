//! `handle_errors`: responses to errors of the server.

use std::borrow::Cow;

use howdah_config::model::StatusRange;
use http::StatusCode;

use super::context::Context;
use super::handler::Handler;
use super::outcome::Outcome;

/// An error that `handle_errors` may replace.
#[derive(Debug)]
pub(crate) struct Problem {
    pub(crate) status: StatusCode,
    pub(crate) message: Cow<'static, str>,
}

/// A compiled [`ErrorRoutes`](howdah_config::model::ErrorRoutes).
#[derive(Debug)]
pub(crate) struct ErrorRoutes {
    statuses: Box<[StatusRange]>,
    routes: Box<dyn Handler>,
}

impl ErrorRoutes {
    pub(super) fn new(statuses: &[StatusRange], routes: Box<dyn Handler>) -> Self {
        Self {
            statuses: statuses.into(),
            routes,
        }
    }

    /// The first ones for this status.
    pub(crate) fn find(errors: &[Self], status: StatusCode) -> Option<&Self> {
        errors.iter().find(|errors| errors.apply_to(status))
    }

    fn apply_to(&self, status: StatusCode) -> bool {
        let code = status.as_u16();
        self.statuses.is_empty() || self.statuses.iter().any(|range| range.contains(code))
    }

    pub(crate) fn run(&self, context: &mut Context<'_>) -> Outcome {
        self.routes.run(context)
    }
}
