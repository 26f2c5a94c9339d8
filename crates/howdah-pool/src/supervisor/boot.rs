//! How a generation starts: its zygote is requested, boots, and either accepts orders for workers
//! or exits, with its output as the reason.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Instant;

use howdah_shm::ProtocolViolation;
use howdah_shm::layout::{BOOTED_EACH, BOOTED_ONCE, BOOTED_UNFIT};
use rustix::process::Signal;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::{LAST_WORDS, ORPHAN_TIME, SLOW_BOOT, Supervisor};
use crate::User;
use crate::messages::Event;
use crate::pool::generation::{Generation, Phase};
use crate::process::control::{Control, ControlError, Kind, Link, Message};
use crate::process::encode;
use crate::process::log_pipe::StateRecord;
use crate::process::message_check::Sender;
use crate::process::tail::Tail;
use crate::process::worker_log;
use crate::record::Record;

impl Supervisor {
    /// Starts a generation if none exists.
    pub(super) async fn start_pool(&mut self, index: usize) {
        if !self.pools[index].is_started() {
            self.start_generation(index).await;
        }
    }

    /// Requests a zygote of a new generation from the root.
    pub(super) async fn start_generation(&mut self, index: usize) {
        if self.stopping || self.root.is_none() {
            return; // a new root starts all pools
        }
        if !self.pools[index].segment.is_mappable() {
            self.abandon_segment(index, ProtocolViolation::Header);
        }
        let pool = &mut self.pools[index];
        if pool.is_corrupt {
            return; // the generation is started with the next segment
        }
        pool.last_generation += 1;
        let id = pool.last_generation;
        let (pid, pid_receiver) = watch::channel(0);
        let mut generation = Generation::new(id, pool.boot_each, pid);
        let log_key = worker_log::key(u64::from(id));
        match self.request_zygote(index, &mut generation, log_key).await {
            Ok(reader) => {
                let source = worker_log::Source {
                    pool: self.pools[index].name.clone(),
                    worker: None,
                    log_key,
                    budget: self.pools[index].budget.clone(),
                    slow_log: None,
                    generation: id,
                    leaks: self.pools[index].leaks.clone(),
                    looks: self.pools[index].looks.clone(),
                    pid: pid_receiver,
                    recorder: generation.recorder.clone(),
                    tail: generation.tail.clone(),
                };
                // It has no exit status to report.
                let ignore = |_: StateRecord| {};
                generation.reader = Some(tokio::spawn(worker_log::forward(reader, source, ignore)));
                let pool = index;
                let generation = id;
                let event = Event::BootTimeout { pool, generation };
                self.schedule(self.options.start_timeout, event);
                if SLOW_BOOT < self.options.start_timeout {
                    let event = Event::BootSlow { pool, generation };
                    self.schedule(SLOW_BOOT, event);
                }
            }
            Err(text) => {
                if let Some(number) = self.numbers.get_mut(generation.number as usize) {
                    *number = None;
                }
                // As an event: the caller is not done yet.
                let event = Event::BootFailed {
                    pool: index,
                    generation: id,
                    text,
                };
                self.schedule(std::time::Duration::ZERO, event);
            }
        }
        self.pools[index].generations.push(generation);
    }

