//! A list of directives: their named matchers, their order and their groups.

use std::collections::BTreeMap;

use super::DIRECTIVES;
use crate::draft::Order;
use crate::error::{Error, ErrorKind};
use crate::matcher::{self, Key};
use crate::model::{AccessLog, ErrorRoutes, Handler, Matcher, Route};
use crate::syntax::tree::{Statement, Word};
use crate::table::{Call, Context, nearest};

/// The settings of a site that are not routes.
#[derive(Debug, Default)]
pub(crate) struct SiteSettings {
    pub(crate) access_logs: Vec<AccessLog>,
    pub(crate) bind: crate::draft::Binding,
    pub(crate) tls: Option<crate::model::SiteTls>,
}

/// The order in which the routes of a block are tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RouteOrder {
    /// That of the list of directives.
    Directives,
    /// As written, in `route`.
    Written,
}

/// Directives of a site, or of a block in it, while they are read.
#[derive(Debug, Default)]
pub(crate) struct Scope {
    /// `None` in a block of a directive.
    pub(crate) site: Option<SiteSettings>,
    /// It is inside a `handle_response`.
    pub(crate) has_response: bool,
    /// `handle_errors`; `None` where it is not allowed.
    pub(crate) errors: Option<Vec<ErrorRoutes>>,
    matchers: BTreeMap<String, Key>,
    pending: Vec<DirectiveRoutes>,
    /// The directive that is being read, as its position in the order.
    directive: usize,
}

/// What one directive made.
#[derive(Debug)]
struct DirectiveRoutes {
    directive: usize,
    has_matcher: bool,
    path: Option<String>,
    routes: Vec<Route>,
}

/// A route without a group.
pub(crate) fn route(matcher: Option<Matcher>, handler: Handler) -> Route {
    Route {
        matcher,
        handler,
        group: None,
    }
}

impl Scope {
    /// The directives of a site itself.
    pub(crate) fn of_site() -> Self {
        Self {
            site: Some(SiteSettings::default()),
            errors: Some(Vec::new()),
            ..Self::default()
        }
    }

    /// Reads a list of directives.
    pub(crate) fn read(&mut self, cx: &mut Context, block: &[Statement], lone_site: bool) {
        for statement in block
            .iter()
            .filter(|statement| statement.name.text.starts_with('@'))
        {
            let result = self.define(cx, statement);
            cx.record(result);
        }
        for statement in block
            .iter()
            .filter(|statement| !statement.name.text.starts_with('@'))
        {
            let result = self.directive(cx, statement, lone_site);
            cx.record(result);
        }
    }

    fn define(&mut self, cx: &mut Context, statement: &Statement) -> Result<(), Error> {
        let name = &statement.name;
        if self.matchers.contains_key(&name.text) {
            let message = format!("the matcher `{}` is defined twice", name.text);
            return Err(Error::new(
                ErrorKind::Conflict,
                &name.position,
                message,
                "rename one of them",
            ));
        }
        // An invalid definition is stored too, so that its uses cause no further errors.
        let key = matcher::definition(cx, statement);
        self.matchers
            .insert(name.text.clone(), key.clone().unwrap_or_default());
        key.map(drop)
    }

    fn directive(
        &mut self,
        cx: &mut Context,
        statement: &Statement,
        lone_site: bool,
    ) -> Result<(), Error> {
        if cx.accepts(DIRECTIVES.kind, &statement.name) {
            return Ok(());
        }
        let found = DIRECTIVES.find(&statement.name);
        if let Err(error) = &found
            && cx.leaves_out(DIRECTIVES.kind, &statement.name, error)
        {
            return Ok(());
        }
        let (index, entry, read) = found.map_err(|mut error| {
            if lone_site && error.kind == ErrorKind::UnknownName {
                let braces = "if it is the address of a second site, put `{ … }` around each site";
                error.hint = Some(match error.hint {
                    Some(hint) => format!("{hint} Or, {braces}"),
                    None => braces.into(),
                });
            }
            error
        })?;
        // `handle_path` is a special `handle`, and has the same position in the order.
        self.directive = match entry.name {
            "handle_path" => index - 1,
            _ => index,
        };
        let call = Call {
            entry,
            name: &statement.name,
            arguments: &statement.arguments,
            block: statement.block.as_deref(),
        };
        read(cx, &call, self)
    }

