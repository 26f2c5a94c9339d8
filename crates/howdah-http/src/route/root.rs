//! Document roots: most are constant and made once.

use std::rc::Rc;

use howdah_config::model::Template;

use super::context::Context;
use super::template::Text;
use crate::lookup::Root;

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

    /// `None` if the request asks for a root that could lie anywhere.
    pub(crate) fn evaluate(&self, context: &Context<'_>) -> Option<Rc<Root>> {
        match self {
            Self::Constant(root) => Some(Rc::clone(root)),
            Self::Text(text) => text
                .evaluate_root(context)
                .map(|path| context.roots.get(&path)),
        }
    }
}
