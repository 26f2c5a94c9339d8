<?php

foreach (['a=b', "a\r\nb", '', 'a;b'] as $name) {
    try {
        var_export(setcookie($name, 'v'));
    } catch (ValueError $error) {
        echo $error->getMessage();
    }
    echo "\n";
}
try {
    setrawcookie('ok', "bad\nvalue;");
} catch (ValueError $error) {
    echo $error->getMessage();
}
