//! `intercept`, and options that it shares with `reverse_proxy`: matchers of responses,
//! `handle_response` and `replace_status`.

use std::collections::BTreeMap;

use super::encode::response_matcher;
use super::respond::status_or_placeholder;
use super::scope::{RouteOrder, Scope};
use crate::error::{Error, ErrorKind};
use crate::model::{Handler, Intercept, InterceptAction, InterceptRule, ResponseMatcher};
use crate::syntax::tree::{Statement, Word};
use crate::table::{Call, Context, Entry, Item, Table, nearest};

/// A block while it is read.
#[derive(Debug, Default)]
pub(crate) struct Draft {
    matchers: BTreeMap<String, ResponseMatcher>,
    /// Contains the matchers of the request.
    scope: Scope,
    pub(super) intercept: Intercept,
}

pub(super) const HANDLE_RESPONSE: Entry = Entry {
    name: "handle_response",
    syntax: "handle_response [@NAME] { … }",
    default: "",
    about: "Replaces matching responses (without a matcher, all) with the response of the directives in the block. In \
            `intercept` the header of the response stays, in `reverse_proxy` only what `copy_response_headers` names; \
            its body is dropped unless `copy_response` sends it. A matcher of responses is defined beside it: `@NAME \
            status CODE…`, `@NAME header NAME VALUE`, or both in a block. May be given several times; the first that \
            matches counts.",
    differs: "If the block sends no response, later directives do not run.",
    example: "handle_response {\n\trespond \"sorry\" 503\n}",
};

pub(super) const REPLACE_STATUS: Entry = Entry {
    name: "replace_status",
    syntax: "replace_status [@NAME] CODE",
    default: "",
    about: "Changes the status code of matching responses; CODE may be a placeholder, such as `{err.status_code}`. \
            May be given several times.",
    differs: "",
    example: "replace_status 404",
};

/// Names of the block of `intercept`.
pub(crate) const INTERCEPT: Table<Draft> = Table {
    kind: "subdirective of `intercept`",
    items: &[
        Item::Supported(HANDLE_RESPONSE, handle_response),
        Item::Supported(REPLACE_STATUS, replace_status),
    ],
};

pub(crate) fn read(cx: &mut Context, call: &Call<'_>, scope: &mut Scope) -> Result<(), Error> {
    let (key, rest) = scope.matcher(call.arguments)?;
    super::reject_extra(call, rest)?;
    let block = call.block()?;
    let mut draft = Draft::new(cx, block, scope);
    draft.intercept.keeps_header = true;
    let statements = block
        .iter()
        .filter(|statement| !statement.name.text.starts_with('@'));
    cx.read(&INTERCEPT, statements, &mut draft);
    scope.push(key, Handler::Intercept(draft.intercept));
    Ok(())
}

impl Draft {
    /// Reads the matchers of responses in a block; the caller reads the other statements.
    pub(super) fn new(cx: &mut Context, block: &[Statement], scope: &Scope) -> Self {
        let mut draft = Self {
            scope: scope.inner(),
            ..Self::default()
        };
        draft.scope.has_response = true;
        for statement in block {
            if !statement.name.text.starts_with('@') {
                continue;
            }
            let result = response_matcher(
                cx,
                &statement.name,
                &statement.arguments,
                statement.block.as_deref(),
            );
            // An invalid definition is stored too, so that its uses cause no further errors.
            let (matcher, error) = match result {
                Ok(matcher) => (matcher, None),
                Err(error) => (ResponseMatcher::default(), Some(error)),
            };
            let name = &statement.name;
            if draft.matchers.insert(name.text.clone(), matcher).is_some() {
                cx.record(Err(Error::new(
                    ErrorKind::Conflict,
                    &name.position,
                    format!("the matcher `{}` is defined twice", name.text),
                    "rename one of them",
                )));
            }
            cx.errors.extend(error);
        }
        draft
    }

    /// The matcher of responses at the start of the arguments, if there is one.
    fn matcher<'a>(
        &self,
        arguments: &'a [Word],
    ) -> Result<(Option<ResponseMatcher>, &'a [Word]), Error> {
        let Some((first, rest)) = arguments
            .split_first()
            .filter(|(first, _)| first.text.starts_with('@'))
        else {
            return Ok((None, arguments));
        };
        if let Some(matcher) = self.matchers.get(&first.text) {
            return Ok((Some(matcher.clone()), rest));
        }
        let hint = nearest(&first.text, self.matchers.keys().map(String::as_str)).map_or_else(
            || format!("define it in this block: `{} status 404`", first.text),
            |near| format!("did you mean `{near}`?"),
        );
        Err(Error::new(
            ErrorKind::UnknownName,
            &first.position,
            format!("the matcher of responses `{}` is not defined", first.text),
            hint,
        ))
    }
}

pub(super) fn handle_response(
    cx: &mut Context,
    call: &Call<'_>,
    draft: &mut Draft,
) -> Result<(), Error> {
    let (matcher, rest) = draft.matcher(call.arguments)?;
    super::reject_extra(call, rest)?;
    let routes = draft.scope.chain(cx, call.block()?, RouteOrder::Directives);
    draft.intercept.rules.push(InterceptRule {
        matcher,
        action: InterceptAction::Handle(routes),
    });
    Ok(())
}

pub(super) fn replace_status(
    _: &mut Context,
    call: &Call<'_>,
    draft: &mut Draft,
) -> Result<(), Error> {
    call.no_block()?;
    let (matcher, rest) = draft.matcher(call.arguments)?;
    let [code] = rest else {
        return Err(call.error(
            ErrorKind::Arguments,
            "`replace_status` takes a status code".into(),
            format!("write `{}`", call.entry.syntax),
        ));
    };
    let code = status_or_placeholder(code, 200)?;
    draft.intercept.rules.push(InterceptRule {
        matcher,
        action: InterceptAction::Status(code),
    });
    Ok(())
}
