/*
 * See half_done.h. PHP enters a class under its name and then loads what it extends, implements and uses; an autoloader
 * may wait there, or the handler of a deprecation. Code that looks the class up meanwhile would find that it is
 * missing. So while its owner waits the class is back under the name that it has before its declaration runs, and among
 * the classes that are being loaded: others call the autoloader, which makes them wait.
 *
 * Rules: the engine looks a class up by its name again after each call that may have waited.
 */
#include "half_done.h"

#include "autoload.h"

struct howdah_link {
	zend_string *name; /* in lower case */
	zend_string *undeclared;
	struct howdah_loading loading;
	bool loads;                        /* `loading` shows it to others; otherwise the autoloader itself does */
	const HashTable *needed;           /* classes that must be loaded before it can be checked; or NULL */
	const struct howdah_loading *lent; /* lent to the owner of this class, which can use it; or NULL */
	struct howdah_link *next, *next_of_all;
};

static struct howdah_link *all;
bool howdah_linking_has_lent;

static void show(const struct howdah_link *link)
{
	/* Not where one that could not wait, or to which it was lent, has declared it since. */
	zval *class = zend_hash_find(EG(class_table), link->undeclared);
	if (class) {
		(void)zend_hash_set_bucket_key(EG(class_table), (Bucket *)class, link->name);
	}
}

static void hide(const struct howdah_link *link)
{
	zval *class = zend_hash_find(EG(class_table), link->name);
	if (class && !(Z_CE_P(class)->ce_flags & ZEND_ACC_LINKED)) {
		(void)zend_hash_set_bucket_key(EG(class_table), (Bucket *)class, link->undeclared);
	}
}

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
	link->needed = CG(delayed_autoloads);
	link->next = linking->first;
	linking->first = link;
	link->next_of_all = all;
	all = link;
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

static void forget(const struct howdah_link *link)
{
	struct howdah_link **at = &all;
	while (*at != link) {
		at = &(*at)->next_of_all;
	}
	*at = link->next_of_all;
}

void howdah_linking_in(struct howdah_linking *linking)
{
	while (linking->first) {
		struct howdah_link *link = linking->first;
		linking->first = link->next;
		forget(link);
		show(link);
		if (link->loads) {
			howdah_autoload_end(link->name, &link->loading);
		}
		pefree(link, true);
	}
}

/* --- lent in a circle ------------------------------------------------------------------------------------------- */

static const struct howdah_loading *borrower;

static void lend_all_of(const struct howdah_coroutine *owner)
{
	for (struct howdah_link *link = all; link; link = link->next_of_all) {
		if (link->loading.owner == owner) {
			link->lent = borrower;
			show(link);
		}
	}
}

/* Anonymous classes, too: no other code declares them, but they may extend a class that is lent. */
static bool code_declares_class(void)
{
	const zend_execute_data *frame = EG(current_execute_data);
	return frame && frame->func && ZEND_USER_CODE(frame->func->type) && frame->opline &&
		   (howdah_declares_class(frame->opline) || frame->opline->opcode == ZEND_DECLARE_ANON_CLASS);
}

/* The engine loads what the class needs before it checks it, and a subclass causes the check. */
static void need_as_well(const struct howdah_link *link)
{
	if (!link->needed || link->needed == CG(delayed_autoloads)) {
		return;
	}
	if (!CG(delayed_autoloads)) {
		ALLOC_HASHTABLE(CG(delayed_autoloads));
		zend_hash_init(CG(delayed_autoloads), 0, NULL, NULL, 0);
	}
	zend_string *name;
	ZEND_HASH_FOREACH_STR_KEY((HashTable *)link->needed, name)
	{
		(void)zend_hash_add_empty_element(CG(delayed_autoloads), name);
	}
	ZEND_HASH_FOREACH_END();
}

zend_class_entry *howdah_linking_lend(zend_string *lower_name, const struct howdah_loading *loading)
{
	borrower = howdah_loading_circle(loading, NULL);
	if (!borrower || borrower == loading) {
		return NULL; /* its own */
	}
	howdah_linking_has_lent = true;
	(void)howdah_loading_circle(loading, lend_all_of);
	zend_class_entry *class = zend_hash_find_ptr(EG(class_table), lower_name);
	if (!class || !(class->ce_flags & ZEND_ACC_NEARLY_LINKED) || !code_declares_class()) {
		return NULL;
	}
	for (const struct howdah_link *link = all; link; link = link->next_of_all) {
		if (link->lent == borrower) {
			need_as_well(link);
		}
	}
	return class;
}

void howdah_linking_loan_ends(const struct howdah_loading *loading)
{
	if (EXPECTED(!howdah_linking_has_lent)) {
		return;
	}
	howdah_linking_has_lent = false;
	for (struct howdah_link *link = all; link; link = link->next_of_all) {
		if (link->lent == loading) {
			hide(link);
			link->lent = NULL;
		}
		howdah_linking_has_lent |= link->lent != NULL;
	}
}

void howdah_linking_hide_lent(void)
{
	for (const struct howdah_link *link = all; link; link = link->next_of_all) {
		if (link->lent && link->lent->owner == howdah_coroutine_current()) {
			hide(link);
		}
	}
}

void howdah_linking_show_lent(void)
{
	for (const struct howdah_link *link = all; link; link = link->next_of_all) {
		if (link->lent && link->lent->owner == howdah_coroutine_current()) {
			show(link);
		}
	}
}
