/*
 * The SAPI module "howdah".
 */
#ifndef HOWDAH_SAPI_H
#define HOWDAH_SAPI_H

#include "compat.h"

extern sapi_module_struct howdah_sapi_module;

#endif
