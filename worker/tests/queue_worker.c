/*
 * A worker process without PHP, for crates/howdah-shm/tests/death.rs: serves requests whose bytes are a
 * pattern of their id, checks them, responds with a pattern, and dies at the requested step.
 *
 * Usage: queue_worker SEGMENT STATISTICS WORKER STEP COUNT STEPS EVENTFD INDEX [EVENTFD INDEX]... [- PLACE...]
 *   SEGMENT, STATISTICS, EVENTFD  numbers of inherited file descriptors
 *   PLACE                         of a concurrent pool: the eventfds of all places, in order
 *   STEP, COUNT                   die at the COUNTth passing of step STEP; 0: never
 *   STEPS                         die after so many steps; 0: never
 */
#define _GNU_SOURCE
#include "request/response.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

/* Concurrent requests in a concurrent pool. */
#define PLACES 3

/* The statistics file; crates/howdah-shm/tests/death/statistics.rs reads it by these offsets. */
struct statistics {
	_Atomic uint64_t deaths[64]; /* by step */
	_Atomic uint64_t corrupt;    /* requests whose bytes were not those of their id */
	_Atomic uint64_t twice;      /* queueings that were executed a second time */
	_Atomic uint64_t dropped;    /* responses that were cut because the client had disconnected */
	_Atomic uint64_t failed;     /* header frames that did not fit although the client was connected */
	uint64_t padding[60];
	_Atomic uint64_t executed[]; /* by slot: the last position executed, plus 1 */
};

static struct statistics *statistics;
static int event; /* of its place */
static unsigned die_step;
static long die_count;
static long die_steps;

void howdah_step(unsigned step)
{
	bool now = (step == die_step && --die_count == 0) || (die_steps > 0 && --die_steps == 0);

	if (now) {
		atomic_fetch_add(&statistics->deaths[step], 1);
		raise(SIGKILL);
	}
}

static uint64_t mix(uint64_t number)
{
	number ^= number >> 33;
	number *= 0xff51afd7ed558ccdull;
	number ^= number >> 33;
	number *= 0xc4ceb9fe1a85ec53ull;
	return number ^ (number >> 33);
}

static uint8_t pattern(uint64_t seed, uint64_t at)
{
	return (uint8_t)(mix(seed + at / 8) >> (at % 8 * 8));
}

static bool has_pattern(const uint8_t *bytes, uint64_t size, uint64_t seed)
{
	for (uint64_t at = 0; at < size; at++) {
		if (bytes[at] != pattern(seed, at)) {
			return false;
		}
	}
	return true;
}

/* As `Job::body_size` in death/job.rs: mostly small, some several times the ring. */
static uint64_t body_size(uint64_t id, uint64_t ring)
{
	uint64_t random = mix(id * 5 + 1);

	switch (random % 16) {
		case 0:
			return ring * 2 + random / 16 % (ring * 2);
		case 1:
		case 2:
			return random / 16 % ring;
		case 3:
			return 0;
		default:
			return random / 16 % 700;
	}
}

/* 1xx responses before the response: sometimes so many that a header frame meets the end of the ring. */
static uint64_t infos(uint64_t id)
{
	uint64_t random = mix(id * 17);

	return random % 8 == 0 ? 1 + random / 8 % 24 : 0;
}

static bool write_head(struct howdah_response *response, uint64_t id, uint32_t kind, uint16_t status)
{
	char value[2048];
	uint64_t count = mix(id * 7 + kind) % 5;

	if (!howdah_response_headers_begin(response, kind, status, "Fine", id % 3 == 0 ? 4 : 0)) {
		return false;
	}
	for (uint64_t header = 0; header < count; header++) {
		uint64_t size = mix(id * 11 + header) % (header == 3 ? sizeof value : 40);

		for (uint64_t at = 0; at < size; at++) {
			value[at] = (char)pattern(id * 13 + header, at);
		}
		if (!howdah_response_header(response, "x-header", 8, value, size)) {
			return false;
		}
	}
	return howdah_response_headers_end(response);
}

/* An update whose data is a pattern: sometimes larger than the ring. */
static bool publish(struct howdah_response *response, uint64_t id, uint64_t number)
{
	static char update[HOWDAH_UPDATE_SIZE_MAX];
	uint64_t random = mix(id * 29 + number);
	uint64_t size = random % (random / 8 % 8 == 0 ? 40000 : 600);
	const uint32_t topic_size = 5;
	struct howdah_update head = {.flags = number % 2 ? HOWDAH_UPDATE_PRIVATE : 0,
		.topics = 1,
		.topics_size = topic_size,
		.id_size = 1,
		.data_size = (uint32_t)size};
	char *at = update;

	memcpy(at, &head, sizeof head);
	at += sizeof head;
	memcpy(at, &topic_size, sizeof topic_size);
	at += sizeof topic_size;
	memcpy(at, "topici", 6);
	at += 6;
	for (uint64_t byte = 0; byte < size; byte++) {
		*at++ = (char)pattern(id * 31 + number, byte);
	}
	return howdah_response_publish(response, update, (size_t)(at - update));
}

