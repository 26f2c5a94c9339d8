//! The monitor itself.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;
use rustix::process::Signal;

use crate::children::Children;
use crate::grants::Grants;
use crate::process::ProcFile;
use crate::protocol::{Operation, REQUEST_MAX, Reply, Request, receive, reply};

/// Allowed flags for opening files; all others are removed.
const FLAGS: OFlags = OFlags::WRONLY
    .union(OFlags::RDWR)
    .union(OFlags::CREATE)
    .union(OFlags::EXCL)
    .union(OFlags::TRUNC)
    .union(OFlags::APPEND)
    .union(OFlags::DIRECTORY);

/// Serves at this socket until the server has closed its end. `read` reads the configuration and returns its grants;
/// earlier grants remain, since the previous configuration may still be in use. `signals` are the signals that
/// processes of the server's programs may get.
///
/// # Errors
/// The socket's.
pub fn serve(
    socket: impl AsFd,
    signals: &[Signal],
    mut read: impl FnMut() -> Grants,
) -> io::Result<()> {
    let mut monitor = Monitor {
        grants: Grants::default(),
        children: Children::default(),
        signals,
    };
    let mut buffer = [0; REQUEST_MAX];
    loop {
        let received = receive(&socket, &mut buffer)?;
        if received.size == 0 {
            return Ok(());
        }
        let descriptor = received.descriptors.into_iter().next();
        let done = match Request::decode(&buffer[..received.size]) {
            None => Err(Errno::INVAL.into()),
            Some(request) if request.operation == Operation::Renew => {
                monitor.grants.extend(read());
                Ok(Reply::default())
            }
            Some(request) => monitor.perform(&request, descriptor),
        };
        reply(&socket, &done)?;
    }
}

struct Monitor<'s> {
    grants: Grants,
    children: Children,
    signals: &'s [Signal],
}

