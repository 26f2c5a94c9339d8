/*
 * The worker's side of the request queue. The algorithm, its steps (C, G, D, W), and why nothing is lost when the
 * process crashes between two of them, are in docs/internals/queue.md.
 *
 * Orderings: a pair "I publish, then look whether you sleep" against "I say that I sleep, then look
 * whether you published" needs a store-load barrier on both sides. Here that is always an exchange or
 * fetch-and-or followed by a load, all sequentially consistent; a release store would not do, on x86
 * neither.
 */
#define _GNU_SOURCE
#include "queue.h"

#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define CELLS(queue) (2u * (queue)->header.slots) /* a power of two */

static struct howdah_front_ring *front_ring(const struct howdah_queue *queue, uint32_t front)
{
	return (struct howdah_front_ring *)(queue->base + queue->header.fronts_offset + front * queue->header.front_stride);
}

static _Atomic uint64_t *parked_word(const struct howdah_queue *queue, uint32_t worker)
{
	return (_Atomic uint64_t *)(queue->base + queue->header.parked_offset) + worker / 64;
}

static _Atomic uint64_t *completion_cell(const struct howdah_queue *queue, uint32_t front, uint32_t index)
{
	uint64_t ring = (uint64_t)front * queue->header.workers + queue->worker;

	return (_Atomic uint64_t *)(queue->base + queue->header.completions_offset) + ring * CELLS(queue) +
		   (index & (CELLS(queue) - 1));
}

static struct howdah_slot *slot_at(const struct howdah_queue *queue, uint32_t front, uint32_t index)
{
	uint64_t number = (uint64_t)front * queue->header.slots + index;

	return (struct howdah_slot *)(queue->base + queue->header.slots_offset) + number;
}

/* The word is shared between processes: no FUTEX_PRIVATE_FLAG. Early returns are fine, callers look again. */
static void futex_wait(_Atomic uint32_t *word, uint32_t seen)
{
	syscall(SYS_futex, word, FUTEX_WAIT, seen, NULL, NULL, 0);
}

static void futex_wake(_Atomic uint32_t *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE, 1, NULL, NULL, 0);
}

/* Waits until this worker is woken, in a pool where `word` alone does not wake it. */
static void sleep_on(struct howdah_queue *queue, _Atomic uint32_t *word, uint32_t seen)
{
	uint64_t count;

	if (!queue->concurrent) {
		futex_wait(word, seen);
		return;
	}
	struct pollfd event = {.fd = queue->place_event[queue->worker], .events = POLLIN};
	/* An error is an early return; a counter that cannot be read is looked at again. */
	if (poll(&event, 1, -1) > 0 && read(event.fd, &count, sizeof count) < 0 && errno != EAGAIN && errno != EINTR) {
		abort();
	}
}

static bool power_of_two(uint32_t number)
{
	return number != 0 && (number & (number - 1)) == 0;
}

/* Whether `count` items of `size` bytes at `offset` are behind the header and within the segment. */
static bool is_inside(
	const struct howdah_shm_header *header, uint64_t offset, uint64_t count, uint64_t size, uint64_t alignment)
{
	return offset >= sizeof *header && offset % alignment == 0 && offset <= header->segment_size &&
		   count <= (header->segment_size - offset) / size;
}

