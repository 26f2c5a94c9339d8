//! Configuration files: their effect on requests, and the reports of errors in them.

mod constructs;
mod directives;
mod fastcgi;
mod import;
mod mercure;
mod mercure_publish;
mod policy;
mod real_files;
mod responses;
