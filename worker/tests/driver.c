/*
 * A front for tests: starts `howdah-php zygote`, one pool with one worker, runs the requests that a
 * specification on standard input names, and prints the responses.
 *
 *   driver HOWDAH_PHP SPOOL_DIRECTORY < SPECIFICATION
 *
 * Lines of the specification; values are percent-encoded:
 *   arg TEXT            an argument of howdah-php zygote
 *   max-requests N      limit of the worker, as `retire-after N`
 *   worker SCRIPT       the pool is in worker mode
 *   option NAME N       a number of struct howdah_pool_options: flags keep connections cpu_timeout_ms concurrency
 *                       stack_size hog_threshold_ms time_slice_ms hang_timeout_ms detect_leaks_sample
 *   leak-allow PATTERN  state that may differ after a request
 *   env NAME VALUE      a variable of the boot; `ini NAME VALUE`: a setting of the pool; `final NAME VALUE`: a final one
 *   warm URI            a path that the worker requests of itself
 *   show WHAT...        output besides bodies: headers end usage database share log raw frames exit state
 *   var NAME VALUE      a variable of the following requests; without VALUE: no more
 *   body inline|file F  the body of the following requests: the bytes of file F; `body none`
 *   abort N             the client of the next request disconnects after N body bytes, 0: before a worker claims it
 *   head                the next request has no response body; `cut N`: its variables lack their last N bytes
 *   touch NAME F        before the next request the file NAME gets the bytes of file F
 *   preload MODE FILE.. auto or all: files that PHP is started with; prints the results
 *   record              the pool's processes record the files that they run; `recorded` prints them
 *   run                 runs a request; `respawn` starts the worker again after it has exited
 *   stop                makes the worker exit and waits for that
 *   wait-log TEXT       waits until the log has a line with TEXT
 *   push NAME           queues a request, as `run`, and continues
 *   await NAME...       waits until these requests are over and prints each as it ends; `all`: those not awaited yet
 *   await-body NAME TEXT  waits until the response's body has TEXT so far
 *   stall NAME          its client stops reading; `read NAME`: it continues
 *   leave NAME          its client disconnects; `time-out NAME`: its time is over
 *   beside N            another worker appears to have N requests; it claims none
 *   profile N           the worker samples its stack each N microseconds; `profiled` ends that and prints the heaviest
 *   left N              runs up to N requests without printing, until the worker has taken one within 20 ms; prints
 *                       whether it has
 *   drive               runs requests without printing until one has no body
 *   bench N             runs N requests without printing; prints their time
 *
 * Rules: everything that it waits for has a time limit; every process that it starts is its child's
 * child and ends with the control sockets.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "driver_control.h"
#include "driver_files.h"
#include "driver_frames.h"
#include "driver_front.h"
#include "driver_log.h"
#include "driver_many.h"
#include "driver_preload.h"
#include "driver_profile.h"
#include "driver_text.h"
#include "howdah_vars.h"

/* No test takes this long, even on a busy machine: a test that reaches it hangs. */
#define TIME_LIMIT_S 300
#define ARGS_MAX 64
#define VARS_MAX 128

struct variable {
	char *name;
	char *value;
	size_t value_size;
};

static struct front front;
static const char *howdah_php, *spool;
static char *args[ARGS_MAX];
static int arg_count;
static struct howdah_spawn limits = {.log_key = DRIVER_LOG_KEY};
static struct howdah_pool_options options = {.mode = HOWDAH_POOL_CLASSIC,
	.generation = 1,
	.name_size = 4,
	.log_key = {(uint32_t)DRIVER_LOG_KEY, DRIVER_LOG_KEY >> 32}};
static char *script = "";
static char env[65536], warm[65536], ini[4096], final[4096], leak_allow[4096];
static struct variable variables[VARS_MAX];
static int variable_count;
static char *body_file;
static bool body_spooled;
static long abort_after = -1;
static uint32_t cut;
static uint32_t request_flags;
static bool show_exit;

