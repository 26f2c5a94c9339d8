//! A root, zygotes and workers for tests: tasks and threads of the test that speak the contract. Each
//! zygote and worker has a process, a shell that waits for its exit status, so that pids, pidfds, signals
//! and deaths are real.

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

use super::fake_concurrent;
use crate::process::control::{Control, Kind, Message};
use crate::process::root::{PhpInfo, Root};
use crate::process::root_process::RootProcess;
use crate::system::readiness::register;

/// What its PHP tells of itself.
pub(super) fn php_info() -> PhpInfo {
    PhpInfo {
        php: "8.2.35".into(),
        zts: false,
        opcache: true,
        ini_file: None,
        ini_scanned: None,
        binary: None,
        extensions: Vec::new(),
    }
}

/// What becomes of a generation that is started.
#[derive(Debug, Clone)]
pub(super) enum Boot {
    /// As it was requested.
    Good,
    /// The zygote says this, and that forks cannot work.
    Unfit(&'static str),
    /// The zygote writes this and ends.
    Bad(&'static str),
    /// The zygote boots for ever.
    Hangs,
    /// Each worker writes this and ends.
    BadWorkers(&'static str),
}

#[derive(Debug, Default)]
pub(super) struct Plan {
    /// For the generations to come; then [`Boot::Good`].
    pub(super) boots: VecDeque<Boot>,
    /// Flags and generation of each POOL message.
    pub(super) requested: Vec<(u32, u32)>,
    /// The segment of each.
    pub(super) segments: Vec<Arc<Segment>>,
    /// Requests after which each worker was to exit.
    pub(super) lifetimes: Vec<(u32, u32)>,
    /// The last zygotes with these numbers, by pid.
    pub(super) zygotes: HashMap<u32, i32>,
    /// The root's end of its control socket.
    pub(super) root: Weak<Control>,
    /// The zygotes' ends of theirs, in the order of their requests.
    pub(super) controls: Vec<Weak<Control>>,
    /// So many zygotes to come are announced without their pidfds, as to one who has too many files open.
    pub(super) unwatched_zygotes: usize,
    /// The same of workers. They boot until they are ended.
    pub(super) unwatched_workers: usize,
    /// So many workers to come are announced as process 1.
    pub(super) strange_workers: usize,
}

/// Whether one of so many is left; then it is taken.
fn take_one(left: &mut usize) -> bool {
    let any = *left > 0;
    *left = left.saturating_sub(1);
    any
}

#[derive(Debug, Clone)]
pub(super) struct FakeRoot {
    pub(super) plan: Arc<Mutex<Plan>>,
}

/// A process that exits with the given status, or is killed. Ignores the backtrace signal, as a worker
/// does that cannot answer it.
fn process() -> (Child, OwnedFd) {
    let mut command = Command::new("sh");
    command.args(["-c", "trap '' 39; echo; read status; exit $status"]);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("a shell");
    // The trap is set when the line has come.
    let mut line = [0];
    let stdout = child.stdout.as_mut().expect("piped");
    std::io::Read::read_exact(stdout, &mut line).expect("a line");
    let pid = Pid::from_raw(child.id().cast_signed()).expect("a pid");
    let pidfd = pidfd_open(pid, PidfdFlags::empty()).expect("a pidfd");
    (child, pidfd)
}

/// Waits for its end and says its wait status.
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
    // It may be gone already.
    let _ = kill_process(pid, Signal::KILL);
}

/// Tells the front of a process; without a pidfd as it comes where there is no room for it.
async fn announce(to: &Control, kind: (Kind, u32), pid: i32, pidfd: Option<&OwnedFd>) {
    let sent = match pidfd {
        Some(pidfd) => to.report(kind, (pid, 0), b"", &[pidfd.as_fd()]).await,
        None => to.report_cut(kind, pid).await,
    };
    sent.expect("sent");
}

fn words(data: &[u8]) -> Vec<u32> {
    data.chunks_exact(4)
        .map(|word| u32::from_le_bytes(word.try_into().expect("4 bytes")))
        .collect()
}

impl FakeRoot {
    /// Starts it.
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
        let (flags, generation) = (options[1], options[4]);
        let segment = Segment::of_file(message.fds[1].as_fd()).expect("a segment");
        let boot = {
            let mut plan = self.plan.lock().expect("no panic");
            plan.requested.push((flags, generation));
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
        announce(
            &root,
            (Kind::PoolStarted, number),
            pid,
            (!unwatched).then_some(&pidfd),
        )
        .await;

        let mut stdin = child.stdin.take().expect("piped");
        let mut leave = move |status: i32| {
            // It may have been killed.
            let _ = writeln!(stdin, "{status}");
        };
        let alive = tokio::spawn(ended(child, pidfd));
        let boots_each = flags & POOL_FLAG_BOOT_EACH != 0;
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
            let kind = (Kind::Booted, 0);
            let sent = control.report(kind, (0, status), text.as_bytes(), &[]);
            sent.await.expect("sent");
        }
        let mut alive = alive;
        let mut workers: HashMap<WorkerId, (i32, oneshot::Sender<()>)> = HashMap::new();
        let status = loop {
            tokio::select! {
                status = &mut alive => break status.expect("no panic"),
                message = control.receive() => match message {
                    Ok(message) if message.kind == Kind::Kill => kill(workers[&WorkerId(message.worker as u16)].0),
                    Ok(message) => {
                        let (id, worker) = self.worker(message, (&segment, generation, places), &boot, &control).await;
                        workers.insert(id, worker);
                    }
                    Err(_) if matches!(boot, Boot::Hangs) => break (&mut alive).await.expect("no panic"),
                    Err(_) => {
                        leave(0);
                        break (&mut alive).await.expect("no panic");
                    }
                },
            }
        };
        // Its workers die with it.
        for (_, (_, kill)) in workers {
            let _ = kill.send(());
        }
        drop((control, log));
        let exited = (Kind::PoolExited, number);
        // The root may be gone.
        let _ = root.report(exited, (pid, status), b"", &[]).await;
    }

    async fn worker(
        &self,
        message: Message,
        (segment, generation, places): (&Arc<Segment>, u32, usize),
        boot: &Boot,
        control: &Arc<Control>,
    ) -> (WorkerId, (i32, oneshot::Sender<()>)) {
        assert_eq!(message.kind, Kind::Spawn);
        let id = WorkerId(message.worker as u16);
        let spawn = words(&message.data[..SPAWN_SIZE]);
        let write = words(&message.data[SPAWN_SIZE..]);
        let lifetime = (spawn[0], spawn[1]);
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
            key: u64::from(spawn[2]) | u64::from(spawn[3]) << 32,
        };
        let (mut child, pidfd) = process();
        let pid = child.id().cast_signed();
        let kind = (Kind::Spawned, message.worker);
        let announced = if strange { 1 } else { pid };
        announce(control, kind, announced, (!unwatched).then_some(&pidfd)).await;
        let stdin = child.stdin.take().expect("piped");
        let worker = Worker::attach_at(segment, id, &write);
        let bad = match boot {
            Boot::BadWorkers(text) => Some(*text),
            _ => None,
        };
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
        let (control, number) = (control.clone(), message.worker);
        let stop = segment.clone();
        tokio::spawn(async move {
            let mut status = std::pin::pin!(ended(child, pidfd));
            let status = tokio::select! {
                status = &mut status => status,
                Ok(()) = killed => {
                    // Only then may its thread not claim anything more.
                    stop.stop(id);
                    status.await
                }
            };
            // The front may have let the zygote go.
            let _ = control
                .report((Kind::Exited, number), (pid, status), b"", &[])
                .await;
        });
        (id, (pid, kill))
    }
}

/// The same with several requests at a time: those that are to be held are answered when one comes that is not.
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

/// What a worker does with a request is in its variables.
fn serve(
    mut worker: Worker,
    log: &mut Log,
    dead: &OwnedFd,
    generation: u32,
    (max_requests, retire_after): (u32, u32),
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
        if served == retire_after {
            log.state("retiring");
        }
        if served == max_requests {
            break;
        }
    }
    0
}
