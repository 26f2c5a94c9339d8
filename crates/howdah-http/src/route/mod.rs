//! Compiled routes: the directives of the configuration. Created once per front thread.
//!
//! ```text
//! listener -> hosts -> site -> routes -> Outcome: a response, a file, a script
//!                               │
//!                               └─ matcher, then a directive (`directive/`), on one `Context`
//! ```

pub(crate) mod auth_request;
mod candidate;
mod compiler;
pub(crate) mod context;
pub(crate) mod copied_headers;
mod credentials;
mod directive;
pub(crate) mod error;
mod expression;
mod handler;
mod header;
pub(crate) mod intercept;
mod matcher;
pub(crate) mod outcome;
mod parameters;
pub(crate) mod password;
mod placeholder;
mod policy;
pub(crate) mod pools;
mod purpose;
mod retry;
mod root;
mod routes;
pub(crate) mod site;
mod status;
mod text;
mod value;
pub(crate) mod variables;
pub(crate) mod verdict;
