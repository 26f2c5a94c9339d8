/*
 * See got.h.
 *
 * Rules: an entry is written only if it contains a function of the C library (or a sanitizer's in front of it), or the
 * one that our own calls of this name use (those of a preloaded library), or is not bound yet. So an object that has
 * its own function of the same name, or was given another one at run time, keeps it, and patching twice does nothing.
 * Pages that were read-only after relocation become read-only again afterwards. Only relocations with a symbol are
 * checked, which leaves out DT_RELR.
 */
#include "got.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__x86_64__)
#define RELOCATION_CALL R_X86_64_JUMP_SLOT
#define RELOCATION_TABLE R_X86_64_GLOB_DAT
#define RELOCATION_POINTER R_X86_64_64
#elif defined(__aarch64__)
#define RELOCATION_CALL R_AARCH64_JUMP_SLOT
#define RELOCATION_TABLE R_AARCH64_GLOB_DAT
#define RELOCATION_POINTER R_AARCH64_ABS64
#else
#error "calls can be replaced on x86-64 and aarch64 only"
#endif

/*
 * Objects that are never patched, by the start of the file's name. The first are the C library and what may precede it:
 * their code is what we replace in others.
 */
static const char *const system_names[] = {"libc.so", "libc-2.", "libc.musl", "ld-linux", "ld-musl", "ld-2.",
	"libpthread", "libdl.so", "libdl-2.", "librt.so", "librt-2.", "libresolv", "libasan", "libubsan", "libtsan",
	"liblsan"};
/* The name service's are called by libc with its locks held. OPcache waits for other processes while it holds its
 * own, with a state that it has once in a process. */
static const char *const other_names[] = {"libnss_", "opcache.so", "linux-vdso"};

struct object {
	uintptr_t base;
	const ElfW(Phdr) * headers;
	unsigned header_count;
	bool system;  /* its code is the one that replaces others */
	bool present; /* seen by the present walk */
};

struct bound_name {
	const struct howdah_got_entry *entry;
	uintptr_t bound; /* the address of the name for this object; 0: none */
};

static struct bound_name *names; /* sorted */
static size_t name_count;

static struct object *objects;
static size_t object_count, object_room;

static int compare_entries(const void *a, const void *b)
{
	return strcmp(((const struct bound_name *)a)->entry->name, ((const struct bound_name *)b)->entry->name);
}

static int compare_name(const void *name, const void *named)
{
	return strcmp(name, ((const struct bound_name *)named)->entry->name);
}

static const struct bound_name *find(const char *name)
{
	return bsearch(name, names, name_count, sizeof(*names), compare_name);
}

static bool holds(const struct object *object, uintptr_t address, bool code)
{
	for (unsigned i = 0; i < object->header_count; i++) {
		const ElfW(Phdr) *header = &object->headers[i];
		if (header->p_type == PT_LOAD && (!code || (header->p_flags & PF_X)) &&
			address - (object->base + header->p_vaddr) < header->p_memsz) {
			return true;
		}
	}
	return false;
}

static bool is_system_code(uintptr_t address)
{
	for (size_t i = 0; i < object_count; i++) {
		if (objects[i].system && holds(&objects[i], address, true)) {
			return true;
		}
	}
	return false;
}

/* --- one object ---------------------------------------------------------------------------------- */

struct object_patch {
	const struct object *object;
	const ElfW(Sym) * symbols;
	const char *strings;
	uintptr_t protected_start, protected_end; /* whole pages; equal: none */
	bool writable;                            /* they are, temporarily */
	unsigned patched;
	int error;
};

static bool make_writable(struct object_patch *patching, uintptr_t place)
{
	if (patching->writable || place < patching->protected_start || place >= patching->protected_end) {
		return true;
	}
	if (mprotect((void *)patching->protected_start, patching->protected_end - patching->protected_start,
			PROT_READ | PROT_WRITE) != 0) {
		patching->error = errno;
		return false;
	}
	patching->writable = true;
	return true;
}

