/*
 * See connections.h.
 *
 * Rules: it knows no client library, only kinds. PHP code that runs meanwhile (handlers of warnings) may create and
 * free objects: everything works on a list that holds them.
 */
#include "connections.h"

#include "php/compat.h"

#include <dirent.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>

#include <zend_exceptions.h>

#include "connections_list.h"
#include "connections_track.h"
#include "howdah_shm.h"
#include "process/log.h"
#include "request/exit.h"
#include "request/wait.h"

#define RETRY_INTERVAL_S 1

char howdah_connection_reason[256];

void howdah_connection_set_reason(const char *reason)
{
	snprintf(howdah_connection_reason, sizeof(howdah_connection_reason), "%s", reason);
	/* libpq ends its messages with a newline and has newlines within. */
	size_t size = strlen(howdah_connection_reason);
	while (size && howdah_connection_reason[size - 1] == '\n') {
		howdah_connection_reason[--size] = 0;
	}
	for (char *byte = howdah_connection_reason; *byte; byte++) {
		if (*byte == '\n') {
			*byte = ' ';
		}
	}
}

void howdah_connection_take_exception(void)
{
	if (!EG(exception)) {
		return;
	}
	/* exit() in a handler of warnings is an exception too, without a message. */
	if (howdah_exit_is(EG(exception))) {
		howdah_exit_set_aside(EG(exception));
	} else {
		zval room, *message = zend_read_property_ex(
					   zend_get_exception_base(EG(exception)), EG(exception), ZSTR_KNOWN(ZEND_STR_MESSAGE), 1, &room);
		if (message && Z_TYPE_P(message) == IS_STRING) {
			howdah_connection_set_reason(Z_STRVAL_P(message));
		}
	}
	zend_clear_exception();
}

void howdah_connections_startup(void)
{
	howdah_track_startup();
}

/* --- rollback ----------------------------------------------------------------------------------------- */

void howdah_descriptor_cut(int descriptor)
{
	char rest[4096];
	if (descriptor < 0 || shutdown(descriptor, SHUT_RDWR) != 0) {
		return;
	}
	/*
	 * Bytes that had already arrived can still be read, and would be mistaken for the next reply. Nothing follows them.
	 */
	while (recv(descriptor, rest, sizeof(rest), MSG_DONTWAIT) > 0) {
	}
}

void howdah_connection_cut(const struct howdah_connection *connection)
{
	if (connection->kind->cut) {
		connection->kind->cut(connection);
		return;
	}
	howdah_descriptor_cut(
		connection->kind->descriptor ? connection->kind->descriptor(connection) : HOWDAH_DESCRIPTOR_NONE);
}

static char rolled_back[64];

const char *howdah_connections_rolled_back(void)
{
	return rolled_back;
}

bool howdah_connection_end_request(const struct howdah_connection *connection, bool cut_it)
{
	enum howdah_rollback result = HOWDAH_ROLLBACK_IDLE;
	if (cut_it) {
		result = HOWDAH_ROLLBACK_FAILED;
	} else if (connection->kind->rollback) {
		result = connection->kind->rollback(connection);
		howdah_connection_take_exception();
	}
	if (result != HOWDAH_ROLLBACK_IDLE) {
		snprintf(rolled_back, sizeof(rolled_back), "%s", howdah_connection_describe(connection));
	}
	if (result == HOWDAH_ROLLBACK_DONE) {
		howdah_log_format(
			'w', "rolled back a transaction that the request left open on %s", howdah_connection_describe(connection));
	} else if (result == HOWDAH_ROLLBACK_FAILED) {
		howdah_connection_cut(connection);
		howdah_log_format('w',
			"closed the connection of %s: the request left it busy or in a transaction that could not be rolled back",
			howdah_connection_describe(connection));
	}
	return result != HOWDAH_ROLLBACK_IDLE;
}

unsigned howdah_connections_rollback(void)
{
	unsigned found = 0;
	if (howdah_concurrent) {
		return 0; /* database/clients.c does it, for each request when it ends */
	}
	struct howdah_connection *list;
	unsigned count = howdah_connections_take(&list);
	if (count == 0) {
		return 0;
	}
	for (unsigned i = 0; i < count; i++) {
		found += howdah_connection_end_request(&list[i], false);
	}
	howdah_connections_release();
	return found;
}

