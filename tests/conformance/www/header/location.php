<?php

if (isset($_GET['before'])) {
    http_response_code((int) $_GET['before']);
}
header('Location: ' . ($_GET['to'] ?? '/next'), true, (int) ($_GET['code'] ?? 0));
echo http_response_code();
