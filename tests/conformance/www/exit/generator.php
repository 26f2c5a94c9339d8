<?php

function numbers(): Generator
{
    try {
        yield 1;
        exit('in a generator');
    } finally {
        echo ' finally';
    }
}
foreach (numbers() as $n) {
    echo $n, ' ';
}
