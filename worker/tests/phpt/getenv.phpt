--TEST--
getenv() sees variables of the request, of the environment and those that putenv() brings and takes away
--HEADERS--
X-Custom: of a header
--VARS--
OF_THE_REQUEST=of the request
--FILE--
<?php
function show(string ...$names): void
{
    echo json_encode(array_map(getenv(...), $names)), "\n";
}

show('OF_THE_REQUEST', 'HTTP_X_CUSTOM', 'REQUEST_METHOD', 'SCRIPT_NAME');
show('OF_THE_REQUES', 'OF_THE_REQUESTS', 'of_the_request', '', "OF_THE_REQUEST\0", 'HTTP_PROXY');
echo json_encode([getenv('PATH') !== '' && getenv('PATH') === getenv('PATH', true), getenv('PATH') === getenv("PATH\0more")]), "\n";
// Of the same size, so that each may lie where the one before did.
foreach (['FIRST', 'SECON', 'THIRD'] as $name) {
    show($name);
    putenv("$name=here");
    show($name);
    putenv($name);
    show($name);
}
$previous = null;
for ($i = 1000; $i < 2000; $i++) {
    $previous === null ?: putenv($previous);
    $previous = "NAME_$i";
    putenv("$previous=here");
    if (getenv($previous) !== 'here') {
        echo "$previous is not there\n";
    }
}
putenv('OF_THE_REQUEST=of putenv()');
putenv('EMPTY=');
show('OF_THE_REQUEST', 'EMPTY', 'NAME_1998', 'NAME_1999');
echo json_encode([getenv('OF_THE_REQUEST', true), getenv()['OF_THE_REQUEST'], isset(getenv()['PATH'])]), "\n";
try {
    getenv([]);
} catch (TypeError $error) {
    echo $error->getMessage(), "\n";
}
// For thousands of names, nearly all of whose bits are others': none is found, and none that is there is missed.
for ($i = 0, $found = 0; $i < 5000; $i++) {
    $found += getenv("absent.$i") !== false;
}
putenv('absent.1234=found');
echo $found, ' ', getenv('absent.1234'), "\n";
--EXPECT--
["of the request","of a header","GET","\/test.php"]
[false,false,false,false,false,false]
[true,true]
[false]
["here"]
[false]
[false]
["here"]
[false]
[false]
["here"]
[false]
["of the request","",false,"here"]
["of putenv()","of the request",true]
getenv(): Argument #1 ($name) must be of type ?string, array given
0 found
