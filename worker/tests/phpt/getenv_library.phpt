--TEST--
getenv() sees changes of the environment by a library
--SKIPIF--
<?php
extension_loaded('ffi') || print 'skip: needs the extension FFI';
--INI--
ffi.enable=1
--FILE--
<?php
$libc = FFI::cdef('int setenv(const char *, const char *, int); int unsetenv(const char *); int clearenv(void);');
echo json_encode(getenv('OF_A_LIBRARY')), "\n";
$libc->setenv('OF_A_LIBRARY', 'here', 1);
echo json_encode(getenv('OF_A_LIBRARY')), "\n";
$libc->unsetenv('OF_A_LIBRARY');
$libc->setenv('ANOTHER', 'here', 1);
echo json_encode([getenv('OF_A_LIBRARY'), getenv('ANOTHER')]), "\n";
$libc->clearenv();
echo json_encode([getenv('OF_A_LIBRARY'), getenv('ANOTHER'), getenv('PATH'), getenv('REQUEST_METHOD')]), "\n";
$libc->setenv('AGAIN', 'here', 1);
echo json_encode([getenv('AGAIN'), getenv('ANOTHER')]), "\n";
--EXPECT--
false
"here"
[false,"here"]
[false,false,false,"GET"]
["here",false]
