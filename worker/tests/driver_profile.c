/*
 * See driver_profile.h.
 */
#include "driver_profile.h"

#include <linux/futex.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "howdah_slices.h"

#define PROFILE 7u           /* its number */
#define LIMIT_NS 60000000000 /* longer than any test */
#define SAMPLER_NS 1000000u  /* more than the sampling thread needs for a sample */
#define LEAST 20u            /* samples that a stack needs to be the heaviest */

static struct howdah_worker *words(const struct front *front)
{
	return (struct howdah_worker *)(front->base + front->header->workers_offset);
}

static pthread_t ticker;

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec now;
	return clock_gettime(clock, &now) == 0 ? (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec : 0;
}

static pid_t process(struct howdah_worker *worker)
{
	return (pid_t)(atomic_load(&worker->life) & ~(HOWDAH_LIFE_AWAITED | HOWDAH_LIFE_ENDED));
}

/* Processor time of the worker; 0: unknown. */
static uint64_t time_of(struct howdah_worker *worker)
{
	clockid_t clock;
	return clock_getcpuclockid(process(worker), &clock) == 0 ? clock_ns(clock) : 0;
}

/* PHP's thread does not run or wait for a processor. */
static bool sleeps(struct howdah_worker *worker)
{
	char path[64], state = 'R';
	snprintf(path, sizeof(path), "/proc/%d/stat", (int)process(worker));
	FILE *file = fopen(path, "re");
	if (file) {
		if (fscanf(file, "%*d (%*[^)]) %c", &state) != 1) {
			state = 'R';
		}
		(void)fclose(file);
	}
	return state == 'S';
}

