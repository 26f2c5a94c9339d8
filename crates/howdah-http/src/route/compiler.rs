//! Compiles routes. Directives that contain routes use it too.

use howdah_config::model;

use super::error::ErrorRoutes;
use super::handler::Handler;
use super::matcher::Matcher;
use super::pools::ScriptPools;
use super::routes::{Route, Routes};
use crate::message::route_error::RouteError;

/// Compiles the handler of one directive.
type HandlerCompiler = fn(&model::Handler, &Compiler) -> Result<Box<dyn Handler>, RouteError>;

/// What the routes of a site are compiled with.
pub(super) struct Compiler {
    pub(super) pools: ScriptPools,
    /// Passed in, since it names every directive.
    handler: HandlerCompiler,
}

impl Compiler {
    pub(super) fn new(pools: ScriptPools, handler: HandlerCompiler) -> Self {
        Self { pools, handler }
    }

    pub(super) fn routes(&self, routes: &[model::Route]) -> Result<Routes, RouteError> {
        let compile = |route: &model::Route| {
            Ok(Route {
                matcher: route.matcher.as_ref().map(Matcher::compile).transpose()?,
                handler: (self.handler)(&route.handler, self)?,
                group: route.group,
            })
        };
        let routes = routes.iter().map(compile);
        Ok(Routes(routes.collect::<Result<_, RouteError>>()?))
    }

    pub(super) fn errors(
        &self,
        errors: &[model::ErrorRoutes],
    ) -> Result<Vec<ErrorRoutes>, RouteError> {
        let compile = |errors: &model::ErrorRoutes| {
            let routes = self.routes(&errors.routes)?;
            Ok(ErrorRoutes::new(&errors.statuses, Box::new(routes)))
        };
        errors.iter().map(compile).collect()
    }
}
