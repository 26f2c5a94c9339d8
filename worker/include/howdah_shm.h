/*
 * The contract between the front (Rust, crates/howdah-shm) and the PHP processes (C, worker/src).
 *
 * One shared segment per pool. The front creates it, writes the header once, and hands its file
 * descriptor to the pool's zygote; workers inherit the mapping. Nothing else is shared.
 *
 * Rules
 *  - Every layout here is asserted on both sides; a change bumps HOWDAH_SHM_VERSION.
 *  - A field is written by one side only, named at the field (the front resets all of a slot while it
 *    is FREE). The exceptions are the words that
 *    exist to be contended: slot.state, slot.notified, ring.head, parked.
 *  - Whatever the peer wrote is hostile until checked: index, length, generation.
 *  - A front thread owns its slots, its request ring and one completion ring per worker, so every ring has one
 *    producer. A front thread never exits alone; a worker may crash between any two instructions, and the front
 *    recovers what it held (docs/internals/queue.md).
 *  - Sizes are bytes, offsets are from the start of the segment, integers are little endian.
 */
#ifndef HOWDAH_SHM_H
#define HOWDAH_SHM_H

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define HOWDAH_SHM_MAGIC 0x4d48534841445748ull /* "HWDAHSHM" */
#define HOWDAH_SHM_VERSION 16u

#define HOWDAH_FRONTS_MAX 16u
#define HOWDAH_WORKERS_MAX 512u
#define HOWDAH_SLOTS_MAX 1024u /* per front thread */
#define HOWDAH_PARKED_WORDS (HOWDAH_WORKERS_MAX / 64u)

/* --- the header: written by the front before anyone maps the segment, read-only afterwards ---- */

struct howdah_shm_header {
	uint64_t magic;
	uint32_t version;
	uint32_t fronts;        /* front threads, 1..HOWDAH_FRONTS_MAX */
	uint32_t workers;       /* places for workers, 1..HOWDAH_WORKERS_MAX */
	uint32_t slots;         /* slots of each front thread, a power of two, 1..HOWDAH_SLOTS_MAX */
	uint32_t request_size;  /* request area of a slot, a multiple of 4096 */
	uint32_t response_size; /* response ring of a slot, a power of two, at least 4096 */
	uint64_t segment_size;
	uint64_t fronts_offset;      /* struct howdah_front_ring, `fronts` times, front_stride apart */
	uint64_t front_stride;       /* sizeof(struct howdah_front_ring) + 2 * slots cells, padded to 64 */
	uint64_t parked_offset;      /* _Atomic uint64_t[HOWDAH_PARKED_WORDS] */
	uint64_t workers_offset;     /* struct howdah_worker, `workers` times */
	uint64_t completions_offset; /* [front][worker] rings of 2 * slots cells of 8 bytes */
	uint64_t slots_offset;       /* struct howdah_slot, fronts * slots times */
	uint64_t requests_offset;    /* request areas, request_size apart */
	uint64_t responses_offset;   /* response rings, response_size apart */
	uint64_t profiles_offset;    /* struct howdah_profile, `workers` times, HOWDAH_PROFILE_SIZE apart */
};
static_assert(sizeof(struct howdah_shm_header) == 112, "layout");

/*
 * --- request ring of a front thread -----------------------------------------------------------
 *
 * cells: (pos + 1):48 | slot:16, where slot is the index within this front thread. A position is
 * never used twice: it is the generation of one queueing. tail is private to the front.
 */
struct howdah_front_ring {
	_Alignas(64) _Atomic uint64_t head;     /* anyone, CAS(h, h + 1) only */
	_Alignas(64) _Atomic uint32_t sleeping; /* odd: the front thread sleeps on its eventfd; epoch */
	_Alignas(64) _Atomic uint64_t cells[];  /* front; 2 * slots of them */
};
static_assert(sizeof(struct howdah_front_ring) == 128, "layout");

/* slot.state = pos:48 | worker:12 | kind:4 */
#define HOWDAH_SLOT_FREE 0u
#define HOWDAH_SLOT_QUEUED 1u
#define HOWDAH_SLOT_OWNED 2u
#define HOWDAH_STATE(pos, worker, kind) (((uint64_t)(pos) << 16) | ((uint64_t)(worker) << 4) | (kind))
#define HOWDAH_STATE_POS(state) ((state) >> 16)
#define HOWDAH_STATE_WORKER(state) (((state) >> 4) & 0xfffu)
#define HOWDAH_STATE_KIND(state) ((state)&0xfu)
#define HOWDAH_POS_MASK ((1ull << 48) - 1)

/*
 * completion cell = (cpos + 1):32 | kind:1 | low 15 bits of pos:15 | slot:16. One producer (the worker), one consumer
 * (the front thread). At most one PROGRESS and one DONE of a slot are outstanding, so 2 * slots cells never overflow.
 * The worker's write index starts at the value that the front gave it at fork: a successor continues where its
 * predecessor was read to.
 */
#define HOWDAH_PROGRESS 1u
#define HOWDAH_DONE 0u
#define HOWDAH_COMPLETION(cpos, kind, pos, slot) \
	(((uint64_t)(uint32_t)((cpos) + 1) << 32) | ((uint64_t)(kind) << 31) | (((uint64_t)(pos)&0x7fffu) << 16) | \
		(uint64_t)(slot))

