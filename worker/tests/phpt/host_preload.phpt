--TEST--
The launcher: next to its object, in any directory; other preloaded libraries stay, also for children
--FILE--
--CLI--
-n -r 'echo PHP_SAPI, " ", trim(file_get_contents("/proc/self/comm")), " ", json_encode(getenv("LD_PRELOAD")), "\n";'
LD_PRELOAD='libm.so.6:libdl.so.2' {PHP} cli -n -r 'echo getenv("LD_PRELOAD"), " ", shell_exec("echo \$LD_PRELOAD");'
mkdir 'a b:c' && cp {PHP} {PHP}.so 'a b:c' && ln -s 'a b:c/howdah-php' link
./link cli -n -r 'echo json_encode(getenv("LD_PRELOAD")), " ", count(preg_grep("~/howdah-php(\.so)?$~", array_map(fn ($fd) => (string) @readlink($fd), glob("/proc/self/fd/*")))), "\n";' 2>&1
rm 'a b:c/howdah-php.so' && ./link version 2>&1; echo $?
--EXPECTF--
cli howdah-php false
libm.so.6:libdl.so.2 libm.so.6:libdl.so.2
false 0
howdah-php: cannot read %sa b:c/howdah-php.so: No such file or directory; it belongs next to howdah-php: reinstall both
2
