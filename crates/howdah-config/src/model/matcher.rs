//! Matchers.

use super::expression::{Expression, Network, Protocol, Regexp};
use super::files::TryPolicy;
use super::placeholder::Template;

/// A condition on requests.
#[derive(Debug, Clone, PartialEq)]
pub enum Matcher {
    /// All must match.
    All(Vec<Matcher>),
    /// `not { … }`: must not match.
    Not(Box<Matcher>),
    /// `path P…`: exact, or `*` at start, end or both, or anywhere as a glob; case-insensitive, decoded.
    Path(Vec<String>),
    /// `method M…`: upper case.
    Method(Vec<String>),
    /// `header NAME VALUE`: `*` at the ends; value `None` with `!NAME`: must be absent.
    Header(String, Option<String>),
    /// `host H…`: lower case, may start with `*.`.
    Host(Vec<String>),
    /// The same with placeholders; all of them are evaluated for each request.
    HostTemplate(Vec<Template>),
    /// `file { root try_files … }`: true if one exists. It does not change the request.
    File {
        /// Overrides the site's.
        root: Option<Template>,
        /// Candidates as in `try_files`; default `{path}`.
        candidates: Vec<Template>,
        /// `split_path`: the rest of a candidate after the first of these is not part of the file.
        split: Vec<String>,
        /// `try_policy`.
        policy: TryPolicy,
        /// `=CODE`: the response if none exists.
        fallback_status: Option<u16>,
    },
    /// `path_regexp`: of the decoded path.
    PathRegexp(Regexp),
    /// `header_regexp NAME …`.
    HeaderRegexp(String, Regexp),
    /// `query`: each of the parameters has one of its values; `*` matches any. Empty: there is no query.
    Query(Vec<(String, Vec<Template>)>),
    /// `protocol`.
    Protocol(Protocol),
    /// `remote_ip`: the peer of the connection.
    RemoteIp(Vec<Network>),
    /// `client_ip`: the client's address; trusted proxies may forward it.
    ClientIp(Vec<Network>),
    /// `vars`: the text is one of these.
    Vars(Template, Vec<Template>),
    /// `vars_regexp`.
    VarsRegexp(Template, Regexp),
    /// `expression`.
    Expression(Expression),
}
