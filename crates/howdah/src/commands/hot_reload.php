<?php

// Written by `howdah dev`: a page that PHP makes subscribes to changes of files, and reloads itself after one.

declare(strict_types=1);

(static function (): void {
    $url = $_SERVER['FRANKENPHP_HOT_RELOAD'] ?? null;
    $destination = $_SERVER['HTTP_SEC_FETCH_DEST'] ?? 'document';
    if (!is_string($url) || !in_array($destination, ['document', 'iframe'], true)) {
        return;
    }
    $source = 'new EventSource(' . json_encode($url, JSON_HEX_TAG) . ')';
    $script = "<script>{$source}.onmessage = () => location.reload()</script>";
    $isPage = static function (): bool {
        $isPage = true;
        foreach (headers_list() as $header) {
            [$name, $value] = explode(':', $header, 2) + [1 => ''];
            $isPage = match (strtolower($name)) {
                'content-type' => $isPage && str_starts_with(strtolower(ltrim($value)), 'text/html'),
                'content-encoding', 'location' => false,
                default => $isPage,
            };
        }
        return $isPage;
    };
    $state = (object) ['isPage' => null, 'pending' => true];
    $handler = static function (string $output, int $phase) use ($script, $isPage, $state): string {
        if ($output !== '' && $state->isPage === null) {
            $state->isPage = $isPage();
            if ($state->isPage && !headers_sent()) {
                header_remove('Content-Length');
            }
        }
        if ($state->isPage !== true || !$state->pending) {
            return $output;
        }
        $end = strripos($output, '</body>');
        if ($end !== false) {
            $state->pending = false;
            return substr_replace($output, $script, $end, 0);
        }
        // A page without an end, such as the message of a fatal error.
        return ($phase & PHP_OUTPUT_HANDLER_FINAL) !== 0 ? $output . $script : $output;
    };
    // Each write is passed on at once, so that responses still stream.
    ob_start($handler, 1);
})();
