//! `forward_auth`: another server decides whether a request continues.
//!
//! Routes do not wait: they return the request to send, and run again with the response.

use std::rc::Rc;

use howdah_config::model;

use super::reverse_proxy::Proxy;
use crate::message::route_error::{RouteError, RouteErrorKind, header_name};
use crate::route::auth_request::AuthRequest;
use crate::route::compiler::Compiler;
use crate::route::context::Context;
use crate::route::handler::Handler;
use crate::route::outcome::Outcome;
use crate::route::verdict::{CopiedFields, Verdict};

/// A compiled [`model::ForwardAuth`].
#[derive(Debug)]
pub(crate) struct ForwardAuth {
    proxy: Proxy,
    /// Pairs of a field in the response and the field that is set in the request.
    copy: Rc<CopiedFields>,
}

impl ForwardAuth {
    pub(super) fn compile(
        auth: &model::ForwardAuth,
        compiler: &Compiler,
    ) -> Result<Self, RouteError> {
        let copy =
            |field: &model::CopiedHeader| Ok((header_name(&field.from)?, header_name(&field.to)?));
        Ok(Self {
            proxy: Proxy::compile(&auth.proxy, compiler)?,
            copy: Rc::new(CopiedFields(
                auth.copy_headers
                    .iter()
                    .map(copy)
                    .collect::<Result<_, RouteErrorKind>>()?,
            )),
        })
    }
}

impl Handler for ForwardAuth {
    fn run(&self, context: &mut Context<'_>) -> Outcome {
        let granted = context.verdicts.iter().find_map(|verdict| match verdict {
            Verdict::Granted(granted) if granted.belongs_to(&self.copy) => Some(granted),
            _ => None,
        });
        if let Some(granted) = granted {
            if !self.copy.0.is_empty() {
                granted.copy_to(&mut context.parts_mut().headers);
            }
            return Outcome::Next;
        }
        match self.proxy.job(context) {
            Ok(mut job) => {
                job.upgrade = None;
                Outcome::ForwardAuth(Box::new(AuthRequest {
                    copy: Rc::clone(&self.copy),
                    job: Box::new(job),
                }))
            }
            Err(refusal) => Outcome::Answer(refusal),
        }
    }
}
