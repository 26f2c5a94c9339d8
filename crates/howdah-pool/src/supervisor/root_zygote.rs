//! The root zygote, which is restarted when it exits, and from which the pools' zygotes are requested.

use std::os::fd::AsFd;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;

use howdah_monitor::process;
use howdah_shm::layout::{EXIT_STATUS_BOOT, WORKERS_MAX};
use rustix::process::Signal;

use super::Supervisor;
use crate::messages::Event;
use crate::pool::generation::Phase;
use crate::process::control::{ControlError, Kind, Link, Message};
use crate::process::message_check::Sender;
use crate::process::process_identity::{ProcessIdentity, take_process};
use crate::process::root::Root;

/// A process that exits closes its sockets shortly before it can be waited for.
const ROOT_EXIT: Duration = Duration::from_millis(100);

/// Owner of a zygote.
#[derive(Debug, Clone, Copy)]
pub(super) struct Number {
    pub(super) pool: usize,
    pub(super) generation: u32,
    /// The root has reported that it runs.
    pub(super) started: bool,
    /// Its exit is expected.
    pub(super) dismissed: bool,
}

impl Supervisor {
    pub(super) async fn adopt_root(&mut self, root: Root) {
        self.root_generation += 1;
        let generation = self.root_generation;
        let sender = self.sender.clone();
        let link = Link::listen(root.control, move |message| {
            sender.send(Event::Root(generation, message)).is_ok()
        });
        self.root = Some((root.process, link));
        self.preloaded = root.preloaded.map(Arc::new);
        for pool in 0..self.pools.len() {
            self.start_pool(pool).await;
        }
    }

    pub(super) async fn start_root(&mut self) {
        if self.stopping || self.root.is_some() {
            return;
        }
        match Root::start(&self.options).await {
            Ok(root) => {
                tracing::info!(target: "howdah::pool", "PHP was restarted");
                self.adopt_root(root).await;
            }
            Err(error) => {
                tracing::error!(target: "howdah::pool", "{error}");
                self.restart_root();
            }
        }
    }

    fn restart_root(&mut self) {
        self.root_failures = self.root_failures.saturating_add(1);
        let millis = u64::from(self.root_failures)
            .saturating_pow(2)
            .saturating_mul(100);
        self.schedule(Duration::from_millis(millis.min(1000)), Event::StartRoot);
    }

    /// Takes a number that no zygote of this root has.
    pub(super) fn take_number(&mut self, pool: usize, generation: u32) -> Option<u32> {
        let number = Number {
            pool,
            generation,
            started: false,
            dismissed: false,
        };
        let free = self.numbers.iter().position(Option::is_none);
        if let Some(at) = free {
            self.numbers[at] = Some(number);
            return Some(at as u32);
        }
        let at = self.numbers.len() as u32;
        (at < WORKERS_MAX).then(|| {
            self.numbers.push(Some(number));
            at
        })
    }

    /// The zygote with this number will exit, which is not reported.
    pub(super) fn expect_zygote_exit(&mut self, number: u32) {
        if let Some(Some(number)) = self.numbers.get_mut(number as usize) {
            number.dismissed = true;
        }
    }

    pub(super) async fn root_message(&mut self, message: Message) {
        let meant = match message.contradiction(Sender::Root) {
            Some(flaw) => Err(flaw),
            None => self.message_about_zygote(message).await,
        };
        if let Err(text) = meant {
            self.root_disconnected(&ControlError::Unmeant(text)).await;
        }
    }

    async fn message_about_zygote(&mut self, message: Message) -> Result<(), String> {
        let entry = self.numbers.get_mut(message.worker as usize);
        let Some(number) = entry.and_then(Option::as_mut) else {
            return Err(format!(
                "{:?} of a zygote that was not requested",
                message.kind
            ));
        };
        if (message.kind == Kind::PoolExited) != number.started {
            return Err(format!("{:?} at the wrong time", message.kind));
        }
        number.started = true;
        let Number {
            pool: index,
            generation,
            dismissed,
            ..
        } = *number;
        match message.kind {
            Kind::PoolStarted => return self.zygote_started(index, generation, message).await,
            Kind::PoolExited => {
                self.numbers[message.worker as usize] = None;
                self.zygote_exited(index, generation, dismissed, &message);
            }
            _ => {
                self.numbers[message.worker as usize] = None;
                let text = String::from_utf8_lossy(&message.data).into_owned();
                self.boot_failed(index, generation, text);
            }
        }
        Ok(())
    }

