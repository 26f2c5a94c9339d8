<?php

namespace Shop;

interface Named
{
    public function calls(): int;
}