    /// Requests a zygote; returns the reading end of its log pipe.
    async fn request_zygote(
        &mut self,
        index: usize,
        generation: &mut Generation,
        log_key: u64,
    ) -> Result<OwnedFd, String> {
        let id = generation.id;
        generation.number = self
            .take_number(index, id)
            .ok_or("too many pools and generations exist at the same time")?;
        let Some((process, root)) = &self.root else {
            return Err("PHP is restarting".into());
        };
        process.resume();
        let pool = &self.pools[index];
        let data = encode::pool(&pool.options, id, generation.boot_each, log_key)
            .map_err(|error| error.to_string())?;
        let (control, theirs) = Control::pair().map_err(|error| error.to_string())?;
        let pipe = User::log_pipe(pool.options.user.as_ref());
        let (reader, writer) = pipe.map_err(|error| error.to_string())?;
        let mut fds: Vec<BorrowedFd<'_>> = vec![
            theirs.as_fd(),
            pool.segment.fd(),
            self.spool.as_fd(),
            writer.as_fd(),
        ];
        fds.extend(pool.segment.eventfds());
        fds.extend(pool.segment.worker_eventfds());
        fds.extend(pool.options.record.iter().map(Record::fd));
        // An error means that the root exited, which a separate event reports.
        let _ = root
            .control
            .send(Kind::Pool, generation.number, &data, &fds)
            .await;
        let sender = self.sender.clone();
        generation.link = Some(Link::listen(control, move |message| {
            let event = Event::Zygote {
                pool: index,
                generation: id,
                message,
            };
            sender.send(event).is_ok()
        }));
        Ok(reader.into())
    }

    pub(super) async fn zygote_message(&mut self, index: usize, id: u32, message: Message) {
        if self.pools[index].generation(id).is_none() {
            return;
        }
        let meant = match (message.contradiction(Sender::Pool), message.kind) {
            (Some(flaw), _) => Err(flaw),
            (None, Kind::Booted) => self.zygote_booted(index, id, message).await,
            (None, Kind::Spawned) => self.spawned(index, id, message),
            (None, Kind::Exited) => self.worker_exited(index, id, &message),
            (None, _) => self.spawn_failed(index, id, &message),
        };
        if let Err(text) = meant {
            self.zygote_disconnected(index, id, &ControlError::Unmeant(text));
        }
    }

    /// BOOTED is handled once the root has reported the process: workers are identified by it.
    async fn zygote_booted(
        &mut self,
        index: usize,
        id: u32,
        message: Message,
    ) -> Result<(), String> {
        let Some(generation) = self.pools[index].generation_mut(id) else {
            return Ok(());
        };
        if generation.phase != Phase::Booting || generation.booted.is_some() {
            return Err("Booted a second time".into());
        }
        if generation.pidfd.is_none() {
            generation.booted = Some(message);
            return Ok(());
        }
        self.booted(index, id, &message).await;
        Ok(())
    }

    pub(super) async fn booted(&mut self, index: usize, id: u32, message: &Message) {
        let pool = &mut self.pools[index];
        let sentence = String::from_utf8_lossy(&message.data);
        let Some(generation) = pool
            .generations
            .iter_mut()
            .find(|generation| generation.id == id && generation.phase == Phase::Booting)
        else {
            return;
        };
        match message.status {
            BOOTED_ONCE | BOOTED_EACH => {
                generation.phase = Phase::Serving;
                generation.boot_each = message.status == BOOTED_EACH;
                let millis = generation.since.elapsed().as_millis() as u64;
                tracing::debug!(target: "howdah::pool", pool = &*pool.name, generation = id, millis, "zygote booted");
                self.root_failures = 0;
                self.end_overdue(index);
                self.fill(index);
            }
            BOOTED_UNFIT if !generation.boot_each => {
                tracing::info!(
                    target: "howdah::pool", pool = &*pool.name,
                    "each worker boots separately, since forks cannot share what the script left open: {sentence}"
                );
                pool.boot_each = true;
                // Callers that wait for this generation wait for the next.
                if let Some((running, _)) = &mut pool.reload.running
                    && *running == id
                {
                    *running = pool.last_generation + 1;
                }
                self.release_generation(index, id);
                self.start_generation(index).await;
            }
            _ => {
                let text = format!("the zygote does not take workers: {sentence}");
                self.boot_failed(index, id, text);
            }
        }
    }

    /// A zygote has closed its control socket, or violated the protocol.
    pub(super) fn zygote_disconnected(&mut self, index: usize, id: u32, error: &ControlError) {
        let broke = error.is_breach();
        if self.stopping {
            if broke && let Some(mut generation) = self.pools[index].remove_generation(id) {
                generation.kill();
            }
            return;
        }
        let sender = self.sender.clone();
        let pool = &mut self.pools[index];
        let instead = pool.other_generation_serves(id);
        let Some(generation) = pool.generation_mut(id) else {
            return;
        };
        generation.kill();
        match generation.phase {
            Phase::Booting if broke => self.boot_failed(index, id, error.to_string()),
            Phase::Booting => {
                let text = boot_failure(generation, error.to_string());
                tokio::spawn(async move {
                    let _ = sender.send(Event::BootFailed {
                        pool: index,
                        generation: id,
                        text: text.await,
                    });
                });
            }
            Phase::Serving if !generation.complete => {
                let text = generation.tail.text();
                let text = if text.is_empty() || broke {
                    error.to_string()
                } else {
                    text
                };
                self.boot_failed(index, id, text);
            }
            Phase::Serving | Phase::Draining => {
                let was_serving = generation.phase == Phase::Serving;
                let (started, number) = (generation.since, generation.number);
                pool.remove_generation(id);
                if broke {
                    let count = pool.kill_workers(Some(id));
                    tracing::error!(
                        target: "howdah::pool", pool = &*pool.name, generation = id,
                        "{error}; terminating its zygote and {count} workers, and starting a new generation"
                    );
                    self.expect_zygote_exit(number);
                }
                self.forget_later(index, id);
                if was_serving && !instead {
                    let pool = &mut self.pools[index];
                    let wait = pool.back_off.fail(started, Instant::now());
                    self.schedule(wait, Event::StartPool(index));
                }
            }
        }
    }

    /// All zygotes exited with the root.
    pub(super) fn discard_generations(&mut self, index: usize) {
        let generations = std::mem::take(&mut self.pools[index].generations);
        for generation in generations {
            self.forget_later(index, generation.id);
        }
        self.finish_reload(index, Err("the PHP root process exited".into()));
    }

    fn forget_later(&self, pool: usize, generation: u32) {
        self.schedule(ORPHAN_TIME, Event::Forget { pool, generation });
    }

    /// Frees places that were being filled when the zygote exited: neither a process there nor its exit will ever be
    /// reported.
    pub(super) fn forget(&mut self, index: usize, id: u32) {
        let lost: Vec<_> = self.pools[index]
            .occupants()
            .filter(|(_, occupant)| occupant.generation == id && occupant.pidfd.is_none())
            .map(|(worker, _)| worker)
            .collect();
        for worker in lost {
            self.begin_recovery(index, worker);
        }
    }

    /// The boot of a generation failed: the previous one continues to serve, or the boot is
    /// retried.
    pub(super) fn boot_failed(&mut self, index: usize, id: u32, text: String) {
        let Some(generation) = self.end_boot(index, id) else {
            return;
        };
        let pool = &mut self.pools[index];
        pool.counters.boots_failed += 1;
        let name = &*pool.name;
        if let Some(serving) = pool.serving().next_back() {
            tracing::error!(
                target: "howdah::pool", pool = name, generation = id,
                "the boot failed; generation {} continues to serve: {text}", serving.id
            );
        } else if self.overlapping {
            // The caller logs it.
            pool.failure = Some(text.clone());
            self.note_failure(index);
        } else if !self.stopping {
            let wait = pool.back_off.fail(generation.since, Instant::now());
            tracing::error!(
                target: "howdah::pool", pool = name, generation = id,
                "the boot failed and will be retried in {} ms: {text}", wait.as_millis()
            );
            pool.failure = Some(text.clone());
            self.schedule(wait, Event::StartPool(index));
            self.note_failure(index);
        }
        self.pools[index].publish();
        if self.pools[index]
            .reload
            .running
            .as_ref()
            .is_some_and(|(running, _)| *running == id)
        {
            self.finish_reload(index, Err(text));
        }
        self.schedule(std::time::Duration::ZERO, Event::Fill(index));
    }

    /// Ends a generation that has not started to serve; the serving one can use all places again.
    pub(super) fn end_boot(&mut self, index: usize, id: u32) -> Option<Generation> {
        let pool = &mut self.pools[index];
        let mut generation = pool.remove_generation(id)?;
        generation.kill();
        // Its workers exit with it.
        for (_, occupant) in pool.occupants_mut() {
            if occupant.generation == id {
                occupant.stopping = true;
            }
        }
        pool.kill_workers(Some(id));
        let serving = pool.generations.iter_mut().rev();
        let mut serving = serving.filter(|generation| generation.phase == Phase::Serving);
        if let Some(serving) = serving.next() {
            serving.cap = usize::MAX;
        }
        self.expect_zygote_exit(generation.number);
        self.forget_later(index, id);
        Some(generation)
    }

    /// A boot failed and nothing serves: during the start of the server, this may end it.
    pub(super) fn note_failure(&mut self, index: usize) {
        let pool = &mut self.pools[index];
        pool.publish();
        if pool.up {
            return;
        }
        if self.overlapping {
            pool.given_up = true;
            return;
        }
        let tolerates = pool
            .options
            .worker()
            .is_some_and(crate::options::WorkerMode::tolerates_failure);
        if tolerates {
            pool.up = true;
        } else if let Some(most) = pool.options.max_consecutive_failures()
            && pool.back_off.failures() >= most
        {
            pool.given_up = true;
        }
    }

    /// Logs the reason why a start is slow.
    pub(super) fn boot_slow(&self, index: usize, id: u32) {
        let pool = &self.pools[index];
        let Some(generation) = pool.generation(id) else {
            return;
        };
        if generation.complete || generation.phase == Phase::Draining {
            return;
        }
        tracing::warn!(
            target: "howdah::pool", pool = &*pool.name, generation = id, pid = *generation.pid.borrow(),
            "the worker script has not requested work for {} seconds; it is killed after {}",
            generation.since.elapsed().as_secs(), self.options.start_timeout.as_secs()
        );
    }

    /// The time for a boot is over: a script that waits for something other than requests never ends.
    pub(super) fn boot_timeout(&mut self, index: usize, id: u32) {
        let Some(generation) = self.pools[index].generation(id) else {
            return;
        };
        if generation.complete || generation.phase == Phase::Draining {
            return;
        }
        let seconds = self.options.start_timeout.as_secs();
        let mut text = format!(
            "it did not wait for requests within {seconds} seconds; does the script call frankenphp_handle_request()?"
        );
        let words = generation.tail.text();
        if !words.is_empty() {
            text = format!("{text}\n{words}");
        }
        self.boot_failed(index, id, text);
    }

    /// Kills the zygotes that run a worker script.
    pub(super) fn kill_booting(&mut self, index: usize) {
        let booting: Vec<_> = self.pools[index]
            .generations
            .extract_if(.., |generation| generation.phase == Phase::Booting)
            .collect();
        for mut generation in booting {
            generation.kill();
            self.expect_zygote_exit(generation.number);
        }
    }

    /// Releases a generation that is no longer needed: its zygote exits when its socket is closed.
    pub(super) fn release_generation(&mut self, index: usize, id: u32) {
        if let Some(generation) = self.pools[index].remove_generation(id) {
            self.expect_zygote_exit(generation.number);
        }
    }
}

