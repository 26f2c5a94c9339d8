<?php

return static function (): void {
    echo "Hello, world!\n";
};
