<?php

declare(strict_types=1);

namespace Caravan\Page;

use Caravan\App;
use Caravan\Http\Response;
use Caravan\Model\Journal;
use Caravan\ServerInfo;

/**
 * The start page and the page about the demo.
 */
final class HomePages
{
    public function __construct(private readonly App $app)
    {
    }

    public function home(): Response
    {
        $journal = new Journal($this->app->store());
        return $this->app->view->page('home', 'A travel journal', [
            'facts' => (new ServerInfo($this->app))->facts(),
            'entries' => $journal->page(3, 0),
            'milliseconds' => $this->app->request->elapsed() * 1000,
        ]);
    }

    public function about(): Response
    {
        return $this->app->view->page('about', 'About');
    }
}
