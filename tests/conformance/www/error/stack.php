<?php

function f($x)
{
    throw new Exception('with arguments');
}
f('secret');
