/*
 * How howdah-php gets into the distribution's own PHP executable (docs/adr/0005).
 *
 *   howdah-php COMMAND …   src/launcher.c; executes PHP with LD_PRELOAD=howdah-php.so and
 *                          the arguments HOWDAH_GUARD COMMAND …
 *   howdah-php plain PROGRAM …   the same with PHP's own main(), if PROGRAM is our PHP; else executes PROGRAM
 *   howdah-php exec PROGRAM …    executes PROGRAM. Both close what the server's parent had open
 *   howdah-php.so          everything else; src/host.c takes the place of PHP's own main()
 *
 * Both are of one build and lie in one directory.
 */
#ifndef HOWDAH_LAUNCHER_H
#define HOWDAH_LAUNCHER_H

/*
 * The first argument. An executable of PHP that was started without our object refuses it, whereas it would treat a
 * command as the name of a script.
 */
#define HOWDAH_GUARD "--howdah"

/*
 * The command that runs PHP's own main(), in a process that is not dumpable: the kernel makes a process dumpable
 * when it executes a program, so only code inside of the program can change that.
 */
#define HOWDAH_PLAIN "plain"

/* The same for a process that may be dumpable, whatever it executes. */
#define HOWDAH_EXEC "exec"

/*
 * What the launcher appends to LD_PRELOAD: our object, and in a build with AddressSanitizer its runtime,
 * which must be in front of libc (HOWDAH_PRELOAD_AFTER).
 */
#ifdef HOWDAH_PRELOAD_AFTER
#define HOWDAH_PRELOAD_COUNT 2
#else
#define HOWDAH_PRELOAD_AFTER ""
#define HOWDAH_PRELOAD_COUNT 1
#endif

/* In place of a path that LD_PRELOAD could not name, because it has a colon or a space: an open descriptor. */
#define HOWDAH_PRELOAD_FD "/proc/self/fd/"

#endif