/* --- a worker's words -------------------------------------------------------------------------- */

struct howdah_worker {
	/* front */
	_Alignas(64) _Atomic uint32_t wake; /* futex, +1 for each wake; also by an exiting worker that passes its wake on */
	_Atomic uint32_t stop;              /* 1: exit when idle; the front wakes the worker after setting it */
	_Atomic uint64_t sample_id;         /* request to sample; set before `sample`, taken by exchange with 0 */
	_Atomic uint32_t sample;            /* futex, +1 for each requested sample or look, and at a change of `profile` */
	_Atomic uint32_t profile;           /* number of the profile to take, 0: none; set last */
	_Atomic uint32_t profile_period_us; /* time between two of its samples */
	_Atomic uint64_t profile_end_ns;    /* CLOCK_MONOTONIC: no sample is taken after this time */
	_Atomic uint32_t look; /* 1, set before `sample`: requests a look at all requests; taken by exchange with 0 */
	/* worker */
	_Alignas(64) _Atomic uint64_t request_id; /* of the running request, 0: none; identifies log lines too */
	_Atomic uint64_t requests;                /* served by this process */
	_Atomic uint64_t memory;                  /* bytes of PHP's allocator at the end of the last request */
	_Atomic uint64_t started_ns;              /* CLOCK_MONOTONIC at the start of the running request */
	_Atomic uint64_t hog_ns;     /* concurrent pool: the longest that a request held the thread; the front takes it by
	                          * exchange with 0 */
	_Atomic uint32_t in_flight;  /* requests of which this worker is the owner; not concurrent: 0 or 1 */
	_Atomic uint32_t sequential; /* 1: its pool is concurrent, but it runs one request at a time */
	_Atomic uint64_t looked_ns;  /* CLOCK_MONOTONIC at the last check of the queue before a sleep;
	                              * concurrent pool: at a recent check, 0: it claims nothing */
	/*
	 * A robust mutex that the process locks when it starts and never unlocks, so that the kernel reports its exit as
	 * soon as that begins, milliseconds before the pidfd does when there is much memory to free: it sets
	 * HOWDAH_LIFE_ENDED in the first word and wakes the waiter there, if HOWDAH_LIFE_AWAITED (the front) is set.
	 */
	union {
		_Alignas(64) _Atomic uint32_t life; /* the thread's id and HOWDAH_LIFE_*; 0: not started */
		pthread_mutex_t life_mutex;
	};
	/*
	 * The samples of a profile that were due, by the state in which the front found the process. Written by one front
	 * thread at a time; the worker reads the differences.
	 */
	_Alignas(64) _Atomic uint64_t ticks_idle; /* no request was running */
	_Atomic uint64_t ticks_ran;               /* to be taken: `sample` wakes the sampling thread */
	_Atomic uint64_t ticks_same;              /* it had not run since its last sample, which is counted again */
	/* worker */
	_Atomic uint64_t sampler_ns;  /* processor time of the sampling thread, not of PHP's */
	_Atomic uint32_t sample_each; /* 1: samples are never counted again, since they cover several requests */
	/*
	 * Where the words of PHP are in the page "globals" of the area for profiles, as offset + 1. The front interrupts PHP
	 * there: it copies the current frame to `tick_frame`, then sets the flag. 0: the page is not PHP's.
	 */
	_Atomic uint32_t interrupt_at; /* EG(vm_interrupt), a byte */
	_Atomic uint32_t frame_at;     /* EG(current_execute_data); 0: it is in another page */
	/* By the front; only compared. HOWDAH_FRAME_UNKNOWN: `frame_at` is 0; by the worker: its samples have been taken. */
	_Atomic uint64_t tick_frame;
	/* By the front when it sets the flag, in microseconds modulo 2^32. */
	_Atomic uint32_t tick_us;     /* CLOCK_MONOTONIC */
	_Atomic uint32_t tick_cpu_us; /* processor time of the process, just before; late only if it runs; 0: unknown */
};
static_assert(sizeof(struct howdah_worker) == 256, "layout");

#define HOWDAH_FRAME_UNKNOWN 1u
static_assert(sizeof(pthread_mutex_t) <= 64, "layout");

#define HOWDAH_LIFE_AWAITED 0x80000000u /* FUTEX_WAITERS */
#define HOWDAH_LIFE_ENDED 0x40000000u   /* FUTEX_OWNER_DIED */

/*
 * --- profiles -----------------------------------------------------------------------------------
 *
 * Each place has an area in which its worker counts the samples of a profile: this struct, then at their offsets
 * frames, nodes and strings. Frames are the elements of a stack. Nodes are the stacks: a node represents the frame that
 * it names, called by that of its parent, and has the samples whose innermost frame that was. A string is its size
 * (uint16_t) and its bytes, UTF-8 or not. The worker writes an entry before it counts it. A successor in the place
 * continues the counts of its predecessor; pages that no profile has touched do not exist.
 *
 * The last page, "globals", has no counts: while a profile is taken, the process maps it in place of the page with PHP's
 * interrupt flag, so that the front can interrupt PHP without waking a thread (howdah_worker.interrupt_at). The front
 * never frees it.
 */
