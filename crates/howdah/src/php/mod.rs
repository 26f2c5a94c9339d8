//! PHP as configured: options of its processes and pools, trees of processes, OPcache and preloading.

pub(crate) mod ini_files;
pub(crate) mod opcache;
pub(crate) mod pools;
pub(crate) mod preload;
pub(crate) mod renewal;
pub(crate) mod roadrunner;
pub(crate) mod root_options;
pub(crate) mod tree;
pub(crate) mod trees;
pub(crate) mod vulnerabilities;