    /// Removes a matcher from the start of a directive's arguments, if there is one.
    pub(crate) fn matcher<'a>(&self, arguments: &'a [Word]) -> Result<(Key, &'a [Word]), Error> {
        let Some((first, rest)) = arguments.split_first() else {
            return Ok((Key::default(), arguments));
        };
        if first.text == "*" {
            return Ok((Key::default(), rest));
        }
        if first.text.starts_with('/') {
            let path = matcher::path(first)?;
            let matcher = Some(Matcher::Path(vec![path.clone()]));
            return Ok((
                Key {
                    matcher,
                    path: Some(path),
                },
                rest,
            ));
        }
        if !first.text.starts_with('@') {
            return Ok((Key::default(), arguments));
        }
        if let Some(key) = self.matchers.get(&first.text) {
            return Ok((key.clone(), rest));
        }
        let names = self.matchers.keys().map(String::as_str);
        let hint = nearest(&first.text, names).map_or_else(
            || format!("define it in this site: `{} path /…`", first.text),
            |near| format!("did you mean `{near}`?"),
        );
        let message = format!("the matcher `{}` is not defined", first.text);
        Err(Error::new(
            ErrorKind::UnknownName,
            &first.position,
            message,
            hint,
        ))
    }

    /// Adds a handler of the directive.
    pub(crate) fn push(&mut self, key: Key, handler: Handler) {
        self.pending.push(DirectiveRoutes {
            directive: self.directive,
            has_matcher: key.matcher.is_some(),
            path: key.path,
            routes: vec![route(key.matcher, handler)],
        });
    }

    /// Adds several routes of one directive, which stay together.
    pub(crate) fn push_all(&mut self, routes: Vec<Route>) {
        let directive = self.directive;
        self.pending.push(DirectiveRoutes {
            directive,
            has_matcher: true,
            path: None,
            routes,
        });
    }

    /// Reads the block of a directive as a separate list, which knows the matchers of this one.
    pub(crate) fn chain(
        &self,
        cx: &mut Context,
        block: &[Statement],
        order: RouteOrder,
    ) -> Vec<Route> {
        let mut inner = self.inner();
        inner.read(cx, block, false);
        inner.finish(cx, order)
    }

    /// Like [`Scope::chain`], for routes that share the `handle_errors` of this list.
    pub(crate) fn routes(
        &self,
        cx: &mut Context,
        block: &[Statement],
        order: RouteOrder,
    ) -> Vec<Route> {
        let mut inner = self.inner();
        inner.errors = self.errors.as_ref().map(|_| Vec::new());
        inner.read(cx, block, false);
        let mut routes = inner.finish(cx, order);
        let errors = inner.errors.unwrap_or_default();
        if !errors.is_empty() {
            routes.insert(0, route(None, Handler::HandleErrors(errors)));
        }
        routes
    }

    /// A separate list that knows the matchers of this one.
    pub(crate) fn inner(&self) -> Self {
        Self {
            matchers: self.matchers.clone(),
            has_response: self.has_response,
            ..Self::default()
        }
    }

    /// The routes, grouped.
    pub(crate) fn finish(&mut self, cx: &mut Context, order: RouteOrder) -> Vec<Route> {
        let mut pending = std::mem::take(&mut self.pending);
        if order == RouteOrder::Directives {
            sort(&mut pending, &cx.order);
        }
        remove_overridden_roots(&mut pending);
        for name in ["handle", "rewrite", "root"] {
            let index = DIRECTIVES.items.iter().position(|item| item.name() == name);
            let members = || pending.iter().filter(|one| Some(one.directive) == index);
            if members().count() < 2 {
                continue;
            }
            let group = Some(cx.next_group());
            for one in pending
                .iter_mut()
                .filter(|one| Some(one.directive) == index)
            {
                for route in &mut one.routes {
                    route.group = group;
                }
            }
        }
        pending.into_iter().flat_map(|one| one.routes).collect()
    }
}

/// Removes each `root` that another one with the same matcher follows: as in Caddy, the last one counts.
fn remove_overridden_roots(pending: &mut Vec<DirectiveRoutes>) {
    let matcher_of_root = |one: &DirectiveRoutes| match &one.routes[..] {
        [
            Route {
                matcher,
                handler: Handler::Root(_),
                ..
            },
        ] => Some(matcher.clone()),
        _ => None,
    };
    let mut kept: Vec<DirectiveRoutes> = Vec::with_capacity(pending.len());
    for one in pending.drain(..) {
        let root = matcher_of_root(&one);
        if root.is_some() && kept.last().and_then(matcher_of_root) == root {
            kept.pop();
        }
        kept.push(one);
    }
    *pending = kept;
}

/// Caddy's order is not total (a matcher without a single path is equal to all others), so the
/// result depends on the algorithm: this is Caddy's stable insertion sort for lists of up to 20,
/// which includes all real ones. `slice::sort_by` may panic with such an order.
fn sort(pending: &mut [DirectiveRoutes], order: &Order) {
    for end in 1..pending.len() {
        let mut at = end;
        while at > 0 && precedes(&pending[at], &pending[at - 1], order) {
            pending.swap(at, at - 1);
            at -= 1;
        }
    }
}

/// Directives in their order; of the same directive, the more specific path first.
fn precedes(one: &DirectiveRoutes, other: &DirectiveRoutes, order: &Order) -> bool {
    if one.directive != other.directive {
        return order.turn(one.directive) < order.turn(other.directive);
    }
    // Later variables override earlier ones, so the most specific comes last.
    if DIRECTIVES.items[one.directive].name() == "vars" {
        return is_more_specific(other, one);
    }
    is_more_specific(one, other)
}

fn is_more_specific(one: &DirectiveRoutes, other: &DirectiveRoutes) -> bool {
    match (&one.path, &other.path) {
        (Some(path), Some(other)) => {
            let trim = |path: &str| path.strip_suffix('*').unwrap_or(path).to_owned();
            let (short, other_short) = (trim(path), trim(other));
            if short == other_short {
                return path.len() < other.len();
            }
            if short.len() == other_short.len() {
                return short < other_short;
            }
            short.len() > other_short.len()
        }
        _ => one.has_matcher && !other.has_matcher,
    }
}