static void wake(struct howdah_worker *worker)
{
	atomic_fetch_add(&worker->sample, 1);
	syscall(SYS_futex, &worker->sample, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static void set(struct front *front, uint32_t profile)
{
	atomic_store(&words(front)->profile, profile);
	atomic_store(&words(front)->sample_id, 0);
	wake(words(front));
}

/* Interrupts PHP if it reacts to that, as the front does. Returns whether it has reacted to the interrupt before. */
static bool interrupt(const struct front *front, struct howdah_worker *worker)
{
	uint32_t flag_at = atomic_load(&worker->interrupt_at), frame_at = atomic_load(&worker->frame_at);
	if (flag_at == 0) {
		return false;
	}
	unsigned char *globals = front->base + front->header->profiles_offset + HOWDAH_PROFILE_GLOBALS_OFFSET;
	_Atomic uint8_t *flag = (_Atomic uint8_t *)(globals + flag_at - 1);
	if (atomic_load(flag) != 0) {
		return false;
	}
	uint64_t frame = HOWDAH_FRAME_UNKNOWN;
	if (frame_at != 0) {
		memcpy(&frame, globals + frame_at - 1, sizeof(frame));
	}
	atomic_store(&worker->tick_frame, frame);
	atomic_store(&worker->tick_cpu_us, (uint32_t)(time_of(worker) / 1000));
	atomic_store(&worker->tick_us, (uint32_t)(clock_ns(CLOCK_MONOTONIC) / 1000));
	atomic_store(flag, 1);
	return true;
}

/*
 * Like the front: PHP has waited since its last two samples, the last of which shows where. Between them only the
 * sampling thread has run.
 */
static bool is_same(struct howdah_worker *worker)
{
	static uint64_t request, before;
	static unsigned quiet;
	uint64_t id = atomic_load(&worker->request_id), now = time_of(worker);
	bool has_run = id != request || id == 0 || now - before > SAMPLER_NS || !sleeps(worker);
	request = id;
	before = now;
	quiet = has_run ? 0 : quiet + 1;
	return quiet > 1;
}

/* Counts a sample at each tick with a request, and wakes the worker for it unless PHP reacts to interrupts, or waits. */
static void *tick(void *argument)
{
	howdah_request_short_slices(); /* as the clock of the front: other threads that wake do not delay the samples */
	const struct front *front = argument;
	struct howdah_worker *worker = words(front);
	struct timespec period = {.tv_nsec = 1000l * (long)atomic_load(&worker->profile_period_us)};
	while (atomic_load(&worker->profile) == PROFILE) {
		nanosleep(&period, NULL);
		bool is_idle = atomic_load(&worker->request_id) == 0 && atomic_load(&worker->in_flight) == 0;
		if (atomic_load(&worker->interrupt_at) == 0 && is_same(worker)) {
			atomic_fetch_add(&worker->ticks_same, 1);
			continue;
		}
		atomic_fetch_add(is_idle ? &worker->ticks_idle : &worker->ticks_ran, 1);
		if (!is_idle && !interrupt(front, worker)) {
			wake(worker);
		}
	}
	return NULL;
}

static void begin(struct front *front, const char *period_us)
{
	uint64_t end = clock_ns(CLOCK_MONOTONIC) + LIMIT_NS;
	atomic_store(&words(front)->profile_period_us, (uint32_t)strtoul(period_us, NULL, 10));
	atomic_store(&words(front)->profile_end_ns, end);
	set(front, PROFILE);
	if (pthread_create(&ticker, NULL, tick, front) != 0) {
		front_fail("no thread for the ticks of a profile");
	}
}

static void print_string(const char *area, uint32_t offset)
{
	uint16_t size;
	if (offset > HOWDAH_PROFILE_STRINGS_MAX - sizeof(size)) {
		front_fail("the profile has a string at %u", offset);
	}
	memcpy(&size, area + HOWDAH_PROFILE_STRINGS_OFFSET + offset, sizeof(size));
	printf("%.*s", (int)size, area + HOWDAH_PROFILE_STRINGS_OFFSET + offset + sizeof(size));
}

static void print_frame(const char *area, const struct howdah_profile_node *node)
{
	const struct howdah_profile_frame *frames = (const void *)(area + HOWDAH_PROFILE_FRAMES_OFFSET);
	const struct howdah_profile_frame *frame = frames + node->frame;
	print_string(area, frame->name);
	if (frame->line) {
		printf(":%u", frame->line);
	}
}

static uint64_t weight_of(const struct howdah_profile_node *node, bool by_cpu)
{
	return by_cpu ? node->cpu_ns : node->wall_ns;
}

/* The node with the most time; its counts are complete like those of all others. */
static const struct howdah_profile_node *heaviest(const char *area, bool by_cpu)
{
	const struct howdah_profile *profile = (const void *)area;
	const struct howdah_profile_node *nodes = (const void *)(area + HOWDAH_PROFILE_NODES_OFFSET);
	const struct howdah_profile_node *found = nodes;
	for (uint32_t number = 0; number < profile->nodes; number++) {
		if (nodes[number].parent > number || nodes[number].frame >= profile->frames) {
			front_fail("node %u of the profile is not whole", number);
		}
		found = weight_of(nodes + number, by_cpu) > weight_of(found, by_cpu) ? nodes + number : found;
	}
	return found;
}

static void print(struct front *front, bool by_cpu)
{
	const char *area = (const char *)front->base + front->header->profiles_offset;
	const struct howdah_profile *profile = (const void *)area;
	const struct howdah_profile_node *nodes = (const void *)(area + HOWDAH_PROFILE_NODES_OFFSET);
	uint64_t taken = profile->taken, missing = profile->unreadable + profile->full;
	if (profile->number != PROFILE || profile->nodes == 0 || taken < LEAST || missing * LEAST > taken) {
		front_fail("profile %u has %u nodes, %lu samples taken, %lu unreadable, %lu without room", profile->number,
			profile->nodes, (unsigned long)taken, (unsigned long)profile->unreadable, (unsigned long)profile->full);
	}
	const struct howdah_profile_node *node = heaviest(area, by_cpu);
	uint32_t frames = 1;
	printf("[profile: ");
	print_frame(area, node);
	for (; node->parent; frames++) {
		node = nodes + node->parent - 1;
		if (frames < 3) {
			printf(" < ");
			print_frame(area, node);
		}
	}
	printf(", %u frames]\n", frames);
	set(front, 0);
	pthread_join(ticker, NULL);
}

void profile_obey(struct front *front, const char *line, const char *rest)
{
	if (strcmp(line, "profile") == 0) {
		begin(front, rest);
	} else if (strcmp(line, "profiled") == 0) {
		print(front, strcmp(rest, "cpu") == 0);
	} else {
		front_fail("unknown line \"%s\"", line);
	}
}
