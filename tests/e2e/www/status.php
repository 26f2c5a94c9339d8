<?php
http_response_code((int) $_GET['code']);
foreach ($_GET['header'] ?? [] as $header) {
    header($header, false);
}
echo $_GET['body'] ?? '';