static int root = -1, pool = -1, log_pipe = -1, boot_log = -1;
static pid_t root_pid;
static bool worker_alive;
static pid_t worker_pid;
static int worker_status;
static int run_count;

/* --- processes ------------------------------------------------------------------------------------- */

static void start_root(void)
{
	int pair[2];
	socket_pair(pair);
	root_pid = fork();
	if (root_pid == 0) {
		char number[16];
		char *argv[ARGS_MAX + 7] = {(char *)howdah_php, "zygote", "--control-fd", number};
		int count = 4;
		int control = dup(pair[1]);
		snprintf(number, sizeof(number), "%d", control);
		if (options.concurrency > 1) {
			argv[count++] = "--concurrent";
		}
		if (preload_wanted()) {
			argv[count++] = "--preload";
		}
		memcpy(argv + count, args, sizeof(*args) * (size_t)arg_count);
		execv(howdah_php, argv);
		_exit(127);
	}
	close(pair[1]);
	root = pair[0];
	struct message message;
	int fd;
	if (preload_wanted()) {
		int plan = preload_create();
		send_message(root, (struct howdah_control){.kind = HOWDAH_CONTROL_PRELOAD}, NULL, 0, &plan, 1);
	}
	if (!receive_message(root, &message, &fd) || message.head.kind != HOWDAH_CONTROL_READY || message.data[0] != '{') {
		int status = 0;
		waitpid(root_pid, &status, 0);
		printf("zygote left with status %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status));
		exit(0);
	}
	if (preload_wanted()) {
		preload_print();
	}
}

/* The folder of the worker script. */
static const char *name_root(void)
{
	static char root_path[4096];
	snprintf(root_path, sizeof(root_path), "%s", script);
	char *slash = strrchr(root_path, '/');
	if (slash) {
		*slash = '\0';
	}
	options.root_size = (uint32_t)strlen(root_path);
	return root_path;
}

static void open_log(int *ends)
{
	if (pipe2(ends, O_CLOEXEC) != 0) {
		front_fail("pipe: %s", strerror(errno));
	}
	fcntl(ends[0], F_SETFL, O_NONBLOCK);
	/* `bench` reads it when all requests are done. */
	fcntl(ends[0], F_SETPIPE_SZ, 1 << 20);
}

/* A zygote that cannot boot ends the test. */
static void await_boot(void)
{
	struct message message;
	int fd;
	if (receive_message(pool, &message, &fd)) {
		if (message.head.kind != HOWDAH_CONTROL_BOOTED) {
			front_fail("message %u instead of BOOTED: %s", message.head.kind, message.data);
		}
		if (message.head.status == HOWDAH_BOOTED_UNFIT) {
			printf("[unfit: %.*s]\n", (int)message.head.size, message.data);
			exit(0);
		}
		while (log_read(boot_log)) {
		}
		log_print(log_pipe);
		return;
	}
	expect_message(root, HOWDAH_CONTROL_POOL_EXITED, &message, &fd);
	while (log_read(boot_log)) {
	}
	log_print(log_pipe);
	printf("[boot ended with status %d]\n",
		WIFEXITED(message.head.status) ? WEXITSTATUS(message.head.status) : -WTERMSIG(message.head.status));
	exit(0);
}

static void start_pool(void)
{
	int pair[2], fd;
	struct message message;
	socket_pair(pair);
	pool = pair[0];
	int directory = open(spool, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (directory < 0) {
		front_fail("%s: %s", spool, strerror(errno));
	}
	static unsigned char data[HOWDAH_CONTROL_SIZE_MAX];
	size_t size = 0;
	const char *document_root = name_root();
	const struct {
		const void *bytes;
		size_t size;
	} parts[] = {{&options, sizeof(options)}, {"test", 4}, {script, options.script_size},
		{document_root, options.root_size}, {env, options.env_size}, {warm, options.warm_size},
		{ini, options.php_ini_size}, {final, options.php_admin_ini_size},
		{leak_allow, options.detect_leaks_allow_size}};
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		memcpy(data + size, parts[i].bytes, parts[i].size);
		size += parts[i].size;
	}
	int log[2];
	open_log(log);
	boot_log = log[0];
	int fds[8] = {pair[1], front.segment, directory, log[1], front.event, front.place_event[0], front.place_event[1]};
	unsigned count = options.concurrency > 1 ? 7 : 5;
	if (options.flags & HOWDAH_POOL_FLAG_RECORD) {
		fds[count++] = record_create();
	}
	send_message(root, (struct howdah_control){.kind = HOWDAH_CONTROL_POOL, .worker = 1}, data, size, fds, count);
	close(pair[1]);
	close(log[1]);
	close(directory);
	expect_message(root, HOWDAH_CONTROL_POOL_STARTED, &message, &fd);
	close(fd);
	await_boot();
}

static void start_worker(void)
{
	int pipes[2], fd;
	struct message message;
	struct {
		struct howdah_spawn limits;
		uint32_t write_index;
	} data = {limits, front.read_index[0]};
	if (log_pipe >= 0) {
		close(log_pipe);
	}
	open_log(pipes);
	log_pipe = pipes[0];
	front_start(&front, 0);
	send_message(pool, (struct howdah_control){.kind = HOWDAH_CONTROL_SPAWN, .worker = 0}, &data,
		sizeof(data.limits) + sizeof(data.write_index), &pipes[1], 1);
	close(pipes[1]);
	expect_message(pool, HOWDAH_CONTROL_SPAWNED, &message, &fd);
	close(fd);
	worker_alive = true;
	worker_pid = message.head.pid;
}

static void start(void)
{
	if (root < 0) {
		front_create(&front, options.concurrency > 1);
		start_root();
		start_pool();
		start_worker();
	}
}

static void worker_ended(const struct message *message)
{
	worker_alive = false;
	worker_status = message->head.status;
}

/* For driver_many.c: something has happened, or will. */
static void await_something(void)
{
	front_sleep(&front, true);
	if (front_drain(&front)) {
		front_sleep(&front, false);
		return;
	}
	struct pollfd wait[3] = {{front.event, POLLIN, 0}, {worker_alive ? pool : -1, POLLIN, 0}, {log_pipe, POLLIN, 0}};
	poll(wait, 3, -1);
	front_sleep(&front, false);
	uint64_t count;
	if (wait[0].revents && read(front.event, &count, sizeof(count)) < 0 && errno != EAGAIN) {
		front_fail("eventfd: %s", strerror(errno));
	}
	if (wait[2].revents & POLLIN) {
		log_read(log_pipe);
	}
	if (wait[1].revents) {
		struct message message;
		int fd;
		expect_message(pool, HOWDAH_CONTROL_EXITED, &message, &fd);
		worker_ended(&message);
		front_drain(&front);
		many_worker_died();
	}
}

static void print_exit(void)
{
	if (show_exit) {
		WIFSIGNALED(worker_status) ? printf("[worker killed by signal %d]\n", WTERMSIG(worker_status))
								   : printf("[worker exited with status %d]\n", WEXITSTATUS(worker_status));
	}
}

static void await_exit(void)
{
	struct message message;
	int fd;
	if (worker_alive) {
		expect_message(pool, HOWDAH_CONTROL_EXITED, &message, &fd);
		worker_ended(&message);
	}
	log_print(log_pipe);
	print_exit();
}

/* Closing the sockets must end everything: the root's wait proves it for the whole tree. */
static void finish(void)
{
	int status = 0;
	if (root < 0) {
		return;
	}
	close(pool);
	close(root);
	waitpid(root_pid, &status, 0);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
		front_fail("the root zygote ended with status %x", (unsigned)status);
	}
	log_print(log_pipe);
}

