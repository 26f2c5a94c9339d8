//! Updates for a hub: joins the parts in PUBLISH frames and checks the result.

use bytes::{Buf, Bytes, BytesMut};

use crate::errors::ProtocolViolation;
use crate::layout::{
    PUBLISH_FIRST, PUBLISH_SIZE, UPDATE_PRIVATE, UPDATE_RETRY, UPDATE_SIZE, UPDATE_SIZE_MAX,
    UPDATE_TOPICS_MAX,
};

/// The part of an update in one frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    first: bool,
    /// Bytes that follow in later frames.
    left: u32,
    bytes: Bytes,
}

/// An update. Its structure is checked; the hub checks the contents of its texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Update {
    /// 1 to 1,000.
    pub topics: Vec<Bytes>,
    /// Only for subscribers with a right to one of its topics.
    pub private: bool,
    /// Never empty.
    pub id: Bytes,
    /// Empty: none.
    pub kind: Bytes,
    /// The data of the update.
    pub data: Bytes,
    /// Milliseconds after which subscribers reconnect.
    pub retry: Option<u64>,
}

/// Joins the updates of one request.
#[derive(Debug, Default)]
pub struct Updates {
    gathered: BytesMut,
    left: u32,
}

impl Part {
    /// Checks the payload of a PUBLISH frame.
    pub(crate) fn parse(mut payload: Bytes) -> Result<Self, ProtocolViolation> {
        if payload.len() <= PUBLISH_SIZE {
            return Err(ProtocolViolation::Update);
        }
        let flags = payload.get_u32_le();
        if flags & !PUBLISH_FIRST != 0 {
            return Err(ProtocolViolation::Update);
        }
        Ok(Self {
            first: flags & PUBLISH_FIRST != 0,
            left: payload.get_u32_le(),
            bytes: payload,
        })
    }
}

impl Updates {
    /// Adds a part. `Some`: the update that it completes.
    pub fn add(&mut self, part: Part) -> Result<Option<Update>, ProtocolViolation> {
        // A ring is much smaller than 4 GiB.
        let size = part.bytes.len() as u32;
        let whole = size
            .checked_add(part.left)
            .ok_or(ProtocolViolation::Update)?;
        if part.first {
            if whole > UPDATE_SIZE_MAX {
                return Err(ProtocolViolation::Update);
            }
            self.gathered.clear();
            if part.left == 0 {
                self.left = 0;
                return Update::parse(part.bytes).map(Some);
            }
            self.gathered.reserve(whole as usize);
        } else if whole != self.left {
            return Err(ProtocolViolation::Update);
        }
        self.gathered.extend_from_slice(&part.bytes);
        self.left = part.left;
        if self.left > 0 {
            return Ok(None);
        }
        let whole = std::mem::take(&mut self.gathered).freeze();
        Update::parse(whole).map(Some)
    }
}

impl Update {
    fn parse(mut bytes: Bytes) -> Result<Self, ProtocolViolation> {
        if bytes.len() < UPDATE_SIZE {
            return Err(ProtocolViolation::Update);
        }
        let flags = bytes.get_u32_le();
        let count = bytes.get_u32_le();
        let retry = bytes.get_u64_le();
        let [topics_size, id_size, type_size, data_size] =
            std::array::from_fn(|_| bytes.get_u32_le() as usize);
        // The sum cannot overflow: the number of bytes is limited.
        let sizes = count as usize * size_of::<u32>();
        let texts = [topics_size, id_size, type_size, data_size];
        let whole = texts
            .iter()
            .try_fold(sizes, |sum, size| sum.checked_add(*size));
        if flags & !(UPDATE_PRIVATE | UPDATE_RETRY) != 0
            || !(1..=UPDATE_TOPICS_MAX).contains(&count)
            || id_size == 0
            || whole != Some(bytes.len())
        {
            return Err(ProtocolViolation::Update);
        }
        let mut sizes = bytes.split_to(sizes);
        let mut texts = bytes.split_to(topics_size);
        let mut topics = Vec::with_capacity(count as usize);
        while sizes.has_remaining() {
            let size = sizes.get_u32_le() as usize;
            if size > texts.len() {
                return Err(ProtocolViolation::Update);
            }
            topics.push(texts.split_to(size));
        }
        if !texts.is_empty() {
            return Err(ProtocolViolation::Update);
        }
        Ok(Self {
            topics,
            private: flags & UPDATE_PRIVATE != 0,
            id: bytes.split_to(id_size),
            kind: bytes.split_to(type_size),
            data: bytes,
            retry: (flags & UPDATE_RETRY != 0).then_some(retry),
        })
    }

