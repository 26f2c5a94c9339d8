//! `file_server`: files below the root.

use std::rc::Rc;

use howdah_config::model;

use crate::answer::files::FileOptions;
use crate::answer::files::job::{DirectoryRedirect, FileJob};
use crate::answer::files::stat::{Kind, Root};
use crate::message::reply;
use crate::message::route_error::RouteError;
use crate::route::compiler::Compiler;
use crate::route::context::Context;
use crate::route::handler::Handler;
use crate::route::outcome::Outcome;
use crate::route::root::RootText;
use crate::route::status::Status;

#[derive(Debug)]
pub(super) struct FileServer {
    options: Rc<FileOptions>,
    root: Option<RootText>,
    pass_thru: bool,
    status: Status,
}

impl FileServer {
    pub(super) fn compile(
        files: &model::FileServer,
        compiler: &Compiler,
    ) -> Result<Self, RouteError> {
        let options = FileOptions::compile(files, Rc::default(), &compiler.pools.users);
        Ok(Self {
            options: Rc::new(options),
            root: files.root.as_ref().map(RootText::new),
            pass_thru: files.pass_thru,
            status: Status::compile(&files.status)?,
        })
    }
}

impl Handler for FileServer {
    fn run(&self, context: &mut Context<'_>) -> Outcome {
        let Some(root) = RootText::choose(self.root.as_ref(), context) else {
            return Outcome::answer(reply::not_found());
        };
        if self.pass_thru && !exists(&root, &self.options, context) {
            return Outcome::Next;
        }
        let mut job = file_job(root, Rc::clone(&self.options), context);
        job.status = self.status.evaluate(context);
        Outcome::File(job)
    }
}

/// The job that sends the file of the request's current path.
pub(super) fn file_job(root: Rc<Root>, options: Rc<FileOptions>, context: &Context<'_>) -> FileJob {
    let slashless = options.canonical.then(|| context.slashless_path());
    let redirect = slashless.flatten().map(|path| DirectoryRedirect {
        path: context.is_rewritten().then(|| path.into_owned()),
        query: context.query().to_owned(),
    });
    FileJob {
        root,
        path: context.path.clone().into_owned(),
        redirect,
        options,
        status: context.problem.map(|problem| problem.status),
    }
}

/// Whether `file_server` finds something to send. Hidden files count as missing.
fn exists(root: &Root, options: &FileOptions, context: &Context<'_>) -> bool {
    let kind = |path: &str| {
        if options.hides(root.prefix(), path) {
            Kind::Missing
        } else {
            context.lookup.kind(root, path)
        }
    };
    match kind(&context.path) {
        Kind::File => true,
        Kind::Missing => false,
        Kind::Directory => {
            options.lists()
                || options.index.iter().any(|index| {
                    kind(&format!("{}/{index}", context.path_without_slash())) == Kind::File
                })
        }
    }
}
