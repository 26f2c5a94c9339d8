//! POSIX access control lists in the kernel's format for the extended attribute
//! (`include/uapi/linux/posix_acl_xattr.h`).

/// Name of the attribute.
pub(crate) const ATTRIBUTE: &str = "system.posix_acl_access";

const VERSION: u32 = 2;
const READ: u16 = 4;
const WRITE: u16 = 2;
/// The id in an entry without a user or group.
const NO_ID: u32 = u32::MAX;

/// The list of a file that its owner can read and write, one other user can read, and nobody else can open.
pub(crate) fn readable_for(uid: u32) -> Vec<u8> {
    let entries: [(u16, u16, u32); 5] = [
        (0x01, READ | WRITE, NO_ID), // the owner
        (0x02, READ, uid),
        (0x04, 0, NO_ID),    // the file's group
        (0x10, READ, NO_ID), // the maximum that other entries can grant
        (0x20, 0, NO_ID),    // everybody else
    ];
    let mut list = VERSION.to_le_bytes().to_vec();
    for (tag, rights, id) in entries {
        list.extend(tag.to_le_bytes());
        list.extend(rights.to_le_bytes());
        list.extend(id.to_le_bytes());
    }
    list
}
