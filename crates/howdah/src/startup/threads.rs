//! The front threads.

use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::thread::JoinHandle;

use howdah_http::{Hooks, Server, Shutdown};

use crate::failure::Failure;
use crate::php::tree::Parts;
use crate::server::application::PhpApplication;

pub(super) fn start_threads(
    server: &Arc<Server>,
    parts: &Arc<Parts>,
    shutdown: &Shutdown,
) -> Result<Vec<JoinHandle<()>>, Failure> {
    let mut threads = Vec::new();
    for index in 0..server.threads() {
        let (server, parts, shutdown) = (server.clone(), parts.clone(), shutdown.clone());
        let hooks = Hooks {
            on_thread_park: Some(Box::new(howdah_pool::before_park)),
            on_thread_unpark: Some(Box::new(howdah_pool::after_unpark)),
        };
        let run = move || {
            let application = move || {
                let application = PhpApplication::join(parts, index)?;
                application
                    .map(Rc::new)
                    .ok_or(io::ErrorKind::NotFound.into())
            };
            if let Err(error) = server.run_thread(index, hooks, &shutdown, application) {
                tracing::error!(target: "howdah", "{error}");
            }
        };
        let thread = std::thread::Builder::new()
            .name(format!("front-{index}"))
            .spawn(run);
        threads.push(thread.map_err(|error| Failure::Runtime(error.to_string()))?);
    }
    Ok(threads)
}
