/*
 * The root zygote: PHP's module start-up happens here, once; everything it maps (OPcache's memory,
 * APCu, JIT buffers) is shared by all pools and workers below.
 *
 * Rules: runs no PHP code, so that no worker inherits a request; keeps no descriptor of any pool.
 */
#include "zygote_root.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "php/engine.h"
#include "php/module.h"
#include "php/opcache.h"
#include "php/opcache_inspect.h"
#include "php/preload.h"
#include "php/sapi.h"
#include "pool.h"
#include "title.h"
#include "users.h"
#include "zygote.h"

enum pool_fd { POOL_CONTROL, POOL_SEGMENT, POOL_SPOOL, POOL_LOG, POOL_EVENTS };

/*
 * Takes `size` bytes of the message's strings as a separate string. Returns NULL if they are missing, or without
 * memory.
 */
static char *take(const unsigned char **at, const unsigned char *end, uint32_t size)
{
	if (size > (size_t)(end - *at)) {
		return NULL;
	}
	char *copy = malloc((size_t)size + 1);
	if (copy) {
		memcpy(copy, *at, size);
		copy[size] = '\0';
		*at += size;
	}
	return copy;
}

/* Reads POOL's data into `pool`. Returns NULL, or a description of the mistake. */
static const char *parse_pool(const struct howdah_message *message, struct howdah_pool *pool)
{
	struct howdah_pool_options *options = &pool->options;
	memset(pool, 0, sizeof(*pool));
	if (message->head.size < sizeof(*options)) {
		return "its options are cut short";
	}
	memcpy(options, message->data, sizeof(*options));
	if (options->mode != HOWDAH_POOL_CLASSIC && options->mode != HOWDAH_POOL_WORKER) {
		return "its mode is unknown to this howdah-php";
	}
	if (options->flags & ~HOWDAH_POOL_FLAG_ALL) {
		return "it has flags unknown to this howdah-php; are howdah and howdah-php from one build?";
	}
	if (message->fd_count <= POOL_EVENTS) {
		return "descriptors are missing";
	}
	const unsigned char *at = message->data + sizeof(*options), *end = message->data + message->head.size;
	if (options->name_size == 0 || options->name_size > HOWDAH_POOL_NAME_MAX ||
		options->name_size > (size_t)(end - at)) {
		return "its name must have 1 to 64 bytes";
	}
	memcpy(pool->name, at, options->name_size);
	at += options->name_size;
	pool->script = take(&at, end, options->script_size);
	pool->root = pool->script ? take(&at, end, options->root_size) : NULL;
	pool->env = pool->root ? take(&at, end, options->env_size) : NULL;
	pool->warm = pool->env ? take(&at, end, options->warm_size) : NULL;
	pool->php_ini = pool->warm ? take(&at, end, options->php_ini_size) : NULL;
	pool->php_admin_ini = pool->php_ini ? take(&at, end, options->php_admin_ini_size) : NULL;
	pool->detect_leaks_allow = pool->php_admin_ini ? take(&at, end, options->detect_leaks_allow_size) : NULL;
	if (!pool->detect_leaks_allow) {
		return "its strings are cut short";
	}
	if (options->mode == HOWDAH_POOL_WORKER && pool->script[0] != '/') {
		return "the path of its worker script is not absolute";
	}
	if (options->concurrency > HOWDAH_CONCURRENCY_MAX ||
		(options->concurrency > 1 && options->mode != HOWDAH_POOL_WORKER)) {
		return "the number of requests that a worker runs at a time is too large, or its mode allows only one";
	}
	bool has_user = options->flags & HOWDAH_POOL_FLAG_USER;
	if (!howdah_users_allow(at, has_user ? (size_t)(end - at) : 0)) {
		return "the configuration that the monitor has read does not name its user; reload";
	}
	if (has_user) {
		return howdah_user_parse(&pool->user, at, (size_t)(end - at));
	}
	return at == end ? NULL : "there is more data than its sizes add up to";
}

static void free_pool(struct howdah_pool *pool)
{
	free(pool->script);
	free(pool->root);
	free((char *)pool->env);
	free((char *)pool->warm);
	free((char *)pool->php_ini);
	free((char *)pool->php_admin_ini);
	free((char *)pool->detect_leaks_allow);
	howdah_user_free(&pool->user);
}

