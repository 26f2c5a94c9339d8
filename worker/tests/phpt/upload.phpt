--TEST--
multipart/form-data: $_FILES, is_uploaded_file(), move_uploaded_file(), and removal of the temporary file
--POST_RAW--
Content-Type: multipart/form-data; boundary=BOUND

--BOUND
Content-Disposition: form-data; name="field"

value
--BOUND
Content-Disposition: form-data; name="f"; filename="a.txt"
Content-Type: text/plain

file text
--BOUND
Content-Disposition: form-data; name="g"; filename="b.txt"
Content-Type: text/plain

other
--BOUND--

--FILE--
<?php
if (isset($_GET['then'])) {
    var_dump(file_exists(file_get_contents(__DIR__ . '/left')), is_uploaded_file(file_get_contents(__DIR__ . '/left')));
    exit;
}
echo $_POST['field'], ' ', $_FILES['f']['name'], ' ', $_FILES['f']['size'], ' ', $_FILES['f']['error'], "\n";
var_dump(is_uploaded_file($_FILES['f']['tmp_name']), is_uploaded_file(__FILE__));
var_dump(move_uploaded_file($_FILES['f']['tmp_name'], __DIR__ . '/moved'), file_get_contents(__DIR__ . '/moved'));
file_put_contents(__DIR__ . '/left', $_FILES['g']['tmp_name']);
var_dump(file_get_contents('php://input'));
--HOWDAH--
run
body none
var QUERY_STRING then=1
var REQUEST_METHOD GET
run
--EXPECT--
value a.txt 9 0
bool(true)
bool(false)
bool(true)
string(9) "file text"
string(0) ""

bool(false)
bool(false)
