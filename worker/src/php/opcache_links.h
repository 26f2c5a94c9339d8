/*
 * Scripts that OPcache would run for a path that now leads to a different file.
 */
#ifndef HOWDAH_OPCACHE_LINKS_H
#define HOWDAH_OPCACHE_LINKS_H

#include <php.h>

/*
 * Adds to `moved` the paths of scripts that OPcache also has under a different path, through a symbolic link, if that
 * path now leads elsewhere: OPcache does not resolve it again for the first script of a request and for
 * require_once. `scripts`: the keys are paths in OPcache's memory, as opcache_get_status() returns them. `keys_max`:
 * capacity of its table. Adds none if the table is not found.
 */
void howdah_opcache_find_moved(const HashTable *scripts, zend_ulong keys_max, HashTable *moved);

#endif