/* --- requests -------------------------------------------------------------------------------------- */

static const char *const known_names[HOWDAH_VAR_COUNT] = {"",
#define NAME(name) #name,
	HOWDAH_VARS(NAME)
#undef NAME
};

static uint32_t encode_variables(uint8_t *area)
{
	size_t at = 0;
	for (int i = 0; i < variable_count; i++) {
		const struct variable *variable = &variables[i];
		struct howdah_var head = {.value_size = (uint32_t)variable->value_size};
		for (int id = 1; id < HOWDAH_VAR_COUNT && !head.id; id++) {
			head.id = strcmp(known_names[id], variable->name) == 0 ? (uint16_t)id : 0;
		}
		size_t name_size = strlen(variable->name);
		if (at + sizeof(head) + name_size + variable->value_size + 8 > FRONT_REQUEST_SIZE) {
			front_fail("the variables do not fit");
		}
		if (!head.id) {
			head.name_size = (uint16_t)name_size;
		}
		memcpy(area + at, &head, sizeof(head));
		at += sizeof(head);
		if (!head.id) {
			memcpy(area + at, variable->name, name_size + 1);
			at += name_size + 1;
		}
		memcpy(area + at, variable->value, variable->value_size);
		area[at + variable->value_size] = '\0';
		at = (at + variable->value_size + 1 + 3) & ~(size_t)3;
	}
	return (uint32_t)at;
}

