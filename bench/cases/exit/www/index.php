<?php

http_response_code(404);
echo "There is no such page.\n";
if (isset($_GET['exit'])) {
    exit;
}