#define HOWDAH_PROFILE_SIZE 2097152u
#define HOWDAH_PROFILE_FRAMES_OFFSET 4096u
#define HOWDAH_PROFILE_NODES_OFFSET 200704u
#define HOWDAH_PROFILE_STRINGS_OFFSET 1249280u
#define HOWDAH_PROFILE_FRAMES_MAX 8192u
#define HOWDAH_PROFILE_NODES_MAX 32768u
#define HOWDAH_PROFILE_STRINGS_MAX 843776u /* bytes */
#define HOWDAH_PROFILE_GLOBALS_OFFSET 2093056u
#define HOWDAH_PROFILE_GLOBALS_SIZE 4096u

struct howdah_profile {       /* worker */
	_Atomic uint32_t number;  /* howdah_worker.profile of the following data; set last */
	_Atomic uint32_t strings; /* bytes in use; the first two are the empty string */
	_Atomic uint32_t frames;
	_Atomic uint32_t nodes;
	_Atomic uint64_t due;        /* samples that were due: the sum of the counts below */
	_Atomic uint64_t taken;      /* counted at nodes, in a concurrent pool at several */
	_Atomic uint64_t idle;       /* nothing ran */
	_Atomic uint64_t late;       /* the sampling thread did not get a processor in time */
	_Atomic uint64_t unreadable; /* the stack changed while it was read */
	_Atomic uint64_t full;       /* no room for a new frame or node */
};
static_assert(sizeof(struct howdah_profile) == 64, "layout");

#define HOWDAH_PROFILE_ROUTE 1u    /* the outermost frame: method and path of the request */
#define HOWDAH_PROFILE_FUNCTION 2u /* PHP code */
#define HOWDAH_PROFILE_INTERNAL 3u /* a function of PHP or an extension */
#define HOWDAH_PROFILE_WAIT 4u     /* what the innermost function waits for */

struct howdah_profile_frame {
	uint64_t hash; /* private to the worker */
	uint32_t name; /* offset of a string */
	uint32_t file; /* offset of a string, 0: none */
	uint32_t line; /* 0: not known */
	uint32_t kind; /* HOWDAH_PROFILE_* */
};
static_assert(sizeof(struct howdah_profile_frame) == 24, "layout");

struct howdah_profile_node {
	uint32_t parent; /* number of the parent node + 1, 0: none */
	uint32_t frame;  /* number */
	_Atomic uint64_t samples;
	_Atomic uint64_t wall_ns; /* time since the previous sample, of all samples */
	_Atomic uint64_t cpu_ns;  /* processor time since the previous sample */
};
static_assert(sizeof(struct howdah_profile_node) == 32, "layout");
static_assert(HOWDAH_PROFILE_NODES_OFFSET ==
					  HOWDAH_PROFILE_FRAMES_OFFSET + HOWDAH_PROFILE_FRAMES_MAX * sizeof(struct howdah_profile_frame) &&
				  HOWDAH_PROFILE_STRINGS_OFFSET ==
					  HOWDAH_PROFILE_NODES_OFFSET + HOWDAH_PROFILE_NODES_MAX * sizeof(struct howdah_profile_node) &&
				  HOWDAH_PROFILE_GLOBALS_OFFSET == HOWDAH_PROFILE_STRINGS_OFFSET + HOWDAH_PROFILE_STRINGS_MAX &&
				  HOWDAH_PROFILE_SIZE == HOWDAH_PROFILE_GLOBALS_OFFSET + HOWDAH_PROFILE_GLOBALS_SIZE,
	"layout");

/* --- a slot: one request in flight ------------------------------------------------------------- */

struct howdah_slot {
	/* line 0, front (workers CAS `state` from QUEUED to OWNED); stable while QUEUED or OWNED */
	_Alignas(64) _Atomic uint64_t state;
	uint64_t request_id; /* never 0 */
	uint32_t vars_size;  /* encoded variables at the start of the request area */
	uint32_t body_kind;  /* HOWDAH_BODY_* */
	uint64_t body_size;
	uint32_t flags; /* HOWDAH_REQUEST_* */
	/* line 1, front, changes while the request runs */
	_Alignas(64) _Atomic uint64_t consumed; /* response bytes taken, as a count since the claim */
	_Atomic uint32_t space;                 /* futex, +1 when the front took bytes and `waiting` was set */
	_Atomic uint32_t aborted;               /* HOWDAH_ABORTED_*; the front bumps `space` too and wakes */
	/* line 2, worker (`notified`: worker 0 -> 1, front 1 -> 0) */
	_Alignas(64) _Atomic uint64_t committed; /* response bytes published, whole frames, count since the claim */
	uint64_t echo_id;                        /* request_id as the worker read it */
	_Atomic uint32_t started;                /* HOWDAH_STARTED_*, 0 before: a retry may have side effects */
	_Atomic uint32_t waiting;                /* 1: sleeps on `space` */
	_Atomic uint32_t notified;               /* 1: a PROGRESS cell of this slot is pending */
	uint64_t claimed_ns;                     /* CLOCK_MONOTONIC at the claim, for measurements only; 0: not claimed */
	uint64_t served_ns;                      /* from the claim to DONE; concurrent pool: not */
};
static_assert(sizeof(struct howdah_slot) == 192, "layout");
static_assert(offsetof(struct howdah_slot, consumed) == 64, "layout");
static_assert(offsetof(struct howdah_slot, committed) == 128, "layout");

