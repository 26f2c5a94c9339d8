<?php

setcookie('plain', 'a value; with=odd,chars');
setcookie('all', 'v', ['expires' => 4102444800, 'path' => '/p', 'domain' => 'conformance.test', 'secure' => true, 'httponly' => true, 'samesite' => 'Lax']);
setrawcookie('raw', 'a%20b');
setcookie('deleted', '');
setcookie('array[one]', '1');
setcookie('plain', 'second');
echo json_encode($_COOKIE);
