/*
 * See driver_frames.h.
 */
#include "driver_frames.h"

#include <string.h>
#include <time.h>

#include "driver_front.h"

struct frames_show frames_show;

static uint64_t now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

struct progress frames_begin(void)
{
	return (struct progress){.began_ns = now_ns()};
}

/* The whole request is between these two readings of the clock, however slow the machine is. */
static const char *share(const struct howdah_end *end, const struct progress *progress)
{
	if (end->database_us == 0) {
		return "no time in databases";
	}
	bool fits = end->database_us <= (now_ns() - progress->began_ns) / 1000 + 1; /* it is rounded */
	return fits ? "some of its time in databases" : "more time in databases than it took";
}

static void print_headers(const struct howdah_frame *frame, FILE *out)
{
	const char *at = (const char *)(frame + 1);
	struct howdah_headers headers;
	memcpy(&headers, at, sizeof(headers));
	at += sizeof(headers);
	fprintf(out, "Status: %u%s%.*s\n", headers.status, headers.reason_size ? " " : "", headers.reason_size, at);
	at += headers.reason_size;
	for (uint32_t i = 0; i < headers.count; i++) {
		struct howdah_header header;
		memcpy(&header, at, sizeof(header));
		at += sizeof(header);
		fprintf(out, "%.*s: %.*s\n", (int)header.name_size, at, (int)header.value_size, at + header.name_size);
		at += header.name_size + header.value_size;
	}
	fprintf(out, "\n");
}

void frames_take(const struct howdah_frame *frame, struct progress *progress, FILE *out)
{
	const char *payload = (const char *)(frame + 1);
	if (progress->end) {
		front_fail("frame %u after END", frame->kind);
	}
	switch (frame->kind) {
		case HOWDAH_FRAME_HEADERS:
			if (progress->headers) {
				front_fail("two HEADERS frames");
			}
			progress->headers = true;
			if (out && frames_show.headers) {
				print_headers(frame, out);
			}
			break;
		case HOWDAH_FRAME_INFO:
			if (progress->headers) {
				front_fail("an INFO frame after HEADERS");
			}
			if (out && frames_show.headers) {
				print_headers(frame, out);
			}
			break;
		case HOWDAH_FRAME_BODY:
			if (!progress->headers || progress->finish) {
				front_fail("a BODY frame before HEADERS or after FINISH");
			}
			progress->body_size += frame->size;
			if (out) {
				fwrite(payload, 1, frame->size, out);
				if (frames_show.frames) {
					fprintf(out, "|");
				}
			}
			break;
		case HOWDAH_FRAME_FINISH:
			if (!progress->headers || progress->finish) {
				front_fail("a FINISH frame before HEADERS or after FINISH");
			}
			progress->finish = true;
			if (out) {
				fprintf(out, "[finish]");
			}
			break;
		case HOWDAH_FRAME_END: {
			struct howdah_end end;
			memcpy(&end, payload, sizeof(end));
			progress->end = true;
			/* A disconnected client gets none. */
			if (!progress->headers && !progress->aborted) {
				front_fail("END without HEADERS");
			}
			if (out && frames_show.end) {
				fprintf(out, "\n[end exit=%u status=%u]", end.exit, end.exit_status);
			}
			if (out && frames_show.usage) {
				fprintf(out, "\n[at most %lu MiB, at least %lu ms]", (unsigned long)(end.memory_peak >> 20),
					(unsigned long)(end.cpu_us / 1000));
			}
			if (out && frames_show.database) {
				fprintf(out, "\n[%u queries, at least %lu ms in databases]", end.queries,
					(unsigned long)(end.database_us / 1000));
			}
			if (out && frames_show.share) {
				fprintf(out, "\n[%u queries, %s]", end.queries, share(&end, progress));
			}
			break;
		}
		default:
			front_fail("frame of kind %u", frame->kind);
	}
}
