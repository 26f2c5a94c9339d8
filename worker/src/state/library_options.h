/*
 * Options that functions of PHP set in libraries of clients for the whole process, and that belong to the request:
 * ldap_set_option(null, …) in libldap; snmp_set_quick_print() and its like in net-snmp and ext/snmp.
 */
#ifndef HOWDAH_LIBRARY_OPTIONS_H
#define HOWDAH_LIBRARY_OPTIONS_H

#include "mode/coroutine/coroutine.h"

/* Called while PHP's modules start. */
void howdah_library_options_startup(void);

/* All code of a request has run: restores the options that it set. */
void howdah_library_options_restore(void);

extern const struct howdah_task_part howdah_library_options_part;

#endif
