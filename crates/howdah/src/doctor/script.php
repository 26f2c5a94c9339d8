<?php

// Reads a worker script. Argument: its path. Writes one JSON object. Nothing of the script is run.

declare(strict_types=1);

/** What the scripts of servers and frameworks' runners name somewhere, in lower case. */
const NAMES = ['frankenphp', 'howdah', 'octane', 'autoload_runtime'];

$code = (string) @file_get_contents($argv[1]);
$found = ['error' => null, 'line' => 0, 'serves' => false];
try {
    foreach (PhpToken::tokenize($code, TOKEN_PARSE) as $token) {
        $text = $token->is([T_COMMENT, T_DOC_COMMENT]) ? '' : strtolower($token->text);
        foreach (NAMES as $name) {
            $found['serves'] = $found['serves'] || str_contains($text, $name);
        }
    }
} catch (ParseError $error) {
    $found['error'] = $error->getMessage();
    $found['line'] = $error->getLine();
}
echo json_encode($found, JSON_THROW_ON_ERROR | JSON_INVALID_UTF8_SUBSTITUTE);