/* Why the response is no longer needed. */
#define HOWDAH_ABORTED_CLIENT 1u /* the client has disconnected: PHP notices when it writes, unless it ignores that */
#define HOWDAH_ABORTED_TIME 2u   /* concurrent pool: the request's time is over, it must end now */

/* Whether PHP has started the request. */
#define HOWDAH_STARTED_EFFECTS 1u  /* it may have had effects */
#define HOWDAH_STARTED_TOO_LONG 2u /* as 1; the worker exits, since the request exceeded its CPU time */

#define HOWDAH_BODY_NONE 0u
#define HOWDAH_BODY_INLINE 1u /* behind the variables in the request area, at the next multiple of 8 */
#define HOWDAH_BODY_FILE 2u   /* file `%016x` of request_id in the spool directory given to the zygote */

#define HOWDAH_REQUEST_HEAD 1u    /* no body must be sent */
#define HOWDAH_REQUEST_HUB 2u     /* there is a hub for the request's updates: PUBLISH frames are allowed */
#define HOWDAH_REQUEST_ACCOUNT 4u /* its costs are requested: END contains them */

/*
 * --- response frames ----------------------------------------------------------------------------
 *
 * The response ring is a sequence of frames, each at a multiple of 8 and contiguous (never
 * wrapped): a frame that does not fit before the end of the ring is preceded by a PAD frame that
 * fills it. `committed` and `consumed` count bytes with frame headers and padding; both start at 0
 * for each request, position in the ring = count % response_size. size is the payload's size
 * without header and without padding to 8.
 *
 * Order: INFO* (HEADERS BODY* FINISH?)? END, followed by the DONE cell. The status of INFO is 100 to
 * 199, of HEADERS 200 to 999. PUBLISH may be at any place before END, if the request has HOWDAH_REQUEST_HUB.
 * The front refuses anything else and kills the worker.
 */
struct howdah_frame {
	uint32_t kind; /* HOWDAH_FRAME_* */
	uint32_t size;
};
static_assert(sizeof(struct howdah_frame) == 8, "layout");

#define HOWDAH_FRAME_PAD 0u
#define HOWDAH_FRAME_HEADERS 1u /* struct howdah_headers and what follows it */
#define HOWDAH_FRAME_BODY 2u    /* bytes */
#define HOWDAH_FRAME_INFO 3u    /* as HEADERS, for a 1xx response */
#define HOWDAH_FRAME_FINISH 4u  /* empty: the response is complete although the script continues */
#define HOWDAH_FRAME_END 5u     /* struct howdah_end */
#define HOWDAH_FRAME_PUBLISH 6u /* struct howdah_publish and 1 or more bytes of an update */

/* A header frame: this, then the reason phrase (reason_size bytes, may be 0), then `count` times a
 * struct howdah_header followed by name and value without separator or padding. */
struct howdah_headers {
	uint16_t status;
	uint16_t reason_size;
	uint32_t count;
};
struct howdah_header {
	uint32_t name_size;
	uint32_t value_size;
};
static_assert(sizeof(struct howdah_headers) == 8 && sizeof(struct howdah_header) == 8, "layout");

struct howdah_end {
	uint32_t exit;        /* HOWDAH_EXIT_* */
	uint32_t exit_status; /* status of exit(), 255 after a fatal error */
	uint64_t memory_peak; /* bytes */
	/* 0 without HOWDAH_REQUEST_ACCOUNT */
	uint64_t cpu_us;      /* user + system time of the request */
	uint64_t database_us; /* wall time in calls of database extensions */
	uint32_t queries;     /* SQL statements that these calls ran */
	uint32_t reserved;    /* 0 */
};
static_assert(sizeof(struct howdah_end) == 40, "layout");

/*
 * An update is sent in one part or several; other frames may be between them, parts of other updates may not. It is
 * this struct, then `topics` sizes of 4 bytes, then without separators the topics (topics_size bytes together), the id,
 * the type and the data. An update that is incomplete when another one begins, or when the request ends, is dropped.
 */
struct howdah_publish {
	uint32_t flags; /* HOWDAH_PUBLISH_* */
	uint32_t left;  /* bytes of the update in later frames */
};
struct howdah_update {
	uint32_t flags;  /* HOWDAH_UPDATE_* */
	uint32_t topics; /* 1 to HOWDAH_UPDATE_TOPICS_MAX */
	uint64_t retry;  /* milliseconds */
	uint32_t topics_size;
	uint32_t id_size;   /* not 0 */
	uint32_t type_size; /* 0: none */
	uint32_t data_size;
};
static_assert(sizeof(struct howdah_publish) == 8 && sizeof(struct howdah_update) == 32, "layout");

