<?php

try {
    exit('exit cannot be caught');
} catch (Throwable $error) {
    echo 'caught';
}
