<?php

session_name('OWN');
session_set_cookie_params(['lifetime' => 0, 'path' => '/app', 'domain' => 'conformance.test', 'secure' => true, 'httponly' => true, 'samesite' => 'Strict']);
session_start();
echo json_encode(session_get_cookie_params());
