//! Worker processes: forked up to the target number, watched, and replaced.

use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::{Duration, Instant};

use howdah_shm::WorkerId;
use howdah_shm::layout::{EXIT_STATUS_BOOT, EXIT_STATUS_CPU, EXIT_STATUS_HUNG};
use tokio::io::Interest;
use tokio::sync::watch;

use super::Supervisor;
use super::boot::exit_reason;
use crate::User;
use crate::messages::{Event, FrontMessage};
use crate::pool::Pool;
use crate::pool::generation::{Generation, Phase};
use crate::pool::place::{LastProcess, Occupant, State};
use crate::process::control::{Control, ControlError, Kind, Message};
use crate::process::encode;
use crate::process::log_pipe::StateRecord;
use crate::process::process_identity::{ProcessIdentity, has_ended, take_process};
use crate::process::worker_log;
use crate::system::readiness::register;

/// Delay after the system refused a pipe or a fork.
const REFUSED: Duration = Duration::from_secs(1);
/// A fork takes a few milliseconds.
const ORDER_DUE: Duration = Duration::from_secs(1);
/// Outstanding spawn messages to a zygote: its socket has room for this many.
const AWAITED_MAX: usize = 32;
/// Exit status of a worker that a fatal error ended, its response complete.
const EXIT_STATUS_FATAL: i32 = 255;

impl Supervisor {
    /// Forks missing workers, in each generation that serves.
    pub(super) fn fill(&mut self, index: usize) {
        let pool = &self.pools[index];
        if self.stopping || pool.is_corrupt || !pool.back_off.wait(Instant::now()).is_zero() {
            return; // the failure has scheduled an event for the end of the delay
        }
        let pool = &self.pools[index];
        let serving: Vec<_> = pool
            .serving()
            .filter(|generation| generation.link.is_some())
            .map(|generation| (generation.id, generation.cap.min(pool.desired)))
            .collect();
        for (id, wanted) in serving {
            let present = self.pools[index].count(id, Occupant::counts);
            let awaited = self.pools[index].count(id, Occupant::is_awaited);
            let at_a_time = AWAITED_MAX.saturating_sub(awaited);
            for _ in (present..wanted).take(at_a_time) {
                let Some(worker) = self.pools[index].free_place() else {
                    self.make_room(index, id);
                    if let Some(wait) = self.pools[index].note_no_free_place(Instant::now()) {
                        self.schedule(wait, Event::Fill(index));
                    }
                    break;
                };
                if let Err(text) = self.spawn(index, worker, id) {
                    let pool = &*self.pools[index].name;
                    tracing::error!(target: "howdah::pool", pool, worker = worker.0, "worker not started: {text}");
                    self.schedule(REFUSED, Event::Fill(index));
                    return;
                }
            }
        }
    }

    /// All places are taken, and a generation needs workers: one worker of an earlier generation exits for it, when the
    /// previous one has exited.
    fn make_room(&mut self, index: usize, id: u32) {
        let pool = &mut self.pools[index];
        let exiting = pool.places.iter().any(|place| match &place.state {
            State::Vacant => false,
            State::Occupied(occupant) => occupant.stopping || occupant.ending,
            State::Recovering => true,
        });
        let older = pool.serving().map(|generation| generation.id).next();
        let Some(older) = older.filter(|older| *older < id && !exiting) else {
            return;
        };
        let counting = pool.count(older, Occupant::counts);
        let last = pool
            .occupants()
            .filter(|(_, occupant)| occupant.generation == older && occupant.counts())
            .last();
        if let Some((worker, _)) = last {
            pool.stop(worker);
            if let Some(generation) = pool.generation_mut(older) {
                generation.cap = counting - 1;
            }
        }
    }

