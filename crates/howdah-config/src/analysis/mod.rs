//! Properties of a whole configuration.

mod boot_root;
mod certificate_files;
mod proxies;
