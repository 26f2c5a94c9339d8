//! `php_server` and `php`: resolve a path to a script, a file, or neither.

use std::rc::Rc;

use howdah_cgi::split_path;
use howdah_config::model;
use http::StatusCode;

use super::file_server::file_job;
use super::intercept;
use crate::answer::fastcgi::{FastCgi, FastCgiJob};
use crate::answer::files::FileOptions;
use crate::answer::files::stat::{Kind, Root};
use crate::answer::php::ScriptJob;
use crate::message::path::has_hidden_segment;
use crate::message::reply;
use crate::message::request::Script;
use crate::message::route_error::RouteError;
use crate::route::candidate::{Candidate, find};
use crate::route::compiler::Compiler;
use crate::route::context::Context;
use crate::route::directive::reverse_proxy::{forwarded, hint};
use crate::route::handler::Handler;
use crate::route::intercept::Intercept;
use crate::route::outcome::Outcome;
use crate::route::pools::{ScriptPools, WorkerPools};
use crate::route::purpose::Purpose;
use crate::route::retry::RetryRule;
use crate::route::root::RootText;
use crate::route::status;
use crate::route::text::Text;

/// A compiled [`model::PhpScript`].
#[derive(Debug)]
pub(crate) struct PhpScript {
    root: Option<RootText>,
    split: Rc<[String]>,
    env: Box<[(String, Text, Purpose)]>,
    resolve: bool,
    workers: WorkerPools,
    /// The pool for all scripts that do not belong to a worker.
    classic: usize,
    /// The FastCGI server that runs the scripts in place of a pool.
    fastcgi: Option<(Rc<FastCgi>, RetryRule)>,
    /// The hub of the site.
    hub: Option<usize>,
    learns_hints: bool,
}

/// A compiled [`model::PhpServer`].
#[derive(Debug)]
pub(crate) struct PhpServer {
    script: PhpScript,
    root: Option<RootText>,
    candidates: Box<[Candidate]>,
    /// The candidate `{path}/{index}`: finding it for a path without a slash redirects.
    directory_index: Option<usize>,
    /// The last candidate if it is a script, which is the fallback for missing paths.
    front_controller: Option<Box<str>>,
    fallback: Option<StatusCode>,
    files: Option<Rc<FileOptions>>,
    files_root: Option<RootText>,
    /// The rules for responses of its scripts.
    intercept: Option<Rc<Intercept>>,
}

impl PhpScript {
    pub(crate) fn compile(script: &model::PhpScript, pools: &ScriptPools) -> Self {
        Self {
            root: script.root.as_ref().map(RootText::new),
            split: script.split.clone().into(),
            env: script
                .env
                .iter()
                .map(|(name, text)| {
                    let sets_php = model::PHP_SETTINGS.contains(&name.as_str());
                    let purpose = if sets_php {
                        Purpose::Setting
                    } else {
                        Purpose::File
                    };
                    (name.clone(), Text::new(text), purpose)
                })
                .collect(),
            resolve: script.resolve_root_symlink,
            workers: WorkerPools::compile(&script.workers, pools),
            classic: pools.classic(script.pool),
            fastcgi: None,
            hub: pools.hub,
            learns_hints: script.learn_hints,
        }
    }

    /// The worker whose `match` matches this path, whatever is on disk.
    fn find_worker(&self, root: &Root, context: &Context<'_>) -> Option<Outcome> {
        let matched = self.workers.by_path(root, context)?;
        let script = Script {
            root: self.document_root(root),
            path_info: matched.path_info,
            name: matched.name,
            file: matched.file,
        };
        Some(self.job(matched.pool, script, context))
    }

    /// The script in the path. `None` if the path has none; 404 if it does not exist.
    fn path_script(&self, root: &Rc<Root>, context: &Context<'_>) -> Option<Outcome> {
        let (name, info) = split_path(&context.path, &self.split)?;
        if has_hidden_segment(name) {
            return Some(Outcome::answer(reply::no_script()));
        }
        let worker = self.workers.worker_of(root, name, context);
        if worker.is_none() && context.lookup.kind(root, name) != Kind::File {
            return Some(Outcome::answer(reply::no_script()));
        }
        let info = if info.is_empty() {
            context.path_info.clone()
        } else {
            info.to_owned()
        };
        let pool = worker.unwrap_or(self.classic);
        Some(self.script(pool, root, name.to_owned(), info, context))
    }