/* --- dead connections ---------------------------------------------------------------------------------- */

/* The options are read late, because a list may outlive changes of the tracked objects. */
static bool revive(struct howdah_connection *connection)
{
	struct howdah_connection_object *entry = connection->object ? howdah_track_find(connection->object) : NULL;
	zval options;
	ZVAL_UNDEF(&options);
	if (entry) {
		ZVAL_COPY(&options, &entry->options);
	}
	connection->options = Z_TYPE(options) == IS_ARRAY ? &options : NULL;
	howdah_connection_reason[0] = 0;
	zend_error_handling saved;
	/* As in the constructors: a warning of the connection attempt is an exception, and so our reason. */
	zend_replace_error_handling(EH_THROW, zend_ce_exception, &saved);
	bool revived = connection->kind->revive(connection);
	zend_restore_error_handling(&saved);
	howdah_connection_take_exception();
	connection->options = NULL;
	zval_ptr_dtor(&options);
	return revived;
}

static const char *reason(void)
{
	return howdah_connection_reason[0] ? howdah_connection_reason : "the client library gave no reason";
}

/* Sets `dead` of the connections. Returns how many are. */
static unsigned find_dead(struct howdah_connection *list, unsigned count)
{
	static struct pollfd *polls;
	static unsigned capacity;
	unsigned dead = 0, watched = 0;
	if (count > capacity) {
		struct pollfd *grown = realloc(polls, count * sizeof(*polls));
		if (!grown) {
			return 0;
		}
		polls = grown;
		capacity = count;
	}
	for (unsigned i = 0; i < count; i++) {
		int descriptor = list[i].kind->descriptor ? list[i].kind->descriptor(&list[i]) : HOWDAH_DESCRIPTOR_NONE;
		/* POLLIN is not requested: a pending notification or TLS ticket does not mean that the connection is closed. */
		polls[i] = (struct pollfd){.fd = descriptor, .events = POLLRDHUP};
		list[i].dead = descriptor == HOWDAH_DESCRIPTOR_DEAD;
		dead += list[i].dead;
		watched += descriptor >= 0;
	}
	/* poll() ignores negative descriptors. */
	if (watched && poll(polls, count, 0) > 0) {
		for (unsigned i = 0; i < count; i++) {
			list[i].dead = list[i].dead || polls[i].revents;
			dead += polls[i].revents != 0;
		}
	}
	return dead;
}

/* Whether this call may retry connections that failed before: an attempt may take as long as a timeout. */
static bool may_retry(void)
{
	static time_t last;
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	if (now.tv_sec < last + RETRY_INTERVAL_S) {
		return false;
	}
	last = now.tv_sec;
	return true;
}

static void note_connected(const struct howdah_connection *connection)
{
	struct howdah_connection_object *entry = connection->object ? howdah_track_find(connection->object) : NULL;
	if (entry && entry->unconnected) {
		entry->unconnected = false;
		howdah_log_format(
			'i', "connected %s, which had failed at the start of this worker", howdah_connection_describe(connection));
	}
}

/*
 * The fork could not connect, or currently no object uses the connection. In the first case the server is unavailable,
 * and a new worker could not connect either: the application gets its library's error until the server is back.
 */
static bool is_optional(const struct howdah_connection *connection)
{
	struct howdah_connection_object *entry = connection->object ? howdah_track_find(connection->object) : NULL;
	return !connection->object || (entry && entry->unconnected);
}

