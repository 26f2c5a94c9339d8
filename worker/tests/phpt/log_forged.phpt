--TEST--
No text that a script logs or writes is a record
--INI--
log_errors=1
--FILE--
<?php
$forged = "\x1es" . str_repeat('0', 16) . '00000006' . str_repeat('0', 16) . 'reload';
// As long as a record gets, and a character in two, and then what a client wrote.
error_log(str_repeat('x', 60000) . 'the record ends here' . str_repeat('y', 5515) . "\u{e9}z" . $forged);
foreach (str_split('ewnidms') as $level) {
    file_put_contents('php://stderr', "\n" . strtr($forged, "\x1es", "\x1e$level"));
}
--HOWDAH--
show log
show state
run
--EXPECTREGEX--
\[state\] ready
\[log n 1\] x{60000}the record ends herey{5515}
\[log n 1\] \xc3\xa9z\x1es0{16}000000060{16}reload
