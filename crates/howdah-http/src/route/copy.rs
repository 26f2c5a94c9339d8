//! `copy_response_headers`: what stays of the header of a response that is replaced.

use howdah_config::model::CopyHeaders;
use http::HeaderMap;
use http::header::HeaderName;

use super::{RouteError, RouteErrorKind};

/// A compiled [`CopyHeaders`].
#[derive(Debug)]
pub(crate) enum Copy {
    All,
    Only(Box<[HeaderName]>),
    AllBut(Box<[HeaderName]>),
}

impl Copy {
    pub(super) fn compile(copy: &CopyHeaders) -> Result<Self, RouteError> {
        let compile = |names: &[String]| {
            let name = |text: &String| {
                HeaderName::from_bytes(text.as_bytes())
                    .map_err(|_| RouteErrorKind::HeaderName { text: text.clone() })
            };
            names.iter().map(name).collect::<Result<_, _>>()
        };
        Ok(match copy {
            CopyHeaders::All => Self::All,
            CopyHeaders::Only(names) => Self::Only(compile(names)?),
            CopyHeaders::AllBut(names) => Self::AllBut(compile(names)?),
        })
    }

    fn keeps(&self, name: &HeaderName) -> bool {
        match self {
            Self::All => true,
            Self::Only(names) => names.contains(name),
            Self::AllBut(names) => !names.contains(name),
        }
    }
}

/// Takes out what none of them keeps.
pub(crate) fn keep(headers: &mut HeaderMap, copies: &[std::rc::Rc<Copy>]) {
    let gone: Vec<HeaderName> = headers
        .keys()
        .filter(|name| !copies.iter().any(|copy| copy.keeps(name)))
        .cloned()
        .collect();
    for name in gone {
        headers.remove(name);
    }
}
