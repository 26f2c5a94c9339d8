<?php

declare(strict_types=1);

namespace Caravan\Page;

use Caravan\App;
use Caravan\Http\Response;
use RuntimeException;

/**
 * Pages that put the server on trial: slow ones, streamed ones, and three ways for a request to end badly.
 */
final class TrialPages
{
    private const STAGES = ['Jaipur', 'Abhaneri', 'Kutch', 'Ahmedabad', 'Narmada', 'Mandu', 'Ajanta', 'Satpura',
        'Ellora', 'Mumbai'];

    public function __construct(private readonly App $app)
    {
    }

    public function slow(): Response
    {
        return $this->app->view->page('slow', 'Slow tea');
    }

    public function wait(): Response
    {
        $milliseconds = $this->app->request->queryInt('ms', 3_000, 0, 10_000);
        $start = hrtime(true);
        usleep(max(0, $milliseconds * 1_000));
        return $this->app->view->page('waited', 'Tea is ready', [
            'seconds' => (hrtime(true) - $start) / 1e9,
            'pid' => (int) getmypid(),
        ]);
    }

    public function stream(): Response
    {
        $pause = $this->app->request->queryInt('ms', 500, 0, 2_000);
        $view = $this->app->view;
        // The session may write its cookie: before the first byte.
        $head = $view->head('Streaming');
        return Response::stream(static function () use ($view, $head, $pause): void {
            while (ob_get_level() > 0) {
                ob_end_flush();
            }
            $start = hrtime(true);
            echo $head, $view->render('stream-start', ['stages' => count(self::STAGES)]);
            flush();
            foreach (self::STAGES as $index => $place) {
                usleep(max(0, $pause * 1_000));
                echo $view->render('stream-stage', [
                    'number' => $index + 1,
                    'place' => $place,
                    'seconds' => (hrtime(true) - $start) / 1e9,
                ]);
                flush();
            }
            echo $view->render('stream-end', ['pid' => (int) getmypid()]), $view->foot();
        });
    }

    public function throw(): never
    {
        throw new RuntimeException('Harun fell off. This exception was thrown on purpose.');
    }

    /**
     * Ends the request in the middle of a page, the way that debugging helpers do.
     */
    public function exit(): Response
    {
        $view = $this->app->view;
        $head = $view->head('exit()');
        return Response::stream(static function () use ($view, $head): never {
            register_shutdown_function(static function () use ($view): void {
                echo $view->render('exit-end', []), $view->foot();
            });
            echo $head, $view->render('exit', ['pid' => (int) getmypid()]);
            exit;
        });
    }

    /**
     * Runs out of memory: a fatal error that no catch block sees.
     */
    public function memory(): never
    {
        ini_set('memory_limit', '24M');
        ini_set('display_errors', '0');
        // Reserved, so that there is memory left to show the error.
        $reserve = str_repeat("\0", 1024 * 1024);
        register_shutdown_function(function () use (&$reserve): void {
            $reserve = null;
            ini_restore('memory_limit');
            http_response_code(500);
            $page = $this->app->view->page('memory', 'Out of memory', ['pid' => (int) getmypid()], 500);
            $page->send($this->app->request);
        });
        $luggage = [];
        while (true) {
            $luggage[] = str_repeat('tea', 100_000);
        }
    }
}