static void push(struct exchange *exchange)
{
	uint32_t index = front_free_slot(&front);
	uint8_t *area = front_request_area(&front, index);
	uint32_t vars_size = encode_variables(area) - cut;
	uint32_t kind = HOWDAH_BODY_NONE;
	size_t body_size = 0;
	if (body_file) {
		char *body = read_file(body_file, &body_size);
		if (body_spooled) {
			char name[4096];
			kind = HOWDAH_BODY_FILE;
			snprintf(name, sizeof(name), "%s/%016lx", spool, (unsigned long)front.next_id);
			write_file(name, body, body_size);
		} else {
			size_t offset = (vars_size + 7u) & ~7u;
			kind = HOWDAH_BODY_INLINE;
			if (offset + body_size > FRONT_REQUEST_SIZE) {
				front_fail("the body does not fit into the slot");
			}
			memcpy(area + offset, body, body_size);
		}
		free(body);
	}
	uint32_t account = frames_show.usage || frames_show.database || frames_show.share ? HOWDAH_REQUEST_ACCOUNT : 0;
	front_push(&front, exchange, index, vars_size, kind, body_size, request_flags | account);
}

/* True when the request is over, in whatever way. */
static bool advance(struct exchange *exchange, struct progress *progress, bool print)
{
	front_drain(&front);
	const struct howdah_frame *frame;
	while ((frame = front_frame(&front, exchange)) != NULL) {
		frames_take(frame, progress, print ? stdout : NULL);
		front_consume(&front, exchange, frame);
		if (abort_after >= 0 && progress->body_size >= (uint64_t)abort_after) {
			front_abort(&front, exchange, HOWDAH_ABORTED_CLIENT);
			abort_after = -1;
		}
	}
	return exchange->done;
}