static void patch_relocations(struct object_patch *patching, const ElfW(Rela) * table, size_t size)
{
	for (const ElfW(Rela) *item = table; item < table + size / sizeof(*table) && !patching->error; item++) {
		unsigned type = (unsigned)ELF64_R_TYPE(item->r_info);
		if ((type != RELOCATION_CALL && type != RELOCATION_TABLE && type != RELOCATION_POINTER) ||
			item->r_addend != 0) {
			continue;
		}
		const ElfW(Sym) *symbol = &patching->symbols[ELF64_R_SYM(item->r_info)];
		const struct bound_name *named = find(patching->strings + symbol->st_name);
		if (!named) {
			continue;
		}
		uintptr_t place = patching->object->base + item->r_offset;
		uintptr_t value = *(uintptr_t *)place;
		/* Bound at the first call: until then it points back into the object. */
		bool unbound = type == RELOCATION_CALL && symbol->st_shndx == SHN_UNDEF && holds(patching->object, value, true);
		if ((unbound || value == named->bound || is_system_code(value)) && make_writable(patching, place)) {
			__atomic_store_n((uintptr_t *)place, (uintptr_t)named->entry->replacement, __ATOMIC_RELEASE);
			patching->patched++;
		}
	}
}

/* glibc relocates the addresses of the dynamic section where it lies, musl does not. */
static const void *address_of(const struct object *object, uintptr_t value)
{
	return (const void *)(value < object->base ? object->base + value : value);
}

/* Relocations of an object. */
struct relocations {
	const ElfW(Rela) * calls, *others;
	size_t calls_size, others_size;
	bool with_addend;
};

/* Returns the dynamic section, and stores the range that the dynamic linker has protected. */
static const ElfW(Dyn) * read_headers(const struct object *object, struct object_patch *patching)
{
	const ElfW(Dyn) *dynamic = NULL;
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	for (unsigned i = 0; i < object->header_count; i++) {
		const ElfW(Phdr) *header = &object->headers[i];
		if (header->p_type == PT_DYNAMIC) {
			dynamic = (const ElfW(Dyn) *)(object->base + header->p_vaddr);
		} else if (header->p_type == PT_GNU_RELRO) {
			/* As the dynamic linker rounds: the end downwards. */
			patching->protected_start = (object->base + header->p_vaddr) & ~(page - 1);
			patching->protected_end = (object->base + header->p_vaddr + header->p_memsz) & ~(page - 1);
		}
	}
	return dynamic;
}

/* Finds the tables of symbols, of their names and of relocations. */
static struct relocations read_dynamic(
	const struct object *object, const ElfW(Dyn) * dynamic, struct object_patch *patching)
{
	struct relocations found = {.with_addend = true};
	for (; dynamic && dynamic->d_tag != DT_NULL; dynamic++) {
		uintptr_t value = dynamic->d_un.d_ptr;
		switch (dynamic->d_tag) {
			case DT_SYMTAB:
				patching->symbols = address_of(object, value);
				break;
			case DT_STRTAB:
				patching->strings = address_of(object, value);
				break;
			case DT_JMPREL:
				found.calls = address_of(object, value);
				break;
			case DT_PLTRELSZ:
				found.calls_size = value;
				break;
			case DT_PLTREL:
				found.with_addend = value == DT_RELA;
				break;
			case DT_RELA:
				found.others = address_of(object, value);
				break;
			case DT_RELASZ:
				found.others_size = value;
				break;
			default:
				break;
		}
	}
	return found;
}

static void patch_object(const struct object *object, const char *name, struct howdah_got_result *result)
{
	struct object_patch patching = {.object = object};
	const ElfW(Dyn) *dynamic = read_headers(object, &patching);
	struct relocations found = read_dynamic(object, dynamic, &patching);
	if (!patching.symbols || !patching.strings) {
		return;
	}
	if (found.calls && found.with_addend) {
		patch_relocations(&patching, found.calls, found.calls_size);
	}
	if (found.others) {
		patch_relocations(&patching, found.others, found.others_size);
	}
	if (patching.writable &&
		mprotect((void *)patching.protected_start, patching.protected_end - patching.protected_start, PROT_READ) != 0) {
		patching.error = errno;
	}
	result->patched += patching.patched;
	if (patching.error) {
		result->failed++;
		if (!result->problem[0]) {
			snprintf(result->problem, sizeof(result->problem), "%s: %s", *name ? name : "the executable",
				strerror(patching.error));
		}
	}
}

