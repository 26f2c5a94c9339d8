//! What follows from a whole configuration.

mod boot_root;
mod certificate_files;
