/*
 * Messages of PHP and of this process, as records of the log pipe.
 */
#ifndef HOWDAH_LOG_H
#define HOWDAH_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* From here on stderr is a log pipe: messages become records. Before, they are plain lines. */
/* `key`: the key of its records (howdah_shm.h, "the log pipe"). stderr is the pipe. */
void howdah_log_init(uint64_t key);

/* level: one of "ewnid". A message above HOWDAH_LOG_MESSAGE_MAX becomes several records. */
void howdah_log_write(char level, const char *message, size_t size);
void howdah_log_format(char level, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The same for the request with this id. Async-signal-safe. */
void howdah_log_record(char level, uint64_t request_id, const char *message, size_t size);

/*
 * The same from a thread other than PHP's. Returns false, and writes nothing, while PHP's thread writes a long record.
 * Truncated to the size that a pipe accepts as a unit.
 */
bool howdah_log_record_nonblocking(char level, uint64_t request_id, const char *message, size_t size);

/* A record with a state of this process; the words are in howdah_shm.h. Async-signal-safe. */
void howdah_log_state(const char *state);

/* At the end of a request: if raw bytes may wait in the pipe, marks them as this request's. */
void howdah_log_end_request(void);

/* SAPI callback; syslog_type: a LOG_* priority, -1 for error_log() with type 4. */
void howdah_log_message(const char *message, int syslog_type);

#endif
