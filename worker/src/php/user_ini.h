/*
 * PHP settings by host and directory: [HOST=] and [PATH=] sections of php.ini, and .user.ini files.
 */
#ifndef HOWDAH_USER_INI_H
#define HOWDAH_USER_INI_H

#include "request/request.h"

/* Applies them to the request that is starting. Called after PHP has applied the settings of php.ini. */
void howdah_user_ini_activate(const struct howdah_request *request);

#endif
