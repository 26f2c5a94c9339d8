<?php

declare(strict_types=1);

require_once 'Slim/autoload.php';
require_once __DIR__ . '/../Notes.php';

use Slim\Http\Request;
use Slim\Http\Response;

// Slim 3 stores the request in its container, so each request gets a separate App.
$handle = static function (): void {
    session_save_path(__DIR__ . '/../data');
    session_start(['use_strict_mode' => true, 'cookie_httponly' => true]);
    $_SESSION['token'] ??= bin2hex(random_bytes(16));

    $app = new Slim\App(['settings' => ['displayErrorDetails' => false]]);
    $notes = new Notes(__DIR__ . '/../data');

    $app->add(function (Request $request, Response $response, callable $next): Response {
        $form = (array) $request->getParsedBody();
        if ($request->isPost() && $request->getUri()->getPath() !== 'json' && $request->getUri()->getPath() !== '/json') {
            if (!hash_equals($_SESSION['token'], (string) ($form['_token'] ?? ''))) {
                return $response->withStatus(419, 'Page Expired')->write('Page expired');
            }
        }
        return $next($request, $response);
    });
    $app->get('/', fn (Request $q, Response $r): Response => $r->write(
        Notes::page('Slim 3', $_SESSION['user'] ?? null, isset($_SESSION['user']) ? $notes->all() : [], $_SESSION['token'])
    ));
    $app->get('/login', fn (Request $q, Response $r): Response => $r->write(Notes::login($_SESSION['token'])));
    $app->post('/login', function (Request $q, Response $r): Response {
        if ($q->getParsedBodyParam('name') !== 'asha' || $q->getParsedBodyParam('password') !== 'howdah') {
            return $r->withStatus(422)->write(Notes::login($_SESSION['token'], 'Wrong password'));
        }
        session_regenerate_id(true);
        $_SESSION['user'] = 'asha';
        return $r->withRedirect('/');
    });
    $app->post('/logout', function (Request $q, Response $r): Response {
        session_regenerate_id(true);
        unset($_SESSION['user']);
        return $r->withRedirect('/');
    });
    $app->post('/notes', function (Request $q, Response $r) use ($notes): Response {
        $file = $q->getUploadedFiles()['file'] ?? null;
        $notes->add((string) $q->getParsedBodyParam('text'), $file === null ? null : $file->moveTo(...));
        return $r->withRedirect('/');
    });
    $app->map(['GET', 'PUT'], '/json', fn (Request $q, Response $r): Response => $r->withJson([
        'method' => $q->getMethod(),
        'path' => '/' . ltrim($q->getUri()->getPath(), '/'),
        'query' => $q->getQueryParams(),
        'body' => $q->getParsedBody(),
        'secure' => $q->getUri()->getScheme() === 'https',
    ]));
    $app->get('/hello/{name}', fn (Request $q, Response $r, array $a): Response =>
        $r->write('Hello, ' . htmlspecialchars($a['name']) . '!'));
    $app->get('/download/{id}', fn (Request $q, Response $r, array $a): Response => $r
        ->withHeader('Content-Type', 'image/png')
        ->withHeader('Content-Disposition', 'attachment; filename="note.png"')
        ->withBody(new Slim\Http\Stream(fopen($notes->file((int) $a['id']), 'rb'))));
    $app->get('/cookies', fn (Request $q, Response $r): Response => $r
        ->withAddedHeader('Set-Cookie', 'one=1; Path=/; HttpOnly')
        ->withAddedHeader('Set-Cookie', 'two=a%20b; Path=/; SameSite=Strict')
        ->write('two cookies'));
    $app->get('/stream', function (Request $q, Response $r): Response {
        foreach ([1, 2, 3] as $part) {
            $r->write("part $part\n");
        }
        return $r->withHeader('Content-Type', 'text/plain');
    });
    $app->get('/throw', fn () => throw new RuntimeException('thrown on purpose'));
    $app->run();
};

if (!isset($_SERVER['FRANKENPHP_WORKER'])) {
    $handle();
    return;
}
do {
    $more = frankenphp_handle_request($handle);
} while ($more);