static const char *check_header(const struct howdah_shm_header *header, uint64_t file_size)
{
	uint64_t slots = (uint64_t)header->fronts * header->slots;
	uint64_t cells = 2 * (uint64_t)header->slots;

	if (header->magic != HOWDAH_SHM_MAGIC) {
		return "the file is not a segment of Howdah";
	}
	if (header->version != HOWDAH_SHM_VERSION) {
		return "the segment has another version: install howdah and howdah-php of the same release";
	}
	if (header->segment_size > file_size) {
		return "the segment is shorter than its header claims";
	}
	if (header->fronts == 0 || header->fronts > HOWDAH_FRONTS_MAX || header->workers == 0 ||
		header->workers > HOWDAH_WORKERS_MAX || !power_of_two(header->slots) || header->slots > HOWDAH_SLOTS_MAX) {
		return "the segment's counts are out of range";
	}
	if (header->request_size == 0 || header->request_size % 4096 != 0 || header->response_size < 4096 ||
		!power_of_two(header->response_size)) {
		return "the segment's areas have sizes that are not allowed";
	}
	if (header->front_stride < sizeof(struct howdah_front_ring) + cells * sizeof(uint64_t) ||
		header->front_stride % 64 != 0 ||
		!is_inside(header, header->fronts_offset, header->fronts, header->front_stride, 64) ||
		!is_inside(header, header->parked_offset, HOWDAH_PARKED_WORDS, sizeof(uint64_t), 8) ||
		!is_inside(header, header->workers_offset, header->workers, sizeof(struct howdah_worker), 64) ||
		!is_inside(header, header->completions_offset, header->fronts * (uint64_t)header->workers * cells,
			sizeof(uint64_t), 8) ||
		!is_inside(header, header->slots_offset, slots, sizeof(struct howdah_slot), 64) ||
		!is_inside(header, header->requests_offset, slots, header->request_size, 8) ||
		!is_inside(header, header->responses_offset, slots, header->response_size, 8) ||
		!is_inside(header, header->profiles_offset, header->workers, HOWDAH_PROFILE_SIZE, 4096)) {
		return "parts of the segment are outside of it";
	}
	return NULL;
}

const char *howdah_queue_map(struct howdah_queue *queue, int segment_fd, const int *eventfds, uint32_t eventfd_count)
{
	struct stat status;
	const char *problem;
	void *base;

	memset(queue, 0, sizeof *queue);
	if (fstat(segment_fd, &status) != 0) {
		return "the segment's file cannot be examined";
	}
	if (status.st_size < (off_t)sizeof(struct howdah_shm_header)) {
		return "the segment is shorter than its header";
	}
	base = mmap(NULL, (size_t)status.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, segment_fd, 0);
	if (base == MAP_FAILED) {
		return "the segment cannot be mapped";
	}
	memcpy(&queue->header, base, sizeof queue->header);
	problem = check_header(&queue->header, (uint64_t)status.st_size);
	bool concurrent = eventfd_count > queue->header.fronts;
	if (problem == NULL && eventfd_count != queue->header.fronts &&
		(queue->header.workers > HOWDAH_CONCURRENT_PLACES_MAX ||
			eventfd_count != queue->header.fronts + queue->header.workers)) {
		problem = "the number of eventfds is neither the number of front threads nor that of these and all places";
	}
	if (problem != NULL) {
		munmap(base, (size_t)status.st_size);
		return problem;
	}
	/* howdah_queue_attach needs the mapping's whole length again. */
	queue->header.segment_size = (uint64_t)status.st_size;
	queue->base = base;
	memcpy(queue->eventfd, eventfds, queue->header.fronts * sizeof *eventfds);
	queue->concurrent = concurrent;
	if (concurrent) {
		memcpy(queue->place_event, eventfds + queue->header.fronts, queue->header.workers * sizeof *eventfds);
	}
	return NULL;
}

/* The kernel notifies the front when this process begins to exit. Without it the front notices the exit later. */
static void hold_life(struct howdah_worker *words)
{
	static_assert(offsetof(pthread_mutex_t, __data.__lock) == 0, "the word is the first of a mutex");
	pthread_mutexattr_t attributes;
	if (pthread_mutexattr_init(&attributes) != 0) {
		return;
	}
	if (pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED) == 0 &&
		pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST) == 0 &&
		pthread_mutex_init(&words->life_mutex, &attributes) == 0) {
		(void)pthread_mutex_trylock(&words->life_mutex); /* uncontended: never waits */
	}
	pthread_mutexattr_destroy(&attributes);
}

