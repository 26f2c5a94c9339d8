<?php

namespace Shop;

trait Counts
{
    public function calls(): int
    {
        static $calls = 0;
        return ++$calls;
    }
}
