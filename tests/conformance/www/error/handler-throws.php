<?php

set_error_handler(fn ($level, $message, $file, $line) => throw new ErrorException($message, 0, $level, $file, $line));
try {
    echo $undefined;
} catch (ErrorException $error) {
    echo 'caught: ', $error->getMessage();
}
