<?php

http_response_code((int) $_GET['status']);
header('X-Empty: yes');
if (isset($_GET['body'])) {
    echo 'a body that must not be sent';
}
