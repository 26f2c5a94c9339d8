<?php

declare(strict_types=1);

namespace Caravan\Page;

use Caravan\App;
use Caravan\Http\Response;
use Caravan\Model\Entry;
use Caravan\Model\Journal;

/**
 * The journal as JSON.
 */
final class ApiPages
{
    private const PER_PAGE = 5;

    public function __construct(private readonly App $app)
    {
    }

    public function entries(): Response
    {
        $journal = new Journal($this->app->store());
        $total = $journal->count();
        $pages = max(1, (int) ceil($total / self::PER_PAGE));
        $page = $this->app->request->queryInt('page', 1, 1, $pages);
        $entries = $journal->page(self::PER_PAGE, ($page - 1) * self::PER_PAGE);
        return Response::json([
            'total' => $total,
            'page' => $page,
            'pages' => $pages,
            'next' => $page < $pages ? '/api/entries?page=' . ($page + 1) : null,
            'entries' => array_map(static fn (Entry $entry): array => $entry->toArray(), $entries),
        ]);
    }

    /**
     * The smallest sign of life: which worker answers, and when.
     */
    public function pulse(): Response
    {
        return Response::json(['pid' => (int) getmypid(), 'served' => $this->app->served, 'time' => microtime(true)]);
    }
}