    /// Encodes it as a worker does.
    #[cfg(any(test, loom, feature = "fake-worker"))]
    pub fn encode(&self) -> Vec<u8> {
        let private = u32::from(self.private) * UPDATE_PRIVATE;
        let retry = u32::from(self.retry.is_some()) * UPDATE_RETRY;
        let topics: usize = self.topics.iter().map(Bytes::len).sum();
        let mut bytes = (private | retry).to_le_bytes().to_vec();
        bytes.extend((self.topics.len() as u32).to_le_bytes());
        bytes.extend(self.retry.unwrap_or_default().to_le_bytes());
        for size in [topics, self.id.len(), self.kind.len(), self.data.len()] {
            bytes.extend((size as u32).to_le_bytes());
        }
        for topic in &self.topics {
            bytes.extend((topic.len() as u32).to_le_bytes());
        }
        let texts = [&self.id, &self.kind, &self.data];
        self.topics
            .iter()
            .chain(texts)
            .for_each(|text| bytes.extend(text));
        bytes
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn update(data: usize) -> Update {
        Update {
            topics: vec!["a".into(), Bytes::new(), "https://b/{c}".into()],
            private: true,
            id: "urn:x".into(),
            kind: "k".into(),
            data: vec![b'd'; data].into(),
            retry: Some(0),
        }
    }

    fn part(first: bool, left: usize, bytes: &[u8]) -> Part {
        let mut payload = u32::from(first).to_le_bytes().to_vec();
        payload.extend((left as u32).to_le_bytes());
        payload.extend(bytes);
        Part::parse(payload.into()).expect("a part")
    }

    /// Adds the parts of an update; returns the result for the last of them.
    fn add(
        updates: &mut Updates,
        whole: &[u8],
        sizes: usize,
    ) -> Result<Option<Update>, ProtocolViolation> {
        let (mut left, mut last) = (whole.len(), Ok(None));
        for bytes in whole.chunks(sizes) {
            assert_eq!(last, Ok(None));
            let first = left == whole.len();
            left -= bytes.len();
            last = updates.add(part(first, left, bytes));
        }
        last
    }

    #[test]
    fn updates_come_in_parts_of_any_size() {
        let mut updates = Updates::default();
        for (data, size) in [(0, 1), (5, 7), (5, 1000), (100_000, 4096)] {
            let update = update(data);
            let read = add(&mut updates, &update.encode(), size);
            assert_eq!(read, Ok(Some(update)));
        }
        let none = Update {
            kind: Bytes::new(),
            private: false,
            retry: None,
            ..update(3)
        };
        assert_eq!(add(&mut updates, &none.encode(), 9), Ok(Some(none)));
    }

    #[test]
    fn one_that_was_not_completed_is_forgotten() {
        let mut updates = Updates::default();
        assert_eq!(updates.add(part(true, 100, b"x")), Ok(None));
        let update = update(9);
        assert_eq!(add(&mut updates, &update.encode(), 50), Ok(Some(update)));
    }

    #[test]
    fn parts_that_do_not_fit_are_faults() {
        let violation = Err(ProtocolViolation::Update);
        assert_eq!(Updates::default().add(part(false, 0, b"x")), violation);
        assert_eq!(Updates::default().add(part(false, 5, b"x")), violation);
        let most = UPDATE_SIZE_MAX as usize;
        assert_eq!(Updates::default().add(part(true, most, b"x")), violation);
        assert_eq!(Updates::default().add(part(true, most - 1, b"x")), Ok(None));
        assert_eq!(
            Updates::default().add(part(true, u32::MAX as usize, b"x")),
            violation
        );
        let mut updates = Updates::default();
        assert_eq!(updates.add(part(true, 100, b"x")), Ok(None));
        assert_eq!(updates.add(part(false, 100, b"x")), violation);
        assert_eq!(
            Part::parse(Bytes::from_static(&[0; 8])),
            Err(ProtocolViolation::Update)
        );
        assert_eq!(
            Part::parse(Bytes::from_static(&[2; 9])),
            Err(ProtocolViolation::Update)
        );
    }

    #[test]
    fn sizes_that_contradict_one_another_are_faults() {
        let good = update(4).encode();
        // Flags, number of topics, and the four sizes.
        for at in [0, 4, 16, 20, 24, 28, 32] {
            for value in [0_u32, 6, 1001, u32::MAX] {
                let mut bytes = good.clone();
                bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
                let read = add(&mut Updates::default(), &bytes, 1 << 20);
                let same_flags = at == 0 && value == 0;
                assert_eq!(read.is_ok(), same_flags, "{value} at {at}");
            }
        }
    }

    proptest! {
        #[test]
        fn no_bytes_are_too_odd(bytes in proptest::collection::vec(any::<u8>(), 1..200), size in 1..50_usize) {
            let _ = add(&mut Updates::default(), &bytes, size);
        }
    }
}
