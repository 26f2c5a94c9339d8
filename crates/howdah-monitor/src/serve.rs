//! The monitor itself.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;

use crate::grants::Grants;
use crate::protocol::{Operation, REQUEST_MAX, Request, answer, receive};

/// How files may be opened; everything else is left out.
const FLAGS: OFlags = OFlags::WRONLY
    .union(OFlags::RDWR)
    .union(OFlags::CREATE)
    .union(OFlags::EXCL)
    .union(OFlags::TRUNC)
    .union(OFlags::APPEND)
    .union(OFlags::DIRECTORY);

/// Answers at this socket until the server has closed its end. `read` reads the configuration and says what it
/// grants; what was granted stays so, since the configuration before may still be in force.
///
/// # Errors
/// The socket's.
pub fn serve(socket: impl AsFd, mut read: impl FnMut() -> Grants) -> io::Result<()> {
    let mut grants = Grants::default();
    let mut buffer = [0; REQUEST_MAX];
    loop {
        // Nobody has to send a descriptor here.
        let (size, _) = receive(&socket, &mut buffer)?;
        if size == 0 {
            return Ok(());
        }
        let done = match Request::decode(&buffer[..size]) {
            None => Err(Errno::INVAL.into()),
            Some(request) if request.operation == Operation::Renew => {
                grants.extend(read());
                Ok(None)
            }
            Some(request) => perform(&request, &grants),
        };
        answer(&socket, &done)?;
    }
}

fn perform(request: &Request<'_>, grants: &Grants) -> io::Result<Option<OwnedFd>> {
    let mode = Mode::from_raw_mode(request.mode & 0o777);
    let place = || grants.place(request.path);
    match request.operation {
        Operation::Open => {
            let flags = OFlags::from_bits_truncate(request.flags) & FLAGS;
            return grants.open(request.path, flags, mode).map(Some);
        }
        Operation::MakeFolder => grants.make_folder(request.path, mode)?,
        Operation::Remove => {
            let place = place()?;
            rustix::fs::unlinkat(&place.folder, place.name, AtFlags::empty())?;
        }
        Operation::Rename => {
            let (from, to) = (place()?, grants.place(request.other)?);
            rustix::fs::renameat(&from.folder, from.name, &to.folder, to.name)?;
        }
        Operation::Link => {
            let (from, to) = (place()?, grants.place(request.other)?);
            let flags = AtFlags::empty();
            rustix::fs::linkat(&from.folder, from.name, &to.folder, to.name, flags)?;
        }
        Operation::Renew => {}
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};

    use super::*;
    use crate::protocol::receive_answer;

    #[test]
    fn what_is_granted_is_done_and_nothing_else() {
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
            serve(theirs, || Grants {
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
            request.send(&ours).expect("sent");
            receive_answer(&ours)
        };
        let none = Path::new("");
        assert!(ask(Operation::Open, &path("store/a"), none).is_err());
        ask(Operation::Renew, none, none).expect("read");
        let opened = ask(Operation::Open, &path("store/a"), none).expect("granted");
        let text = io::read_to_string(std::fs::File::from(opened.expect("a file")));
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
        assert!(receive_answer(&ours).is_err(), "no request");
        drop(ours);
        monitor.join().expect("no panic").expect("ended");
    }
}
