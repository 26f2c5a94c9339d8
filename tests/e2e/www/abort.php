<?php
require __DIR__ . '/push.inc';
// Writes until the client has disconnected, and reports how the script ended.
$gate = $_GET['gate'];
ignore_user_abort(isset($_GET['ignore']));
$result = 'cut off';
register_shutdown_function(function () use ($gate, &$result): void {
    file_put_contents("$gate.result", $result . ' ' . connection_status());
    file_put_contents("$gate.reached", 'x');
});
echo 'begin ';
push();
fgetc(fopen("$gate.open", 'r'));
for ($i = 0; $i < 20000 && !connection_aborted(); $i++) {
    echo str_repeat('x', 1000);
    push();
    usleep(1000);
}
$result = connection_aborted() ? 'went on' : 'never told';
