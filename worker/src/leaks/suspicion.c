/*
 * Values of a client that a request has left: findings if a later request, which did not send the same, still has them.
 */
#include "look.h"

#include <string.h>

/* The node of a container; -1: it was not visited. */
static int32_t find_node(const struct howdah_leak_look *look, uint64_t key)
{
	for (size_t i = 0; i < look->node_count; i++) {
		if (look->nodes[i].key == key) {
			return (int32_t)i;
		}
	}
	return -1;
}

/*
 * A container adds a service under its name when it is first needed: then the service's property has the value, not the
 * array of services. Returns false without such a property.
 */
static bool find_service(const struct howdah_leak_look *look, const struct howdah_leak_change *change,
	const struct howdah_leak_held *held, struct howdah_leak_change *property)
{
	size_t i = 1;
	while (i < held->count && held->steps[i].from.edge == HOWDAH_EDGE_KEY && held->steps[i].from.name) {
		i++;
	}
	if (i == 1 || i == held->count || held->steps[i].from.edge != HOWDAH_EDGE_PROPERTY) {
		return false;
	}
	*property = *change;
	property->from = held->steps[i].from;
	property->from.parent = find_node(look, held->steps[i].container);
	property->key = held->steps[i].slot.key;
	property->value = held->steps[i].value;
	property->count = property->count_before = 0;
	return property->from.parent >= 0;
}

struct howdah_leak_suspicion *howdah_leak_suspect(struct howdah_leak_suspicion *suspicion,
	const struct howdah_leak_look *look, const struct howdah_leak_change *change,
	const struct howdah_leak_request *request, const struct howdah_leak_held *held)
{
	struct howdah_leak_change property;
	if (!suspicion) {
		suspicion = howdah_leak_allocate(NULL, sizeof(*suspicion));
	}
	howdah_leak_describe(look, change, request, &suspicion->finding);
	if (find_service(look, change, held, &property)) {
		bool allowed = howdah_leak_is_allowed(&suspicion->finding);
		change = &property;
		howdah_leak_describe(look, change, request, &suspicion->finding);
		suspicion->finding.place.allowed |= allowed;
	}
	suspicion->finding.why = "holds request data";
	bool is_shown = change->value && change->from.edge != HOWDAH_EDGE_ITEM &&
					(howdah_leak_input_find(look->input, change->value) || !howdah_leak_find_name(look, change));
	if (is_shown && (Z_TYPE_P(change->value) == IS_STRING || Z_TYPE_P(change->value) == IS_LONG)) {
		strcpy(suspicion->finding.value, "(sent by a client)");
	}
	suspicion->held = held->value;
	suspicion->step_count = held->count;
	for (size_t i = 0; i < held->count; i++) {
		const struct howdah_leak_step *step = &held->steps[i];
		suspicion->steps[i].key = step->slot.key;
		suspicion->steps[i].fingerprint = step->slot.fingerprint;
		suspicion->steps[i].is_array = step->is_array;
	}
	return suspicion;
}

bool howdah_leak_is_still_held(const struct howdah_leak_look *look, const struct howdah_leak_suspicion *suspicion)
{
	for (size_t i = 0; i < suspicion->step_count; i++) {
		const struct howdah_leak_slot *now = howdah_leak_map_find(&look->now, suspicion->steps[i].key);
		bool is_array = i + 1 < suspicion->step_count && suspicion->steps[i].is_array;
		if (!now || (!is_array && now->fingerprint != suspicion->steps[i].fingerprint)) {
			return false;
		}
	}
	return true;
}
