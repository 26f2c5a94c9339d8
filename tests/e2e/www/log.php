<?php
// Writes to the log in every possible way.
$mark = $_GET['mark'];
switch ($_GET['how']) {
    case 'error_log':
        error_log("error_log $mark");
        break;
    case 'sapi':
        error_log("sapi $mark", 4);
        break;
    case 'stderr':
        file_put_contents('php://stderr', "stderr $mark\n");
        break;
    case 'both':
        file_put_contents('php://stderr', 'raw of ' . howdah_request_id() . "\n");
        trigger_error("after it $mark", E_USER_NOTICE);
        break;
    case 'warning':
        trigger_error("warning $mark", E_USER_WARNING);
        break;
    case 'lines':
        error_log("first $mark\nsecond $mark");
        break;
    case 'long':
        error_log("begin $mark " . str_repeat('x', 100_000) . " end $mark");
        break;
    case 'post':
        error_log("post $mark " . print_r($_POST, true));
        break;
    case 'raw':
        file_put_contents('php://stderr', $_POST['text']);
        break;
    case 'binary':
        error_log("binary $mark \xff\x01\t\"quoted\"");
        break;
}
echo howdah_request_id();
