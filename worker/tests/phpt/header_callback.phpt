--TEST--
header_register_callback() runs before the headers go
--FILE--
<?php
header_register_callback(function () {
    header('X-Late: yes');
    header_remove('X-Early');
});
header('X-Early: 1');
echo 'body';
--EXPECTHEADERS--
X-Late: yes
!X-Early: 1
--EXPECT--
body
