/*
 * See retire.h.
 */
#include "retire.h"

#include "process/log.h"

bool howdah_retiring;
int howdah_retire_status;

static struct howdah_queue *queue;

void howdah_retire_init(struct howdah_queue *served)
{
	queue = served;
}

void howdah_retire_quietly(void)
{
	if (!howdah_retiring) {
		howdah_retiring = true;
		howdah_queue_note_poll(queue, 0);
		/* A request may have woken this worker. */
		howdah_queue_hand_wake_on(queue);
	}
}

void howdah_retire(int status)
{
	if (!howdah_retiring) {
		howdah_log_state("retiring");
	}
	howdah_retire_quietly();
	if (status) {
		howdah_retire_status = status;
	}
}