static void start_pool(struct howdah_zygote *zygote, struct howdah_message *message)
{
	static struct howdah_pool pool;
	uint32_t number = message->head.worker;
	if (number >= HOWDAH_WORKERS_MAX || zygote->pid[number]) {
		howdah_control_fail(zygote->control, number, EINVAL, "zygote %u: the number is taken or above %u", number,
			HOWDAH_WORKERS_MAX - 1);
		return;
	}
	const char *wrong = parse_pool(message, &pool);
	pool.record = -1;
	if (!wrong && pool.options.flags & HOWDAH_POOL_FLAG_RECORD) {
		pool.record = message->fds[--message->fd_count]; /* the last one; closed below */
	}
	if (!wrong) {
		wrong = howdah_queue_map(
			&pool.queue, message->fds[POOL_SEGMENT], message->fds + POOL_EVENTS, message->fd_count - POOL_EVENTS);
	}
	if (!wrong && pool.queue.concurrent != (pool.options.concurrency > 1)) {
		wrong = "it takes an eventfd for each place if, and only if, its workers run several requests at a time";
	}
	if (wrong) {
		howdah_control_fail(zygote->control, number, EINVAL, "pool %s: %s", pool.name, wrong);
	} else {
		pool.spool = message->fds[POOL_SPOOL];
		zygote->uid[number] = pool.options.flags & HOWDAH_POOL_FLAG_USER ? pool.user.is.uid : geteuid();
		if (howdah_zygote_fork(zygote, number, HOWDAH_CONTROL_POOL_STARTED) == 0) {
			close(message->fds[POOL_SEGMENT]);
			howdah_zygote_pool(&pool, message->fds[POOL_CONTROL], message->fds[POOL_LOG]);
		}
		munmap(pool.queue.base, pool.queue.header.segment_size);
	}
	if (pool.record >= 0) {
		close(pool.record);
	}
	free_pool(&pool);
}

enum opcache_fd { OPCACHE_ANSWER, OPCACHE_PATHS_IN };

/* A missing response means that something is wrong with it. */
static void inspect_opcache(struct howdah_zygote *zygote, const struct howdah_message *message)
{
	struct howdah_opcache_order order;
	struct howdah_user user = {0};
	if (message->head.size < sizeof(order) || message->fd_count <= OPCACHE_ANSWER) {
		return;
	}
	memcpy(&order, message->data, sizeof(order));
	bool has_user = order.what & HOWDAH_OPCACHE_USER;
	const unsigned char *of_user = message->data + sizeof(order);
	size_t size = has_user ? message->head.size - sizeof(order) : 0;
	const char *wrong = order.what & ~HOWDAH_OPCACHE_ALL ? "unknown order" : NULL;
	if (!wrong && !howdah_users_allow(of_user, size)) {
		wrong = "the monitor has named other users";
	}
	if (!wrong && has_user) {
		wrong = howdah_user_parse(&user, of_user, size);
	}
	if (!wrong && howdah_zygote_fork_helper(zygote) == 0) {
		int paths = message->fd_count > OPCACHE_PATHS_IN ? message->fds[OPCACHE_PATHS_IN] : -1;
		howdah_opcache_inspect(&order, has_user ? &user : NULL, message->fds[OPCACHE_ANSWER], paths);
	}
	howdah_user_free(&user);
}

static void command(struct howdah_zygote *zygote, struct howdah_message *message)
{
	if (message->head.kind == HOWDAH_CONTROL_POOL) {
		start_pool(zygote, message);
	} else if (message->head.kind == HOWDAH_CONTROL_OPCACHE) {
		inspect_opcache(zygote, message);
	} else {
		howdah_control_fail(
			zygote->control, message->head.worker, EINVAL, "message %u is not valid for the root", message->head.kind);
	}
}