/* --- all objects ----------------------------------------------------------------------------------- */

static bool begins_with_one(const char *name, const char *const *list, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (strncmp(name, list[i], strlen(list[i])) == 0) {
			return true;
		}
	}
	return false;
}

static const char *file_of(const char *path)
{
	const char *last = strrchr(path, '/');
	return last ? last + 1 : path;
}

static bool is_system(const char *path)
{
	return begins_with_one(file_of(path), system_names, sizeof(system_names) / sizeof(*system_names));
}

static bool is_skipped(const struct object *object, const char *path)
{
	return object->system || begins_with_one(file_of(path), other_names, sizeof(other_names) / sizeof(*other_names)) ||
		   holds(object, (uintptr_t)is_skipped, true);
}

static struct object *find_object(const struct dl_phdr_info *info)
{
	for (size_t i = 0; i < object_count; i++) {
		if (objects[i].base == info->dlpi_addr && objects[i].headers == info->dlpi_phdr) {
			return &objects[i];
		}
	}
	return NULL;
}

/* First round: lists the objects. */
static int note_object(struct dl_phdr_info *info, size_t size, void *argument)
{
	struct object *object = find_object(info);
	if (object) {
		object->present = true;
		return 0;
	}
	if (object_count == object_room) {
		size_t room = object_room ? object_room * 2 : 64;
		struct object *grown = realloc(objects, room * sizeof(*grown));
		if (!grown) {
			return ENOMEM;
		}
		objects = grown;
		object_room = room;
	}
	object = &objects[object_count++];
	*object = (struct object){info->dlpi_addr, info->dlpi_phdr, info->dlpi_phnum, is_system(info->dlpi_name), true};
	return 0;
}

/* Second round: those with an index of at least `first_new`. */
struct patch_walk {
	size_t first_new;
	struct howdah_got_result *result;
};

static int patch_if_new(struct dl_phdr_info *info, size_t size, void *argument)
{
	const struct patch_walk *walk = argument;
	const struct object *object = find_object(info);
	if (object && (size_t)(object - objects) >= walk->first_new) {
		walk->result->objects++;
		if (!is_skipped(object, info->dlpi_name)) {
			patch_object(object, info->dlpi_name, walk->result);
		}
	}
	return 0;
}

/* Brings the list up to date. Returns the index from which on it is new. */
static size_t note_objects(struct howdah_got_result *result)
{
	for (size_t i = 0; i < object_count; i++) {
		objects[i].present = false;
	}
	size_t known = object_count;
	int error = dl_iterate_phdr(note_object, NULL);
	if (error) {
		result->failed++;
		snprintf(result->problem, sizeof(result->problem), "%s", strerror(error));
	}
	/* Another object can be loaded to where one was. */
	size_t kept = 0, kept_known = 0;
	for (size_t i = 0; i < object_count; i++) {
		if (objects[i].present) {
			kept_known += i < known;
			objects[kept++] = objects[i];
		}
	}
	object_count = kept;
	return kept_known;
}

void howdah_got_before_load(void)
{
	struct howdah_got_result unused = {0};
	note_objects(&unused);
}

void howdah_got_after_load(struct howdah_got_result *result)
{
	struct howdah_got_result unused;
	result = result ? result : &unused;
	*result = (struct howdah_got_result){0};
	struct patch_walk walk = {note_objects(result), result};
	if (walk.first_new < object_count) {
		dl_iterate_phdr(patch_if_new, &walk);
	}
}

void howdah_got_patch(const struct howdah_got_entry *table, size_t count, struct howdah_got_result *result)
{
	names = calloc(count, sizeof(*names));
	if (!names) {
		if (result) {
			*result = (struct howdah_got_result){.failed = 1, .problem = "out of memory"};
		}
		return;
	}
	name_count = count;
	for (size_t i = 0; i < name_count; i++) {
		names[i] = (struct bound_name){&table[i], (uintptr_t)dlsym(RTLD_DEFAULT, table[i].name)};
	}
	qsort(names, name_count, sizeof(*names), compare_entries);
	object_count = 0;
	howdah_got_after_load(result);
}