#define HOWDAH_PUBLISH_FIRST 1u
#define HOWDAH_UPDATE_PRIVATE 1u        /* only for subscribers with a right to one of its topics */
#define HOWDAH_UPDATE_RETRY 2u          /* `retry` is valid */
#define HOWDAH_UPDATE_SIZE_MAX 1048576u /* of all parts together */
#define HOWDAH_UPDATE_TOPICS_MAX 1000u

/* The response is complete in all cases. From RESTARTED on the worker accepts no more requests. */
#define HOWDAH_EXIT_NORMAL 0u
#define HOWDAH_EXIT_FATAL 1u     /* a fatal error was reported */
#define HOWDAH_EXIT_KEPT 2u      /* worker mode: exit() was called, and `finally` blocks have run */
#define HOWDAH_EXIT_RESTARTED 3u /* exit() was called, and HOWDAH_POOL_FLAG_EXIT_RESTARTS is set */
#define HOWDAH_EXIT_SKIPPED 4u   /* code was unwound without its `finally` blocks: one would have prevented the exit */
#define HOWDAH_EXIT_LOST 5u      /* an exception replaced the unwinding of code */
#define HOWDAH_EXIT_SUSPENDED 6u /* a Fiber or generator with a pending `finally` block was abandoned */

/*
 * --- variables -----------------------------------------------------------------------------------
 *
 * The request area begins with vars_size bytes: a sequence of records, each a struct howdah_var,
 * then (id 0 only) name_size bytes of name and a NUL, then value_size bytes of value and a NUL,
 * padded to a multiple of 4. ids of well-known names are in howdah_vars.h.
 */
struct howdah_var {
	uint16_t id;        /* HOWDAH_VAR_*; 0: the name follows */
	uint16_t name_size; /* 0 unless id is 0 */
	uint32_t value_size;
};
static_assert(sizeof(struct howdah_var) == 8, "layout");

/*
 * --- control messages -----------------------------------------------------------------------------
 *
 * SOCK_SEQPACKET between the front and the root zygote, and one more between the front and each pool's zygote. A
 * message is this struct and `size` bytes of data; file descriptors travel with it. A zygote whose socket reads
 * end-of-file ends itself and its children. The front accepts no reply that it has not requested, and no process that
 * is not the sender's child: such a message ends the zygote.
 *
 * front -> root   POOL   worker = number of the zygote, free at the moment; data: struct howdah_pool_options, then
 *                        its strings, then its user if HOWDAH_POOL_FLAG_USER is set; fds: the zygote's control socket, segment, spool directory, the write end of
 *                        the zygote's stdout and stderr pipe, eventfds (one per front); if the pool is concurrent,
 *                        then one more eventfd for each place (struct howdah_pool_options, concurrency); if
 *                        HOWDAH_POOL_FLAG_RECORD is set, the pool's record of files (struct howdah_record) last
 * monitor -> root USERS  the very first message, if the root was started with --users: by the monitor, as root, before the
 *                        front has the socket. data: for each user struct howdah_identity and what follows it. The
 *                        root refuses POOL, OPCACHE and PRELOAD of other users
 * front -> root   PRELOAD  the first message, if the root was started with --preload; fd: struct howdah_preload
 * root  -> front  READY  data: JSON object {"php":"8.2.35","api":20220829,"zts":false,"opcache":true,...}
 * root  -> front  POOL_STARTED  worker = number of the zygote, pid; fd: pidfd
 * root  -> front  POOL_EXITED   worker = number of the zygote, pid, status = wait status
 * pool  -> front  BOOTED  the zygote takes SPAWN from now on. status = HOWDAH_BOOTED_*; data: a sentence, may be
 *                        empty. A zygote whose boot fails logs why and ends with HOWDAH_EXIT_STATUS_BOOT.
 * front -> pool   SPAWN  worker; data: struct howdah_spawn, then uint32_t[fronts], the completion write index for
 *                        each front thread; fd: the write end of the worker's stdout and stderr pipe
 * pool  -> front  SPAWNED worker, pid; fd: pidfd
 * pool  -> front  EXITED  worker, pid, status = wait status
 * front -> root   OPCACHE  data: struct howdah_opcache_order, then a user as in POOL if it says so; fds: the write end
 *                        of a pipe for the answer, and with HOWDAH_OPCACHE_COMPILE the read end of one that brings
 *                        the paths, NUL after each. A child of the root answers: a JSON object of numbers, then with
 *                        HOWDAH_OPCACHE_PATHS a NUL and the paths of scripts, NUL after each. No answer: it failed.
 * front -> either KILL  worker: the child that was announced under this number without that its pidfd arrived
 * either -> front FAILED  status = errno; data: a sentence; worker as in the request that failed
 */
struct howdah_control {
	uint32_t kind;
	uint32_t worker;
	int32_t pid;
	int32_t status;
	uint32_t size;
	uint32_t reserved;
};
static_assert(sizeof(struct howdah_control) == 24, "layout");

