<?php

declare(strict_types=1);

namespace Caravan;

/**
 * Escapes text for HTML content and for quoted attributes.
 */
function e(string|int|float $text): string
{
    return htmlspecialchars((string) $text, ENT_QUOTES | ENT_SUBSTITUTE | ENT_HTML5, 'UTF-8');
}

/**
 * Turns plain text into escaped paragraphs: a blank line starts a new one, a line break stays one.
 */
function paragraphs(string $text): string
{
    $html = '';
    foreach (preg_split('/\R{2,}/', trim($text)) ?: [] as $paragraph) {
        $html .= '<p>' . str_replace("\n", "<br>\n", e(strtr($paragraph, ["\r\n" => "\n"]))) . "</p>\n";
    }
    return $html;
}

/**
 * A Unix time as `<time>`, in UTC.
 */
function day(int $time): string
{
    return '<time datetime="' . gmdate('Y-m-d\TH:i:s\Z', $time) . '">' . gmdate('j F Y', $time) . '</time>';
}
