<?php

// Sessions and their settings, which belong to the request.

declare(strict_types=1);

final class SessionSettings
{
    public static bool $areSet = false;
}

return static fn (): array => [
    'session' => static function (): void {
        session_id(md5($_GET['client']));
        session_start(['use_cookies' => 0, 'cache_limiter' => '']);
        need(($_SESSION['client'] ?? $_GET['client']) === $_GET['client'], 'another session');
        $_SESSION['client'] = $_GET['client'];
        usleep(1000);
        need(session_id() === md5($_GET['client']), 'the id of another session');
        session_write_close();
    },
    'session-settings' => static function (string $id): void {
        SessionSettings::$areSet = true;
        ini_set("session.use_cookies", "1"); // what a session of the same request has left
        session_name("n$id");
        session_cache_expire(crc32($id) % 1000);
        session_set_cookie_params(['path' => "/$id", 'lifetime' => crc32($id) % 1000]);
        usleep(500);
        need(session_name() === "n$id", "the session's name of another one");
        need(session_cache_expire() === crc32($id) % 1000, 'the cache time of another one');
        $params = session_get_cookie_params();
        need([$params['path'], $params['lifetime']] === ["/$id", crc32($id) % 1000], 'the cookie of another one');
    },
    'session-defaults' => static function (): void {
        if (SessionSettings::$areSet) {
            return;
        }
        usleep(500);
        need(session_name() === 'PHPSESSID', 'the name of the session of another one: ' . session_name());
        need(session_get_cookie_params()['path'] === '/', 'the cookie of another one');
    },
];
