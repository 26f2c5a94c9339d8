//! Directives in the order in which they run.

use super::context::Context;
use super::handler::Handler;
use super::matcher::Matcher;
use super::outcome::Outcome;
use crate::message::reply;

/// Routes that run one after the other until one of them responds.
#[derive(Debug)]
pub(crate) struct Routes(pub(super) Box<[Route]>);

#[derive(Debug)]
pub(crate) struct Route {
    pub(super) matcher: Option<Matcher>,
    pub(super) handler: Box<dyn Handler>,
    /// Number of a group, of which only the first matching route runs.
    pub(super) group: Option<u32>,
}

impl Handler for Routes {
    fn run(&self, context: &mut Context<'_>) -> Outcome {
        let mut taken: Vec<u32> = Vec::new();
        for route in &self.0 {
            if route.group.is_some_and(|group| taken.contains(&group)) {
                continue;
            }
            if let Some(matcher) = &route.matcher {
                let matches = matcher.matches(context);
                if let Some(status) = context.notes.take_error() {
                    return Outcome::answer(reply::plain(status));
                }
                if !matches {
                    continue;
                }
            }
            taken.extend(route.group);
            match route.handler.run(context) {
                Outcome::Next => {}
                outcome => return outcome,
            }
        }
        Outcome::Next
    }
}
