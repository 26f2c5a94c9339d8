<?php

// State that libraries have per process: patterns, positions, last errors, handlers that wait.

declare(strict_types=1);

return static fn (): array => [
    'mbregex' => static function (string $id): void {
        mb_ereg_search_init($id, '[0-9]+');
        usleep(500);
        preg_match('/\d+/', $id, $found);
        need(mb_ereg_search_regs()[0] === $found[0], 'the search of another one');
    },
    'mbreplace' => static function (string $id): void {
        $replaced = mb_ereg_replace_callback('[0-9]+', static function (array $found): string {
            usleep(300);
            return "<$found[0]>";
        }, $id);
        need($replaced === preg_replace('/[0-9]+/', '<$0>', $id), 'the replacement of another one');
    },
    'last-errors' => static function (string $id): void {
        $fails = crc32($id) % 2 === 1;
        json_decode($fails ? '{' : '{}');
        preg_match($fails ? '/(?:\D+|<\d+>)*[!?]/' : '/a/', 'foobar foobar foobar');
        DateTime::createFromFormat('Y', $fails ? 'none' : '2026');
        posix_kill($fails ? 0x7ffffff0 : getmypid(), 0);
        usleep(500);
        need((json_last_error() !== JSON_ERROR_NONE) === $fails, 'the error of json of another one');
        need((preg_last_error() !== PREG_NO_ERROR) === $fails, 'the error of pcre of another one');
        need(((DateTime::getLastErrors() ?: [])['error_count'] ?? 0) > 0 === $fails, 'the error of date of another one');
        need(!$fails || posix_get_last_error() === 3, 'the error of posix of another one'); // ESRCH
    },
    'xml' => static function (string $id): void {
        $found = '';
        $parser = xml_parser_create();
        xml_set_character_data_handler($parser, static function ($parser, string $text) use (&$found): void {
            usleep(300);
            $found .= $text;
        });
        xml_parse($parser, "<a><b>$id</b><c>-$id</c></a>", true);
        need($found === "$id-$id", 'the document of another one');
    },
];
