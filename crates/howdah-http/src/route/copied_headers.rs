//! `copy_response_headers`: which fields of a replaced response are kept.

use howdah_config::model::CopyHeaders;
use http::HeaderMap;
use http::header::HeaderName;

use crate::message::header_change::remove_where;
use crate::message::route_error::{RouteError, header_name};

/// A compiled [`CopyHeaders`].
#[derive(Debug)]
pub(crate) enum CopiedHeaders {
    All,
    Only(Box<[HeaderName]>),
    AllBut(Box<[HeaderName]>),
}

impl CopiedHeaders {
    pub(super) fn compile(copy: &CopyHeaders) -> Result<Self, RouteError> {
        let compile = |names: &[String]| {
            let names = names.iter().map(|text| header_name(text));
            names.collect::<Result<_, _>>()
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

/// Removes the fields that none of them keeps.
pub(crate) fn keep(headers: &mut HeaderMap, copies: &[std::rc::Rc<CopiedHeaders>]) {
    remove_where(headers, |name| !copies.iter().any(|copy| copy.keeps(name)));
}