/// Why a zygote exited while its script booted: its last output, and a signal, if the root reports it in time.
fn boot_failure(
    generation: &mut Generation,
    error: String,
) -> impl Future<Output = String> + Send + use<> {
    let (tail, reader) = (generation.tail.clone(), generation.reader.take());
    let mut ended = generation.ended.subscribe();
    async move {
        let known = ended.wait_for(Option::is_some);
        let status = match tokio::time::timeout(LAST_WORDS, known).await {
            Ok(Ok(status)) => *status,
            // The root exited as well, or is busy.
            _ => None,
        };
        let crash = status.and_then(crash);
        let text = exit_reason(reader, &tail, crash.as_ref().unwrap_or(&error)).await;
        match crash {
            Some(crash) if text != crash => format!("{crash}\n{text}"),
            _ => text,
        }
    }
}

/// The message about a boot that a signal ended; `None` if it exited by itself.
fn crash(status: ExitStatus) -> Option<String> {
    let signal = status.signal()?;
    Some(if signal == Signal::KILL.as_raw() {
        "the PHP process was killed while the script booted (SIGKILL), perhaps by the kernel for lack of memory"
            .into()
    } else {
        format!(
            "PHP crashed while the script booted ({status}); the usual cause is an extension: try the script with \
            `howdah php-cli`, and disable extensions one by one"
        )
    })
}

/// The output of a process before it exited, or otherwise how it exited.
pub(super) async fn exit_reason(
    reader: Option<JoinHandle<()>>,
    tail: &Tail,
    otherwise: &str,
) -> String {
    if let Some(reader) = reader {
        let _ = tokio::time::timeout(LAST_WORDS, reader).await;
    }
    let text = tail.text();
    if text.is_empty() {
        otherwise.to_owned()
    } else {
        text
    }
}
