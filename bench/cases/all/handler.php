<?php

return static function (): void {
    require __DIR__.'/www/index.php';
};
