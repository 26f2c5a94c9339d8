/*
 * See numbers.h. PHP gives a new object the number that became free last. Requests that run one after another would
 * therefore create their objects in any order of numbers.
 *
 * Rules: the list of free numbers is only partly in order, as it may be long. What a request creates after that, or after
 * others have freed objects, may be out of order.
 */
#include "numbers.h"

#include <php.h>

/* As many as most requests need at a time. */
#define ORDERED 128

static bool is_sorted(const int *numbers, uint32_t count)
{
	uint32_t at = 1;
	while (at < count && numbers[at - 1] < numbers[at]) {
		at++;
	}
	return at >= count;
}

static void reverse(int *numbers, uint32_t count)
{
	for (uint32_t i = 0; i < count / 2; i++) {
		int number = numbers[i];
		numbers[i] = numbers[count - 1 - i];
		numbers[count - 1 - i] = number;
	}
}

static void sort(int *numbers, uint32_t count)
{
	for (uint32_t i = 1; i < count; i++) {
		int number = numbers[i];
		uint32_t at = i;
		for (; at > 0 && numbers[at - 1] > number; at--) {
			numbers[at] = numbers[at - 1];
		}
		numbers[at] = number;
	}
}

void howdah_numbers_order(void)
{
	zend_objects_store *store = &EG(objects_store);
	int numbers[ORDERED], next = store->free_list_head;
	uint32_t count = 0;
	while (next != -1 && count < ORDERED) {
		numbers[count++] = next;
		next = (int)GET_OBJ_BUCKET_NUMBER(store->object_buckets[next]);
	}
	if (EXPECTED(is_sorted(numbers, count))) {
		return;
	}
	/* Objects that were freed in the order of their creation: the last one is the first of the list. */
	if (numbers[0] > numbers[count - 1]) {
		reverse(numbers, count);
	}
	sort(numbers, count);
	for (uint32_t i = count; i-- > 0;) {
		SET_OBJ_BUCKET_NUMBER(store->object_buckets[numbers[i]], next);
		next = numbers[i];
	}
	store->free_list_head = next;
}
