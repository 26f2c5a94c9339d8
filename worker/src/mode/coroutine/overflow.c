/*
 * A coroutine that exhausts its C stack reaches a reserve at its end, which is protected. It is made accessible then,
 * and a fatal error is raised in it: that ends the request, and the process after its other requests. Since PHP 8.3 the
 * engine does this itself, except in functions of C.
 *
 * Rules: what the handler of crashes (crash.h) calls here uses only what is safe in any state. Code of the C library may hold a lock, so that it cannot be
 * left; there, and where the reserve is used up too, the handler says of what the process dies, and the fault happens
 * again.
 */
#include "core.h"

#include <link.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "php/crash.h"
#include "process/log.h"

/* How far below its end a function with a large frame may reach, and how far above it the last whole frame may end. */
#define BELOW (64 * 1024)
#define ABOVE (8 * 1024)

/* Room for the message, its output handlers, and the log. */
#define RESERVE_MAX (128 * 1024)
/* The reserve must be only a part of a small stack. */
#define RESERVE_SHARE 8
/* The part of the reserve above the first frame. */
#define HEADROOM 256

static char message[160];
static size_t stack_size;

static size_t reserve(void)
{
	size_t size = stack_size / RESERVE_SHARE & ~(size_t)4095;
	return size < RESERVE_MAX ? size : RESERVE_MAX;
}

/* --- where the C library is --------------------------------------------------------------------------------- */

#define LIBRARIES_MAX 4

static struct range {
	uintptr_t from, to;
} libraries[LIBRARIES_MAX];
static unsigned library_count;

static int note_library(struct dl_phdr_info *info, size_t size, void *argument)
{
	const char *name = strrchr(info->dlpi_name, '/');
	if (!name || (strncmp(name, "/libc.so", 8) != 0 && strncmp(name, "/ld-", 4) != 0)) {
		return 0;
	}
	for (unsigned i = 0; i < info->dlpi_phnum && library_count < LIBRARIES_MAX; i++) {
		const ElfW(Phdr) *part = &info->dlpi_phdr[i];
		if (part->p_type == PT_LOAD && (part->p_flags & PF_X)) {
			uintptr_t from = info->dlpi_addr + part->p_vaddr;
			libraries[library_count++] = (struct range){.from = from, .to = from + part->p_memsz};
		}
	}
	return 0;
}

static bool is_in_library(uintptr_t instruction)
{
	for (unsigned i = 0; i < library_count; i++) {
		if (instruction >= libraries[i].from && instruction < libraries[i].to) {
			return true;
		}
	}
	return false;
}

/* --- continuing in the reserve ------------------------------------------------------------------------------ */

static void end_request(void)
{
	zend_error_noreturn(
		E_ERROR, "Maximum call stack size of %zu KiB (stack_size) reached. Infinite recursion?", stack_size / 1024);
}

/* Returns false on other processors, or where the code cannot be left. */
static bool resume(ucontext_t *at, uintptr_t stack)
{
#if defined(__x86_64__)
	if (is_in_library((uintptr_t)at->uc_mcontext.gregs[REG_RIP])) {
		return false;
	}
	at->uc_mcontext.gregs[REG_RSP] = (greg_t)(stack - sizeof(uintptr_t)); /* as after a call */
	at->uc_mcontext.gregs[REG_RIP] = (greg_t)(uintptr_t)end_request;
	return true;
#elif defined(__aarch64__)
	if (is_in_library((uintptr_t)at->uc_mcontext.pc)) {
		return false;
	}
	at->uc_mcontext.sp = stack;
	at->uc_mcontext.pc = (uintptr_t)end_request;
	return true;
#else
	return false;
#endif
}

static bool recover(const siginfo_t *info, void *context)
{
	struct howdah_coroutine *coroutine = howdah_coroutine_current();
	const char *address = info->si_addr;
	char *end = coroutine ? coroutine->reserve : NULL;
	if (end && address >= end - BELOW && address < end + reserve() &&
		mprotect(end, reserve(), PROT_READ | PROT_WRITE) == 0 &&
		resume(context, (uintptr_t)(end + reserve() - HEADROOM) & ~(uintptr_t)15)) {
		coroutine->reserve = NULL;
		return true;
	}
	return false;
}

static void explain(const siginfo_t *info)
{
	const struct howdah_coroutine *coroutine = howdah_coroutine_current();
	const char *address = info->si_addr;
	if (info->si_signo == SIGSEGV && coroutine && coroutine->stack && address >= coroutine->stack - BELOW &&
		address < coroutine->stack + reserve() + ABOVE) {
		howdah_log_write('e', message, strlen(message));
	}
}

void howdah_overflow_guard(struct howdah_coroutine *coroutine, char *end)
{
#ifndef __SANITIZE_ADDRESS__
	if (library_count && mprotect(end, reserve(), PROT_NONE) == 0) {
		coroutine->reserve = end;
	}
#endif
}

void howdah_overflow_init(size_t size)
{
	stack_size = size;
	snprintf(message, sizeof(message),
		"PHP used up the request's stack of %zu KiB, by calls that are nested too deeply: the worker exits. Raise "
		"`stack_size`",
		stack_size / 1024);
	howdah_crash_recover = recover;
	howdah_crash_explain = explain;
	(void)dl_iterate_phdr(note_library, NULL);
}
