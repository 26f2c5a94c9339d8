<?php

echo trim(shell_exec('echo from a shell')), ' ', exec('exit 3', $lines, $code), $code;
$process = proc_open(['cat'], [['pipe', 'r'], ['pipe', 'w']], $pipes);
fwrite($pipes[0], 'through cat');
fclose($pipes[0]);
echo ' ', stream_get_contents($pipes[1]), ' ', proc_close($process);