static enum howdah_connections_state check_one(struct howdah_connection *connection, uint32_t mode)
{
	if (mode == HOWDAH_CONNECTIONS_REVIVE && connection->kind->revive) {
		bool has_statements = connection->kind->has_statements && connection->kind->has_statements(connection);
		if (!has_statements && revive(connection)) {
			howdah_log_format('w',
				"the connection of %s had been closed by its server and was reconnected; settings made by SET are lost",
				howdah_connection_describe(connection));
			return HOWDAH_CONNECTIONS_REVIVED;
		}
		howdah_log_format('w',
			"the connection of %s had been closed by its server and cannot be reconnected: %s; the worker is replaced",
			howdah_connection_describe(connection),
			has_statements ? "it has prepared statements, which would be lost" : reason());
		return HOWDAH_CONNECTIONS_DEAD;
	}
	howdah_log_format('w', "the connection of %s was closed by its server; the worker is replaced",
		howdah_connection_describe(connection));
	return HOWDAH_CONNECTIONS_DEAD;
}

enum howdah_connections_state howdah_connections_check(uint32_t mode)
{
	enum howdah_connections_state state = HOWDAH_CONNECTIONS_ALIVE;
	struct howdah_connection *list;
	unsigned count = mode == HOWDAH_CONNECTIONS_IGNORE ? 0 : howdah_connections_take(&list);
	if (count == 0) {
		return state;
	}
	bool retry = find_dead(list, count) && may_retry();
	for (unsigned i = 0; i < count; i++) {
		enum howdah_connections_state one = HOWDAH_CONNECTIONS_ALIVE;
		if (!list[i].dead) {
			continue;
		}
		if (!is_optional(&list[i])) {
			one = check_one(&list[i], mode);
		} else if (retry && revive(&list[i])) {
			note_connected(&list[i]);
			one = HOWDAH_CONNECTIONS_REVIVED;
		}
		state = one > state ? one : state;
	}
	howdah_connections_release();
	return state;
}

/* --- fork ----------------------------------------------------------------------------------------------- */

static unsigned count_threads(void)
{
	unsigned threads = 0;
	DIR *directory = opendir("/proc/self/task");
	if (!directory) {
		return 1;
	}
	for (struct dirent *entry; (entry = readdir(directory));) {
		threads += entry->d_name[0] != '.';
	}
	closedir(directory);
	return threads;
}

const char *howdah_connections_unfit(const struct howdah_connection_use *use)
{
	static char sentence[256];
	const char *found = NULL;
	unsigned threads = count_threads();
	if (threads > 1) {
		snprintf(sentence, sizeof(sentence), "the worker script started %u threads, which a fork does not have",
			threads - 1);
		return sentence;
	}
	struct howdah_connection *list;
	unsigned count = howdah_connections_take(&list);
	if (count == 0) {
		return NULL;
	}
	for (unsigned i = 0; i < count && !found; i++) {
		const char *why = list[i].kind->unfit ? list[i].kind->unfit(&list[i], use) : NULL;
		howdah_connection_take_exception();
		if (why) {
			snprintf(sentence, sizeof(sentence), "the worker script left %s open, %s",
				howdah_connection_describe(&list[i]), why);
			found = sentence;
		}
	}
	howdah_connections_release();
	return found;
}

void howdah_connections_let_go(void)
{
	struct howdah_connection *list;
	unsigned count = howdah_connections_take(&list);
	for (unsigned i = 0; i < count; i++) {
		if (list[i].kind->let_go) {
			list[i].kind->let_go(&list[i]);
			howdah_connection_take_exception();
		}
	}
	if (count) {
		howdah_connections_release();
	}
	howdah_memcached_let_go();
}

void howdah_connections_after_fork(void)
{
	struct howdah_connection *list;
	unsigned count = howdah_connections_take(&list);
	if (count == 0) {
		return;
	}
	for (unsigned i = 0; i < count; i++) {
		struct howdah_connection *connection = &list[i];
		if (!connection->kind->revive || (connection->kind->inherited && !connection->kind->inherited(connection))) {
			continue;
		}
		if (revive(connection)) {
			howdah_log_format(
				'd', "reconnected %s, which the worker script had left open", howdah_connection_describe(connection));
			continue;
		}
		howdah_log_format('w', "cannot reconnect %s, which the worker script had left open: %s",
			howdah_connection_describe(connection), reason());
		struct howdah_connection_object *entry = connection->object ? howdah_track_find(connection->object) : NULL;
		if (entry) {
			entry->unconnected = true;
		}
	}
	howdah_connections_release();
}
