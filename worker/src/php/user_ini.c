/*
 * See user_ini.h.
 *
 * Rules: files are read once per directory and user_ini.cache_ttl seconds, and cached in this worker; they are searched
 * from the document root down to the script's directory, or only in the latter if it is outside. A directory without
 * one costs one hash lookup per request.
 */
#include "user_ini.h"

#include <limits.h>
#include <string.h>
#include <time.h>

#include "compat.h"

#include <main/php_ini.h>

#include "settings.h"
#include "settings_request.h"

/* Number of directories in the cache; if it is exceeded, the cache is emptied. */
#define CACHE_ENTRIES_MAX 4096

struct entry {
	time_t expires;
	HashTable settings;
};

static HashTable cache; /* "DIRECTORY/\nDOCUMENT_ROOT" -> struct entry */
static bool cache_ready;

static void free_entry(zval *value)
{
	struct entry *entry = Z_PTR_P(value);
	zend_hash_destroy(&entry->settings);
	pefree(entry, true);
}

static struct entry *find_entry(const char *key, size_t key_size)
{
	if (!cache_ready) {
		zend_hash_init(&cache, 8, NULL, free_entry, true);
		cache_ready = true;
	}
	struct entry *entry = zend_hash_str_find_ptr(&cache, key, key_size);
	if (!entry) {
		if (zend_hash_num_elements(&cache) >= CACHE_ENTRIES_MAX) {
			zend_hash_clean(&cache);
		}
		entry = pecalloc(1, sizeof(*entry), true);
		zend_hash_init(&entry->settings, 0, NULL, config_zval_dtor, true);
		zend_hash_str_update_ptr(&cache, key, key_size, entry);
	}
	return entry;
}

/* `directory` ends with a slash and is written to while this runs; `root` has no slash at its end. */
static void read_files(char *directory, const char *root, size_t root_size, HashTable *settings)
{
	if (root_size == 0 || strncmp(directory, root, root_size) != 0 || directory[root_size] != '/') {
		php_parse_user_ini_file(directory, PG(user_ini_filename), settings);
		return;
	}
	for (char *slash = directory + root_size; slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		php_parse_user_ini_file(directory, PG(user_ini_filename), settings);
		*slash = '/';
	}
}

static void activate_files(char *directory, size_t directory_size, const char *root)
{
	size_t root_size = strlen(root);
	while (root_size > 0 && root[root_size - 1] == '/') {
		root_size--;
	}
	char key[2 * PATH_MAX + 2];
	if (root_size > PATH_MAX) {
		return;
	}
	memcpy(key, directory, directory_size);
	key[directory_size] = '\n';
	memcpy(key + directory_size + 1, root, root_size);

	struct entry *entry = find_entry(key, directory_size + 1 + root_size);
	time_t now = time(NULL);
	if (now > entry->expires) {
		zend_hash_clean(&entry->settings);
		read_files(directory, root, root_size, &entry->settings);
		entry->expires = now + PG(user_ini_cache_ttl);
	}
	if (zend_hash_num_elements(&entry->settings)) {
		php_ini_activate_config(&entry->settings, PHP_INI_PERDIR, PHP_INI_STAGE_HTACCESS);
	}
}

static void activate_host(const char *name)
{
	char lower[256];
	size_t size = strlen(name);
	if (size < sizeof(lower)) { /* no host name is longer */
		zend_str_tolower_copy(lower, name, size);
		php_ini_activate_per_host_config(lower, size);
	}
}

void howdah_user_ini_activate(const struct howdah_request *request)
{
	if (php_ini_has_per_host_config() && request->known[HOWDAH_VAR_SERVER_NAME]) {
		activate_host(request->known[HOWDAH_VAR_SERVER_NAME]);
		howdah_settings_keep_final(howdah_settings_request_has);
	}
	const char *script = SG(request_info).path_translated;
	const char *last = script ? strrchr(script, '/') : NULL;
	bool files = PG(user_ini_filename) && *PG(user_ini_filename) && request->known[HOWDAH_VAR_DOCUMENT_ROOT];
	if (!last || (!files && !php_ini_has_per_dir_config())) {
		return;
	}
	char directory[PATH_MAX + 1];
	size_t size = (size_t)(last - script) + 1;
	if (size > PATH_MAX) {
		return; /* no file can be opened by such a name */
	}
	memcpy(directory, script, size);
	directory[size] = '\0';
	if (php_ini_has_per_dir_config()) {
		php_ini_activate_per_dir_config(directory, size);
		howdah_settings_keep_final(howdah_settings_request_has);
	}
	if (files) {
		activate_files(directory, size, request->known[HOWDAH_VAR_DOCUMENT_ROOT]);
	}
}
