/*
 * Functions and methods of PHP that are called through ours: which kind of client each has, and where in its
 * arguments.
 */
#ifndef HOWDAH_CLIENTS_WRAP_H
#define HOWDAH_CLIENTS_WRAP_H

#include "clients.h"

struct howdah_guard {
	zif_handler original; /* it belongs to a database: calls are timed, and `timed` is called */
	zif_handler timed;
	bool is_query; /* it runs SQL */
	const struct howdah_client_kind *kind;
	unsigned effect; /* HOWDAH_CLIENT_* */
	struct howdah_guard *next;
};

/* Returns the guard of the function that is called. */
const struct howdah_guard *howdah_guard_of(const zend_execute_data *execute_data);

/*
 * Installs `wrapper` for all methods that the class, or a class with copies of them, declares. Returns false if there
 * is no such class.
 */
bool howdah_wrap_class(const char *name, const struct howdah_client_kind *kind, zif_handler wrapper);

/* Installs it for one function. */
void howdah_wrap_function(
	zend_function *function, const struct howdah_client_kind *kind, unsigned effect, zif_handler wrapper);

/* Wraps the functions of a module: all, or those with an effect. */
void howdah_wrap_functions(
	const char *module_name, const struct howdah_client_kind *kind, bool all, zif_handler wrapper);

/* clients_modules.c */
void howdah_wrap_unknown_modules(void);

/* Guards creation, cloning and freeing of a class's objects. Must be called before its subclasses are declared. */
void howdah_wrap_objects(zend_class_entry *class, const struct howdah_client_kind *kind);

/* Call after a destructor was refused: drops its exception and preserves an earlier one. */
void howdah_client_forget_refusal(void);

/* The object's class is guarded: calls the original handler. */
const struct howdah_client_kind *howdah_guarded_object_kind(const zend_object *object);

/* Whether the object has a destructor besides the guard. */
bool howdah_has_destructor(const zend_object *object);

/*
 * Calls the original between howdah_client_enter() and howdah_client_leave(), for the client of $this or of the
 * arguments.
 */
ZEND_FUNCTION(howdah_guarded_method);
ZEND_FUNCTION(howdah_guarded_function);

/* Calls the original, and measures its time if that is on. */
ZEND_FUNCTION(howdah_timed_call);

/* Prepares wrapping, once. Returns false if wrapping is impossible. */
bool howdah_wrap_init(void);

/*
 * Returns the effect of a function or method by the table of clients_effects.c. `owner`: name of its class or module.
 */
unsigned howdah_client_effect(const char *owner, const char *function);

/* Whether a function of a database's extension runs SQL, or a method of `class`; NULL: a function. */
bool howdah_client_queries(const char *class, const char *function);

#endif
