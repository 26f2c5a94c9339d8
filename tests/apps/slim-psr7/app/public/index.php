<?php

declare(strict_types=1);

require_once 'FastRoute/autoload.php';
require_once 'Slim/Psr7/autoload.php';
require_once __DIR__ . '/../Notes.php';

use FastRoute\Dispatcher;
use FastRoute\RouteCollector;
use Slim\Psr7\Factory\ServerRequestFactory;
use Slim\Psr7\Factory\StreamFactory;
use Slim\Psr7\Request;
use Slim\Psr7\Response;

$handle = static function (): void {
    session_save_path(__DIR__ . '/../data');
    session_start(['use_strict_mode' => true, 'cookie_httponly' => true]);
    $_SESSION['token'] ??= bin2hex(random_bytes(16));
    $notes = new Notes(__DIR__ . '/../data');

    $text = static function (string $text, int $status = 200, array $headers = ['Content-Type' => 'text/html']): Response {
        $response = new Response($status);
        foreach ($headers as $name => $value) {
            $response = $response->withHeader($name, $value);
        }
        $response->getBody()->write($text);
        return $response;
    };
    $home = static fn (): Response => $text('', 302, ['Location' => '/']);
    $dispatcher = FastRoute\simpleDispatcher(static function (RouteCollector $r) use ($notes, $text, $home): void {
        $r->get('/', static fn (): Response => $text(Notes::page(
            'Slim PSR-7',
            $_SESSION['user'] ?? null,
            isset($_SESSION['user']) ? $notes->all() : [],
            $_SESSION['token'],
        )));
        $r->get('/login', static fn (): Response => $text(Notes::login($_SESSION['token'])));
        $r->post('/login', static function (Request $q) use ($text, $home): Response {
            $form = (array) $q->getParsedBody();
            if (($form['name'] ?? '') !== 'asha' || ($form['password'] ?? '') !== 'howdah') {
                return $text(Notes::login($_SESSION['token'], 'Wrong password'), 422);
            }
            session_regenerate_id(true);
            $_SESSION['user'] = 'asha';
            return $home();
        });
        $r->post('/logout', static function () use ($home): Response {
            session_regenerate_id(true);
            unset($_SESSION['user']);
            return $home();
        });
        $r->post('/notes', static function (Request $q) use ($notes, $home): Response {
            $file = $q->getUploadedFiles()['file'] ?? null;
            $notes->add((string) (((array) $q->getParsedBody())['text'] ?? ''), $file === null ? null : $file->moveTo(...));
            return $home();
        });
        $r->addRoute(['GET', 'PUT'], '/json', static fn (Request $q): Response => $text((string) json_encode([
            'method' => $q->getMethod(),
            'path' => $q->getUri()->getPath(),
            'query' => $q->getQueryParams(),
            'body' => json_decode((string) $q->getBody(), true),
            'secure' => $q->getUri()->getScheme() === 'https',
        ]), 200, ['Content-Type' => 'application/json']));
        $r->get('/hello/{name}', static fn (Request $q, array $a): Response =>
            $text('Hello, ' . htmlspecialchars($a['name']) . '!'));
        $r->get('/download/{id:\d+}', static fn (Request $q, array $a): Response => (new Response())
            ->withHeader('Content-Type', 'image/png')
            ->withHeader('Content-Disposition', 'attachment; filename="note.png"')
            ->withBody((new StreamFactory())->createStreamFromFile($notes->file((int) $a['id']))));
        $r->get('/cookies', static fn (): Response => $text('two cookies')
            ->withAddedHeader('Set-Cookie', 'one=1; Path=/; HttpOnly')
            ->withAddedHeader('Set-Cookie', 'two=a%20b; Path=/; SameSite=Strict'));
        $r->get('/stream', static fn (): Response =>
            $text("part 1\npart 2\npart 3\n", 200, ['Content-Type' => 'text/plain']));
        $r->get('/throw', static fn () => throw new RuntimeException('thrown on purpose'));
    });

    $request = ServerRequestFactory::createFromGlobals();
    $form = (array) $request->getParsedBody();
    $path = rawurldecode($request->getUri()->getPath());
    $method = $request->getMethod();
    $found = $dispatcher->dispatch($method === 'HEAD' ? 'GET' : $method, $path);
    $trusted = $method !== 'POST' || hash_equals($_SESSION['token'], (string) ($form['_token'] ?? ''));
    $response = match (true) {
        $found[0] === Dispatcher::NOT_FOUND => $text('Not found', 404),
        $found[0] === Dispatcher::METHOD_NOT_ALLOWED => $text('', 405, ['Allow' => implode(', ', $found[1])]),
        !$trusted => $text('Page expired', 419),
        default => $found[1]($request, $found[2]),
    };

    http_response_code($response->getStatusCode());
    foreach ($response->getHeaders() as $name => $values) {
        foreach ($values as $index => $value) {
            header("$name: $value", $index === 0 && $name !== 'Set-Cookie');
        }
    }
    $body = $response->getBody();
    $body->rewind();
    while (!$body->eof()) {
        echo $body->read(8192);
    }
};

if (!isset($_SERVER['FRANKENPHP_WORKER'])) {
    $handle();
    return;
}
do {
    $more = frankenphp_handle_request($handle);
} while ($more);
