//! Configuration files: what they do to requests, and how errors in them are reported.

mod directives;
mod fastcgi;
mod import;
mod mercure;
mod mercure_publish;
mod policy;
mod real_files;
mod responses;