impl Monitor<'_> {
    fn perform(&mut self, request: &Request<'_>, descriptor: Option<OwnedFd>) -> io::Result<Reply> {
        let grants = &self.grants;
        let mode = Mode::from_raw_mode(request.mode & 0o777);
        let place = || grants.place(request.path);
        let descriptor = || descriptor.ok_or(Errno::BADF);
        match request.operation {
            Operation::Open => {
                let flags = OFlags::from_bits_truncate(request.flags) & FLAGS;
                return grants.open(request.path, flags, mode).map(Reply::from);
            }
            Operation::MakeFolder => grants.make_folder(request.path, mode)?,
            Operation::Remove => {
                let place = place()?;
                let flags = AtFlags::empty();
                place.act(|| Ok(rustix::fs::unlinkat(&place.folder, place.name, flags)?))?;
            }
            Operation::Rename => {
                let (from, to) = (place()?, grants.place(request.other)?);
                to.act(|| {
                    let (folder, name) = (&to.folder, to.name);
                    Ok(rustix::fs::renameat(&from.folder, from.name, folder, name)?)
                })?;
            }
            Operation::Link => {
                let (from, to) = (place()?, grants.place(request.other)?);
                let flags = AtFlags::empty();
                to.act(|| {
                    let (folder, name) = (&to.folder, to.name);
                    Ok(rustix::fs::linkat(
                        &from.folder,
                        from.name,
                        folder,
                        name,
                        flags,
                    )?)
                })?;
            }
            Operation::Give => grants.give(&descriptor()?, request.receiver())?,
            Operation::CreateFor => {
                let name = request.path.file_name().ok_or(Errno::INVAL)?;
                let file = grants.create_for(&descriptor()?, name, request.receiver());
                return file.map(Reply::from);
            }
            Operation::PipeFor => {
                return grants.pipe_for(request.mode).map(|ends| Reply {
                    descriptors: ends.into(),
                    ..Reply::default()
                });
            }
            Operation::Start => {
                let key = u64::from(request.mode) << 32 | u64::from(request.flags);
                let program = grants.programs.get(&key).ok_or(Errno::ACCESS)?;
                return self.children.start(program, descriptor()?);
            }
            Operation::Signal => {
                let number = request.flags.cast_signed();
                let mut known = self.signals.iter();
                let signal = known.find(|signal| signal.as_raw() == number);
                let signal = signal.ok_or(Errno::ACCESS)?;
                self.children.signal(descriptor()?.as_fd(), *signal)?;
            }
            Operation::Reap => return self.children.reap(request.flags.cast_signed()),
            Operation::Inspect => {
                let file = ProcFile::from_u32(request.mode).ok_or(Errno::INVAL)?;
                let opened = file.open(request.flags.cast_signed())?;
                return Ok(OwnedFd::from(opened).into());
            }
            Operation::Renew => {}
        }
        Ok(Reply::default())
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};

    use super::*;
    use crate::acting::drop_capabilities;
    use crate::process::{Program, halves};
    use crate::protocol::receive_reply;

    #[test]
    fn only_granted_operations_are_done() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = |name: &str| directory.path().join(name);
        std::fs::create_dir(path("store")).expect("made");
        std::fs::write(path("store/a"), "text").expect("written");
        std::fs::write(path("outside"), "").expect("written");
        let kind = SocketType::SEQPACKET;
        let (ours, theirs) =
            socketpair(AddressFamily::UNIX, kind, SocketFlags::CLOEXEC, None).expect("a pair");
        let folder = path("store");
        let monitor = std::thread::spawn(move || {
            serve(theirs, &[], || Grants {
                folders: [folder.clone()].into(),
                ..Grants::default()
            })
        });
        let ask = |operation, one: &Path, two: &Path| {
            let request = Request {
                operation,
                flags: 0,
                mode: 0o700,
                path: one,
                other: two,
            };
            request.send(&ours, None).expect("sent");
            receive_reply(&ours)
        };
        let none = Path::new("");
        assert!(ask(Operation::Open, &path("store/a"), none).is_err());
        ask(Operation::Renew, none, none).expect("read");
        let opened = ask(Operation::Open, &path("store/a"), none).expect("granted");
        let text = io::read_to_string(std::fs::File::from(
            opened.descriptors.into_iter().next().expect("a file"),
        ));
        assert_eq!(text.expect("UTF-8"), "text");
        ask(Operation::MakeFolder, &path("store/b"), none).expect("made");
        ask(Operation::Rename, &path("store/a"), &path("store/b/c")).expect("renamed");
        ask(Operation::Link, &path("store/b/c"), &path("store/d")).expect("linked");
        ask(Operation::Remove, &path("store/b/c"), none).expect("removed");
        assert!(path("store/d").is_file() && !path("store/b/c").exists());
        for (operation, one, two) in [
            (Operation::Remove, path("outside"), none.to_owned()),
            (Operation::Rename, path("store/d"), path("outside")),
            (Operation::Link, path("outside"), path("store/e")),
        ] {
            let error = ask(operation, &one, &two).expect_err("outside");
            assert_eq!(error.kind(), io::ErrorKind::PermissionDenied);
        }
        assert!(path("outside").is_file() && path("store/d").is_file());
        rustix::net::send(&ours, b"nonsense", rustix::net::SendFlags::empty()).expect("sent");
        assert!(receive_reply(&ours).is_err(), "no request");
        drop(ours);
        monitor.join().expect("no panic").expect("ended");
    }

    #[test]
    fn only_named_programs_are_started_and_get_only_known_signals() {
        let kind = SocketType::SEQPACKET;
        let (ours, theirs) =
            socketpair(AddressFamily::UNIX, kind, SocketFlags::CLOEXEC, None).expect("a pair");
        let program = Program {
            executable: "/bin/sh".into(),
            arguments: ["-c", "read line; read line"].map(Into::into).into(),
            environment: Vec::new(),
            first_message: b"first\n".to_vec(),
        };
        let key = 0x1234_5678_9abc_def0;
        let monitor = std::thread::spawn(move || {
            serve(theirs, &[Signal::KILL], || Grants {
                programs: [(key, program.clone())].into(),
                ..Grants::default()
            })
        });
        let ask = |operation, flags, mode, descriptor: Option<&OwnedFd>| {
            let request = Request::of_numbers(operation, flags, mode);
            let sent = request.send(&ours, descriptor.map(AsFd::as_fd));
            sent.expect("sent");
            receive_reply(&ours)
        };
        let output: OwnedFd = std::fs::File::open("/dev/null").expect("a file").into();
        let [low, high] = halves(key);
        assert!(
            ask(Operation::Start, low, high, Some(&output)).is_err(),
            "not read yet"
        );
        ask(Operation::Renew, 0, 0, None).expect("read");
        assert!(ask(Operation::Start, low + 1, high, Some(&output)).is_err());
        assert!(ask(Operation::Start, low, high, None).is_err(), "no output");
        let started = ask(Operation::Start, low, high, Some(&output)).expect("started");
        let pid = started.result.cast_unsigned();
        let pidfd = &started.descriptors[1];
        let signal = |signal: Signal| {
            let number = signal.as_raw().cast_unsigned();
            ask(Operation::Signal, number, 0, Some(pidfd))
        };
        assert!(signal(Signal::STOP).is_err());
        assert!(ask(Operation::Reap, pid, 0, None).is_err(), "it runs");
        signal(Signal::KILL).expect("sent");
        rustix::event::poll(
            &mut [rustix::event::PollFd::new(
                pidfd,
                rustix::event::PollFlags::IN,
            )],
            None,
        )
        .expect("its end");
        let status = ask(Operation::Reap, pid, 0, None).expect("reaped");
        assert_eq!(status.result, Signal::KILL.as_raw());
        drop(ours);
        monitor.join().expect("no panic").expect("ended");
    }

    #[test]
    fn a_process_of_another_user_is_signalled_without_the_right_to_signal_all() {
        if !rustix::process::geteuid().is_root() {
            return;
        }
        let kind = SocketType::SEQPACKET;
        let (ours, theirs) =
            socketpair(AddressFamily::UNIX, kind, SocketFlags::CLOEXEC, None).expect("a pair");
        let script =
            "exec setpriv --reuid=33 --regid=33 --clear-groups sh -c 'echo ready; read line'";
        let program = Program {
            executable: "/bin/sh".into(),
            arguments: ["-c", script].map(Into::into).into(),
            environment: vec![("PATH".into(), "/usr/bin:/bin".into())],
            first_message: b"first\n".to_vec(),
        };
        let monitor = std::thread::spawn(move || {
            drop_capabilities();
            serve(theirs, &[Signal::KILL], || Grants {
                programs: [(7, program.clone())].into(),
                ..Grants::default()
            })
        });
        let ask = |operation, flags, descriptor: Option<&OwnedFd>| {
            let request = Request::of_numbers(operation, flags, 0);
            let sent = request.send(&ours, descriptor.map(AsFd::as_fd));
            sent.expect("sent");
            receive_reply(&ours)
        };
        ask(Operation::Renew, 0, None).expect("read");
        let (mut reader, writer) = io::pipe().expect("a pipe");
        let started = ask(Operation::Start, 7, Some(&writer.into())).expect("started");
        let mut ready = [0; 6];
        io::Read::read_exact(&mut reader, &mut ready).expect("it has the other user");
        let pidfd = &started.descriptors[1];
        let number = Signal::KILL.as_raw().cast_unsigned();
        ask(Operation::Signal, number, Some(pidfd)).expect("sent");
        let ended = rustix::event::PollFd::new(pidfd, rustix::event::PollFlags::IN);
        rustix::event::poll(&mut [ended], None).expect("its end");
        let pid = started.result.cast_unsigned();
        let status = ask(Operation::Reap, pid, None).expect("reaped");
        assert_eq!(status.result, Signal::KILL.as_raw());
        drop(ours);
        monitor.join().expect("no panic").expect("ended");
    }
}