#define HOWDAH_CONTROL_POOL 1u
#define HOWDAH_CONTROL_READY 2u
#define HOWDAH_CONTROL_POOL_STARTED 3u
#define HOWDAH_CONTROL_POOL_EXITED 4u
#define HOWDAH_CONTROL_SPAWN 5u
#define HOWDAH_CONTROL_SPAWNED 6u
#define HOWDAH_CONTROL_EXITED 7u
#define HOWDAH_CONTROL_FAILED 8u
#define HOWDAH_CONTROL_BOOTED 9u
#define HOWDAH_CONTROL_OPCACHE 10u
#define HOWDAH_CONTROL_PRELOAD 11u
#define HOWDAH_CONTROL_KILL 12u
#define HOWDAH_CONTROL_USERS 13u
#define HOWDAH_CONTROL_SIZE_MAX 32768u

struct howdah_pool_options {
	uint32_t mode;           /* HOWDAH_POOL_* */
	uint32_t flags;          /* HOWDAH_POOL_FLAG_* */
	uint32_t keep;           /* HOWDAH_KEEP_*: state that requests may change for later ones */
	uint32_t connections;    /* HOWDAH_CONNECTIONS_*: what to do about a connection that was closed between requests */
	uint32_t generation;     /* of the pool, from 1; counts reloads and exits of zygotes */
	uint32_t cpu_timeout_ms; /* CPU time limit of a request: then SIGKILL ends the worker; 0: none */
	/* Strings follow in this order, without separators. */
	uint32_t name_size;    /* name of the pool, for process titles and messages */
	uint32_t script_size;  /* worker mode: absolute path of the worker script */
	uint32_t root_size;    /* worker mode: document root of the boot request, may be empty */
	uint32_t env_size;     /* worker mode: variables of the boot request, NAME NUL VALUE NUL ... */
	uint32_t warm_size;    /* worker mode: paths that each worker requests of itself before it is ready, URI NUL ... */
	uint32_t php_ini_size; /* settings of this pool, NAME NUL VALUE NUL ... */
	uint32_t php_admin_ini_size;      /* settings that nothing in the pool may change, NAME NUL VALUE NUL ... */
	uint32_t detect_leaks_allow_size; /* worker mode: what may differ after a request, PATTERN NUL ... */
	/*
	 * Worker mode: requests that a worker runs at a time; 0 and 1: one. If more, the pool is concurrent: its workers
	 * sleep in epoll_wait() with their place's eventfd instead of on a futex. To wake such a worker, add to `wake` and
	 * write 1 to its eventfd; the front does so too when it has set `aborted` or taken bytes while `waiting` was set.
	 * The parked bit means that the worker sleeps and has a free place for a request.
	 */
	uint32_t concurrency;
	uint32_t stack_size;          /* bytes of C stack of each coroutine; 0: the worker's default */
	uint32_t hog_threshold_ms;    /* a request that holds the thread longer is logged with its backtrace; 0: never */
	uint32_t time_slice_ms;       /* a request that holds the thread longer lets others run; 0: never */
	uint32_t hang_timeout_ms;     /* a worker that makes no progress for longer ends itself; 0: never */
	uint32_t detect_leaks_sample; /* worker mode: one in so many requests is checked for leaks; 0: none */
	uint32_t log_key[2];          /* low half first; random, not 0: authenticates the zygote's records */
};
static_assert(sizeof(struct howdah_pool_options) == 88, "layout");

#define HOWDAH_POOL_CLASSIC 1u
#define HOWDAH_POOL_WORKER 2u

/*
 * --- preloading -----------------------------------------------------------------------------------
 *
 * A file in memory that the front creates: this struct, `count` bytes of HOWDAH_VERDICT_*, all 0, the name of the user
 * who reads the files (`user_size` bytes with the NUL; 0: that of the root), then the files' paths, each with its NUL.
 * The root writes the fields marked so below before READY, and then discards its mapping.
 */
struct howdah_preload {
	uint32_t mode;  /* HOWDAH_PRELOAD_* */
	uint32_t count; /* files; without files nothing is preloaded, and the root reports `foreign` alone */
	uint32_t user_size;
	uint32_t paths_size;
	uint32_t done;      /* root: PHP started with the files preloaded */
	uint32_t foreign;   /* root: php.ini has an opcache.preload of its own */
	uint32_t classes;   /* root: number of preloaded classes, interfaces, traits and enums */
	uint32_t functions; /* root */
	uint64_t memory;    /* root: bytes of OPcache's memory that the preloaded code takes */
	char message[256];  /* root: why preloading failed, with a NUL */
};
static_assert(sizeof(struct howdah_preload) == 296, "layout");

#define HOWDAH_PRELOAD_AUTO 1u /* files that declare classes and do nothing else */
#define HOWDAH_PRELOAD_ALL 2u  /* all files that compile */

/* The result for a file. */
#define HOWDAH_VERDICT_LOADED 1u
#define HOWDAH_VERDICT_MISSING 2u     /* the file cannot be read */
#define HOWDAH_VERDICT_SYNTAX 3u      /* the file has a syntax error */
#define HOWDAH_VERDICT_NO_CLASS 4u    /* it declares nothing */
#define HOWDAH_VERDICT_FUNCTION 5u    /* it declares a function */
#define HOWDAH_VERDICT_CONSTANT 6u    /* it declares a constant */
#define HOWDAH_VERDICT_CONDITION 7u   /* it declares something under a condition */
#define HOWDAH_VERDICT_CODE 8u        /* it does something else, if only an output of white space */
#define HOWDAH_VERDICT_DUPLICATE 9u   /* another file, or PHP, declares the same */
#define HOWDAH_VERDICT_DIAGNOSTIC 10u /* PHP reports a diagnostic when it compiles it, which each request has to get */
#define HOWDAH_VERDICT_FAILED 11u     /* it cannot be compiled */
#define HOWDAH_VERDICT_UNLINKED 12u   /* a parent, interface or trait of its class is not preloaded */

