//! Named routes (`&(name) { … }` and `invoke`), and `handle_errors`.

use std::rc::Rc;

use super::encode::statuses;
use super::scope::{RouteOrder, Scope};
use crate::error::{Error, ErrorKind};
use crate::model::{ErrorRoutes, Handler, Route};
use crate::syntax::tree::{Statement, Word};
use crate::table::{Call, Context, NamedRoute, nearest};

/// Collects the named routes for `invoke`.
pub(crate) fn define_named(cx: &mut Context, named: Vec<(Word, Vec<Statement>)>) {
    for (name, block) in named {
        if cx.named.iter().any(|other| other.name.text == name.text) {
            let message = format!("the named route `&({})` is defined twice", name.text);
            cx.record(Err(Error::new(
                ErrorKind::Conflict,
                &name.position,
                message,
                "rename one of them",
            )));
            continue;
        }
        cx.named.push(NamedRoute {
            name,
            block: block.into(),
            is_used: false,
            is_open: false,
        });
    }
}

/// Reads named routes that are never invoked, to report their errors.
pub(crate) fn check_named(cx: &mut Context) {
    for index in 0..cx.named.len() {
        if !cx.named[index].is_used {
            // No route invokes them.
            drop(routes(cx, index));
        }
    }
}

fn routes(cx: &mut Context, index: usize) -> Vec<Route> {
    let block = Rc::clone(&cx.named[index].block);
    cx.named[index].is_used = true;
    cx.named[index].is_open = true;
    let routes = Scope::default().chain(cx, &block, RouteOrder::Directives);
    cx.named[index].is_open = false;
    routes
}

pub(crate) fn invoke(cx: &mut Context, call: &Call<'_>, scope: &mut Scope) -> Result<(), Error> {
    let (key, name) = super::optional_matcher(call, scope)?;
    let Some(index) = cx
        .named
        .iter()
        .position(|route| route.name.text == name.text)
    else {
        let known = cx.named.iter().map(|route| route.name.text.as_str());
        let hint = nearest(&name.text, known).map_or_else(
            || {
                format!(
                    "define it at the top of the file: `&({}) {{ … }}`",
                    name.text
                )
            },
            |near| format!("did you mean `{near}`?"),
        );
        return Err(Error::new(
            ErrorKind::UnknownName,
            &name.position,
            format!("there is no named route `&({})`", name.text),
            hint,
        ));
    };
    if cx.named[index].is_open {
        return Err(Error::new(
            ErrorKind::Conflict,
            &name.position,
            format!("the named route `&({})` invokes itself", name.text),
            "remove one of the `invoke`",
        ));
    }
    let routes = routes(cx, index);
    scope.push(key, Handler::Chain(routes));
    Ok(())
}

/// `handle_errors [CODE…] { … }`.
pub(crate) fn handle_errors(
    cx: &mut Context,
    call: &Call<'_>,
    scope: &mut Scope,
) -> Result<(), Error> {
    let statuses = call
        .arguments
        .iter()
        .map(statuses)
        .collect::<Result<Vec<_>, _>>()?;
    let block = call.block()?;
    let routes = scope.chain(cx, block, RouteOrder::Directives);
    let Some(errors) = &mut scope.errors else {
        return Err(call.error(
            ErrorKind::Conflict,
            "`handle_errors` cannot be used in this block".into(),
            "put it in the block of the site, or in a `route` or `handle` of it",
        ));
    };
    errors.push(ErrorRoutes { statuses, routes });
    Ok(())
}
