/*
 * See autoload.h. Here: classes.
 *
 * An autoloader that waits (for a database, a remote file) lets another request load the same class, and both would
 * declare it. So a second loader waits for the first.
 *
 * Rules: a class that could only be waited for in a cycle counts as missing, as in PHP when one request requests a
 * class whose file it is loading, unless it is being linked (linking.c).
 */
#include "autoload.h"

#include "alone.h"
#include "containers.h"
#include "core.h"
#include "evaluation.h"
#include "half_done.h"
#include "within.h"

static zend_class_entry *(*autoload)(zend_string *name, zend_string *lower_name);

static HashTable classes; /* classes that are being loaded, by their names in lower case */

bool howdah_autoload_begin(zend_string *lower_name, struct howdah_loading *loading)
{
	return zend_hash_add_ptr(&classes, lower_name, loading) != NULL;
}

void howdah_autoload_end(zend_string *lower_name, struct howdah_loading *loading)
{
	howdah_linking_loan_ends(loading);
	howdah_loading_end(&classes, lower_name, loading);
}

static zend_class_entry *load(zend_string *name, zend_string *lower_name)
{
	struct howdah_loading loading = {.owner = howdah_coroutine_current()};
	zend_class_entry *volatile class = NULL;
	volatile bool failed = false;
	zend_hash_update_ptr(&classes, lower_name, &loading);
	zend_try
	{
		class = autoload(name, lower_name);
	}
	zend_catch
	{
		failed = true;
	}
	zend_end_try();
	howdah_autoload_end(lower_name, &loading);
	if (failed) {
		zend_bailout();
	}
	return class;
}

struct class_load {
	zend_string *name, *lower_name;
	zend_class_entry *class;
};

static void load_class(void *argument)
{
	struct class_load *request = argument;
	request->class = load(request->name, request->lower_name);
}

/* Used for an anonymous class that PHP links in place: another request that reached it would link it again. */
static zend_class_entry *load_without_waiting(zend_string *name, zend_string *lower_name)
{
	struct class_load request = {.name = name, .lower_name = lower_name};
	howdah_run_alone(load_class, &request);
	return request.class;
}

/* The class has been linked, or its parent or interfaces are in place. */
#define LINKING (ZEND_ACC_LINKED | ZEND_ACC_NEARLY_LINKED | ZEND_ACC_RESOLVED_PARENT | ZEND_ACC_RESOLVED_INTERFACES)

static zend_class_entry *autoload_once(zend_string *name, zend_string *lower_name)
{
	struct howdah_loading *loading;
	zend_class_entry *evaluated = howdah_evaluation_await(lower_name);
	if (UNEXPECTED(evaluated)) {
		return evaluated;
	}
	if (!howdah_coroutine_current()) {
		return autoload(name, lower_name);
	}
	const zend_class_entry *anonymous = howdah_linking_in_place();
	bool begun = anonymous && (anonymous->ce_flags & LINKING);
	while (UNEXPECTED((loading = zend_hash_find_ptr(&classes, lower_name)) != NULL)) {
		enum howdah_loaded loaded = howdah_loading_wait(loading, HOWDAH_WAIT_FOREVER);
		if (loaded == HOWDAH_LOADED_CIRCLE) {
			return howdah_linking_lend(lower_name, loading);
		}
		if (UNEXPECTED(anonymous && !begun && (anonymous->ce_flags & LINKING))) {
			zend_throw_error(NULL, "Cannot declare %s: another request has declared it meanwhile, try again",
				ZSTR_VAL(anonymous->name));
			return NULL;
		}
		zend_class_entry *class = zend_hash_find_ptr(EG(class_table), lower_name);
		if (class) {
			/* Half linked: the coroutine that linked it has ended in a fatal error. */
			return EXPECTED(class->ce_flags & ZEND_ACC_LINKED) ? class : NULL;
		}
		if (loaded == HOWDAH_LOADED_CANCELLED) {
			return NULL; /* declaring it would be a fatal error of its owner, who continues */
		}
		if (loaded == HOWDAH_LOADED_BLOCKED) {
			break;
		}
	}
	return UNEXPECTED(anonymous) ? load_without_waiting(name, lower_name) : load(name, lower_name);
}

void howdah_autoload_start(void)
{
	zend_hash_init(&classes, 8, NULL, NULL, true);
	if (zend_autoload) {
		autoload = zend_autoload;
		zend_autoload = autoload_once;
	}
	howdah_evaluation_start();
	howdah_marks_start();
	howdah_containers_start();
	howdah_within_start();
	howdah_includes_start();
	howdah_alone_start();
}
