//! `forward_auth`: another server says whether a request goes on.
//!
//! Routes do not wait: they ask for the question to be put, and are run again with its answer.

use std::rc::Rc;

use howdah_config::model;
use http::header::{HeaderName, HeaderValue};
use http::{HeaderMap, Response};

use super::context::Context;
use super::proxy::{Proxy, ProxyJob};
use super::worker::WorkerFiles;
use super::{Outcome, RouteError, RouteErrorKind};
use crate::answer::Failure;
use crate::auth::Verdict;
use crate::connection::interim::Interim;
use crate::limits::Limits;
use crate::proxy::{self, UploadLimits};
use crate::response::Content;

/// A compiled [`model::ForwardAuth`].
#[derive(Debug)]
pub(crate) struct ForwardAuth {
    proxy: Proxy,
    /// A field of the answer, and the one that the request is given.
    copy: Box<[(HeaderName, HeaderName)]>,
}

/// The server has let a request go on.
pub(crate) struct Granted {
    auth: Rc<ForwardAuth>,
    /// What is copied, of each field of `copy`.
    values: Vec<Vec<HeaderValue>>,
}

/// A question to the server.
pub(crate) struct Question {
    auth: Rc<ForwardAuth>,
    job: Box<ProxyJob>,
}

impl ForwardAuth {
    pub(super) fn compile(
        auth: &model::ForwardAuth,
        workers: &WorkerFiles,
    ) -> Result<Self, RouteError> {
        let name = |text: &String| {
            HeaderName::from_bytes(text.as_bytes())
                .map_err(|_| RouteErrorKind::HeaderName { text: text.clone() })
        };
        let copy = |(from, to): &(String, String)| Ok((name(from)?, name(to)?));
        Ok(Self {
            proxy: Proxy::compile(&auth.proxy, workers)?,
            copy: auth
                .copy_headers
                .iter()
                .map(copy)
                .collect::<Result<_, RouteErrorKind>>()?,
        })
    }

    pub(super) fn run(self: &Rc<Self>, context: &mut Context<'_>) -> Outcome {
        let granted = context.verdicts.iter().find_map(|verdict| match verdict {
            Verdict::Granted(granted) if Rc::ptr_eq(&granted.auth, self) => Some(granted),
            _ => None,
        });
        if let Some(granted) = granted {
            if !self.copy.is_empty() {
                granted.copy_to(&mut context.parts_mut().headers);
            }
            return Outcome::Next;
        }
        match self.proxy.job(context) {
            Ok(mut job) => {
                job.upgrade = None;
                Outcome::Ask(Box::new(Question {
                    auth: Rc::clone(self),
                    job: Box::new(job),
                }))
            }
            Err(refusal) => Outcome::Answer(refusal),
        }
    }
}

impl Granted {
    /// What the client itself sent in these fields says nothing.
    fn copy_to(&self, headers: &mut HeaderMap) {
        for ((_, to), values) in self.auth.copy.iter().zip(&self.values) {
            headers.remove(to);
            for value in values {
                headers.append(to, value.clone());
            }
        }
    }
}

impl Question {
    /// `Err`: the response to a request that does not go on.
    pub(crate) async fn ask(self, limits: &Limits, id: u64) -> Result<Granted, Response<Content>> {
        let limits = UploadLimits {
            size: 0,
            wait: limits.read_body,
        };
        // There is no body that could be refused.
        let answer = proxy::send(*self.job, None, limits, (id, Interim::NONE)).await;
        let answer = answer.unwrap_or_else(|_| crate::answer::plain(http::StatusCode::BAD_GATEWAY));
        let is_failure = answer.extensions().get::<Failure>().is_some();
        if is_failure || !answer.status().is_success() {
            return Err(answer);
        }
        let value = |(from, _): &(HeaderName, HeaderName)| {
            let values = answer.headers().get_all(from).iter();
            values.filter(|value| !value.is_empty()).cloned().collect()
        };
        Ok(Granted {
            values: self.auth.copy.iter().map(value).collect(),
            auth: self.auth,
        })
    }
}
