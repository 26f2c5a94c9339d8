/*
 * See record.h.
 *
 * Rules: runs before OPcache, so that files from its memory count; costs a table lookup for each inclusion.
 */
#include "record.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "compat.h"
#include "howdah_shm.h"
#include "process/log.h"

#include <zend_compile.h>

#define PLAIN 1
#define AUTOLOADED 2

static struct howdah_record *record;
static uint32_t seen; /* bytes of the record that the table knows */
static HashTable known;
static zend_op_array *(*php_compile_file)(zend_file_handle *file, int type);

static _Atomic uint32_t *word_at(uint32_t at)
{
	return (_Atomic uint32_t *)((char *)(record + 1) + at);
}

/* Returns true if `path` was or is now recorded; false if it had been. */
static bool add(const char *path, size_t size, zend_long kind)
{
	zval *entry = zend_hash_str_find(&known, path, size);
	if (entry) {
		if (Z_LVAL_P(entry) >= kind) {
			return false;
		}
		ZVAL_LONG(entry, kind);
		return true;
	}
	zval value;
	ZVAL_LONG(&value, kind);
	zend_hash_str_add_new(&known, path, size, &value);
	return true;
}

void howdah_record_catch_up(void)
{
	const uint32_t room = HOWDAH_RECORD_SIZE - (uint32_t)sizeof(*record);
	while (record && seen < room - sizeof(uint32_t)) {
		uint32_t word = atomic_load_explicit(word_at(seen), memory_order_acquire);
		uint32_t size = word & ~HOWDAH_RECORD_AUTOLOADED;
		if (!word || size > room - seen - sizeof(uint32_t)) {
			return;
		}
		add((const char *)(word_at(seen) + 1), size, word & HOWDAH_RECORD_AUTOLOADED ? AUTOLOADED : PLAIN);
		seen += (uint32_t)sizeof(uint32_t) + ((size + 3) & ~3u);
	}
}

static void append(const char *path, uint32_t size, zend_long kind)
{
	const uint32_t room = HOWDAH_RECORD_SIZE - (uint32_t)sizeof(*record);
	/* The word behind the last entry stays 0. */
	uint32_t needed = (uint32_t)sizeof(uint32_t) + ((size + 3) & ~3u);
	uint32_t at = atomic_load_explicit(&record->used, memory_order_relaxed);
	do {
		if (at > room - sizeof(uint32_t) || needed > room - sizeof(uint32_t) - at) {
			return;
		}
	} while (!atomic_compare_exchange_weak(&record->used, &at, at + needed));
	memcpy(word_at(at) + 1, path, size);
	uint32_t word = size | (kind == AUTOLOADED ? HOWDAH_RECORD_AUTOLOADED : 0);
	atomic_store_explicit(word_at(at), word, memory_order_release);
}

/*
 * Whether a function that is called to find a class includes the file. Files that it includes at its top level while it
 * is autoloaded do not count.
 */
static zend_long kind_of_inclusion(void)
{
	const zend_execute_data *frame = EG(current_execute_data);
	bool by_function = frame && frame->func && ZEND_USER_CODE(frame->func->type) && frame->func->common.function_name;
	return by_function && EG(in_autoload) && zend_hash_num_elements(EG(in_autoload)) > 0 ? AUTOLOADED : PLAIN;
}

static zend_op_array *compile(zend_file_handle *file, int type)
{
	zend_long kind = kind_of_inclusion();
	zend_op_array *code = php_compile_file(file, type);
	if (UNEXPECTED(!code || !code->filename)) {
		return code;
	}
	const zend_string *path = code->filename;
	const zval *entry = zend_hash_find(&known, (zend_string *)path);
	if (EXPECTED(entry && Z_LVAL_P(entry) >= kind) || ZSTR_VAL(path)[0] != '/' ||
		strlen(ZSTR_VAL(path)) != ZSTR_LEN(path)) {
		return code;
	}
	howdah_record_catch_up();
	if (add(ZSTR_VAL(path), ZSTR_LEN(path), kind)) {
		append(ZSTR_VAL(path), (uint32_t)ZSTR_LEN(path), kind);
	}
	return code;
}

void howdah_record_start(int file)
{
	struct stat status;
	void *memory = MAP_FAILED;
	if (fstat(file, &status) == 0 && status.st_size == HOWDAH_RECORD_SIZE) {
		memory = mmap(NULL, HOWDAH_RECORD_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	}
	close(file);
	if (memory == MAP_FAILED) {
		howdah_log_format('w', "The files that are to be preloaded cannot be recorded");
		return;
	}
	record = memory;
	zend_hash_init(&known, 1024, NULL, NULL, true);
	php_compile_file = zend_compile_file;
	zend_compile_file = compile;
	howdah_record_catch_up();
}