static struct howdah_slot *run(bool print, uint64_t *body_size)
{
	struct exchange exchange;
	struct progress progress = frames_begin();
	progress.aborted = abort_after >= 0;
	if (!worker_alive) {
		front_fail("there is no worker: the last one has ended");
	}
	if (abort_after == 0) {
		/* Before a worker can claim it: afterwards the worker could be faster. */
		front.abort_next = HOWDAH_ABORTED_CLIENT;
		abort_after = -1;
	}
	push(&exchange);
	while (!advance(&exchange, &progress, print)) {
		front_sleep(&front, true);
		if (advance(&exchange, &progress, print)) {
			front_sleep(&front, false);
			break;
		}
		struct pollfd wait[3] = {{front.event, POLLIN, 0}, {pool, POLLIN, 0}, {log_pipe, POLLIN, 0}};
		poll(wait, 3, -1);
		front_sleep(&front, false);
		uint64_t count;
		if (wait[0].revents && read(front.event, &count, sizeof(count)) < 0 && errno != EAGAIN) {
			front_fail("eventfd: %s", strerror(errno));
		}
		if (wait[2].revents & POLLIN) {
			log_read(log_pipe);
		}
		if (wait[1].revents && !exchange.done) {
			struct message message;
			int fd;
			expect_message(pool, HOWDAH_CONTROL_EXITED, &message, &fd);
			worker_ended(&message);
			if (!advance(&exchange, &progress, print)) {
				printf("[worker died; started=%u]\n", atomic_load(&exchange.slot->started));
				front_forget(&front, &exchange);
				log_print(log_pipe);
				print_exit();
				return exchange.slot;
			}
		}
	}
	if (!progress.end) {
		front_fail("DONE without END");
	}
	if (print) {
		printf("\n");
		log_print(log_pipe);
	}
	request_flags = 0;
	cut = 0;
	if (body_size) {
		*body_size = progress.body_size;
	}
	return exchange.slot;
}

static void drive(void)
{
	uint64_t body_size;
	do {
		body_size = 0;
		run(false, &body_size);
	} while (body_size > 0);
}

static uint64_t now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* A busy machine can only make times longer: a short one shows that requests are not left. */
static void left(long count)
{
	while (count-- > 0) {
		front_await_parked(&front);
		uint64_t pushed = now_ns();
		if (run(false, NULL)->claimed_ns < pushed + 20000000) {
			printf("taken\n");
			return;
		}
	}
	printf("left\n");
}

/* Processor time of the worker's thread in nanoseconds. */
static double worker_cpu(void)
{
	char name[64];
	unsigned long ns = 0;
	snprintf(name, sizeof(name), "/proc/%d/schedstat", (int)worker_pid);
	FILE *file = fopen(name, "r");
	if (!file || fscanf(file, "%lu", &ns) != 1) {
		front_fail("%s: %s", name, strerror(errno));
	}
	fclose(file);
	return (double)ns;
}

static void bench(long count)
{
	uint32_t vars_size = encode_variables(front_request_area(&front, 0));
	front_bench(&front, 2000, vars_size);
	double cpu = worker_cpu();
	uint64_t began = now_ns();
	front_bench(&front, count, vars_size);
	double us = (double)(now_ns() - began) / 1e3;
	printf("%ld requests, %.2f us each, %.2f us of the worker's CPU\n", count, us / (double)count,
		(worker_cpu() - cpu) / 1e3 / (double)count);
}

/* --- the specification ----------------------------------------------------------------------------- */

static void set_variable(char *line)
{
	char *space = strchr(line, ' ');
	if (space) {
		*space = '\0';
	}
	int i = 0;
	while (i < variable_count && strcmp(variables[i].name, line) != 0) {
		i++;
	}
	if (!space) {
		if (i < variable_count) {
			memmove(&variables[i], &variables[i + 1], sizeof(*variables) * (size_t)(variable_count - i - 1));
			variable_count--;
		}
		return;
	}
	if (i == VARS_MAX) {
		front_fail("too many variables");
	}
	variables[i].name = strdup(line);
	variables[i].value = text_decode(space + 1, &variables[i].value_size);
	variable_count += i == variable_count;
}

static void set_body(const char *rest)
{
	const char *space = strchr(rest, ' ');
	body_file = space ? strdup(space + 1) : NULL;
	body_spooled = strncmp(rest, "file", 4) == 0;
}

