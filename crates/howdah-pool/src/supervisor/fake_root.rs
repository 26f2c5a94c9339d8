//! A root, zygotes and workers for tests: tasks and threads of the test that follow the contract. Each zygote and
//! worker has a process, a shell that waits for its exit status, so that pids, pidfds, signals and exits are real.

use std::collections::{HashMap, VecDeque};
use std::fs::File;
use std::io::Write;
use std::os::fd::{AsFd, OwnedFd};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, Weak};

use howdah_shm::layout::{
    BOOTED_EACH, BOOTED_ONCE, BOOTED_UNFIT, EXIT_STATUS_BOOT, POOL_FLAG_BOOT_EACH,
    POOL_OPTIONS_SIZE, SPAWN_SIZE,
};
use howdah_shm::worker::{Claim, ResponseWriter, Worker};
use howdah_shm::{Exit, Segment, WorkerId};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};
use tokio::io::Interest;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::fake_concurrent;
use crate::process::control::{Control, Header, Kind, Message};
use crate::process::encode::Lifetime;
use crate::process::root::{PhpInfo, Root};
use crate::process::root_process::RootProcess;
use crate::system::readiness::register;

/// What its PHP reports.
pub(super) fn php_info() -> PhpInfo {
    PhpInfo {
        php: "8.2.35".into(),
        zts: false,
        opcache: true,
        ini_file: None,
        ini_scanned: None,
        ini_files: Vec::new(),
        binary: None,
        extensions: Vec::new(),
        warnings: Vec::new(),
    }
}

