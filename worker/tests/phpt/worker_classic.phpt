--TEST--
frankenphp_handle_request() outside of worker mode throws
--FILE--
<?php
try { frankenphp_handle_request(static fn () => 0); } catch (RuntimeException $e) { echo $e->getMessage(); }
--EXPECT--
frankenphp_handle_request() called while not in worker mode
