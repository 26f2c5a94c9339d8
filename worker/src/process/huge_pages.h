/*
 * Larger pages for the memory of a booted application.
 *
 * A fork copies an entry for each page of its parent, and the exit of a process removes as many: for an application of
 * 30 MB each takes more than a millisecond. The kernel can combine 512 pages to one. A child that writes still gets a
 * copy of one small page.
 */
#ifndef HOWDAH_HUGE_PAGES_H
#define HOWDAH_HUGE_PAGES_H

/*
 * Combines the anonymous memory of this process where it is in use, in blocks of 2 MB; the unused part of a block, an
 * eighth at most, is then allocated too. A block takes 0.7 ms on a quiet machine. Without effect before Linux 6.1,
 * where the kernel has no such pages, and on blocks for which it has no free memory.
 */
void howdah_huge_pages_collapse(void);

#endif