static bool is_seqpacket(int socket)
{
	int type;
	socklen_t size = sizeof(type);
	return getsockopt(socket, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_SEQPACKET;
}

static bool start_php(struct howdah_options *options)
{
	return howdah_engine_start(&howdah_sapi_module, options);
}

struct arguments {
	struct howdah_options options;
	int control;
	bool booted, preload, has_users;
};

static int descriptor(const char *text)
{
	char *end;
	errno = 0;
	long number = strtol(text, &end, 10);
	return errno == 0 && *end == '\0' && number >= 0 && number <= INT_MAX ? (int)number : -1;
}

static bool parse_arguments(struct arguments *arguments, int argc, char **argv)
{
	const struct {
		const char *name;
		bool *is_set;
	} flags[] = {
		{"--preload", &arguments->preload},
		{"--users", &arguments->has_users},
		{"--concurrent", &howdah_module_guards_clients},
		{"--booted", &arguments->booted},
	};
	*arguments = (struct arguments){.control = -1};
	howdah_options_init(&arguments->options);
	for (int index = 0; index < argc;) {
		if (strcmp(argv[index], "--control-fd") == 0 && index + 1 < argc) {
			arguments->control = descriptor(argv[index + 1]);
			index += 2;
			continue;
		}
		size_t flag = 0;
		while (flag < sizeof(flags) / sizeof(*flags) && strcmp(argv[index], flags[flag].name) != 0) {
			flag++;
		}
		if (flag < sizeof(flags) / sizeof(*flags)) {
			*flags[flag].is_set = true;
			index++;
			continue;
		}
		int taken = howdah_options_take(&arguments->options, argc, argv, &index);
		if (taken == 0) {
			fprintf(stderr, "howdah-php zygote: unknown option %s\n", argv[index]);
		}
		if (taken <= 0) {
			return false;
		}
	}
	return true;
}

/* Moves the control socket above the standard descriptors: it may have come as standard input, which is replaced. */
static bool take_control(int *control)
{
	if (*control < 0 || !is_seqpacket(*control)) {
		fprintf(stderr, "howdah-php zygote: --control-fd needs the number of an open SOCK_SEQPACKET socket; howdah "
						"starts this command itself\n");
		return false;
	}
	int moved = fcntl(*control, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	if (moved < 0) {
		fprintf(stderr, "howdah-php zygote: cannot take the control socket: %s\n", strerror(errno));
		return false;
	}
	close(*control);
	*control = moved;
	return true;
}

/* Otherwise every process that PHP code starts would inherit the other descriptors. */
static void close_all_but(int control)
{
	if (control > STDERR_FILENO + 1) {
		close_range(STDERR_FILENO + 1, (unsigned)control - 1, 0);
	}
	close_range((unsigned)control + 1, ~0u, 0);
}

/* Standard input is at its end. Not /dev/null: scripts under PHP-FPM cannot seek or sync it either. */
static void end_standard_input(void)
{
	int ends[2];
	if (pipe2(ends, O_CLOEXEC) == 0) {
		close(ends[1]);
		if (ends[0] == STDIN_FILENO) { /* it was free: the control socket had been there */
			fcntl(STDIN_FILENO, F_SETFD, 0);
		} else {
			dup2(ends[0], STDIN_FILENO);
			close(ends[0]);
		}
	}
}

static bool send_ready(int control, char *info)
{
	struct howdah_control ready = {.kind = HOWDAH_CONTROL_READY};
	int sent = info ? howdah_control_send(control, ready, info, strlen(info), -1) : -1;
	if (sent != 0) {
		fprintf(stderr, "howdah-php: cannot notify the front that PHP is ready: %s\n", strerror(errno));
	}
	free(info);
	return sent == 0;
}

int howdah_zygote_root(int argc, char **argv)
{
	struct arguments arguments;
	if (!parse_arguments(&arguments, argc, argv) || !take_control(&arguments.control)) {
		return 2;
	}
	int control = arguments.control;
	close_all_but(control);
	/* Background processes that PHP code leaves behind are reaped here, also when howdah is pid 1. */
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	/*
	 * Only the front reacts to Ctrl-C in a terminal. Not a separate session: Linux shares processors between sessions
	 * (autogroups), and with some kernels a busy front then keeps PHP from running for seconds.
	 */
	(void)setpgid(0, 0);
	end_standard_input();

	if (arguments.has_users && !howdah_users_receive(control)) {
		fprintf(stderr, "howdah-php: the list of users did not arrive; are howdah and howdah-php from one build?\n");
		return 2;
	}
	if (arguments.preload && !howdah_preload_prepare(control, &arguments.options, start_php)) {
		return 2;
	}
	struct howdah_zygote zygote;
	if (!howdah_zygote_init(&zygote, control) || !start_php(&arguments.options)) {
		return 2;
	}
	/*
	 * PHP's command line has these functions, PHP-FPM does not. Their effects would persist for every later request of
	 * the process.
	 */
	zend_disable_functions("chroot,dl");
	howdah_title_set("howdah: php %s", PHP_VERSION);

	char *info = howdah_engine_info();
	const char *problem;
	howdah_opcache_startup(arguments.booted, &problem);
	if (problem) {
		fprintf(stderr, "howdah-php: %s\n", problem);
	}
	howdah_preload_finish();
	if (!send_ready(control, info)) {
		return 1;
	}
	zygote.exited_kind = HOWDAH_CONTROL_POOL_EXITED;
	zygote.command = command;
	return howdah_zygote_run(&zygote);
}
