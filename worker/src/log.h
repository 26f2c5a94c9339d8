/*
 * Messages of PHP and of this process, as records of the log pipe.
 */
#ifndef HOWDAH_LOG_H
#define HOWDAH_LOG_H

#include <stddef.h>

/* From here on stderr is a log pipe: messages become records. Before, they are plain lines. */
void howdah_log_init(void);

/* One record, one write. level: one of "ewnid". */
void howdah_log_write(char level, const char *message, size_t size);
void howdah_log_format(char level, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A record that tells a state of this process; the words are in howdah_shm.h. */
void howdah_log_state(const char *state);

/* At the end of a request: if raw bytes may wait in the pipe, marks them as this request's. */
void howdah_log_end_request(void);

/* SAPI callback; syslog_type: a LOG_* priority, -1 for error_log() with type 4. */
void howdah_log_message(const char *message, int syslog_type);

#endif