    fn spawn(&mut self, index: usize, worker: WorkerId, id: u32) -> Result<(), String> {
        let pool = &mut self.pools[index];
        let pipe = User::log_pipe(pool.options.user.as_ref());
        let (reader, writer) = pipe.map_err(|error| error.to_string())?;
        let control = pool
            .generation(id)
            .and_then(|generation| generation.link.as_ref())
            .map(|link| link.control.clone())
            .ok_or("its zygote exited")?;
        let indices = pool
            .segment
            .admit(worker)
            .map_err(|error| error.to_string())?;
        let lifetime = pool.jitter.lifetime(&pool.options);
        self.serial += 1;
        let serial = self.serial;
        let log_key = worker_log::key(serial);
        let data = encode::spawn(lifetime, log_key, &indices);

        let (pid, pid_receiver) = watch::channel(0);
        let expires = pool.jitter.expiry(&pool.options, Instant::now());
        let mut occupant = Occupant::new(serial, id, pid, expires);
        let source = worker_log::Source {
            pool: pool.name.clone(),
            worker: Some((worker, pool.segment.clone())),
            log_key,
            budget: pool.budget.clone(),
            slow_log: pool.slow_log.clone(),
            generation: id,
            leaks: pool.leaks.clone(),
            looks: pool.looks.clone(),
            pid: pid_receiver,
            tail: occupant.tail.clone(),
            recorder: occupant.recorder.clone(),
        };
        let sender = self.sender.clone();
        let report = move |state| {
            let _ = sender.send(Event::State {
                pool: index,
                worker,
                serial,
                state,
            });
        };
        let forward = worker_log::forward(reader.into(), source, report);
        occupant.reader = Some(tokio::spawn(forward));
        pool.places[worker.index()].state = State::Occupied(Box::new(occupant));
        pool.counters.spawned += 1;
        self.order(
            index,
            id,
            &control,
            (Kind::Spawn, worker),
            &data,
            &[writer.as_fd()],
        );
        Ok(())
    }

