//! Contents of files: read immediately from the page cache, or on another thread from the disk. Where a connection
//! allows it, the kernel sends cached parts to the socket without reading them here.

use std::fs::File;
use std::io::{self, IoSliceMut};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::{Bytes, BytesMut};
use rustix::io::{Errno, ReadWriteFlags};
use tokio::task::JoinHandle;

use crate::message::sendfile::{PART, SendfileTarget};

/// Bytes of one read.
const CHUNK: usize = 128 << 10;
/// The kernel reads ahead and evicts in pieces larger than this: if both ends are cached, all is.
const PIECE: u64 = 256 << 10;
/// A file that was completely cached so far is checked less often: each check costs as much as sending 10 KiB.
const LARGEST_PIECE: u64 = 1 << 20;

/// A part of a file that is sent to the client.
pub(crate) struct FileStream {
    file: Arc<File>,
    offset: u64,
    remaining: u64,
    /// Bytes between two checks of the page cache.
    piece: u64,
    /// The last chunk: its memory is reused when the socket has taken it.
    last: Bytes,
    reading: Option<JoinHandle<io::Result<BytesMut>>>,
    /// The connection that accepts parts of files in place of their bytes.
    target: Option<Rc<dyn SendfileTarget>>,
}

impl FileStream {
    pub(crate) fn new(file: File, offset: u64, length: u64) -> Self {
        Self::of(Arc::new(file), offset, length)
    }

    /// One of several parts of a file.
    pub(crate) fn of(file: Arc<File>, offset: u64, length: u64) -> Self {
        Self {
            file,
            offset,
            remaining: length,
            piece: PIECE,
            last: Bytes::new(),
            reading: None,
            target: None,
        }
    }

    /// From now on, cached parts of the file go to the connection, and the chunks are placeholders of the same length.
    /// They must reach its socket unchanged.
    pub(crate) fn send_by_kernel(&mut self, target: Rc<dyn SendfileTarget>) {
        self.target = Some(target);
    }

    pub(crate) fn remaining(&self) -> u64 {
        self.remaining
    }

    /// Returns an error if the file has become shorter: the connection is then cut, since the
    /// promised bytes cannot be sent.
    pub(crate) fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Poll<Option<io::Result<Bytes>>> {
        if self.remaining == 0 {
            return Poll::Ready(None);
        }
        let chunk = if let Some(task) = &mut self.reading {
            let result = ready!(Pin::new(task).poll(cx));
            self.reading = None;
            result.map_err(io::Error::other).and_then(|chunk| chunk)
        } else if let Some(stand_in) = self.take_stand_in() {
            return Poll::Ready(Some(Ok(stand_in)));
        } else {
            let length = usize::try_from(self.remaining).unwrap_or(CHUNK).min(CHUNK);
            let mut buffer = std::mem::take(&mut self.last)
                .try_into_mut()
                .unwrap_or_else(|_| BytesMut::new());
            buffer.resize(length, 0);
            match read_cached(&self.file, &mut buffer, self.offset) {
                Ok(read) => {
                    buffer.truncate(read);
                    Ok(buffer)
                }
                Err(Errno::AGAIN | Errno::OPNOTSUPP | Errno::NOSYS) => {
                    let (file, offset) = (Arc::clone(&self.file), self.offset);
                    let task = tokio::task::spawn_blocking(move || {
                        let read = read_disk(&file, &mut buffer, offset)?;
                        buffer.truncate(read);
                        Ok(buffer)
                    });
                    self.reading = Some(task);
                    return self.poll_chunk(cx);
                }
                Err(error) => Err(error.into()),
            }
        };
        let chunk = match chunk {
            Ok(chunk) if chunk.is_empty() => Err(io::ErrorKind::UnexpectedEof.into()),
            other => other,
        };
        match chunk {
            Ok(chunk) => {
                let chunk = chunk.freeze();
                self.offset += chunk.len() as u64;
                self.remaining = self.remaining.saturating_sub(chunk.len() as u64);
                self.last = chunk.clone();
                Poll::Ready(Some(Ok(chunk)))
            }
            Err(error) => {
                if error.kind() == io::ErrorKind::UnexpectedEof {
                    tracing::debug!("a file became shorter while it was sent");
                } else {
                    tracing::warn!(%error, "a file cannot be read while it is sent");
                }
                self.remaining = 0;
                Poll::Ready(Some(Err(error)))
            }
        }
    }

    /// The next part as a placeholder, if sending it would not wait for the disk.
    fn take_stand_in(&mut self) -> Option<Bytes> {
        let target = self.target.clone()?;
        let length = self.cached(self.remaining.min(PART as u64));
        if length == 0 {
            return None;
        }
        let stand_in = target
            .queue()
            .push(&self.file, self.offset, length as usize);
        self.offset += length;
        self.remaining -= length;
        Some(stand_in)
    }

