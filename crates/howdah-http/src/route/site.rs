//! The sites of a configuration, and which of them a request is for.

use std::rc::Rc;
use std::sync::Arc;

use howdah_config::model;
use howdah_observe::access::Log;
use http::StatusCode;

use super::compiler::Compiler;
use super::context::Context;
use super::directive;
use super::error::ErrorRoutes;
use super::handler::Handler;
use super::matcher::HostPattern;
use super::outcome::Outcome;
use super::pools::ScriptPools;
use super::routes::Routes;
use crate::message::route_error::RouteError;

/// A site, ready to serve.
#[derive(Debug)]
pub(crate) struct Site {
    routes: Routes,
    errors: Box<[ErrorRoutes]>,
    pub(crate) logs: Arc<[Log]>,
}

impl Site {
    pub(crate) fn compile(
        site: &model::Site,
        pools: &ScriptPools,
        logs: Arc<[Log]>,
    ) -> Result<Self, RouteError> {
        let compiler = Compiler::new(pools.of_site(site.hub), directive::compile);
        Ok(Self {
            routes: compiler.routes(&site.routes)?,
            errors: compiler.errors(&site.errors)?.into(),
            logs,
        })
    }

    pub(crate) fn run(&self, context: &mut Context<'_>) -> Outcome {
        self.routes.run(context)
    }

    /// Whether it has a `handle_errors`.
    pub(crate) fn handles_errors(&self) -> bool {
        !self.errors.is_empty()
    }

    /// The `handle_errors` for this status.
    pub(crate) fn errors_for(&self, status: StatusCode) -> Option<&ErrorRoutes> {
        ErrorRoutes::find(&self.errors, status)
    }
}

/// The sites of one listener by host.
#[derive(Debug)]
pub(crate) struct Hosts {
    /// The most specific first: names, then wildcards, then the site for all hosts.
    sites: Vec<(HostPattern, Rc<Site>)>,
}

impl Hosts {
    /// `served`: the addresses of the sites of `config` that the listener serves.
    pub(crate) fn new(
        config: &model::Config,
        served: &[model::AddressIndex],
        sites: &[Rc<Site>],
    ) -> Self {
        let mut hosts: Vec<(HostPattern, Rc<Site>)> = Vec::new();
        for at in served {
            let host = config.address(*at).host.as_deref();
            let pattern = host.map_or(HostPattern::Any, HostPattern::new);
            hosts.push((pattern, Rc::clone(&sites[at.site])));
        }
        hosts.sort_by_key(|(pattern, _)| match pattern {
            HostPattern::Exact(_) => 0,
            HostPattern::Below(_) | HostPattern::Label => 1,
            HostPattern::Any => 2,
        });
        Self { sites: hosts }
    }

    pub(crate) fn find(&self, host: &str) -> Option<&Rc<Site>> {
        self.sites
            .iter()
            .find(|(pattern, _)| pattern.matches(host))
            .map(|(_, site)| site)
    }
}
