/*
 * Larger pages for what a booted application holds in memory.
 *
 * A fork copies an entry for each page that its parent has, and the end of a process takes as many away: for an
 * application of 30 MB more than a millisecond each. The kernel can put 512 pages together to one. A child that
 * writes has one small page copied, as ever.
 */
#ifndef HOWDAH_HUGE_PAGES_H
#define HOWDAH_HUGE_PAGES_H

/*
 * Puts together the anonymous memory of this process where it is in use, in blocks of 2 MB; what is not in use of
 * a block, an eighth at most, is then taken too. A block takes 0.7 ms on a quiet machine. Without an effect before
 * Linux 6.1, where the kernel has no such pages, and on blocks for which it finds no memory at once.
 */
void howdah_huge_pages_collapse(void);

#endif
