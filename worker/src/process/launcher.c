/*
 * howdah-php: executes the distribution's PHP with our object in front of its main(). See launcher.h.
 *
 * Rules: independent of PHP and of the commands, except for their executables; reports an unsuitable executable before
 * it is started, because the dynamic linker only warns and continues without us.
 */
#include "launcher.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#define OBJECT "howdah-php.so"

/* The object next to this executable, which may have been called through a link. */
static bool find_object(char *path, size_t size)
{
	ssize_t length = readlink("/proc/self/exe", path, size);
	if (length <= 0 || (size_t)length >= size) {
		fprintf(stderr, "howdah-php: cannot determine its installation path: %s; is /proc mounted?\n",
			length < 0 ? strerror(errno) : "its path is too long");
		return false;
	}
	path[length] = '\0';
	char *name = strrchr(path, '/') + 1;
	if ((size_t)(name - path) + sizeof(OBJECT) > size) {
		fprintf(stderr, "howdah-php: cannot determine its installation path: its path is too long\n");
		return false;
	}
	memcpy(name, OBJECT, sizeof(OBJECT));
	if (access(path, R_OK) != 0) {
		fprintf(stderr, "howdah-php: cannot read %s: %s; it belongs next to howdah-php: reinstall both\n", path,
			strerror(errno));
		return false;
	}
	return true;
}

/* --- the PHP executable ---------------------------------------------------------------------------- */

/* Returns NULL if the kernel starts a dynamic linker for the file, otherwise what kind of file it is. */
static const char *not_dynamic(int file)
{
	ElfW(Ehdr) head;
	if (pread(file, &head, sizeof(head), 0) != (ssize_t)sizeof(head) || memcmp(head.e_ident, ELFMAG, SELFMAG) != 0) {
		return "a script or no executable at all";
	}
	for (unsigned i = 0; i < head.e_phnum; i++) {
		ElfW(Phdr) segment;
		off_t at = (off_t)(head.e_phoff + (ElfW(Off))i * sizeof(segment));
		if (pread(file, &segment, sizeof(segment), at) != (ssize_t)sizeof(segment)) {
			break;
		}
		if (segment.p_type == PT_INTERP) {
			return NULL;
		}
	}
	return "linked statically";
}

static bool fit(const char *php)
{
	int file = open(php, O_RDONLY | O_CLOEXEC);
	if (file < 0 && errno == ENOENT) {
		if (*HOWDAH_PHP_PACKAGE) {
			fprintf(
				stderr, "howdah-php: %s is missing: install it with `apt-get install %s`\n", php, HOWDAH_PHP_PACKAGE);
		} else {
			fprintf(stderr,
				"howdah-php: %s is missing: install the PHP that howdah-php was built for, or build it for another "
				"with `make build PHP_CONFIG=php-config8.x`\n",
				php);
		}
		return false;
	}
	if (file < 0) {
		fprintf(stderr, "howdah-php: cannot read %s: %s\n", php, strerror(errno));
		return false;
	}
	struct stat status;
	const char *why = not_dynamic(file);
	bool privileged = fstat(file, &status) == 0 && (status.st_mode & (S_ISUID | S_ISGID));
	privileged |= fgetxattr(file, "security.capability", NULL, 0) > 0;
	close(file);
	if (why) {
		fprintf(stderr,
			"howdah-php: %s is %s; it must be a PHP executable that loads extensions, build howdah-php for one with "
			"`make build PHP_CONFIG=php-config8.x`\n",
			php, why);
		return false;
	}
	if (privileged) {
		fprintf(stderr,
			"howdah-php: %s has privileges (setuid, setgid or capabilities), so nothing can be loaded into it: remove "
			"them; howdah opens the ports itself\n",
			php);
		return false;
	}
	return true;
}

/* --- LD_PRELOAD ------------------------------------------------------------------------------------ */

/* Libraries that other software preloads stay before this one, as in any program. */
static bool set_preload(const char *object)
{
	char by_descriptor[sizeof(HOWDAH_PRELOAD_FD) + 3 * sizeof(int)];
	if (strpbrk(object, ": ")) {
		int file = open(object, O_RDONLY);
		if (file < 0) {
			fprintf(stderr, "howdah-php: cannot read %s: %s\n", object, strerror(errno));
			return false;
		}
		snprintf(by_descriptor, sizeof(by_descriptor), HOWDAH_PRELOAD_FD "%d", file);
		object = by_descriptor;
	}
	const char *before = getenv("LD_PRELOAD"), *after = HOWDAH_PRELOAD_AFTER;
	bool is_before = before && *before, is_after = *after != '\0';
	char *value;
	if (asprintf(&value, "%s%s%s%s%s", is_before ? before : "", is_before ? ":" : "", object, is_after ? ":" : "",
			after) < 0) {
		fprintf(stderr, "howdah-php: out of memory\n");
		return false;
	}
	/* Removed first, so that it comes last: the process title uses the memory before it. */
	if (unsetenv("LD_PRELOAD") != 0 || setenv("LD_PRELOAD", value, 1) != 0) {
		fprintf(stderr, "howdah-php: cannot set LD_PRELOAD: %s\n", strerror(errno));
		free(value);
		return false;
	}
	free(value);
	return true;
}