/*
 * The files that a pool's processes have run, in shared memory of HOWDAH_RECORD_SIZE bytes that the front creates and
 * that outlives generations: entries of a word and a path without NUL, padded to a multiple of 4. All processes of the
 * pool add to it: they reserve space with `used`, fill it and write the word last; a word of 0 ends the list.
 */
struct howdah_record {
	_Atomic uint32_t used; /* bytes of entries after this struct */
	uint32_t reserved;
};
static_assert(sizeof(struct howdah_record) == 8, "layout");

#define HOWDAH_RECORD_SIZE 4194304u
#define HOWDAH_RECORD_AUTOLOADED 0x80000000u /* of an entry's word: an autoloader included it; the rest is the size */

#define HOWDAH_CONCURRENCY_MAX HOWDAH_SLOTS_MAX
#define HOWDAH_CONCURRENT_PLACES_MAX 224u /* of a concurrent pool: a message carries 253 descriptors */

#define HOWDAH_POOL_FLAG_BOOT_EACH 1u     /* the script is run in each worker, not once in the zygote */
#define HOWDAH_POOL_FLAG_EXIT_RESTARTS 2u /* exit() in a request ends the worker, not only the request */
#define HOWDAH_POOL_FLAG_NO_ROLLBACK 4u   /* transactions that a request left open stay open */
#define HOWDAH_POOL_FLAG_FRESH_FILES 8u   /* boot with the files as they are on disk, whatever OPcache holds */
#define HOWDAH_POOL_FLAG_SHARE_STATICS \
	16u                           /* concurrent pool: static properties and variables are one for all requests */
#define HOWDAH_POOL_FLAG_USER 32u /* its processes run as another user: struct howdah_identity follows the strings */
#define HOWDAH_POOL_FLAG_NO_NEW_PRIVS 64u /* programs that its processes start never gain rights */
#define HOWDAH_POOL_FLAG_RECORD 128u      /* its processes record the files that they run */
#define HOWDAH_POOL_FLAG_DUMPABLE 256u    /* its processes are dumpable: others of their user can access their memory */
#define HOWDAH_POOL_FLAG_CONCURRENCY_FALLBACK \
	512u                                   /* concurrent pool: one request at a time where PHP cannot run several */
#define HOWDAH_POOL_FLAG_SAMPLES 1024u     /* the front orders samples of slow requests */
#define HOWDAH_POOL_FLAG_LEAK_HEADER 2048u /* responses report the number of leaks in X-Howdah-Leaks */
#define HOWDAH_POOL_FLAG_ALL 0xfffu        /* a zygote refuses a pool with others */

#define HOWDAH_OPCACHE_SCRIPTS 1u    /* compare scripts with their files, and count missing and changed ones */
#define HOWDAH_OPCACHE_INVALIDATE 2u /* have those compiled again at their next use */
#define HOWDAH_OPCACHE_PATHS 4u      /* and report the paths of scripts whose files exist */
#define HOWDAH_OPCACHE_COMPILE 8u    /* compile the files of the received paths first */
#define HOWDAH_OPCACHE_USER 16u      /* in the child of another user: struct howdah_identity follows */
#define HOWDAH_OPCACHE_ALL 0x1fu     /* the root refuses an order with others */

struct howdah_opcache_order {
	uint32_t what; /* HOWDAH_OPCACHE_* */
	uint32_t reserved;
	/* Seconds since 1970: files whose inode changed since then count as changed whatever their times say. */
	int64_t since;
};
static_assert(sizeof(struct howdah_opcache_order) == 16, "layout");

/* The user of a pool's processes. `groups` times a uint32_t follow, then name and home without separators. */
struct howdah_identity {
	uint32_t uid;
	uint32_t gid;
	uint32_t groups; /* supplementary ones, usually with gid among them */
	uint32_t name_size;
	uint32_t home_size;
};
static_assert(sizeof(struct howdah_identity) == 20, "layout");

/* State that is restored after each request unless its bit is set in `keep`. */
#define HOWDAH_KEEP_INI 0x1u       /* ini settings */
#define HOWDAH_KEEP_HANDLERS 0x2u  /* error and exception handlers, autoloaders, stream wrappers and filters */
#define HOWDAH_KEEP_LOCALE 0x4u    /* setlocale() */
#define HOWDAH_KEEP_TIMEZONE 0x8u  /* date_default_timezone_set() */
#define HOWDAH_KEEP_CWD 0x10u      /* chdir() */
#define HOWDAH_KEEP_UMASK 0x20u    /* umask() */
#define HOWDAH_KEEP_ENV 0x40u      /* putenv() and $_ENV */
#define HOWDAH_KEEP_MBSTRING 0x80u /* mb_internal_encoding() and similar settings */
#define HOWDAH_KEEP_LIBXML 0x100u  /* libxml_use_internal_errors() */
#define HOWDAH_KEEP_RANDOM 0x200u  /* the state of mt_rand() and similar generators */
#define HOWDAH_KEEP_SESSION 0x400u /* session_name(), session_set_cookie_params() and all of session.* */
#define HOWDAH_KEEP_ALL 0x7ffu