static void set_show(const char *rest)
{
	frames_show.headers |= strstr(rest, "headers") != NULL;
	frames_show.end |= strstr(rest, "end") != NULL;
	log_show.log |= strstr(rest, "log") != NULL;
	log_show.raw |= strstr(rest, "raw") != NULL;
	frames_show.frames |= strstr(rest, "frames") != NULL;
	show_exit |= strstr(rest, "exit") != NULL;
	frames_show.usage |= strstr(rest, "usage") != NULL;
	frames_show.database |= strstr(rest, "database") != NULL;
	frames_show.share |= strstr(rest, "share") != NULL;
	log_show.state |= strstr(rest, "state") != NULL;
}

static void touch(const char *rest)
{
	char name[4096], source[4096];
	size_t size;
	if (sscanf(rest, "%4095s %4095s", name, source) != 2) {
		front_fail("touch %s", rest);
	}
	char *bytes = read_file(source, &size);
	write_file(name, bytes, size);
	free(bytes);
}

static void wait_log(const char *text)
{
	while (!log_has(text)) {
		struct pollfd wait = {log_pipe, POLLIN, 0};
		poll(&wait, 1, -1);
		if (!log_read(log_pipe) && (wait.revents & POLLHUP)) {
			front_fail("the log ended without \"%s\"", text);
		}
	}
	log_print(log_pipe);
}

static void set_option(const char *rest)
{
	char name[32];
	unsigned value;
	if (sscanf(rest, "%31s %u", name, &value) != 2) {
		front_fail("option %s", rest);
	}
	if (strcmp(name, "flags") == 0) {
		options.flags = value;
	} else if (strcmp(name, "keep") == 0) {
		options.keep = value;
	} else if (strcmp(name, "connections") == 0) {
		options.connections = value;
	} else if (strcmp(name, "cpu_timeout_ms") == 0) {
		options.cpu_timeout_ms = value;
	} else if (strcmp(name, "concurrency") == 0) {
		options.concurrency = value;
	} else if (strcmp(name, "stack_size") == 0) {
		options.stack_size = value;
	} else if (strcmp(name, "hog_threshold_ms") == 0) {
		options.hog_threshold_ms = value;
	} else if (strcmp(name, "time_slice_ms") == 0) {
		options.time_slice_ms = value;
	} else if (strcmp(name, "hang_timeout_ms") == 0) {
		options.hang_timeout_ms = value;
	} else if (strcmp(name, "detect_leaks_sample") == 0) {
		options.detect_leaks_sample = value;
	} else {
		front_fail("there is no option \"%s\"", name);
	}
}