    /// How many of so many bytes are in the page cache, in whole pieces.
    fn cached(&mut self, limit: u64) -> u64 {
        let (file, offset) = (&self.file, self.offset);
        let has = |at: u64| read_cached(file, &mut [0], offset + at) == Ok(1);
        let mut length = 0;
        // The last check was for the byte before.
        let mut all = self.piece > PIECE || has(0);
        while all && length < limit {
            let end = limit.min(length + self.piece);
            all = has(end - 1);
            if all {
                length = end;
                self.piece = LARGEST_PIECE.min(self.piece * 2);
            }
        }
        if !all {
            self.piece = PIECE;
        }
        length
    }
}

/// Reads a small part completely.
pub(crate) async fn read_whole(file: File, offset: u64, length: u64) -> io::Result<Bytes> {
    let length = usize::try_from(length).map_err(io::Error::other)?;
    let mut buffer = vec![0; length];
    let mut filled = 0;
    while filled < length {
        match read_cached(&file, &mut buffer[filled..], offset + filled as u64) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(read) => filled += read,
            Err(Errno::AGAIN | Errno::OPNOTSUPP | Errno::NOSYS) => {
                let task = tokio::task::spawn_blocking(move || {
                    let read = read_disk(&file, &mut buffer[filled..], offset + filled as u64)?;
                    if read < length - filled {
                        return Err(io::Error::from(io::ErrorKind::UnexpectedEof));
                    }
                    Ok(buffer)
                });
                return Ok(task.await.map_err(io::Error::other)??.into());
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(buffer.into())
}

/// Reads what the page cache has, at least one byte; `AGAIN` if it has none.
fn read_cached(file: &File, buffer: &mut [u8], offset: u64) -> Result<usize, Errno> {
    loop {
        let slices = &mut [IoSliceMut::new(buffer)];
        match rustix::io::preadv2(file, slices, offset, ReadWriteFlags::NOWAIT) {
            Err(Errno::INTR) => {}
            result => return result,
        }
    }
}

/// Fills `buffer` up to the end of the file.
fn read_disk(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    use std::os::unix::fs::FileExt;
    let mut filled = 0;
    while filled < buffer.len() {
        match file.read_at(&mut buffer[filled..], offset + filled as u64) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;
    use crate::message::sendfile::Queue;

    #[tokio::test]
    async fn both_ways_of_reading_give_the_file() {
        let mut file = tempfile::tempfile().unwrap();
        let contents: Vec<u8> = (0..CHUNK * 2 + 77)
            .map(|index| (index % 251) as u8)
            .collect();
        file.write_all(&contents).unwrap();
        let length = contents.len() as u64;
        let mut stream = FileStream::new(file.try_clone().unwrap(), 5, length - 5);
        let mut seen = Vec::new();
        while let Some(chunk) = std::future::poll_fn(|cx| stream.poll_chunk(cx)).await {
            seen.extend_from_slice(&chunk.unwrap());
        }
        assert_eq!(seen, &contents[5..]);
        let mut buffer = vec![0; contents.len() + 9];
        assert_eq!(read_disk(&file, &mut buffer, 0).unwrap(), contents.len());
        assert_eq!(read_whole(file, 3, 9).await.unwrap(), &contents[3..12]);
    }

    #[tokio::test]
    async fn cached_responses_are_inherited() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&vec![1; PART + 10]).unwrap();
        let target = Rc::new(Queue::default());
        let mut stream = FileStream::new(file.try_clone().unwrap(), 5, PART as u64 + 9);
        stream.send_by_kernel(Rc::<Queue>::clone(&target));
        let first = std::future::poll_fn(|cx| stream.poll_chunk(cx)).await;
        // It was just written, so it is in the page cache.
        assert_eq!(first.unwrap().unwrap(), vec![0; PART]);
        assert!(!target.is_empty());
        assert_eq!(stream.remaining(), 9);
        // Its last byte is missing: the rest comes as bytes, then an error.
        let second = std::future::poll_fn(|cx| stream.poll_chunk(cx)).await;
        assert_eq!(second.unwrap().unwrap(), vec![1; 5]);
        let third = std::future::poll_fn(|cx| stream.poll_chunk(cx)).await;
        let error = third.unwrap().unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
    }

    #[tokio::test]
    async fn a_shorter_file_is_an_error() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"short").unwrap();
        let mut stream = FileStream::new(file, 0, 10);
        let first = std::future::poll_fn(|cx| stream.poll_chunk(cx)).await;
        assert_eq!(first.unwrap().unwrap(), "short");
        let second = std::future::poll_fn(|cx| stream.poll_chunk(cx)).await;
        assert_eq!(
            second.unwrap().unwrap_err().kind(),
            io::ErrorKind::UnexpectedEof
        );
        assert!(
            std::future::poll_fn(|cx| stream.poll_chunk(cx))
                .await
                .is_none()
        );
    }
}
