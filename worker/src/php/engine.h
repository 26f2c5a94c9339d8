/*
 * PHP's life in a process: start-up with a SAPI module, and information for the front.
 */
#ifndef HOWDAH_ENGINE_H
#define HOWDAH_ENGINE_H

#include "options.h"

/* Starts PHP's modules, if this PHP has the build of our headers. Returns false after a message on stderr. */
bool howdah_engine_start(sapi_module_struct *module, struct howdah_options *options);

/* The version of the running PHP, once it is started: "8.2.35". */
const char *howdah_engine_version(void);

/*
 * Returns information about this PHP, as a JSON object: php, api, zts, debug, opcache, jit, ini_file, ini_scanned,
 * ini_files, post_max_size, upload_max_filesize, memory_limit (bytes), max_execution_time (s), extensions. From
 * malloc(); NULL if out of memory. Queries OPcache in a fork, because only a request may query it.
 */
char *howdah_engine_info(void);

#endif
