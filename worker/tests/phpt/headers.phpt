--TEST--
Headers: added, replaced, removed, twice, cookies, a name without a space
--FILE--
<?php
header('X-A: 1');
header('X-A: 2');
header('X-B: 1');
header('X-B: 2', false);
header('X-Gone: 1');
header_remove('X-Gone');
header('X-Tight:v');
setcookie('c', 'v');
header('Content-Type: application/json');
echo '{}';
--EXPECTHEADERS--
Status: 200
X-A: 2
!X-A: 1
X-B: 1
X-B: 2
X-Tight: v
!X-Gone: 1
Set-Cookie: c=v
Content-Type: application/json
--EXPECT--
{}