void howdah_queue_attach(struct howdah_queue *queue, uint32_t worker, const uint32_t *write_index)
{
	struct howdah_worker *words;

	/* A child that PHP code forks outlives this process' pidfd: were the segment its too, it could write to
	 * a slot after the front has recovered it. Running on without this is worse than not running. */
	if (worker >= queue->header.workers || madvise(queue->base, queue->header.segment_size, MADV_DONTFORK) != 0) {
		abort();
	}
	queue->worker = worker;
	queue->rotate = worker; /* so that not all workers begin with the first front thread */
	memcpy(queue->write_index, write_index, queue->header.fronts * sizeof *write_index);
	words = howdah_queue_worker(queue);
	atomic_store_explicit(&words->request_id, 0, memory_order_relaxed);
	atomic_store_explicit(&words->requests, 0, memory_order_relaxed);
	atomic_store_explicit(&words->memory, 0, memory_order_relaxed);
	atomic_store_explicit(&words->started_ns, 0, memory_order_relaxed);
	atomic_store_explicit(&words->hog_ns, 0, memory_order_relaxed);
	atomic_store_explicit(&words->in_flight, 0, memory_order_relaxed);
	atomic_store_explicit(&words->looked_ns, 0, memory_order_relaxed);
	atomic_store_explicit(&words->sequential, 0, memory_order_relaxed);
	hold_life(words);
}

/* C1 to C5 on one ring. True: the slot `index`, queued at `position`, is this worker's. */
static bool claim_from(struct howdah_queue *queue, uint32_t front, uint32_t *index, uint64_t *position)
{
	struct howdah_front_ring *ring = front_ring(queue, front);

	for (;;) {
		uint64_t head = atomic_load(&ring->head);
		HOWDAH_STEP(1);
		uint64_t cell = atomic_load(&ring->cells[head & (CELLS(queue) - 1)]);
		uint32_t slot = cell & 0xffffu;
		bool won = false;

		HOWDAH_STEP(2);
		if (cell >> 16 != ((head + 1) & HOWDAH_POS_MASK)) {
			if (atomic_load(&ring->head) == head) {
				return false;
			}
			continue;
		}
		if (slot < queue->header.slots) {
			_Atomic uint64_t *state = &slot_at(queue, front, slot)->state;
			uint64_t queued = HOWDAH_STATE(head, 0, HOWDAH_SLOT_QUEUED);

			HOWDAH_STEP(3);
			/* The load first: most losers need no exclusive hold of the slot's cache line. */
			if (atomic_load_explicit(state, memory_order_relaxed) == queued) {
				won = atomic_compare_exchange_strong_explicit(state, &queued,
					HOWDAH_STATE(head, queue->worker, HOWDAH_SLOT_OWNED), memory_order_acq_rel, memory_order_relaxed);
			}
		}
		HOWDAH_STEP(4);
		/* Won or lost: the cell is used up, and its winner may be dead. Each process here advances the head. */
		*position = head;
		atomic_compare_exchange_strong(&ring->head, &head, head + 1);
		HOWDAH_STEP(5);
		if (won) {
			*index = slot;
			return true;
		}
	}
}

/* A stale cell counts: the search passes over it. */
bool howdah_queue_waiting(const struct howdah_queue *queue)
{
	for (uint32_t front = 0; front < queue->header.fronts; front++) {
		struct howdah_front_ring *ring = front_ring(queue, front);

		for (;;) {
			uint64_t head = atomic_load(&ring->head);
			uint64_t cell = atomic_load(&ring->cells[head & (CELLS(queue) - 1)]);

			if (cell >> 16 == ((head + 1) & HOWDAH_POS_MASK)) {
				return true;
			}
			if (atomic_load(&ring->head) == head) {
				break;
			}
		}
	}
	return false;
}

void howdah_queue_note_poll(struct howdah_queue *queue, uint64_t now_ns)
{
	atomic_store_explicit(&howdah_queue_worker(queue)->looked_ns, now_ns, memory_order_relaxed);
}

