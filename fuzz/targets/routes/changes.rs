//! Rewrites of the request that use text from it.

use std::rc::Rc;

use howdah_config::model::{Matcher as Model, Part, QueryChange, Template, UriChange as Change};

use crate::LETTERS;
use crate::context::Context;
use crate::matcher::Matcher;
use crate::texts::placeholder;
use crate::uri::{Rewrite, UriChange};
use crate::variables::Regexp;

/// Applies one change. `None` if the request is refused.
pub(crate) fn run(order: &str, words: &Rc<Regexp>, context: &mut Context<'_>) -> Option<()> {
    let (kind, rest) = order.split_once(' ').unwrap_or((order, ""));
    let (left, right) = rest.split_once('=').unwrap_or((rest, ""));
    let change = match kind {
        "w" => return Rewrite::compile(&template(rest)).apply(context).ok(),
        "p" => Change::StripPrefix(template(rest)),
        "s" => Change::StripSuffix(template(rest)),
        "r" => Change::Replace {
            find: template(left),
            replace: template(right),
            limit: None,
        },
        "x" => {
            let find = LETTERS.with(|letters| letters.as_str().to_owned());
            let replace = template(rest);
            Change::Regexp { find, replace }
        }
        "m" => {
            words.matches(&context.path, true, &context.notes);
            return Some(());
        }
        "q" => Change::Query(vec![QueryChange::Set {
            name: template(left),
            value: template(right),
        }]),
        "n" => {
            let model = Model::Not(Box::new(Model::Path(vec![rest.into()])));
            let not = Matcher::compile(&model)
                .expect("a matcher")
                .matches(context);
            let one = Matcher::compile(&Model::Path(vec![rest.into()]));
            assert_ne!(one.expect("a matcher").matches(context), not);
            return Some(());
        }
        _ => return Some(()),
    };
    let stripped = match &change {
        Change::StripPrefix(_) | Change::StripSuffix(_) => Some(context.path.len()),
        _ => None,
    };
    let change = UriChange::compile(&change).expect("a change");
    change.apply(context).ok()?;
    // Nothing is added except the slash at the start of a path.
    assert!(stripped.is_none_or(|before| context.path.len() <= before));
    Some(())
}

/// `{p}` and similar letters become placeholders. The rest is text.
fn template(text: &str) -> Template {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        let mut inner = after.chars();
        let known = inner.next().and_then(placeholder);
        let (piece, next) = match (known, inner.as_str().strip_prefix('}')) {
            (Some(placeholder), Some(next)) => (Part::Placeholder(placeholder), next),
            _ => (Part::Text("{".into()), after),
        };
        if !before.is_empty() {
            parts.push(Part::Text(before.into()));
        }
        parts.push(piece);
        rest = next;
    }
    if !rest.is_empty() {
        parts.push(Part::Text(rest.into()));
    }
    Template { parts }
}