    /// Sends an order to a zygote without waiting, so that other pools continue.
    fn order(
        &self,
        pool: usize,
        generation: u32,
        control: &Control,
        (kind, worker): (Kind, WorkerId),
        data: &[u8],
        fds: &[BorrowedFd<'_>],
    ) {
        // Any other error means that the zygote exited, which a separate event reports.
        if let Err(ControlError::Full) = control.offer(kind, u32::from(worker.0), data, fds) {
            let event = Event::Zygote {
                pool,
                generation,
                message: Err(ControlError::Full),
            };
            self.schedule(Duration::ZERO, event);
        } else {
            self.schedule(ORDER_DUE, Event::OrderDue { pool, generation });
        }
    }

    /// A zygote that has not forked a requested worker may be stopped.
    pub(super) fn order_due(&self, pool: usize, id: u32) {
        let pool = &self.pools[pool];
        if let Some(zygote) = pool.generation(id)
            && pool.count(id, Occupant::is_awaited) > 0
        {
            zygote.resume();
        }
    }

    /// A process that a zygote announces is watched and signalled only if the kernel confirms that it is the zygote's
    /// child.
    pub(super) fn spawned(
        &mut self,
        index: usize,
        id: u32,
        mut message: Message,
    ) -> Result<(), String> {
        let worker = WorkerId(message.worker as u16);
        let (sender, check) = (self.sender.clone(), self.check_identity);
        let pool = &mut self.pools[index];
        let uid = pool.options.user.as_ref().map(|user| user.uid);
        let awaited = pool.count(id, Occupant::is_awaited);
        let Some(generation) = pool.generation_mut(id) else {
            return Ok(());
        };
        if !generation.is_alive() {
            return Ok(()); // its exit is reported next, and its children no longer belong to it
        }
        let identity = ProcessIdentity::of_zygote(*generation.pid.borrow(), uid);
        generation.announced += 1;
        let Some(occupant) = pool.pending_occupant(worker, id) else {
            return Err(format!(
                "Spawned for worker {}, which was not requested",
                worker.0
            ));
        };
        let pidfd = take_process(&mut message, identity, check)?
            .and_then(|fd| register(fd, Interest::READABLE).map_err(|error| error.to_string()));
        occupant.pid.send_replace(message.pid);
        let pidfd = match pidfd {
            Ok(pidfd) => Arc::new(pidfd),
            Err(text) => {
                self.refuse_unwatched(index, worker, id, &text);
                return Ok(());
            }
        };
        let (waiting, serial) = (pidfd.clone(), occupant.serial);
        tokio::spawn(async move {
            // An error would mean that the reactor is shutting down.
            let _ = waiting.readable().await;
            let _ = sender.send(Event::Gone {
                pool: index,
                worker,
                serial,
            });
        });
        occupant.pidfd = Some(pidfd);
        tracing::debug!(target: "howdah::pool", pool = &*pool.name, worker = worker.0, pid = message.pid, "worker started");
        if awaited >= AWAITED_MAX {
            self.fill(index);
        }
        Ok(())
    }

    /// The exit of this worker would not be noticed, so it must not serve. Its place is free when its zygote has
    /// reported its exit.
    fn refuse_unwatched(&mut self, index: usize, worker: WorkerId, id: u32, reason: &str) {
        let pool = &mut self.pools[index];
        let Some(occupant) = pool.places[worker.index()].occupant_mut() else {
            return;
        };
        occupant.killed = true;
        let since = occupant.since;
        let control = pool
            .generation(id)
            .and_then(|generation| Some(generation.link.as_ref()?.control.clone()));
        if let Some(control) = control {
            self.order(index, id, &control, (Kind::Kill, worker), &[], &[]);
        }
        if self.stopping {
            return;
        }
        let wait = self.pools[index].back_off.fail(since, Instant::now());
        self.schedule(wait, Event::Fill(index));
        self.worker_failed(
            index,
            id,
            format!("its process cannot be watched: {reason}"),
        );
    }

    pub(super) fn spawn_failed(
        &mut self,
        index: usize,
        id: u32,
        message: &Message,
    ) -> Result<(), String> {
        let worker = WorkerId(message.worker as u16);
        let pool = &mut self.pools[index];
        let Some(started) = pool
            .pending_occupant(worker, id)
            .map(|occupant| occupant.since)
        else {
            return Err(format!(
                "Failed for worker {}, which was not requested",
                worker.0
            ));
        };
        let text = String::from_utf8_lossy(&message.data);
        tracing::error!(target: "howdah::pool", pool = &*pool.name, worker = worker.0, "worker not started: {text}");
        let wait = pool.back_off.fail(started, Instant::now());
        self.schedule(wait, Event::Fill(index));
        self.begin_recovery(index, worker);
        Ok(())
    }

    pub(super) async fn state_record(
        &mut self,
        index: usize,
        worker: WorkerId,
        serial: u64,
        state: StateRecord,
    ) {
        let pool = &mut self.pools[index];
        let Some(occupant) = pool.occupant(worker, serial) else {
            return;
        };
        match state {
            StateRecord::Ready if !occupant.ready && !occupant.killed => {
                occupant.ready = true;
                occupant.active.1 = Instant::now();
                occupant.tail.close();
                let id = occupant.generation;
                let millis = occupant.since.elapsed().as_millis() as u64;
                tracing::debug!(target: "howdah::pool", pool = &*pool.name, worker = worker.0, millis, "worker ready");
                pool.ends.add(worker);
                pool.counters.ready += 1;
                pool.failure = None;
                if let Some(generation) = pool.generation_mut(id) {
                    generation.readied += 1;
                }
                self.settle(index);
            }
            StateRecord::Retiring if !occupant.retiring => {
                occupant.retiring = true;
                self.fill(index);
            }
            StateRecord::Outgrown if !occupant.retiring => {
                pool.on_memory_exceeded(worker, serial);
                self.fill(index);
            }
            StateRecord::Traced if occupant.traced.is_some() => {
                self.kill_traced(index, worker, serial);
            }
            // Not while it boots: a boot that resets OPcache would repeat forever.
            StateRecord::Reload if occupant.ready => {
                self.resets.notify_one();
                self.reload_requested(index, false).await;
            }
            StateRecord::Reset => self.resets.notify_one(),
            StateRecord::Sequential(cause) => occupant.sequential_cause = Some(cause),
            _ => {}
        }
    }

    /// The number of serving workers has changed: a generation may be complete, and workers that wait for their
    /// successors may exit.
    pub(super) fn settle(&mut self, index: usize) {
        let pool = &mut self.pools[index];
        let newest = pool.serving().next_back().map(|generation| {
            let wanted = pool.desired;
            // Workers with short lives are never all present at the same time while requests
            // arrive.
            let all_there = pool.count(generation.id, Occupant::serves) >= wanted
                || generation.readied >= 2 * wanted;
            (generation.id, !generation.complete && all_there)
        });
        if let Some((id, true)) = newest {
            self.completed(index, id);
        }
        let pool = &mut self.pools[index];
        let serving: Vec<_> = pool.serving().map(|generation| generation.id).collect();
        for id in serving {
            let surplus = pool
                .count(id, Occupant::serves)
                .saturating_sub(pool.desired);
            let replaced: Vec<_> = pool
                .occupants()
                .filter(|(_, occupant)| {
                    occupant.generation == id && occupant.serves() && occupant.retiring
                })
                .map(|(worker, _)| worker)
                .take(surplus)
                .collect();
            for worker in replaced {
                pool.stop(worker);
            }
        }
        pool.publish();
    }

    /// A worker has begun to exit: the successor need not wait until its memory is freed.
    pub(super) fn worker_ending(&mut self, index: usize, worker: WorkerId) {
        let pool = &mut self.pools[index];
        // This may concern the previous process.
        if !pool.segment.is_ending(worker) {
            return;
        }
        let served = pool
            .segment
            .worker(worker)
            .map_or(0, |words| words.requests);
        let Some(occupant) = pool.places[worker.index()].occupant_mut() else {
            return;
        };
        if occupant.would_fail(served) {
            return; // its successor must wait until it has exited
        }
        occupant.ending = true;
        // Otherwise the place of this one is filled next.
        if pool.free_place().is_some() {
            self.fill(index);
        }
    }

    pub(super) fn worker_exited_unseen(&mut self, index: usize, worker: WorkerId, serial: u64) {
        let sender = self.sender.clone();
        let stopping = self.stopping;
        let pool = &mut self.pools[index];
        let status = pool.segment.worker(worker);
        let Some(occupant) = pool.occupant(worker, serial) else {
            return;
        };
        let served = status.map_or(0, |status| status.requests);
        let expected = occupant.exit_is_expected() || stopping;
        let last = LastProcess {
            pid: occupant.pid(),
            request_id: status
                .and_then(|status| status.request_id)
                .map_or(0, u64::from),
            expected,
            recycles: occupant.recycles(expected),
        };
        let failed = occupant.would_fail(served);
        let (id, started, was_ready) = (occupant.generation, occupant.since, occupant.ready);
        if !was_ready && !expected {
            let (tail, reader) = (occupant.tail.clone(), occupant.reader.take());
            tokio::spawn(async move {
                let text = exit_reason(reader, &tail, "it exited without a message").await;
                let _ = sender.send(Event::WorkerFailed {
                    pool: index,
                    generation: id,
                    text,
                });
            });
        }
        pool.places[worker.index()].last = Some(last);
        if failed && !expected {
            let wait = pool.back_off.fail(started, Instant::now());
            self.schedule(wait, Event::Fill(index));
        } else if served > 0 {
            pool.back_off.reset();
        }
        if self.pools[index].is_corrupt && !stopping {
            // Its requests are recovered when the segment is replaced.
            self.pools[index].places[worker.index()].state = State::Vacant;
            self.replace_segment_when_gone(index);
            return;
        }
        self.begin_recovery(index, worker);
        self.pools[index].publish();
        self.check_drained(index, id);
        self.fill(index);
    }

    /// A worker exited before it was ready, with this output or for this reason.
    pub(super) fn worker_failed(&mut self, index: usize, id: u32, text: String) {
        let pool = &mut self.pools[index];
        let instead = pool.other_generation_serves(id);
        let Some(generation) = pool
            .generation(id)
            .filter(|generation| generation.phase == Phase::Serving)
        else {
            return;
        };
        if !generation.complete && instead {
            // A reload: the previous generation continues alone.
            self.boot_failed(index, id, text);
            return;
        }
        // A worker of a serving generation may have been killed from outside: requests wait for the next.
        let refuses = !generation.complete || pool.back_off.failures() > 1;
        let wait = pool.back_off.wait(Instant::now()).as_millis();
        tracing::error!(
            target: "howdah::pool", pool = &*pool.name, generation = id,
            "a worker exited before it was ready; the next one starts in {wait} ms: {text}"
        );
        pool.counters.boots_failed += 1;
        if refuses {
            pool.failure = Some(text);
        }
        self.note_failure(index);
    }

    pub(super) fn begin_recovery(&mut self, index: usize, worker: WorkerId) {
        let stopping = self.stopping;
        let pool = &self.pools[index];
        let place = &pool.places[worker.index()];
        let overdue = place.occupant().is_some_and(|occupant| occupant.overdue);
        let crashed = !stopping
            && place.occupant().is_some_and(|own| {
                // The kernel kills all workers of a zygote that exits: none of their requests is to blame.
                let mut generations = pool.generations.iter();
                let own_zygote = generations.find(|generation| generation.id == own.generation);
                !own.exit_is_expected() && own_zygote.is_some_and(Generation::is_alive)
            });
        let report = if crashed {
            self.begin_report(index, worker)
        } else {
            None
        };
        let pool = &mut self.pools[index];
        pool.places[worker.index()].vacate();
        for front in &pool.fronts {
            let message = if overdue {
                FrontMessage::WorkerOverdue(worker)
            } else if crashed {
                FrontMessage::WorkerCrashed(worker, report.clone())
            } else {
                FrontMessage::WorkerGone(worker)
            };
            // A front thread that exited has nothing left to recover.
            let _ = front.send(message);
        }
    }

    pub(super) fn on_recovery(&mut self, index: usize, worker: WorkerId) {
        let pool = &mut self.pools[index];
        pool.places[worker.index()].state = State::Vacant;
        pool.all_leave = None;
        self.fill(index);
    }

    /// The exit status of a worker has arrived, before or after its pidfd became readable.
    pub(super) fn worker_exited(
        &mut self,
        index: usize,
        id: u32,
        message: &Message,
    ) -> Result<(), String> {
        let Some(process) = self.exited_process(index, id, message)? else {
            return Ok(());
        };
        let worker = WorkerId(message.worker as u16);
        let pool = &mut self.pools[index];
        count_exit(pool, worker, process, ExitStatus::from_raw(message.status));
        let unwatched = pool.places[worker.index()]
            .occupant()
            .filter(|occupant| occupant.pidfd.is_none() && process.pid != 0)
            .filter(|occupant| occupant.pid() == process.pid)
            .map(|occupant| occupant.serial);
        if let Some(serial) = unwatched {
            self.worker_exited_unseen(index, worker, serial);
        }
        Ok(())
    }

    /// The process that a zygote reports as exited. `None` if a later process has already exited in its place.
    ///
    /// # Errors
    /// The report cannot be true.
    fn exited_process(
        &mut self,
        index: usize,
        id: u32,
        message: &Message,
    ) -> Result<Option<LastProcess>, String> {
        let worker = WorkerId(message.worker as u16);
        let status = ExitStatus::from_raw(message.status);
        let pool = &mut self.pools[index];
        let Some(generation) = pool.generation_mut(id) else {
            return Ok(None);
        };
        generation.announced = match generation.announced.checked_sub(1) {
            Some(left) => left,
            None => return Err("Exited of a worker that it does not have".into()),
        };
        let Some(place) = pool.places.get(worker.index()) else {
            return Err(format!(
                "Exited of worker {}, which does not exist",
                worker.0
            ));
        };
        match (place.occupant(), place.last) {
            (Some(occupant), _) if occupant.pid() == message.pid && occupant.generation == id => {
                if occupant
                    .pidfd
                    .as_ref()
                    .is_some_and(|pidfd| !has_ended(pidfd.get_ref().as_fd()))
                {
                    return Err(format!("Exited of worker {}, which runs", worker.0));
                }
                let words = pool.segment.worker(worker);
                let request_id = words.and_then(|words| words.request_id);
                occupant.exit.send_replace(Some(status));
                let expected = occupant.exit_is_expected() || self.stopping;
                Ok(Some(LastProcess {
                    pid: message.pid,
                    request_id: request_id.map_or(0, u64::from),
                    expected,
                    recycles: occupant.recycles(expected),
                }))
            }
            (_, Some(last)) if last.pid == message.pid => {
                if let Some(exit) = &place.last_exit {
                    exit.send_replace(Some(status));
                }
                Ok(Some(last))
            }
            _ => Ok(None),
        }
    }
}

/// Counts and logs the exit of a worker by its status.
fn count_exit(pool: &mut Pool, worker: WorkerId, process: LastProcess, status: ExitStatus) {
    let (name, worker, text) = (&*pool.name, worker.0, status.to_string());
    let LastProcess {
        pid,
        request_id,
        expected,
        recycles,
    } = process;
    let hexadecimal = (request_id != 0).then(|| format!("{request_id:016x}"));
    let request_id = hexadecimal.as_deref();
    match (status.code(), request_id) {
        (Some(EXIT_STATUS_FATAL), None) => {
            pool.counters.fatal += 1;
            tracing::info!(target: "howdah::pool", pool = name, worker, pid, "worker exited after a fatal error");
        }
        // The front responds, with the reason.
        (Some(EXIT_STATUS_CPU), Some(request_id)) => {
            pool.counters.killed += 1;
            tracing::warn!(target: "howdah::pool", pool = name, worker, pid, request_id, "worker killed: its \
                request exceeded `cpu_timeout`");
        }
        (Some(EXIT_STATUS_HUNG), Some(request_id)) => {
            pool.counters.killed += 1;
            tracing::warn!(target: "howdah::pool", pool = name, worker, pid, request_id, "worker killed: it \
                made no progress for `hang_timeout`");
        }
        // A failed boot is reported with its output.
        (Some(0 | EXIT_STATUS_BOOT), _) => {
            pool.counters.recycled += u64::from(recycles);
            tracing::debug!(target: "howdah::pool", pool = name, worker, pid, status = text, "worker exited");
        }
        // With `exit restart` the status is the application's own, and the response was complete.
        (code, _) if expected || (request_id.is_none() && code.is_some()) => {
            pool.counters.recycled += u64::from(recycles && code.is_some());
            tracing::debug!(target: "howdah::pool", pool = name, worker, pid, status = text, "worker exited");
        }
        _ => {
            pool.counters.crashed += 1;
            tracing::warn!(target: "howdah::pool", pool = name, worker, pid, request_id, status = text, "worker died");
        }
    }
}