/*
 * The server's real user may differ from its effective one, so that PHP cannot signal it (privileges.rs). PHP itself has
 * one user: with two, ld.so would ignore LD_PRELOAD.
 */
static bool set_one_user(void)
{
	uid_t real, user, saved;
	if (getresuid(&real, &user, &saved) != 0 || ((real != user || saved != user) && setresuid(user, user, user) != 0)) {
		fprintf(stderr, "howdah-php: cannot set its user: %s\n", strerror(errno));
		return false;
	}
	return true;
}

/* --- a program that may be PHP ---------------------------------------------------------------------- */

/* Whether this file is the PHP of the command line. */
static bool is_php(const char *path)
{
	char real[PATH_MAX], php[PATH_MAX];
	return realpath(path, real) && realpath(HOWDAH_PHP_CLI, php) && strcmp(real, php) == 0;
}

/* Whether execvp() would execute PHP. */
static bool names_php(const char *program)
{
	if (strchr(program, '/')) {
		return is_php(program);
	}
	const char *folder = getenv("PATH");
	while (folder) {
		const char *end = strchrnul(folder, ':');
		char path[PATH_MAX];
		int size = snprintf(path, sizeof(path), "%.*s/%s", (int)(end - folder), folder, program);
		if (size > 0 && (size_t)size < sizeof(path) && access(path, X_OK) == 0) {
			return is_php(path);
		}
		folder = *end ? end + 1 : NULL;
	}
	return false;
}

/*
 * The program, and its arguments as it gets them. It inherits only the standard streams: other descriptors that a shell
 * or a service manager left open in the server are not for it.
 */
static int run_program(bool is_dumpable, int argc, char **argv)
{
	char object[PATH_MAX];
	closefrom(STDERR_FILENO + 1);
	if (!is_dumpable && names_php(argv[0])) {
		char **arguments = calloc((size_t)argc + 4, sizeof(*arguments));
		if (!arguments || !find_object(object, sizeof(object)) || !fit(HOWDAH_PHP_CLI) || !set_preload(object)) {
			return 2;
		}
		static char guard[] = HOWDAH_GUARD, plain[] = HOWDAH_PLAIN;
		arguments[0] = argv[0];
		arguments[1] = guard;
		arguments[2] = plain;
		for (int i = 0; i < argc; i++) {
			arguments[i + 3] = argv[i];
		}
		execv(HOWDAH_PHP_CLI, arguments);
	} else {
		execvp(argv[0], argv);
	}
	fprintf(stderr, "howdah-php: cannot run %s: %s\n", argv[0], strerror(errno));
	return 2;
}

int main(int argc, char **argv)
{
	bool is_dumpable = argc > 2 && strcmp(argv[1], HOWDAH_EXEC) == 0;
	if (is_dumpable || (argc > 2 && strcmp(argv[1], HOWDAH_PLAIN) == 0)) {
		return set_one_user() ? run_program(is_dumpable, argc - 2, argv + 2) : 2;
	}
	const char *php = argc > 1 && strcmp(argv[1], "cli") == 0 ? HOWDAH_PHP_CLI : HOWDAH_PHP;
	char object[PATH_MAX];
	if (!set_one_user() || !find_object(object, sizeof(object)) || !fit(php) || !set_preload(object)) {
		return 2;
	}
	char **arguments = calloc((size_t)argc + 3, sizeof(*arguments));
	if (!arguments) {
		fprintf(stderr, "howdah-php: out of memory\n");
		return 2;
	}
	static char name[] = "howdah-php", guard[] = HOWDAH_GUARD;
	arguments[0] = argc > 0 ? argv[0] : name;
	arguments[1] = guard;
	for (int i = 1; i < argc; i++) {
		arguments[i + 1] = argv[i];
	}
	execv(php, arguments);
	fprintf(stderr, "howdah-php: cannot run %s: %s\n", php, strerror(errno));
	return 2;
}
