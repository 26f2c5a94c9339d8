<?php

declare(strict_types=1);

namespace Caravan\Model;

/**
 * The entries and their comments.
 */
final class Journal
{
    private const SELECT = 'SELECT e.id, e.title, e.place, e.body, e.created_at, u.shown_name AS author,
            (SELECT COUNT(*) FROM comments c WHERE c.entry_id = e.id) AS comments,
            (SELECT p.id FROM photos p WHERE p.entry_id = e.id ORDER BY p.created_at, p.id LIMIT 1) AS photo
        FROM entries e JOIN users u ON u.id = e.author_id ';

    public function __construct(private readonly Store $store)
    {
    }

    public function count(): int
    {
        return $this->store->number('SELECT COUNT(*) FROM entries');
    }

    /**
     * @return list<Entry> newest first
     */
    public function page(int $limit, int $offset): array
    {
        return array_map(Entry::fromRow(...), $this->store->rows(
            self::SELECT . 'ORDER BY e.created_at DESC, e.id DESC LIMIT ? OFFSET ?',
            $limit,
            $offset,
        ));
    }

    public function find(int $id): ?Entry
    {
        $row = $this->store->row(self::SELECT . 'WHERE e.id = ?', $id);
        return $row === null ? null : Entry::fromRow($row);
    }

    /**
     * @return int the number of the new entry
     */
    public function add(int $authorId, string $title, string $place, string $body): int
    {
        return $this->store->run(
            'INSERT INTO entries (author_id, title, place, body, created_at) VALUES (?, ?, ?, ?, ?)',
            $authorId,
            $title,
            $place,
            $body,
            time(),
        );
    }

    /**
     * @return list<Comment> oldest first; the newest 200 when there are more
     */
    public function comments(int $entryId): array
    {
        return array_map(Comment::fromRow(...), $this->store->rows('SELECT author, body, created_at FROM
            (SELECT * FROM comments WHERE entry_id = ? ORDER BY id DESC LIMIT 200) ORDER BY id', $entryId));
    }

    public function addComment(int $entryId, string $author, string $body): void
    {
        $this->store->run(
            'INSERT INTO comments (entry_id, author, body, created_at) VALUES (?, ?, ?, ?)',
            $entryId,
            $author,
            $body,
            time(),
        );
    }
}
