<?php

namespace Shop;

abstract class Thing implements \Stringable
{
    public static int $made = 0;

    public function __construct(public readonly string $name)
    {
    }

    public static function make(string $name): static
    {
        return new static($name);
    }

    public function __toString(): string
    {
        return static::class . ' ' . $this->name;
    }
}