    async fn zygote_started(
        &mut self,
        index: usize,
        id: u32,
        mut message: Message,
    ) -> Result<(), String> {
        let Some((process, link)) = &mut self.root else {
            return Ok(());
        };
        let Some(root) = process.pid() else {
            return Ok(()); // it has exited, which is reported next
        };
        let identity = ProcessIdentity::of_root(root);
        let pidfd = take_process(&mut message, identity, self.check_identity)?;
        let unwatched = pidfd.as_ref().err().map(|_| link.control.clone());
        let pool = &mut self.pools[index];
        tracing::debug!(target: "howdah::pool", pool = &*pool.name, generation = id, pid = message.pid, "zygote started");
        let Some(own) = pool.generation_mut(id) else {
            // The caller no longer needs it, and then could not kill it.
            if let Ok(pidfd) = pidfd {
                let _ = process::signal(pidfd.as_fd(), Signal::KILL);
            }
            return Ok(());
        };
        own.pid.send_replace(message.pid);
        match pidfd {
            Ok(pidfd) => {
                own.pidfd = Some(pidfd);
                if let Some(booted) = own.booted.take() {
                    self.booted(index, id, &booted).await;
                }
            }
            Err(text) if !self.stopping => {
                // Later it could not be killed, however long its boot takes.
                if let Some(root) = unwatched {
                    // An error means that the root exited, and its zygotes with it.
                    let _ = root.send(Kind::Kill, message.worker, &[], &[]).await;
                }
                self.boot_failed(index, id, format!("its process cannot be watched: {text}"));
            }
            Err(_) => {}
        }
        Ok(())
    }

    fn zygote_exited(&mut self, index: usize, id: u32, dismissed: bool, message: &Message) {
        let pool = &self.pools[index];
        let (name, pid) = (&*pool.name, message.pid);
        let status = ExitStatus::from_raw(message.status);
        let own = pool.generation(id);
        if let Some(own) = own {
            own.ended.send_replace(Some(status));
        }
        // A failed boot is reported with its output.
        let booting = own.is_some_and(|own| own.phase == Phase::Booting);
        let is_expected = dismissed || booting || status.code() == Some(EXIT_STATUS_BOOT);
        if !self.stopping && !dismissed && status.signal().is_some() {
            self.report_zygote(pool, own, id, pid, status);
        }
        if self.stopping || is_expected {
            tracing::debug!(target: "howdah::pool", pool = name, generation = id, pid, "zygote exited: {status}");
        } else {
            tracing::error!(target: "howdah::pool", pool = name, generation = id, pid, "zygote exited unexpectedly: {status}");
        }
    }

    pub(super) async fn root_disconnected(&mut self, error: &ControlError) {
        if self.stopping {
            return;
        }
        let Some((mut process, _)) = self.root.take() else {
            return;
        };
        let pid = process.number().unwrap_or_default();
        let ended = tokio::time::timeout(ROOT_EXIT, process.wait()).await;
        if let Ok(Ok(status)) = ended
            && status.signal().is_some()
        {
            self.report_root(pid, status);
        }
        // It may only have closed its socket, but without one it is useless.
        let _ = process.kill().await;
        let status = process
            .wait()
            .await
            .map(|status| status.to_string())
            .unwrap_or_default();
        tracing::error!(target: "howdah::pool", status, "the PHP root process exited: {error}; restarting it");
        self.numbers.clear();
        for index in 0..self.pools.len() {
            self.discard_generations(index);
        }
        self.restart_root();
    }
}