#define HOWDAH_CONNECTIONS_REPLACE 0u /* the worker ends itself between requests and is replaced */
#define HOWDAH_CONNECTIONS_REVIVE 1u  /* the connection is reopened in place where that is safe, otherwise as REPLACE */
#define HOWDAH_CONNECTIONS_IGNORE 2u  /* not checked */

#define HOWDAH_BOOTED_ONCE 0 /* the script waits in the zygote; workers are forks of it */
#define HOWDAH_BOOTED_EACH 1 /* workers run the script themselves, as configured */
/* What the script left open does not survive a fork (a sentence names it): the front starts another zygote with
 * BOOT_EACH; this one takes no SPAWN and exits. */
#define HOWDAH_BOOTED_UNFIT 2

/* Exit status of a zygote or worker whose script ended, or failed, before its first request. */
#define HOWDAH_EXIT_STATUS_BOOT 71
/* Exit status of a worker whose request has used up howdah_pool_options.cpu_timeout_ms. */
#define HOWDAH_EXIT_STATUS_CPU 72
/* Exit status of a worker that made no progress for howdah_pool_options.hang_timeout_ms. */
#define HOWDAH_EXIT_STATUS_HUNG 73

struct howdah_spawn {
	uint32_t max_requests; /* the worker exits after so many requests; 0: never */
	uint32_t retire_after; /* it reports "retiring" after so many, so that its successor is ready in time; 0: never */
	uint64_t log_key;      /* random, not 0: authenticates its records */
	/* Bytes of PHP's memory; 0: no limit. It reports "outgrown" when it has more after a request, from the tenth on. */
	uint64_t max_memory;
	uint64_t max_memory_growth; /* growth since the tenth request */
};
static_assert(sizeof(struct howdah_spawn) == 32, "layout");

/* A worker that receives SIGRTMIN + this logs the PHP backtrace of its request, then reports "traced". */
#define HOWDAH_SIGNAL_BACKTRACE 5

/*
 * --- the log pipe ----------------------------------------------------------------------------------
 *
 * A process's stdout and stderr are one pipe that the front reads. Raw bytes are lines that PHP code,
 * a library or a child wrote. Messages that PHP logs carry their request: a record is
 *   0x1e  level(1: one of "ewnidpqfl", or m or s)  request id (16 hex digits)  length (8 hex digits)  key (16 hex digits)
 *   message
 * where message is `length` bytes, HOWDAH_LOG_MESSAGE_MAX at most (a longer one comes as several records, or
 * the front would look for records in its bytes), and may hold newlines. The key is the process's own, howdah_spawn or
 * howdah_pool_options.log_key: what has another is raw bytes, so that no text can be taken for a record. For the same
 * reason processes of a pool with a user can write to the pipe and not read it. At the end of a request during which
 * raw bytes were written and not yet read, the worker writes a record with level 'm' and length 0: raw bytes
 * before it belong to that request. A record with level 'p' is a sample of a request (howdah_worker.sample): method and
 * URI, then a line for each frame of PHP code. A record with level 's' reports a state of a worker. Its message is one
 * of
 *   ready     a worker takes requests (classic: at once; worker mode: booted and warmed)
 *   retiring  it has served howdah_spawn.retire_after requests, or takes no more and ends those that it has
 *   outgrown  it has more memory than howdah_spawn.max_memory or max_memory_growth allow, and is to be replaced; once
 *   traced    the requested backtrace has been logged, or there is none
 *   reload    PHP code called opcache_reset(): the pool is to be reloaded
 *   sequential CAUSE  it runs one request at a time although the pool is to run several, for this cause
 * A record with level 'q' says what a request in hand does (howdah_worker.look): "memory BYTES", then "runs" or "wait
 * WHAT", then a line for each frame. WHAT is client, coroutine, thread, time or unknown, or descriptor or guess with the
 * number of the descriptor and its peer. One without a request ends the look.
 * A record with level 'f' is a part of what a process reports of the fault that ends it, with the request whose code
 * ran. Its first line is one of
 *   fault SIGNAL CODE address|sender VALUE thread php|other   lines for the frames of PHP code follow
 *   c          lines for the frames of C follow
 *   waits      of another request that the process had in hand; lines for the frames of PHP code follow
 * A record with level 'l' is a leak that the request left behind: a JSON object with the strings kind, why, path,
 * value, method and uri, and perhaps member and file, and the numbers line, count_before and count. All is ASCII.
 */
#define HOWDAH_LOG_MARK '\x1e'
#define HOWDAH_LOG_HEADER_SIZE 42u
#define HOWDAH_LOG_MESSAGE_MAX 65536u

#endif
