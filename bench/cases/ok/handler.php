<?php

return static function (): void {
    header('Content-Type: text/plain; charset=UTF-8');
    echo 'ok';
};