static void answer(struct howdah_queue *queue, struct howdah_claim *claim)
{
	struct howdah_response response;
	struct howdah_end end = {
		.exit = HOWDAH_EXIT_NORMAL,
		.exit_status = (uint32_t)(claim->request_id & 0xff),
		.memory_peak = claim->request_id,
	};
	uint64_t id = claim->request_id;
	uint64_t size = body_size(id, queue->header.response_size);
	uint64_t sent = 0;
	uint64_t updates = mix(id * 37) % 4;
	bool there = true;
	char part[1500];

	howdah_response_begin(&response, queue, claim);
	for (uint64_t info = infos(id); there && info > 0; info--) {
		there = write_head(&response, id, HOWDAH_FRAME_INFO, 103);
		if (info % 3 == 1) {
			howdah_response_flush(&response);
		}
	}
	for (uint64_t number = 0; number < updates; number += 2) {
		atomic_fetch_add(&statistics->failed, !publish(&response, id, number));
	}
	there = there && write_head(&response, id, HOWDAH_FRAME_HEADERS, 200);
	if (!there && !howdah_queue_aborted(claim)) {
		atomic_fetch_add(&statistics->failed, 1);
	}
	while (there && sent < size) {
		uint64_t random = mix(id * 19 + sent);
		uint64_t count = 1 + random % sizeof part;

		if (count > size - sent) {
			count = size - sent;
		}
		for (uint64_t at = 0; at < count; at++) {
			part[at] = (char)pattern(id * 3, sent + at);
		}
		there = howdah_response_write(&response, part, count);
		sent += count;
		if (random % 7 == 0) {
			howdah_response_flush(&response);
		}
	}
	if (!there) {
		atomic_fetch_add(&statistics->dropped, 1);
	} else if (mix(id * 23) % 8 == 0) {
		howdah_response_finish(&response);
		howdah_response_write(&response, "dropped", 7);
	}
	for (uint64_t number = 1; number < updates; number += 2) {
		atomic_fetch_add(&statistics->failed, !publish(&response, id, number));
	}
	howdah_response_end(&response, &end);
}

static void begin(struct howdah_queue *queue, struct howdah_claim *claim)
{
	uint64_t seed = claim->request_id;
	uint64_t body = (claim->vars_size + 7u) & ~7u;
	uint64_t number = (uint64_t)claim->front * queue->header.slots + claim->index;

	howdah_queue_started(queue, claim);
	if (atomic_exchange(&statistics->executed[number], claim->position + 1) == claim->position + 1) {
		atomic_fetch_add(&statistics->twice, 1);
	}
	if (!has_pattern(claim->request, claim->vars_size, seed) ||
		(claim->body_kind == HOWDAH_BODY_INLINE && !has_pattern(claim->request + body, claim->body_size, seed + 1))) {
		atomic_fetch_add(&statistics->corrupt, 1);
	}
}

static void sleep_on_event(void)
{
	struct pollfd wait = {.fd = event, .events = POLLIN};
	uint64_t count;

	while (read(event, &count, sizeof count) < 0) {
		poll(&wait, 1, -1);
	}
}

static bool sleep_for_space(struct howdah_claim *claim)
{
	(void)claim;
	sleep_on_event();
	return true;
}

/* Several requests at a time: begun in the order of their arrival, completed one after another. */
static void serve_concurrently(struct howdah_queue *queue)
{
	struct howdah_claim claims[PLACES];
	unsigned count = 0;
	bool woken = false;

	queue->sleep_for_space = sleep_for_space;
	for (;;) {
		bool stopped = howdah_queue_stopped(queue);

		if (stopped && woken) {
			howdah_queue_hand_wake_on(queue);
		}
		woken = false;
		while (!stopped && count < PLACES && howdah_queue_try(queue, &claims[count])) {
			begin(queue, &claims[count++]);
		}
		if (count > 0) {
			answer(queue, &claims[0]);
			memmove(claims, claims + 1, --count * sizeof *claims);
		} else if (stopped) {
			return;
		} else if (howdah_queue_park(queue)) {
			sleep_on_event();
			woken = howdah_queue_unpark(queue);
		}
	}
}

int main(int argc, char **argv)
{
	struct howdah_queue queue;
	struct howdah_claim claim;
	int eventfds[HOWDAH_FRONTS_MAX + HOWDAH_CONCURRENT_PLACES_MAX];
	uint32_t indices[HOWDAH_FRONTS_MAX];
	uint32_t fronts = 0, count;
	const char *problem;
	int at = 7;

	if (argc < 9 || prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) {
		return 2;
	}
	for (; at + 1 < argc && argv[at][0] != '-' && fronts < HOWDAH_FRONTS_MAX; at += 2, fronts++) {
		eventfds[fronts] = atoi(argv[at]);
		indices[fronts] = (uint32_t)strtoul(argv[at + 1], NULL, 10);
	}
	count = fronts;
	for (at++; at < argc && count < sizeof eventfds / sizeof *eventfds; at++) {
		eventfds[count++] = atoi(argv[at]);
	}
	problem = howdah_queue_map(&queue, atoi(argv[1]), eventfds, count);
	if (problem != NULL) {
		fprintf(stderr, "queue_worker: %s\n", problem);
		return 3;
	}
	size_t slots = (size_t)queue.header.fronts * queue.header.slots;
	statistics =
		mmap(NULL, sizeof *statistics + slots * sizeof(uint64_t), PROT_READ | PROT_WRITE, MAP_SHARED, atoi(argv[2]), 0);
	if (statistics == MAP_FAILED) {
		return 4;
	}
	die_step = (unsigned)atoi(argv[4]);
	die_count = atol(argv[5]);
	die_steps = atol(argv[6]);
	howdah_queue_attach(&queue, (uint32_t)atoi(argv[3]), indices);

	if (queue.concurrent) {
		event = queue.place_event[queue.worker];
		serve_concurrently(&queue);
		return 0;
	}
	while (howdah_queue_get(&queue, &claim)) {
		begin(&queue, &claim);
		answer(&queue, &claim);
	}
	return 0;
}
