//! The memory of a segment: a sealed memfd that is mapped shared. Miri does not support memfd and uses the heap.

use std::ptr::NonNull;

#[cfg(not(miri))]
#[derive(Debug)]
pub(super) struct Backing {
    base: NonNull<u8>,
    size: usize,
    fd: rustix::fd::OwnedFd,
}

#[cfg(not(miri))]
impl Backing {
    pub(super) fn new(size: u64) -> rustix::io::Result<Self> {
        use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, ftruncate, memfd_create};
        use rustix::mm::{MapFlags, ProtFlags, mmap};

        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let fd = memfd_create("howdah-pool", flags)?;
        ftruncate(&fd, size)?;
        // A worker that shrank the file would kill the front with SIGBUS.
        fcntl_add_seals(&fd, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
        let size = usize::try_from(size).map_err(|_| rustix::io::Errno::NOMEM)?;
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping at an address of the kernel's choice touches no existing memory.
        let base = unsafe {
            mmap(
                std::ptr::null_mut(),
                size,
                protection,
                MapFlags::SHARED,
                &fd,
                0,
            )
        }?;
        let base = NonNull::new(base.cast::<u8>()).ok_or(rustix::io::Errno::NOMEM)?;
        Ok(Self { base, size, fd })
    }

    pub(super) fn discard(&self, start: u64, size: u64) {
        use rustix::fs::{FallocateFlags, fallocate};

        let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        // A system that cannot do this keeps the memory until the pool ends.
        let _ = fallocate(&self.fd, flags, start, size);
    }

    pub(super) fn fd(&self) -> rustix::fd::BorrowedFd<'_> {
        rustix::fd::AsFd::as_fd(&self.fd)
    }
}

#[cfg(not(miri))]
impl Drop for Backing {
    fn drop(&mut self) {
        // SAFETY: made by `new` with this size; the `Memory` that lends references to it is dropped
        // with it.
        let unmapped = unsafe { rustix::mm::munmap(self.base.as_ptr().cast(), self.size) };
        debug_assert!(unmapped.is_ok());
    }
}

#[cfg(miri)]
#[derive(Debug)]
pub(super) struct Backing {
    base: NonNull<u8>,
    layout: std::alloc::Layout,
}

#[cfg(miri)]
impl Backing {
    pub(super) fn new(size: u64) -> rustix::io::Result<Self> {
        let layout = std::alloc::Layout::from_size_align(size as usize, 4096)
            .map_err(|_| rustix::io::Errno::NOMEM)?;
        // SAFETY: no segment has size 0.
        let base = unsafe { std::alloc::alloc_zeroed(layout) };
        let base = NonNull::new(base).ok_or(rustix::io::Errno::NOMEM)?;
        Ok(Self { base, layout })
    }

    /// The heap keeps its memory.
    #[expect(clippy::unused_self, reason = "the real one has a file")]
    pub(super) fn discard(&self, _start: u64, _size: u64) {}
}

#[cfg(miri)]
impl Drop for Backing {
    fn drop(&mut self) {
        // SAFETY: allocated by `new` with this layout.
        unsafe { std::alloc::dealloc(self.base.as_ptr(), self.layout) };
    }
}

impl Backing {
    pub(super) const fn base(&self) -> NonNull<u8> {
        self.base
    }
}
