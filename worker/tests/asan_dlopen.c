/*
 * For the ASan build alone. PHP loads extensions with RTLD_DEEPBIND, which ASan's runtime refuses because malloc() of
 * such a library would not be its own. To be in front of ASan's dlopen(), this object is preloaded before the runtime,
 * which is configured to accept that.
 */
#include <dlfcn.h>
#include <stddef.h>

__attribute__((visibility("default"))) void *dlopen(const char *name, int flags)
{
	static void *(*next)(const char *, int);
	if (!next) {
		*(void **)&next = dlsym(RTLD_NEXT, "dlopen");
	}
	return next ? next(name, flags & ~RTLD_DEEPBIND) : NULL;
}

const char *__asan_default_options(void);

__attribute__((visibility("default"))) const char *__asan_default_options(void)
{
	return "verify_asan_link_order=0";
}
