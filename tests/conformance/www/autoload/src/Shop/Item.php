<?php

declare(strict_types=1);

namespace Shop;

/** Something for sale. */
#[\AllowDynamicProperties]
final class Item extends Thing implements Named
{
    use Counts;

    public const GREETING = GREETING;
    public const SIZES = ['s' => 'small', 'l' => self::GREETING . ' large'];

    private Size $size = Size::Small;

    public function file(): string
    {
        return __FILE__;
    }

    public function folder(): string
    {
        return __DIR__;
    }

    public function line(): int
    {
        return __LINE__;
    }

    public function rename(string $name): string
    {
        return strlen($name) . strrev($name);
    }

    public function times(int $number): int
    {
        return $number * 2;
    }

    private function secret(): string
    {
        return $this->size->value;
    }

    public function closure(): callable
    {
        return fn (int $by): string => str_repeat($this->name, $by);
    }

    public function anonymous(): object
    {
        return new class () {
        };
    }

    public function letters(): iterable
    {
        yield from str_split($this->name);
    }

    public function defaults(int $limit = \PHP_INT_SIZE, ?Size $size = Size::Large): array
    {
        return [$limit, $size?->name, $this->secret()];
    }
}