/* Whether a worker can be expected to check the queue soon: not one whose processor is occupied. */
static bool will_poll_soon(
	const struct howdah_queue *queue, uint32_t worker, const struct howdah_worker *words, uint64_t now_ns)
{
	uint64_t looked_ns = atomic_load_explicit(&words->looked_ns, memory_order_relaxed);

	if (looked_ns == 0) {
		return false;
	}
	return now_ns < looked_ns + HOWDAH_QUEUE_ATTENTIVE_NS ||
		   atomic_load_explicit(&words->in_flight, memory_order_relaxed) == 0 ||
		   (atomic_load_explicit(parked_word(queue, worker), memory_order_relaxed) >> (worker % 64) & 1) != 0;
}

bool howdah_queue_above_mean(const struct howdah_queue *queue, uint64_t now_ns)
{
	const struct howdah_worker *words = (const struct howdah_worker *)(queue->base + queue->header.workers_offset);
	uint64_t requests = 0;
	uint64_t workers = 0;

	for (uint32_t worker = 0; worker < queue->header.workers; worker++) {
		if (will_poll_soon(queue, worker, &words[worker], now_ns)) {
			requests += atomic_load_explicit(&words[worker].in_flight, memory_order_relaxed);
			workers++;
		}
	}
	return queue->in_flight * workers > requests;
}

static void ring(int event)
{
	const uint64_t one = 1;
	ssize_t written;

	do {
		written = write(event, &one, sizeof one);
	} while (written < 0 && errno == EINTR);
	/* EAGAIN: the counter is full, so its sleeper is being woken. Any other error: it cannot be woken. */
	if (written < 0 && errno != EAGAIN) {
		abort();
	}
}

void howdah_queue_hand_wake_on(struct howdah_queue *queue)
{
	if (!howdah_queue_waiting(queue)) {
		return;
	}
	for (uint32_t base = 0; base < queue->header.workers; base += 64) {
		_Atomic uint64_t *parked = parked_word(queue, base);
		uint64_t bits;

		while ((bits = atomic_load(parked)) != 0) {
			uint32_t worker = base + (uint32_t)__builtin_ctzll(bits);
			uint64_t bit = bits & -bits;

			HOWDAH_STEP(11);
			if ((atomic_fetch_and(parked, ~bit) & bit) != 0 && worker < queue->header.workers) {
				struct howdah_worker *other =
					(struct howdah_worker *)(queue->base + queue->header.workers_offset) + worker;

				HOWDAH_STEP(12);
				atomic_fetch_add(&other->wake, 1);
				if (queue->concurrent) {
					ring(queue->place_event[worker]);
				} else {
					futex_wake(&other->wake);
				}
				return;
			}
		}
	}
}

static uint64_t monotonic_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Copies the request's fields and checks what would lead out of its area. */
static void open_claim(
	struct howdah_queue *queue, struct howdah_claim *claim, uint32_t front, uint32_t index, uint64_t position)
{
	const struct howdah_shm_header *header = &queue->header;
	uint64_t number = (uint64_t)front * header->slots + index;
	struct howdah_slot *slot = slot_at(queue, front, index);
	struct howdah_worker *words = howdah_queue_worker(queue);

	claim->slot = slot;
	claim->request = queue->base + header->requests_offset + number * header->request_size;
	claim->response = queue->base + header->responses_offset + number * header->response_size;
	claim->request_id = slot->request_id;
	claim->position = position;
	claim->front = front;
	claim->index = index;
	claim->vars_size = slot->vars_size;
	claim->body_kind = slot->body_kind;
	claim->body_size = slot->body_size;
	claim->flags = slot->flags;
	if (claim->request_id == 0 || claim->vars_size > header->request_size || claim->body_kind > HOWDAH_BODY_FILE ||
		(claim->body_kind == HOWDAH_BODY_INLINE &&
			claim->body_size + ((claim->vars_size + 7ull) & ~7ull) > header->request_size) ||
		(claim->body_kind == HOWDAH_BODY_INLINE && claim->body_size > header->request_size)) {
		/*
		 * The front checks before it queues, so a process has overwritten the slot. An exit here returns the slot as
		 * not started.
		 */
		abort();
	}
	slot->echo_id = claim->request_id;
	slot->claimed_ns = monotonic_ns();
	atomic_store_explicit(&words->request_id, claim->request_id, memory_order_relaxed);
	atomic_store_explicit(&words->started_ns, slot->claimed_ns, memory_order_relaxed);
	atomic_store_explicit(&words->in_flight, ++queue->in_flight, memory_order_relaxed);
	HOWDAH_STEP(13);
}

