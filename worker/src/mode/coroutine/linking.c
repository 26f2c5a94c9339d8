/*
 * See half_done.h. PHP enters a class under its name and then asks for what it extends, implements and uses; an
 * autoloader may wait there, or the handler of a deprecation. Code that looks the class up meanwhile would see that
 * there is none. So while its owner waits the class is back under the name that it has before its declaration is run,
 * and among the classes that are being loaded: others come to the autoloader, which has them wait.
 *
 * Rules: the engine looks a class up by its name again after each call that may have waited.
 */
#include "half_done.h"

#include "autoload.h"

struct howdah_link {
	zend_string *name; /* in lower case */
	zend_string *undeclared;
	struct howdah_loading loading;
	bool loads; /* `loading` shows it to others; otherwise the autoloader itself does */
	struct howdah_link *next;
};

void howdah_linking_look(struct howdah_linking *linking, const zend_execute_data *frame)
{
	const zval *names = RT_CONSTANT(frame->opline, frame->opline->op1);
	zval *class = zend_hash_find(EG(class_table), Z_STR(names[0]));
	if (!class || (Z_CE_P(class)->ce_flags & ZEND_ACC_LINKED) ||
		!zend_hash_set_bucket_key(EG(class_table), (Bucket *)class, Z_STR(names[1]))) {
		return;
	}
	struct howdah_link *link = pecalloc(1, sizeof(*link), true);
	link->name = Z_STR(names[0]);
	link->undeclared = Z_STR(names[1]);
	link->loading.owner = howdah_coroutine_current();
	link->loads = howdah_autoload_begin(link->name, &link->loading);
	link->next = linking->first;
	linking->first = link;
}

const zend_class_entry *howdah_linking_in_place(void)
{
	const zend_execute_data *frame = EG(current_execute_data);
	if (!frame || !frame->func || !ZEND_USER_CODE(frame->func->type) || !frame->opline ||
		EXPECTED(frame->opline->opcode != ZEND_DECLARE_ANON_CLASS)) {
		return NULL;
	}
	const zval *class = zend_hash_find(EG(class_table), Z_STR_P(RT_CONSTANT(frame->opline, frame->opline->op1)));
	return class && !(Z_CE_P(class)->ce_flags & (ZEND_ACC_LINKED | ZEND_ACC_IMMUTABLE)) ? Z_CE_P(class) : NULL;
}

void howdah_linking_in(struct howdah_linking *linking)
{
	while (linking->first) {
		struct howdah_link *link = linking->first;
		linking->first = link->next;
		zval *class = zend_hash_find(EG(class_table), link->undeclared);
		/* Not where one that could not wait has declared it since. */
		if (class) {
			(void)zend_hash_set_bucket_key(EG(class_table), (Bucket *)class, link->name);
		}
		if (link->loads) {
			howdah_autoload_end(link->name, &link->loading);
		}
		pefree(link, true);
	}
}
