--TEST--
Exception handler, and an exception in a shutdown function
--FILE--
<?php
set_exception_handler(function ($e) { http_response_code(503); echo 'handled ', $e->getMessage(), "\n"; });
register_shutdown_function(function () { echo "shutdown\n"; });
throw new RuntimeException('x');
--EXPECTHEADERS--
Status: 503
--EXPECT--
handled x
shutdown