/* A search through all rings, beginning behind the one that was served last. */
bool howdah_queue_try(struct howdah_queue *queue, struct howdah_claim *claim)
{
	for (uint32_t step = 0; step < queue->header.fronts; step++) {
		uint32_t front = (queue->rotate + step) % queue->header.fronts;
		uint32_t index;
		uint64_t position;

		if (claim_from(queue, front, &index, &position)) {
			queue->rotate = front + 1;
			open_claim(queue, claim, front, index, position);
			return true;
		}
	}
	return false;
}

bool howdah_queue_get(struct howdah_queue *queue, struct howdah_claim *claim)
{
	struct howdah_worker *words = howdah_queue_worker(queue);
	_Atomic uint64_t *parked = parked_word(queue, queue->worker);
	uint64_t bit = 1ull << (queue->worker % 64);

	for (;;) {
		/* Before the search: a worker that is to exit claims nothing more. It may have been woken for a
		 * request, or one was left to it since it was awake. */
		if (atomic_load(&words->stop) != 0) {
			howdah_queue_hand_wake_on(queue);
			return false;
		}
		if (howdah_queue_try(queue, claim)) {
			return true;
		}
		uint32_t seen = atomic_load(&words->wake);

		HOWDAH_STEP(6);
		atomic_fetch_or(parked, bit);
		HOWDAH_STEP(7);
		/*
		 * Only a check: a claim while the bit is set would let the front spend its next wake on a worker that has just
		 * become busy, and that request would wait although others sleep.
		 */
		if (!howdah_queue_waiting(queue) && atomic_load(&words->stop) == 0) {
			howdah_queue_note_poll(queue, monotonic_ns());
			HOWDAH_STEP(8);
			sleep_on(queue, &words->wake, seen);
		}
		HOWDAH_STEP(9);
		atomic_fetch_and(parked, ~bit);
		HOWDAH_STEP(10);
	}
}

/* G2 and G3 of a worker that sleeps elsewhere; its eventfd remembers a wake, so there is no G1. */
bool howdah_queue_park(struct howdah_queue *queue)
{
	_Atomic uint64_t *parked = parked_word(queue, queue->worker);

	HOWDAH_STEP(6);
	atomic_fetch_or(parked, 1ull << (queue->worker % 64));
	HOWDAH_STEP(7);
	if (!howdah_queue_waiting(queue) && !howdah_queue_stopped(queue)) {
		HOWDAH_STEP(8);
		return true;
	}
	howdah_queue_unpark(queue);
	return false;
}

bool howdah_queue_unpark(struct howdah_queue *queue)
{
	uint64_t bit = 1ull << (queue->worker % 64);

	HOWDAH_STEP(9);
	bool woken = (atomic_fetch_and(parked_word(queue, queue->worker), ~bit) & bit) == 0;
	HOWDAH_STEP(10);
	return woken;
}

void howdah_queue_running(struct howdah_queue *queue, uint64_t request_id, uint64_t started_ns)
{
	struct howdah_worker *words = howdah_queue_worker(queue);

	atomic_store_explicit(&words->request_id, request_id, memory_order_relaxed);
	atomic_store_explicit(&words->started_ns, started_ns, memory_order_relaxed);
}

void howdah_queue_started(struct howdah_queue *queue, struct howdah_claim *claim)
{
	(void)queue;
	HOWDAH_STEP(14);
	atomic_store_explicit(&claim->slot->started, HOWDAH_STARTED_EFFECTS, memory_order_release);
	HOWDAH_STEP(15);
}

