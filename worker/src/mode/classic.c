/*
 * See classic.h. The order of steps is that of PHP-FPM, so that scripts see the same state.
 *
 * Rules: everything that may leave by longjmp is inside one zend_first_try.
 */
#include "classic.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "php/compat.h"
#include "php/opcache.h"
#include "php/script.h"
#include "php/settings_request.h"
#include "process/log.h"
#include "profile/profiler.h"
#include "request/accept.h"
#include "request/request.h"

static void answer(int status, const char *text)
{
	SG(sapi_headers).http_response_code = status;
	PUTS(text);
}

static void refuse_script(const char *path, int error)
{
	struct stat file;
	if (stat(path, &file) != 0) {
		error = errno;
	} else if (S_ISDIR(file.st_mode)) {
		error = EISDIR;
	}
	if (error == EACCES || error == EISDIR) {
		howdah_log_format('e', "Unable to open primary script: %s (%s)", path, strerror(error));
		answer(403, "Access denied.\n");
	} else if (error == ENOENT || error == ENOTDIR) {
		howdah_log_format('e', "Primary script unknown: %s", path);
		answer(404, "File not found.\n");
	} else {
		howdah_log_format('e', "Unable to open primary script: %s (%s)", path, strerror(error));
		answer(404, "No input file specified.\n");
	}
}

static void execute(struct howdah_request *request)
{
	const char *path = request->known[HOWDAH_VAR_SCRIPT_FILENAME];
	if (UNEXPECTED(!SG(request_info).path_translated)) {
		howdah_log_format('e', "Primary script unknown: %s", path ? path : "the server named none");
		answer(404, "File not found.\n");
		return;
	}
	if (UNEXPECTED(!howdah_script_execute(path))) {
		refuse_script(path, errno);
	}
}

/* Runs PHP from start to end of the request. Returns false if PHP could not be prepared for it. */
static bool run_php(struct howdah_request *request)
{
	volatile bool started = false;
	zend_long max_input_time = PG(max_input_time);

	zend_first_try
	{
		howdah_request_describe(request);
		const char *script = howdah_request_script(request);
		howdah_settings_request_begin(request);
		SG(request_info).path_translated = script ? estrdup(script) : NULL;
		if (request->claim.body_kind == HOWDAH_BODY_NONE) {
			/* Without a body there is no input to time: the script's timer, armed once, covers everything. */
			PG(max_input_time) = -1;
		}
		if (php_request_startup() == SUCCESS) {
			started = true;
			execute(request);
		}
	}
	zend_end_try();

	PG(max_input_time) = max_input_time;
	if (SG(request_info).path_translated) {
		efree(SG(request_info).path_translated);
		SG(request_info).path_translated = NULL;
	}
	php_request_shutdown(NULL);
	return started;
}

bool howdah_classic_run(struct howdah_queue *queue, const struct howdah_claim *claim)
{
	bool well_formed;
	struct howdah_request *request = howdah_request_accept(queue, claim, &well_formed);
	if (UNEXPECTED(!well_formed)) {
		howdah_request_refuse(request);
		return true;
	}
	howdah_queue_started(queue, &request->claim);
	howdah_opcache_begin(time(NULL));
	bool usable = run_php(request);
	if (howdah_request_forked) {
		_exit(EG(exit_status)); /* PHP was not started: the worker itself responds */
	}
	SG(server_context) = request;
	if (!usable) {
		request->fatal = true;
		request->exit_status = 255;
		howdah_log_format('e', "PHP could not start a request; this worker exits");
	}
	howdah_profiler_request_ends();
	howdah_request_end(request);
	howdah_request_forget();
	return usable;
}