    fn document_root(&self, root: &Root) -> Rc<str> {
        if self.resolve {
            root.resolved()
        } else {
            Rc::clone(root.path())
        }
    }

    /// A script below the root.
    fn script(
        &self,
        pool: usize,
        root: &Root,
        name: String,
        path_info: String,
        context: &Context<'_>,
    ) -> Outcome {
        let script = Script {
            root: self.document_root(root),
            name,
            path_info,
            file: None,
        };
        self.job(pool, script, context)
    }

    fn job(&self, pool: usize, script: Script, context: &Context<'_>) -> Outcome {
        let env = self
            .env
            .iter()
            .map(|(name, text, purpose)| {
                (name.clone(), text.evaluate(context, *purpose).into_owned())
            })
            .collect();
        Outcome::Script(Box::new(ScriptJob {
            pool,
            script,
            env,
            fastcgi: self.fastcgi.as_ref().map(|(upstreams, retry)| {
                Box::new(FastCgiJob {
                    upstreams: Rc::clone(upstreams),
                    hint: hint(upstreams.policy(), context),
                    forwarded: forwarded(context, context.trusts(upstreams.trusted_proxies())),
                    is_repeatable: retry.allows(&context.parts().method, context),
                })
            }),
            roadrunner: None,
            hub: self.hub,
            learns_hints: self.learns_hints,
        }))
    }
}

impl Handler for PhpScript {
    /// `php`: the script in the path, if it exists.
    fn run(&self, context: &mut Context<'_>) -> Outcome {
        let Some(root) = RootText::choose(self.root.as_ref(), context) else {
            return Outcome::answer(reply::not_found());
        };
        self.find_worker(&root, context)
            .or_else(|| self.path_script(&root, context))
            .unwrap_or_else(|| Outcome::answer(reply::not_found()))
    }
}

impl PhpServer {
    pub(crate) fn compile(
        server: &model::PhpServer,
        compiler: &Compiler,
    ) -> Result<Self, RouteError> {
        let candidates: Box<[Candidate]> = server
            .try_files
            .candidates
            .iter()
            .map(Candidate::new)
            .collect();
        let directory_index = server.index.as_deref().and_then(|index| {
            candidates
                .iter()
                .position(|candidate| candidate.below_path() == Some(&*format!("/{index}")))
        });
        let mut script = PhpScript::compile(&server.script, &compiler.pools);
        if let Some(fastcgi) = &server.fastcgi {
            let upstreams = FastCgi::new(fastcgi, &server.script, &compiler.pools.states);
            let retry = RetryRule::compile(&fastcgi.balance)?;
            script.fastcgi = Some((Rc::new(upstreams), retry));
        }
        let script = script;
        let intercept = match &server.fastcgi {
            Some(fastcgi) if !fastcgi.intercept.rules.is_empty() => {
                Some(intercept::compile(&fastcgi.intercept, compiler)?)
            }
            _ => None,
        };
        let is_script =
            |path: &&str| split_path(path, &script.split).is_some_and(|(_, info)| info.is_empty());
        let fallback = server
            .try_files
            .fallback_status
            .map(status::valid)
            .transpose()?;
        let front_controller = match fallback {
            Some(_) => None,
            None => candidates
                .last()
                .and_then(Candidate::constant)
                .filter(is_script),
        };
        let files = server
            .files
            .as_ref()
            .map(|files| {
                FileOptions::compile(files, Rc::clone(&script.split), &compiler.pools.users)
            })
            .map(Rc::new);
        Ok(Self {
            intercept,
            root: server.root.as_ref().map(RootText::new),
            front_controller: front_controller.map(Into::into),
            directory_index,
            candidates,
            fallback,
            files,
            files_root: server
                .files
                .as_ref()
                .and_then(|files| files.root.as_ref())
                .map(RootText::new),
            script,
        })
    }