static void obey(char *line)
{
	char *rest = strchr(line, ' ');
	size_t size;
	if (rest) {
		*rest++ = '\0';
	} else {
		rest = line + strlen(line);
	}
	if (strcmp(line, "arg") == 0 && arg_count < ARGS_MAX) {
		args[arg_count++] = text_decode(rest, &size);
	} else if (strcmp(line, "max-requests") == 0) {
		limits.max_requests = (uint32_t)strtoul(rest, NULL, 10);
	} else if (strcmp(line, "retire-after") == 0) {
		limits.retire_after = (uint32_t)strtoul(rest, NULL, 10);
	} else if (strcmp(line, "max-memory") == 0) {
		limits.max_memory = strtoull(rest, NULL, 10);
	} else if (strcmp(line, "max-growth") == 0) {
		limits.max_memory_growth = strtoull(rest, NULL, 10);
	} else if (strcmp(line, "worker") == 0) {
		script = text_decode(rest, &size);
		options.mode = HOWDAH_POOL_WORKER;
		options.script_size = (uint32_t)size;
	} else if (strcmp(line, "option") == 0) {
		set_option(rest);
	} else if (strcmp(line, "env") == 0) {
		options.env_size += text_append_pair(env + options.env_size, rest);
	} else if (strcmp(line, "ini") == 0) {
		options.php_ini_size += text_append_pair(ini + options.php_ini_size, rest);
	} else if (strcmp(line, "final") == 0) {
		options.php_admin_ini_size += text_append_pair(final + options.php_admin_ini_size, rest);
	} else if (strcmp(line, "leak-allow") == 0) {
		options.detect_leaks_allow_size += text_append(leak_allow + options.detect_leaks_allow_size, rest);
	} else if (strcmp(line, "warm") == 0) {
		options.warm_size += text_append(warm + options.warm_size, rest);
	} else if (strcmp(line, "show") == 0) {
		set_show(rest);
	} else if (strcmp(line, "var") == 0) {
		set_variable(rest);
	} else if (strcmp(line, "body") == 0) {
		set_body(rest);
	} else if (strcmp(line, "abort") == 0) {
		abort_after = strtol(rest, NULL, 10);
	} else if (strcmp(line, "head") == 0) {
		request_flags |= HOWDAH_REQUEST_HEAD;
	} else if (strcmp(line, "cut") == 0) {
		cut = (uint32_t)strtoul(rest, NULL, 10);
	} else if (strcmp(line, "touch") == 0) {
		touch(rest);
	} else if (strcmp(line, "preload") == 0) {
		preload_set(rest);
	} else if (strcmp(line, "record") == 0) {
		options.flags |= HOWDAH_POOL_FLAG_RECORD;
	} else if (strcmp(line, "recorded") == 0) {
		record_print();
	} else if (strcmp(line, "run") == 0) {
		start();
		if (run_count++ && frames_show.headers) {
			printf("--\n");
		}
		run(true, NULL);
	} else if (strcmp(line, "push") == 0) {
		start();
		push(many_add(&front, rest));
		request_flags = 0;
	} else if (many_obey(line, rest)) {
		return;
	} else if (strcmp(line, "respawn") == 0) {
		start_worker();
	} else if (strcmp(line, "stop") == 0) {
		start();
		front_stop(&front, 0);
		await_exit();
	} else if (strcmp(line, "wait-exit") == 0) {
		await_exit();
	} else if (strcmp(line, "wait-log") == 0) {
		wait_log(rest);
	} else if (strcmp(line, "beside") == 0) {
		start();
		front_beside(&front, (uint32_t)strtoul(rest, NULL, 10));
	} else if (strncmp(line, "profile", 7) == 0) {
		start();
		profile_obey(&front, line, rest);
	} else if (strcmp(line, "left") == 0) {
		left(strtol(rest, NULL, 10));
	} else if (strcmp(line, "drive") == 0) {
		start();
		drive();
	} else if (strcmp(line, "bench") == 0) {
		start();
		bench(strtol(rest, NULL, 10));
	} else {
		front_fail("unknown line \"%s\"", line);
	}
}

/* The line of the specification that is obeyed, for a test that hangs. */
static char current[200];

static void hang(int signal)
{
	static const char before[] = "the test hangs at: ";
	(void)signal;
	(void)!write(STDERR_FILENO, before, sizeof before - 1);
	(void)!write(STDERR_FILENO, current, strlen(current));
	_exit(1);
}

int main(int argc, char **argv)
{
	char *line = NULL;
	size_t capacity = 0;
	ssize_t length;
	if (argc != 3) {
		fputs("usage: driver HOWDAH_PHP SPOOL_DIRECTORY < SPECIFICATION\n", stderr);
		return 2;
	}
	howdah_php = argv[1];
	spool = argv[2];
	/* What a test that hangs has printed is shown. */
	setvbuf(stdout, NULL, _IOLBF, 0);
	signal(SIGALRM, hang);
	alarm(TIME_LIMIT_S);
	many_init(await_something);
	while ((length = getline(&line, &capacity, stdin)) > 0) {
		line[strcspn(line, "\n")] = '\0';
		if (*line) {
			snprintf(current, sizeof current, "%s\n", line);
			obey(line);
		}
	}
	finish();
	return 0;
}
