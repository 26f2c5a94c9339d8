//! Document roots: most are constant and resolved once.

use std::rc::Rc;

use howdah_config::model::Template;

use crate::answer::files::stat::Root;
use crate::route::context::Context;
use crate::route::text::Text;

/// A compiled `root`.
#[derive(Debug)]
pub(crate) enum RootText {
    Constant(Rc<Root>),
    Text(Text),
}

impl RootText {
    pub(crate) fn new(template: &Template) -> Self {
        let text = Text::new(template);
        match text.constant() {
            Some(path) => Self::Constant(Rc::new(Root::new(path))),
            None => Self::Text(text),
        }
    }

    /// The root of a directive, or that of the request if it has none.
    pub(crate) fn choose(own: Option<&Self>, context: &Context<'_>) -> Option<Rc<Root>> {
        match own {
            None => Some(Rc::clone(&context.root)),
            Some(own) => own.evaluate(context),
        }
    }

    /// `None` if the request could choose a root anywhere.
    pub(crate) fn evaluate(&self, context: &Context<'_>) -> Option<Rc<Root>> {
        match self {
            Self::Constant(root) => Some(Rc::clone(root)),
            Self::Text(text) => text
                .evaluate_root(context)
                .map(|path| context.roots.get(&path)),
        }
    }
}
