//! Buffers for payloads between a ring and a client. A buffer is reused as soon as the client has its bytes, so that a
//! response needs no allocation and no fresh pages of the system.

use bytes::{Bytes, BytesMut};

/// Small payloads are collected in buffers of this size, so that most responses allocate nothing.
const SHARED: usize = 64 * 1024;
/// A larger payload gets a separate buffer, so that a slow client does not pin a shared one for it.
const SMALL_MAX: usize = SHARED / 4;
/// Size of these buffers: what a worker writes before it notifies the front, with the default ring.
/// Pages that were never written cost nothing.
const LARGE: usize = 128 * 1024;
/// Number of large buffers that are kept, 1 MiB for each front thread and pool: enough for the responses that arrive in
/// one iteration of its loop.
const KEPT: usize = 8;

/// The buffers of a front thread.
#[derive(Debug, Default)]
pub(crate) struct Buffers {
    shared: BytesMut,
    /// Buffers in the order in which they are tried: the first ones are in the processor's cache.
    large: Vec<BytesMut>,
    /// The large buffer that is dropped next.
    oldest: usize,
}

impl Buffers {
    /// Returns the `size` bytes that `write` appends to a buffer with enough space.
    pub(crate) fn gather(&mut self, size: usize, write: impl FnOnce(&mut BytesMut)) -> Bytes {
        if size > LARGE {
            let mut own = BytesMut::with_capacity(size);
            write(&mut own);
            return own.freeze();
        }
        let buffer = if size > SMALL_MAX {
            self.large()
        } else {
            if self.shared.capacity() < size {
                // Reuses the old buffer if no part of it is held any more.
                self.shared.reserve(SHARED);
            }
            &mut self.shared
        };
        write(buffer);
        buffer.split().freeze()
    }

    /// A large buffer of which no part is held.
    fn large(&mut self) -> &mut BytesMut {
        let free = self
            .large
            .iter_mut()
            .position(|buffer| buffer.try_reclaim(LARGE));
        let index = match free {
            Some(index) => index,
            None if self.large.len() < KEPT => {
                self.large.push(BytesMut::with_capacity(LARGE));
                self.large.len() - 1
            }
            None => {
                // All are held for slow clients: one of them is replaced.
                let index = self.oldest;
                self.oldest = (index + 1) % KEPT;
                self.large[index] = BytesMut::with_capacity(LARGE);
                index
            }
        };
        &mut self.large[index]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gather(buffers: &mut Buffers, size: usize) -> Bytes {
        buffers.gather(size, |buffer| buffer.resize(size, b'x'))
    }

    #[test]
    fn files_in_the_clients_cache_are_used_again() {
        let mut buffers = Buffers::default();
        let first = gather(&mut buffers, 50_000);
        let place = first.as_ptr();
        drop(first);
        for size in [50_000, SMALL_MAX + 1, LARGE] {
            let next = gather(&mut buffers, size);
            assert_eq!((next.as_ptr(), next.len()), (place, size));
        }
        assert_eq!(buffers.large.len(), 1);
    }

    #[test]
    fn requests_of_connected_clients_are_kept() {
        let mut buffers = Buffers::default();
        let held: Vec<Bytes> = (0..=u8::try_from(KEPT * 2).unwrap())
            .map(|number| buffers.gather(20_000, |buffer| buffer.resize(20_000, number)))
            .collect();
        for (number, bytes) in held.iter().enumerate() {
            assert!(bytes.iter().all(|byte| usize::from(*byte) == number));
        }
        assert_eq!(buffers.large.len(), KEPT);
        // No two of them pin one buffer.
        let mut places: Vec<usize> = held.iter().map(|bytes| bytes.as_ptr() as usize).collect();
        places.sort_unstable();
        assert!(places.windows(2).all(|pair| pair[1] - pair[0] >= LARGE));
    }

    #[test]
    fn small_payloads_share_a_buffer_and_huge_ones_have_their_own() {
        let mut buffers = Buffers::default();
        let first = gather(&mut buffers, 100);
        let second = gather(&mut buffers, SMALL_MAX);
        assert_eq!(second.as_ptr() as usize, first.as_ptr() as usize + 100);
        assert_eq!(gather(&mut buffers, LARGE + 1).len(), LARGE + 1);
        assert!(buffers.large.is_empty());
    }
}
