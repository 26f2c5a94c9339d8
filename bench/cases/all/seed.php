<?php

foreach (['redis', 'database'] as $part) {
    copy(__DIR__.'/services.php', __DIR__."/$part/services.php");
    chdir(__DIR__."/$part");
    require __DIR__."/$part/seed.php";
}
