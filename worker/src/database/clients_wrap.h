/*
 * Functions and methods of PHP that are called through ours: which kind of client each has, and where in its
 * arguments.
 */
#ifndef HOWDAH_CLIENTS_WRAP_H
#define HOWDAH_CLIENTS_WRAP_H

#include "clients.h"

struct howdah_guard {
	zif_handler original; /* of a database's function: it times the call, and calls `timed` */
	zif_handler timed;
	bool is_query; /* it runs SQL */
	const struct howdah_client_kind *kind;
	unsigned effect; /* HOWDAH_CLIENT_* */
	struct howdah_guard *next;
};

/* Of the function that is called. */
const struct howdah_guard *howdah_guard_of(const zend_execute_data *execute_data);

/* Puts `wrapper` in front of all methods that the class, or a class that has its copies of them, declares. False:
 * there is no such class. */
bool howdah_wrap_class(const char *name, const struct howdah_client_kind *kind, zif_handler wrapper);

/* The same for one function. */
void howdah_wrap_function(
	zend_function *function, const struct howdah_client_kind *kind, unsigned effect, zif_handler wrapper);

/* The functions of a module: all, or those with an effect. */
void howdah_wrap_functions(
	const char *module_name, const struct howdah_client_kind *kind, bool all, zif_handler wrapper);

/* clients_modules.c */
void howdah_wrap_unknown_modules(void);

/* Guards the making, cloning and freeing of a class's objects; before its subclasses are declared. */
void howdah_wrap_objects(zend_class_entry *class, const struct howdah_client_kind *kind);

/* A destructor was refused: its exception is dropped, and an earlier one stays. */
void howdah_client_forget_refusal(void);

/* Of an object that was made by such a class. */
const struct howdah_client_kind *howdah_guarded_object_kind(const zend_object *object);

/* Whether it has a destructor to run, besides the guard of its freeing. */
bool howdah_has_destructor(const zend_object *object);

/* Calls the original between howdah_client_enter() and howdah_client_leave(): of $this, of the arguments. */
ZEND_FUNCTION(howdah_guarded_method);
ZEND_FUNCTION(howdah_guarded_function);

/* Calls the function itself, and counts its time if that is on. */
ZEND_FUNCTION(howdah_timed_call);

/* Once, before anything is wrapped. False: wrapping is impossible. */
bool howdah_wrap_init(void);

/* What a function or method does, by the table of clients_effects.c. `owner`: name of its class or module. */
unsigned howdah_client_effect(const char *owner, const char *function);

/* Whether a function or method of a database's extension runs SQL. */
bool howdah_client_queries(const char *function);

#endif
