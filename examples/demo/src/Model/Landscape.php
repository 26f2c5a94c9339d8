<?php

declare(strict_types=1);

namespace Caravan\Model;

use Closure;
use Random\Engine\Mt19937;
use Random\Randomizer;

/**
 * Paints the cover of an entry that has no photo: hills, a sun or moon, and the caravan on its way. The same
 * entry always gets the same picture.
 */
final class Landscape
{
    private const WIDTH = 800;
    private const HEIGHT = 450;

    /** Sky above, sky below, sun, three ranges of hills from far to near, caravan. */
    private const PALETTES = [
        ['#f7c59f', '#fdeed6', '#fff6df', '#e2a176', '#c2714f', '#8c4434', '#3d1d22'],
        ['#2b2f63', '#e98a6b', '#ffd9a0', '#8a4f7d', '#5a3566', '#35224a', '#170f28'],
        ['#8ec5d6', '#eaf3e6', '#fffbe8', '#a3c4a0', '#6d9d79', '#3f6f5c', '#16352f'],
        ['#10183a', '#3a4a86', '#f3efd8', '#2f3c70', '#212c56', '#151d3e', '#070b1c'],
        ['#f2b134', '#fbe3a2', '#fff8e1', '#e0903b', '#b9652c', '#7d3f22', '#351a12'],
        ['#b5a7d6', '#f6dfe4', '#fff4ef', '#a18bbd', '#75639c', '#4b4072', '#231c40'],
    ];

    public static function svg(int $number): string
    {
        $random = new Randomizer(new Mt19937($number));
        [$top, $bottom, $sun, $far, $middle, $near, $ink] = self::PALETTES[$number % count(self::PALETTES)];
        $w = self::WIDTH;
        $h = self::HEIGHT;
        $svg = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 $w $h\" width=\"$w\" height=\"$h\">"
            . "<defs><linearGradient id=\"s\" x2=\"0\" y2=\"1\"><stop stop-color=\"$top\"/>"
            . "<stop offset=\"1\" stop-color=\"$bottom\"/></linearGradient></defs>"
            . "<rect width=\"$w\" height=\"$h\" fill=\"url(#s)\"/>";
        $x = $random->getInt(140, 660);
        $y = $random->getInt(80, 170);
        $svg .= "<circle cx=\"$x\" cy=\"$y\" r=\"90\" fill=\"$sun\" opacity=\".25\"/>"
            . "<circle cx=\"$x\" cy=\"$y\" r=\"48\" fill=\"$sun\"/>";
        $ridges = [self::ridge($random, 235, 46), self::ridge($random, 300, 34), self::ridge($random, 372, 16)];
        $svg .= self::hills($ridges[0], $far) . self::hills($ridges[1], $middle) . self::hills($ridges[2], $near);
        $start = $random->getInt(90, 330);
        for ($i = 0; $i < 3; $i++) {
            // The leader is the largest; the others follow it to the left, each with its feet on the nearest ridge.
            $scale = 0.82 + $i * 0.14;
            $left = $start + $i * 112;
            $ground = $ridges[2]($left + 48 * $scale) + 5;
            $svg .= sprintf(
                '<use href="#e" transform="translate(%d %.1f) scale(%.2f)"/>',
                $left,
                $ground - 89 * $scale,
                $scale,
            );
        }
        return $svg . '<defs><g id="e" fill="' . $ink . '">' . self::elephant() . '</g></defs></svg>' . "\n";
    }

    /**
     * The height of a wavy line at a place.
     *
     * @return Closure(float): float
     */
    private static function ridge(Randomizer $random, int $y, int $height): Closure
    {
        $long = $random->getInt(75, 120);
        $short = $random->getInt(50, 90);
        $phase = $random->getInt(0, 628) / 100;
        return static fn (float $x): float =>
            $y - sin($x / $long + $phase) * $height - sin($x / $short + $phase * 3) * $height / 4;
    }

    /**
     * The land below a ridge.
     *
     * @param Closure(float): float $ridge
     */
    private static function hills(Closure $ridge, string $colour): string
    {
        $path = sprintf('M0 %d', self::HEIGHT);
        for ($x = 0; $x <= self::WIDTH; $x += 16) {
            $path .= sprintf('L%d %.1f', $x, $ridge($x));
        }
        return "<path d=\"$path" . sprintf('L%d %dz"', self::WIDTH, self::HEIGHT) . " fill=\"$colour\"/>";
    }

    /**
     * The silhouette, 100 wide and 92 high.
     */
    private static function elephant(): string
    {
        return '<path d="M12 46c0-10 8-15 20-15h24c7 0 10-6 18-6 10 0 15 8 15 17 0 12 1 24 6 29 2 2 4 0 3-3l3 1c1 '
            . '6-3 9-7 7-8-4-8-14-10-22-2 4-5 6-9 6v29h-12V68H32v21H20V62c-5-4-8-9-8-16z"/>'
            . '<path d="M13 44c-6 4-7 12-5 20l-3 5 6-1c-2-9 0-15 4-18z"/>'
            . '<path d="M30 30V14h4v9h20v-9h4v16z"/><path d="M27 14c8-2 10-9 17-11 7 2 9 9 17 11z"/>'
            . '<path d="M43.3-6h1.4V4h-1.4zM44.7-6l9 3-9 3z"/>';
    }
}