    fn find(&self, context: &mut Context<'_>) -> Outcome {
        let root = self.root.as_ref().or(self.script.root.as_ref());
        let Some(root) = RootText::choose(root, context) else {
            return Outcome::answer(reply::not_found());
        };
        if let Some(outcome) = self.script.find_worker(&root, context) {
            return outcome;
        }
        let requested = match &self.front_controller {
            None => &self.candidates[..],
            Some(_) => &self.candidates[..self.candidates.len() - 1],
        };
        if let Some(found) = find(requested, context, &root, &self.script.split) {
            // `{path}/{index}` was found, but only because a script is within the path itself.
            if Some(found.index) == self.directory_index
                && found.path.len() <= context.path.len()
                && let Some(outcome) = self.script.path_script(&root, context)
            {
                return outcome;
            }
            if Some(found.index) == self.directory_index
                && !context.path.ends_with('/')
                && let Some(path) = context.slashless_path()
            {
                let redirect = reply::directory_redirect(&path, context.query());
                return Outcome::answer(redirect);
            }
            let query = found
                .query
                .map(|query| query.evaluate_query(context).into_owned());
            let (path, info) = (found.path.into_owned(), found.path_info);
            if has_hidden_segment(&path) {
                return Outcome::answer(reply::not_found());
            }
            if query.is_some() {
                context.query = query;
            }
            return self.serve_found(path, info, root, context);
        }
        if let Some(outcome) = self.run_front_controller(&root, context) {
            return outcome;
        }
        if let Some(status) = self.fallback {
            return Outcome::answer(reply::plain(status));
        }
        if let Some(outcome) = self.script.path_script(&root, context) {
            return outcome;
        }
        self.file(root, context)
    }

    /// Runs the script or sends the file of a candidate that exists. `info`: what follows the script in its path.
    fn serve_found(
        &self,
        path: String,
        info: String,
        root: Rc<Root>,
        context: &mut Context<'_>,
    ) -> Outcome {
        if split_path(&path, &self.script.split).is_some_and(|(_, info)| info.is_empty()) {
            let worker = self.script.workers.worker_of(&root, &path, context);
            let pool = worker.unwrap_or(self.script.classic);
            return self.script.script(pool, &root, path, info, context);
        }
        // Only `{path}` keeps the slash of the request: `/dir/` means its index.
        let same = context.path_without_slash() == path;
        if !same {
            context.set_path(path);
        }
        self.file(root, context)
    }

    /// Runs the front controller if there is one.
    fn run_front_controller(&self, root: &Root, context: &mut Context<'_>) -> Option<Outcome> {
        let name = self.front_controller.as_ref()?;
        let worker = self.script.workers.worker_of(root, name, context);
        // The script of a worker pool is known, whatever is on disk now. PHP-FPM's may be on another machine.
        let is_known = worker.is_some() || self.script.fastcgi.is_some();
        if !is_known && context.lookup.kind(root, name) != Kind::File {
            return None;
        }
        let query = self.candidates.last().and_then(Candidate::query);
        if let Some(query) = query.map(|text| text.evaluate_query(context)) {
            context.query = Some(query.into_owned());
        }
        let (pool, name) = (worker.unwrap_or(self.script.classic), name.to_string());
        let outcome = self.script.script(pool, root, name, String::new(), context);
        Some(outcome)
    }

    fn file(&self, root: Rc<Root>, context: &Context<'_>) -> Outcome {
        let Some(options) = &self.files else {
            return Outcome::Next;
        };
        let root = match &self.files_root {
            None => root,
            Some(own) => match own.evaluate(context) {
                Some(root) => root,
                None => return Outcome::answer(reply::not_found()),
            },
        };
        Outcome::File(file_job(root, Rc::clone(options), context))
    }
}

impl Handler for PhpServer {
    fn run(&self, context: &mut Context<'_>) -> Outcome {
        let outcome = self.find(context);
        if let (Outcome::Script(_), Some(intercept)) = (&outcome, &self.intercept) {
            context.intercepts.push(Rc::clone(intercept));
        }
        outcome
    }
}
