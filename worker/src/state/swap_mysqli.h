/*
 * State of mysqli that exists once per process and that a request sets: mysqli_report(), mysqli_connect_error().
 */
#ifndef HOWDAH_SWAP_MYSQLI_H
#define HOWDAH_SWAP_MYSQLI_H

void howdah_swap_mysqli_regions(void);
void howdah_swap_mysqli_template(void *state); /* removes the error of the boot */
void howdah_swap_mysqli_free(void *state);

#endif
