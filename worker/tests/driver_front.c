/*
 * See driver_front.h.
 */
#include "driver_front.h"

#include <linux/futex.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CELLS (2 * FRONT_SLOTS)

void front_fail(const char *format, ...)
{
	va_list arguments;
	fflush(stdout);
	fputs("driver: ", stderr);
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fputc('\n', stderr);
	exit(99);
}

static void wake(_Atomic uint32_t *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static uint64_t place(uint64_t *end, uint64_t size, uint64_t align)
{
	uint64_t at = (*end + align - 1) / align * align;
	*end = at + size;
	return at;
}

void front_create(struct front *front, bool concurrent)
{
	struct howdah_shm_header header = {
		.magic = HOWDAH_SHM_MAGIC,
		.version = HOWDAH_SHM_VERSION,
		.fronts = 1,
		.workers = FRONT_WORKERS,
		.slots = FRONT_SLOTS,
		.request_size = FRONT_REQUEST_SIZE,
		.response_size = FRONT_RESPONSE_SIZE,
	};
	uint64_t end = sizeof(header);
	header.front_stride = (sizeof(struct howdah_front_ring) + CELLS * sizeof(uint64_t) + 63) & ~63ull;
	header.fronts_offset = place(&end, header.front_stride, 64);
	header.parked_offset = place(&end, HOWDAH_PARKED_WORDS * sizeof(uint64_t), 64);
	header.workers_offset = place(&end, FRONT_WORKERS * sizeof(struct howdah_worker), 64);
	header.completions_offset = place(&end, FRONT_WORKERS * CELLS * sizeof(uint64_t), 64);
	header.slots_offset = place(&end, FRONT_SLOTS * sizeof(struct howdah_slot), 64);
	header.requests_offset = place(&end, (uint64_t)FRONT_SLOTS * FRONT_REQUEST_SIZE, 4096);
	header.responses_offset = place(&end, (uint64_t)FRONT_SLOTS * FRONT_RESPONSE_SIZE, 4096);
	header.profiles_offset = place(&end, (uint64_t)FRONT_WORKERS * HOWDAH_PROFILE_SIZE, 4096);
	header.segment_size = (end + 4095) & ~4095ull;

	memset(front, 0, sizeof(*front));
	front->segment = memfd_create("howdah-test", MFD_CLOEXEC);
	front->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	front->concurrent = concurrent;
	for (uint32_t worker = 0; worker < FRONT_WORKERS && concurrent; worker++) {
		front->place_event[worker] = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
		if (front->place_event[worker] < 0) {
			front_fail("cannot create an eventfd");
		}
	}
	if (front->segment < 0 || front->event < 0 || ftruncate(front->segment, (off_t)header.segment_size) != 0) {
		front_fail("cannot create the segment");
	}
	front->base = mmap(NULL, header.segment_size, PROT_READ | PROT_WRITE, MAP_SHARED, front->segment, 0);
	if (front->base == MAP_FAILED) {
		front_fail("cannot map the segment");
	}
	memcpy(front->base, &header, sizeof(header));
	front->header = (struct howdah_shm_header *)front->base;
	front->ring = (struct howdah_front_ring *)(front->base + header.fronts_offset);
	front->next_id = 1;
}

static struct howdah_slot *slot_at(struct front *front, uint32_t index)
{
	return (struct howdah_slot *)(front->base + front->header->slots_offset) + index;
}

static struct howdah_worker *worker_at(struct front *front, uint32_t worker)
{
	return (struct howdah_worker *)(front->base + front->header->workers_offset) + worker;
}

void front_beside(struct front *front, uint32_t in_flight)
{
	struct howdah_worker *words = worker_at(front, 1);
	atomic_store(&words->in_flight, in_flight);
	atomic_store(&words->looked_ns, UINT64_MAX / 2);
}

void front_await_parked(struct front *front)
{
	_Atomic uint64_t *parked = (_Atomic uint64_t *)(front->base + front->header->parked_offset);
	while ((atomic_load(parked) & 1) == 0) {
		(void)poll(NULL, 0, 1);
	}
}

uint8_t *front_request_area(struct front *front, uint32_t index)
{
	return front->base + front->header->requests_offset + (size_t)index * FRONT_REQUEST_SIZE;
}

uint32_t front_free_slot(struct front *front)
{
	for (uint32_t index = 0; index < FRONT_SLOTS; index++) {
		if (!front->live[index]) {
			return index;
		}
	}
	front_fail("no slot is free");
}

/* A worker that sleeps on a futex is woken by that, one of a concurrent pool by its eventfd. */
static void wake_place(struct front *front, uint32_t worker, _Atomic uint32_t *word)
{
	const uint64_t one = 1;
	if (!front->concurrent) {
		wake(word);
	} else if (write(front->place_event[worker], &one, sizeof(one)) != (ssize_t)sizeof(one)) {
		front_fail("cannot wake the worker");
	}
}

static void wake_worker(struct front *front)
{
	_Atomic uint64_t *parked = (_Atomic uint64_t *)(front->base + front->header->parked_offset);
	uint64_t bits;
	while ((bits = atomic_load(parked)) != 0) {
		uint64_t bit = bits & -bits;
		if (atomic_fetch_and(parked, ~bit) & bit) {
			uint32_t number = (uint32_t)__builtin_ctzll(bit);
			struct howdah_worker *worker = worker_at(front, number);
			atomic_fetch_add(&worker->wake, 1);
			wake_place(front, number, &worker->wake);
			return;
		}
	}
}

static void push_slot(struct front *front, struct exchange *exchange, uint32_t index, uint32_t vars_size,
	uint32_t body_kind, uint64_t body_size, uint32_t flags)
{
	struct howdah_slot *slot = slot_at(front, index);
	if (HOWDAH_STATE_KIND(atomic_load(&slot->state)) != HOWDAH_SLOT_FREE) {
		front_fail("the slot is not free");
	}
	memset((char *)slot + sizeof(slot->state), 0, sizeof(*slot) - sizeof(slot->state));
	slot->request_id = front->next_id++;
	slot->vars_size = vars_size;
	slot->body_kind = body_kind;
	slot->body_size = body_size;
	slot->flags = flags;
	atomic_store(&slot->aborted, front->abort_next);
	front->abort_next = 0;
	*exchange = (struct exchange){.slot = slot, .index = index, .position = front->tail};
	atomic_store_explicit(&slot->state, HOWDAH_STATE(front->tail, 0, HOWDAH_SLOT_QUEUED), memory_order_release);
	atomic_exchange(&front->ring->cells[front->tail % CELLS], ((front->tail + 1) << 16) | exchange->index);
	front->tail++;
	wake_worker(front);
}

void front_push(struct front *front, struct exchange *exchange, uint32_t index, uint32_t vars_size, uint32_t body_kind,
	uint64_t body_size, uint32_t flags)
{
	push_slot(front, exchange, index, vars_size, body_kind, body_size, flags);
	front->live[index] = exchange;
}

void front_forget(struct front *front, struct exchange *exchange)
{
	atomic_store(&exchange->slot->state, HOWDAH_STATE(exchange->position, 0, HOWDAH_SLOT_FREE));
	front->live[exchange->index] = NULL;
}

void front_bench(struct front *front, long count, uint32_t vars_size)
{
	struct exchange exchange[FRONT_SLOTS];
	_Atomic uint64_t *cells = (_Atomic uint64_t *)(front->base + front->header->completions_offset);
	long pushed = 0;
	for (uint32_t index = 0; index < FRONT_SLOTS; index++, pushed++) {
		memmove(front_request_area(front, index), front_request_area(front, 0), vars_size);
		push_slot(front, &exchange[index], index, vars_size, HOWDAH_BODY_NONE, 0, 0);
	}
	for (long done = 0; done < count;) {
		uint64_t cell = atomic_load(&cells[front->read_index[0] % CELLS]);
		if ((uint32_t)(cell >> 32) != front->read_index[0] + 1) {
			poll(NULL, 0, 1);
			continue;
		}
		uint32_t index = cell & 0xffff;
		if (index >= FRONT_SLOTS || ((cell >> 31) & 1) != HOWDAH_DONE) {
			front_fail("a completion that is not expected: %016lx", (unsigned long)cell);
		}
		front->read_index[0]++;
		done++;
		atomic_store(&exchange[index].slot->state, HOWDAH_STATE(exchange[index].position, 0, HOWDAH_SLOT_FREE));
		if (pushed < count) {
			push_slot(front, &exchange[index], index, vars_size, HOWDAH_BODY_NONE, 0, 0);
			pushed++;
		}
	}
}

static void complete(struct front *front, uint32_t worker, uint32_t number, uint64_t cell)
{
	uint64_t kind = (cell >> 31) & 1;
	struct exchange *exchange = (cell & 0xffff) < FRONT_SLOTS ? front->live[cell & 0xffff] : NULL;
	if (!exchange || cell != HOWDAH_COMPLETION(number, kind, exchange->position, exchange->index)) {
		front_fail("a completion that is of no request: %016lx", (unsigned long)cell);
	}
	exchange->worker = worker;
	if (kind == HOWDAH_PROGRESS) {
		atomic_exchange(&exchange->slot->notified, 0);
		return;
	}
	exchange->done = true;
	exchange->order = ++front->done_count;
	exchange->committed = atomic_load_explicit(&exchange->slot->committed, memory_order_acquire);
	if (exchange->slot->echo_id != exchange->slot->request_id) {
		front_fail("the worker answered another request");
	}
	front_forget(front, exchange);
}

bool front_drain(struct front *front)
{
	bool any = false;
	for (uint32_t worker = 0; worker < FRONT_WORKERS; worker++) {
		_Atomic uint64_t *cells =
			(_Atomic uint64_t *)(front->base + front->header->completions_offset) + worker * CELLS;
		for (;;) {
			uint32_t index = front->read_index[worker];
			uint64_t cell = atomic_load(&cells[index % CELLS]);
			if ((uint32_t)(cell >> 32) != index + 1) {
				break;
			}
			complete(front, worker, index, cell);
			front->read_index[worker]++;
			any = true;
		}
	}
	return any;
}

const struct howdah_frame *front_frame(struct front *front, struct exchange *exchange)
{
	uint64_t committed =
		exchange->done ? exchange->committed : atomic_load_explicit(&exchange->slot->committed, memory_order_acquire);
	const uint8_t *ring = front->base + front->header->responses_offset + (size_t)exchange->index * FRONT_RESPONSE_SIZE;
	while (exchange->consumed < committed) {
		uint64_t at = exchange->consumed % FRONT_RESPONSE_SIZE;
		const struct howdah_frame *frame = (const struct howdah_frame *)(ring + at);
		uint64_t whole = sizeof(*frame) + (((uint64_t)frame->size + 7) & ~7ull);
		if (whole > committed - exchange->consumed || whole > FRONT_RESPONSE_SIZE - at) {
			front_fail(
				"frame %u of %u bytes reaches past what was committed or the ring's end", frame->kind, frame->size);
		}
		if (frame->kind != HOWDAH_FRAME_PAD) {
			return frame;
		}
		front_consume(front, exchange, frame);
	}
	return NULL;
}

/* The state word names the owner of the slot. */
static void wake_owner(struct front *front, struct exchange *exchange)
{
	uint64_t state = atomic_load(&exchange->slot->state);
	if (HOWDAH_STATE_KIND(state) == HOWDAH_SLOT_OWNED) {
		wake_place(front, HOWDAH_STATE_WORKER(state), &exchange->slot->space);
	}
}

void front_consume(struct front *front, struct exchange *exchange, const struct howdah_frame *frame)
{
	exchange->consumed += sizeof(*frame) + (((uint64_t)frame->size + 7) & ~7ull);
	atomic_exchange(&exchange->slot->consumed, exchange->consumed);
	if (atomic_load(&exchange->slot->waiting)) {
		atomic_fetch_add(&exchange->slot->space, 1);
		wake_owner(front, exchange);
	}
}

void front_abort(struct front *front, struct exchange *exchange, uint32_t why)
{
	atomic_store(&exchange->slot->aborted, why);
	atomic_fetch_add(&exchange->slot->space, 1);
	wake_owner(front, exchange);
}

void front_sleep(struct front *front, bool sleeping)
{
	uint32_t epoch = atomic_load(&front->ring->sleeping);
	if ((epoch & 1) != sleeping) {
		/* A worker may change the word to even at the same time, which is the expected result. */
		atomic_compare_exchange_strong(&front->ring->sleeping, &epoch, epoch + 1);
	}
}

void front_start(struct front *front, uint32_t worker)
{
	atomic_store(&worker_at(front, worker)->stop, 0);
}

void front_stop(struct front *front, uint32_t worker)
{
	struct howdah_worker *words = worker_at(front, worker);
	atomic_store(&words->stop, 1);
	atomic_fetch_add(&words->wake, 1);
	wake_place(front, worker, &words->wake);
}