/* D1 to D4: publishes a completion cell and wakes the front thread if it sleeps. */
static void complete(struct howdah_queue *queue, struct howdah_claim *claim, uint32_t kind)
{
	_Atomic uint32_t *sleeping = &front_ring(queue, claim->front)->sleeping;
	uint32_t index = queue->write_index[claim->front]++;
	uint64_t cell = HOWDAH_COMPLETION(index, kind, claim->position, claim->index);
	uint32_t epoch;

	HOWDAH_STEP(20);
	/* The only point at which the front learns of it, and the barrier before the load. */
	atomic_exchange(completion_cell(queue, claim->front, index), cell);
	HOWDAH_STEP(21);
	epoch = atomic_load(sleeping);
	HOWDAH_STEP(22);
	if ((epoch & 1) != 0) {
		/* The write comes before the CAS: a worker that dies between them leaves the word saying that the
		 * front sleeps, and the next worker writes again. */
		ring(queue->eventfd[claim->front]);
		HOWDAH_STEP(23);
		atomic_compare_exchange_strong(sleeping, &epoch, epoch + 1);
		HOWDAH_STEP(24);
	}
}

void howdah_queue_progress(struct howdah_queue *queue, struct howdah_claim *claim, uint64_t committed)
{
	HOWDAH_STEP(30);
	atomic_store_explicit(&claim->slot->committed, committed, memory_order_release);
	HOWDAH_STEP(31);
	/* The front exchanges the word too, before it reads `committed`: if this reads 1, the front will see the data. */
	if (atomic_exchange(&claim->slot->notified, 1) == 0) {
		HOWDAH_STEP(32);
		complete(queue, claim, HOWDAH_PROGRESS);
		HOWDAH_STEP(33);
	}
}

void howdah_queue_done(struct howdah_queue *queue, struct howdah_claim *claim, uint64_t committed)
{
	struct howdah_worker *words = howdah_queue_worker(queue);
	uint64_t requests = atomic_load_explicit(&words->requests, memory_order_relaxed);

	atomic_store_explicit(&words->requests, requests + 1, memory_order_relaxed);
	atomic_store_explicit(&words->request_id, 0, memory_order_relaxed);
	atomic_store_explicit(&words->in_flight, --queue->in_flight, memory_order_relaxed);
	/* With several requests at a time, none of them shows when its worker is free for the next. */
	if (!queue->concurrent) {
		claim->slot->served_ns = monotonic_ns() - claim->slot->claimed_ns;
	}
	HOWDAH_STEP(16);
	atomic_store_explicit(&claim->slot->committed, committed, memory_order_release);
	HOWDAH_STEP(17);
	complete(queue, claim, HOWDAH_DONE);
	HOWDAH_STEP(18);
}

/* Whether output is discarded. */
static bool is_unwanted(const struct howdah_slot *slot, bool despite_client)
{
	uint32_t aborted = atomic_load(&slot->aborted);

	return aborted != 0 && !(despite_client && aborted == HOWDAH_ABORTED_CLIENT);
}

bool howdah_queue_wait_space(
	struct howdah_queue *queue, struct howdah_claim *claim, uint64_t committed, uint32_t room, bool despite_client)
{
	struct howdah_slot *slot = claim->slot;

	for (;;) {
		uint32_t seen = atomic_load(&slot->space);
		uint64_t used;

		HOWDAH_STEP(40);
		atomic_exchange(&slot->waiting, 1);
		HOWDAH_STEP(41);
		used = committed - atomic_load(&slot->consumed);
		if (is_unwanted(slot, despite_client) || used > queue->header.response_size ||
			used + room <= queue->header.response_size) {
			atomic_store_explicit(&slot->waiting, 0, memory_order_relaxed);
			HOWDAH_STEP(43);
			return !is_unwanted(slot, despite_client) && used <= queue->header.response_size;
		}
		HOWDAH_STEP(42);
		if (queue->sleep_for_space == NULL) {
			sleep_on(queue, &slot->space, seen);
		} else if (!queue->sleep_for_space(claim)) {
			atomic_store_explicit(&slot->waiting, 0, memory_order_relaxed);
			return false;
		}
		HOWDAH_STEP(44);
	}
}
