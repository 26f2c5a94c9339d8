/*
 * See interrupt_page.h.
 *
 * The pages are exchanged by mremap(), so other threads see the old page or the new one, which have the same bytes. What
 * another thread writes meanwhile may be lost: nobody but PHP's thread writes more than the flag there. Signal handlers
 * of PHP do, so signals wait.
 */
#include "profile/interrupt_page.h"

#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "howdah_shm.h"
#include "php/compat.h"

#define SIZE HOWDAH_PROFILE_GLOBALS_SIZE

static struct howdah_worker *words;
static char *page;   /* of PHP */
static char *shared; /* of the segment */
static pthread_t php_thread;
static bool is_shared, was_shared;

static char *page_of(void *address)
{
	return (char *)((uintptr_t)address & ~(uintptr_t)(SIZE - 1));
}

/* Offset in the page + 1; 0: it is in another one. */
static uint32_t place_of(void *address)
{
	return page_of(address) == page ? (uint32_t)((char *)address - page) + 1 : 0;
}

/* Maps `from` in the place of PHP's page. `size` 0: `from` stays mapped, too. */
static bool exchange(char *from, size_t size)
{
	memcpy(from, page, SIZE);
	return mremap(from, size, SIZE, MREMAP_MAYMOVE | MREMAP_FIXED, page) == page;
}

static void set_private(void)
{
	char *copy = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (copy == MAP_FAILED) {
		return;
	}
	if (exchange(copy, SIZE)) {
		is_shared = false;
	} else {
		munmap(copy, SIZE);
	}
}

static void set_shared(bool shares)
{
	sigset_t all, before;
	if (shares == is_shared) {
		return;
	}
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	if (shares) {
		is_shared = exchange(shared, 0);
	} else {
		set_private();
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* --- forks ------------------------------------------------------------------------------------------------ */

static void before_fork(void)
{
	was_shared = is_shared && pthread_equal(pthread_self(), php_thread);
	if (was_shared) {
		set_shared(false);
	}
}

static void after_fork_in_parent(void)
{
	if (was_shared) {
		set_shared(true);
	}
}

/* Forked by another thread, or without memory for a copy. */
static void after_fork_in_child(void)
{
	if (is_shared) {
		set_shared(false);
		if (is_shared) {
			_exit(255); /* each of both processes would change the globals of the other one */
		}
	}
}

/* ---------------------------------------------------------------------------------------------------------- */

void howdah_interrupt_page_share(bool shares)
{
	if (!shared) {
		return;
	}
	if (!shares) {
		atomic_store(&words->interrupt_at, 0);
	}
	set_shared(shares);
	if (is_shared) {
		atomic_store(&words->frame_at, place_of(&EG(current_execute_data)));
		atomic_store(&words->interrupt_at, place_of(&EG(vm_interrupt)));
	}
}

void howdah_interrupt_page_init(const struct howdah_queue *queue)
{
	words = howdah_queue_worker(queue);
	/* A predecessor in the place may have had a page, and a frame. */
	atomic_store(&words->interrupt_at, 0);
	atomic_store(&words->tick_frame, HOWDAH_FRAME_UNKNOWN);
	if (sysconf(_SC_PAGESIZE) != (long)SIZE ||
		pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child) != 0) {
		return;
	}
	php_thread = pthread_self();
	page = page_of(&EG(vm_interrupt));
	shared = (char *)howdah_queue_profile(queue) + HOWDAH_PROFILE_GLOBALS_OFFSET;
}