/// What happens to a generation that is started.
#[derive(Debug, Clone)]
pub(super) enum Boot {
    /// It starts as requested.
    Good,
    /// The zygote reports this, and that forks cannot work.
    Unfit(&'static str),
    /// The zygote writes this and exits.
    Bad(&'static str),
    /// The zygote boots forever.
    Hangs,
    /// Each worker writes this and exits.
    BadWorkers(&'static str),
}

/// A generation as a POOL message requests it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PoolRequest {
    pub(super) flags: u32,
    pub(super) generation: u32,
}

#[derive(Debug, Default)]
pub(super) struct Plan {
    /// For the next generations; then [`Boot::Good`].
    pub(super) boots: VecDeque<Boot>,
    /// What each POOL message requested.
    pub(super) requested: Vec<PoolRequest>,
    pub(super) segments: Vec<Arc<Segment>>,
    /// When each worker was to exit.
    pub(super) lifetimes: Vec<Lifetime>,
    /// The last zygotes with these numbers, by pid.
    pub(super) zygotes: HashMap<u32, i32>,
    /// The root's end of its control socket.
    pub(super) root: Weak<Control>,
    /// The zygotes' ends of theirs, in the order of their requests.
    pub(super) controls: Vec<Weak<Control>>,
    /// So many future zygotes are announced without their pidfds, as if the receiver had too many open files.
    pub(super) unwatched_zygotes: usize,
    /// The same for workers. They boot until they are killed.
    pub(super) unwatched_workers: usize,
    /// So many future workers are announced as process 1.
    pub(super) strange_workers: usize,
}

/// Decrements the counter; false if it is 0.
fn take_one(left: &mut usize) -> bool {
    let any = *left > 0;
    *left = left.saturating_sub(1);
    any
}

#[derive(Debug, Clone)]
pub(super) struct FakeRoot {
    pub(super) plan: Arc<Mutex<Plan>>,
}

/// A process that exits with the given status, or is killed. It ignores the backtrace signal, like a worker that cannot
/// respond to it.
fn process() -> (Child, OwnedFd) {
    let mut command = Command::new("sh");
    command.args(["-c", "trap '' 39; echo; read status; exit $status"]);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("a shell");
    // The trap is set when the line has arrived.
    let mut line = [0];
    let stdout = child.stdout.as_mut().expect("piped");
    std::io::Read::read_exact(stdout, &mut line).expect("a line");
    let pid = Pid::from_raw(child.id().cast_signed()).expect("a pid");
    let pidfd = pidfd_open(pid, PidfdFlags::empty()).expect("a pidfd");
    (child, pidfd)
}

/// Waits for its exit and returns its wait status.
async fn ended(mut child: Child, pidfd: OwnedFd) -> i32 {
    let pidfd = register(pidfd, Interest::READABLE).expect("registered");
    drop(pidfd.readable().await.expect("readable"));
    let status = child.wait().expect("a child of ours");
    std::os::unix::process::ExitStatusExt::into_raw(status)
}

/// A worker's log pipe.
struct Log {
    file: File,
    key: u64,
}

impl Log {
    fn state(&mut self, word: &str) {
        let record = format!("\x1es{:016x}{:08x}{:016x}{word}", 0, word.len(), self.key);
        self.file.write_all(record.as_bytes()).expect("written");
    }
}

fn kill(pid: i32) {
    let pid = Pid::from_raw(pid).expect("a pid");
    // It may have exited already.
    let _ = kill_process(pid, Signal::KILL);
}

/// A zygote, as its workers need it.
struct Zygote {
    segment: Arc<Segment>,
    generation: u32,
    /// Requests that a worker may have at a time.
    places: usize,
    boot: Boot,
    control: Arc<Control>,
}

/// A worker that runs.
struct RunningWorker {
    pid: i32,
    /// Reports its death to the task that waits for its exit.
    kill: oneshot::Sender<()>,
}

/// Reports a process to the front; without a pidfd the message looks as if there was no room for
/// it.
async fn announce(to: &Control, header: Header, pidfd: Option<&OwnedFd>) {
    let sent = match pidfd {
        Some(pidfd) => to.report(header, b"", &[pidfd.as_fd()]).await,
        None => to.report_cut(header).await,
    };
    sent.expect("sent");
}

fn words(data: &[u8]) -> Vec<u32> {
    data.chunks_exact(4)
        .map(|word| u32::from_le_bytes(word.try_into().expect("4 bytes")))
        .collect()
}

/// Two words as one.
fn long(words: &[u32]) -> u64 {
    u64::from(words[0]) | u64::from(words[1]) << 32
}

impl FakeRoot {
    /// Starts the root.
    pub(super) fn root(&self) -> Root {
        let (control, theirs) = Control::pair().expect("a socket pair");
        let theirs = Arc::new(Control::adopt(theirs).expect("registered"));
        let mut command = tokio::process::Command::new("sh");
        command.args(["-c", "read line"]).stdin(Stdio::piped());
        let child = command.kill_on_drop(true).spawn().expect("a shell");
        let fake = self.clone();
        self.plan.lock().expect("no panic").root = Arc::downgrade(&theirs);
        tokio::spawn(async move {
            while let Ok(message) = theirs.receive().await {
                if message.kind == Kind::Kill {
                    kill(fake.plan.lock().expect("no panic").zygotes[&message.worker]);
                    continue;
                }
                assert_eq!(message.kind, Kind::Pool);
                tokio::spawn(fake.clone().zygote(message, theirs.clone()));
            }
        });
        Root {
            process: RootProcess::Child(child),
            control,
            info: php_info(),
            preloaded: None,
        }
    }

    async fn zygote(self, message: Message, root: Arc<Control>) {
        let options = words(&message.data[..POOL_OPTIONS_SIZE]);
        let requested = PoolRequest {
            flags: options[1],
            generation: options[4],
        };
        let segment = Segment::of_file(message.fds[1].as_fd()).expect("a segment");
        let boot = {
            let mut plan = self.plan.lock().expect("no panic");
            plan.requested.push(requested);
            plan.segments.push(segment.clone());
            plan.boots.pop_front().unwrap_or(Boot::Good)
        };
        let number = message.worker;
        let places = options[14] as usize;
        let geometry = segment.geometry();
        let events = if places > 1 { geometry.workers() } else { 0 };
        assert_eq!(message.fds.len() as u32, 4 + geometry.fronts() + events);
        let mut fds = message.fds.into_iter();
        let control = Control::adopt(fds.next().expect("a control socket")).expect("registered");
        let control = Arc::new(control);
        let mut log = File::from(fds.nth(2).expect("a log pipe"));
        let (mut child, pidfd) = process();
        let pid = child.id().cast_signed();
        let unwatched = {
            let mut plan = self.plan.lock().expect("no panic");
            plan.zygotes.insert(number, pid);
            plan.controls.push(Arc::downgrade(&control));
            take_one(&mut plan.unwatched_zygotes)
        };
        let started = Header {
            pid,
            ..Header::new(Kind::PoolStarted, number)
        };
        announce(&root, started, (!unwatched).then_some(&pidfd)).await;

        let mut stdin = child.stdin.take().expect("piped");
        let mut leave = move |status: i32| {
            // It may have been killed.
            let _ = writeln!(stdin, "{status}");
        };
        let alive = tokio::spawn(ended(child, pidfd));
        let boots_each = requested.flags & POOL_FLAG_BOOT_EACH != 0;
        let booted = match &boot {
            Boot::Good | Boot::BadWorkers(_) if boots_each => Some((BOOTED_EACH, "")),
            Boot::Good | Boot::BadWorkers(_) => Some((BOOTED_ONCE, "")),
            Boot::Unfit(text) => Some((BOOTED_UNFIT, *text)),
            Boot::Bad(text) => {
                log.write_all(text.as_bytes()).expect("written");
                leave(EXIT_STATUS_BOOT);
                None
            }
            Boot::Hangs => None,
        };
        if let Some((status, text)) = booted {
            let booted = Header {
                status,
                ..Header::new(Kind::Booted, 0)
            };
            let sent = control.report(booted, text.as_bytes(), &[]);
            sent.await.expect("sent");
        }
        let zygote = Zygote {
            segment,
            generation: requested.generation,
            places,
            boot,
            control,
        };
        let status = self.serve_zygote(&zygote, alive, leave).await;
        drop((zygote, log));
        let exited = Header {
            kind: Kind::PoolExited,
            worker: number,
            pid,
            status,
        };
        // The root may have exited.
        let _ = root.report(exited, b"", &[]).await;
    }

    /// Forks workers until the zygote's process has exited; returns its wait status.
    async fn serve_zygote(
        &self,
        zygote: &Zygote,
        mut alive: JoinHandle<i32>,
        mut leave: impl FnMut(i32),
    ) -> i32 {
        let mut workers: HashMap<WorkerId, RunningWorker> = HashMap::new();
        let status = loop {
            tokio::select! {
                status = &mut alive => break status.expect("no panic"),
                message = zygote.control.receive() => match message {
                    Ok(message) if message.kind == Kind::Kill => kill(workers[&WorkerId(message.worker as u16)].pid),
                    Ok(message) => {
                        let id = WorkerId(message.worker as u16);
                        workers.insert(id, self.worker(message, zygote).await);
                    }
                    Err(_) if matches!(zygote.boot, Boot::Hangs) => break (&mut alive).await.expect("no panic"),
                    Err(_) => {
                        leave(0);
                        break (&mut alive).await.expect("no panic");
                    }
                },
            }
        };
        // Its workers exit with it.
        for (_, worker) in workers {
            let _ = worker.kill.send(());
        }
        status
    }

    async fn worker(&self, message: Message, zygote: &Zygote) -> RunningWorker {
        assert_eq!(message.kind, Kind::Spawn);
        let id = WorkerId(message.worker as u16);
        let spawn = words(&message.data[..SPAWN_SIZE]);
        let write = words(&message.data[SPAWN_SIZE..]);
        let lifetime = Lifetime {
            max_requests: spawn[0],
            retire_after: spawn[1],
            max_memory: long(&spawn[4..]),
            max_memory_growth: long(&spawn[6..]),
        };
        let (unwatched, strange) = {
            let mut plan = self.plan.lock().expect("no panic");
            plan.lifetimes.push(lifetime);
            (
                take_one(&mut plan.unwatched_workers),
                take_one(&mut plan.strange_workers),
            )
        };
        let log = Log {
            file: File::from(message.fds.into_iter().next().expect("a log pipe")),
            key: long(&spawn[2..]),
        };
        let (mut child, pidfd) = process();
        let pid = child.id().cast_signed();
        let spawned = Header {
            pid: if strange { 1 } else { pid },
            ..Header::new(Kind::Spawned, message.worker)
        };
        announce(&zygote.control, spawned, (!unwatched).then_some(&pidfd)).await;
        let stdin = child.stdin.take().expect("piped");
        let worker = Worker::attach_at(&zygote.segment, id, &write);
        let bad = match zygote.boot {
            Boot::BadWorkers(text) => Some(text),
            _ => None,
        };
        let (generation, places) = (zygote.generation, zygote.places);
        let dead = pidfd.try_clone().expect("a descriptor");
        std::thread::spawn(move || {
            let mut stdin = stdin;
            let mut log = log;
            let status = if let Some(text) = bad {
                log.file.write_all(text.as_bytes()).expect("written");
                EXIT_STATUS_BOOT
            } else if unwatched || strange {
                wait_for(&dead);
                0
            } else if places > 1 {
                serve_concurrently(worker, &mut log, &dead, places)
            } else {
                serve(worker, &mut log, &dead, generation, lifetime)
            };
            drop(log);
            let _ = writeln!(stdin, "{status}");
        });
        let (kill, killed) = oneshot::channel();
        let (control, number) = (zygote.control.clone(), message.worker);
        let stop = zygote.segment.clone();
        tokio::spawn(async move {
            let mut status = std::pin::pin!(ended(child, pidfd));
            let status = tokio::select! {
                status = &mut status => status,
                Ok(()) = killed => {
                    // Only then may its thread stop claiming.
                    stop.stop(id);
                    status.await
                }
            };
            let exited = Header {
                kind: Kind::Exited,
                worker: number,
                pid,
                status,
            };
            // The front may have released the zygote.
            let _ = control.report(exited, b"", &[]).await;
        });
        RunningWorker { pid, kill }
    }
}

/// The same with several concurrent requests: held ones get their responses when one arrives that is not held.
fn serve_concurrently(mut worker: Worker, log: &mut Log, dead: &OwnedFd, places: usize) -> i32 {
    log.state("ready");
    fake_concurrent::serve(&mut worker, places, |worker, held| {
        let says = |claim: &Claim, word: &[u8]| claim.vars == word;
        if held.iter().any(|claim| says(claim, b"hang")) {
            wait_for(dead);
            return None;
        }
        if held.iter().all(|claim| says(claim, b"hold")) {
            return Some(held);
        }
        for claim in held {
            let mut response = ResponseWriter::new(worker, claim);
            assert!(response.headers(200, &[]));
            assert!(response.body(b"answer"));
            response.end(Exit::Normal, 0);
        }
        Some(Vec::new())
    });
    0
}

fn wait_for(dead: &OwnedFd) {
    use rustix::event::{PollFd, PollFlags, poll};
    poll(&mut [PollFd::new(dead, PollFlags::IN)], None).expect("polled");
}

/// Runs a request; its variables say what to do.
fn serve(
    mut worker: Worker,
    log: &mut Log,
    dead: &OwnedFd,
    generation: u32,
    lifetime: Lifetime,
) -> i32 {
    log.state("ready");
    let mut served = 0;
    while let Some(claim) = worker.get() {
        worker.started(&claim);
        let vars = String::from_utf8(claim.vars.clone()).expect("text");
        let answer = |worker: &mut Worker, claim| {
            let mut response = ResponseWriter::new(worker, claim);
            assert!(response.headers(200, &[]));
            assert!(response.body(format!("generation {generation}").as_bytes()));
            response.end(Exit::Normal, 0);
        };
        match vars.as_str() {
            "hang" => {
                wait_for(dead);
                return 0;
            }
            "hang once" if generation == 1 => {
                wait_for(dead);
                return 0;
            }
            "lame" => {
                answer(&mut worker, claim);
                wait_for(dead);
                return 0;
            }
            "dying" => {
                worker.begin_end();
                wait_for(dead);
                return 0;
            }
            "fatal" => {
                answer(&mut worker, claim);
                return 255;
            }
            "exit" => {
                answer(&mut worker, claim);
                return 3;
            }
            "reload" => {
                log.state("reload");
                answer(&mut worker, claim);
            }
            _ => answer(&mut worker, claim),
        }
        served += 1;
        if served == lifetime.retire_after {
            log.state("retiring");
        }
        if served == lifetime.max_requests {
            break;
        }
    }
    0
}
